/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries of processes, launch/rank/rank_pmi_query.c: which places are asked, and what is made of their answers.
 * The test is the other daemons, and the speaker that asks.  It is at place 1 of 2, and ranks 0 and 1 of job 7 are
 * there.
 */
#include "config.h"

#include "launch/rank/rank_pmi_internal.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/pmi_query.h"

static struct buffer calls;
static struct allocation allocation;
static struct job_local job = {.number = 7};
static struct rank_pmi rank_pmi;
static struct speaker speaker = {.rank_pmi = &rank_pmi, .kind = SPEAKER_PMIX};

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

/* ---- Others ---- */

static rank_pmi_answered *answered;
static void *answered_context;

void rank_pmi_ask(struct rank_pmi *services, uint32_t place, struct message *message,
                  rank_pmi_answered *function, void *context)
{
    buffer_printf(&calls, "ask %u by %u\n", place, message->data[0]);
    answered = function;
    answered_context = context;
    message_release(message);
}

static void node_answers(int status, const char *text)
{
    answered(&rank_pmi, answered_context, status, text, strlen(text));
}

void rank_pmi_answer(const struct speaker *asker, uint64_t id, int status, const void *data,
                     size_t data_bytes)
{
    buffer_printf(&calls, "done %u %d '%.*s'\n", (unsigned int)id, status, (int)data_bytes,
                  data_bytes > 0 ? (const char *)data : "");
}

static int own_answer(void *context, const void *data, size_t bytes, struct buffer *answer)
{
    buffer_printf(&calls, "ask here\n");
    buffer_append_string(answer, "own");
    return 0;
}

/* ---- What is asked ---- */

static void ask(uint32_t id, enum pmi_query_kind kind, uint32_t number, uint32_t rank, int is_local)
{
    struct pmi_query query = {.kind = kind, .job = number, .rank = rank, .is_local = is_local != 0};
    struct pmi_request request = {.id = id, .kind = PMI_REQUEST_QUERY, .caller = {7, 1}};
    struct buffer text = {0};

    ranges_add(&query.places, 0, 40); /* of which there are 3, and 0 has no ranks */
    pmi_query_encode(&query, &text);
    pmi_query_fini(&query);
    request.data = text.data;
    request.data_bytes = text.length_bytes;
    rank_pmi_query(&speaker, &request);
    buffer_fini(&text);
}

static void test_places(void)
{
    struct pmi_request garbage = {.id = 9, .kind = PMI_REQUEST_QUERY, .data = "x", .data_bytes = 1};

    ask(1, PMI_QUERY_JOBS, 0, 0, 0);
    heard("ask 0 by 21\n", "the root is asked for the jobs");
    node_answers(0, "jobs");
    heard("done 1 0 'jobs'\n", "and its answer passed on");
    ask(2, PMI_QUERY_PROCESSES, 8, PMI_RANK_ALL, 0);
    heard("ask here\nask 2 by 21\n", "all nodes of another job are asked for its processes");
    node_answers(0, "two");
    heard("done 2 0 'owntwo'\n", "and their answers put together");
    ask(3, PMI_QUERY_PROCESSES, 7, 3, 0);
    heard("ask 2 by 21\n", "the node of one rank is known");
    node_answers(0, "two");
    heard("done 3 0 'two'\n", "and it alone answers");
    ask(4, PMI_QUERY_PROCESSES, 7, 3, 1);
    heard("ask here\ndone 4 0 'own'\n", "of the own node only that is asked");
    rank_pmi_query(&speaker, &garbage);
    heard("done 9 -74 ''\n", "garbage is refused");
}

static void test_losses(void)
{
    ask(1, PMI_QUERY_PROCESSES, 7, 3, 0);
    buffer_clear(&calls);
    node_answers(-EHOSTDOWN, "");
    heard("done 1 -112 ''\n", "if the node is lost there is no answer");
    ask(2, PMI_QUERY_PROCESSES, 8, PMI_RANK_ALL, 0);
    buffer_clear(&calls);
    node_answers(-EHOSTDOWN, "");
    heard("done 2 0 'own'\n", "unless another node has one");
    ask(3, PMI_QUERY_PROCESSES, 8, PMI_RANK_ALL, 0);
    buffer_clear(&calls);
    node_answers(-ECANCELED, "");
    heard("", "if the job of the one who asks is closed nobody is answered");
}

int main(void)
{
    struct placement_rule rule = {.processes = 4};
    struct error error = ERROR_NONE;

    allocation_init(&allocation);
    allocation_generate(&allocation, "n", 2, 2);
    placement_add(&job.spec.placement, &rule);
    if (placement_map_make(&job.map, &job.spec.placement, &allocation, &error) < 0)
        bail_out("%s", error.text);
    rank_pmi.config = (struct rank_pmi_config){.job = &job, .allocation = &allocation, .place = 1};
    rank_pmi.events = (struct rank_pmi_events){.query = own_answer};
    test_places();
    test_losses();
    placement_map_fini(&job.map);
    job_spec_fini(&job.spec);
    allocation_fini(&allocation);
    buffer_fini(&calls);
    return done_testing();
}
