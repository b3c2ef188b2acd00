/* SPDX-License-Identifier: BSD-3-Clause */
/* What `banyan bench` is to measure: launch/cli/verb/bench_plan.c. */
#include "config.h"

#include "launch/cli/verb/bench_plan.h"

#include <stdlib.h>
#include <string.h>

#include "launch/cli/verb/bench_jobs.h"
#include "test/support/tap.h"

static struct buffer plan_text;

/* "operation bytes" of each, or the error. */
static const char *made(const char *operations, const char *sizes)
{
    struct bench_settings settings = {
        .operations = {.items = &operations, .count = operations != NULL},
        .sizes = {.items = &sizes, .count = sizes != NULL},
        .warm_up = UINT32_MAX};
    struct bench_request *requests = NULL;
    struct error error = ERROR_NONE;
    uint32_t count = 0;

    buffer_clear(&plan_text);
    if (bench_plan_make(&settings, &requests, &count, &error) < 0)
        buffer_append_string(&plan_text, error.text);
    for (uint32_t i = 0; i < count; i++)
        buffer_printf(&plan_text, "%s%s %u", i > 0 ? ", " : "",
                      requests[i].operation < BENCH_OPERATION_COUNT
                          ? bench_operation_name((enum bench_operation)requests[i].operation)
                          : bench_jobs_name(requests[i].operation),
                      requests[i].size_bytes);
    free(requests);
    return buffer_string(&plan_text);
}

/* The sizes of fences, for PMIx clients, or the error. */
static const char *made_for_clients(const char *sizes)
{
    struct bench_settings settings = {
        .sizes = {.items = &sizes, .count = sizes != NULL}, .client = 1, .warm_up = 3, .repeat = 4};
    struct bench_request *requests = NULL;
    struct error error = ERROR_NONE;
    uint32_t count = 0;

    buffer_clear(&plan_text);
    if (bench_plan_make(&settings, &requests, &count, &error) < 0)
        buffer_append_string(&plan_text, error.text);
    for (uint32_t i = 0; i < count; i++) {
        ok(requests[i].operation == BENCH_EXCHANGE && requests[i].warm_up == 3 &&
               requests[i].repeat == 4,
           "an exchange of ranks");
        buffer_printf(&plan_text, "%s%u", i > 0 ? " " : "", requests[i].size_bytes);
    }
    free(requests);
    return buffer_string(&plan_text);
}

static void test_clients(void)
{
    is_string(made_for_clients(NULL), "0 8 1024 65536", "sizes of fences");
    is_string(made_for_clients("64,0,64,8..32"), "0 8 16 32 64", "the least first, and each once");
    is_string(made_for_clients("1M"), "1048576", "up to the largest");
    is_string(made_for_clients("2M"),
              "option --size: must with --client be a list of sizes up to 1M, or of FIRST..LAST, "
              "not '2M'",
              "too large for PMIx");
}

static void refuses(const char *operations, const char *sizes, const char *why, const char *name)
{
    ok(strncmp(made(operations, sizes), why, strlen(why)) == 0, "%s", name);
}

int main(void)
{
    is_string(made("gather", "0,8"), "gather 0, gather 8", "sizes");
    is_string(made("barrier,links", "1k,1M"), "barrier 0, links 1024, links 1048576",
              "a barrier has none; units");
    is_string(made("exchange", "3..13"), "exchange 3, exchange 6, exchange 12", "doubles");
    is_string(made("exchange", "32M..64M"), "exchange 33554432, exchange 67108864",
              "up to the largest");
    is_string(made("launch,io", "8,16"), "launch 0, io 8, io 16", "jobs");
    is_string(made("pairs,io", "1,16"), "pairs_latency 8, pairs 1, pairs 16, io 1, io 16",
              "pairs begin with their latency");
    refuses("gather,pairs", "0,8", "option --size: pairs cannot transfer 0 bytes", "nothing");
    refuses("pairs_latency", NULL, "option --operation: 'pairs_latency' is not one of ",
            "which has no name of its own");
    is_string(made("barrier", NULL), "barrier 0", "defaults");
    is_string(made(NULL, "8"), "barrier 0, broadcast 8, gather 8, exchange 8, links 8",
              "all operations");
    is_string(made("scatter", NULL),
              "option --operation: 'scatter' is not one of barrier,broadcast,gather,exchange,links,"
              "launch,io,pairs",
              "there is no such operation");
    is_string(made("gather,", NULL),
              "option --operation: '' is not one of barrier,broadcast,gather,exchange,links,"
              "launch,io,pairs",
              "nor none");
    refuses(NULL, "65M",
            "option --size: must be a list of sizes up to 64M, or of FIRST..LAST, not '",
            "too large");
    refuses(NULL, "8,",
            "option --size: must be a list of sizes up to 64M, or of FIRST..LAST, not '",
            "a size is missing");
    refuses(NULL, "-1",
            "option --size: must be a list of sizes up to 64M, or of FIRST..LAST, not '",
            "negative");
    refuses(NULL, "8..4",
            "option --size: must be a list of sizes up to 64M, or of FIRST..LAST, not '",
            "not upwards");
    refuses(NULL, "0..8",
            "option --size: must be a list of sizes up to 64M, or of FIRST..LAST, not '",
            "nothing cannot be doubled");
    refuses(NULL, "1KB",
            "option --size: must be a list of sizes up to 64M, or of FIRST..LAST, not '",
            "no other units");
    test_clients();
    buffer_fini(&plan_text);
    return done_testing();
}
