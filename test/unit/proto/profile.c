/* SPDX-License-Identifier: BSD-3-Clause */
/* How long nodes took: launch/proto/profile.c, and on its way, launch/proto/profile_wire.c. */
#include "config.h"

#include "launch/proto/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "test/support/tap.h"

#define NODES 10000u

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

static int is_near(uint64_t got, uint64_t expected)
{
    uint64_t apart = got > expected ? got - expected : expected - got;

    return apart <= expected / 16;
}

static void check_quantile(const struct profile_times *times, const uint64_t *sorted, double share)
{
    uint64_t expected = sorted[(size_t)(share * NODES) - 1];
    uint64_t got = profile_quantile_ns(times, share);

    ok(is_near(got, expected), "%.0f %% of the nodes: %llu, exactly %llu", 100 * share,
       (unsigned long long)got, (unsigned long long)expected);
}

/* Times of all magnitudes. */
static void test_quantiles(void)
{
    static struct profile profile;
    struct random_state random;
    uint64_t *times = calloc(NODES, sizeof(*times));

    random_init(&random, 7);
    for (uint32_t i = 0; i < NODES; i++) {
        times[i] = random_next(&random) >> (17 + random_next(&random) % 40);
        profile_add(&profile, PROFILE_START, i + 1, times[i]);
    }
    qsort(times, NODES, sizeof(*times), compare);
    is_uint(profile.phases[PROFILE_START].nodes, NODES, "all nodes count");
    is_uint(profile.phases[PROFILE_START].min_ns, times[0], "the shortest time");
    is_uint(profile.phases[PROFILE_START].max_ns, times[NODES - 1], "the longest");
    is_uint(profile.phases[PROFILE_START].slowest[0].ns, times[NODES - 1],
            "is that of the slowest");
    is_uint(profile.phases[PROFILE_START].slowest[2].ns, times[NODES - 3], "the third");
    for (int percent = 5; percent < 100; percent += 9)
        check_quantile(&profile.phases[PROFILE_START], times, percent / 100.0);
    is_uint(profile_quantile_ns(&profile.phases[PROFILE_START], 1), times[NODES - 1], "all");
    is_uint(profile_quantile_ns(&profile.phases[PROFILE_RUN], 0.5), 0, "nobody has run");
    free(times);
}

static void test_few(void)
{
    static struct profile profile;
    const struct profile_times *times = &profile.phases[PROFILE_RUN];

    profile_add(&profile, PROFILE_RUN, 4, 5000000);
    is_uint(profile_quantile_ns(times, 0.5), 5000000, "one node is exact");
    is_uint(profile_quantile_ns(times, 0), 5000000, "whatever is asked");
    profile_add(&profile, PROFILE_RUN, 3, UINT64_MAX);
    is_uint(profile_quantile_ns(times, 0.99), UINT64_MAX, "the longest of two");
    profile_add(&profile, PROFILE_RUN, 9, 0);
    is_uint(times->min_ns, 0, "no time at all");
    profile_add(&profile, PROFILE_RUN, 2, 5000000);
    is_uint(times->slowest_count, PROFILE_SLOWEST_MAX, "three are named");
    is_uint(times->slowest[1].place, 2, "of equal ones the first place");
    is_uint(times->slowest[2].place, 4, "first");
}

/* As long as they are merged in whatever order, the result is the same. */
static void test_merge(void)
{
    static struct profile whole, parts[4], sum;
    struct buffer one = {0}, other = {0};
    struct random_state random;

    random_init(&random, 3);
    for (uint32_t i = 0; i < 400; i++) {
        enum profile_phase phase = (enum profile_phase)(random_next(&random) % PROFILE_PHASE_COUNT);
        uint64_t ns = random_next(&random) % 1000;

        profile_add(&whole, phase, i + 1, ns);
        profile_add(&parts[random_next(&random) % 4], phase, i + 1, ns);
    }
    profile_merge(&parts[2], &parts[1]);
    profile_merge(&sum, &parts[3]);
    profile_merge(&sum, &parts[2]);
    profile_merge(&sum, &parts[0]);
    profile_encode(&whole, &one);
    profile_encode(&sum, &other);
    is_bytes(other.data, other.length_bytes, one.data, one.length_bytes, "merging is adding");
    buffer_fini(&one);
    buffer_fini(&other);
}

static int take(struct profile *ret_profile, const void *data, size_t bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    return profile_decode(ret_profile, &reader);
}

static void test_wire(void)
{
    static struct profile profile, got;
    struct buffer packed = {0}, again = {0};

    for (uint32_t i = 0; i < 20; i++)
        profile_add(&profile, PROFILE_JOIN, i + 1, 1000ull << i);
    profile_encode(&profile, &packed);
    is_int(take(&got, packed.data, packed.length_bytes), 0, "it arrives");
    profile_encode(&got, &again);
    is_bytes(again.data, again.length_bytes, packed.data, packed.length_bytes, "as it was");
    for (size_t bytes = 0; bytes < packed.length_bytes; bytes++)
        if (take(&got, packed.data, bytes) != -EBADMSG)
            fail("%zu bytes are taken for all", bytes);
    is_int(take(&got, "\1\5\5\0\1\5\1\0\0\0\0", 11), 0, "one node");
    is_int(take(&got, "\2\5\5\0\1\5\1\0\0\0\0", 11), -EBADMSG, "not in any bucket");
    is_int(take(&got, "\1\6\5\0\1\5\1\0\0\0\0", 11), -EBADMSG, "the shortest is longer");
    is_int(take(&got, "\1\5\5\4\1\5\1\0\0\0\0", 11), -EBADMSG, "too many are slowest");
    is_int(take(&got, "\2\5\5\0\2\5\1\0\1\0\0\0\0", 13), -EBADMSG, "a bucket comes twice");
    buffer_fini(&packed);
    buffer_fini(&again);
}

int main(void)
{
    test_quantiles();
    test_few();
    test_merge();
    test_wire();
    for (int phase = 0; phase < PROFILE_PHASE_COUNT; phase++)
        ok(profile_phase_name((enum profile_phase)phase) != NULL, "phase %d has a name", phase);
    return done_testing();
}
