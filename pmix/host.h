/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared object that hosts the PMIx server (pmix_host.so), a
 * speaker of the contract of pmi.h.  A separate process opens it by its full path and looks up its
 * one symbol, host_table.  The threads of libpmix end at pmix/host_thread.c: every function of
 * pmi_ops but one runs on the caller's thread, from host_table.process, which must be called when
 * host_table.descriptor is readable, or from the function that it answers.  The exception is
 * `collective`, which libpmix's upcall calls directly, since a fence should not wait for another
 * thread to wake up; it must not call the host.  It runs within host_table.wait, or, if the caller
 * never calls wait, on libpmix's own thread.
 */
#ifndef PMIX_HOST_H
#define PMIX_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "pmix/pmi.h"

#define HOST_ABI 10

/* What host_table.wait has waited for: the caller's descriptor is readable; process must be called. */
enum { HOST_FD = 1, HOST_OWN = 2 };

struct host;

struct host_config {
    const char *directory; /* for libpmix's files: per daemon, exists, removed by the caller */
    const char *node_name; /* as in pmi_job.node_names */
    const char *server_namespace;
    uint32_t server_rank; /* the place */
    /* 1: include PCI devices in the topology given to clients; costs about 10 ms. */
    int topology_devices;
    const struct pmi_ops *ops; /* copied */
};

typedef void host_checked_function(void *context, uint64_t id);

struct host_table {
    uint32_t abi; /* HOST_ABI */
    /* Starts libpmix's server.  3 ms.  One host per process, until it exits: libpmix cannot be
     * stopped safely (PMIx_server_finalize hangs or crashes after a client has died at the wrong
     * moment), nor started again. */
    struct host *(*create)(const struct host_config *config, struct error *error);
    int (*descriptor)(const struct host *host); /* readable when process must be called */
    void (*process)(struct host *host);
    /* Waits for fd and for the descriptor above, and returns which of them is readable: HOST_FD,
     * HOST_OWN, or 0 after a signal.  From the first call on libpmix's events run within it, if this
     * libpmix can do without its own thread.  fd must be the same in every call, and stay open. */
    int (*wait)(struct host *host, int fd);
    /* Registers namespace and local clients; ops.opened reports the result. */
    void (*job_open)(struct host *host, const struct pmi_job *job);
    /* Answers open requests of the job with errors. */
    void (*job_close)(struct host *host, uint32_t number);
    /* Admits a client of an open job whose first message has been read completely and names this
     * process. Takes fd; libpmix answers the client if it refuses it. */
    void (*admit)(struct host *host, int fd, const struct pmi_process *process, const void *message,
                  size_t message_bytes);
    /* Has answered called, on any thread, when libpmix has done what it was asked to before. */
    void (*check)(struct host *host, uint64_t id, host_checked_function *answered, void *context);
    struct pmi_events events; /* speaker: the host */
};

extern const struct host_table host_table;

#endif
