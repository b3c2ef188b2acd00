/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared object that hosts the PMIx server (pmix_host.so, the only thing linked to libpmix), a
 * speaker of the contract of pmi.h.  A process of its own opens it by its full path and asks for the
 * one symbol, host_table.  The threads of libpmix end at
 * pmix/host_thread.c: every function of pmi_ops but one runs on the caller's thread, out of
 * host_table.process, which is to be called when host_table.descriptor is readable, or out of the
 * function that it answers.  The one is `collective`, which is called on libpmix's own thread, for a
 * fence should not wait until another thread has been woken; it must not call the host.
 */
#ifndef PMIX_HOST_H
#define PMIX_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "pmix/pmi.h"

#define HOST_ABI 4

struct host;

struct host_config {
    const char *directory; /* for libpmix's files: per daemon, exists, removed by the caller */
    const char *node_name; /* as in pmi_job.node_names */
    const char *server_namespace;
    uint32_t server_rank; /* the place */
    /* 1: PCI devices too in the topology that is given to clients; costs about 10 ms. */
    int topology_devices;
    const struct pmi_ops *ops; /* copied */
};

struct host_table {
    uint32_t abi; /* HOST_ABI */
    /* Starts libpmix's server.  3 ms.  One host for a process, to its end: libpmix cannot be stopped
     * without risk (PMIx_server_finalize hangs or crashes after a client has died at the wrong
     * moment), nor started again. */
    struct host *(*create)(const struct host_config *config, struct error *error);
    int (*descriptor)(const struct host *host); /* readable when process must be called */
    void (*process)(struct host *host);
    /* Registers namespace and local clients; ops.opened tells how it went. */
    void (*job_open)(struct host *host, const struct pmi_job *job);
    /* Answers what is open of the job with errors. */
    void (*job_close)(struct host *host, uint32_t number);
    /* Lets a client in whose first message has been read, whole, and that says to be this process, of
     * an open job.  Takes fd; libpmix tells the client if it refuses it. */
    void (*admit)(struct host *host, int fd, const struct pmi_process *process, const void *message,
                  size_t message_bytes);
    struct pmi_events events; /* speaker: the host */
};

extern const struct host_table host_table;

#endif
