/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked about jobs and processes, and answered, on its way: pmix/pmi_query.c and pmix/pmi_query_wire.c. */
#include "config.h"

#include "pmix/pmi_query.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void test_question(void)
{
    struct pmi_query query = {.kind = PMI_QUERY_PROCESSES,
                              .is_local = 1,
                              .with_memory = 1,
                              .job = 7,
                              .rank = PMI_RANK_ALL};
    struct pmi_query taken = {0};
    struct buffer text = {0};

    ranges_add(&query.places, 1, 4);
    ranges_add(&query.places, 9, 9);
    pmi_query_encode(&query, &text);
    for (size_t bytes = 0; bytes < text.length_bytes; bytes++) {
        if (pmi_query_decode(&taken, text.data, bytes) != -EBADMSG)
            fail("%zu bytes of a question are taken for one", bytes);
    }
    is_int(pmi_query_decode(&taken, text.data, text.length_bytes), 0, "a question arrives");
    ok(taken.kind == PMI_QUERY_PROCESSES && taken.is_local == 1 && taken.with_memory == 1 &&
           taken.job == 7 && taken.rank == PMI_RANK_ALL &&
           ranges_equal(&taken.places, &query.places),
       "as it was asked");
    pmi_query_fini(&taken);
    text.data[0] = PMI_QUERY_KIND_COUNT;
    is_int(pmi_query_decode(&taken, text.data, text.length_bytes), -EBADMSG,
           "one of no known kind does not");
    pmi_query_fini(&query);
    buffer_fini(&text);
}

static void describe(struct pmi_instance_facts *facts, struct buffer *text)
{
    char program[] = "/bin/app", option[] = "-x", words[] = "a b", other[] = "other";
    char *first[] = {program, option, words, NULL}, *second[] = {other, NULL};
    struct pmi_job_facts *job;

    *facts = (struct pmi_instance_facts){
        .name = memory_copy_string("banyan-abc"), .nodes = 4, .slots = 16};
    job = pmi_instance_facts_add(facts, 3);
    job->phase = PMI_JOB_RUNNING;
    job->size = 6;
    ranges_add(&job->places, 2, 4);
    pmi_job_facts_add(job, 0, 4, first);
    pmi_job_facts_add(job, 4, 2, second);
    (void)pmi_instance_facts_add(facts, 5);
    pmi_instance_facts_encode(facts, text);
}

static void test_instance(void)
{
    struct pmi_instance_facts facts, taken = {0};
    const struct pmi_job_facts *job;
    struct buffer text = {0};

    describe(&facts, &text);
    for (size_t bytes = 0; bytes < text.length_bytes; bytes++) {
        if (pmi_instance_facts_decode(&taken, text.data, bytes) != -EBADMSG)
            fail("%zu bytes of an instance are taken for one", bytes);
    }
    is_int(pmi_instance_facts_decode(&taken, text.data, text.length_bytes), 0,
           "an instance arrives");
    ok(strcmp(taken.name, "banyan-abc") == 0 && taken.nodes == 4 && taken.slots == 16, "as it is");
    job = pmi_instance_facts_find(&taken, 3);
    ok(job != NULL && job->phase == PMI_JOB_RUNNING && job->size == 6 && job->apps_count == 2 &&
           ranges_count(&job->places) == 3,
       "with its job");
    is_string(job->apps[0].program, "/bin/app", "the program of its first application");
    is_string(job->apps[0].command, "/bin/app -x a b", "and its command line");
    is_uint(job->apps[1].first_rank, 4, "the second follows");
    job = pmi_instance_facts_find(&taken, 5);
    ok(job != NULL && job->phase == PMI_JOB_WAITING && job->size == 0, "and one that waits");
    ok(pmi_instance_facts_find(&taken, 4) == NULL, "and no other");
    pmi_instance_facts_fini(&taken);
    pmi_instance_facts_fini(&facts);
    buffer_fini(&text);
}

/* A count beyond what the message has room for costs no memory. */
static void test_counts(void)
{
    struct pmi_instance_facts taken = {0};
    struct buffer text = {0};

    wire_put_string(&text, "n");
    wire_put_varint(&text, 1);
    wire_put_varint(&text, 1);
    wire_put_varint(&text, 1ull << 31);
    is_int(pmi_instance_facts_decode(&taken, text.data, text.length_bytes), -EBADMSG,
           "more jobs than bytes are not taken");
    buffer_fini(&text);
}

static void test_long_command(void)
{
    char *long_word = memory_allocate(2 * PMI_QUERY_STRING_MAX), last[] = "x";
    char *argv[] = {long_word, last, NULL};
    struct pmi_instance_facts facts = {.name = memory_copy_string("n")}, taken = {0};
    struct buffer text = {0};

    memset(long_word, 'a', 2 * PMI_QUERY_STRING_MAX);
    long_word[2 * PMI_QUERY_STRING_MAX - 1] = 0;
    pmi_job_facts_add(pmi_instance_facts_add(&facts, 1), 0, 1, argv);
    pmi_instance_facts_encode(&facts, &text);
    is_int(pmi_instance_facts_decode(&taken, text.data, text.length_bytes), 0,
           "a command line that is too long arrives, cut off");
    is_uint(strlen(taken.jobs[0].apps[0].command), PMI_QUERY_STRING_MAX, "at its limit");
    pmi_instance_facts_fini(&taken);
    pmi_instance_facts_fini(&facts);
    buffer_fini(&text);
    free(long_word);
}

static void test_nodes(void)
{
    struct pmi_node_facts first = {.name = memory_copy_string("n1"), .daemon_kib = 4000};
    struct pmi_node_facts second = {.name = memory_copy_string("n2")}, taken = {0};
    struct buffer text = {0};
    struct wire_reader reader;

    for (uint32_t rank = 0; rank < 5; rank++)
        pmi_node_facts_add(&first, &(struct pmi_process_facts){.job = 3,
                                                               .rank = rank,
                                                               .pid = 100 + rank,
                                                               .state = PMI_PROCESS_KILLED,
                                                               .code = 9,
                                                               .memory_kib = 1ull << 40});
    pmi_node_facts_encode(&first, &text);
    pmi_node_facts_encode(&second, &text);
    wire_reader_init(&reader, text.data, text.length_bytes);
    is_int(pmi_node_facts_decode(&taken, &reader), 0, "the first of two nodes arrives");
    ok(strcmp(taken.name, "n1") == 0 && taken.daemon_kib == 4000 && taken.processes_count == 5,
       "with its processes");
    ok(taken.processes[4].rank == 4 && taken.processes[4].pid == 104 &&
           taken.processes[4].state == PMI_PROCESS_KILLED && taken.processes[4].code == 9 &&
           taken.processes[4].memory_kib == 1ull << 40,
       "all that is known of them");
    pmi_node_facts_fini(&taken);
    is_int(pmi_node_facts_decode(&taken, &reader), 0, "so does the second");
    ok(strcmp(taken.name, "n2") == 0 && taken.processes_count == 0, "which has none");
    is_uint(wire_left(&reader), 0, "and nothing is left");
    pmi_node_facts_fini(&taken);
    is_int(pmi_node_facts_decode(&taken, &reader), -EBADMSG, "there is no third");
    pmi_node_facts_fini(&first);
    pmi_node_facts_fini(&second);
    buffer_fini(&text);
}

static void test_namespaces(void)
{
    static const struct {
        const char *namespace;
        uint32_t job;
    } rows[] = {{"banyan-abc-1", 1},          {"banyan-abc-4294967295", UINT32_MAX},
                {"banyan-abc-4294967296", 0}, {"banyan-abc-0", 0},
                {"banyan-abc-", 0},           {"banyan-abc", 0},
                {"banyan-abc-1x", 0},         {"banyan-abc-+1", 0},
                {"banyan-abd-1", 0},          {"", 0},
                {"banyan-abc-01", 0},         {"banyan-abc-11111111111", 0}};
    char text[PMI_NAMESPACE_BYTES];

    pmi_query_namespace("banyan-abc", 12, text);
    is_string(text, "banyan-abc-12", "a namespace");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        is_uint(pmi_query_job("banyan-abc", rows[i].namespace), rows[i].job, "'%s' is job %u",
                rows[i].namespace, rows[i].job);
}

int main(void)
{
    test_question();
    test_instance();
    test_counts();
    test_long_command();
    test_nodes();
    test_namespaces();
    return done_testing();
}
