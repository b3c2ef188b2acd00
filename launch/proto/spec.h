/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The specifications of an instance and of a job: made by the front end from options, read by the
 * root and, in part, by every daemon.  Owned by the caller of init; fini frees all.
 */
#ifndef LAUNCH_PROTO_SPEC_H
#define LAUNCH_PROTO_SPEC_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "alloc/placement.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/message.h"

#define SESSION_ID_BYTES 17 /* 16 hexadecimal digits and NUL */
#define SECRET_BYTES     32

enum starter_kind {
    STARTER_LOCAL,
    STARTER_VIRTUAL,
    STARTER_SSH,
    STARTER_SRUN,
    STARTER_PALS,
    STARTER_FLUX,
    STARTER_JOIN,
    STARTER_KIND_COUNT
};

/* Same on every daemon of an instance: travels in the boot record. */
struct instance_spec {
    char session[SESSION_ID_BYTES];
    unsigned char secret[SECRET_BYTES];
    uint32_t places; /* nodes + 1 */
    uint32_t radix;
    enum starter_kind starter;
    /* STARTER_SSH: the command, split at blanks, e.g. "ssh -p 2222"; one-shot starters: the
     * program, NULL for the default; else NULL. */
    char *agent;
    char *banyand; /* its absolute path on the nodes */
    char *net;     /* CIDR or interface list, NULL = default */
    /* libfabric's provider for collectives and bulk data, "" for its first; NULL: no libfabric */
    char *fabric;
    uint16_t port_first; /* ports that daemons listen on; 0, 0 = any */
    uint16_t port_last;
    char *boot; /* how boot records travel (launch/start/boot_carry.h), NULL = over stdin */
    const char *boot_word; /* of the daemon being started: not owned, never sent */
    char *join_file;       /* STARTER_JOIN: where the root writes the tokens; never sent */
    char *tmpdir;          /* base of session directories, NULL = $TMPDIR or /tmp of each node */
    char *virtual_base;    /* STARTER_VIRTUAL: directory that holds the nodes' TMPDIRs */
    char *record; /* directory for recordings of daemons (launch/daemon/tracer.h), NULL = none */
    uint32_t start_timeout_s;
    uint32_t kill_grace_ms; /* between SIGTERM and SIGKILL */
    uint32_t heartbeat_ms;
    uint32_t lease_ms; /* a node silent for half of it is lost */
    uint8_t log_level;
    uint8_t is_doctor; /* it examines its nodes and runs no job (doctor_daemon.h) */
};

void instance_spec_init(struct instance_spec *spec); /* defaults */
void instance_spec_fini(struct instance_spec *spec); /* wipes the secret */
void instance_spec_copy(struct instance_spec *ret_spec, const struct instance_spec *source);
/* Without the secret, which boot_record_encode adds. */
void instance_spec_encode(const struct instance_spec *spec, struct buffer *out);
/* ret_spec need not be initialised; it is untouched on failure (-EBADMSG).  The same holds for
 * job_spec_decode. */
int instance_spec_decode(struct instance_spec *ret_spec, struct wire_reader *reader);

struct app_spec {
    char **argv; /* NULL-terminated; argv[0] is searched in PATH of the node unless it has a / */
    char **set;  /* NULL-terminated "NAME=value", in order: the forwarded environment, then -x */
    char *directory; /* working directory */
};

#define JOB_MPI_PMIX 1u
#define JOB_MPI_PMI1 2u

void app_spec_fini(struct app_spec *app);

/* What happens to a job when a rank fails or a node is lost.  A rank that calls abort always ends
 * it, and so does a node lost before the launch. */
enum job_on_failure {
    JOB_ON_FAILURE_ABORT,    /* all are killed */
    JOB_ON_FAILURE_CONTINUE, /* the others go on */
    JOB_ON_FAILURE_COUNT
};

struct job_spec {
    uint32_t number;            /* from 1 within an instance, assigned by the root */
    uint32_t uid;               /* for the record only: daemons run as the user */
    uint32_t mpi;               /* JOB_MPI_* */
    struct placement placement; /* a rule for each application */
    uint32_t processes;         /* total; 0: not known until the nodes are known */
    struct app_spec *apps;
    uint32_t apps_count;
    uint8_t report_bindings; /* draw the cores of each process; for the root only */
    uint32_t stdin_rank;     /* the rank that gets stdin; UINT32_MAX = none */
    enum job_on_failure on_failure;
};

void job_spec_init(struct job_spec *spec);
void job_spec_fini(struct job_spec *spec);
/* Rule and counts are a few dozen bytes; argv and environment follow, compressed with zstd when
 * that is shorter. */
void job_spec_encode(const struct job_spec *spec, struct buffer *out);
int job_spec_decode(struct job_spec *ret_spec, struct wire_reader *reader);
/* "banyan-<name>-<number>" */
void job_namespace(const char *name, uint32_t number, char *text, size_t text_bytes);

#endif
