/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text to hostlist.  doc/hostlist.rst has the grammar:
 *
 *     list = { separator } [ item { separator { separator } item } ] { separator }
 *     item = { text | "[" range { "," range } "]" }
 *     range = number [ "-" [ number ] ]
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/hostlist.h"

#define BRACKETS_MAX     16    /* in one item */
#define COMBINATIONS_MAX 65536 /* of all brackets of an item but the one that stays a run */

struct number_range {
    uint64_t first;
    uint32_t count;
    uint8_t width;
};

/* One bracket of an item, with the text before it, and where the walk over all its numbers is. */
struct bracket {
    const char *text;
    size_t text_bytes;
    uint32_t ranges_from; /* in the parser's ranges */
    uint32_t ranges_to;
    uint32_t numbers; /* in all its ranges */
    uint32_t range;   /* the walk: which range, */
    uint32_t offset;  /* and which number of it */
};

struct parser {
    const char *text;
    size_t text_bytes;
    size_t offset; /* of the next item, or where the error is */
    struct hostlist *list;
    struct error *error;
    /* The item at work. */
    struct number_range *ranges;
    uint32_t ranges_count;
    uint32_t ranges_capacity;
    struct bracket brackets[BRACKETS_MAX];
    uint32_t brackets_count;
    const char *tail; /* text after the last bracket */
    size_t tail_bytes;
};

/* Sets the place of an error; for `return error_set(parser_error(parser, offset), ...)`. */
static struct error *parser_error(struct parser *parser, size_t offset)
{
    parser->offset = offset;
    return parser->error;
}

static int too_many_hosts(struct parser *parser, size_t offset)
{
    return error_set(parser_error(parser, offset), -E2BIG, "more than %u hosts",
                     HOSTLIST_HOSTS_MAX);
}

static bool is_separator(char byte)
{
    return byte == ',' || byte == ' ' || byte == '\t' || byte == '\n';
}

static bool is_control(char byte)
{
    return (unsigned char)byte < 0x20 || byte == 0x7f;
}

/* ---- Ranges ---- */

/* Reads a number as strtoul does: blanks and '+' in front are skipped (and count as width, which
 * is the caller's business), and what is too large becomes 2^64 - 1.  blanks_after: how many may
 * follow.  Returns 1 if the text is that and nothing else. */
static int number_parse(const char *text, size_t bytes, int blanks_after, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t i = 0;
    size_t digits_from;

    while (i < bytes && (text[i] == ' ' || text[i] == '\t'))
        i++;
    if (i < bytes && text[i] == '+')
        i++;
    for (digits_from = i; i < bytes && text[i] >= '0' && text[i] <= '9'; i++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number))
            number = UINT64_MAX;
    }
    if (i == digits_from)
        return 0;
    while (blanks_after && i < bytes && (text[i] == ' ' || text[i] == '\t'))
        i++;
    *ret_number = number;
    return i == bytes;
}

static void parser_add_range(struct parser *parser, struct number_range range)
{
    if (parser->ranges_count == parser->ranges_capacity) {
        parser->ranges_capacity = parser->ranges_capacity > 0 ? 2 * parser->ranges_capacity : 16;
        parser->ranges =
            memory_resize(parser->ranges, parser->ranges_capacity * sizeof(*parser->ranges));
    }
    parser->ranges[parser->ranges_count++] = range;
}

static int range_parse(struct parser *parser, size_t from, size_t to)
{
    struct bracket *bracket = &parser->brackets[parser->brackets_count];
    const char *text = parser->text + from;
    size_t bytes = to - from;
    const char *dash = memchr(text, '-', bytes);
    size_t low_bytes = dash != NULL ? (size_t)(dash - text) : bytes;
    uint64_t first, last;

    assert(from <= to && to <= parser->text_bytes);
    if (bytes == 0)
        return error_set(parser_error(parser, from), -EINVAL, "missing number");
    if (!number_parse(text, low_bytes, dash != NULL, &first))
        return error_set(parser_error(parser, from), -EINVAL, "\"%.*s\" is not a range of numbers",
                         (int)(bytes < 80 ? bytes : 80), text);
    last = first;
    if (bytes > low_bytes + 1 && !number_parse(dash + 1, bytes - low_bytes - 1, 0, &last))
        return error_set(parser_error(parser, from), -EINVAL, "\"%.*s\" is not a range of numbers",
                         (int)(bytes < 80 ? bytes : 80), text);
    if (last < first)
        return error_set(parser_error(parser, from), -EINVAL,
                         "the range %" PRIu64 "-%" PRIu64 " runs backwards", first, last);
    if (low_bytes > HOST_NAME_BYTES_MAX)
        return error_set(parser_error(parser, from), -EINVAL, "a number of more than %d digits",
                         HOST_NAME_BYTES_MAX);
    if (last - first >= HOSTLIST_HOSTS_MAX - bracket->numbers)
        return too_many_hosts(parser, from);
    parser_add_range(parser, (struct number_range){.first = first,
                                                   .count = (uint32_t)(last - first) + 1,
                                                   .width = (uint8_t)low_bytes});
    bracket->numbers += (uint32_t)(last - first) + 1;
    return 0;
}

/* What stands in a bracket, [from, to). */
static int ranges_parse(struct parser *parser, size_t from, size_t to)
{
    for (;;) {
        const char *comma = memchr(parser->text + from, ',', to - from);
        size_t end = comma != NULL ? (size_t)(comma - parser->text) : to;
        int rc = range_parse(parser, from, end);

        if (rc < 0 || comma == NULL)
            return rc;
        from = end + 1;
    }
}

/* ---- Items with brackets ---- */

static int brackets_parse(struct parser *parser, size_t from, size_t to)
{
    const char *open;

    parser->brackets_count = 0;
    parser->ranges_count = 0;
    while ((open = memchr(parser->text + from, '[', to - from)) != NULL) {
        size_t inner = (size_t)(open - parser->text) + 1;
        const char *close = memchr(parser->text + inner, ']', to - inner);
        struct bracket *bracket = &parser->brackets[parser->brackets_count];
        int rc;

        if (parser->brackets_count == BRACKETS_MAX)
            return error_set(parser_error(parser, inner - 1), -E2BIG,
                             "more than %d brackets in one name", BRACKETS_MAX);
        assert(close != NULL); /* item_end has seen it */
        *bracket = (struct bracket){.text = parser->text + from,
                                    .text_bytes = inner - 1 - from,
                                    .ranges_from = parser->ranges_count};
        rc = ranges_parse(parser, inner, (size_t)(close - parser->text));
        if (rc < 0)
            return rc;
        bracket->ranges_to = parser->ranges_count;
        bracket->range = bracket->ranges_from;
        parser->brackets_count++;
        from = (size_t)(close - parser->text) + 1;
    }
    parser->tail = parser->text + from;
    parser->tail_bytes = to - from;
    return 0;
}

/* Slurm's order: the last bracket varies fastest, then the first, the second, and so on; the last
 * but one varies slowest.  Returns the index-th bracket of that order, fastest first. */
static uint32_t bracket_by_speed(const struct parser *parser, uint32_t index)
{
    return index == 0 ? parser->brackets_count - 1 : index - 1;
}

/* Of the brackets with several numbers the fastest: it stays a run. */
static uint32_t bracket_of_run(const struct parser *parser)
{
    assert(parser->brackets_count > 0);
    for (uint32_t i = 0; i < parser->brackets_count; i++) {
        if (parser->brackets[bracket_by_speed(parser, i)].numbers > 1)
            return bracket_by_speed(parser, i);
    }
    return parser->brackets_count - 1;
}

/* Steps to the next combination of all brackets but the run's; 0 after the last. */
static bool combination_next(struct parser *parser, uint32_t run_bracket)
{
    for (uint32_t i = 0; i < parser->brackets_count; i++) {
        struct bracket *bracket = &parser->brackets[bracket_by_speed(parser, i)];

        if (bracket == &parser->brackets[run_bracket])
            continue;
        if (++bracket->offset < parser->ranges[bracket->range].count)
            return true;
        bracket->offset = 0;
        if (++bracket->range < bracket->ranges_to)
            return true;
        bracket->range = bracket->ranges_from;
    }
    return false;
}

/* The number at which a bracket's walk is, as it is written. */
static void bracket_write(const struct parser *parser, const struct bracket *bracket,
                          struct buffer *name)
{
    const struct number_range *range = &parser->ranges[bracket->range];

    assert(bracket->range < bracket->ranges_to && bracket->offset < range->count);
    buffer_printf(name, "%0*" PRIu64, range->width, range->first + bracket->offset);
}

/* Appends the hosts of one combination: name holds what stands before and after the number. */
static int combination_append(struct parser *parser, uint32_t run_bracket, struct buffer *name,
                              size_t item_offset)
{
    size_t prefix_bytes = 0;
    const struct bracket *bracket = parser->brackets;

    buffer_clear(name);
    for (uint32_t i = 0; i < parser->brackets_count; i++, bracket++) {
        buffer_append(name, bracket->text, bracket->text_bytes);
        if (i == run_bracket)
            prefix_bytes = name->length_bytes;
        else
            bracket_write(parser, bracket, name);
    }
    buffer_append(name, parser->tail, parser->tail_bytes);
    bracket = &parser->brackets[run_bracket];
    for (uint32_t i = bracket->ranges_from; i < bracket->ranges_to; i++) {
        struct host_run run = {
            .prefix = buffer_string(name),
            .suffix = buffer_string(name) + prefix_bytes,
            .first = parser->ranges[i].first,
            .count = parser->ranges[i].count,
            .prefix_bytes = (uint8_t)prefix_bytes,
            .suffix_bytes = (uint8_t)(name->length_bytes - prefix_bytes),
            .width = parser->ranges[i].width,
        };

        if (name->length_bytes >= HOST_NAME_BYTES_MAX ||
            hostlist_run_name_bytes(&run) > HOST_NAME_BYTES_MAX)
            return error_set(parser_error(parser, item_offset), -EINVAL,
                             "a name of more than %d bytes", HOST_NAME_BYTES_MAX);
        hostlist_append_run(parser->list, &run);
    }
    return 0;
}

/* Checks how many hosts the item makes, before it makes them. */
static int combinations_check(struct parser *parser, uint32_t run_bracket, size_t item_offset)
{
    uint64_t combinations = 1;

    for (uint32_t i = 0; i < parser->brackets_count; i++) {
        if (i == run_bracket)
            continue;
        combinations *= parser->brackets[i].numbers;
        if (combinations > COMBINATIONS_MAX)
            return error_set(parser_error(parser, item_offset), -E2BIG,
                             "more than %d combinations of brackets in one name", COMBINATIONS_MAX);
    }
    if (combinations * parser->brackets[run_bracket].numbers >
        HOSTLIST_HOSTS_MAX - hostlist_count(parser->list))
        return too_many_hosts(parser, item_offset);
    return 0;
}

static int bracket_item_parse(struct parser *parser, size_t from, size_t to)
{
    struct buffer name = {0};
    uint32_t run_bracket;
    int rc = brackets_parse(parser, from, to);

    if (rc < 0)
        return rc;
    run_bracket = bracket_of_run(parser);
    rc = combinations_check(parser, run_bracket, from);
    if (rc < 0)
        return rc;
    do
        rc = combination_append(parser, run_bracket, &name, from);
    while (rc == 0 && combination_next(parser, run_bracket));
    buffer_fini(&name);
    return rc;
}

/* ---- Items ---- */

static int plain_item_parse(struct parser *parser, size_t from, size_t to)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    assert(from < to && to <= parser->text_bytes);
    if (to - from > HOST_NAME_BYTES_MAX)
        return error_set(parser_error(parser, from), -EINVAL, "a name of more than %d bytes",
                         HOST_NAME_BYTES_MAX);
    if (hostlist_count(parser->list) == HOSTLIST_HOSTS_MAX)
        return too_many_hosts(parser, from);
    memcpy(name, parser->text + from, to - from);
    name[to - from] = '\0';
    hostlist_append(parser->list, name);
    return 0;
}

/* Finds the end of the item that begins at from, and whether it has brackets. */
static int item_end(struct parser *parser, size_t from, size_t *ret_to, int *ret_brackets)
{
    size_t open = 0;  /* offset + 1 of a bracket that is open */
    size_t stray = 0; /* offset + 1 of a ']' that closes nothing: part of a name without brackets */
    int brackets = 0;
    size_t i;

    for (i = from; i < parser->text_bytes && (open > 0 || !is_separator(parser->text[i])); i++) {
        char byte = parser->text[i];

        if (is_control(byte) && byte != '\t')
            return error_set(parser_error(parser, i), -EINVAL, "control character 0x%02x in a name",
                             (unsigned char)byte);
        if (byte == '[' && open > 0)
            return error_set(parser_error(parser, i), -EINVAL, "a '[' inside brackets");
        if (byte == '[') {
            open = i + 1;
            brackets = 1;
        } else if (byte == ']' && open > 0) {
            open = 0;
        } else if (byte == ']') {
            stray = i + 1;
        }
    }
    if (open > 0)
        return error_set(parser_error(parser, open - 1), -EINVAL, "unmatched '['");
    if (brackets && stray > 0)
        return error_set(parser_error(parser, stray - 1), -EINVAL, "unmatched ']'");
    *ret_to = i;
    *ret_brackets = brackets;
    return 0;
}

static int items_parse(struct parser *parser)
{
    int rc = 0;

    for (;;) {
        size_t from = parser->offset;
        size_t to = from;
        int brackets = 0;

        while (from < parser->text_bytes && is_separator(parser->text[from]))
            from++;
        if (from == parser->text_bytes)
            return 0;
        rc = item_end(parser, from, &to, &brackets);
        if (rc == 0 && brackets)
            rc = bracket_item_parse(parser, from, to);
        else if (rc == 0)
            rc = plain_item_parse(parser, from, to);
        if (rc < 0)
            return rc;
        assert(to > from && to <= parser->text_bytes);
        parser->offset = to;
    }
}

int hostlist_parse_bytes(struct hostlist *list, const char *text, size_t text_bytes,
                         size_t *ret_offset, struct error *error)
{
    struct parser parser = {
        .text = text, .text_bytes = text_bytes, .list = hostlist_create(), .error = error};
    int rc = items_parse(&parser);

    if (rc == 0 && hostlist_count(parser.list) > HOSTLIST_HOSTS_MAX - hostlist_count(list)) {
        rc = too_many_hosts(&parser, 0);
    }
    if (rc == 0)
        hostlist_move(list, parser.list);
    else
        *ret_offset = parser.offset;
    hostlist_destroy(parser.list);
    free(parser.ranges);
    return rc;
}

int hostlist_parse(struct hostlist *list, const char *text, struct error *error)
{
    size_t offset = 0;
    int rc = hostlist_parse_bytes(list, text, strlen(text), &offset, error);

    if (rc < 0)
        error_prefix(error, "column %zu", offset + 1);
    return rc;
}
