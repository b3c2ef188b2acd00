/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/machine_load.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric/file_read.h"

#define FILE_BYTES_MAX 8192u /* their first lines say it */

/* user, nice, system, idle, iowait, irq, softirq, steal; guests are in user already. */
void machine_load_parse_stat(const char *text, struct machine_load *load)
{
    unsigned long long ticks[8] = {0};

    if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1], &ticks[2],
               &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]) < 4)
        return;
    load->idle_ticks = ticks[3] + ticks[4];
    load->busy_ticks = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7];
}

static uint64_t value_of(const char *text, const char *key)
{
    const char *line = strstr(text, key);
    unsigned long long kib;

    return line != NULL && sscanf(line + strlen(key), "%llu", &kib) == 1 ? kib : 0;
}

void machine_load_parse_memory(const char *text, struct machine_load *load)
{
    uint64_t available = value_of(text, "MemAvailable:");

    load->memory_kib = value_of(text, "MemTotal:");
    load->used_kib = load->memory_kib > available ? load->memory_kib - available : 0;
}

static void parse(const char *path, void (*take)(const char *text, struct machine_load *load),
                  struct machine_load *load)
{
    struct buffer text = {0};

    (void)file_read(path, FILE_BYTES_MAX, &text); /* the rest is not needed */
    take(buffer_string(&text), load);
    buffer_fini(&text);
}

struct machine_load machine_load_now(void)
{
    struct machine_load load = {0};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    load.cpus = cpus > 0 ? (uint32_t)cpus : 0;
    parse("/proc/stat", machine_load_parse_stat, &load);
    parse("/proc/meminfo", machine_load_parse_memory, &load);
    return load;
}
