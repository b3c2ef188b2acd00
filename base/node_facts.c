/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/node_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_DIGITS_MAX 15

static const char *const fact_names[FACT_COUNT] = {"mem", "arch", "os", "feature", "gpus"};

void node_facts_fini(struct node_facts *facts)
{
    free(facts->features);
    *facts = (struct node_facts){0};
}

void node_facts_copy(struct node_facts *ret_copy, const struct node_facts *facts)
{
    *ret_copy = *facts;
    ret_copy->features = facts->features != NULL ? memory_copy_string(facts->features) : NULL;
}

bool node_facts_knows(const struct node_facts *facts, enum fact fact)
{
    return facts->known >> fact & 1;
}

static const char *features_of(const struct node_facts *facts)
{
    return facts->features != NULL ? facts->features : "";
}

bool node_facts_equal(const struct node_facts *a, const struct node_facts *b)
{
    return a->known == b->known && a->memory_mib == b->memory_mib && a->gpus == b->gpus &&
           strcmp(a->architecture, b->architecture) == 0 && strcmp(a->system, b->system) == 0 &&
           strcmp(features_of(a), features_of(b)) == 0;
}

/* ---- Features ---- */

static int word_compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

    return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

/* Where a word is, or would stand; 1 and its offset, or 0. */
static bool feature_find(const char *features, const char *word, size_t word_bytes,
                         size_t *ret_offset)
{
    const char *at = features;

    while (*at != '\0') {
        size_t bytes = strcspn(at, "|");
        int order = word_compare(at, bytes, word, word_bytes);

        if (order >= 0) {
            *ret_offset = (size_t)(at - features);
            return order == 0;
        }
        at += bytes;
        at += *at == '|';
    }
    *ret_offset = (size_t)(at - features);
    return false;
}

bool node_facts_has_feature(const struct node_facts *facts, const char *word, size_t word_bytes)
{
    size_t offset;

    return feature_find(features_of(facts), word, word_bytes, &offset);
}

int node_facts_add_feature(struct node_facts *facts, const char *word, size_t word_bytes)
{
    const char *old = features_of(facts);
    size_t old_bytes = strlen(old), offset;
    struct buffer text = {0};

    if (word_bytes == 0 || node_facts_word_bytes(word) < word_bytes)
        return -EINVAL;
    if (feature_find(old, word, word_bytes, &offset))
        return 0;
    if (old_bytes + word_bytes + 1 > FACTS_FEATURES_BYTES_MAX)
        return -E2BIG;
    buffer_append(&text, old, offset);
    if (offset == old_bytes && old_bytes > 0)
        buffer_append_string(&text, "|");
    buffer_append(&text, word, word_bytes);
    if (offset < old_bytes)
        buffer_append_string(&text, "|");
    buffer_append_string(&text, old + offset);
    (void)buffer_string(&text);
    free(facts->features);
    facts->features = buffer_take(&text, NULL);
    return 0;
}

static void merge_features(struct node_facts *facts, const struct node_facts *other)
{
    const char *at = features_of(other);

    while (*at != '\0') {
        size_t bytes = strcspn(at, "|");

        (void)node_facts_add_feature(facts, at, bytes);
        at += bytes;
        at += *at == '|';
    }
}

void node_facts_merge(struct node_facts *facts, const struct node_facts *other)
{
    unsigned int more = other->known & ~(unsigned int)facts->known;

    if (more >> FACT_MEMORY & 1)
        facts->memory_mib = other->memory_mib;
    if (more >> FACT_GPUS & 1)
        facts->gpus = other->gpus;
    if (more >> FACT_ARCHITECTURE & 1)
        memcpy(facts->architecture, other->architecture, sizeof(facts->architecture));
    if (more >> FACT_SYSTEM & 1)
        memcpy(facts->system, other->system, sizeof(facts->system));
    merge_features(facts, other);
    facts->known |= other->known;
}

/* ---- Text ---- */

size_t node_facts_word_bytes(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-:/");
}

/* Digits up to `end` or the first other byte; 0 if there are none or too many. */
static size_t digits_read(const char *text, const char *end, uint64_t *ret_number)
{
    size_t digits = 0;

    *ret_number = 0;
    while (text + digits < end && text[digits] >= '0' && text[digits] <= '9') {
        *ret_number = *ret_number * 10 + (uint64_t)(text[digits] - '0');
        if (++digits > MEMORY_DIGITS_MAX)
            return 0;
    }
    return digits;
}

int node_facts_parse_mib(const char *text, const char *end, uint64_t *ret_mib)
{
    static const char units[] = "KMGTP";
    uint64_t number;
    size_t digits = digits_read(text, end, &number);
    const char *unit = units + 1;

    if (digits == 0)
        return -EINVAL;
    text += digits;
    if (text < end) {
        unit = *text != '\0' ? strchr(units, *text >= 'a' ? *text - 'a' + 'A' : *text) : NULL;
        text++;
        if (end - text == 2 && text[0] == 'i')
            text++;
        if (text < end && (*text == 'B' || *text == 'b'))
            text++;
    }
    if (unit == NULL || text != end)
        return -EINVAL;
    if (unit == units) {
        number = (number + 1023) / 1024;
    } else {
        for (; unit > units + 1 && number <= FACTS_MEMORY_MIB_MAX; unit--)
            number *= 1024;
    }
    if (number > FACTS_MEMORY_MIB_MAX)
        return -EINVAL;
    *ret_mib = number;
    return 0;
}

void node_facts_print_mib(uint64_t mib, struct buffer *out)
{
    static const char units[] = "MGTP";
    int unit = 0;

    while (unit < 3 && mib >= 1024 && mib % 1024 == 0) {
        mib /= 1024;
        unit++;
    }
    buffer_printf(out, "%llu%c", (unsigned long long)mib, units[unit]);
}

static int set_word(char word[FACTS_WORD_BYTES], const char *text, size_t bytes)
{
    if (bytes == 0 || bytes >= FACTS_WORD_BYTES || node_facts_word_bytes(text) < bytes)
        return -EINVAL;
    memcpy(word, text, bytes);
    word[bytes] = '\0';
    return 0;
}

static int set_features(struct node_facts *facts, const char *text, const char *end)
{
    int rc = 0;

    while (rc == 0) {
        size_t bytes = strcspn(text, "|,");

        rc = node_facts_add_feature(facts, text, bytes);
        text += bytes;
        if (text >= end)
            break;
        text++;
    }
    return rc;
}

static int set_fact(struct node_facts *facts, enum fact fact, const char *value, const char *end)
{
    size_t bytes = (size_t)(end - value);
    uint64_t number;

    switch (fact) {
    case FACT_MEMORY:
        return node_facts_parse_mib(value, end, &facts->memory_mib);
    case FACT_ARCHITECTURE:
        return set_word(facts->architecture, value, bytes);
    case FACT_SYSTEM:
        return set_word(facts->system, value, bytes);
    case FACT_FEATURES:
        return set_features(facts, value, end);
    default:
        if (digits_read(value, end, &number) != bytes || bytes == 0 || number > FACTS_GPUS_MAX)
            return -EINVAL;
        facts->gpus = (uint32_t)number;
        return 0;
    }
}

int node_facts_parse(const char *text, struct node_facts *facts, struct error *error)
{
    const char *at = text;

    for (;;) {
        const char *end = at + strcspn(at, ",");
        size_t name_bytes = strcspn(at, "=,");
        int fact = 0;

        while (fact < FACT_COUNT && (strlen(fact_names[fact]) != name_bytes ||
                                     memcmp(fact_names[fact], at, name_bytes) != 0))
            fact++;
        if (fact == FACT_COUNT || at[name_bytes] != '=')
            return error_set(error, -EINVAL,
                             "column %zu: '%.40s' is not one of mem=SIZE, arch=NAME, os=NAME, "
                             "feature=A|B, gpus=N",
                             (size_t)(at - text) + 1, at);
        at += name_bytes + 1;
        if (set_fact(facts, (enum fact)fact, at, end) < 0)
            return error_set(error, -EINVAL, "column %zu: '%.*s' cannot be a value of %s",
                             (size_t)(at - text) + 1, (int)(end - at), at, fact_names[fact]);
        if (fact != FACT_FEATURES) /* there may be others */
            facts->known |= (uint8_t)(1u << fact);
        if (*end == '\0')
            return 0;
        at = end + 1;
    }
}

static void begin_fact(enum fact fact, size_t start, struct buffer *out)
{
    buffer_printf(out, "%s%s=", out->length_bytes > start ? "," : "", fact_names[fact]);
}

void node_facts_print(const struct node_facts *facts, struct buffer *out)
{
    size_t start = out->length_bytes;

    if (node_facts_knows(facts, FACT_MEMORY)) {
        begin_fact(FACT_MEMORY, start, out);
        node_facts_print_mib(facts->memory_mib, out);
    }
    if (node_facts_knows(facts, FACT_ARCHITECTURE)) {
        begin_fact(FACT_ARCHITECTURE, start, out);
        buffer_append_string(out, facts->architecture);
    }
    if (node_facts_knows(facts, FACT_SYSTEM)) {
        begin_fact(FACT_SYSTEM, start, out);
        buffer_append_string(out, facts->system);
    }
    if (features_of(facts)[0] != '\0') {
        begin_fact(FACT_FEATURES, start, out);
        buffer_append_string(out, facts->features);
    }
    if (node_facts_knows(facts, FACT_GPUS)) {
        begin_fact(FACT_GPUS, start, out);
        buffer_printf(out, "%u", facts->gpus);
    }
}

/* ---- Wire ---- */

void node_facts_encode(const struct node_facts *facts, struct buffer *out)
{
    wire_put_u8(out, facts->known);
    wire_put_varint(out, facts->memory_mib);
    wire_put_varint(out, facts->gpus);
    wire_put_string(out, facts->architecture);
    wire_put_string(out, facts->system);
    wire_put_string(out, features_of(facts));
}

static void get_features(struct wire_reader *reader, struct node_facts *facts)
{
    char *features = wire_get_string(reader, FACTS_FEATURES_BYTES_MAX);

    if (features[0] != '\0' && wire_status(reader) == 0 &&
        set_features(facts, features, features + strlen(features)) < 0)
        wire_fail(reader);
    free(features);
}

int node_facts_decode(struct node_facts *ret_facts, struct wire_reader *reader)
{
    struct node_facts facts = {.known = wire_get_u8(reader)};

    if (facts.known >> FACT_COUNT != 0)
        wire_fail(reader);
    facts.memory_mib = wire_get_varint_max(reader, FACTS_MEMORY_MIB_MAX);
    facts.gpus = (uint32_t)wire_get_varint_max(reader, FACTS_GPUS_MAX);
    wire_get_string_into(reader, facts.architecture, sizeof(facts.architecture));
    wire_get_string_into(reader, facts.system, sizeof(facts.system));
    get_features(reader, &facts);
    if (wire_status(reader) < 0)
        node_facts_fini(&facts);
    *ret_facts = facts;
    return wire_status(reader);
}
