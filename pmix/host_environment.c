/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_environment.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* A variable that starts with one of these is foreign, unless it starts with one of ours_anyway. */
static const char *const foreign_prefixes[] = {
    "PMIX_",
    "PMI_",
    "HYDI_",
    "SLURM_PMI", /* SLURM_PMIX_*, SLURM_PMI_*, ... of Slurm's PMI plugins */
    "OMPI_COMM_WORLD_",
    "OMPI_MCA_ess",
    "OMPI_MCA_orte_ess_",
};

/* PMIX_MCA_* and UCX_* settings are a user's or an administrator's. */
static const char *const ours_anyway[] = {"PMIX_MCA_"};

/* Further variables that orterun, PRRTE and hydra set for their processes. */
static const char *const foreign_names[] = {
    "MPI_LOCALNRANKS",
    "MPI_LOCALRANKID",
    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME",
    "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_ARGV",
    "OMPI_COMMAND",
    "OMPI_FILE_LOCATION",
    "OMPI_FIRST_RANKS",
    "OMPI_MCA_initial_wdir",
    "OMPI_MCA_orte_app_num",
    "OMPI_MCA_orte_bound_at_launch",
    "OMPI_MCA_orte_cpu_type",
    "OMPI_MCA_orte_hnp_uri",
    "OMPI_MCA_orte_jobfam_session_dir",
    "OMPI_MCA_orte_jobid",
    "OMPI_MCA_orte_launch",
    "OMPI_MCA_orte_local_daemon_uri",
    "OMPI_MCA_orte_node_regex",
    "OMPI_MCA_orte_num_nodes",
    "OMPI_MCA_orte_precondition_transports",
    "OMPI_MCA_orte_top_session_dir",
    "OMPI_MCA_pmix",
    "OMPI_MCA_schizo",
    "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
    "OMPI_NUM_APP_CTX",
    "OMPI_UNIVERSE_SIZE",
    "PRTE_LAUNCHED",
};

/* Up to this product of processes of the job and clients of the node the socket is cheaper.
 * Measured with 4.2.2, CPU of server and clients of a node, socket and files: 1 client of 64
 * processes 11 and 22 ms, 16 of 256 67 and 74, 16 of 1024 105 and 88, 4 of 4096 94 and 89. */
#define SOCKET_PRODUCT_MAX 8192
/* Registering clients of one node takes libpmix time quadratic in their number, for which an eager
 * job would have to wait: 0.1 s for this many, 15 s for 100,000.  Beyond this limit only clients
 * that connect wait for it. */
#define EAGER_CLIENTS_MAX 8192

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int starts_with_one(const char *variable, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
            return 1;
    }
    return 0;
}

int host_environment_is_foreign(const char *variable)
{
    size_t name_bytes = strcspn(variable, "=");

    if (starts_with_one(variable, ours_anyway, COUNT(ours_anyway)))
        return 0;
    if (starts_with_one(variable, foreign_prefixes, COUNT(foreign_prefixes)))
        return 1;
    for (size_t i = 0; i < COUNT(foreign_names); i++) {
        if (strlen(foreign_names[i]) == name_bytes &&
            memcmp(variable, foreign_names[i], name_bytes) == 0)
            return 1;
    }
    return 0;
}

static void put_string(struct buffer *out, const char *name, const char *value)
{
    buffer_append_string(out, name);
    buffer_append(out, "=", 1);
    buffer_append(out, value, strlen(value) + 1);
}

static void put_number(struct buffer *out, const char *name, int64_t value)
{
    buffer_printf(out, "%s=%lld", name, (long long)value);
    buffer_append(out, "", 1);
}

int host_environment_is_eager(uint32_t size, uint32_t local_size)
{
    return (uint64_t)size * local_size > SOCKET_PRODUCT_MAX && local_size <= EAGER_CLIENTS_MAX;
}

/* Where the client finds the map.  Files of version 4 (ds21) are found by a path, without which
 * ds21 is silently skipped; shared memory of version 5 (shmem2) is announced on the socket. */
static void put_storage(struct buffer *out, const struct host_environment *environment)
{
    int32_t pid = environment->server_pid != 0 ? environment->server_pid : (int32_t)getpid();

    if (!host_environment_is_eager(environment->size, environment->local_size)) {
        put_string(out, "PMIX_GDS_MODULE", "hash");
        return;
    }
    if (BANYAN_PMIX_MAJOR >= 5) {
        put_string(out, "PMIX_GDS_MODULE", "shmem2,hash");
        return;
    }
    put_string(out, "PMIX_GDS_MODULE", "ds21,hash");
    buffer_printf(out, "PMIX_DSTORE_21_BASE_PATH=%s/pmix_dstor_ds21_%d",
                  environment->server_directory, pid);
    buffer_append(out, "", 1);
}

/* What PMIx_server_setup_fork writes (4.2.2 and 5.0.7).  The buffer type only has to be the same on
 * both sides: the client sends it to the server.  ds12 serves clients of version 2 and is
 * omitted. */
static void put_pmix(struct buffer *out, const struct host_environment *environment)
{
    static const char *const addresses[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4",
                                            "PMIX_SERVER_URI3", "PMIX_SERVER_URI2",
                                            "PMIX_SERVER_URI21"};
    put_string(out, "PMIX_NAMESPACE", environment->namespace);
    put_number(out, "PMIX_RANK", environment->rank);
    for (size_t i = 0; i < COUNT(addresses); i++) {
        buffer_printf(out, "%s=%s.%u;tcp4://127.0.0.1:%u", addresses[i],
                      environment->server_namespace, environment->server_rank,
                      (unsigned int)environment->server_port);
        buffer_append(out, "", 1);
    }
    put_string(out, "PMIX_SECURITY_MODE", "native");
    put_string(out, "PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC");
    put_storage(out, environment);
    put_string(out, "PMIX_SERVER_TMPDIR", environment->server_directory);
    put_string(out, "PMIX_SYSTEM_TMPDIR", environment->server_directory);
    put_string(out, "PMIX_HOSTNAME", environment->node_name);
    put_string(out, "PMIX_VERSION", BANYAN_PMIX_VERSION);
}

/* Open MPI 4 assumes it is a singleton unless it finds a launcher that it knows; schizo=ompi names
 * one, and makes it ignore the variables of Slurm and ALPS.  Later versions look for PMIx and
 * ignore all this. Wrapper scripts read the numbers, for instance to choose a GPU. */
static void put_openmpi(struct buffer *out, const struct host_environment *environment)
{
    put_string(out, "OMPI_MCA_schizo", "ompi");
    put_number(out, "OMPI_COMM_WORLD_RANK", environment->rank);
    put_number(out, "OMPI_COMM_WORLD_SIZE", environment->size);
    put_number(out, "OMPI_COMM_WORLD_LOCAL_RANK", environment->local_rank);
    put_number(out, "OMPI_COMM_WORLD_LOCAL_SIZE", environment->local_size);
    put_number(out, "OMPI_COMM_WORLD_NODE_RANK", environment->local_rank);
    put_string(out, "OMPI_MCA_orte_externally_bound", "1");
    put_string(out, "OMPI_MCA_hwloc_base_binding_policy", "none");
    if (environment->crowded)
        put_string(out, "OMPI_MCA_mpi_yield_when_idle", "1");
}

/* The directory of shared segments: in one of ours nothing outlives a kill, and daemons that share
 * a machine do not share names.  MPICH's segment has a fixed path: /dev/shm/mpich_*, which it
 * unlinks in MPI_Init. */
static void put_shared_memory(struct buffer *out, const char *directory)
{
    put_string(out, "OMPI_MCA_btl_vader_backing_directory", directory);
    put_string(out, "OMPI_MCA_osc_sm_backing_directory", directory);
    put_string(out, "OMPI_MCA_osc_rdma_backing_directory", directory);
    put_string(out, "UCX_POSIX_DIR", directory);
}

/* The network chosen for banyan is also used for the program's messages.  The tcp provider of
 * libfabric takes one interface only. */
static void put_net(struct buffer *out, const struct host_environment *environment)
{
    const char *interfaces = environment->net_interfaces;

    put_string(out, "OMPI_MCA_btl_tcp_if_include", interfaces);
    put_string(out, "OMPI_MCA_oob_tcp_if_include", interfaces);
    put_string(out, "UCX_NET_DEVICES", environment->net_devices);
    buffer_printf(out, "FI_TCP_IFACE=%.*s", (int)strcspn(interfaces, ","), interfaces);
    buffer_append(out, "", 1);
}

static void put_pmi1(struct buffer *out, const struct host_environment *environment)
{
    put_number(out, "PMI_FD", environment->pmi_fd);
    put_number(out, "PMI_RANK", environment->rank);
    put_number(out, "PMI_SIZE", environment->size);
    put_number(out, "MPI_LOCALNRANKS", environment->local_size);
    put_number(out, "MPI_LOCALRANKID", environment->local_rank);
}

void host_environment_write(const struct host_environment *environment, struct buffer *out)
{
    if (environment->pmix) {
        put_pmix(out, environment);
        put_openmpi(out, environment);
    }
    if (environment->pmi_fd >= 0)
        put_pmi1(out, environment);
    if (environment->shared_memory_directory != NULL)
        put_shared_memory(out, environment->shared_memory_directory);
    if (environment->net_interfaces != NULL)
        put_net(out, environment);
}
