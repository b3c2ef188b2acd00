/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulated exchanges (launch/cli/verb/bench_simulate.c): this program itself plays `banyan sim`.  Plans from shared
 * objects are in test/system/run_collective.sh.
 */
#include "config.h"

#include "launch/cli/verb/bench_simulate.h"

#include <stdio.h>
#include <string.h>

#include "test/support/tap.h"

static void test_own(void)
{
    const char *places = "1,4", *sizes = "8";
    struct bench_settings settings = {.simulate = {.items = &places, .count = 1},
                                      .sizes = {.items = &sizes, .count = 1},
                                      .warm_up = UINT32_MAX};
    struct bench_simulated simulated;
    struct error error = ERROR_NONE;
    struct buffer out = {0};

    is_int(bench_simulate(&settings, &simulated, &error), 0, "banyan's own exchange");
    is_uint(simulated.count, 2, "for both numbers of places");
    is_uint(simulated.rows[0].median_ns, 0, "one place needs none");
    is_uint(simulated.rows[1].median_ns, 777, "what banyan sim says of the last operation");
    is_uint(simulated.rows[1].nodes, 4, "for as many places");
    is_string(simulated.rows[1].name, "banyan", "its name");
    bench_simulate_print(&simulated, &out);
    ok(strchr(buffer_string(&out) + 1, '\n')[1] == '\0', "there is no plan to tell of");
    buffer_fini(&out);
    bench_simulate_fini(&simulated);
}

static void test_refused(void)
{
    const char *places = "4,0", *file = "/nowhere/x.so";
    struct bench_settings settings = {.simulate = {.items = &places, .count = 1}};
    struct bench_simulated simulated;
    struct error error = ERROR_NONE;

    ok(bench_simulate(&settings, &simulated, &error) < 0, "no places");
    is_string(error.text, "option --simulate: there is no tree of 0 places", "says so");
    settings.collectives = (struct option_list){.items = &file, .count = 1};
    ok(bench_simulate(&settings, &simulated, &error) < 0, "no file");
    ok(strstr(error.text, "option --collective: cannot open the collective: /nowhere/x.so") != NULL,
       "names it");
}

int main(int argc, char **argv)
{
    if (argc == 8 && strcmp(argv[1], "sim") == 0) {
        int is_right = strcmp(argv[4], "3") == 0 && strcmp(argv[7], "exchange=8") == 0;

        printf("[{\"operations\": [{\"took_ns\": 5}, {\"took_ns\": %d}]}]\n", is_right ? 777 : 1);
        return 0;
    }
    test_own();
    test_refused();
    return done_testing();
}
