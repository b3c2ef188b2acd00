/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi1_wire.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

/* Their values may contain blanks, and come last. */
static int takes_the_rest(const char *name, size_t name_bytes)
{
    static const char *const names[] = {"value", "port", "msg", "message"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i]) == name_bytes && memcmp(names[i], name, name_bytes) == 0)
            return 1;
    }
    return 0;
}

const char *pmi1_wire_find(const char *line, const char *name, size_t *ret_bytes)
{
    while (*line != '\0') {
        size_t name_bytes = strcspn(line, "= ");
        const char *value = line + name_bytes + 1;
        size_t value_bytes;

        if (line[name_bytes] != '=') { /* a word without a value */
            line += name_bytes + (line[name_bytes] == ' ');
            continue;
        }
        value_bytes = strcspn(value, takes_the_rest(line, name_bytes) ? "" : " ");
        if (strlen(name) == name_bytes && memcmp(name, line, name_bytes) == 0) {
            *ret_bytes = value_bytes;
            return value;
        }
        line = value + value_bytes;
        line += *line == ' ';
    }
    return NULL;
}

int pmi1_wire_text(const char *line, const char *name, char *text, size_t text_bytes)
{
    size_t bytes;
    const char *value = pmi1_wire_find(line, name, &bytes);

    if (value == NULL || bytes >= text_bytes)
        return 0;
    memcpy(text, value, bytes);
    text[bytes] = '\0';
    return 1;
}

long pmi1_wire_number(const char *line, const char *name, long fallback)
{
    char text[24], *end;
    long number;

    if (!pmi1_wire_text(line, name, text, sizeof(text)) || text[0] == '\0')
        return fallback;
    errno = 0;
    number = strtol(text, &end, 10);
    return *end != '\0' || errno != 0 ? fallback : number;
}

/* ---- groups ---- */

static int tag_get(const char *text, size_t bytes, char *ret_tag)
{
    if (bytes == 0 || bytes >= PMI1_TAG_BYTES)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '-')
            return 0;
    memcpy(ret_tag, text, bytes);
    ret_tag[bytes] = '\0';
    if (strcmp(ret_tag, "0") == 0)
        ret_tag[0] = '\0';
    return 1;
}

/* Numbers with single commas between them, appended as uint32_t. */
static int numbers_get(const char *text, size_t bytes, struct buffer *out)
{
    uint64_t number = 0;
    size_t digits = 0;

    for (size_t i = 0; i <= bytes; i++) {
        uint32_t rank = (uint32_t)number;

        if (i < bytes && isdigit((unsigned char)text[i])) {
            number = number * 10 + (uint64_t)(text[i] - '0');
            if (++digits > 10 || number >= UINT32_MAX)
                return 0;
            continue;
        }
        if (digits == 0 || (i < bytes && text[i] != ','))
            return 0;
        buffer_append(out, &rank, sizeof(rank));
        number = digits = 0;
    }
    return 1;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

static const char *ranks_get(const char *text, size_t bytes, struct ranges *ret_ranks)
{
    struct buffer numbers = {0};
    const char *wrong = NULL;
    uint32_t *ranks;
    size_t count;

    if (!numbers_get(text, bytes, &numbers))
        wrong = "group_is_no_list_of_ranks";
    ranks = (uint32_t *)(void *)numbers.data;
    count = numbers.length_bytes / sizeof(*ranks);
    if (wrong == NULL)
        qsort(ranks, count, sizeof(*ranks), compare_numbers);
    for (size_t i = 1; wrong == NULL && i < count; i++)
        if (ranks[i] == ranks[i - 1])
            wrong = "rank_is_twice_in_group";
    for (size_t i = 0; wrong == NULL && i < count; i++)
        ranges_add(ret_ranks, ranks[i], ranks[i]);
    buffer_fini(&numbers);
    return wrong;
}

const char *pmi1_wire_group(const char *text, size_t bytes, struct pmi1_group *ret_group)
{
    struct pmi1_group group = {.kind = PMI1_GROUP_RANKS};
    const char *colon = memchr(text, ':', bytes), *wrong = NULL;
    size_t name_bytes = colon != NULL ? (size_t)(colon - text) : bytes;

    if (colon != NULL && !tag_get(colon + 1, bytes - name_bytes - 1, group.tag))
        return "tag_malformed_or_too_long";
    if (name_bytes == 5 && memcmp(text, "WORLD", 5) == 0)
        group.kind = PMI1_GROUP_WORLD;
    else if (name_bytes == 4 && memcmp(text, "NODE", 4) == 0)
        group.kind = PMI1_GROUP_NODE;
    else
        wrong = ranks_get(text, name_bytes, &group.ranks);
    if (wrong == NULL)
        *ret_group = group;
    return wrong;
}
