/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/hostlist.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One run.  Offsets stay below 2^32: HOSTLIST_HOSTS_MAX names of 255 bytes do. */
struct group {
    uint64_t first;
    uint32_t start;  /* index of its first host; its last stands before the next group's */
    uint32_t prefix; /* offsets into texts */
    uint32_t suffix;
    uint8_t prefix_bytes;
    uint8_t suffix_bytes;
    uint8_t width;
};

struct hostlist {
    struct group *groups;
    uint32_t groups_count;
    uint32_t groups_capacity;
    uint32_t hosts;
    struct buffer texts;
};

static void hostlist_check(const struct hostlist *list)
{
    const struct group *last =
        list->groups_count > 0 ? &list->groups[list->groups_count - 1] : NULL;

    assert(list->groups_count <= list->groups_capacity && list->hosts <= HOSTLIST_HOSTS_MAX);
    assert((list->hosts == 0) == (last == NULL));
    assert(last == NULL || last->start < list->hosts);
    assert(last == NULL || (size_t)last->prefix + last->prefix_bytes <= list->texts.length_bytes);
    assert(last == NULL || (size_t)last->suffix + last->suffix_bytes <= list->texts.length_bytes);
}

struct hostlist *hostlist_create(void)
{
    struct hostlist *list = memory_allocate_zeroed(sizeof(*list));

    buffer_reserve(&list->texts, 1); /* also an empty prefix has an address */
    return list;
}

void hostlist_destroy(struct hostlist *list)
{
    if (list == NULL)
        return;
    free(list->groups);
    buffer_fini(&list->texts);
    free(list);
}

uint32_t hostlist_count(const struct hostlist *list)
{
    return list->hosts;
}

uint32_t hostlist_runs(const struct hostlist *list)
{
    return list->groups_count;
}

struct host_run hostlist_run(const struct hostlist *list, uint32_t index)
{
    const struct group *group;
    uint32_t end;

    assert(index < list->groups_count);
    group = &list->groups[index];
    end = index + 1 < list->groups_count ? group[1].start : list->hosts;
    return (struct host_run){
        .prefix = (const char *)list->texts.data + group->prefix,
        .suffix = (const char *)list->texts.data + group->suffix,
        .first = group->first,
        .count = end - group->start,
        .prefix_bytes = group->prefix_bytes,
        .suffix_bytes = group->suffix_bytes,
        .width = group->width,
    };
}

/* ---- Numbers in names ---- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static size_t digits_of(uint64_t number)
{
    size_t digits = 1;

    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

/* How many digits a number is written with. */
static size_t digits_written(uint64_t number, uint8_t width)
{
    size_t digits = digits_of(number);

    return digits > width ? digits : width;
}

static size_t number_write(uint64_t number, uint8_t width, char *out)
{
    size_t digits = digits_written(number, width);

    for (size_t i = digits; i > 0; i--, number /= 10)
        out[i - 1] = (char)('0' + number % 10);
    return digits;
}

/* 1 if the text is a number of at most 64 bits. */
static bool number_read(const char *text, size_t bytes, uint64_t *ret_number)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes; i++) {
        if (!is_digit(text[i]) || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number))
            return false;
    }
    *ret_number = number;
    return bytes > 0;
}

/* ---- One run ---- */

size_t hostlist_run_name(const struct host_run *run, uint32_t offset,
                         char name[HOST_NAME_BYTES_MAX + 1])
{
    char *end = name + run->prefix_bytes;

    memcpy(name, run->prefix, run->prefix_bytes);
    if (run->width > 0)
        end += number_write(run->first + offset, run->width, end);
    memcpy(end, run->suffix, run->suffix_bytes);
    end += run->suffix_bytes;
    *end = '\0';
    return (size_t)(end - name);
}

size_t hostlist_run_name_bytes(const struct host_run *run)
{
    size_t digits = 0;

    if (run->width > 0)
        digits = digits_written(run->first + run->count - 1, run->width);
    return run->prefix_bytes + digits + run->suffix_bytes;
}

/* The number of a name of that prefix and suffix; width is set to how it is written. */
static bool host_run_number(const struct host_run *run, const char *name, size_t name_bytes,
                            uint64_t *ret_number, uint8_t *ret_width)
{
    size_t around_bytes = (size_t)run->prefix_bytes + run->suffix_bytes;

    if (run->width == 0 || name_bytes <= around_bytes ||
        memcmp(name, run->prefix, run->prefix_bytes) != 0 ||
        memcmp(name + name_bytes - run->suffix_bytes, run->suffix, run->suffix_bytes) != 0)
        return false;
    *ret_width = (uint8_t)(name_bytes - around_bytes);
    return number_read(name + run->prefix_bytes, name_bytes - around_bytes, ret_number);
}

bool hostlist_run_find(const struct host_run *run, const char *name, size_t name_bytes,
                       uint32_t *ret_offset)
{
    uint64_t number;
    uint8_t width;

    if (run->width == 0) {
        if (name_bytes != run->prefix_bytes || memcmp(name, run->prefix, name_bytes) != 0)
            return false;
        *ret_offset = 0;
        return true;
    }
    if (!host_run_number(run, name, name_bytes, &number, &width) || number < run->first ||
        number - run->first >= run->count || width != digits_written(number, run->width))
        return false;
    *ret_offset = (uint32_t)(number - run->first);
    return true;
}

static bool host_run_same_texts(const struct host_run *a, const struct host_run *b)
{
    return a->prefix_bytes == b->prefix_bytes && a->suffix_bytes == b->suffix_bytes &&
           memcmp(a->prefix, b->prefix, a->prefix_bytes) == 0 &&
           memcmp(a->suffix, b->suffix, a->suffix_bytes) == 0;
}

/* 1 if b goes on where a ends and one width writes both.  If b's first number is written alike
 * with both widths, all later ones are. */
static bool host_run_continues(const struct host_run *a, const struct host_run *b)
{
    return a->width > 0 && b->width > 0 && b->first != 0 && a->first + a->count == b->first &&
           digits_written(b->first, a->width) == digits_written(b->first, b->width) &&
           host_run_same_texts(a, b);
}

/* ---- Appending ---- */

static uint32_t text_add(struct hostlist *list, const char *text, size_t bytes)
{
    size_t offset = list->texts.length_bytes;

    assert(offset + bytes <= UINT32_MAX);
    buffer_append(&list->texts, text, bytes);
    return (uint32_t)offset;
}

/* Where two names differ in one number only: its digits begin at *ret_from of both, and end at
 * *ret_to of the first. */
static bool names_differ_in_number(const char *a, size_t a_bytes, const char *b, size_t b_bytes,
                                   size_t *ret_from, size_t *ret_to)
{
    size_t from = 0;
    size_t a_to, b_to;
    uint64_t number;

    while (from < a_bytes && from < b_bytes && a[from] == b[from])
        from++;
    while (from > 0 && is_digit(a[from - 1]))
        from--;
    for (a_to = from; a_to < a_bytes && is_digit(a[a_to]);)
        a_to++;
    for (b_to = from; b_to < b_bytes && is_digit(b[b_to]);)
        b_to++;
    if (!number_read(a + from, a_to - from, &number) ||
        !number_read(b + from, b_to - from, &number) || a_bytes - a_to != b_bytes - b_to ||
        memcmp(a + a_to, b + b_to, a_bytes - a_to) != 0)
        return false;
    *ret_from = from;
    *ret_to = a_to;
    return true;
}

/* A last group that is one whole name is split around its number if the next run has another
 * number there: two names are needed to see which number counts. */
static void last_group_split(struct hostlist *list, const struct host_run *run)
{
    struct group *last = &list->groups[list->groups_count - 1];
    const char *text = (const char *)list->texts.data + last->prefix;
    size_t from = run->prefix_bytes;
    size_t to = (size_t)last->prefix_bytes - run->suffix_bytes;
    uint8_t width;

    assert(list->groups_count > 0);
    /* No brackets beside a ']': such text would not parse. */
    if (last->width > 0 || memchr(text, ']', last->prefix_bytes) != NULL)
        return;
    if (run->width > 0 && !host_run_number(run, text, last->prefix_bytes, &last->first, &width))
        return;
    if (run->width == 0 && !names_differ_in_number(text, last->prefix_bytes, run->prefix,
                                                   run->prefix_bytes, &from, &to))
        return;
    number_read(text + from, to - from, &last->first);
    last->suffix = last->prefix + (uint32_t)to;
    last->suffix_bytes = (uint8_t)(last->prefix_bytes - to);
    last->prefix_bytes = (uint8_t)from;
    last->width = (uint8_t)(to - from);
}

/* A whole name that has a number where the last run has it becomes a run like that. */
static struct host_run run_like_last(const struct host_run *run, const struct host_run *last)
{
    struct host_run made = *last;

    if (run->width > 0 ||
        !host_run_number(last, run->prefix, run->prefix_bytes, &made.first, &made.width))
        return *run;
    made.count = 1;
    return made;
}

static void group_add(struct hostlist *list, const struct group *group, uint32_t count)
{
    assert(count > 0 && group->start == list->hosts);
    if (list->groups_count == list->groups_capacity) {
        list->groups_capacity = list->groups_capacity > 0 ? 2 * list->groups_capacity : 4;
        list->groups = memory_resize(list->groups, list->groups_capacity * sizeof(*list->groups));
    }
    list->groups[list->groups_count++] = *group;
    list->hosts += count;
}

void hostlist_append_run(struct hostlist *list, const struct host_run *run)
{
    struct group made = {.start = list->hosts};
    struct host_run last = {.count = 0};
    struct host_run next = *run;

    hostlist_check(list);
    assert(run->count > 0 && run->count <= HOSTLIST_HOSTS_MAX - list->hosts);
    assert(run->width > 0 || (run->count == 1 && run->suffix_bytes == 0));
    assert(run->count - 1 <= UINT64_MAX - run->first);
    assert(hostlist_run_name_bytes(run) >= 1 &&
           hostlist_run_name_bytes(run) <= HOST_NAME_BYTES_MAX);
    if (list->groups_count > 0) {
        last_group_split(list, run);
        last = hostlist_run(list, list->groups_count - 1);
        next = run_like_last(run, &last);
    }
    if (last.count > 0 && host_run_continues(&last, &next)) {
        list->hosts += next.count;
        return;
    }
    if (last.count > 0 && host_run_same_texts(&last, &next)) {
        made.prefix = list->groups[list->groups_count - 1].prefix;
        made.suffix = list->groups[list->groups_count - 1].suffix;
    } else {
        made.prefix = text_add(list, next.prefix, next.prefix_bytes);
        made.suffix = text_add(list, next.suffix, next.suffix_bytes);
    }
    made.first = next.first;
    made.prefix_bytes = next.prefix_bytes;
    made.suffix_bytes = next.suffix_bytes;
    made.width = next.width;
    group_add(list, &made, next.count);
    hostlist_check(list);
}

void hostlist_append(struct hostlist *list, const char *name)
{
    size_t name_bytes = strlen(name);
    struct host_run run = {.prefix = name, .suffix = "", .count = 1};

    assert(name_bytes > 0 && name_bytes <= HOST_NAME_BYTES_MAX && strpbrk(name, "[, \t\n") == NULL);
    run.prefix_bytes = (uint8_t)name_bytes;
    hostlist_append_run(list, &run);
}

void hostlist_move(struct hostlist *target, struct hostlist *source)
{
    assert(target != source);
    if (target->hosts == 0) {
        struct hostlist empty = *target;

        *target = *source;
        *source = empty;
        return;
    }
    hostlist_append_slice(target, source, 0, source->hosts);
    source->groups_count = 0;
    source->hosts = 0;
    buffer_clear(&source->texts);
}

void hostlist_rename(struct hostlist *list, uint32_t index, const char *name)
{
    struct hostlist *made = hostlist_create();
    struct hostlist old = *list;

    assert(index < list->hosts);
    hostlist_append_slice(made, list, 0, index);
    hostlist_append(made, name);
    hostlist_append_slice(made, list, index + 1, list->hosts - index - 1);
    *list = *made;
    *made = old;
    hostlist_destroy(made);
    hostlist_check(list);
}

/* ---- Asking ---- */

/* Index of the group that holds a host. */
static uint32_t group_of(const struct hostlist *list, uint32_t host)
{
    uint32_t low = 0;
    uint32_t high = list->groups_count - 1;

    assert(host < list->hosts);
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;

        if (list->groups[middle].start <= host)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void hostlist_name(const struct hostlist *list, uint32_t index, char name[HOST_NAME_BYTES_MAX + 1])
{
    uint32_t group = group_of(list, index);
    struct host_run run = hostlist_run(list, group);

    hostlist_run_name(&run, index - list->groups[group].start, name);
}

int64_t hostlist_find(const struct hostlist *list, const char *name, uint32_t from)
{
    size_t name_bytes = strlen(name);

    if (from >= list->hosts)
        return -1;
    for (uint32_t i = group_of(list, from); i < list->groups_count; i++) {
        struct host_run run = hostlist_run(list, i);
        uint32_t offset;

        if (hostlist_run_find(&run, name, name_bytes, &offset) &&
            list->groups[i].start + offset >= from)
            return (int64_t)list->groups[i].start + offset;
    }
    return -1;
}

void hostlist_append_slice(struct hostlist *target, const struct hostlist *source, uint32_t first,
                           uint32_t count)
{
    assert(target != source && first <= source->hosts && count <= source->hosts - first);
    if (count == 0)
        return;
    for (uint32_t i = group_of(source, first); count > 0; i++) {
        struct host_run run = hostlist_run(source, i);
        uint32_t skipped = first - source->groups[i].start;

        run.first += skipped;
        run.count -= skipped;
        if (run.count > count)
            run.count = count;
        hostlist_append_run(target, &run);
        first += run.count;
        count -= run.count;
    }
}

void hostlist_append_places(struct hostlist *target, const struct hostlist *source,
                            const struct ranges *places)
{
    for (uint32_t i = 0; i < places->count; i++) {
        uint32_t first = places->items[i].first > 0 ? places->items[i].first : 1;
        uint32_t last = places->items[i].last;

        if (last > source->hosts)
            last = source->hosts;
        if (first <= last)
            hostlist_append_slice(target, source, first - 1, last - first + 1);
    }
}

/* ---- Printing ---- */

static void number_print(const struct host_run *run, uint32_t offset, struct buffer *out)
{
    char *text = buffer_reserve(out, HOST_NAME_BYTES_MAX);

    assert(offset < run->count && run->width > 0);
    buffer_commit(out, number_write(run->first + offset, run->width, text));
}

static void range_print(const struct host_run *run, struct buffer *out)
{
    number_print(run, 0, out);
    if (run->count > 1) {
        buffer_append(out, "-", 1);
        number_print(run, run->count - 1, out);
    }
}

/* Prints the groups from index that stand in one bracket; returns the index after them. */
static uint32_t bracket_print(const struct hostlist *list, uint32_t index, struct buffer *out)
{
    struct host_run head = hostlist_run(list, index);
    struct host_run run = head;
    uint32_t end = index + 1;
    int bracket;

    assert(index < list->groups_count);
    while (head.width > 0 && end < list->groups_count) {
        run = hostlist_run(list, end);
        if (run.width == 0 || !host_run_same_texts(&head, &run))
            break;
        end++;
    }
    bracket = end > index + 1 || head.count > 1;
    buffer_append(out, head.prefix, head.prefix_bytes);
    buffer_append(out, "[", (size_t)bracket);
    for (uint32_t i = index; head.width > 0 && i < end; i++) {
        run = hostlist_run(list, i);
        buffer_append(out, ",", i > index);
        range_print(&run, out);
    }
    buffer_append(out, "]", (size_t)bracket);
    buffer_append(out, head.suffix, head.suffix_bytes);
    return end;
}

void hostlist_print(const struct hostlist *list, struct buffer *out)
{
    for (uint32_t i = 0; i < list->groups_count;) {
        buffer_append(out, ",", i > 0);
        i = bracket_print(list, i, out);
    }
}
