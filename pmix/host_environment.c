/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_environment.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* ---- what an enclosing launcher has left ---- */

/* Variables by which launchers give a process its rank and server, and those of a step of theirs, in
 * which our processes are not.  A star stands for any rest; what starts with one of
 * ours_anyway is excepted. */
static const char *const foreign[] = {
    "PMIX_*",
    "PMI_*",
    "PMI2_CONNECT_TO_SERVER",
    "PMI2_SUN_PATH",
    "HYDI_*", /* hydra */
    "MPI_LOCALNRANKS",
    "MPI_LOCALRANKID",
    "MPICH_INTERFACE_HOSTNAME",
    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME",
    "I_MPI_PMI_LIBRARY", /* Intel MPI: of another launcher; by itself it uses PMI_FD */
    "MV2_COMM_WORLD_*",  /* MVAPICH, by mpirun_rsh and hydra */
    "MVP_COMM_WORLD_*",
    "MPIRUN_*",
    "MPISPAWN_*",
    "OMPI_COMM_WORLD_*", /* orterun and prterun */
    "OMPI_MCA_ess*",
    "OMPI_MCA_orte_ess_*",
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
    "SLURM_PMI*", /* srun: SLURM_PMIX_*, SLURM_PMI_*, ... of its plugins, and of a step or its task */
    "SLURM_STEP*",
    "SLURM_SRUN_COMM_*",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_GTIDS",
    "SLURM_TASK_PID",
    "SLURM_TOPOLOGY_ADDR*",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_MPI_TYPE",
    "SLURM_CPU_BIND*",
    "SLURM_MEM_BIND*",
    "SLURMD_NODENAME",
    "PALS_*", /* aprun and mpiexec of HPE */
    "ALPS_APP_*",
    "FLUX_TASK_*", /* flux run; FLUX_URI and FLUX_JOB_ID are the instance's */
    "FLUX_JOB_SIZE",
    "FLUX_JOB_NNODES",
    "FLUX_KVS_NAMESPACE",
    "FLUX_PMI_LIBRARY_PATH",
    "JSM_*", /* jsrun */
};

/* Settings of a user or an administrator. */
static const char *const ours_anyway[] = {"PMIX_MCA_*"};

/* Up to this product of processes of the job and clients of the node the socket is cheaper.
 * Measured with 4.2.2, CPU of server and clients of a node, socket and files: 1 client of 64
 * processes 11 and 22 ms, 16 of 256 67 and 74, 16 of 1024 105 and 88, 4 of 4096 94 and 89. */
#define SOCKET_PRODUCT_MAX 8192
/* Registering clients of one node takes libpmix time quadratic in their number, for which an eager
 * job would have to wait: 0.1 s for this many, 15 s for 100,000.  Beyond this limit only clients
 * that connect wait for it. */
#define EAGER_CLIENTS_MAX 8192

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int matches_one(const char *variable, const char *const *patterns, size_t count)
{
    size_t name_bytes = strcspn(variable, "=");

    for (size_t i = 0; i < count; i++) {
        size_t bytes = strlen(patterns[i]);
        int any_rest = patterns[i][bytes - 1] == '*';

        bytes -= any_rest ? 1 : 0;
        if ((any_rest ? name_bytes >= bytes : name_bytes == bytes) &&
            memcmp(variable, patterns[i], bytes) == 0)
            return 1;
    }
    return 0;
}

int host_environment_is_foreign(const char *variable)
{
    return matches_one(variable, foreign, COUNT(foreign)) &&
           !matches_one(variable, ours_anyway, COUNT(ours_anyway));
}

/* ---- what each MPI needs ---- */

/* Who gets a variable. */
enum family {
    FAMILY_OPENMPI, /* with PMIx; Open MPI 5 needs only that, and takes no harm */
    FAMILY_CROWDED, /* likewise, where ranks must share processors */
    FAMILY_PMI,     /* with PMI-1 and PMI-2: MPICH, Intel MPI, MVAPICH, clients of libpmi2 */
    FAMILY_SPAWNED, /* likewise, of a job that processes of another have spawned */
    FAMILY_VIRTUAL, /* likewise, where no other node can find this one by its host name */
    FAMILY_TORCH,   /* with --mpi torch: programs that read torch.distributed's env:// */
    FAMILY_SHARED,  /* if there is a directory for segments */
    FAMILY_NET,     /* if the user has chosen the network */
};

enum value {
    VALUE_TEXT, /* that of the table */
    VALUE_RANK,
    VALUE_SIZE,
    VALUE_LOCAL_RANK,
    VALUE_LOCAL_SIZE,
    VALUE_NAMESPACE,
    VALUE_FD,
    VALUE_ADDRESS,
    VALUE_MASTER_ADDRESS, /* of the first rank's node */
    VALUE_MASTER_PORT,
    VALUE_DIRECTORY,
    VALUE_INTERFACES,
    VALUE_FIRST_INTERFACE,
    VALUE_DEVICES,
};

static const struct variable {
    enum family family;
    enum value value;
    const char *name;
    const char *text;
} variables[] = {
    /* Open MPI 4 assumes it is a singleton unless it finds a launcher that it knows; this names one, and
     * makes it ignore the variables of Slurm and ALPS. */
    {FAMILY_OPENMPI, VALUE_TEXT, "OMPI_MCA_schizo", "ompi"},
    /* Wrapper scripts read these, for instance to choose a GPU. */
    {FAMILY_OPENMPI, VALUE_RANK, "OMPI_COMM_WORLD_RANK", NULL},
    {FAMILY_OPENMPI, VALUE_SIZE, "OMPI_COMM_WORLD_SIZE", NULL},
    {FAMILY_OPENMPI, VALUE_LOCAL_RANK, "OMPI_COMM_WORLD_LOCAL_RANK", NULL},
    {FAMILY_OPENMPI, VALUE_LOCAL_SIZE, "OMPI_COMM_WORLD_LOCAL_SIZE", NULL},
    {FAMILY_OPENMPI, VALUE_LOCAL_RANK, "OMPI_COMM_WORLD_NODE_RANK", NULL},
    {FAMILY_OPENMPI, VALUE_TEXT, "OMPI_MCA_orte_externally_bound", "1"},
    {FAMILY_OPENMPI, VALUE_TEXT, "OMPI_MCA_hwloc_base_binding_policy", "none"},
    {FAMILY_CROWDED, VALUE_TEXT, "OMPI_MCA_mpi_yield_when_idle", "1"},
    /* MPICH, Intel MPI and MVAPICH; libpmi2 asks for the rank with it. */
    {FAMILY_PMI, VALUE_FD, "PMI_FD", NULL},
    {FAMILY_PMI, VALUE_RANK, "PMI_RANK", NULL},
    {FAMILY_PMI, VALUE_SIZE, "PMI_SIZE", NULL},
    {FAMILY_PMI, VALUE_NAMESPACE, "PMI_JOBID", NULL},
    {FAMILY_SPAWNED, VALUE_TEXT, "PMI_SPAWNED", "1"},
    {FAMILY_PMI, VALUE_LOCAL_SIZE, "MPI_LOCALNRANKS", NULL},
    {FAMILY_PMI, VALUE_LOCAL_RANK, "MPI_LOCALRANKID", NULL},
    /* MVAPICH 2 chooses its HCA and binds by these before it asks PMI; scripts choose GPUs. */
    {FAMILY_PMI, VALUE_RANK, "MV2_COMM_WORLD_RANK", NULL},
    {FAMILY_PMI, VALUE_SIZE, "MV2_COMM_WORLD_SIZE", NULL},
    {FAMILY_PMI, VALUE_LOCAL_RANK, "MV2_COMM_WORLD_LOCAL_RANK", NULL},
    {FAMILY_PMI, VALUE_LOCAL_SIZE, "MV2_COMM_WORLD_LOCAL_SIZE", NULL},
    /* By which MPICH's ch3:sock is called; else it gives its host name to others. */
    {FAMILY_VIRTUAL, VALUE_ADDRESS, "MPICH_INTERFACE_HOSTNAME", NULL},
    {FAMILY_TORCH, VALUE_RANK, "RANK", NULL},
    {FAMILY_TORCH, VALUE_SIZE, "WORLD_SIZE", NULL},
    {FAMILY_TORCH, VALUE_LOCAL_RANK, "LOCAL_RANK", NULL},
    {FAMILY_TORCH, VALUE_LOCAL_SIZE, "LOCAL_WORLD_SIZE", NULL},
    {FAMILY_TORCH, VALUE_MASTER_ADDRESS, "MASTER_ADDR", NULL},
    {FAMILY_TORCH, VALUE_MASTER_PORT, "MASTER_PORT", NULL},
    /* Segments in a directory of ours do not outlive a kill, and daemons that share a machine do not
     * share names.  MPICH's segment has a fixed path: /dev/shm/mpich_*, which it unlinks in MPI_Init. */
    {FAMILY_SHARED, VALUE_DIRECTORY, "OMPI_MCA_btl_vader_backing_directory", NULL},
    {FAMILY_SHARED, VALUE_DIRECTORY, "OMPI_MCA_osc_sm_backing_directory", NULL},
    {FAMILY_SHARED, VALUE_DIRECTORY, "OMPI_MCA_osc_rdma_backing_directory", NULL},
    {FAMILY_SHARED, VALUE_DIRECTORY, "UCX_POSIX_DIR", NULL},
    /* The network chosen for banyan is also used for the program's messages.  The tcp provider of
     * libfabric takes one interface only. */
    {FAMILY_NET, VALUE_INTERFACES, "OMPI_MCA_btl_tcp_if_include", NULL},
    {FAMILY_NET, VALUE_INTERFACES, "OMPI_MCA_oob_tcp_if_include", NULL},
    {FAMILY_NET, VALUE_DEVICES, "UCX_NET_DEVICES", NULL},
    {FAMILY_NET, VALUE_FIRST_INTERFACE, "FI_TCP_IFACE", NULL},
};

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

int host_environment_is_own(const char *variable)
{
    for (size_t i = 0; i < COUNT(variables); i++) {
        if (matches_one(variable, &variables[i].name, 1))
            return 1;
    }
    return 0;
}

int host_environment_is_torch(const char *variable)
{
    for (size_t i = 0; i < COUNT(variables); i++) {
        const struct variable *known = &variables[i];

        if (known->family == FAMILY_TORCH && known->value <= VALUE_LOCAL_SIZE &&
            matches_one(variable, &known->name, 1))
            return 1;
    }
    return 0;
}

static int is_wanted(const struct host_environment *environment, enum family family)
{
    switch (family) {
    case FAMILY_OPENMPI:
        return environment->pmix;
    case FAMILY_CROWDED:
        return environment->pmix && environment->crowded;
    case FAMILY_PMI:
        return environment->pmi_fd >= 0;
    case FAMILY_SPAWNED:
        return environment->pmi_fd >= 0 && environment->spawned;
    case FAMILY_VIRTUAL:
        return environment->pmi_fd >= 0 && environment->address != NULL;
    case FAMILY_TORCH:
        return environment->master_address != NULL;
    case FAMILY_SHARED:
        return environment->shared_memory_directory != NULL;
    default:
        return environment->net_interfaces != NULL;
    }
}

static void put_number_of(struct buffer *out, const struct host_environment *environment,
                          const struct variable *variable)
{
    const int64_t numbers[] = {
        [VALUE_RANK] = environment->rank,
        [VALUE_SIZE] = environment->size,
        [VALUE_LOCAL_RANK] = environment->local_rank,
        [VALUE_LOCAL_SIZE] = environment->local_size,
        [VALUE_FD] = environment->pmi_fd,
        [VALUE_MASTER_PORT] = environment->master_port,
    };

    assert(variable->value < COUNT(numbers));
    put_number(out, variable->name, numbers[variable->value]);
}

static void put_variable(struct buffer *out, const struct host_environment *environment,
                         const struct variable *variable)
{
    const char *interfaces = environment->net_interfaces;

    switch (variable->value) {
    case VALUE_TEXT:
        put_string(out, variable->name, variable->text);
        break;
    case VALUE_NAMESPACE:
        put_string(out, variable->name, environment->namespace);
        break;
    case VALUE_ADDRESS:
        put_string(out, variable->name, environment->address);
        break;
    case VALUE_MASTER_ADDRESS:
        put_string(out, variable->name, environment->master_address);
        break;
    case VALUE_DIRECTORY:
        put_string(out, variable->name, environment->shared_memory_directory);
        break;
    case VALUE_INTERFACES:
        put_string(out, variable->name, interfaces);
        break;
    case VALUE_FIRST_INTERFACE:
        buffer_printf(out, "%s=%.*s", variable->name, (int)strcspn(interfaces, ","), interfaces);
        buffer_append(out, "", 1);
        break;
    case VALUE_DEVICES:
        put_string(out, variable->name, environment->net_devices);
        break;
    default:
        put_number_of(out, environment, variable);
    }
}

void host_environment_write(const struct host_environment *environment, struct buffer *out)
{
    if (environment->pmix)
        put_pmix(out, environment);
    for (size_t i = 0; i < COUNT(variables); i++) {
        if (is_wanted(environment, variables[i].family))
            put_variable(out, environment, &variables[i]);
    }
}
