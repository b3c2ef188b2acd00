/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between the daemon and the speakers of a PMI to its processes: the host of libpmix
 * (host.h) and the PMI-1 server (pmi1.h).  A speaker makes requests by pmi_ops, the daemon answers
 * and makes its own by pmi_events; no call blocks, and every request that has an id is answered
 * once by `done`. The host of libpmix is a separate process, and the calls are messages there
 * (pmi_wire.h).
 *
 * A process is a job's number and a rank of that job, which may have no processes here; a namespace of no
 * job of the instance is PMI_JOB_NONE.
 * Status values are 0 or a negative errno; each speaker translates them to the codes of its
 * standard (host_status.c).
 */
#ifndef PMIX_PMI_H
#define PMIX_PMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define PMI_NAMESPACE_BYTES 256
#define PMI_JOB_NONE        0u
#define PMI_RANK_ALL        UINT32_MAX /* every rank of the job */

struct pmi_process {
    uint32_t job;
    uint32_t rank; /* or PMI_RANK_ALL */
};

/* Collective operations.  Members of a connected set are notified of each other's end; only a
 * connected set can disconnect.  A barrier is PMI-1's, which also exchanges puts: of all ranks without a name, of a
 * group of them with one. */
enum pmi_kind {
    PMI_FENCE,
    PMI_CONNECT,
    PMI_DISCONNECT,
    PMI_GROUP_CONSTRUCT,
    PMI_GROUP_DESTRUCT,
    PMI_STOPPED, /* all wait for a debugger */
    PMI_BARRIER,
    PMI_KIND_COUNT
};

/* One operation among the members; data is this node's contribution. */
struct pmi_collective {
    uint64_t id;
    enum pmi_kind kind;
    const char *name; /* for several of the same members and kind; NULL or "": none */
    const struct pmi_process *members;
    size_t members_count;
    const void *data;
    size_t data_bytes;
    uint32_t timeout_ms; /* 0: none */
    bool
        is_lost; /* PMI_BARRIER with a name: a member has ended here, so all of them fail, this one now (-ESRCH) */
};

/* Requests that only the service itself understands, in both directions: its own file pmi_*.h has the form of the data
 * and of the answer's. */
enum pmi_request_kind {
    PMI_REQUEST_PUBLISH,
    PMI_REQUEST_LOOKUP,
    PMI_REQUEST_UNPUBLISH,
    PMI_REQUEST_SPAWN,
    PMI_REQUEST_NOTIFY,
    PMI_REQUEST_QUERY,
    PMI_REQUEST_CONTROL,
    PMI_REQUEST_PULL,
    PMI_REQUEST_PUSH,
    PMI_REQUEST_KIND_COUNT
};

struct pmi_request {
    uint64_t id; /* 0: no answer is expected */
    enum pmi_request_kind kind;
    struct pmi_process caller;
    uint32_t timeout_ms; /* 0: none */
    const void *data;
    size_t data_bytes;
};

/* Notices to a speaker, likewise. */
enum pmi_notice_kind {
    PMI_NOTICE_EVENT,
    PMI_NOTICE_STDOUT, /* of the process; pmi_pull.h */
    PMI_NOTICE_STDERR,
    PMI_NOTICE_OUTPUT_END, /* of the job */
    PMI_NOTICE_KIND_COUNT
};

/* Requests of a speaker.  Everything pointed to is valid during the call only. */
struct pmi_ops {
    void *context;
    /* The speaker, whose process has this pid, has registered the job; status < 0: it has not, and
     * why is a line of explanation. */
    void (*opened)(void *context, uint32_t job, int status, const char *why, int32_t pid);
    /* The speaker has died: the job's clients are disconnected, and no request will be answered. */
    void (*lost)(void *context, uint32_t job, const char *why);
    void (*connected)(void *context, const struct pmi_process *process);
    /* A client that was admitted has been refused after all. */
    void (*rejected)(void *context, const struct pmi_process *process);
    void (*finalized)(void *context, const struct pmi_process *process);
    /* All local members have arrived.  Answer: the concatenation of all nodes' data; -ENOTCONN: they
     * are not connected. */
    void (*collective)(void *context, const struct pmi_collective *collective);
    /* A local process requests the blob of a remote process, with this key in it (or ""). */
    void (*fetch)(void *context, uint64_t id, const struct pmi_process *process, const char *key,
                  uint32_t timeout_ms);
    /* The blob requested by `provide`.  -EAGAIN: the process has committed something, but not the
     * key; the daemon decides whether to ask again, or without the key. */
    void (*provided)(void *context, uint32_t job, uint64_t id, int status, const void *data,
                     size_t data_bytes);
    /* targets_count 0: the whole job of the caller.  id 0: no answer is expected. */
    void (*abort)(void *context, uint64_t id, const struct pmi_process *caller, int status,
                  const char *message, const struct pmi_process *targets, size_t targets_count);
    /* Text from a client for the user (PMIx_Log, Open MPI's help messages). */
    void (*text)(void *context, const struct pmi_process *from, const char *text,
                 size_t text_bytes);
    void (*request)(void *context, const struct pmi_request *request);
};

/* Events from the daemon to a speaker. */
struct pmi_events {
    /* Answers collective, fetch, abort and request.  An id that is no longer open is ignored. */
    void (*done)(void *speaker, uint64_t id, int status, const void *data, size_t data_bytes);
    /* Asks for the blob of a local process on behalf of another node; `provided` answers, once
     * there is a blob.  With a key other than "" the blob must have it, unless the process has
     * ended.  ids are the daemon's.  NULL: the speaker keeps no data that others could request. */
    void (*provide)(void *speaker, uint64_t id, const struct pmi_process *process, const char *key);
    /* A local process has ended: nothing will wait for it.  NULL: not needed. */
    void (*gone)(void *speaker, const struct pmi_process *process);
    /* Something has happened that processes of the job may want to know; not answered.  NULL: not needed. */
    void (*notice)(void *speaker, enum pmi_notice_kind kind, const struct pmi_process *process,
                   const void *data, size_t data_bytes);
};

/* Where the processes of a job wait for a debugger (PMIx 4.1, 16.2). */
enum pmi_stop {
    PMI_STOP_NONE,
    PMI_STOP_EXEC, /* before their first instruction, by SIGSTOP */
    PMI_STOP_INIT, /* in PMIx_Init */
    PMI_STOP_APP,  /* where the program itself waits */
    PMI_STOP_COUNT
};

/* One application of a job. */
struct pmi_app {
    uint32_t size; /* processes */
    uint32_t first_rank;
    const char *directory; /* NULL: not given; likewise below */
    const char *arguments; /* the command line, with blanks */
};

/* Where a process is bound, as text in the standard's forms ("hwloc:0-3", "hwloc:SK0:CR0:HT0-1");
 * NULL: not bound. */
struct pmi_binding {
    const char *cpus;
    const char *locality;
    uint16_t package_rank; /* its number among the job's processes on its package */
};

/* In jobs with more processes clients learn only where remote processes run: further details cost
 * 0.4 kB and 4 to 8 us each in libpmix 4.2.2, on top of the 1.9 kB and 5 us that each process costs
 * anyway. */
#define PMI_DETAILS_MAX 8192u

/* One job as this node must know it.  All strings are copied. */
struct pmi_job {
    uint32_t number;
    const char *namespace;
    uint32_t size;          /* processes of the job */
    uint32_t universe_size; /* slots of the instance */
    uint32_t apps_count;
    const char *job_id;
    const char *node_names;    /* comma separated, all nodes that host ranks, in map order */
    const char *ranks_by_node; /* "0,1;2,3": for each of them its ranks, ascending */
    const char *directory;     /* of the job on this node, for its programs */
    uint32_t node_index;       /* of this node in node_names */
    uint32_t uid;
    uint32_t gid;
    const uint32_t *local_ranks; /* ascending */
    const uint32_t *local_apps;  /* application number of each local rank */
    uint32_t local_count;
    const struct pmi_app *apps;         /* apps_count of them; NULL: not given */
    const struct pmi_binding *bindings; /* of the local ranks; NULL: none is bound */
    /* By rank: index of its node in node_names, and its number there; NULL: only of local ranks. */
    const uint32_t *nodes;
    const uint16_t *local_numbers;
    uint32_t slots;     /* of the allocation */
    const char *map_by; /* of the first application, as the user would type it; NULL: not given */
    const char *rank_by;
    const char *bind_to;
    const char
        *parent; /* namespace of the process that has spawned the job; NULL: a user has run it */
    uint32_t parent_rank;
    enum pmi_stop stop;
    uint8_t keeps_data; /* of its fences: 1 if the daemons keep it for any node that asks */
    const char *target; /* namespace of the processes that it debugs; NULL: none */
    uint32_t target_rank;
};

#endif
