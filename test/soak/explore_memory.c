/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * malloc for a world that is gone back in: the linker sends every call of malloc and its like here
 * (--wrap), and between arena_enter and arena_leave they are served from one piece of memory at a
 * fixed place, which is saved and restored by copying.  Freed blocks are kept in lists by size.
 *
 * The hash of a state follows the pointers, as a garbage collector would: a word that points into a
 * block counts as the number of that block, in the order in which they are come across, and what
 * the block holds is hashed in its turn.  For that all memory is zeroed when it is given out.  A
 * state may so have several hashes (of freed or spare room that differs), which costs time only.
 */
#include "config.h"

#include "test/soak/explore.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_BYTES   (4u << 20)
#define UNIT_BYTES    16
#define UNITS_COUNT   (ARENA_BYTES / UNIT_BYTES)
#define SMALL_UNITS   256 /* below 4 KiB blocks are lent by units, above by so many of them */
#define CLASSES_COUNT (SMALL_UNITS + UNITS_COUNT / SMALL_UNITS)

struct block {
    size_t units; /* of what follows */
    struct block *next;
};

/* The head of the arena, saved with it. */
struct arena {
    size_t used_bytes;
    struct block *free_blocks[CLASSES_COUNT];
    _Alignas(UNIT_BYTES) unsigned char bytes[ARENA_BYTES];
};

/* Beside the arena: of each unit, which block it is in, and when that was last come across. */
struct mark {
    struct block *block;
    uint64_t visit; /* of the block's first unit: visit_base + number */
};

static struct arena *arena;
static struct mark marks[UNITS_COUNT];
static uint64_t visit_base;
static bool is_inside;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);

static bool is_ours(const void *memory)
{
    const unsigned char *at = memory;

    return arena != NULL && at >= arena->bytes && at < arena->bytes + ARENA_BYTES;
}

static size_t unit_of(const void *memory)
{
    return (size_t)((const unsigned char *)memory - arena->bytes) / UNIT_BYTES;
}

/* ---- malloc ---- */

static struct block *block_create(size_t units)
{
    struct block *block = (struct block *)(void *)(arena->bytes + arena->used_bytes);

    arena->used_bytes += sizeof(*block) + units * UNIT_BYTES;
    assert(arena->used_bytes <= ARENA_BYTES);
    block->units = units;
    for (size_t i = 0; i <= units; i++)
        marks[unit_of(block) + i] = (struct mark){.block = block};
    return block;
}

static size_t class_of(size_t units)
{
    return units < SMALL_UNITS ? units : SMALL_UNITS + units / SMALL_UNITS - 1;
}

static void *take(size_t bytes)
{
    size_t units = bytes > 0 ? (bytes + UNIT_BYTES - 1) / UNIT_BYTES : 1;
    struct block **list;
    struct block *block;

    if (units > SMALL_UNITS)
        units = (units + SMALL_UNITS - 1) / SMALL_UNITS * SMALL_UNITS;
    list = &arena->free_blocks[class_of(units)];
    block = *list;
    if (block != NULL) {
        *list = block->next;
    } else {
        block = block_create(units);
    }
    block->next = NULL;
    return memset(block + 1, 0, units * UNIT_BYTES);
}

static void give_back(void *memory)
{
    struct block *block = (struct block *)memory - 1;
    struct block **list = &arena->free_blocks[class_of(block->units)];

    block->next = *list;
    *list = block;
}

void *__wrap_malloc(size_t bytes)
{
    return is_inside ? take(bytes) : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_inside ? take(count * bytes) : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    void *moved;
    size_t had_bytes;

    if (memory == NULL)
        return __wrap_malloc(bytes);
    if (!is_ours(memory))
        return __real_realloc(memory, bytes);
    had_bytes = ((struct block *)memory - 1)->units * UNIT_BYTES;
    if (bytes <= had_bytes)
        return memory;
    moved = take(bytes);
    memcpy(moved, memory, had_bytes);
    give_back(memory);
    return moved;
}

void __wrap_free(void *memory)
{
    if (!is_ours(memory))
        __real_free(memory);
    else
        give_back(memory);
}

void arena_enter(void)
{
    is_inside = true;
}

void arena_leave(void)
{
    is_inside = false;
}

void arena_reset(void)
{
    if (arena == NULL) {
        arena =
            mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert(arena != MAP_FAILED);
    }
    memset(arena, 0, offsetof(struct arena, bytes));
}

/* ---- saving ---- */

void arena_save(struct snapshot *snapshot)
{
    size_t bytes = offsetof(struct arena, bytes) + arena->used_bytes;

    if (snapshot->capacity_bytes < bytes) {
        snapshot->capacity_bytes = 2 * bytes;
        snapshot->bytes = memory_resize(snapshot->bytes, snapshot->capacity_bytes);
    }
    memcpy(snapshot->bytes, arena, bytes);
    snapshot->used_bytes = bytes;
}

/* Blocks that were made since then stay marked; nothing points to them. */
void arena_restore(const struct snapshot *snapshot)
{
    memcpy(arena, snapshot->bytes, snapshot->used_bytes);
}

void snapshot_fini(struct snapshot *snapshot)
{
    free(snapshot->bytes);
    *snapshot = (struct snapshot){0};
}

/* ---- comparing ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

/* Spare room may hold what once was a pointer, to where there is no block any more. */
static bool is_in_use(const void *memory)
{
    const unsigned char *at = memory;

    return at >= arena->bytes && at < arena->bytes + arena->used_bytes;
}

/* Blocks that were come across and are still to be hashed. */
static struct block *todo[UNITS_COUNT];

uint64_t arena_hash(const void *root)
{
    uint64_t hash = 1;
    uint64_t count = 0;

    todo[count++] = (struct block *)root - 1;
    marks[unit_of(todo[0])].visit = visit_base + count;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t *words = (const uint64_t *)(const void *)(todo[i] + 1);
        size_t words_count = todo[i]->units * UNIT_BYTES / sizeof(*words);

        hash = mix(hash, words_count);
        for (size_t j = 0; j < words_count; j++) {
            const void *pointer = (const void *)(uintptr_t)words[j];
            struct block *block;
            struct mark *mark;

            if (!is_in_use(pointer)) {
                hash = mix(hash, words[j]);
                continue;
            }
            block = marks[unit_of(pointer)].block;
            mark = &marks[unit_of(block)];
            if (mark->visit <= visit_base) {
                todo[count++] = block;
                mark->visit = visit_base + count;
            }
            hash = mix(mix(hash, mark->visit - visit_base), words[j] - (uint64_t)(uintptr_t)block);
        }
    }
    visit_base += count;
    return hash | 1; /* never 0 */
}
