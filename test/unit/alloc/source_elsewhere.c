/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sources that are no plain text file of a batch system: Flux, PALS, HTCondor, AWS Batch, the MPI
 * operator.
 */
#include "config.h"

#include "test/support/source_world.h"
#include "test/support/tap.h"

#include <stdlib.h>
#include <string.h>

/* ---- Flux ---- */

/* Entries are pairs of ranks and cores. */
static struct flux_resources *resources(const char *const *entries, const char *const *nodelist)
{
    static struct flux_entry made[16];
    static struct flux_resources set;

    set = (struct flux_resources){.entries = made, .nodelist = nodelist};
    for (; entries[0] != NULL; entries += 2) {
        const char *cores = strcmp(entries[1], "none") == 0 ? NULL : entries[1];

        made[set.entries_count++] = (struct flux_entry){entries[0], cores};
    }
    while (nodelist[set.nodelist_count] != NULL)
        set.nodelist_count++;
    return &set;
}

static void flux_good(const char *const *entries, const char *const *nodelist, const char *expected)
{
    struct source_test test = {
        .variables = ENV("FLUX_URI=local:///x", "FLUX_JOB_ID=f7"),
        .files = NO_FILES,
        .flux = resources(entries, nodelist),
    };

    source_good_test("flux", &test, expected);
}

static void flux_bad(const char *const *entries, const char *const *nodelist, const char *expected)
{
    struct source_test test = {
        .variables = ENV("FLUX_URI=local:///x", "FLUX_JOB_ID=f7"),
        .files = NO_FILES,
        .flux = resources(entries, nodelist),
    };

    source_bad_test("flux", &test, expected);
}

static void test_flux(void)
{
    flux_good(ENV("0-3", "0-3"), ENV("fluke[0-3]"), "fluke[0-3]:4");
    flux_good(ENV("0-1,3", "0-3", "2", "[0,2,4]"), ENV("a[1-2],b", "c-ib"), "a[1-2]:4 b:3 c-ib:4");
    flux_good(ENV("[2-3]", "0", "0-1", "0-1"), ENV("a[1-4]"), "a[1-2]:2 a[3-4]:1");
    flux_good(ENV("10,12", "7"), ENV("a[1-2]"), "a[1-2]:1");
    flux_good(ENV("0-2", "0"), ENV("a,a,b"), "a:2 b:1");
    flux_bad(ENV("0-3", "0-3"), ENV("a[1-3]"),
             "Flux job f7: R_lite has 4 ranks, but nodelist 3 nodes");
    flux_bad(ENV("0-1", "0-3"), ENV("a[1-2]b[1-2]"),
             "Flux job f7: R_lite has 2 ranks, but nodelist 4 nodes");
    flux_bad(ENV("0-3", "0-3", "2", "0"), ENV("a[1-5]"), "Flux job f7: R_lite has rank 2 twice");
    flux_bad(ENV("0", "none"), ENV("a"), "Flux job f7: R_lite has no cores for rank 0");
    flux_bad(ENV(NULL), ENV("a"), "Flux job f7: R_lite has no rank");
    flux_bad(ENV("3-1", "0"), ENV("a"),
             "Flux job f7: R_lite rank: column 1: the range 3-1 runs backwards");
    flux_bad(
        ENV("0,x", "0"), ENV("a"),
        "Flux job f7: R_lite rank: column 3: an id must be a number from 0 to 16777215, not 'x'");
    flux_bad(
        ENV("0", ""), ENV("a"),
        "Flux job f7: R_lite core: column 1: an id must be a number from 0 to 16777215, not \"\"");
    flux_bad(
        ENV("0", "0-1,2--5"), ENV("a"),
        "Flux job f7: R_lite core: column 7: an id must be a number from 0 to 16777215, not '-'");
    flux_bad(
        ENV("0", "[0"), ENV("a"),
        "Flux job f7: R_lite core: column 1: an id must be a number from 0 to 16777215, not '['");
    flux_bad(ENV("0", "0 1"), ENV("a"),
             "Flux job f7: R_lite core: column 2: expected ',' or '-', not ' '");
}

/* What Flux's own tests refuse. */
static void test_flux_lists(void)
{
    flux_bad(ENV("0", "0"), ENV("[]"), "Flux job f7: nodelist: column 2: missing number");
    flux_bad(ENV("0", "0"), ENV("foo[]"), "Flux job f7: nodelist: column 5: missing number");
    flux_bad(ENV("0", "0"), ENV("foo["), "Flux job f7: nodelist: column 4: unmatched '['");
    flux_bad(ENV("0", "0"), ENV("foo[1,3"), "Flux job f7: nodelist: column 4: unmatched '['");
    flux_bad(ENV("0", "0"), ENV("foo[[1,3]"),
             "Flux job f7: nodelist: column 5: a '[' inside brackets");
    flux_bad(ENV("0", "0"), ENV("foo]"),
             "Flux job f7: nodelist: column 4: ']' is not allowed in a node name");
    flux_bad(ENV("0", "0"), ENV("foo[x-y]"),
             "Flux job f7: nodelist: column 5: \"x-y\" is not a range of numbers");
    flux_bad(ENV("0", "0"), ENV("foo[0-1,2--5]"),
             "Flux job f7: nodelist: column 9: \"2--5\" is not a range of numbers");
}

static void test_flux_asking(void)
{
    struct source_test test = {.variables = ENV("FLUX_URI=x"), .files = NO_FILES};
    struct source_ops world = source_test_world(&test);
    struct source_result result;
    struct error error = ERROR_NONE;

    source_bad("flux", ENV("FLUX_URI=x", "FLUX_JOB_ID=f7"), NO_FILES, "Flux job f7: no job f7");
    source_bad("flux", ENV("FLUX_URI=x"), NO_FILES, "Flux: no job at all");
    world.flux = NULL;
    ok(source_read(source_find("flux", NULL), &world, &result, &error) < 0, "no one to ask");
    is_string(error.text, "Flux: its resources cannot be queried here", "is said");
}

/* ---- PALS ---- */

enum { PE_RECORD = 12, NODE_RECORD = 68, HEADER = 152 };

static void put_u32(struct buffer *bytes, size_t at, uint32_t value)
{
    memcpy(bytes->data + at, &value, sizeof(value));
}

static void put_u64(struct buffer *bytes, size_t at, uint64_t value)
{
    memcpy(bytes->data + at, &value, sizeof(value));
}

/* The file of an application with ranks on these nodes. */
static void apinfo_make(struct buffer *bytes, const char *const *nodes, const uint32_t *ranks,
                        uint32_t ranks_count)
{
    uint32_t nodes_count = 0;
    size_t length, node_at = HEADER + ranks_count * PE_RECORD;

    while (nodes[nodes_count] != NULL)
        nodes_count++;
    length = node_at + nodes_count * NODE_RECORD;
    memset(buffer_reserve(bytes, length), 0, length);
    buffer_commit(bytes, length);
    put_u32(bytes, 0, 5);
    put_u64(bytes, 8, length);
    put_u64(bytes, 64, PE_RECORD);
    put_u64(bytes, 72, HEADER);
    put_u32(bytes, 80, ranks_count);
    put_u64(bytes, 88, NODE_RECORD);
    put_u64(bytes, 96, node_at);
    put_u32(bytes, 104, nodes_count);
    for (uint32_t i = 0; i < ranks_count; i++)
        put_u32(bytes, HEADER + i * PE_RECORD + 8, ranks[i]);
    for (uint32_t i = 0; i < nodes_count; i++)
        memcpy(bytes->data + node_at + i * NODE_RECORD + 4, nodes[i], strlen(nodes[i]));
}

#define PALS ENV("PALS_APID=ab", "PBS_JOBID=4", "PALS_APINFO=/i")

static void pals_case(const struct buffer *bytes, size_t length, const char *expected, int good)
{
    /* A copy that ends where the file does, for the sanitizer to guard. */
    char *cut = memory_copy(bytes->data, length);
    struct source_test test = {.variables = PALS, .files = FILES("/i", cut), .file_bytes = length};

    if (good)
        source_good_test("pals", &test, expected);
    else
        source_bad_test("pals", &test, expected);
    free(cut);
}

/* A value at an offset of a good file makes it a bad one. */
static void pals_spoiled(size_t at, uint32_t value, const char *expected)
{
    struct buffer bytes = {0};
    char message[200] = "PALS job ab: PALS_APINFO: /i: ";

    apinfo_make(&bytes, ENV("x1", "x2"), (const uint32_t[]){0, 1, 1}, 3);
    put_u32(&bytes, at, value);
    strcat(message, expected);
    pals_case(&bytes, bytes.length_bytes, message, 0);
    buffer_fini(&bytes);
}

static void test_pals(void)
{
    struct buffer bytes = {0};

    apinfo_make(&bytes, ENV("x1000c0s0b0n0", "x1000c0s0b0n1", "idle"),
                (const uint32_t[]){0, 1, 0, 1, 1}, 5);
    pals_case(&bytes, bytes.length_bytes, "x1000c0s0b0n0:2 x1000c0s0b0n1:3 idle:0", 1);
    pals_case(&bytes, 111,
              "PALS job ab: PALS_APINFO: /i: the file is too short (111 bytes) to have a header",
              0);
    pals_case(
        &bytes, bytes.length_bytes - 1,
        "PALS job ab: PALS_APINFO: /i: byte 89: the table of nodes does not fit into the file", 0);
    buffer_fini(&bytes);
    pals_spoiled(0, 4, "version 4, not 5");
    pals_spoiled(80, 0x7fffffff, "byte 65: the table of ranks does not fit into the file");
    pals_spoiled(80, 0, "byte 65: the table of ranks does not fit into the file");
    pals_spoiled(64, 8, "byte 65: the table of ranks does not fit into the file");
    pals_spoiled(72, 0xfffffff0, "byte 65: the table of ranks does not fit into the file");
    pals_spoiled(76, 0xffffffff, "byte 65: the table of ranks does not fit into the file");
    pals_spoiled(92, 0xffffffff, "byte 89: the table of nodes does not fit into the file");
    pals_spoiled(HEADER + 8, 2, "rank 0 is on node 2, but there are 2");
    pals_spoiled(HEADER + 8, 0xffffffff, "rank 0 is on node 4294967295, but there are 2");
    pals_spoiled(HEADER + 3 * PE_RECORD + 4, 0, "node 0 has no name");
    pals_spoiled(HEADER + 3 * PE_RECORD + 4, 0x3b3b3b3b,
                 "name of a node: column 1: ';' is not allowed in a node name");
    source_good("pals", ENV("PALS_APID=ab", "PBS_NODEFILE=/n"), FILES("/n", "x1\nx2\n"),
                "x[1-2]:1");
    source_bad("pals", PALS, NO_FILES,
               "PALS job ab: PALS_APINFO: cannot read /i: No such file or directory");
}

/* ---- HTCondor ---- */

#define CONDOR "_CONDOR_PROCNO=0", "_CONDOR_NPROCS=3", "_CONDOR_JOB_AD=/ad"

static void test_condor(void)
{
    source_good("condor", ENV(CONDOR),
                FILES("/ad", "MyType = \"Job\"\nRequestCpus = 4\nAllRemoteHosts = "
                             "\"slot1@h1,slot1_2@h1,slot1@h2\"\n"),
                "h1:8 h2:4");
    source_good("condor", ENV(CONDOR), FILES("/ad", "allremotehosts=\"h1.org,slot1@h2.org\" \n"),
                "h[1-2].org:1 unknown");
    source_good("condor", ENV(CONDOR, "CONDOR_CONTACT_FILE=/c"),
                FILES("/ad", "RequestCpus = 2 \nAllRemoteHosts = \"slot1@h1\"\n"), "[0-2]:2");
    source_bad("condor", ENV("_CONDOR_PROCNO=0", "_CONDOR_JOB_AD=/ad", "CONDOR_CONTACT_FILE=/c"),
               FILES("/ad", ""), "HTCondor: _CONDOR_NPROCS is not set");
    source_bad("condor", ENV(CONDOR), NO_FILES,
               "HTCondor: _CONDOR_JOB_AD: cannot read /ad: No such file or directory");
    source_bad("condor", ENV(CONDOR), FILES("/ad", "RequestCpus = 4\n"),
               "HTCondor: _CONDOR_JOB_AD: /ad: there is no AllRemoteHosts");
    source_bad(
        "condor", ENV(CONDOR), FILES("/ad", "A = 1\nRequestCpus = ifThenElse(x,1,2)\n"),
        "HTCondor: _CONDOR_JOB_AD: /ad:2:15: RequestCpus must be a number from 1 to 1000000, not \"ifThenElse(x,1,2)\"");
    source_bad("condor", ENV(CONDOR), FILES("/ad", "AllRemoteHosts = undefined\n"),
               "HTCondor: _CONDOR_JOB_AD: /ad:1:18: AllRemoteHosts must be a string in quotes");
    source_bad("condor", ENV(CONDOR), FILES("/ad", "AllRemoteHosts = \"slot1@h1,slot1@\"\n"),
               "HTCondor: _CONDOR_JOB_AD: /ad:1:34: the name of a node is missing");
    source_bad("condor", ENV(CONDOR), FILES("/ad", "AllRemoteHosts = \"\"\n"),
               "HTCondor: _CONDOR_JOB_AD: /ad:1:19: the name of a node is missing");
    source_bad("condor", ENV(CONDOR), FILES("/ad", "AllRemoteHosts = \"a@b c\"\n"),
               "HTCondor: _CONDOR_JOB_AD: /ad:1:22: ' ' is not allowed in a node name");
}

/* ---- AWS Batch, Kubernetes ---- */

static void test_aws_batch(void)
{
    source_bad(
        "awsbatch",
        ENV("AWS_BATCH_JOB_NUM_NODES=4", "AWS_BATCH_JOB_NODE_INDEX=0",
            "AWS_BATCH_JOB_MAIN_NODE_INDEX=0", "AWS_BATCH_JOB_ID=abc"),
        NO_FILES,
        "AWS Batch job abc: it does not provide the addresses of its 4 nodes: have each node report its address to the main node, and give them there with --host or --hostfile");
    source_bad("awsbatch",
               ENV("AWS_BATCH_JOB_NUM_NODES=4", "AWS_BATCH_JOB_NODE_INDEX=2",
                   "AWS_BATCH_JOB_MAIN_NODE_INDEX=0"),
               NO_FILES, "AWS Batch: this is node 2 of 4: only the main node, 0, can start a run");
    source_bad(
        "awsbatch", ENV("AWS_BATCH_JOB_NUM_NODES=four"), NO_FILES,
        "AWS Batch: AWS_BATCH_JOB_NUM_NODES: column 1: it must be a number from 1 to 1000000, not \"four\"");
    source_good("awsbatch", ENV("AWS_BATCH_JOB_NUM_NODES=1", "AWS_BATCH_JOB_NODE_INDEX=0"),
                NO_FILES, "localhost:1 unknown");
}

#define POD "KUBERNETES_SERVICE_HOST=10.0.0.1"

static void test_mpi_operator(void)
{
    source_good("mpioperator", ENV(POD),
                FILES("/etc/mpi/hostfile", "job-worker-0.job.ns.svc slots=2\n"
                                           "job-worker-1.job.ns.svc slots=2\n"),
                "job-worker-[0-1].job.ns.svc:2");
    source_good("mpioperator", ENV(POD, "I_MPI_HYDRA_HOST_FILE=/i"),
                FILES("/etc/mpi/hostfile", "a\n", "/i", "b-0:2\nb-1:2\n"), "b-[0-1]:2");
    source_bad("mpioperator", ENV(POD, "OMPI_MCA_orte_default_hostfile=/o"),
               FILES("/etc/mpi/hostfile", "a\n"),
               "MPI operator: OMPI_MCA_orte_default_hostfile: cannot read /o: No such file or "
               "directory");
    source_bad("mpioperator", ENV(POD), FILES("/etc/mpi/hostfile", "a\nb slots=x\n"),
               "MPI operator: /etc/mpi/hostfile:2:9: slots must be a number from 0 to 1000000, not "
               "\"x\"");
    source_bad("mpioperator", ENV(POD), FILES("/etc/mpi/hostfile", ""),
               "MPI operator: /etc/mpi/hostfile: contains no node name");
}

int main(void)
{
    test_flux();
    test_flux_lists();
    test_flux_asking();
    test_pals();
    test_condor();
    test_aws_batch();
    test_mpi_operator();
    return done_testing();
}
