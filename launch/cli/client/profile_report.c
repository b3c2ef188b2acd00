/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/profile_report.h"

#include <stdio.h>

#include "alloc/host_name.h"
#include "base/time.h"
#include "launch/cli/option/json_text.h"

#define TIME_BYTES 32

static const char *time_text(uint64_t ns, char text[TIME_BYTES])
{
    if (ns < (uint64_t)NS_PER_MS)
        snprintf(text, TIME_BYTES, "%.1f us", (double)ns / 1000);
    else if (ns < 10 * (uint64_t)NS_PER_S)
        snprintf(text, TIME_BYTES, "%.2f ms", (double)ns / (double)NS_PER_MS);
    else
        snprintf(text, TIME_BYTES, "%.1f s", (double)ns / (double)NS_PER_S);
    return text;
}

static void name_of(const struct hostlist *names, uint32_t place,
                    char name[HOST_NAME_BYTES_MAX + 1])
{
    if (place > 0 && place <= hostlist_count(names))
        hostlist_name(names, place - 1, name);
    else
        snprintf(name, HOST_NAME_BYTES_MAX + 1, "place %u", place);
}

static void print_slowest(const struct profile_times *times, const struct hostlist *names,
                          struct buffer *out)
{
    char name[HOST_NAME_BYTES_MAX + 1], time[TIME_BYTES];

    for (uint32_t i = 0; i < times->slowest_count; i++) {
        name_of(names, times->slowest[i].place, name);
        buffer_printf(out, "%s%s (%s)", i > 0 ? ", " : "", name,
                      time_text(times->slowest[i].ns, time));
    }
}

void profile_report_table(const struct profile *profile, const struct hostlist *names,
                          struct buffer *out)
{
    char min[TIME_BYTES], median[TIME_BYTES], late[TIME_BYTES], max[TIME_BYTES];

    buffer_printf(out, "%-6s %7s %12s %12s %12s %12s  %s\n", "phase", "nodes", "min", "median",
                  "p99", "max", "slowest");
    for (int phase = 0; phase < PROFILE_PHASE_COUNT; phase++) {
        const struct profile_times *times = &profile->phases[phase];

        if (times->nodes == 0)
            continue;
        buffer_printf(
            out, "%-6s %7llu %12s %12s %12s %12s  ", profile_phase_name((enum profile_phase)phase),
            (unsigned long long)times->nodes, time_text(times->min_ns, min),
            time_text(profile_quantile_ns(times, 0.5), median),
            time_text(profile_quantile_ns(times, 0.99), late), time_text(times->max_ns, max));
        print_slowest(times, names, out);
        buffer_append_string(out, "\n");
    }
}

static json_t *json_ms(uint64_t ns)
{
    return json_real((double)ns / (double)NS_PER_MS);
}

static json_t *json_slowest(const struct profile_times *times, const struct hostlist *names)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    json_t *list = json_array();

    for (uint32_t i = 0; i < times->slowest_count; i++) {
        json_t *object = json_object();

        name_of(names, times->slowest[i].place, name);
        json_object_set_new(object, "node", json_text(name));
        json_object_set_new(object, "ms", json_ms(times->slowest[i].ns));
        json_array_append_new(list, object);
    }
    return list;
}

json_t *profile_report_json(const struct profile *profile, const struct hostlist *names)
{
    json_t *phases = json_object();

    for (int phase = 0; phase < PROFILE_PHASE_COUNT; phase++) {
        const struct profile_times *times = &profile->phases[phase];
        json_t *object;

        if (times->nodes == 0)
            continue;
        object = json_object();
        json_object_set_new(object, "nodes", json_integer((json_int_t)times->nodes));
        json_object_set_new(object, "min_ms", json_ms(times->min_ns));
        json_object_set_new(object, "median_ms", json_ms(profile_quantile_ns(times, 0.5)));
        json_object_set_new(object, "p99_ms", json_ms(profile_quantile_ns(times, 0.99)));
        json_object_set_new(object, "max_ms", json_ms(times->max_ns));
        json_object_set_new(object, "slowest", json_slowest(times, names));
        json_object_set_new(phases, profile_phase_name((enum profile_phase)phase), object);
    }
    return phases;
}
