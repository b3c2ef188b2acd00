/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/fabric_measure.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "fabric/topology/fabric_model.h"
#include "launch/cli/option/json_text.h"
#include "launch/exec/pair_worker.h"
#include "launch/exec/task_worker.h"
#include "launch/proto/exit_status.h"

/* The shortest way costs so much, so that ways which differ by some percent have different costs. */
#define COST_OF_SHORTEST 10.0

struct way {
    uint64_t latency_ns; /* 0: not measured */
    uint64_t transfer_ns;
};

struct measured {
    uint32_t nodes;
    char **names; /* by rank; NULL: not known */
    struct way *ways;
};

/* ---- What the processes print ---- */

static void measured_fini(struct measured *measured)
{
    for (uint32_t i = 0; i < measured->nodes; i++)
        free(measured->names[i]);
    free(measured->names);
    free(measured->ways);
}

static struct way *way_at(const struct measured *measured, uint32_t from, uint32_t to)
{
    assert(from < measured->nodes && to < measured->nodes);
    return &measured->ways[(size_t)from * measured->nodes + to];
}

static int take_line(struct measured *measured, const char *line, struct error *error)
{
    char name[256] = "";
    struct way way;
    uint32_t from, to;

    if (sscanf(line, "node %" SCNu32 " %255s", &from, name) == 2 && from < measured->nodes) {
        free(measured->names[from]);
        measured->names[from] = memory_copy_string(name);
        return 0;
    }
    if (sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64, &from, &to, &way.latency_ns,
               &way.transfer_ns) == 4 &&
        from < measured->nodes && to < measured->nodes && from != to && way.latency_ns > 0 &&
        way.transfer_ns > 0) {
        *way_at(measured, from, to) = way;
        return 0;
    }
    return error_set(error, -EPROTO, "cannot measure: a process has printed '%.*s'",
                     (int)strcspn(line, "\n"), line);
}

static const char *next_line(const char *line)
{
    size_t bytes = strcspn(line, "\n");

    return line + bytes + (line[bytes] == '\n');
}

static int check_complete(const struct measured *measured, struct error *error)
{
    for (uint32_t from = 0; from < measured->nodes; from++) {
        for (uint32_t to = 0; to < measured->nodes; to++) {
            if (measured->names[from] == NULL)
                return error_set(error, -EPROTO, "cannot measure: process %u has said nothing",
                                 from);
            if (from != to && way_at(measured, from, to)->latency_ns == 0)
                return error_set(error, -EPROTO,
                                 "cannot measure: nothing is known of the way from %s to %s",
                                 measured->names[from], measured->names[to]);
        }
    }
    return 0;
}

static int take_lines(struct measured *measured, const char *lines, struct error *error)
{
    int rc = 0;

    for (const char *line = lines; *line != '\0'; line = next_line(line))
        measured->nodes += strncmp(line, "node ", 5) == 0;
    if (measured->nodes > FABRIC_MEASURE_NODES_MAX)
        return error_set(error, -E2BIG, "cannot measure more than %u nodes",
                         FABRIC_MEASURE_NODES_MAX);
    measured->names = memory_allocate_zeroed((measured->nodes + 1) * sizeof(*measured->names));
    measured->ways = memory_allocate_zeroed(((size_t)measured->nodes * measured->nodes + 1) *
                                            sizeof(*measured->ways));
    for (const char *line = lines; *line != '\0' && rc == 0; line = next_line(line))
        rc = take_line(measured, line, error);
    if (rc == 0 && measured->nodes < 2)
        rc = error_set(error, -EINVAL, "cannot measure ways: there are fewer than two nodes");
    return rc == 0 ? check_complete(measured, error) : rc;
}

/* ---- The description ---- */

static void print_text(const char *text, struct buffer *out)
{
    json_t *json = json_text(text);
    char *printed = json_dumps(json, JSON_ENCODE_ANY);

    buffer_append_string(out, printed);
    free(printed);
    json_decref(json);
}

static double time_of(const struct way *way)
{
    return (double)way->latency_ns + (double)way->transfer_ns;
}

static double shortest_time(const struct measured *measured)
{
    double shortest = 0;

    for (uint32_t from = 0; from < measured->nodes; from++) {
        for (uint32_t to = 0; to < measured->nodes; to++) {
            double time = from != to ? time_of(way_at(measured, from, to)) : 0;

            if (from != to && (shortest == 0 || time < shortest))
                shortest = time;
        }
    }
    return shortest;
}

static uint64_t cost_of(const struct way *way, double shortest)
{
    double cost;

    assert(shortest > 0 && way->latency_ns > 0);
    cost = time_of(way) / shortest * COST_OF_SHORTEST + 0.5;

    return cost < FABRIC_COST_MAX ? (uint64_t)cost : FABRIC_COST_MAX;
}

static uint64_t number_of(const struct way *way, int column, double shortest)
{
    switch (column) {
    case 0:
        return cost_of(way, shortest);
    case 1:
        return way->latency_ns;
    default:
        return way->transfer_ns;
    }
}

/* A list of rows. */
static void print_square(const struct measured *measured, int column, struct buffer *out)
{
    double shortest = shortest_time(measured);

    buffer_append_string(out, "[");
    for (uint32_t from = 0; from < measured->nodes; from++) {
        buffer_append_string(out, from > 0 ? ",\n  [" : "\n  [");
        for (uint32_t to = 0; to < measured->nodes; to++)
            buffer_printf(out, "%s%" PRIu64, to > 0 ? ", " : "",
                          from != to ? number_of(way_at(measured, from, to), column, shortest) : 0);
        buffer_append_string(out, "]");
    }
    buffer_append_string(out, "]");
}

static void print_description(const struct measured *measured, uint64_t bytes, struct buffer *out)
{
    buffer_append_string(out, "{\"switches\": [{\"name\": \"network\"}],\n \"nics\": [");
    for (uint32_t i = 0; i < measured->nodes; i++) {
        buffer_append_string(out, i > 0 ? ",\n  {\"name\": " : "\n  {\"name\": ");
        print_text(measured->names[i], out);
        buffer_append_string(out, ", \"node\": ");
        print_text(measured->names[i], out);
        buffer_append_string(out, ", \"switch\": \"network\"}");
    }
    buffer_append_string(out, "],\n \"costs\": ");
    print_square(measured, 0, out);
    buffer_printf(out, ",\n \"measured\": {\"bytes\": %" PRIu64 ",\n \"latency_ns\": ", bytes);
    print_square(measured, 1, out);
    buffer_append_string(out, ",\n \"transfer_ns\": ");
    print_square(measured, 2, out);
    buffer_append_string(out, "}}\n");
}

int fabric_measure_describe(const char *lines, uint64_t bytes, struct buffer *out,
                            struct error *error)
{
    struct measured measured = {.nodes = 0};
    int rc = take_lines(&measured, lines, error);

    if (rc == 0)
        print_description(&measured, bytes, out);
    if (measured.names != NULL)
        measured_fini(&measured);
    return rc;
}

/* ---- The run ---- */

/* It ends with this process, as at Ctrl-C. */
static void execute(const struct fabric_measure *measure, int out_fd, pid_t parent)
{
    static const char *const words[] = {"--per-node", "1",    "--mpi", "pmi1",
                                        "--stdin",    "none", "--"};
    size_t words_count = sizeof(words) / sizeof(words[0]), count = 0;
    const char **argv =
        memory_allocate((words_count + (size_t)measure->options_count + 8) * sizeof(*argv));

    argv[count++] = "banyan";
    argv[count++] = "run";
    for (int i = 0; i < measure->options_count; i++)
        argv[count++] = measure->options[i];
    for (size_t i = 0; i < words_count; i++)
        argv[count++] = words[i];
    argv[count++] = TASK_WORKER_PROGRAM;
    argv[count++] = PAIR_WORKER_WORD;
    argv[count++] = memory_printf("%" PRIu64, measure->bytes);
    argv[count++] = memory_printf("%" PRIu32, measure->repeats);
    argv[count] = NULL;
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent)
        _exit(EXIT_STATUS_FAILED);
    if (dup2(out_fd, STDOUT_FILENO) >= 0)
        execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
    fprintf(stderr, "banyan: cannot start banyan run: %s\n", strerror(errno));
    _exit(EXIT_STATUS_FAILED);
}

static int read_all(int fd, struct buffer *out)
{
    ssize_t got;

    do {
        got = read(fd, buffer_reserve(out, 65536), 65536);
        if (got > 0)
            buffer_commit(out, (size_t)got);
    } while (got > 0 || (got < 0 && errno == EINTR));
    return got < 0 ? -errno : 0;
}

int fabric_measure_run(const struct fabric_measure *measure, struct buffer *out,
                       struct error *error)
{
    struct buffer lines = {0};
    int ends[2], status = 0, rc;
    pid_t parent = getpid(), pid;

    assert(measure->bytes > 0 && measure->repeats > 0);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(error, -errno, "cannot make a pipe: %s", strerror(errno));
    pid = fork();
    if (pid == 0)
        execute(measure, ends[1], parent);
    close(ends[1]);
    rc = pid < 0 ? -errno : read_all(ends[0], &lines);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (rc < 0)
        error_set(error, rc, "cannot start banyan run: %s", strerror(-rc));
    else if (WIFSIGNALED(status))
        rc = error_set(error, -ECANCELED, "cannot measure: signal %d has ended banyan run",
                       WTERMSIG(status));
    else if (status != 0)
        rc = WEXITSTATUS(status);
    else
        rc = fabric_measure_describe(buffer_string(&lines), measure->bytes, out, error);
    buffer_fini(&lines);
    return rc;
}
