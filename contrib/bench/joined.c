/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a daemon costs until it has joined:
 *
 *     joined [NODES]      from the top of a build tree; 16 nodes if not said
 *
 * runs `banyan run -v -v` on that many daemons of this machine, each started by exec with this program
 * as the agent, and prints the median and the greatest of their CPU from exec (which is in it, with
 * the dynamic linker and OpenSSL's start) to joined (bar 2.0 ms).  A daemon says what it has used when
 * it joins; what the agent had used before it became the daemon is taken off.
 */
#include "config.h"

#include "contrib/bench/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NODES_DEFAULT 16
#define NODES_MAX     256
#define LINE_BYTES    4096
#define AGENT_FILE    "JOINED_AGENT_FILE" /* in the environment: this program is the agent */

static void fail(const char *what)
{
    fprintf(stderr, "joined: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* AGENT NODE COMMAND: one word, the daemon's path. */
static int be_agent(char **argv, const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    char line[128];
    int bytes;

    if (fd < 0)
        fail(path);
    bytes = snprintf(line, sizeof line, "%.80s %" PRIu64 "\n", argv[1], cpu_ns());
    if (write(fd, line, (size_t)bytes) < 0)
        fail(path);
    execl(argv[2], argv[2], (char *)NULL);
    fail(argv[2]);
    return 1;
}

/* What the agents had used, by node. */
static void read_agents(const char *path, uint64_t *ret_ns, unsigned nodes)
{
    FILE *stream = fopen(path, "re");
    unsigned node;
    uint64_t used_ns;

    if (stream == NULL)
        fail(path);
    while (fscanf(stream, "n%u %" SCNu64 "\n", &node, &used_ns) == 2)
        if (node >= 1 && node <= nodes)
            ret_ns[node - 1] = used_ns;
    fclose(stream);
}

/* "... place 3 (n3) joined after 1790 us of CPU time": of each node, in ns; how many said so. */
static unsigned read_joined(FILE *stream, uint64_t *ret_ns, unsigned nodes)
{
    char line[LINE_BYTES];
    unsigned count = 0;

    while (fgets(line, sizeof line, stream) != NULL) {
        const char *at = strstr(line, "place ");
        unsigned place;
        uint64_t used_us;

        if (at == NULL ||
            sscanf(at, "place %u (%*[^)]) joined after %" SCNu64, &place, &used_us) != 2)
            continue;
        if (place >= 1 && place <= nodes && ret_ns[place - 1] == 0)
            count++;
        if (place >= 1 && place <= nodes)
            ret_ns[place - 1] = used_us * 1000;
    }
    return count;
}

int main(int argc, char **argv)
{
    static uint64_t agent_ns[NODES_MAX];
    static uint64_t used_ns[NODES_MAX];
    const char *path = getenv(AGENT_FILE);
    unsigned nodes = argc > 1 ? (unsigned)atoi(argv[1]) : NODES_DEFAULT;
    char file[] = "/tmp/joined.XXXXXX";
    char command[LINE_BYTES];
    FILE *stream;
    int fd;

    if (path != NULL && argc == 3)
        return be_agent(argv, path);
    if (nodes < 1 || nodes > NODES_MAX)
        nodes = NODES_DEFAULT;
    fd = mkstemp(file);
    if (fd < 0 || setenv(AGENT_FILE, file, 1) < 0)
        fail(file);
    close(fd);
    snprintf(command, sizeof command,
             "BANYAN_PKGLIBDIR=$PWD/.libs ./banyan run -v -v --banyand $PWD/banyand --net lo "
             "--ssh-agent '%s' --host 'n[1-%u]' -n 1 true 2>&1",
             argv[0], nodes);
    stream = popen(command, "re");
    if (stream == NULL)
        fail(command);
    if (read_joined(stream, used_ns, nodes) < nodes || pclose(stream) != 0) {
        unlink(file);
        fprintf(stderr, "joined: not all have joined: %s\n", command);
        return 1;
    }
    read_agents(file, agent_ns, nodes);
    unlink(file);
    for (unsigned i = 0; i < nodes; i++)
        used_ns[i] -= agent_ns[i] < used_ns[i] ? agent_ns[i] : used_ns[i];
    printf("joined\t%.2f ms of a daemon's CPU (median of %u, bar 2.0)",
           (double)median(used_ns, nodes) / 1e6, nodes);
    printf("\t%.2f at most\n", (double)used_ns[nodes - 1] / 1e6);
    return 0;
}
