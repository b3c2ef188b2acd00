/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of --profile and its JSON: launch/cli/client/profile_report.c. */
#include "config.h"

#include "launch/cli/client/profile_report.h"

#include "test/support/tap.h"

int main(void)
{
    static struct profile profile;
    struct hostlist *names = hostlist_create();
    struct buffer table = {0};
    json_t *json, *phase;

    ok(hostlist_parse(names, "n[1-3]", NULL) == 0, "names");
    profile_add(&profile, PROFILE_START, 1, 2000000);
    profile_add(&profile, PROFILE_START, 2, 20000000000);
    profile_add(&profile, PROFILE_START, 3, 1500);
    profile_add(&profile, PROFILE_RUN, 4, 1000000);
    profile_report_table(&profile, names, &table);
    is_string(
        buffer_string(&table),
        "phase    nodes          min       median          p99          max  slowest\n"
        "start        3       1.5 us      2.03 ms       20.0 s       20.0 s  n2 (20.0 s), n1 (2.00 "
        "ms), n3 (1.5 us)\n"
        "run          1      1.00 ms      1.00 ms      1.00 ms      1.00 ms  place 4 (1.00 ms)\n",
        "a line for each phase that was reached");
    json = profile_report_json(&profile, names);
    is_uint(json_object_size(json), 2, "so has JSON");
    phase = json_object_get(json, "start");
    is_int(json_integer_value(json_object_get(phase, "nodes")), 3, "how many nodes");
    ok(json_real_value(json_object_get(phase, "min_ms")) == 0.0015, "the shortest time");
    ok(json_real_value(json_object_get(phase, "max_ms")) == 20000, "the longest");
    is_string(json_string_value(
                  json_object_get(json_array_get(json_object_get(phase, "slowest"), 0), "node")),
              "n2", "and where that was");
    json_decref(json);
    buffer_fini(&table);
    hostlist_destroy(names);
    return done_testing();
}
