/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hash table against a slow model: an array of all keys with the order in which they came.
 */
#include "config.h"

#include "base/hash_map.h"
#include "test/support/tap.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"

#define KEYS   300u
#define ROUNDS 60000

struct model {
    struct hash_map *map;
    char keys[KEYS][24]; /* short ones stand in the entry, long ones beside it */
    char values[KEYS][2];
    void *value[KEYS];    /* NULL: not in the map */
    uint32_t order[KEYS]; /* keys in the map, in order */
    uint32_t count;
};

static void model_put(struct model *model, uint32_t key, uint32_t which, int *held)
{
    void *value = &model->values[key][which];
    void *replaced = hash_map_put(model->map, model->keys[key], strlen(model->keys[key]), value);

    *held = *held && replaced == model->value[key];
    if (model->value[key] == NULL)
        model->order[model->count++] = key;
    model->value[key] = value;
}

static void model_remove(struct model *model, uint32_t key, int *held)
{
    void *removed = hash_map_remove(model->map, model->keys[key], strlen(model->keys[key]));
    uint32_t kept = 0;

    *held = *held && removed == model->value[key];
    model->value[key] = NULL;
    for (uint32_t i = 0; i < model->count; i++) {
        if (model->order[i] != key)
            model->order[kept++] = model->order[i];
    }
    model->count = kept;
}

/* A walk gives the model's values and keys in order. */
static int walk_agrees(const struct model *model)
{
    size_t cursor = 0;
    const void *key;
    size_t key_bytes;

    for (uint32_t i = 0; i < model->count; i++) {
        const char *expected = model->keys[model->order[i]];
        void *value = hash_map_next_entry(model->map, &cursor, &key, &key_bytes);

        if (value != model->value[model->order[i]] || key_bytes != strlen(expected) ||
            memcmp(key, expected, key_bytes) != 0)
            return 0;
    }
    return hash_map_next(model->map, &cursor) == NULL && hash_map_next(model->map, &cursor) == NULL;
}

static void test_random(void)
{
    static struct model model;
    struct random_state random;
    int held = 1, walks = 1;

    random_init(&random, 1);
    model.map = hash_map_create();
    for (uint32_t i = 0; i < KEYS; i++)
        snprintf(model.keys[i], sizeof(model.keys[i]), i % 2 ? "%u" : "a-long-key-%u", i);
    for (int round = 0; round < ROUNDS; round++) {
        /* The map swells and shrinks in turn. */
        double putting = round / 5000 % 2 ? 0.3 : 0.7;
        uint32_t key = (uint32_t)random_below(&random, KEYS);

        if (random_chance(&random, putting))
            model_put(&model, key, (uint32_t)random_below(&random, 2), &held);
        else
            model_remove(&model, key, &held);
        key = (uint32_t)random_below(&random, KEYS);
        held =
            held && hash_map_count(model.map) == model.count &&
            hash_map_get(model.map, model.keys[key], strlen(model.keys[key])) == model.value[key];
        if (round % 50 == 0)
            walks = walks && walk_agrees(&model);
    }
    ok(held, "put, get and remove as the model does");
    ok(walks, "a walk is in insertion order, with keys");
    hash_map_destroy(model.map);
}

static void test_numbers(void)
{
    struct hash_map *map = hash_map_create();
    int held = 1;

    for (uintptr_t i = 1; i <= 100000; i++)
        held = held && hash_map_put_u64(map, i << 40, (void *)i) == NULL;
    for (uintptr_t i = 1; i <= 100000; i++)
        held = held && hash_map_get_u64(map, i << 40) == (void *)i;
    ok(held && hash_map_count(map) == 100000, "100,000 numbers that differ in high bits only");
    for (uintptr_t i = 1; i <= 100000; i++)
        held = held && hash_map_remove_u64(map, i << 40) == (void *)i;
    ok(held && hash_map_count(map) == 0, "and out again");
    hash_map_destroy(map);
}

/* A queue: the first goes, another comes; it must not grow slow or large. */
static void test_queue(void)
{
    struct hash_map *map = hash_map_create();
    uintptr_t put = 0, expected = 0;
    int held = 1;

    while (put < 50000)
        put++, hash_map_put_u64(map, put, (void *)put);
    for (; expected < 400000; expected++) {
        size_t cursor = 0;

        held = held && hash_map_next(map, &cursor) == (void *)(expected + 1);
        hash_map_remove_u64(map, expected + 1);
        put++;
        hash_map_put_u64(map, put, (void *)put);
    }
    ok(held && hash_map_count(map) == 50000, "the first of 50,000 is found 400,000 times");
    hash_map_destroy(map);
}

static void test_edges(void)
{
    struct hash_map *map = hash_map_create();
    size_t cursor = 0;
    char a, b;

    ok(hash_map_get(map, "k", 1) == NULL && hash_map_remove(map, "k", 1) == NULL,
       "an empty map has no key");
    ok(hash_map_next(map, &cursor) == NULL, "and nothing to walk");
    hash_map_put(map, "", 0, &a);
    hash_map_put(map, "\0", 1, &b);
    ok(hash_map_get(map, "", 0) == &a && hash_map_get(map, "\0", 1) == &b,
       "no byte and one NUL are two keys");
    ok(hash_map_put(map, "", 0, &b) == &a && hash_map_count(map) == 2, "a value is replaced");
    cursor = 0;
    hash_map_next(map, &cursor);
    hash_map_remove(map, "", 0);
    ok(hash_map_next(map, &cursor) == &b, "the value just walked may be removed");
    hash_map_destroy(map);
    hash_map_destroy(NULL);
    pass("no map can be destroyed");
}

int main(void)
{
    test_random();
    test_numbers();
    test_queue();
    test_edges();
    return done_testing();
}
