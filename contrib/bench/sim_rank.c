/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim_rank ROUNDS BYTES MARK: a PMI-1 client for sim-check.  All ranks meet in a barrier ROUNDS
 * times, having put BYTES before each, under the same keys.  Rank 0 prints
 *
 *     sim_rank SIZE START_CPU_NS ROUND_WALL_NS ROUND_CPU_NS
 *
 * START_CPU_NS: of all processes that have MARK in their environment, when the first barrier is
 * over.  ROUND_WALL_NS: the median of the rounds.  ROUND_CPU_NS: of all those processes, a round.
 * Any failure is an exit code of 9 and a line on standard error.
 */
#include "config.h"

#include "contrib/bench/measure.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS_MAX = 10000, VALUE_BYTES = 256, LINE_BYTES = 2048, ENVIRONMENT_BYTES = 65536 };

static FILE *pmi;
static char name[LINE_BYTES];
static int rank;

static void fail(const char *what)
{
    fprintf(stderr, "sim_rank: rank %d: %s\n", rank, what);
    exit(9);
}

/* Sends a command, and reads the answer, which must begin with expected. */
static const char *ask(const char *expected, const char *command)
{
    static char line[LINE_BYTES];

    if (write(fileno(pmi), command, strlen(command)) < 0 || fgets(line, sizeof line, pmi) == NULL)
        fail("the connection to the daemon is gone");
    if (strncmp(line, expected, strlen(expected)) != 0)
        fail(line);
    return line;
}

static void barrier(void)
{
    ask("cmd=barrier_out", "cmd=barrier_in\n");
}

static void put(int round, int bytes)
{
    static char command[2 * LINE_BYTES];
    char value[VALUE_BYTES + 1];

    for (int part = 0; bytes > 0; part++, bytes -= VALUE_BYTES) {
        int length = bytes < VALUE_BYTES ? bytes : VALUE_BYTES;

        memset(value, 'a' + round % 26, (size_t)length);
        value[length] = '\0';
        snprintf(command, sizeof command, "cmd=put kvsname=%s key=r%04d.%d value=%s\n", name, rank,
                 part, value);
        ask("cmd=put_result", command);
    }
}

static size_t read_file(const char *process, const char *file, char *text, size_t bytes)
{
    char path[64];
    size_t got = 0;
    FILE *stream;

    snprintf(path, sizeof path, "/proc/%.20s/%s", process, file);
    stream = fopen(path, "re");
    if (stream != NULL) {
        got = fread(text, 1, bytes - 1, stream);
        fclose(stream);
    }
    text[got] = '\0';
    return got;
}

static uint64_t run_ns(const char *process)
{
    char text[128];

    read_file(process, "schedstat", text, sizeof text);
    return strtoull(text, NULL, 10);
}

/* Daemons, helpers and ranks have one thread each. */
static uint64_t others_ns(const char *mark)
{
    static char environment[ENVIRONMENT_BYTES];
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    uint64_t sum_ns = 0;

    if (processes == NULL)
        fail("cannot read /proc");
    while ((entry = readdir(processes)) != NULL) {
        size_t bytes;

        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || atoi(entry->d_name) == getpid())
            continue;
        bytes = read_file(entry->d_name, "environ", environment, sizeof environment);
        if (memmem(environment, bytes, mark, strlen(mark)) != NULL)
            sum_ns += run_ns(entry->d_name);
    }
    closedir(processes);
    return sum_ns;
}

static void open_pmi(void)
{
    const char *fd = getenv("PMI_FD");
    char *end;

    if (fd == NULL || getenv("PMI_RANK") == NULL)
        fail("PMI_FD is not set");
    rank = atoi(getenv("PMI_RANK"));
    pmi = fdopen(atoi(fd), "r");
    if (pmi == NULL)
        fail("PMI_FD is not open");
    ask("cmd=response_to_init", "cmd=init pmi_version=1 pmi_subversion=1\n");
    snprintf(name, sizeof name, "%s",
             strstr(ask("cmd=my_kvsname", "cmd=get_my_kvsname\n"), "kvsname=") + 8);
    end = name + strcspn(name, " \n");
    *end = '\0';
}

int main(int argc, char **argv)
{
    static uint64_t wall_ns[ROUNDS_MAX];
    uint64_t start_cpu_ns = 0, used_ns = 0, own_ns = 0;
    int rounds = argc == 4 ? atoi(argv[1]) : 0;

    if (rounds < 1 || rounds > ROUNDS_MAX)
        fail("usage: sim_rank ROUNDS BYTES MARK");
    open_pmi();
    barrier();
    if (rank == 0) {
        start_cpu_ns = others_ns(argv[3]);
        barrier(); /* the others have slept meanwhile */
        used_ns = others_ns(argv[3]);
        own_ns = cpu_ns();
    } else {
        barrier();
    }
    for (int round = 0; round < rounds; round++) {
        uint64_t began_ns;

        began_ns = now_ns();
        put(round, atoi(argv[2]));
        barrier();
        wall_ns[round] = now_ns() - began_ns;
    }
    if (rank == 0) {
        own_ns = cpu_ns() - own_ns;
        used_ns = others_ns(argv[3]) - used_ns + own_ns;
        qsort(wall_ns + 1, (size_t)rounds - 1, sizeof *wall_ns, measure_compare);
        printf("sim_rank %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", getenv("PMI_SIZE"),
               start_cpu_ns, wall_ns[rounds / 2], used_ns / (uint64_t)rounds);
    }
    barrier();
    ask("cmd=finalize_ack", "cmd=finalize\n");
    return 0;
}
