/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment by which a process finds its PMIx and PMI servers and by which Open MPI and
 * MPICH detect that they were launched.  Written by hand (no libpmix needed), so that libpmix is
 * not started for a job that never calls it; test/unit/pmix/host_environment.c compares it with
 * libpmix's own.
 *
 * The launcher puts the user's own variables after these; the last of two settings of one name
 * counts, so that an explicit -x OMPI_MCA_... wins.
 */
#ifndef PMIX_HOST_ENVIRONMENT_H
#define PMIX_HOST_ENVIRONMENT_H

#include <stdint.h>

#include "base/buffer.h"

struct host_environment {
    const char *namespace;
    uint32_t rank;
    uint32_t size;
    uint32_t local_rank;
    uint32_t local_size;
    const char *node_name;
    const char *server_namespace;
    uint32_t server_rank;
    uint16_t server_port;         /* on 127.0.0.1 */
    int32_t server_pid;           /* of the process that hosts libpmix; 0: this one */
    const char *server_directory; /* host_config.directory */
    /* For the segments of Open MPI and UCX: ours, removed with the job.  On tmpfs, because on a
     * disk every page that a message touches would be written back.  NULL: their default,
     * /dev/shm. */
    const char *shared_memory_directory;
    const char *net_interfaces; /* --net on this node: "eth0,ib0"; NULL: the libraries choose */
    const char *net_devices;    /* the same preceded by RDMA devices, "mlx5_0:1,ib0" */
    int pmi_fd;                 /* -1: neither PMI-1 nor PMI-2 */
    int pmix;                   /* 0: no PMIx */
    /* 1: more ranks than processors: a waiting rank should yield its processor. */
    int crowded;
    int spawned;                /* by a process of another job */
    const char *address;        /* of a virtual node; NULL: its host name will do */
    const char *master_address; /* where the first rank runs, for torch; NULL: not wanted */
    uint16_t master_port;       /* there */
};

/* 1: libpmix's server must run and know the job before the first process starts.  0: it may be
 * started when the first client connects.
 *
 * libpmix gives the map of the job to its clients either through shared files (ds21), which must
 * exist when a client starts, or over the socket (hash), at a cost that grows with the job.  All
 * clients of a namespace must do the same.  Small jobs take the socket, so that a job that never
 * calls PMIx does not pay for a server. */
int host_environment_is_eager(uint32_t size, uint32_t local_size);
/* Appends "NAME=value" strings, each with its NUL. */
void host_environment_write(const struct host_environment *environment, struct buffer *out);
/* 1 if a variable of an enclosing launcher ("NAME" or "NAME=value") must not reach a process or a
 * server: PMIX_*, PMI_*, SLURM_STEP*, PALS_*, ...  A user's own settings (PMIX_MCA_*, most of
 * OMPI_MCA_*, UCX_*) and what describes an allocation (SLURM_JOB_*) are not foreign. */
int host_environment_is_foreign(const char *variable);
/* 1 if it is one that host_environment_write may write, for a process or its node. */
int host_environment_is_own(const char *variable);
/* 1 if it is RANK, WORLD_SIZE, LOCAL_RANK or LOCAL_WORLD_SIZE, which are foreign to a process that gets
 * its own. */
int host_environment_is_torch(const char *variable);

#endif
