/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/machine_load.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch/exec/process_stat.h"
#include "test/support/tap.h"

static void test_parse(void)
{
    struct machine_load load = {0};

    machine_load_parse_stat("cpu  10 20 30 400 50 6 7 8 9 1\ncpu0 1 2 3\n", &load);
    is_uint(load.busy_ticks, 10 + 20 + 30 + 6 + 7 + 8, "time in use; guests are in it already");
    is_uint(load.idle_ticks, 450, "time without work, also that of waiting for disks");
    machine_load_parse_stat("cpux\n", &load);
    is_uint(load.idle_ticks, 450, "another text says nothing");
    machine_load_parse_memory("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable:   400 kB\n", &load);
    is_uint(load.memory_kib, 1000, "memory");
    is_uint(load.used_kib, 600, "that programs cannot have");
    machine_load_parse_memory("", &load);
    ok(load.memory_kib == 0 && load.used_kib == 0, "none is known");
}

static void test_now(void)
{
    struct machine_load load = machine_load_now();

    ok(load.cpus > 0 && load.memory_kib > load.used_kib && load.idle_ticks + load.busy_ticks > 0,
       "this machine: %u CPUs, %llu KiB", load.cpus, (unsigned long long)load.memory_kib);
}

static void test_process(void)
{
    uint64_t before_ns = 0, after_ns = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    is_int(process_stat_cpu_ns(getpid(), &before_ns), 0, "the CPU time of this process");
    do {
        (void)process_stat_cpu_ns(getpid(), &after_ns);
    } while (after_ns < before_ns + 1000000);
    ok(after_ns > before_ns, "it grows");
    waitpid(child, NULL, 0);
    is_int(process_stat_cpu_ns(child, &after_ns), -ESRCH, "one that has ended has none");
    is_int(process_stat_cpu_ns(0, &after_ns), -ESRCH, "nor one that has not been started");
}

int main(void)
{
    test_parse();
    test_now();
    test_process();
    return done_testing();
}
