/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/pair_worker.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fabric/loop.h"
#include "launch/exec/pair_network.h"
#include "launch/exec/pair_rounds.h"
#include "launch/exec/pmi1_client.h"
#include "launch/proto/exit_status.h"

#define TOKEN_KEY "pair-token"

struct worker {
    struct pmi1_client pmi;
    struct pair_network *network;
    uint64_t bytes;
    uint32_t repeats;
    struct error error;
};

/* Of one pair, in ns. */
struct measured {
    uint64_t latency;
    uint64_t there;
    uint64_t back;
};

/* ---- Measuring ---- */

static int send_bytes(struct worker *worker, uint64_t bytes)
{
    return worker->network->ops->send(worker->network, bytes);
}

static int receive_bytes(struct worker *worker, uint64_t bytes)
{
    return worker->network->ops->receive(worker->network, bytes);
}

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

static int lead(struct worker *worker, struct measured *measured)
{
    uint64_t trip = UINT64_MAX;
    int rc = 0;

    *measured = (struct measured){.there = UINT64_MAX, .back = UINT64_MAX};
    for (uint32_t i = 0; i < PAIR_WORKER_WARM_UPS + worker->repeats && rc == 0; i++) {
        uint64_t start = loop_now_ns();

        rc = send_bytes(worker, PAIR_WORKER_SMALL_BYTES);
        if (rc == 0)
            rc = receive_bytes(worker, PAIR_WORKER_SMALL_BYTES);
        if (i >= PAIR_WORKER_WARM_UPS)
            keep_shortest(&trip, loop_now_ns() - start);
    }
    for (uint32_t i = 0; i < transfers(worker) && rc == 0; i++) {
        uint64_t start = loop_now_ns();

        rc = send_bytes(worker, worker->bytes);
        if (rc == 0)
            rc = receive_bytes(worker, PAIR_WORKER_SMALL_BYTES);
        keep_shortest(&measured->there, loop_now_ns() - start);
    }
    for (uint32_t i = 0; i < transfers(worker) && rc == 0; i++) {
        uint64_t start = loop_now_ns();

        rc = send_bytes(worker, PAIR_WORKER_SMALL_BYTES);
        if (rc == 0)
            rc = receive_bytes(worker, worker->bytes);
        keep_shortest(&measured->back, loop_now_ns() - start);
    }
    if (rc == 0)
        trips_to_ways(trip, measured);
    return rc;
}

static int follow(struct worker *worker)
{
    int rc = 0;

    for (uint32_t i = 0; i < PAIR_WORKER_WARM_UPS + worker->repeats && rc == 0; i++) {
        rc = receive_bytes(worker, PAIR_WORKER_SMALL_BYTES);
        if (rc == 0)
            rc = send_bytes(worker, PAIR_WORKER_SMALL_BYTES);
    }
    for (uint32_t i = 0; i < transfers(worker) && rc == 0; i++) {
        rc = receive_bytes(worker, worker->bytes);
        if (rc == 0)
            rc = send_bytes(worker, PAIR_WORKER_SMALL_BYTES);
    }
    for (uint32_t i = 0; i < transfers(worker) && rc == 0; i++) {
        rc = receive_bytes(worker, PAIR_WORKER_SMALL_BYTES);
        if (rc == 0)
            rc = send_bytes(worker, worker->bytes);
    }
    return rc;
}

static int meet(struct worker *worker, uint32_t peer)
{
    uint32_t rank = worker->pmi.rank;
    struct measured measured = {.latency = 0};
    int leads = rank < peer;
    int rc = worker->network->ops->meet(worker->network, peer, leads, &worker->error);

    if (rc == 0) {
        rc = leads ? lead(worker, &measured) : follow(worker);
        worker->network->ops->part(worker->network);
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

static int share_token(struct worker *worker)
{
    char text[2 * PAIR_TOKEN_BYTES + 1], value[PMI1_CLIENT_VALUE_BYTES];
    unsigned char *token = worker->network->token;
    int rc = 0;

    if (worker->pmi.rank == 0) {
        if (getrandom(token, PAIR_TOKEN_BYTES, 0) != PAIR_TOKEN_BYTES)
            return error_set(&worker->error, -EIO, "the system has no random numbers");
        pair_network_print(token, PAIR_TOKEN_BYTES, text);
        rc = pmi1_client_put(&worker->pmi, TOKEN_KEY, text, &worker->error);
    }
    if (rc == 0)
        rc = pmi1_client_barrier(&worker->pmi, &worker->error);
    if (rc == 0)
        rc = pmi1_client_get(&worker->pmi, TOKEN_KEY, value, &worker->error);
    if (rc == 0 && pair_network_parse(value, token, PAIR_TOKEN_BYTES) < 0)
        rc = error_set(&worker->error, -EPROTO, "PMI-1: a wrong token");
    return rc;
}

/* provider: NULL for TCP, else libfabric's provider, or "" for the first. */
static int open_network(struct worker *worker, const char *provider)
{
    int rc = pmi1_client_init(&worker->pmi, &worker->error);

    if (rc < 0)
        return rc;
    worker->network = provider == NULL ? pair_network_tcp(&worker->pmi, &worker->error)
                                       : pair_network_ofi(&worker->pmi, provider, &worker->error);
    return worker->network != NULL ? share_token(worker) : worker->error.code;
}

static int measure_all(struct worker *worker, const char *provider)
{
    const char *node = getenv("BANYAN_NODE");
    uint32_t size, rounds;
    int rc = open_network(worker, provider);

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
    struct worker worker = {.network = NULL, .error = ERROR_NONE};

    if (argc == 2 || argc == 3) {
        worker.bytes = parse_number(argv[0], PAIR_WORKER_BYTES_MAX);
        worker.repeats = (uint32_t)parse_number(argv[1], PAIR_WORKER_REPEATS_MAX);
    }
    if (worker.bytes == 0 || worker.repeats == 0) {
        fprintf(stderr, "banyan: %s needs bytes and repetitions\n", PAIR_WORKER_WORD);
        return EXIT_STATUS_FAILED;
    }
    signal(SIGPIPE, SIG_IGN);
    if (measure_all(&worker, argc == 3 ? argv[2] : NULL) < 0)
        fprintf(stderr, "banyan: %s\n", worker.error.text);
    if (worker.network != NULL)
        worker.network->ops->destroy(worker.network);
    return worker.error.code < 0 ? EXIT_STATUS_FAILED : EXIT_SUCCESS;
}
