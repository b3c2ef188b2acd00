/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_delta.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "base/memory.h"

#include <pmix.h>

#define KEPT_BYTES_MAX (16u * 1024 * 1024)
#define HAS_KEYS       2u /* a flag */
#define PARTS_MAX      65536u
#define KEYS_MAX       65536u

/* The data of a fence. */
struct brought {
    void *data; /* NULL: nothing is known */
    size_t data_bytes;
};

struct space {
    struct brought known;              /* to the other nodes */
    struct brought next;               /* by the fence that is under way */
    struct host_process *last_members; /* of what began last */
    size_t last_count;
    uint32_t under_way;
    uint64_t last; /* number of what began, or made nothing known, last */
};

/* The data of one process. */
struct part {
    pmix_byte_object_t object;
    size_t rank_bytes;  /* at its beginning */
    size_t known_bytes; /* to others, with the rank; 0: none */
};

/* The data of a node, taken apart. */
struct parts {
    uint8_t flags;
    char **keys;
    uint32_t keys_count;
    struct part *items;
    size_t count;
};

/* By namespace. */
static struct hash_map *spaces;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- libpmix's form ---- */

/* A buffer to unpack from, whose bytes, if any, stay the caller's. */
static pmix_data_buffer_t reader_of(const void *data, size_t bytes)
{
    char *from = (char *)(uintptr_t)data;

    return (pmix_data_buffer_t){.base_ptr = from,
                                .pack_ptr = bytes == 0 ? from : from + bytes,
                                .unpack_ptr = from,
                                .bytes_allocated = bytes,
                                .bytes_used = bytes};
}

static size_t reader_left(const pmix_data_buffer_t *reader)
{
    return reader->bytes_used - (size_t)(reader->unpack_ptr - reader->base_ptr);
}

static int read_one(pmix_data_buffer_t *reader, void *ret_value, pmix_data_type_t type)
{
    int32_t one = 1;

    return reader_left(reader) > 0 &&
           PMIx_Data_unpack(NULL, reader, ret_value, &one, type) == PMIX_SUCCESS && one == 1;
}

static int read_keys(pmix_data_buffer_t *reader, struct parts *parts)
{
    uint32_t keys_count;
    int32_t count;

    if (!read_one(reader, &keys_count, PMIX_UINT32) || keys_count == 0 || keys_count > KEYS_MAX)
        return 0;
    count = (int32_t)keys_count;
    parts->keys = memory_allocate_zeroed(keys_count * sizeof(*parts->keys));
    parts->keys_count = keys_count;
    if (PMIx_Data_unpack(NULL, reader, parts->keys, &count, PMIX_STRING) != PMIX_SUCCESS ||
        count != (int32_t)keys_count)
        return 0;
    for (uint32_t i = 0; i < keys_count; i++) {
        if (parts->keys[i] == NULL)
            return 0;
    }
    return 1;
}

/* libpmix allocates before it fails. */
static int read_object(pmix_data_buffer_t *reader, pmix_byte_object_t *ret_object)
{
    *ret_object = (pmix_byte_object_t){.bytes = NULL};
    if (read_one(reader, ret_object, PMIX_BYTE_OBJECT))
        return 1;
    PMIX_BYTE_OBJECT_DESTRUCT(ret_object);
    return 0;
}

static int read_part(pmix_data_buffer_t *reader, struct parts *parts)
{
    struct part part = {.rank_bytes = 0};
    pmix_data_buffer_t inner;
    pmix_rank_t rank;

    if (parts->count >= PARTS_MAX || !read_object(reader, &part.object))
        return 0;
    parts->items = memory_resize(parts->items, (parts->count + 1) * sizeof(*parts->items));
    inner = reader_of(part.object.bytes, part.object.size);
    if (!read_one(&inner, &rank, PMIX_PROC_RANK)) {
        PMIX_BYTE_OBJECT_DESTRUCT(&part.object);
        return 0;
    }
    part.rank_bytes = part.object.size - reader_left(&inner);
    parts->items[parts->count++] = part;
    return 1;
}

static void parts_fini(struct parts *parts)
{
    for (uint32_t i = 0; i < parts->keys_count; i++)
        free(parts->keys[i]);
    for (size_t i = 0; i < parts->count; i++)
        PMIX_BYTE_OBJECT_DESTRUCT(&parts->items[i].object);
    free(parts->keys);
    free(parts->items);
    *parts = (struct parts){0};
}

/* 1 if it has the form; else parts is empty. */
static int parts_read(const void *data, size_t data_bytes, struct parts *parts)
{
    pmix_data_buffer_t outer = reader_of(data, data_bytes), reader;
    pmix_byte_object_t object;
    int is_good;

    *parts = (struct parts){0};
    if (!read_object(&outer, &object))
        return 0;
    reader = reader_of(object.bytes, object.size);
    is_good = reader_left(&outer) == 0 && read_one(&reader, &parts->flags, PMIX_BYTE) &&
              ((parts->flags & HAS_KEYS) == 0 || read_keys(&reader, parts));
    while (is_good && reader_left(&reader) > 0)
        is_good = read_part(&reader, parts);
    PMIX_BYTE_OBJECT_DESTRUCT(&object);
    if (!is_good)
        parts_fini(parts);
    return is_good;
}

static int write_some(pmix_data_buffer_t *packed, void *values, uint32_t count,
                      pmix_data_type_t type)
{
    return PMIx_Data_pack(NULL, packed, values, (int32_t)count, type) == PMIX_SUCCESS;
}

/* ---- What is new ---- */

/* The numbers of the keys of the one mean the same in the other. */
static int keys_go_on(const struct parts *old, const struct parts *parts)
{
    if (old->flags != parts->flags || old->keys_count > parts->keys_count)
        return 0;
    for (uint32_t i = 0; i < old->keys_count; i++) {
        if (strcmp(old->keys[i], parts->keys[i]) != 0)
            return 0;
    }
    return 1;
}

/* How many bytes at the beginning of each process's data others have, with its rank; 0: none.  1 if there are others. */
static int find_known(const struct parts *old, struct parts *parts)
{
    struct hash_map *by_rank = hash_map_create();
    int any = 0;

    for (size_t i = 0; i < old->count; i++)
        (void)hash_map_put(by_rank, old->items[i].object.bytes, old->items[i].rank_bytes,
                           &old->items[i]);
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->items[i];
        const struct part *before = hash_map_get(by_rank, part->object.bytes, part->rank_bytes);

        if (before != NULL && before->object.size <= part->object.size &&
            memcmp(before->object.bytes, part->object.bytes, before->object.size) == 0)
            part->known_bytes = before->object.size;
        any |= part->known_bytes < part->object.size;
    }
    hash_map_destroy(by_rank);
    return any;
}

/* The object of a process, without what others have.  With nothing else libpmix 5 must be given the rank: its module
 * shmem2 shows what a fence has brought, and all that later ones bring, only after a fence with all ranks. */
static int write_part(const struct part *part, pmix_data_buffer_t *packed)
{
    pmix_byte_object_t object;
    struct buffer bytes = {0};
    int is_good;

    if (part->known_bytes == part->object.size && BANYAN_PMIX_MAJOR < 5)
        return 1;
    buffer_append(&bytes, part->object.bytes, part->known_bytes > 0 ? part->rank_bytes : 0);
    buffer_append(&bytes, part->object.bytes + part->known_bytes,
                  part->object.size - part->known_bytes);
    object = (pmix_byte_object_t){.bytes = (char *)bytes.data, .size = bytes.length_bytes};
    is_good = write_some(packed, &object, 1, PMIX_BYTE_OBJECT);
    buffer_fini(&bytes);
    return is_good;
}

/* Keys are not needed if nothing is new; the flag must go with them, for libpmix takes it without keys for the end of all
 * nodes' data. */
static int write_new(const struct parts *old, struct parts *parts, pmix_data_buffer_t *packed)
{
    int any = find_known(old, parts), is_good;
    uint8_t flags = any ? parts->flags : parts->flags & (uint8_t)~HAS_KEYS;

    is_good = write_some(packed, &flags, 1, PMIX_BYTE);
    if (any && parts->keys_count > 0)
        is_good = is_good && write_some(packed, &parts->keys_count, 1, PMIX_UINT32) &&
                  write_some(packed, parts->keys, parts->keys_count, PMIX_STRING);
    for (size_t i = 0; i < parts->count && is_good; i++)
        is_good = write_part(&parts->items[i], packed);
    return is_good;
}

static void find_new(const struct brought *known, const void *data, size_t data_bytes,
                     struct buffer *ret_new)
{
    struct parts old, parts;
    pmix_data_buffer_t inner, outer;
    pmix_byte_object_t object;

    if (!parts_read(known->data, known->data_bytes, &old))
        return;
    PMIX_DATA_BUFFER_CONSTRUCT(&inner);
    PMIX_DATA_BUFFER_CONSTRUCT(&outer);
    if (parts_read(data, data_bytes, &parts)) {
        if (keys_go_on(&old, &parts) && write_new(&old, &parts, &inner)) {
            object = (pmix_byte_object_t){.bytes = inner.base_ptr, .size = inner.bytes_used};
            if (write_some(&outer, &object, 1, PMIX_BYTE_OBJECT))
                buffer_append(ret_new, outer.base_ptr, outer.bytes_used);
        }
        parts_fini(&parts);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&inner);
    PMIX_DATA_BUFFER_DESTRUCT(&outer);
    parts_fini(&old);
}

/* ---- What is known of a namespace ---- */

static struct space *space_find(const char *namespace)
{
    return spaces == NULL ? NULL : hash_map_get(spaces, namespace, strlen(namespace));
}

static struct space *space_need(const char *namespace)
{
    struct space *space = space_find(namespace);

    if (space != NULL)
        return space;
    if (spaces == NULL)
        spaces = hash_map_create();
    space = memory_allocate_zeroed(sizeof(*space));
    (void)hash_map_put(spaces, namespace, strlen(namespace), space);
    return space;
}

static void brought_fini(struct brought *brought)
{
    free(brought->data);
    *brought = (struct brought){0};
}

static void brought_set(struct brought *brought, const void *data, size_t data_bytes)
{
    assert(brought->data == NULL);
    if (data_bytes == 0 || data_bytes > KEPT_BYTES_MAX)
        return;
    brought->data = memory_copy(data, data_bytes);
    brought->data_bytes = data_bytes;
}

static int are_same(const struct host_process *a, size_t a_count, const struct host_process *b,
                    size_t b_count)
{
    if (a_count != b_count)
        return 0;
    for (size_t i = 0; i < a_count; i++) {
        if (!host_process_is(&a[i], &b[i]))
            return 0;
    }
    return 1;
}

static void space_clear(struct space *space)
{
    brought_fini(&space->known);
    brought_fini(&space->next);
}

/* 1 if the last that began had these members, too, or there was none. */
static int space_begins(struct space *space, const struct host_process *members, size_t count)
{
    if (space->last_members != NULL &&
        are_same(space->last_members, space->last_count, members, count))
        return 1;
    free(space->last_members);
    space->last_members = memory_copy(members, count * sizeof(*members));
    space->last_count = count;
    return space->last == 0;
}

uint64_t host_delta_begin(const struct host_process *members, size_t count, const void *data,
                          size_t data_bytes, struct buffer *ret_new)
{
    struct space *space;
    uint64_t number;
    int follows;

    assert(count > 0 && ret_new->length_bytes == 0);
    pthread_mutex_lock(&mutex);
    space = space_need(members[0].namespace);
    follows = space_begins(space, members, count);
    number = ++space->last;
    if (space->under_way++ > 0 || !follows) {
        space_clear(space);
    } else {
        if (space->known.data != NULL)
            find_new(&space->known, data, data_bytes, ret_new);
        brought_set(&space->next, data, data_bytes);
    }
    pthread_mutex_unlock(&mutex);
    return number;
}

void host_delta_end(const char *namespace, uint64_t number, int is_known)
{
    struct space *space;

    pthread_mutex_lock(&mutex);
    space = space_find(namespace);
    assert(space != NULL && space->under_way > 0 && number <= space->last);
    space->under_way--;
    brought_fini(&space->known);
    if (is_known && number == space->last) {
        space->known = space->next;
        space->next = (struct brought){0};
    }
    brought_fini(&space->next);
    pthread_mutex_unlock(&mutex);
}

void host_delta_forget(const char *namespace)
{
    struct space *space;

    pthread_mutex_lock(&mutex);
    space = space_find(namespace);
    if (space != NULL) {
        space->last++;
        space_clear(space);
    }
    pthread_mutex_unlock(&mutex);
}

void host_delta_close(const char *namespace)
{
    struct space *space;

    pthread_mutex_lock(&mutex);
    space = space_find(namespace);
    if (space != NULL)
        space_clear(space);
    if (space != NULL && space->under_way == 0) { /* else libpmix has begun one too late */
        (void)hash_map_remove(spaces, namespace, strlen(namespace));
        free(space->last_members);
        free(space);
    }
    pthread_mutex_unlock(&mutex);
}
