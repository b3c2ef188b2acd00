/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement_list.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RANK_MAX (PLACEMENT_PROCESSES_MAX - 1)
#define CORE_MAX (TOPOLOGY_THREADS_MAX - 1)
#define UNKNOWN  UINT32_MAX

/* What is read, and how far. */
struct list_reader {
    const char *file;
    const char *position; /* in the text */
    uint32_t line;
    const struct allocation *allocation;
    struct placement_list *list;
    uint32_t capacity;
    int has_cores; /* -1: not known yet */
    struct error *error;
};

static int list_error(const struct list_reader *reader, const char *what, const char *word,
                      size_t bytes)
{
    return error_set(reader->error, -EINVAL, "%s:%u: %s \"%.*s\"", reader->file, reader->line, what,
                     bytes < 80 ? (int)bytes : 80, word);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct list_reader *reader)
{
    while (is_blank(*reader->position))
        reader->position++;
}

/* At the end of the line's words. */
static bool at_end(const struct list_reader *reader)
{
    return *reader->position == '\0' || *reader->position == '\n' || *reader->position == '#';
}

static void next_line(struct list_reader *reader)
{
    reader->position += strcspn(reader->position, "\n");
    reader->position += *reader->position == '\n';
    reader->line++;
}

/* A decimal number, or UNKNOWN. */
static uint32_t read_number(struct list_reader *reader, uint32_t maximum)
{
    uint64_t value = 0;
    const char *start = reader->position;

    while (*reader->position >= '0' && *reader->position <= '9' && reader->position - start < 10)
        value = value * 10 + (uint64_t)(*reader->position++ - '0');
    return reader->position > start && value <= maximum ? (uint32_t)value : UNKNOWN;
}

/* Up to a blank or the end of the line. */
static size_t word_bytes(const struct list_reader *reader)
{
    return strcspn(reader->position, " \t\r\n#");
}

/* The node named by a word of that length, or UNKNOWN. */
static uint32_t find_node(const struct list_reader *reader, const char *word, size_t bytes)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    int64_t index;

    if (bytes == 0 || bytes > HOST_NAME_BYTES_MAX)
        return UNKNOWN;
    memcpy(name, word, bytes);
    name[bytes] = '\0';
    if (strncmp(name, "+n", 2) == 0) {
        struct list_reader relative = {.position = name + 2};
        uint32_t number = read_number(&relative, HOSTLIST_HOSTS_MAX);

        return *relative.position == '\0' && number < allocation_nodes(reader->allocation)
                   ? number
                   : UNKNOWN;
    }
    index = hostlist_find(reader->allocation->names, name, 0);
    return index >= 0 ? (uint32_t)index : UNKNOWN;
}

static void list_grow(struct list_reader *reader, uint32_t count)
{
    struct placement_list *list = reader->list;

    assert(count > 0 && count <= PLACEMENT_PROCESSES_MAX);
    if (count > reader->capacity) {
        uint32_t old = reader->capacity;

        reader->capacity = count < 512 ? 1024 : 2 * count;
        list->nodes = memory_resize(list->nodes, reader->capacity * sizeof(*list->nodes));
        list->cores = memory_resize(list->cores, reader->capacity * sizeof(*list->cores));
        for (uint32_t i = old; i < reader->capacity; i++) {
            list->nodes[i] = UNKNOWN;
            list->cores[i] = (struct ranges){0};
        }
    }
    if (count > list->count)
        list->count = count;
}

/* ---- Rank files ---- */

/* "0-2,5" */
static int read_cores(struct list_reader *reader, struct ranges *cores)
{
    const char *start = reader->position;

    do {
        uint32_t first = read_number(reader, CORE_MAX);
        uint32_t last = first;

        if (*reader->position == '-') {
            reader->position++;
            last = read_number(reader, CORE_MAX);
        }
        if (first == UNKNOWN || last == UNKNOWN || last < first)
            return list_error(reader, "not a list of cores such as 0-2,5:", start,
                              strcspn(start, " \t\r\n#"));
        ranges_add(cores, first, last);
    } while (*reader->position == ',' && reader->position++);
    return 0;
}

/* "slot=...", "slots=..." or nothing */
static int read_slots(struct list_reader *reader, uint32_t rank)
{
    int has_cores;
    int rc = 0;

    skip_blanks(reader);
    has_cores = !at_end(reader);
    if (reader->has_cores >= 0 && has_cores != reader->has_cores)
        return list_error(reader, "either all ranks or none may have slots: here", reader->position,
                          word_bytes(reader));
    reader->has_cores = has_cores;
    if (!has_cores)
        return 0;
    if (strncmp(reader->position, "slot=", 5) != 0 && strncmp(reader->position, "slots=", 6) != 0)
        return list_error(reader, "expected slot=, not", reader->position, word_bytes(reader));
    reader->position = strchr(reader->position, '=') + 1;
    rc = read_cores(reader, &reader->list->cores[rank]);
    skip_blanks(reader);
    if (rc == 0 && !at_end(reader))
        rc = list_error(reader, "unexpected text after the core list:", reader->position,
                        word_bytes(reader));
    return rc;
}

/* "rank 3=n1 slot=0" */
static int read_rank(struct list_reader *reader)
{
    const char *start = reader->position;
    uint32_t rank, node;
    size_t bytes;

    if (strncmp(start, "rank", 4) != 0 || !is_blank(start[4]))
        return list_error(reader, "expected \"rank N=NODE\", not", start, word_bytes(reader));
    reader->position += 4;
    skip_blanks(reader);
    start = reader->position;
    rank = read_number(reader, RANK_MAX);
    if (rank == UNKNOWN || *reader->position != '=')
        return list_error(reader, "not a rank followed by '=':", start, strcspn(start, " \t\r\n"));
    reader->position++;
    bytes = word_bytes(reader);
    node = find_node(reader, reader->position, bytes);
    if (node == UNKNOWN)
        return list_error(reader, "not a node of the allocation:", reader->position, bytes);
    /* Ranks may come in any order, but not leave much more out than there are lines. */
    if (rank > 4096 && rank / 64 > reader->line)
        return list_error(reader, "ranks before this one are missing:", start,
                          strcspn(start, " \t\r\n"));
    list_grow(reader, rank + 1);
    if (reader->list->nodes[rank] != UNKNOWN)
        return list_error(reader, "this rank was placed before:", start, strcspn(start, " \t\r\n"));
    reader->list->nodes[rank] = node;
    reader->position += bytes;
    return read_slots(reader, rank);
}

/* ---- Both ---- */

static int read_node(struct list_reader *reader)
{
    size_t bytes = strcspn(reader->position, " \t\r\n#:");
    uint32_t node = find_node(reader, reader->position, bytes);

    if (node == UNKNOWN)
        return list_error(reader, "not a node of the allocation:", reader->position, bytes);
    if (reader->list->count > RANK_MAX)
        return list_error(reader, "too many processes at", reader->position, bytes);
    list_grow(reader, reader->list->count + 1);
    reader->list->nodes[reader->list->count - 1] = node;
    return 0;
}

static int check_complete(const struct list_reader *reader)
{
    for (uint32_t i = 0; i < reader->list->count; i++) {
        if (reader->list->nodes[i] == UNKNOWN)
            return error_set(reader->error, -EINVAL, "%s: rank %u is missing", reader->file, i);
    }
    if (reader->list->count == 0)
        return error_set(reader->error, -EINVAL, "%s: places no process", reader->file);
    return 0;
}

static int read_list(int (*read_line)(struct list_reader *reader), const char *file,
                     const char *text, const struct allocation *allocation,
                     struct placement_list **ret_list, struct error *error)
{
    struct list_reader reader = {.file = file,
                                 .position = text,
                                 .line = 1,
                                 .allocation = allocation,
                                 .list = memory_allocate_zeroed(sizeof(struct placement_list)),
                                 .has_cores = -1,
                                 .error = error};
    int rc = 0;

    for (; rc == 0 && *reader.position != '\0'; next_line(&reader)) {
        skip_blanks(&reader);
        if (!at_end(&reader))
            rc = read_line(&reader);
    }
    if (rc == 0)
        rc = check_complete(&reader);
    if (rc == 0 && reader.has_cores <= 0) {
        free(reader.list->cores);
        reader.list->cores = NULL;
    }
    if (rc < 0)
        placement_list_destroy(reader.list);
    else
        *ret_list = reader.list;
    return rc;
}

int placement_list_parse_ranks(const char *file, const char *text,
                               const struct allocation *allocation,
                               struct placement_list **ret_list, struct error *error)
{
    return read_list(read_rank, file, text, allocation, ret_list, error);
}

int placement_list_parse_sequence(const char *file, const char *text,
                                  const struct allocation *allocation,
                                  struct placement_list **ret_list, struct error *error)
{
    return read_list(read_node, file, text, allocation, ret_list, error);
}
