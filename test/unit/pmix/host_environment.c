/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_environment.h"
#include "test/support/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct host_environment environment = {
    .namespace = "space",
    .rank = 3,
    .size = 4,
    .local_rank = 1,
    .local_size = 2,
    .node_name = "node7",
    .server_namespace = "dvm",
    .server_rank = 7,
    .pmi_fd = -1,
    .pmix = 1,
};

/* The value of a variable among NUL-terminated strings, or NULL; the last one counts. */
static const char *find(const struct buffer *variables, const char *name)
{
    size_t name_bytes = strlen(name), at = 0;
    const char *value = NULL;

    while (at < variables->length_bytes) {
        const char *text = (const char *)variables->data + at;

        if (strncmp(text, name, name_bytes) == 0 && text[name_bytes] == '=')
            value = text + name_bytes + 1;
        at += strlen(text) + 1;
    }
    return value;
}

static unsigned int count(const struct buffer *variables, const char *prefix)
{
    unsigned int found = 0;
    size_t at = 0;

    while (at < variables->length_bytes) {
        const char *text = (const char *)variables->data + at;

        found += strncmp(text, prefix, strlen(prefix)) == 0;
        at += strlen(text) + 1;
    }
    return found;
}

/* What libpmix's own PMIx_server_setup_fork exports for the same process. */
static void dump(const char *gds, const char *directory, struct buffer *out)
{
    const char *top = getenv("top_builddir");
    char command[1024], line[1024];
    FILE *pipe;

    snprintf(command, sizeof(command), "%s/test/tool/pmix_client setup %s %s",
             top == NULL ? "." : top, directory, gds);
    pipe = popen(command, "r");
    while (pipe != NULL && fgets(line, sizeof(line), pipe) != NULL)
        buffer_append(out, line, strlen(line));
    if (pipe == NULL || pclose(pipe) != 0)
        bail_out("cannot run %s", command);
    for (size_t i = 0; i < out->length_bytes; i++) {
        if (out->data[i] == '\n')
            out->data[i] = '\0';
    }
}

/* Every variable of libpmix's is there with the same value, and no other of its kind. */
static void compare(const char *gds, uint32_t size)
{
    char directory[] = "/tmp/bt.XXXXXX";
    struct buffer theirs = {0}, ours = {0};
    size_t at = 0;

    if (mkdtemp(directory) == NULL)
        bail_out("mkdtemp failed");
    dump(gds, directory, &theirs);
    environment.size = size;
    environment.server_directory = directory;
    environment.server_pid = atoi(find(&theirs, "PID"));
    environment.server_port = (uint16_t)atoi(strrchr(find(&theirs, "PMIX_SERVER_URI4"), ':') + 1);
    host_environment_write(&environment, &ours);
    while (at < theirs.length_bytes) {
        const char *text = (const char *)theirs.data + at;
        char name[64];

        at += strlen(text) + 1;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "="), text);
        if (strcmp(name, "PID") != 0)
            is_string(find(&ours, name), strchr(text, '=') + 1, "%s is as libpmix has it (%s)",
                      name, gds);
    }
    is_uint(count(&ours, "PMIX_"), count(&theirs, "PMIX_"), "and there is nothing else");
    buffer_fini(&theirs);
    buffer_fini(&ours);
    rmdir(directory);
}

static void test_others(void)
{
    struct buffer out = {0};

    environment.size = 64;
    environment.server_directory = "/d";
    environment.shared_memory_directory = "/shared";
    environment.pmi_fd = 9;
    host_environment_write(&environment, &out);
    is_string(find(&out, "OMPI_MCA_schizo"), "ompi", "Open MPI 4 is told of a launcher");
    is_string(find(&out, "OMPI_MCA_btl_vader_backing_directory"), "/shared", "and of a place");
    is_string(find(&out, "UCX_POSIX_DIR"), "/shared", "so is UCX");
    is_string(find(&out, "PMI_FD"), "9", "PMI_FD");
    is_string(find(&out, "PMI_RANK"), "3", "PMI_RANK");
    is_string(find(&out, "PMI_SIZE"), "64", "PMI_SIZE");
    is_string(find(&out, "MPI_LOCALNRANKS"), "2", "MPI_LOCALNRANKS");
    is_string(find(&out, "MPI_LOCALRANKID"), "1", "MPI_LOCALRANKID");
    is_string(find(&out, "PMI_JOBID"), "space", "PMI_JOBID");
    is_string(find(&out, "MV2_COMM_WORLD_RANK"), "3", "MVAPICH: MV2_COMM_WORLD_RANK");
    is_string(find(&out, "MV2_COMM_WORLD_SIZE"), "64", "MV2_COMM_WORLD_SIZE");
    is_string(find(&out, "MV2_COMM_WORLD_LOCAL_RANK"), "1", "MV2_COMM_WORLD_LOCAL_RANK");
    is_string(find(&out, "MV2_COMM_WORLD_LOCAL_SIZE"), "2", "MV2_COMM_WORLD_LOCAL_SIZE");
    is_string(find(&out, "OMPI_COMM_WORLD_RANK"), "3", "Open MPI: OMPI_COMM_WORLD_RANK");
    is_string(find(&out, "OMPI_COMM_WORLD_LOCAL_SIZE"), "2", "OMPI_COMM_WORLD_LOCAL_SIZE");
    ok(find(&out, "OMPI_MCA_mpi_yield_when_idle") == NULL, "ranks with processors do not yield");
    ok(find(&out, "RANK") == NULL && find(&out, "MASTER_ADDR") == NULL, "nothing for torch");
    ok(find(&out, "UCX_NET_DEVICES") == NULL && find(&out, "FI_TCP_IFACE") == NULL,
       "the network is theirs to choose");
    buffer_clear(&out);
    environment.net_interfaces = "ib0,eth0";
    environment.net_devices = "mlx5_0:1,ib0,eth0";
    host_environment_write(&environment, &out);
    is_string(find(&out, "OMPI_MCA_btl_tcp_if_include"), "ib0,eth0",
              "unless one is given: Open MPI");
    is_string(find(&out, "UCX_NET_DEVICES"), "mlx5_0:1,ib0,eth0", "UCX");
    is_string(find(&out, "FI_TCP_IFACE"), "ib0", "and libfabric");
    environment.net_interfaces = NULL;
    buffer_clear(&out);
    ok(find(&out, "MPICH_INTERFACE_HOSTNAME") == NULL, "nor of an address");
    environment.address = "127.1.0.9";
    environment.master_address = "node1";
    environment.master_port = 20500;
    host_environment_write(&environment, &out);
    is_string(find(&out, "MPICH_INTERFACE_HOSTNAME"), "127.1.0.9", "MPICH: an address");
    is_string(find(&out, "RANK"), "3", "torch: RANK");
    is_string(find(&out, "WORLD_SIZE"), "64", "WORLD_SIZE");
    is_string(find(&out, "LOCAL_RANK"), "1", "LOCAL_RANK");
    is_string(find(&out, "LOCAL_WORLD_SIZE"), "2", "LOCAL_WORLD_SIZE");
    is_string(find(&out, "MASTER_ADDR"), "node1", "MASTER_ADDR");
    is_string(find(&out, "MASTER_PORT"), "20500", "MASTER_PORT");
    ok(host_environment_is_torch("RANK=0") && host_environment_is_torch("LOCAL_WORLD_SIZE"),
       "what names the rank is known");
    ok(!host_environment_is_torch("MASTER_PORT=1") && !host_environment_is_torch("RANKS=2"),
       "and nothing else");
    environment.master_address = environment.address = NULL;
    buffer_clear(&out);
    environment.pmix = 0;
    environment.pmi_fd = -1;
    environment.shared_memory_directory = NULL;
    host_environment_write(&environment, &out);
    is_uint(out.length_bytes, 0, "nothing for a job that wants nothing");
    buffer_fini(&out);
}

static void test_eager(void)
{
    ok(!host_environment_is_eager(256, 1), "256 nodes with one rank each need no server first");
    ok(!host_environment_is_eager(64, 4), "nor do 16 with 4");
    ok(host_environment_is_eager(256, 256), "256 ranks of one node do");
    ok(host_environment_is_eager(UINT32_MAX, 8192), "so does the largest job");
    ok(!host_environment_is_eager(100000, 100000),
       "but so many of one node would wait for it for long");
}

static void test_foreign(void)
{
    static const char *const foreign[] = {"PMIX_RANK=0",
                                          "PMIX_SERVER_URI41",
                                          "PMI_FD=3",
                                          "PMI_SIZE",
                                          "HYDI_CONTROL_FD=4",
                                          "OMPI_MCA_ess=env",
                                          "OMPI_MCA_ess_base_jobid=1",
                                          "OMPI_COMM_WORLD_RANK=0",
                                          "MPI_LOCALNRANKS=2",
                                          "OMPI_MCA_schizo=slurm",
                                          "SLURM_PMIX_MAPPING_SERV=x",
                                          "SLURM_STEP_NODELIST=n1",
                                          "SLURM_STEPID=0",
                                          "SLURM_PROCID=0",
                                          "SLURM_GTIDS=0",
                                          "SLURMD_NODENAME=n1",
                                          "PMI2_CONNECT_TO_SERVER=1",
                                          "I_MPI_PMI_LIBRARY=/usr/lib/libpmi.so",
                                          "MV2_COMM_WORLD_RANK=0",
                                          "MPIRUN_RANK=0",
                                          "PALS_RANKID=0",
                                          "PALS_APID=x",
                                          "ALPS_APP_PE=0",
                                          "FLUX_TASK_RANK=0",
                                          "FLUX_JOB_SIZE=4",
                                          "JSM_NAMESPACE_RANK=0"};
    static const char *const kept[] = {"PATH=/bin",
                                       "PMIX_MCA_gds=hash",
                                       "OMPI_MCA_btl=tcp",
                                       "OMPI_MCA_schizo2=x",
                                       "UCX_TLS=tcp",
                                       "SLURM_JOB_ID=1",
                                       "SLURM_NTASKS=4",
                                       "SLURM_CPUS_ON_NODE=2",
                                       "FLUX_URI=local:///x",
                                       "FLUX_JOB_ID=f1",
                                       "I_MPI_DEBUG=5",
                                       "MV2_DEBUG=1",
                                       "RANK=0",
                                       "PMI2_DEBUG=1",
                                       "PMIXER=1",
                                       "MPI_LOCALNRANKSX",
                                       ""};

    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        ok(host_environment_is_foreign(foreign[i]), "%s is foreign", foreign[i]);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        ok(!host_environment_is_foreign(kept[i]), "\"%s\" is not", kept[i]);
}

int main(void)
{
    compare("hash", 4);
    compare(BANYAN_PMIX_MAJOR >= 5 ? "shmem2,hash" : "ds21,hash", 8192);
    test_others();
    test_eager();
    test_foreign();
    return done_testing();
}
