/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The specification of an instance: made by the front end from options, the same on every daemon.
 * Owned by the caller of init; fini frees all.
 */
#ifndef LAUNCH_PROTO_INSTANCE_SPEC_H
#define LAUNCH_PROTO_INSTANCE_SPEC_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"

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
    uint8_t trees; /* enum endpoint_trees: over how many large data go to all */
    enum starter_kind starter;
    /* STARTER_SSH: the command, split at blanks, e.g. "ssh -p 2222"; one-shot starters: the
     * program, NULL for the default; else NULL. */
    char *agent;
    char *banyand;   /* its absolute path on the nodes */
    char *addresses; /* how nodes of clusters are called (alloc/cell.h), NULL = by their names */
    char *net;       /* CIDR or interface list, NULL = default */
    /* libfabric's provider for collectives and bulk data, "" for its first; NULL: no libfabric */
    char *fabric;
    char *
        fabric_topology; /* description of the network: a path or a shape, NULL = none; never sent */
    uint16_t port_first; /* ports that daemons listen on; 0, 0 = any */
    uint16_t port_last;
    char *boot; /* how boot records travel (launch/start/boot_carry.h), NULL = over stdin */
    const char *boot_word; /* of the daemon being started: not owned, never sent */
    char *join_file;       /* STARTER_JOIN: where the root writes the tokens; never sent */
    /* Base of session directories, which may differ from node to node (alloc/node_text.h); NULL = $TMPDIR or
     * /tmp of each node. */
    char *tmpdir;
    char *own_tmpdir;   /* of that, what holds for this node; never sent */
    char *virtual_base; /* STARTER_VIRTUAL: directory that holds the nodes' TMPDIRs */
    char *record; /* directory for recordings of daemons (launch/daemon/tracer.h), NULL = none */
    char *log;    /* directory for logs of daemons (launch/exec/log_file.h), NULL = none */
    uint32_t start_timeout_s;
    uint32_t nodes_min; /* the start goes on with that many; 0: it needs all */
    uint32_t spares;    /* the last nodes that are kept for the place of others; fewer than all */
    uint32_t start_retries; /* how often an agent that failed is called again */
    uint32_t kill_grace_ms; /* between SIGTERM and SIGKILL */
    uint32_t heartbeat_ms;
    uint32_t lease_ms;  /* a node silent for half of it is lost */
    uint32_t survive_s; /* how long the nodes go on when the root has died; 0: not at all */
    uint8_t log_level;
    uint8_t is_doctor; /* it examines its nodes and runs no job (doctor_daemon.h) */
};

void instance_spec_init(struct instance_spec *spec); /* defaults */
void instance_spec_fini(struct instance_spec *spec); /* wipes the secret */
/* Sets own_tmpdir: name is that of this node, "": the root's. */
void instance_spec_localize(struct instance_spec *spec, const char *name);
void instance_spec_copy(struct instance_spec *ret_spec, const struct instance_spec *source);
/* Without the secret, which boot_record_encode adds. */
void instance_spec_encode(const struct instance_spec *spec, struct buffer *out);
/* ret_spec need not be initialised; it is untouched on failure (-EBADMSG). */
int instance_spec_decode(struct instance_spec *ret_spec, struct wire_reader *reader);

/* 1 if the start can go on without some nodes. */
int instance_spec_may_miss(const struct instance_spec *spec);

/* From the end of an agent's calls-th call (from 1 on) to the next one: at most this long, at least half of it. */
uint64_t instance_spec_retry_delay_ns(uint32_t calls);
/* How far apart agents end that began and failed together and were called again start_retries times. */
uint64_t instance_spec_retry_spread_ns(const struct instance_spec *spec);

#endif
