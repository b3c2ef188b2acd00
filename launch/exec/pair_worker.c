/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/pair_worker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/time.h"
#include "fabric/address.h"
#include "launch/exec/pair_rounds.h"
#include "launch/exec/pmi1_client.h"
#include "launch/proto/exit_status.h"

#define BUFFER_BYTES (256u * 1024)
#define PATIENCE_S   60 /* for a peer that does not answer */
#define STRANGER_S   1  /* for who has connected to say who it is */
#define CONNECT_MS   10000
#define TOKEN_BYTES  16
#define TOKEN_KEY    "pair-token"

/* What the process that connects says first. */
struct hello {
    unsigned char token[TOKEN_BYTES];
    uint32_t rank;
};

struct worker {
    struct pmi1_client pmi;
    uint64_t bytes;
    uint32_t repeats;
    int listener;
    unsigned char token[TOKEN_BYTES];
    unsigned char *buffer; /* BUFFER_BYTES */
    struct error error;
};

/* Of one pair, in ns. */
struct measured {
    uint64_t latency;
    uint64_t there;
    uint64_t back;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- Bytes ---- */

/* Sends, or receives, that many; of larger numbers the content does not matter. */
static int move(int fd, void *data, size_t data_bytes, uint64_t bytes, int is_sent)
{
    while (bytes > 0) {
        size_t part = bytes < data_bytes ? (size_t)bytes : data_bytes;
        ssize_t moved = is_sent ? send(fd, data, part, MSG_NOSIGNAL) : recv(fd, data, part, 0);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return moved < 0 ? (errno == EAGAIN ? -ETIMEDOUT : -errno) : -EPIPE;
        bytes -= (uint64_t)moved;
    }
    return 0;
}

static int send_small(int fd)
{
    unsigned char small[PAIR_WORKER_SMALL_BYTES] = {0};

    return move(fd, small, sizeof(small), sizeof(small), 1);
}

static int receive_small(int fd)
{
    unsigned char small[PAIR_WORKER_SMALL_BYTES];

    return move(fd, small, sizeof(small), sizeof(small), 0);
}

/* ---- Connections ---- */

static void set_options(int fd, time_t patience_s)
{
    const struct timeval patience = {.tv_sec = patience_s};
    int one = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* In time, or -ETIMEDOUT. */
static int connect_to(const struct address *address)
{
    struct sockaddr_storage system;
    socklen_t bytes, code_bytes = sizeof(int);
    struct pollfd wait = {.events = POLLOUT};
    int code = 0;

    if (address_to_system(address, &system, &bytes) < 0)
        return -EINVAL;
    wait.fd = socket(system.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (wait.fd < 0)
        return -errno;
    if (connect(wait.fd, (struct sockaddr *)&system, bytes) < 0) {
        code = errno;
        if (code == EINPROGRESS) {
            code = poll(&wait, 1, CONNECT_MS) == 1 ? 0 : ETIMEDOUT;
            if (code == 0 && getsockopt(wait.fd, SOL_SOCKET, SO_ERROR, &code, &code_bytes) < 0)
                code = errno;
        }
    }
    if (code != 0) {
        close(wait.fd);
        return -code;
    }
    return wait.fd;
}

/* At the first of its addresses that works. */
static int connect_peer(struct worker *worker, uint32_t peer)
{
    char key[32], value[PMI1_CLIENT_VALUE_BYTES];
    struct hello hello = {.rank = worker->pmi.rank};
    int fd = -ENOENT;

    snprintf(key, sizeof(key), "pair-%u", peer);
    if (pmi1_client_get(&worker->pmi, key, value, &worker->error) < 0)
        return worker->error.code;
    for (char *text = strtok(value, ","); text != NULL && fd < 0; text = strtok(NULL, ",")) {
        struct address address;

        if (address_parse(text, &address, NULL) == 0)
            fd = connect_to(&address);
    }
    if (fd < 0)
        return fd;
    (void)fcntl(fd, F_SETFL, 0); /* it was only to connect in time */
    set_options(fd, PATIENCE_S);
    memcpy(hello.token, worker->token, sizeof(hello.token));
    (void)move(fd, &hello, sizeof(hello), sizeof(hello), 1);
    return fd;
}

/* Strangers are left alone. */
static int accept_peer(struct worker *worker, uint32_t peer)
{
    struct pollfd wait = {.fd = worker->listener, .events = POLLIN};
    uint64_t end_ns = now_ns() + PATIENCE_S * NS_PER_S;

    for (uint64_t now; (now = now_ns()) < end_ns;) {
        struct hello hello;
        int fd;

        if (poll(&wait, 1, (int)((end_ns - now) / NS_PER_MS) + 1) <= 0)
            continue;
        fd = accept4(worker->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        set_options(fd, STRANGER_S);
        if (recv(fd, &hello, sizeof(hello), MSG_WAITALL) == (ssize_t)sizeof(hello) &&
            hello.rank == peer && memcmp(hello.token, worker->token, sizeof(hello.token)) == 0) {
            set_options(fd, PATIENCE_S);
            return fd;
        }
        close(fd);
    }
    return -ETIMEDOUT;
}

/* ---- Measuring ---- */

static uint32_t transfers(const struct worker *worker)
{
    return worker->repeats < PAIR_WORKER_TRANSFERS_MAX ? worker->repeats
                                                       : PAIR_WORKER_TRANSFERS_MAX;
}

uint64_t pair_worker_way_ns(uint64_t trip_ns, uint64_t back_ns)
{
    uint64_t half = trip_ns > 1 ? trip_ns / 2 : 1;

    return back_ns < half ? trip_ns - back_ns : half;
}

static void keep_shortest(uint64_t *shortest, uint64_t trip_ns)
{
    if (trip_ns < *shortest)
        *shortest = trip_ns;
}

/* From the shortest trips; one with a transfer takes no less than one of small messages, unless those were disturbed. */
static void trips_to_ways(uint64_t trip, struct measured *measured)
{
    keep_shortest(&trip, measured->there);
    keep_shortest(&trip, measured->back);
    measured->latency = trip / 2 > 0 ? trip / 2 : 1;
    measured->there = pair_worker_way_ns(measured->there, measured->latency);
    measured->back = pair_worker_way_ns(measured->back, measured->latency);
}

static int lead(struct worker *worker, int fd, struct measured *measured)
{
    uint64_t trip = UINT64_MAX;
    int rc = 0;

    *measured = (struct measured){.there = UINT64_MAX, .back = UINT64_MAX};
    for (uint32_t i = 0; i < PAIR_WORKER_WARM_UPS + worker->repeats && rc == 0; i++) {
        uint64_t start = now_ns();

        rc = send_small(fd);
        if (rc == 0)
            rc = receive_small(fd);
        if (i >= PAIR_WORKER_WARM_UPS)
            keep_shortest(&trip, now_ns() - start);
    }
    for (uint32_t i = 0; i < transfers(worker) && rc == 0; i++) {
        uint64_t start = now_ns();

        rc = move(fd, worker->buffer, BUFFER_BYTES, worker->bytes, 1);
        if (rc == 0)
            rc = receive_small(fd);
        keep_shortest(&measured->there, now_ns() - start);
    }
    for (uint32_t i = 0; i < transfers(worker) && rc == 0; i++) {
        uint64_t start = now_ns();

        rc = send_small(fd);
        if (rc == 0)
            rc = move(fd, worker->buffer, BUFFER_BYTES, worker->bytes, 0);
        keep_shortest(&measured->back, now_ns() - start);
    }
    if (rc == 0)
        trips_to_ways(trip, measured);
    return rc;
}

static int follow(struct worker *worker, int fd)
{
    int rc = 0;

    for (uint32_t i = 0; i < PAIR_WORKER_WARM_UPS + worker->repeats && rc == 0; i++) {
        rc = receive_small(fd);
        if (rc == 0)
            rc = send_small(fd);
    }
    for (uint32_t i = 0; i < transfers(worker) && rc == 0; i++) {
        rc = move(fd, worker->buffer, BUFFER_BYTES, worker->bytes, 0);
        if (rc == 0)
            rc = send_small(fd);
    }
    for (uint32_t i = 0; i < transfers(worker) && rc == 0; i++) {
        rc = receive_small(fd);
        if (rc == 0)
            rc = move(fd, worker->buffer, BUFFER_BYTES, worker->bytes, 1);
    }
    return rc;
}

static int meet(struct worker *worker, uint32_t peer)
{
    uint32_t rank = worker->pmi.rank;
    struct measured measured;
    int leads = rank < peer;
    int fd = leads ? connect_peer(worker, peer) : accept_peer(worker, peer);
    int rc = fd;

    if (fd >= 0) {
        rc = leads ? lead(worker, fd, &measured) : follow(worker, fd);
        close(fd);
    }
    if (rc < 0 && worker->error.code == 0)
        error_set(&worker->error, rc, "cannot measure the path to process %u: %s", peer,
                  strerror(-rc));
    if (rc < 0 || !leads)
        return rc;
    printf("%u %u %" PRIu64 " %" PRIu64 "\n%u %u %" PRIu64 " %" PRIu64 "\n", rank, peer,
           measured.latency, measured.there, peer, rank, measured.latency, measured.back);
    return 0;
}

/* ---- The life ---- */

/* The network that the daemons use, which banyan gives to MPI, or all of this machine. */
static void own_addresses(struct addresses *ret_addresses)
{
    const char *text = getenv("MPICH_INTERFACE_HOSTNAME");

    *ret_addresses = (struct addresses){.count = 0};
    if (text != NULL && address_parse_ip(text, &ret_addresses->items[0]) == 0)
        ret_addresses->count = 1;
    else
        (void)address_local(NULL, ret_addresses, NULL);
}

/* On all addresses; returns the port. */
static int open_listener(struct worker *worker)
{
    struct sockaddr_in6 own = {.sin6_family = AF_INET6};
    struct sockaddr_in own_v4 = {.sin_family = AF_INET};
    socklen_t bytes = sizeof(own);
    int zero = 0, is_v6 = 1;

    worker->listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (worker->listener < 0) {
        is_v6 = 0;
        worker->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    }
    if (worker->listener < 0)
        return -errno;
    if (is_v6)
        (void)setsockopt(worker->listener, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    if (bind(worker->listener, is_v6 ? (struct sockaddr *)&own : (struct sockaddr *)&own_v4,
             is_v6 ? sizeof(own) : sizeof(own_v4)) < 0 ||
        listen(worker->listener, SOMAXCONN) < 0 ||
        getsockname(worker->listener, (struct sockaddr *)&own, &bytes) < 0)
        return -errno;
    return ntohs(own.sin6_port); /* at the same offset in both forms */
}

static int publish(struct worker *worker)
{
    char key[32], value[PMI1_CLIENT_VALUE_BYTES] = "", text[ADDRESS_TEXT_BYTES];
    struct addresses own;
    size_t bytes = 0;
    int port = open_listener(worker);

    if (port < 0)
        return error_set(&worker->error, port, "cannot listen: %s", strerror(-port));
    own_addresses(&own);
    for (uint8_t i = 0; i < own.count; i++) {
        address_set_port(&own.items[i], (uint16_t)port);
        address_print(&own.items[i], text);
        if (bytes + strlen(text) + 2 > sizeof(value))
            break;
        bytes +=
            (size_t)snprintf(value + bytes, sizeof(value) - bytes, "%s%s", i > 0 ? "," : "", text);
    }
    snprintf(key, sizeof(key), "pair-%u", worker->pmi.rank);
    return pmi1_client_put(&worker->pmi, key, value, &worker->error);
}

static int share_token(struct worker *worker)
{
    char text[2 * TOKEN_BYTES + 1], value[PMI1_CLIENT_VALUE_BYTES];
    int rc = 0;

    if (worker->pmi.rank == 0) {
        if (getrandom(worker->token, sizeof(worker->token), 0) != sizeof(worker->token))
            return error_set(&worker->error, -EIO, "the system has no random numbers");
        for (size_t i = 0; i < TOKEN_BYTES; i++)
            snprintf(text + 2 * i, 3, "%02x", worker->token[i]);
        rc = pmi1_client_put(&worker->pmi, TOKEN_KEY, text, &worker->error);
    }
    if (rc == 0)
        rc = pmi1_client_barrier(&worker->pmi, &worker->error);
    if (rc == 0)
        rc = pmi1_client_get(&worker->pmi, TOKEN_KEY, value, &worker->error);
    for (size_t i = 0; rc == 0 && i < TOKEN_BYTES; i++) {
        if (sscanf(value + 2 * i, "%2hhx", &worker->token[i]) != 1)
            rc = error_set(&worker->error, -EPROTO, "PMI-1: a wrong token");
    }
    return rc;
}

static int measure_all(struct worker *worker)
{
    const char *node = getenv("BANYAN_NODE");
    uint32_t size, rounds;
    int rc = pmi1_client_init(&worker->pmi, &worker->error);

    if (rc == 0)
        rc = publish(worker);
    if (rc == 0)
        rc = share_token(worker);
    if (rc < 0)
        return rc;
    printf("node %u %s\n", worker->pmi.rank, node != NULL ? node : "-");
    size = worker->pmi.size;
    rounds = pair_rounds_count(size);
    for (uint32_t round = 0; round < rounds && rc == 0; round++) {
        uint32_t peer = pair_rounds_peer(size, round, worker->pmi.rank);

        if (peer != PAIR_NONE)
            rc = meet(worker, peer);
        if (rc == 0)
            rc = pmi1_client_barrier(&worker->pmi, &worker->error);
    }
    if (rc == 0 && fflush(stdout) != 0)
        rc = error_set(&worker->error, -errno, "cannot write: %s", strerror(errno));
    return rc == 0 ? pmi1_client_finalize(&worker->pmi, &worker->error) : rc;
}

/* 0: not a number, or out of bounds. */
static uint64_t parse_number(const char *text, uint64_t maximum)
{
    char *end = NULL;
    unsigned long long number = strtoull(text, &end, 10);

    return end != text && *end == '\0' && number <= maximum ? number : 0;
}

int pair_worker_run(int argc, char *const *argv)
{
    struct worker worker = {.listener = -1, .error = ERROR_NONE};

    if (argc == 2) {
        worker.bytes = parse_number(argv[0], PAIR_WORKER_BYTES_MAX);
        worker.repeats = (uint32_t)parse_number(argv[1], PAIR_WORKER_REPEATS_MAX);
    }
    if (worker.bytes == 0 || worker.repeats == 0) {
        fprintf(stderr, "banyan: %s needs bytes and repetitions\n", PAIR_WORKER_WORD);
        return EXIT_STATUS_FAILED;
    }
    signal(SIGPIPE, SIG_IGN);
    worker.buffer = memory_allocate_zeroed(BUFFER_BYTES);
    if (measure_all(&worker) < 0)
        fprintf(stderr, "banyan: %s\n", worker.error.text);
    if (worker.listener >= 0)
        close(worker.listener);
    free(worker.buffer);
    return worker.error.code < 0 ? EXIT_STATUS_FAILED : EXIT_SUCCESS;
}
