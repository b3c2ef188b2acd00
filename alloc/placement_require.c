/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement_require.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB_IN_MIB     1024u
#define TOLD_KINDS_MAX 4   /* of nodes, for each term */
#define TOLD_NAMES_MAX 160 /* bytes of a hostlist */

static const struct {
    const char *name;
    enum fact fact;
} keys[] = {{"mem", FACT_MEMORY}, {"memory", FACT_MEMORY},    {"arch", FACT_ARCHITECTURE},
            {"os", FACT_SYSTEM},  {"feature", FACT_FEATURES}, {"gpus", FACT_GPUS}};

#define KEYS_COUNT (sizeof(keys) / sizeof(keys[0]))

/* ---- Terms ---- */

static int fail_at(const char *text, const char *at, struct error *error, const char *what)
{
    return error_set(error, -EINVAL, "column %zu: %s", (size_t)(at - text) + 1, what);
}

static int key_parse(const char *text, const char **at, struct require_term *term,
                     struct error *error)
{
    size_t bytes = strspn(*at, "abcdefghijklmnopqrstuvwxyz");

    for (size_t i = 0; i < KEYS_COUNT; i++) {
        if (strlen(keys[i].name) == bytes && memcmp(keys[i].name, *at, bytes) == 0) {
            term->fact = keys[i].fact;
            *at += bytes;
            return 0;
        }
    }
    return error_set(error, -EINVAL,
                     "column %zu: '%.40s' does not begin with mem, arch, os, feature or gpus",
                     (size_t)(*at - text) + 1, *at);
}

/* ">=", "<=", ">", "<", "=" of a number; "=" and "!=" of words. */
static int number_parse(const char *text, const char *at, const char *end,
                        struct require_term *term, struct error *error)
{
    char sign = *at;
    int is_open = (sign == '<' || sign == '>') && at[1] != '=';
    uint64_t number;

    if (sign != '<' && sign != '>' && sign != '=')
        return fail_at(text, at, error, "expected >=, <=, >, < or =");
    at += sign == '=' || is_open ? 1 : 2;
    if (term->fact == FACT_MEMORY) {
        if (node_facts_parse_mib(at, end, &number) < 0)
            return fail_at(text, at, error, "expected a size such as 64G or 512M");
    } else {
        char *stop;

        number = strtoull(at, &stop, 10);
        if (at == end || *at < '0' || *at > '9' || stop != end || number > FACTS_GPUS_MAX)
            return fail_at(text, at, error, "expected a whole number");
    }
    if (sign == '<' && is_open && number == 0)
        return fail_at(text, at, error, "nothing is less than 0");
    term->low = sign == '<' ? 0 : number + (sign == '>' && is_open);
    term->high = sign == '>' ? UINT64_MAX : number - (sign == '<' && is_open);
    assert(term->low <= term->high);
    return 0;
}

static int words_parse(const char *text, const char *at, const char *end, struct require_term *term,
                       struct error *error)
{
    term->is_not = *at == '!';
    at += term->is_not;
    if (*at != '=')
        return fail_at(text, at, error, "expected = or !=");
    at++;
    term->words = at;
    term->words_bytes = (uint32_t)(end - at);
    for (;; at++) {
        size_t bytes = node_facts_word_bytes(at);

        if (bytes == 0 || bytes >= FACTS_WORD_BYTES)
            return fail_at(text, at, error, "expected a name of up to 63 letters or digits");
        at += bytes;
        if (at == end)
            return 0;
        if (*at != '|')
            return fail_at(text, at, error, "expected ',' or '|'");
    }
}

int placement_require_parse(const char *text, struct require *ret_require, struct error *error)
{
    const char *at = text;

    ret_require->count = 0;
    if (strcmp(text, "none") == 0)
        return 0;
    for (;;) {
        struct require_term *term = &ret_require->terms[ret_require->count];
        const char *end = at + strcspn(at, ",");
        const char *start = at;
        int rc;

        if (ret_require->count == REQUIRE_TERMS_MAX)
            return fail_at(text, at, error, "there are more than 64 terms");
        *term = (struct require_term){.text = at, .text_bytes = (uint32_t)(end - at)};
        rc = key_parse(text, &at, term, error);
        if (rc == 0)
            rc = term->fact == FACT_MEMORY || term->fact == FACT_GPUS
                     ? number_parse(text, at, end, term, error)
                     : words_parse(text, at, end, term, error);
        if (rc < 0)
            return rc;
        ret_require->count++;
        at = start + term->text_bytes;
        if (*at == '\0')
            return 0;
        at++;
    }
}

/* ---- Judging ---- */

static bool word_is(const struct node_facts *facts, enum fact fact, const char *word, size_t bytes)
{
    const char *own = fact == FACT_SYSTEM ? facts->system : facts->architecture;

    if (fact == FACT_FEATURES)
        return node_facts_has_feature(facts, word, bytes);
    if (strlen(own) != bytes)
        return false;
    return fact == FACT_SYSTEM ? strncasecmp(own, word, bytes) == 0 : memcmp(own, word, bytes) == 0;
}

static bool word_holds(const struct require_term *term, const struct node_facts *facts)
{
    const char *word = term->words, *end = term->words + term->words_bytes;

    while (word < end) {
        size_t bytes = strcspn(word, "|,");

        if (word_is(facts, term->fact, word, bytes))
            return true;
        word += bytes + 1;
    }
    return false;
}

/* 1 if what is known decides the term: a known feature does so although there may be others that
 * are not known. */
static bool is_decided(const struct require_term *term, const struct node_facts *facts)
{
    return node_facts_knows(facts, term->fact) ||
           (term->fact == FACT_FEATURES && word_holds(term, facts));
}

bool placement_require_term_holds(const struct require_term *term, const struct node_facts *facts)
{
    uint64_t number = term->fact == FACT_MEMORY ? facts->memory_mib : facts->gpus;

    if (!is_decided(term, facts))
        return false;
    if (term->fact == FACT_MEMORY || term->fact == FACT_GPUS)
        return term->low <= number && number <= term->high;
    return word_holds(term, facts) != term->is_not;
}

bool placement_require_holds(const struct require *require, const struct node_facts *facts)
{
    for (uint32_t i = 0; i < require->count; i++) {
        if (!placement_require_term_holds(&require->terms[i], facts))
            return false;
    }
    return true;
}

bool placement_require_asks(const struct require *require, enum fact fact)
{
    for (uint32_t i = 0; i < require->count; i++) {
        if (require->terms[i].fact == fact)
            return true;
    }
    return false;
}

/* ---- What a node reports ---- */

static uint64_t round_memory(const struct require *require, uint64_t mib)
{
    uint64_t rounded = mib - mib % GIB_IN_MIB;

    for (uint32_t i = 0; i < require->count; i++) {
        const struct require_term *term = &require->terms[i];
        uint64_t edges[] = {term->low, term->high + 1};

        for (size_t j = 0; term->fact == FACT_MEMORY && j < 2; j++) {
            if (edges[j] <= mib && edges[j] > rounded)
                rounded = edges[j];
        }
    }
    return rounded;
}

static void keep_features(const struct require *require, struct node_facts *facts)
{
    struct node_facts kept = {.known = 0};

    for (uint32_t i = 0; i < require->count; i++) {
        const struct require_term *term = &require->terms[i];

        for (size_t at = 0; term->fact == FACT_FEATURES && at < term->words_bytes;) {
            const char *word = term->words + at;
            size_t bytes = strcspn(word, "|,");

            if (node_facts_has_feature(facts, word, bytes))
                (void)node_facts_add_feature(&kept, word, bytes);
            at += bytes + 1;
        }
    }
    free(facts->features);
    facts->features = kept.features;
}

void placement_require_reduce(const struct require *require, struct node_facts *facts)
{
    for (int fact = 0; fact < FACT_COUNT; fact++) {
        if (!placement_require_asks(require, (enum fact)fact))
            facts->known &= (uint8_t) ~(1u << fact);
    }
    facts->memory_mib =
        node_facts_knows(facts, FACT_MEMORY) ? round_memory(require, facts->memory_mib) : 0;
    if (!node_facts_knows(facts, FACT_GPUS))
        facts->gpus = 0;
    if (!node_facts_knows(facts, FACT_ARCHITECTURE))
        memset(facts->architecture, 0, sizeof(facts->architecture));
    if (!node_facts_knows(facts, FACT_SYSTEM))
        memset(facts->system, 0, sizeof(facts->system));
    keep_features(require, facts);
}

/* ---- Of a placement ---- */

/* The nodes that have slots and are not left out anyway. */
static void find_candidates(const struct placement *placement, const struct allocation *allocation,
                            struct ranges *ret_nodes)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        const struct slots_run *run = &allocation->runs[i];

        if (run->slots > 0)
            ranges_add(ret_nodes, first, first + run->nodes - 1);
        first += run->nodes;
    }
    ranges_remove_all(ret_nodes, &placement->excluded);
}

bool placement_require_wanted(const struct placement *placement)
{
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        if (placement->rules[i].require != NULL)
            return true;
    }
    return false;
}

static bool facts_decide(const struct require *require, const struct node_facts *facts)
{
    for (uint32_t i = 0; i < require->count; i++) {
        if (!is_decided(&require->terms[i], facts))
            return false;
    }
    return true;
}

static void remove_decided(const struct placement *placement, const struct require *require,
                           struct ranges *nodes)
{
    for (uint32_t i = 0; i < placement->facts.count; i++) {
        if (facts_decide(require, &placement->facts.kinds[i].facts))
            ranges_remove_all(nodes, &placement->facts.kinds[i].nodes);
    }
}

int placement_require_open(const struct placement *placement, const struct allocation *allocation)
{
    int is_open = 0;

    for (uint32_t i = 0; !is_open && i < placement->rules_count; i++) {
        struct ranges nodes = {0};
        struct require require;

        if (placement->rules[i].require == NULL ||
            placement_require_parse(placement->rules[i].require, &require, NULL) < 0 ||
            require.count == 0)
            continue;
        find_candidates(placement, allocation, &nodes);
        remove_decided(placement, &require, &nodes);
        is_open = !ranges_is_empty(&nodes);
        ranges_fini(&nodes);
    }
    return is_open;
}

/* 1 if a text has that term. */
static bool has_term(const char *text, const struct require_term *term)
{
    for (const char *at = text; *at != '\0'; at += *at == ',') {
        size_t bytes = strcspn(at, ",");

        if (bytes == term->text_bytes && memcmp(at, term->text, bytes) == 0)
            return true;
        at += bytes;
    }
    return false;
}

void placement_require_all(const struct placement *placement, struct buffer *out)
{
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        const char *text = placement->rules[i].require;
        struct require require;

        if (text == NULL || placement_require_parse(text, &require, NULL) < 0)
            continue;
        for (uint32_t j = 0; j < require.count; j++) {
            const struct require_term *term = &require.terms[j];

            if (!has_term(buffer_string(out), term))
                buffer_printf(out, "%s%.*s", out->length_bytes > 0 ? "," : "",
                              (int)term->text_bytes, term->text);
        }
    }
}

/* Of these nodes, those that a term refuses. */
static void find_refused(const struct placement *placement, const struct require_term *term,
                         const struct ranges *nodes, struct ranges *ret_refused)
{
    ranges_copy(ret_refused, nodes);
    for (uint32_t i = 0; i < placement->facts.count; i++) {
        const struct facts_kind *kind = &placement->facts.kinds[i];

        if (placement_require_term_holds(term, &kind->facts))
            ranges_remove_all(ret_refused, &kind->nodes);
    }
}

static void print_nodes(const struct allocation *allocation, const struct ranges *nodes,
                        struct buffer *out)
{
    struct hostlist *names = hostlist_create();
    struct buffer text = {0};

    for (uint32_t i = 0; i < nodes->count; i++)
        hostlist_append_slice(names, allocation->names, nodes->items[i].first,
                              nodes->items[i].last - nodes->items[i].first + 1);
    hostlist_print(names, &text);
    if (text.length_bytes > TOLD_NAMES_MAX)
        buffer_printf(out, "%.*s... (%llu nodes)", TOLD_NAMES_MAX, buffer_string(&text),
                      (unsigned long long)ranges_count(nodes));
    else
        buffer_append_string(out, buffer_string(&text));
    hostlist_destroy(names);
    buffer_fini(&text);
}

/* What a node has instead of what a term wants. */
static void print_fact(const struct require_term *term, const struct node_facts *facts,
                       struct buffer *out)
{
    if (term->fact == FACT_FEATURES)
        return;
    if (facts == NULL || !node_facts_knows(facts, term->fact)) {
        buffer_append_string(out, " (not known)");
        return;
    }
    buffer_append_string(out, " (");
    if (term->fact == FACT_MEMORY)
        node_facts_print_mib(facts->memory_mib, out);
    else if (term->fact == FACT_GPUS)
        buffer_printf(out, "%u", facts->gpus);
    else
        buffer_append_string(out, term->fact == FACT_SYSTEM ? facts->system : facts->architecture);
    buffer_append_string(out, ")");
}

/* Of the refused nodes those that have the same to report as some facts. */
static void find_alike(const struct placement *placement, const struct require_term *term,
                       const struct ranges *refused, const char *said, struct ranges *ret_alike)
{
    struct ranges rest = {0};
    struct buffer text = {0};

    ranges_copy(&rest, refused);
    for (uint32_t i = 0; i < placement->facts.count; i++) {
        struct ranges common = {0};

        ranges_intersect(refused, &placement->facts.kinds[i].nodes, &common);
        ranges_remove_all(&rest, &common);
        buffer_clear(&text);
        print_fact(term, &placement->facts.kinds[i].facts, &text);
        if (strcmp(said, buffer_string(&text)) == 0)
            ranges_add_all(ret_alike, &common);
        ranges_fini(&common);
    }
    buffer_clear(&text);
    print_fact(term, NULL, &text);
    if (strcmp(said, buffer_string(&text)) == 0)
        ranges_add_all(ret_alike, &rest);
    ranges_fini(&rest);
    buffer_fini(&text);
}

/* Nodes with the same report about a term are listed together, the last of many kinds
 * without what they have. */
static void tell_term(const struct placement *placement, const struct allocation *allocation,
                      const struct require_term *term, struct ranges *refused, struct buffer *out)
{
    buffer_printf(out, "%.*s excludes", (int)term->text_bytes, term->text);
    for (int told = 0; !ranges_is_empty(refused); told++) {
        struct buffer said = {0};
        struct ranges alike = {0};

        if (told < TOLD_KINDS_MAX - 1) {
            print_fact(term, facts_table_find(&placement->facts, ranges_min(refused)), &said);
            find_alike(placement, term, refused, buffer_string(&said), &alike);
        } else {
            ranges_copy(&alike, refused);
        }
        assert(!ranges_is_empty(&alike)); /* or this would not end */
        buffer_append_string(out, told > 0 ? ", " : " ");
        print_nodes(allocation, &alike, out);
        buffer_append_string(out, buffer_string(&said));
        ranges_remove_all(refused, &alike);
        ranges_fini(&alike);
        buffer_fini(&said);
    }
}

/* "mem>=64G excludes n[1-3] (32G); feature=ib excludes n4". */
static void tell_rule(const struct placement *placement, const struct allocation *allocation,
                      const struct require *require, struct buffer *out)
{
    struct ranges nodes = {0}, refused = {0};
    const char *between = "";

    find_candidates(placement, allocation, &nodes);
    for (uint32_t i = 0; i < require->count; i++) {
        find_refused(placement, &require->terms[i], &nodes, &refused);
        if (ranges_is_empty(&refused))
            continue;
        buffer_append_string(out, between);
        tell_term(placement, allocation, &require->terms[i], &refused, out);
        between = "; ";
    }
    ranges_fini(&nodes);
    ranges_fini(&refused);
}

static int nothing_left(const struct placement *placement, const struct allocation *allocation,
                        uint32_t app, const struct require *require, struct error *error)
{
    struct buffer why = {0};

    tell_rule(placement, allocation, require, &why);
    error_set(error, -ENODEV, "no node satisfies --require: %s", buffer_string(&why));
    if (placement->rules_count > 1)
        error_prefix(error, "application %u", app);
    buffer_fini(&why);
    return -ENODEV;
}

static int settle_rule(struct placement *placement, const struct allocation *allocation,
                       uint32_t app, struct error *error)
{
    struct placement_rule *rule = &placement->rules[app];
    struct ranges nodes = {0}, refused = {0};
    struct require require;
    int rc = placement_require_parse(rule->require, &require, error);

    assert(app < placement->rules_count && rule->require != NULL);
    ranges_clear(&rule->excluded);
    find_candidates(placement, allocation, &nodes);
    for (uint32_t i = 0; rc == 0 && i < require.count; i++) {
        find_refused(placement, &require.terms[i], &nodes, &refused);
        ranges_add_all(&rule->excluded, &refused);
    }
    if (rc == 0 && !ranges_is_empty(&nodes) && ranges_contains_all(&rule->excluded, &nodes))
        rc = nothing_left(placement, allocation, app, &require, error);
    ranges_fini(&nodes);
    ranges_fini(&refused);
    return rc;
}

int placement_require_settle(struct placement *placement, const struct allocation *allocation,
                             struct error *error)
{
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        int rc =
            placement->rules[i].require != NULL ? settle_rule(placement, allocation, i, error) : 0;

        if (rc < 0)
            return rc;
    }
    return 0;
}

void placement_require_tell(const struct placement *placement, const struct allocation *allocation,
                            struct buffer *out)
{
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        const struct placement_rule *rule = &placement->rules[i];
        struct require require;

        if (rule->require == NULL || ranges_is_empty(&rule->excluded) ||
            placement_require_parse(rule->require, &require, NULL) < 0)
            continue;
        buffer_append_string(out, "; --require");
        if (placement->rules_count > 1)
            buffer_printf(out, " of application %u", i);
        buffer_append_string(out, ": ");
        tell_rule(placement, allocation, &require, out);
    }
}

void placement_require_forget(struct placement *placement)
{
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        free(placement->rules[i].require);
        placement->rules[i].require = NULL;
    }
    facts_table_fini(&placement->facts);
}
