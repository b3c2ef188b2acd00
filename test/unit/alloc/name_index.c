/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index of names against a plain list: runs with the same and with other prefixes, suffixes and
 * widths, that overlap, contain each other's numbers, or come in any order.
 */
#include "config.h"

#include "alloc/name_index.h"
#include "test/support/tap.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define WORLDS    400
#define RUNS_MAX  24
#define ASKED     300
#define RUN_NAMES 200

static const char *const prefixes[] = {"n", "n1", "n-", "n10", ""};
static const char *const suffixes[] = {"", "", "", "-ib", "5", "0x"};

static struct host_run make_run(struct random_state *random)
{
    struct host_run run = {.prefix = prefixes[random_below(random, 5)],
                           .suffix = suffixes[random_below(random, 6)],
                           .first = random_below(random, 4000),
                           .width = (uint8_t)(1 + random_below(random, 5))};

    run.count = random_below(random, 3) == 0
                    ? 1 + (uint32_t)random_below(random, 5)
                    : NAME_INDEX_RUN_MIN + (uint32_t)random_below(random, RUN_NAMES);
    run.prefix_bytes = (uint8_t)strlen(run.prefix);
    run.suffix_bytes = (uint8_t)strlen(run.suffix);
    return run;
}

static int64_t find_plainly(const struct host_run *runs, const uint32_t *hosts, uint32_t count,
                            const char *name)
{
    uint32_t offset;

    for (uint32_t i = 0; i < count; i++) {
        if (hostlist_run_find(&runs[i], name, strlen(name), &offset))
            return (int64_t)hosts[i] + offset;
    }
    return -1;
}

static int holds_plainly(const struct host_run *runs, const uint32_t *hosts, uint32_t count,
                         const struct host_run *run)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t i = 0; i < run->count; i++) {
        name[hostlist_run_name(run, i, name)] = '\0';
        if (find_plainly(runs, hosts, count, name) >= 0)
            return 1;
    }
    return 0;
}

/* 1 if all that is asked is answered as a walk over all runs would. */
static int try_world(struct random_state *random)
{
    struct name_index *index = name_index_create();
    struct host_run runs[RUNS_MAX];
    uint32_t hosts[RUNS_MAX], count = 0, next = 0;
    char name[HOST_NAME_BYTES_MAX + 1];
    int good = 1;

    while (count < RUNS_MAX) {
        struct host_run run = make_run(random);
        int held = holds_plainly(runs, hosts, count, &run);

        good &= !held || name_index_may_hold(index, &run);
        if (held) /* the caller takes such a run apart */
            continue;
        name_index_add(index, &run, next);
        runs[count] = run;
        hosts[count++] = next;
        next += run.count;
    }
    for (int i = 0; i < ASKED; i++) {
        struct host_run run = make_run(random);

        name[hostlist_run_name(&run, 0, name)] = '\0';
        good &=
            name_index_find(index, name, strlen(name)) == find_plainly(runs, hosts, count, name);
    }
    name_index_destroy(index);
    return good;
}

int main(void)
{
    int good = 0;

    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct random_state random;

        random_init(&random, seed);
        if (try_world(&random))
            good++;
        else
            diag("seed %llu", (unsigned long long)seed);
    }
    is_int(good, WORLDS, "names are found as a walk over all runs finds them");
    return done_testing();
}
