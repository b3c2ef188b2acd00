/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between a daemon and the shared object that hosts the PMIx server (pmix_host.so, the
 * only thing linked to libpmix).  The daemon opens it by its full path when the first client
 * connects and asks for the one symbol, host_table.  The threads of libpmix end at
 * pmix/host_thread.c: every function of struct host_world runs on the daemon's thread, out of
 * host_table.process, which the daemon calls when host_table.descriptor is readable.
 *
 * Ranks are PMIx ranks within a namespace.  Status values are negative errno on this side.
 */
#ifndef PMIX_HOST_H
#define PMIX_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HOST_ABI             3
#define HOST_RANK_ALL        UINT32_MAX /* every rank of the namespace */
#define HOST_NAMESPACE_BYTES 256

struct host;

struct host_process {
    char namespace[HOST_NAMESPACE_BYTES];
    uint32_t rank; /* or HOST_RANK_ALL */
};

/* What processes do together.  Sets that are connected know of each other's end; a set that is not
 * cannot disconnect. */
enum host_operation { HOST_FENCE, HOST_CONNECT, HOST_DISCONNECT, HOST_OPERATION_COUNT };

/* What the host asks of the daemon.  Data is valid during the call only. */
struct host_world {
    void *context;
    void (*connected)(void *context, const struct host_process *process);
    void (*finalized)(void *context, const struct host_process *process);
    /* targets_count 0: the whole namespace of the caller.  Answer with abort_done. */
    void (*abort)(void *context, uint64_t id, const struct host_process *caller, int status,
                  const char *message, const struct host_process *targets, size_t targets_count);
    /* All local participants have arrived; data is this node's contribution (may be empty).
     * timeout_ms 0 = none.  Answer with fence_done: the concatenation of all nodes' data; -ENOTCONN:
     * not connected. */
    void (*fence)(void *context, uint64_t id, enum host_operation operation,
                  const struct host_process *participants, size_t participants_count,
                  const void *data, size_t data_bytes, int collect, uint32_t timeout_ms);
    /* A local process wants the blob of a process elsewhere, with this key in it (or "").  Answer with modex_done. */
    void (*modex)(void *context, uint64_t id, const struct host_process *process, const char *key,
                  uint32_t timeout_ms);
    /* The blob that modex_fetch asked for.  -EAGAIN: the process has committed something, but not
     * the key; whether to ask again, or without the key for what there is, is the daemon's to say. */
    void (*modex_fetched)(void *context, uint64_t id, int status, const void *data,
                          size_t data_bytes);
    /* Text that a client wants the user to see (PMIx_Log, Open MPI's help messages). */
    void (*text)(void *context, const struct host_process *from, const char *text,
                 size_t text_bytes);
};

struct host_config {
    const char *directory; /* for libpmix's files: per daemon, exists, removed by the caller */
    const char *node_name; /* as in host_job.node_names */
    const char *server_namespace;
    uint32_t server_rank; /* the place */
    /* 1: PCI devices too in the topology that is given to clients; costs about 10 ms. */
    int topology_devices;
    const struct host_world *world; /* copied */
};

/* One application of a job. */
struct host_app {
    uint32_t size; /* processes */
    uint32_t first_rank;
    const char *directory; /* NULL: not told; likewise below */
    const char *arguments; /* the command line, with blanks */
};

/* Where a process is bound, as text in the standard's forms ("hwloc:0-3", "hwloc:SK0:CR0:HT0-1");
 * NULL: it is not bound. */
struct host_binding {
    const char *cpus;
    const char *locality;
    uint16_t package_rank; /* how many of the job are on its package before it */
};

/* Jobs of more processes tell their clients where others run, and nothing else of them: each costs
 * 0.4 kB and 4 to 8 us in libpmix 4.2.2 beside the 1.9 kB and 5 us that it takes anyway. */
#define HOST_DETAILS_MAX 8192u

/* One job as this node must know it.  All strings are copied. */
struct host_job {
    const char *namespace;
    uint32_t size;          /* processes of the job */
    uint32_t universe_size; /* slots of the instance */
    uint32_t apps_count;
    const char *job_id;
    const char *node_names;    /* comma separated, all nodes that host ranks, in map order */
    const char *ranks_by_node; /* "0,1;2,3": for each of them its ranks, ascending */
    const char *directory;     /* session directory of the job on this node */
    uint32_t node_index;       /* of this node in node_names */
    uint32_t uid;
    uint32_t gid;
    const uint32_t *local_ranks; /* ascending */
    const uint32_t *local_apps;  /* application number of each local rank */
    uint32_t local_count;
    const struct host_app *apps;         /* apps_count of them; NULL: nothing is told */
    const struct host_binding *bindings; /* of the local ranks; NULL: none is bound */
    /* By rank: index of its node in node_names, and its number there; NULL: only of local ranks. */
    const uint32_t *nodes;
    const uint16_t *local_numbers;
    uint32_t slots;     /* of the allocation */
    const char *map_by; /* of the first application, as the user would type it; NULL: not told */
    const char *rank_by;
    const char *bind_to;
};

struct host_table {
    uint32_t abi; /* HOST_ABI */
    /* Starts libpmix's server.  3 ms.  One host at a time; a later one of the same process finds the
     * server running and must name the same directory. */
    struct host *(*create)(const struct host_config *config, struct error *error);
    /* Answers what is open with errors; may be called out of a function of host_world.  libpmix's
     * threads sleep on until the process ends, so the plugin is never unloaded. */
    void (*destroy)(struct host *host);
    int (*descriptor)(const struct host *host); /* readable when process must be called */
    void (*process)(struct host *host);
    /* Registers namespace and local clients; done when it returns. */
    int (*job_register)(struct host *host, const struct host_job *job, struct error *error);
    void (*job_deregister)(struct host *host, const char *namespace);
    /* Lets a client in whose first message has been read, whole, and that says to be this process, of
     * a registered job.  Takes fd; libpmix tells the client if it refuses it. */
    void (*admit)(struct host *host, int fd, const struct host_process *process,
                  const void *message, size_t message_bytes);
    /* A local process is gone (exit or kill): nothing will wait for it any more. */
    void (*process_gone)(struct host *host, const struct host_process *process);
    void (*abort_done)(struct host *host, uint64_t id, int status);
    void (*fence_done)(struct host *host, uint64_t id, int status, const void *data,
                       size_t data_bytes);
    void (*modex_done)(struct host *host, uint64_t id, int status, const void *data,
                       size_t data_bytes);
    /* Asks for the blob of a local process on behalf of another node; waits until there is one.  With
     * a key other than "" the blob must have it, unless the process is gone. */
    void (*modex_fetch)(struct host *host, uint64_t id, const struct host_process *process,
                        const char *key);
};

extern const struct host_table host_table;

#endif
