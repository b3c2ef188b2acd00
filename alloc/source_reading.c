/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/source_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc/host_name.h"

/* ---- Asking ---- */

const char *source_reading_variable(const struct source_reading *reading, const char *name)
{
    return reading->ops->variable(reading->ops->context, name);
}

/* "A is empty", or "none of A, B and C is set". */
static int refuse_missing(const struct source_reading *reading, const char *const *names,
                          const char *empty)
{
    struct buffer list = {0};

    if (empty != NULL)
        return error_set(reading->error, -EINVAL, "%s is empty", empty);
    if (names[1] == NULL)
        return error_set(reading->error, -EINVAL, "%s is not set", names[0]);
    if (names[2] == NULL)
        return error_set(reading->error, -EINVAL, "neither %s nor %s is set", names[0], names[1]);
    for (const char *const *name = names; *name != NULL; name++)
        buffer_printf(&list, "%s%s", name == names ? "" : name[1] == NULL ? " and " : ", ", *name);
    error_set(reading->error, -EINVAL, "none of %s is set", buffer_string(&list));
    buffer_fini(&list);
    return -EINVAL;
}

int source_reading_require(const struct source_reading *reading, const char *const *names,
                           const char **ret_name, const char **ret_value)
{
    const char *empty = NULL;

    for (const char *const *name = names; *name != NULL; name++) {
        const char *value = source_reading_variable(reading, *name);

        if (value != NULL && value[0] != '\0') {
            *ret_name = *name;
            *ret_value = value;
            return 0;
        }
        if (value != NULL && empty == NULL)
            empty = *name;
    }
    return refuse_missing(reading, names, empty);
}

int source_reading_number(const struct source_reading *reading, const char *name, uint32_t minimum,
                          uint32_t maximum, uint32_t *ret_number)
{
    const char *value = source_reading_variable(reading, name);
    struct source_text text;
    struct source_word word;

    if (value == NULL)
        return 0;
    source_text_variable(&text, name, value, reading->error);
    source_text_word(&text, &word);
    word.bytes = (size_t)(text.end - word.text);
    return source_word_number(&text, &word, "it", minimum, maximum, ret_number);
}

int source_reading_file(const struct source_reading *reading, const char *variable,
                        const char *path, struct buffer *ret_bytes)
{
    int rc = reading->ops->file(reading->ops->context, path, ret_bytes);

    if (rc < 0)
        error_set(reading->error, rc, "%s: cannot read %s: %s", variable, path,
                  rc == -ESPIPE ? "not a regular file" : strerror(-rc));
    return rc;
}

/* ---- Hostlists ---- */

/* Slurm lets any byte be in a name; ours become arguments of other programs. */
static int list_check(struct source_text *text)
{
    bool inside = false;

    for (const char *at = text->at; at < text->end; at++) {
        bool separator = strchr(", \t\n", *at) != NULL;
        bool starts = at == text->at || strchr(", \t\n", at[-1]) != NULL;

        if (*at == '[' || (*at == ']' && inside)) {
            inside = *at == '[';
        } else if (!inside && starts && host_name_check_first(*at, text->error) < 0) {
            source_text_prefix(text, at);
            return -EINVAL;
        } else if (!inside && !separator && !host_name_has_byte(*at)) {
            host_name_byte_error(text->error, *at);
            source_text_prefix(text, at);
            return -EINVAL;
        }
    }
    return 0;
}

int source_reading_list_parse(struct source_text *text, struct hostlist *list)
{
    size_t offset = 0;
    int rc =
        hostlist_parse_bytes(list, text->at, (size_t)(text->end - text->at), &offset, text->error);

    if (rc == 0)
        return list_check(text);
    source_text_prefix(text, text->at + offset);
    return rc;
}

/* ---- Adding ---- */

/* For who asks where a count is from: "path:2", or "NAME, column 3". */
static void trace_place(struct source_reading *reading, const struct source_text *text,
                        const char *at)
{
    struct allocation_trace *trace = reading->builder.made.trace;

    if (text->line > 0)
        allocation_trace_place(trace, "%s:%u", text->name, text->line);
    else
        allocation_trace_place(trace, "%s, column %zu", text->name,
                               (size_t)(at - text->line_start) + 1);
}

static bool has_node(const struct source_reading *reading, const char *name, size_t name_bytes)
{
    return name_index_find(reading->builder.index, name, name_bytes) >= 0;
}

/* Where the domain of a name begins, or its end: addresses have none. */
static size_t domain_start(const struct source_word *word)
{
    size_t first = 0;
    bool has_letter = false;

    while (first < word->bytes && word->text[first] != '.')
        first++;
    for (size_t i = 0; i < word->bytes; i++) {
        if (word->text[i] == ':')
            return word->bytes;
        has_letter = has_letter || ((unsigned char)word->text[i] | 0x20) >= 'a';
    }
    return has_letter ? first : word->bytes;
}

static void domain_note(struct source_reading *reading, const char *domain, size_t bytes)
{
    for (size_t i = 0; i < reading->domains_count; i++) {
        if (reading->domain_bytes[i] == bytes && memcmp(reading->domains[i], domain, bytes) == 0)
            return;
    }
    if (reading->domains_count == SOURCE_DOMAINS_MAX)
        return;
    reading->domains[reading->domains_count] = domain;
    reading->domain_bytes[reading->domains_count++] = bytes;
}

/* A machine by its short and its full name is one node, by the name that came first: *word becomes
 * that; name has room for it. */
static void name_resolve(struct source_reading *reading, struct source_word *word,
                         char name[HOST_NAME_BYTES_MAX + 1])
{
    size_t short_bytes = domain_start(word);

    assert(word->bytes <= HOST_NAME_BYTES_MAX);
    if (has_node(reading, word->text, word->bytes))
        return;
    if (short_bytes < word->bytes && has_node(reading, word->text, short_bytes)) {
        word->bytes = short_bytes;
    } else if (short_bytes < word->bytes) {
        domain_note(reading, word->text + short_bytes, word->bytes - short_bytes);
    } else {
        for (size_t i = 0; i < reading->domains_count; i++) {
            size_t bytes = word->bytes + reading->domain_bytes[i];

            if (bytes > HOST_NAME_BYTES_MAX)
                continue;
            memcpy(name, word->text, word->bytes);
            memcpy(name + word->bytes, reading->domains[i], reading->domain_bytes[i]);
            if (!has_node(reading, name, bytes))
                continue;
            *word = (struct source_word){name, bytes};
            return;
        }
    }
}

int source_reading_add(struct source_reading *reading, struct source_text *text,
                       const struct source_word *given, uint32_t slots)
{
    struct source_word node = *given;
    const struct source_word *word = &node;
    char name[HOST_NAME_BYTES_MAX + 1];
    struct host_run run = {.suffix = "", .count = 1};
    bool skip = reading->skip_launch_node && slots == 1;
    size_t offset = 0;
    int rc;

    reading->skip_launch_node = false;
    if (skip)
        return 0;
    rc = host_name_check(word->text, word->bytes, &offset, reading->error);
    if (rc == 0) {
        name_resolve(reading, &node, name);
        run.prefix = word->text;
        run.prefix_bytes = (uint8_t)word->bytes;
        trace_place(reading, text, given->text);
        rc = allocation_builder_add(&reading->builder, &run, slots, reading->error);
    }
    if (rc < 0)
        source_text_prefix(text, given->text + offset);
    return rc;
}

int source_reading_add_list(struct source_reading *reading, const struct hostlist *list,
                            const struct slots_run *runs)
{
    uint32_t used = 0; /* nodes of the slots' run */
    int rc = 0;

    for (uint32_t i = 0; i < hostlist_runs(list); i++) {
        struct host_run run = hostlist_run(list, i);
        uint32_t left = run.count;

        while (left > 0 && rc == 0) {
            run.count = runs->nodes - used < left ? runs->nodes - used : left;
            rc = allocation_builder_add(&reading->builder, &run, runs->slots, reading->error);
            run.first += run.count;
            left -= run.count;
            used += run.count;
            if (used == runs->nodes) {
                used = 0;
                runs++;
            }
        }
    }
    return rc;
}

static bool words_equal(const struct source_word *a, const struct source_word *b)
{
    return a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0;
}

int source_reading_add_repeated(struct source_reading *reading, struct source_text *text,
                                int (*next)(struct source_text *text, struct source_word *ret_word),
                                uint32_t slots_each)
{
    struct source_text last = *text; /* where the node that came `times` times stands */
    struct source_word node = {0};
    struct source_word word;
    uint32_t times = 0;
    int rc;

    do {
        rc = next(text, &word);
        if (rc < 0)
            return rc;
        if (rc > 0 && words_equal(&word, &node) &&
            (times + 1) * (uint64_t)slots_each <= ALLOCATION_SLOTS_MAX) {
            times++;
            continue;
        }
        if (times > 0) {
            int added = source_reading_add(reading, &last, &node, times * slots_each);

            if (added < 0)
                return added;
        }
        node = word;
        last = *text;
        times = 1;
    } while (rc > 0);
    return 0;
}

int source_reading_add_node_file(struct source_reading *reading, const char *const *variables,
                                 uint32_t slots_per_line, const char **ret_name)
{
    struct buffer bytes = {0};
    struct source_text text;
    const char *path;
    int rc;

    assert(slots_per_line <= ALLOCATION_SLOTS_MAX);
    rc = source_reading_require(reading, variables, ret_name, &path);
    if (rc < 0)
        return rc;
    rc = source_reading_file(reading, *ret_name, path, &bytes);
    if (rc < 0)
        goto free_bytes;
    source_text_file(&text, path, bytes.data, bytes.length_bytes, reading->error);
    rc = source_reading_add_repeated(reading, &text, source_text_lone_word, slots_per_line);
    if (rc == 0 && reading->builder.added == 0)
        rc = error_set(reading->error, -EINVAL, "%s: contains no node name", path);
    if (rc < 0)
        error_prefix(reading->error, "%s", *ret_name);
free_bytes:
    buffer_fini(&bytes);
    return rc;
}

int source_reading_finish(struct source_reading *reading, const char *counts)
{
    const char *title = reading->result->source->title;
    char origin[sizeof(reading->result->allocation.origin)];
    int rc;

    reading->result->slots_given = counts != NULL;
    snprintf(origin, sizeof(origin), "%s, %s", title,
             counts != NULL ? counts : "which gives no slot counts");
    rc = allocation_builder_finish(&reading->builder, &reading->result->allocation, origin,
                                   reading->error);
    if (rc < 0 && counts != NULL && reading->builder.added == 0)
        error_prefix(reading->error, "%s", counts);
    return rc;
}
