/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of numbers, each operation against a bitmap of the same numbers: thousands of random steps
 * at both ends of the 32 bits.
 */
#include "config.h"

#include "base/ranges.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define WIDTH  96u
#define ROUNDS 20000

/* A set and its reference: bits[i] says whether offset + i is in it. */
struct model {
    struct ranges set;
    uint32_t offset;
    unsigned char bits[WIDTH];
};

static void model_fill(struct model *model, uint32_t first, uint32_t last, unsigned char bit)
{
    for (uint32_t i = first; i <= last; i++)
        model->bits[i] = bit;
}

/* The set is well formed and holds exactly the numbers of the bitmap. */
static int model_holds(const struct model *model)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < WIDTH; i++) {
        count += model->bits[i];
        if (ranges_contains(&model->set, model->offset + i) != model->bits[i])
            return 0;
    }
    for (uint32_t i = 0; i < model->set.count; i++) {
        const struct range *item = &model->set.items[i];

        if (item->first > item->last || (i > 0 && item->first - model->set.items[i - 1].last < 2))
            return 0;
    }
    return ranges_count(&model->set) == count && ranges_is_empty(&model->set) == (count == 0);
}

static void random_interval(struct random_state *random, uint32_t *ret_first, uint32_t *ret_last)
{
    uint32_t first = (uint32_t)random_below(random, WIDTH);
    uint32_t length = (uint32_t)random_below(random, random_chance(random, 0.1) ? WIDTH : 6);

    *ret_first = first;
    *ret_last = first + length < WIDTH ? first + length : WIDTH - 1;
}

static void model_change(struct model *model, struct random_state *random)
{
    uint32_t first, last;

    random_interval(random, &first, &last);
    switch (random_below(random, 20)) {
    case 0:
        ranges_clip(&model->set, model->offset + first, model->offset + last);
        if (first > 0)
            model_fill(model, 0, first - 1, 0);
        if (last < WIDTH - 1)
            model_fill(model, last + 1, WIDTH - 1, 0);
        break;
    case 1 ... 10:
        ranges_add(&model->set, model->offset + first, model->offset + last);
        model_fill(model, first, last, 1);
        break;
    default:
        ranges_remove(&model->set, model->offset + first, model->offset + last);
        model_fill(model, first, last, 0);
        break;
    }
}

/* What is asked about an interval, by walking the bits. */
static int questions_agree(const struct model *model, struct random_state *random)
{
    uint32_t first, last, gap = 0, next = 0, expected_gap, expected_next;
    uint64_t count = 0;

    random_interval(random, &first, &last);
    for (uint32_t i = first; i <= last; i++)
        count += model->bits[i];
    for (expected_gap = first; expected_gap <= last && model->bits[expected_gap];)
        expected_gap++;
    for (expected_next = first; expected_next < WIDTH && !model->bits[expected_next];)
        expected_next++;
    first += model->offset;
    last += model->offset;
    return ranges_count_within(&model->set, first, last) == count &&
           ranges_overlap(&model->set, first, last) == (count > 0) &&
           ranges_first_gap(&model->set, first, last, &gap) ==
               (count < (uint64_t)last - first + 1) &&
           (count == (uint64_t)last - first + 1 || gap == model->offset + expected_gap) &&
           ranges_next(&model->set, first, &next) == (expected_next < WIDTH) &&
           (expected_next == WIDTH || next == model->offset + expected_next);
}

static int bits_contain(const struct model *a, const struct model *b)
{
    for (uint32_t i = 0; i < WIDTH; i++) {
        if (b->bits[i] && !a->bits[i])
            return 0;
    }
    return 1;
}

static int bits_overlap(const struct model *a, const struct model *b)
{
    for (uint32_t i = 0; i < WIDTH; i++) {
        if (a->bits[i] && b->bits[i])
            return 1;
    }
    return 0;
}

/* Operations on two sets, into a third one. */
static int pairs_agree(const struct model *a, const struct model *b)
{
    struct model both = {.offset = a->offset}, either = both, only = both;
    int held;

    for (uint32_t i = 0; i < WIDTH; i++) {
        both.bits[i] = a->bits[i] & b->bits[i];
        either.bits[i] = a->bits[i] | b->bits[i];
        only.bits[i] = a->bits[i] & !b->bits[i];
    }
    ranges_intersect(&a->set, &b->set, &both.set);
    ranges_copy(&either.set, &a->set);
    ranges_add_all(&either.set, &b->set);
    ranges_copy(&only.set, &a->set);
    ranges_remove_all(&only.set, &b->set);
    held = model_holds(&both) && model_holds(&either) && model_holds(&only) &&
           ranges_contains_all(&a->set, &b->set) == bits_contain(a, b) &&
           ranges_contains_all(&either.set, &a->set) &&
           ranges_overlap_set(&a->set, &b->set) == bits_overlap(a, b) &&
           ranges_equal(&a->set, &b->set) == (memcmp(a->bits, b->bits, WIDTH) == 0);
    ranges_fini(&both.set);
    ranges_fini(&either.set);
    ranges_fini(&only.set);
    return held;
}

static int wire_agrees(const struct ranges *set)
{
    struct buffer bytes = {0};
    struct ranges decoded = {0};
    struct wire_reader reader;
    int held;

    ranges_encode(set, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    ranges_decode(&reader, set->count, &decoded);
    held = wire_finish(&reader) == 0 && ranges_equal(set, &decoded);
    ranges_fini(&decoded);
    buffer_fini(&bytes);
    return held;
}

static void test_random(uint64_t seed, uint32_t offset)
{
    struct random_state random;
    struct model a = {.offset = offset}, b = a;
    int changes = 1, questions = 1, pairs = 1, wire = 1;

    random_init(&random, seed);
    for (int round = 0; round < ROUNDS; round++) {
        model_change(random_chance(&random, 0.5) ? &a : &b, &random);
        changes = changes && model_holds(&a) && model_holds(&b);
        questions = questions && questions_agree(&a, &random);
        pairs = pairs && pairs_agree(&a, &b);
        wire = wire && wire_agrees(&a.set);
    }
    ok(changes, "from %u: add, remove and clip as a bitmap does, well formed", offset);
    ok(questions, "from %u: count, overlap, first gap and next as a bitmap says", offset);
    ok(pairs, "from %u: union, difference, intersection, containment as a bitmap says", offset);
    ok(wire, "from %u: what is encoded is decoded", offset);
    ranges_fini(&a.set);
    ranges_fini(&b.set);
}

static void test_print(void)
{
    struct ranges set = {0};
    struct buffer text = {0};

    ranges_print(&set, &text);
    is_string(buffer_string(&text), "", "the empty set prints as nothing");
    ranges_add(&set, 7, 7);
    ranges_add(&set, 1, 3);
    ranges_add(&set, 4294967294, 4294967295);
    ranges_print(&set, &text);
    is_string(buffer_string(&text), "1-3,7,4294967294-4294967295", "ranges print in order");
    is_uint(ranges_min(&set), 1, "smallest number");
    is_uint(ranges_max(&set), 4294967295, "largest number");
    buffer_fini(&text);
    ranges_fini(&set);
}

static void test_itself(void)
{
    struct ranges set = {0}, other = {0};

    ranges_add(&set, 0, 4294967295);
    is_uint(ranges_count(&set), 4294967296, "all numbers are 2^32");
    ranges_remove(&set, 10, 20);
    ranges_copy(&other, &set);
    ranges_add_all(&set, &set);
    ok(ranges_equal(&set, &other), "a set united with itself is itself");
    ranges_copy(&set, &set);
    ranges_move(&set, &set);
    ok(ranges_equal(&set, &other), "a set copied or moved to itself is itself");
    ranges_remove_all(&set, &set);
    ok(ranges_is_empty(&set), "a set without itself is empty");
    ranges_move(&set, &other);
    ok(ranges_is_empty(&other) && set.count == 2, "a moved set is empty");
    ranges_fini(&set);
}

/* Decodes the bytes over a set that holds 5; fails is whether that must fail. */
static void decode_case(const char *bytes, size_t length, uint32_t maximum, int fails,
                        const char *name)
{
    struct ranges set = {0};
    struct wire_reader reader;

    ranges_add(&set, 5, 5);
    wire_reader_init(&reader, bytes, length);
    ranges_decode(&reader, maximum, &set);
    ok((wire_finish(&reader) == -EBADMSG) == fails &&
           (set.count == 1 && ranges_contains(&set, 5)) == fails,
       "%s", name);
    ranges_fini(&set);
}

static void test_decode(void)
{
    struct buffer bytes = {0};
    struct ranges set = {0};
    int held = 1;

    decode_case("\x02\x01\x02\x00\x01", 5, 2, 0, "a good set");
    decode_case("\x02\x01\x02\x00\x01", 5, 1, 1, "more ranges than the limit");
    decode_case("\x01\xff\xff\xff\xff\x0f\x00", 7, 9, 0, "the largest number");
    decode_case("\x01\xff\xff\xff\xff\x0f\x01", 7, 9, 1, "a range beyond the largest number");
    decode_case("\x01\x80\x80\x80\x80\x10\x00", 7, 9, 1, "a first number beyond 32 bits");
    decode_case("\x02\x00\xfe\xff\xff\xff\x0f\x00\x00", 9, 9, 1, "a second range beyond 32 bits");
    decode_case("\xff\xff\xff\xff\x0f", 5, UINT32_MAX, 1, "a count without ranges");

    for (uint32_t i = 0; i < 50; i++)
        ranges_add(&set, i * i * 1000, i * i * 1000 + i);
    ranges_encode(&set, &bytes);
    for (size_t length = 0; length < bytes.length_bytes; length++) {
        struct ranges decoded = {0};
        struct wire_reader reader;
        unsigned char *cut = malloc(length > 0 ? length : 1); /* for the sanitizer to guard */

        memcpy(cut, bytes.data, length);
        wire_reader_init(&reader, cut, length);
        ranges_decode(&reader, 100, &decoded);
        held = held && wire_finish(&reader) == -EBADMSG && decoded.count == 0;
        ranges_fini(&decoded);
        free(cut);
    }
    ok(held, "cut at every byte: an error");
    ranges_fini(&set);
    buffer_fini(&bytes);
}

int main(void)
{
    test_random(1, 0);
    test_random(2, 4711);
    test_random(3, UINT32_MAX - WIDTH + 1);
    test_print();
    test_itself();
    test_decode();
    return done_testing();
}
