/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes and a PMI-1 server of their own: pair_network_tcp.c with a stranger at its port, and pair_network_ofi.c
 * over a provider that needs no hardware.
 */
#include "config.h"

#include "launch/exec/pair_network.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/exec/plugin.h"
#include "test/support/tap.h"

#define LARGE_BYTES 300000u
#define KEYS_MAX    8
#define LINE_BYTES  1024
#define PATIENCE_MS 100000 /* longer than a peer's (PAIR_PATIENCE_S) */
#define TOKEN       7

/* ---- PMI-1 ---- */

static struct {
    char key[64];
    char value[PMI1_CLIENT_VALUE_BYTES];
} values[KEYS_MAX];

static void answer(int fd, const char *line)
{
    char key[64], value[PMI1_CLIENT_VALUE_BYTES] = "", text[LINE_BYTES];
    int at = 0;

    if (sscanf(line, "cmd=put kvsname=k key=%63s value=%511s", key, value) == 2) {
        while (values[at].key[0] != '\0')
            at++;
        snprintf(values[at].key, sizeof(values[at].key), "%s", key);
        snprintf(values[at].value, sizeof(values[at].value), "%s", value);
        snprintf(text, sizeof(text), "cmd=put_result rc=0\n");
    } else if (sscanf(line, "cmd=get kvsname=k key=%63s", key) == 1) {
        while (at < KEYS_MAX && strcmp(values[at].key, key) != 0)
            at++;
        snprintf(text, sizeof(text), "cmd=get_result rc=%d value=%s\n", at < KEYS_MAX ? 0 : -1,
                 at < KEYS_MAX ? values[at].value : "unknown");
    } else {
        snprintf(text, sizeof(text), "cmd=barrier_out rc=0\n");
    }
    (void)!write(fd, text, strlen(text));
}

/* Until one of them closes: then the other must not need it any more, and hears so if it does. */
static void serve(const int fds[2])
{
    struct pollfd waits[2] = {{.fd = fds[0], .events = POLLIN}, {.fd = fds[1], .events = POLLIN}};
    char line[LINE_BYTES];
    int arrived = 0;

    while (poll(waits, 2, PATIENCE_MS) > 0) {
        for (int i = 0; i < 2; i++) {
            ssize_t got = waits[i].revents != 0 ? read(waits[i].fd, line, sizeof(line) - 1) : 1;

            if (waits[i].revents == 0)
                continue;
            if (got <= 0)
                return;
            line[got] = '\0';
            if (strncmp(line, "cmd=barrier_in", 14) != 0)
                answer(waits[i].fd, line);
            else if (++arrived % 2 == 0)
                for (int j = 0; j < 2; j++)
                    answer(fds[j], "barrier");
        }
    }
}

/* ---- The processes ---- */

/* Says at the port of the peer that it is this rank, with a token of these bytes, and stays. */
static int be_a_stranger(struct pmi1_client *pmi, uint32_t rank, int token)
{
    unsigned char hello[PAIR_TOKEN_BYTES + sizeof(rank)];
    char value[PMI1_CLIENT_VALUE_BYTES];
    struct sockaddr_storage system;
    struct address address;
    socklen_t bytes;
    int fd;

    if (pair_network_find(pmi, 1, value, NULL) < 0)
        return -1;
    value[strcspn(value, ",")] = '\0';
    if (address_parse(value, &address, NULL) < 0 ||
        address_to_system(&address, &system, &bytes) < 0)
        return -1;
    fd = socket(system.ss_family, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&system, bytes) < 0)
        return -1;
    memset(hello, token, PAIR_TOKEN_BYTES);
    memcpy(hello + PAIR_TOKEN_BYTES, &rank, sizeof(rank));
    return send(fd, hello, sizeof(hello), MSG_NOSIGNAL) > 0 ? fd : -1;
}

/* Rank 0 leads; how many steps went well. */
static int exchange(struct pair_network *network, uint32_t rank)
{
    const struct pair_network_ops *ops = network->ops;
    uint64_t there = rank == 0 ? 8 : LARGE_BYTES;
    int well = 0;

    for (int round = 0; round < 2; round++) {
        if (ops->meet(network, 1 - rank, rank == 0, NULL) < 0)
            return well;
        if (rank == 1)
            well += ops->receive(network, 8) == 0;
        well += ops->send(network, there) == 0;
        if (rank == 0)
            well += ops->receive(network, LARGE_BYTES) == 0;
        ops->part(network);
        if (pmi1_client_barrier(network->pmi, NULL) < 0)
            return -1;
    }
    return well;
}

/* With a provider, or over TCP with NULL; 4 if all went well. */
static int take_part(int fd, uint32_t rank, const char *provider)
{
    struct pmi1_client pmi = {.fd = fd, .rank = rank, .size = 2, .space = "k"};
    struct error error = ERROR_NONE;
    struct pair_network *network = provider == NULL ? pair_network_tcp(&pmi, &error)
                                                    : pair_network_ofi(&pmi, provider, &error);
    int strangers[2] = {0, 0}, well = -1;

    if (network == NULL) {
        diag("%s", error.text);
        return -1;
    }
    memset(network->token, TOKEN, sizeof(network->token));
    if (pmi1_client_barrier(&pmi, NULL) == 0) {
        if (provider == NULL && rank == 0) {
            strangers[0] = be_a_stranger(&pmi, 0, TOKEN + 1);
            strangers[1] = be_a_stranger(&pmi, 2, TOKEN);
        }
        well = strangers[0] < 0 || strangers[1] < 0 ? -1 : exchange(network, rank);
    }
    for (int i = 0; i < 2; i++)
        if (strangers[i] > 0)
            close(strangers[i]);
    network->ops->destroy(network);
    return well;
}

/* Returns the server's end of its connection.  other: that of the first, or -1. */
static int start(int other, uint32_t rank, const char *provider, pid_t *ret_pid)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        bail_out("no socket pair: %s", strerror(errno));
    *ret_pid = fork();
    if (*ret_pid == 0) {
        close(ends[0]);
        if (other >= 0)
            close(other);
        _exit(take_part(ends[1], rank, provider) & 0xff);
    }
    close(ends[1]);
    return ends[0];
}

static void test_exchange(const char *provider, const char *name)
{
    int fds[2], status = -1;
    pid_t pids[2];

    memset(values, 0, sizeof(values));
    fds[0] = start(-1, 0, provider, &pids[0]);
    fds[1] = start(fds[0], 1, provider, &pids[1]);
    serve(fds);
    close(fds[0]);
    close(fds[1]);
    for (int i = 0; i < 2; i++) {
        waitpid(pids[i], &status, 0);
        is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 4, "%s: all that process %d has done",
               name, i);
    }
}

static void test_digits(void)
{
    static const unsigned char data[] = {0, 1, 0xab, 0xff};
    unsigned char again[4];
    char text[9];

    pair_network_print(data, 4, text);
    is_string(text, "0001abff", "bytes as digits");
    is_int(pair_network_parse(text, again, 4), 0, "are read");
    ok(memcmp(data, again, 4) == 0, "as the same");
    is_int(pair_network_parse("0001abff", again, 3), -EPROTO, "too many");
    is_int(pair_network_parse("0001", again, 4), -EPROTO, "too few");
    is_int(pair_network_parse("0001xyff", again, 4), -EPROTO, "no digits");
}

int main(void)
{
    struct error error = ERROR_NONE;

    signal(SIGPIPE, SIG_IGN);
    setenv("MPICH_INTERFACE_HOSTNAME", "127.0.0.1", 1);
    test_digits();
    test_exchange(NULL, "TCP");
    if (plugin_fabric_ofi(&error) != NULL)
        test_exchange("tcp;ofi_rxm", "libfabric");
    else
        skip(2, "%s", error.text);
    return done_testing();
}
