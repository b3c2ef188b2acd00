/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_plan.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "launch/cli/verb/bench_client.h"
#include "launch/cli/verb/bench_jobs.h"
#include "launch/cli/verb/bench_numbers.h"
#include "launch/exec/pair_worker.h"

#define OPERATIONS_DEFAULT "barrier,broadcast,gather,exchange,links"
#define EXCHANGES          "exchange" /* what plans are compared with, and a fence of PMIx clients is */
#define SIZES_DEFAULT      "8,1K,64K"
#define SIZES_CLIENT       "0,8,1K,64K"
#define OPERATIONS         OPERATIONS_DEFAULT ",launch,io,pairs"
#define REPEAT_DEFAULT     200u
#define WARM_UP_DEFAULT    20u
#define JOBS_DEFAULT       20u /* each is a process of banyan run */
#define JOBS_WARM_UP       2u
#define NODES_DEFAULT      "0" /* all */
#define NODES_MAX          (16u * 1024 * 1024)

static bool find_operation(const char *word, size_t word_bytes, uint8_t *ret_operation)
{
    enum bench_operation operation;

    if (bench_operation_find(word, word_bytes, &operation)) {
        *ret_operation = (uint8_t)operation;
        return true;
    }
    for (uint8_t job = BENCH_JOB_LAUNCH; job <= BENCH_JOB_PAIRS; job++) {
        const char *name = bench_jobs_name(job);

        if (strlen(name) == word_bytes && memcmp(name, word, word_bytes) == 0) {
            *ret_operation = job;
            return true;
        }
    }
    return false;
}

static struct bench_request request_of(const struct bench_settings *settings, uint8_t operation,
                                       uint32_t size_bytes, uint32_t nodes)
{
    bool is_job = operation >= BENCH_OPERATION_COUNT;
    bool is_pairs = operation == BENCH_JOB_PAIRS || operation == BENCH_JOB_PAIRS_LATENCY;
    struct bench_request request = {
        .operation = operation, .nodes = nodes, .size_bytes = size_bytes};

    assert(operation < BENCH_JOB_END);
    request.warm_up = is_job ? JOBS_WARM_UP : WARM_UP_DEFAULT;
    if (is_pairs)
        request.warm_up = PAIR_WORKER_WARM_UPS;
    else if (settings->warm_up != UINT32_MAX)
        request.warm_up = settings->warm_up;
    request.repeat = is_job ? JOBS_DEFAULT : REPEAT_DEFAULT;
    if (settings->repeat > 0)
        request.repeat = settings->repeat;
    return request;
}

/* A barrier has no size, nor has the start of a job; the latency of pairs is that of small messages. */
static void add_requests(const struct bench_settings *settings, uint8_t operation,
                         const struct bench_numbers *sizes, uint32_t nodes,
                         struct bench_request **requests, uint32_t *count)
{
    bool is_sized = operation != BENCH_BARRIER && operation != BENCH_JOB_LAUNCH;
    uint32_t of_this = is_sized ? sizes->count : 1;

    *requests = memory_resize(*requests, (*count + of_this + 1) * sizeof(**requests));
    if (operation == BENCH_JOB_PAIRS)
        (*requests)[(*count)++] =
            request_of(settings, BENCH_JOB_PAIRS_LATENCY, PAIR_WORKER_SMALL_BYTES, nodes);
    for (uint32_t i = 0; i < of_this; i++)
        (*requests)[(*count)++] =
            request_of(settings, operation, is_sized ? sizes->items[i] : 0, nodes);
}

/* What can be measured of pairs: something, between two. */
static int check_pairs(const struct bench_numbers *sizes, const struct bench_numbers *nodes,
                       struct error *error)
{
    for (uint32_t i = 0; i < sizes->count; i++) {
        if (sizes->items[i] == 0)
            return error_set(error, -EINVAL,
                             "option --size: pairs cannot transfer 0 bytes; begin with 1");
    }
    for (uint32_t i = 0; i < nodes->count; i++) {
        if (nodes->items[i] == 1)
            return error_set(error, -EINVAL,
                             "option --node-counts: there are no pairs of 1 node; begin with 2");
    }
    return 0;
}

static int parse_list(const struct option_list *list, const char *other, uint32_t maximum,
                      struct bench_numbers *ret_sizes, const char *what, struct error *error)
{
    char *text = options_list_join(list, ",");
    int rc;

    rc = bench_numbers_parse(text != NULL ? text : other, maximum, ret_sizes);
    if (rc < 0)
        error_set(error, rc, "option %s, or of FIRST..LAST, not '%.80s'", what, text);
    free(text);
    return rc;
}

/* 0 does not mean all here. */
static int parse_places(const struct option_list *list, struct bench_numbers *ret_places,
                        struct error *error)
{
    int rc = parse_list(list, NODES_DEFAULT, NODES_MAX, ret_places,
                        "--simulate: must be a list of numbers of places", error);

    for (uint32_t i = 0; rc == 0 && i < ret_places->count; i++)
        if (ret_places->items[i] == 0)
            rc = error_set(error, -EINVAL, "option --simulate: there is no tree of 0 places");
    return rc;
}

static int parse_lists(const struct bench_settings *settings, struct bench_numbers *ret_sizes,
                       struct bench_numbers *ret_nodes, struct error *error)
{
    bool is_client = settings->client > 0;
    int rc = parse_list(&settings->sizes, is_client ? SIZES_CLIENT : SIZES_DEFAULT,
                        is_client ? BENCH_CLIENT_SIZE_MAX : BENCH_SIZE_MAX, ret_sizes,
                        is_client ? "--size: must with --client be a list of sizes up to 1M"
                                  : "--size: must be a list of sizes up to 64M",
                        error);

    /* What a PMIx client has put stays, and is part of all fences to come. */
    if (rc == 0 && is_client)
        bench_numbers_sort(ret_sizes);
    if (rc == 0 && settings->simulate.count > 0)
        return parse_places(&settings->simulate, ret_nodes, error);
    return rc < 0 ? rc
                  : parse_list(&settings->nodes, NODES_DEFAULT, NODES_MAX, ret_nodes,
                               "--node-counts: must be a list of numbers of nodes", error);
}

static const char *default_operations(const struct bench_settings *settings, const char *operations)
{
    if (settings->simulate.count > 0 || settings->client > 0 ||
        (operations == NULL && settings->collectives.count > 0))
        return EXCHANGES;
    return operations != NULL ? operations : OPERATIONS_DEFAULT;
}

int bench_plan_make(const struct bench_settings *settings, struct bench_request **ret_requests,
                    uint32_t *ret_count, struct error *error)
{
    uint32_t plans = settings->simulate.count > 0 ? 0 : settings->collectives.count;
    char *operations = options_list_join(&settings->operations, ",");
    const char *word = default_operations(settings, operations);
    struct bench_request *requests = NULL;
    struct bench_numbers sizes, nodes;
    uint32_t count = 0;
    int rc = parse_lists(settings, &sizes, &nodes, error);

    while (rc == 0) {
        size_t word_bytes = strcspn(word, ",");
        uint8_t operation;

        if (!find_operation(word, word_bytes, &operation)) {
            rc = error_set(error, -EINVAL, "option --operation: '%.*s' is not one of " OPERATIONS,
                           word_bytes > 80 ? 80 : (int)word_bytes, word);
            break;
        }
        if (operation == BENCH_JOB_PAIRS)
            rc = check_pairs(&sizes, &nodes, error);
        for (uint32_t i = 0; i < nodes.count; i++)
            add_requests(settings, operation, &sizes, nodes.items[i], &requests, &count);
        word += word_bytes;
        if (*word++ == '\0')
            break;
    }
    for (uint32_t i = 0; rc == 0 && i < plans * nodes.count; i++)
        add_requests(settings, BENCH_PLAN, &sizes, nodes.items[i % nodes.count], &requests, &count);
    free(operations);
    if (rc < 0) {
        free(requests);
        return rc;
    }
    *ret_requests = requests;
    *ret_count = count;
    return 0;
}
