/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host files and --host to allocation.  doc/hostlist.rst has the forms.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "alloc/allocation_builder.h"
#include "alloc/host_choice.h"
#include "alloc/host_name.h"
#include "alloc/node_pool.h"
#include "alloc/site.h"

#define SLOTS_NOT_GIVEN UINT32_MAX
#define QUOTED_BYTES    40 /* of the user's text in a message */

/* What the attributes of a line say. */
struct attributes {
    uint32_t slots;
    uint32_t slots_max;
    size_t slots_max_offset; /* where it stands */
};

static const struct attributes no_attributes = {SLOTS_NOT_GIVEN, SLOTS_NOT_GIVEN, 0};

/* Some text of the user, and where in it an error is. */
struct source {
    const char *text;
    size_t bytes;
    size_t error_offset;
    struct error *error;
    struct host_choice choice;
};

/* Sets the place of an error; for `return error_set(source_error(source, offset), ...)`. */
static struct error *source_error(struct source *source, size_t offset)
{
    source->error_offset = offset;
    return source->error;
}

static int quoted_bytes(size_t bytes)
{
    return (int)(bytes < QUOTED_BYTES ? bytes : QUOTED_BYTES);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static size_t skip_blanks(const struct source *source, size_t from, size_t to)
{
    while (from < to && is_blank(source->text[from]))
        from++;
    return from;
}

/* ---- Names ---- */

static bool is_control(char byte)
{
    return (unsigned char)byte < 0x20 || byte == 0x7f;
}

static int name_byte_error(struct source *source, size_t offset)
{
    unsigned char byte = (unsigned char)source->text[offset];
    struct error *error = source_error(source, offset);

    switch (byte) {
    case ',':
        return error_set(error, -EINVAL, "one entry per line (several names: n[1-3])");
    default:
        return host_name_byte_error(error, (char)byte);
    }
}

/* Checks the bytes of names outside brackets; *ret_colon is where the first ':' is, or to. */
static int names_check(struct source *source, size_t from, size_t to, size_t *ret_colon)
{
    int inside = 0;

    *ret_colon = to;
    if (from < to && host_name_check_first(source->text[from], source_error(source, from)) < 0)
        return -EINVAL;
    for (size_t i = from; i < to; i++) {
        char byte = source->text[i];

        if (byte == '[' && inside)
            return error_set(source_error(source, i), -EINVAL, "'[' inside brackets");
        if (byte == '[')
            inside = 1;
        else if (byte == ']' && !inside)
            return error_set(source_error(source, i), -EINVAL, "']' without '[' before it");
        else if (byte == ']')
            inside = 0;
        else if (byte == ':' && !inside && *ret_colon == to)
            *ret_colon = i;
        else if (byte == ':' && !inside)
            return error_set(source_error(source, *ret_colon), -EINVAL,
                             "more than one ':': an IPv6 address is written [fe80::1] or "
                             "[fe80::1]:4");
        else if (!inside && *ret_colon == to && !host_name_has_byte(byte))
            return name_byte_error(source, i);
    }
    return 0;
}

/* ---- Slots ---- */

static int slots_parse(struct source *source, size_t from, size_t to, uint32_t *ret_slots)
{
    uint32_t slots = 0;
    size_t i = from;

    while (i < to && source->text[i] >= '0' && source->text[i] <= '9' &&
           slots <= ALLOCATION_SLOTS_MAX)
        slots = 10 * slots + (uint32_t)(source->text[i++] - '0');
    if (from == to || i < to || slots > ALLOCATION_SLOTS_MAX)
        return error_set(source_error(source, from), -EINVAL,
                         "slots must be a number from 0 to %u, not \"%.*s\"", ALLOCATION_SLOTS_MAX,
                         quoted_bytes(to - from), source->text + from);
    *ret_slots = slots;
    return 0;
}

/* The slots of an entry: after its colon, or given by an attribute, or 1. */
static int entry_slots(struct source *source, size_t colon, size_t to,
                       const struct attributes *given, uint32_t *ret_slots)
{
    int rc = 0;

    *ret_slots = given->slots != SLOTS_NOT_GIVEN ? given->slots : 1;
    if (colon < to && given->slots != SLOTS_NOT_GIVEN)
        return error_set(source_error(source, colon), -EINVAL, "slots given twice");
    if (colon < to)
        rc = slots_parse(source, colon + 1, to, ret_slots);
    if (rc == 0 && *ret_slots > given->slots_max)
        rc = error_set(source_error(source, given->slots_max_offset), -EINVAL,
                       "slots=%u is more than max_slots=%u", *ret_slots, given->slots_max);
    return rc;
}

/* ---- Entries: names[:slots] or [address][:slots] ---- */

/* 1 if the entry is an IPv6 address in brackets; *ret_close is where it ends. */
static bool is_address(const struct source *source, size_t from, size_t to, size_t *ret_close)
{
    const char *close;

    if (from == to || source->text[from] != '[')
        return false;
    close = memchr(source->text + from, ']', to - from);
    if (close == NULL)
        return false;
    *ret_close = (size_t)(close - source->text);
    return memchr(source->text + from, ':', *ret_close - from) != NULL;
}

/* from and to are inside the brackets. */
static int address_add(struct allocation_builder *builder, struct source *source, size_t from,
                       size_t to, uint32_t slots)
{
    struct host_run run = {.prefix = source->text + from, .suffix = "", .count = 1};
    size_t offset;

    for (size_t i = from; i < to; i++) {
        if (!host_name_has_address_byte(source->text[i]))
            return name_byte_error(source, i);
    }
    if (host_name_check(source->text + from, to - from, &offset, NULL) < 0)
        return error_set(source_error(source, from), -EINVAL, "not an IPv6 address");
    run.prefix_bytes = (uint8_t)(to - from);
    source->error_offset = from;
    return allocation_builder_add(builder, &run, slots, source->error);
}

/* They gave no slots, but --explain reports them. */
static void trace_excluded(struct allocation_trace *trace, const struct hostlist *excluded,
                           uint32_t first)
{
    struct hostlist *added = hostlist_create();
    size_t bytes = trace != NULL ? strlen(trace->place) : 0;

    hostlist_append_slice(added, excluded, first, hostlist_count(excluded) - first);
    if (trace != NULL)
        snprintf(trace->place + bytes, sizeof(trace->place) - bytes, " (excluded)");
    for (uint32_t i = 0; i < hostlist_runs(added); i++) {
        struct host_run run = hostlist_run(added, i);

        allocation_trace_add(trace, &run, 0);
    }
    hostlist_destroy(added);
}

/* The clusters there are; NULL: an entry cannot name one. */
static const struct site *site_of(const struct source *source)
{
    return source->choice.base != NULL ? source->choice.base->site : NULL;
}

/* 1 if the entry names nodes of a cluster. */
static bool is_of_site(const struct source *source, size_t from, size_t to)
{
    return site_of(source) != NULL && site_is_text(source->text + from, to - from);
}

static int names_exclude(struct allocation_builder *builder, struct source *source, size_t from,
                         size_t to)
{
    uint32_t before = hostlist_count(source->choice.excluded);
    size_t offset = 0;
    size_t colon = to;
    int rc;

    if (is_of_site(source, from, to)) {
        rc = site_expand(site_of(source), source->text + from, to - from, source->choice.excluded,
                         &offset, source->error);
        source->error_offset = from + offset;
        if (rc == 0)
            trace_excluded(builder->made.trace, source->choice.excluded, before);
        return rc;
    }
    rc = names_check(source, from, to, &colon);
    if (rc < 0)
        return rc;
    if (colon < to || from == to)
        return error_set(source_error(source, colon), -EINVAL,
                         "'^' must be followed by a name without slots");
    rc = hostlist_parse_bytes(source->choice.excluded, source->text + from, to - from, &offset,
                              source->error);
    source->error_offset = from + offset;
    if (rc == 0)
        trace_excluded(builder->made.trace, source->choice.excluded, before);
    return rc;
}

/* "512+100/" before a list: 100 of its names, from the one with the number 512 on. */
struct cut {
    size_t offset; /* where it stands */
    uint64_t number;
    uint32_t count; /* 0: there is none */
};

/* Digits at *at, which is moved past them; 0 if there are none or too many. */
static bool digits_take(const struct source *source, size_t *at, size_t to, uint64_t maximum,
                        uint64_t *ret_number)
{
    size_t from = *at;

    *ret_number = 0;
    while (*at < to && source->text[*at] >= '0' && source->text[*at] <= '9' &&
           *ret_number <= maximum)
        *ret_number = 10 * *ret_number + (uint64_t)(source->text[(*at)++] - '0');
    return *at > from && *ret_number <= maximum;
}

/* Takes such a cut away from the front, if it is one: no name has a '/'. */
static int cut_parse(struct source *source, size_t *from, size_t to, struct cut *ret_cut)
{
    uint64_t number, count;
    size_t at = *from;

    *ret_cut = (struct cut){.offset = *from};
    if (!digits_take(source, &at, to, UINT64_MAX / 16, &number) || at == to ||
        source->text[at] != '+')
        return 0;
    at++;
    if (!digits_take(source, &at, to, HOSTLIST_HOSTS_MAX, &count) || at == to ||
        source->text[at] != '/')
        return 0;
    if (count == 0)
        return error_set(source_error(source, *from), -EINVAL, "0 names requested from the list");
    *from = at + 1;
    ret_cut->number = number;
    ret_cut->count = (uint32_t)count;
    return 0;
}

/* Replaces a list by the requested part of it. */
static int cut_apply(const struct cut *cut, struct source *source, struct hostlist **names)
{
    struct hostlist *kept;
    int rc;

    if (cut->count == 0)
        return 0;
    kept = hostlist_create();
    rc = node_pool_derive_names(*names, cut->number, cut->count, kept,
                                source_error(source, cut->offset));
    hostlist_destroy(*names);
    *names = kept;
    return rc;
}

static int names_add(struct allocation_builder *builder, struct source *source,
                     const struct cut *cut, size_t from, size_t to, uint32_t slots)
{
    struct hostlist *names = hostlist_create();
    size_t offset = 0;
    int rc;

    rc = hostlist_parse_bytes(names, source->text + from, to - from, &offset, source->error);
    source->error_offset = from + offset;
    if (rc == 0)
        rc = cut_apply(cut, source, &names);
    for (uint32_t i = 0; rc == 0 && i < hostlist_runs(names); i++) {
        struct host_run run = hostlist_run(names, i);

        rc = allocation_builder_add(builder, &run, slots, source->error);
    }
    hostlist_destroy(names);
    return rc;
}

/* "west/n[1-4]:2".  Without slots in the entry each node has those that the site gives it. */
static int site_add(struct allocation_builder *builder, struct source *source, size_t from,
                    size_t to, const struct attributes *given)
{
    const char *colon = memchr(source->text + from, ':', to - from);
    size_t names_end = colon != NULL ? (size_t)(colon - source->text) : to;
    int is_given =
        colon != NULL || given->slots != SLOTS_NOT_GIVEN || !site_gives_slots(site_of(source));
    struct hostlist *names = hostlist_create();
    char name[HOST_NAME_BYTES_MAX + 1];
    size_t offset = 0;
    uint32_t slots;
    int rc = entry_slots(source, names_end, to, given, &slots);

    if (rc == 0) {
        rc = site_expand(site_of(source), source->text + from, names_end - from, names, &offset,
                         source->error);
        source->error_offset = from + offset;
    }
    for (uint32_t i = 0; rc == 0 && is_given && i < hostlist_runs(names); i++) {
        struct host_run run = hostlist_run(names, i);

        rc = allocation_builder_add(builder, &run, slots, source->error);
    }
    for (uint32_t i = 0; rc == 0 && !is_given && i < hostlist_count(names); i++) {
        struct host_run run = {.prefix = name, .suffix = "", .count = 1};

        hostlist_name(names, i, name);
        run.prefix_bytes = (uint8_t)strlen(name);
        rc = allocation_builder_add(builder, &run, site_slots(site_of(source), name, slots),
                                    source->error);
    }
    hostlist_destroy(names);
    return rc;
}

/* Takes "user@" away from the front. */
static int user_parse(struct source *source, size_t *from, size_t to)
{
    const char *text = source->text + *from;
    const char *at = memchr(text, '@', to - *from);
    int rc = 0;

    if (at != NULL) {
        rc = host_choice_user(&source->choice, text, (size_t)(at - text),
                              source_error(source, *from));
        *from += (size_t)(at - text) + 1;
    }
    return rc;
}

static int entry_parse(struct allocation_builder *builder, struct source *source, size_t from,
                       size_t to, const struct attributes *given)
{
    size_t close, colon;
    struct cut cut;
    uint32_t slots;
    int rc;

    if (source->text[from] == '^')
        return names_exclude(builder, source, from + 1, to);
    if (source->text[from] == '+')
        return host_choice_relative(&source->choice, builder, source->text + from, to - from,
                                    source_error(source, from));
    rc = user_parse(source, &from, to);
    if (rc < 0)
        return rc;
    source->choice.has_names = 1;
    rc = cut_parse(source, &from, to, &cut);
    if (rc < 0)
        return rc;
    if (cut.count == 0 && is_of_site(source, from, to))
        return site_add(builder, source, from, to, given);
    if (cut.count == 0 && is_address(source, from, to, &close)) {
        colon = close + 1;
        if (colon < to && source->text[colon] != ':')
            return name_byte_error(source, colon);
        rc = entry_slots(source, colon, to, given, &slots);
        return rc < 0 ? rc : address_add(builder, source, from + 1, close, slots);
    }
    rc = names_check(source, from, to, &colon);
    if (rc < 0)
        return rc;
    if (colon == from)
        return error_set(source_error(source, from), -EINVAL, "missing name before ':'");
    rc = entry_slots(source, colon, to, given, &slots);
    return rc < 0 ? rc : names_add(builder, source, &cut, from, colon, slots);
}

/* Where the entry at from ends: at a separator outside brackets. */
static size_t entry_end(const struct source *source, size_t from, size_t to, const char *separators)
{
    int inside = 0;

    for (; from < to; from++) {
        char byte = source->text[from];

        if (!inside && byte != '\0' && strchr(separators, byte) != NULL)
            break;
        if (byte == '[' || byte == ']')
            inside = byte == '[';
    }
    return from;
}

/* ---- Host files ---- */

/* What Open MPI, hydra and LAM write after a name. */
static const struct attribute_word {
    const char *word;
    enum { ATTRIBUTE_SLOTS, ATTRIBUTE_SLOTS_MAX, ATTRIBUTE_USER, ATTRIBUTE_REFUSED } kind;
    const char *refusal;
} attribute_words[] = {
    {"slots", ATTRIBUTE_SLOTS, NULL},
    {"count", ATTRIBUTE_SLOTS, NULL},
    {"cpu", ATTRIBUTE_SLOTS, NULL},
    {"max_slots", ATTRIBUTE_SLOTS_MAX, NULL},
    {"max-slots", ATTRIBUTE_SLOTS_MAX, NULL},
    {"slots_max", ATTRIBUTE_SLOTS_MAX, NULL},
    {"slots-max", ATTRIBUTE_SLOTS_MAX, NULL},
    {"maxslots", ATTRIBUTE_SLOTS_MAX, NULL},
    {"port", ATTRIBUTE_REFUSED, "give the port in ssh's configuration"},
    {"user", ATTRIBUTE_USER, NULL},
    {"username", ATTRIBUTE_USER, NULL},
    {"user_name", ATTRIBUTE_USER, NULL},
    {"user-name", ATTRIBUTE_USER, NULL},
    {"binding", ATTRIBUTE_REFUSED, "a host file does not set binding"},
};

static const struct attribute_word *attribute_find(const char *word, size_t bytes)
{
    for (size_t i = 0; i < sizeof(attribute_words) / sizeof(*attribute_words); i++) {
        if (strlen(attribute_words[i].word) == bytes &&
            memcmp(attribute_words[i].word, word, bytes) == 0)
            return &attribute_words[i];
    }
    return NULL;
}

static int attribute_set(struct source *source, const struct attribute_word *word, size_t key,
                         size_t value, size_t value_end, struct attributes *attributes)
{
    int is_slots = word->kind == ATTRIBUTE_SLOTS;
    uint32_t *number = is_slots ? &attributes->slots : &attributes->slots_max;

    if (word->kind == ATTRIBUTE_USER)
        return host_choice_user(&source->choice, source->text + value, value_end - value,
                                source_error(source, value));
    if (*number != SLOTS_NOT_GIVEN)
        return error_set(source_error(source, key), -EINVAL, "%s given twice",
                         is_slots ? "slots" : "max_slots");
    if (!is_slots)
        attributes->slots_max_offset = key;
    return slots_parse(source, value, value_end, number);
}

/* "n1 4" and "n1 slots:4" are near to what would do. */
static int attribute_refuse(struct source *source, size_t from, size_t to)
{
    const char *text = source->text + from;
    size_t bytes = to - from;
    const char *colon = memchr(text, ':', bytes);
    struct error *error = source_error(source, from);
    size_t digits = 0;

    while (digits < bytes && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    if (digits == bytes && bytes > 0 && bytes <= 7)
        return error_set(error, -EINVAL, "write slots as name:%.*s or slots=%.*s, not \"%.*s\"",
                         (int)bytes, text, (int)bytes, text, (int)bytes, text);
    if (colon != NULL && attribute_find(text, (size_t)(colon - text)) != NULL)
        return error_set(error, -EINVAL, "write %.*s=%.*s, not \"%.*s\"", (int)(colon - text), text,
                         quoted_bytes(bytes - (size_t)(colon + 1 - text)), colon + 1,
                         quoted_bytes(bytes), text);
    return error_set(error, -EINVAL,
                     "unknown attribute \"%.*s\"; known are slots=N, max_slots=N and user=NAME",
                     quoted_bytes(bytes), text);
}

/* Reads one "key = value" at from; *ret_next points past it. */
static int attribute_parse(struct source *source, size_t from, size_t to,
                           struct attributes *attributes, size_t *ret_next)
{
    const struct attribute_word *word;
    size_t key_end = from;
    size_t value, value_end;

    while (key_end < to && !is_blank(source->text[key_end]) && source->text[key_end] != '=')
        key_end++;
    word = attribute_find(source->text + from, key_end - from);
    if (word == NULL)
        return attribute_refuse(source, from, key_end);
    if (word->kind == ATTRIBUTE_REFUSED)
        return error_set(source_error(source, from), -EINVAL, "%s= is not supported: %s",
                         word->word, word->refusal);
    value = skip_blanks(source, key_end, to);
    if (value == to || source->text[value] != '=')
        return error_set(source_error(source, key_end), -EINVAL, "'=' is missing after %s",
                         word->word);
    value = skip_blanks(source, value + 1, to);
    for (value_end = value; value_end < to && !is_blank(source->text[value_end]);)
        value_end++;
    *ret_next = value_end;
    return attribute_set(source, word, from, value, value_end, attributes);
}

/* Where the comment of a line begins, "# ..." or "// ...", or to. */
static size_t comment_start(const struct source *source, size_t from, size_t to)
{
    for (; from < to; from++) {
        if (source->text[from] == '#' ||
            (source->text[from] == '/' && from + 1 < to && source->text[from + 1] == '/'))
            break;
    }
    return from;
}

static int line_parse(struct allocation_builder *builder, struct source *source, size_t from,
                      size_t to)
{
    struct attributes attributes = no_attributes;
    size_t comment = comment_start(source, from, to);
    size_t name_end, next;

    if (comment < to)
        to = comment;
    else if (to > from && source->text[to - 1] == '\r')
        to--;
    for (size_t i = from; i < to; i++) {
        if (is_control(source->text[i]) && source->text[i] != '\t')
            return name_byte_error(source, i);
    }
    from = skip_blanks(source, from, to);
    if (from == to)
        return 0;
    name_end = entry_end(source, from, to, " \t");
    next = skip_blanks(source, name_end, to);
    while (next < to) {
        int rc = attribute_parse(source, next, to, &attributes, &next);

        if (rc < 0)
            return rc;
        next = skip_blanks(source, next, to);
    }
    return entry_parse(builder, source, from, name_end, &attributes);
}

static int lines_parse(struct allocation_builder *builder, const char *file, struct source *source)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, as some editors put it in front */
    size_t from = source->bytes >= 3 && memcmp(source->text, mark, 3) == 0 ? 3 : 0;

    for (unsigned int line = 1; from < source->bytes; line++) {
        const char *newline = memchr(source->text + from, '\n', source->bytes - from);
        size_t to = newline != NULL ? (size_t)(newline - source->text) : source->bytes;
        int rc;

        allocation_trace_place(builder->made.trace, "%s:%u", file, line);
        rc = line_parse(builder, source, from, to);

        if (rc < 0) {
            error_prefix(source->error, "%s:%u:%zu", file, line, source->error_offset - from + 1);
            return rc;
        }
        from = to + 1;
    }
    return 0;
}

/* What was built becomes the allocation, without what is excluded; allocation is unchanged if that
 * fails. */
static int finish_allocation(struct allocation_builder *builder, struct source *source,
                             struct allocation *allocation, const char *origin)
{
    const char *user = source->choice.user;
    struct allocation made;
    int rc = host_choice_complete(&source->choice, builder, source->error);

    if (rc < 0)
        return rc;
    allocation_init(&made);
    made.trace = allocation->trace;
    memcpy(made.origin, allocation->origin, sizeof(made.origin));
    memcpy(made.user, user[0] != '\0' ? user : allocation->user, sizeof(made.user));
    rc = allocation_builder_finish(builder, &made, origin, source->error);
    if (rc == 0)
        rc = host_choice_exclude(&source->choice, &made, source->error);
    if (rc == 0) {
        struct allocation replaced = *allocation;

        *allocation = made;
        made = replaced;
    }
    allocation_fini(&made);
    return rc;
}

int allocation_parse_hostfile_of(struct allocation *allocation, const char *file, const char *text,
                                 size_t text_bytes, const struct allocation_base *base,
                                 struct error *error)
{
    struct source source = {.text = text, .bytes = text_bytes, .error = error};
    struct allocation_builder builder;
    char origin[sizeof(allocation->origin)];
    int rc;

    host_choice_init(&source.choice, base);
    allocation_builder_init(&builder, allocation);
    rc = lines_parse(&builder, file, &source);
    if (rc == 0) {
        snprintf(origin, sizeof(origin), "host file %s", file);
        rc = finish_allocation(&builder, &source, allocation, origin);
        if (rc < 0)
            error_prefix(error, "%s", file);
    }
    allocation_builder_fini(&builder);
    host_choice_fini(&source.choice);
    return rc;
}

/* ---- --host ---- */

static int entries_parse(struct allocation_builder *builder, struct source *source)
{
    static const char separators[] = ", \t\n";
    size_t from = 0;

    while (from < source->bytes) {
        size_t to = entry_end(source, from, source->bytes, separators);

        if (to > from) {
            int rc;

            allocation_trace_place(builder->made.trace, "--host, column %zu", from + 1);
            rc = entry_parse(builder, source, from, to, &no_attributes);

            if (rc < 0) {
                error_prefix(source->error, "column %zu", source->error_offset + 1);
                return rc;
            }
        }
        from = to + 1;
    }
    return 0;
}

int allocation_parse_hosts_of(struct allocation *allocation, const char *text,
                              const struct allocation_base *base, struct error *error)
{
    struct source source = {.text = text, .bytes = strlen(text), .error = error};
    struct allocation_builder builder;
    int rc;

    host_choice_init(&source.choice, base);
    allocation_builder_init(&builder, allocation);
    rc = entries_parse(&builder, &source);
    if (rc == 0)
        rc = finish_allocation(&builder, &source, allocation, "--host");
    allocation_builder_fini(&builder);
    host_choice_fini(&source.choice);
    return rc;
}

int allocation_parse_hostfile(struct allocation *allocation, const char *file, const char *text,
                              size_t text_bytes, struct error *error)
{
    return allocation_parse_hostfile_of(allocation, file, text, text_bytes, NULL, error);
}

int allocation_parse_hosts(struct allocation *allocation, const char *text, struct error *error)
{
    return allocation_parse_hosts_of(allocation, text, NULL, error);
}
