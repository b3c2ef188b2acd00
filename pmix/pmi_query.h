/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI_REQUEST_QUERY (pmi.h): what a process may ask about its instance, the jobs in it and their
 * processes.  The root knows the jobs; which processes run, and how, is known on their nodes only, so
 * the daemon of the one who asks collects it there: the answer is what each node has said,
 * concatenated in any order, without nodes that were lost meanwhile.
 *
 * Cost: a few dozen bytes for each job and 20 for each process that is asked about.
 */
#ifndef PMIX_PMI_QUERY_H
#define PMIX_PMI_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"
#include "base/wire.h"
#include "pmix/pmi.h"
#include "pmix/pmi_fabric.h"

#define PMI_QUERY_STRING_MAX 65536u /* a longer command line is cut off */

enum pmi_query_kind {
    PMI_QUERY_JOBS,      /* answer: struct pmi_instance_facts */
    PMI_QUERY_PROCESSES, /* answer: any number of struct pmi_node_facts */
    PMI_QUERY_FABRIC,    /* answer: struct pmi_fabric_facts; -ENOTSUP: no fabric is described */
    PMI_QUERY_KIND_COUNT
};

struct pmi_query {
    enum pmi_query_kind kind;
    struct pmi_fabric_query fabric; /* PMI_QUERY_FABRIC; the rest is for PMI_QUERY_PROCESSES */
    uint8_t is_local;               /* only what runs on this node */
    uint8_t with_memory;            /* costs a read of /proc for each process */
    uint32_t job;                   /* 0: all (of this node: is_local) */
    uint32_t rank;                  /* or PMI_RANK_ALL */
    struct ranges places;           /* of the nodes to ask, as pmi_job_facts has them; owned */
};

enum pmi_job_phase {
    PMI_JOB_WAITING, /* for its nodes */
    PMI_JOB_STARTING,
    PMI_JOB_RUNNING,
    PMI_JOB_ENDING,
    PMI_JOB_ENDED,
    PMI_JOB_PHASE_COUNT
};

struct pmi_app_facts {
    uint32_t first_rank;
    uint32_t size;
    char *program; /* argv[0] */
    char *command; /* all arguments, with blanks */
};

struct pmi_job_facts {
    uint32_t number;
    enum pmi_job_phase phase;
    uint32_t size; /* 0: not known yet */
    struct ranges places;
    struct pmi_app_facts *apps;
    uint32_t apps_count;
};

/* Owns all that it points to. */
struct pmi_instance_facts {
    char *name; /* namespaces are this and the job's number (pmi_query_namespace) */
    uint32_t nodes;
    uint64_t slots;
    struct pmi_job_facts *jobs;
    uint32_t jobs_count;
};

enum pmi_process_state {
    PMI_PROCESS_STARTING,
    PMI_PROCESS_RUNNING,
    PMI_PROCESS_CONNECTED, /* to its PMI server, and has not finalized */
    PMI_PROCESS_EXITED,    /* code: its exit status */
    PMI_PROCESS_KILLED,    /* code: the signal */
    PMI_PROCESS_FAILED,    /* it was not started */
    PMI_PROCESS_STATE_COUNT
};

struct pmi_process_facts {
    uint32_t job;
    uint32_t rank;
    uint32_t pid; /* 0: none, or no longer */
    enum pmi_process_state state;
    uint32_t code;
    uint64_t memory_kib; /* 0: not asked, or not known */
};

/* Owns all that it points to. */
struct pmi_node_facts {
    char *name;
    uint64_t daemon_kib; /* memory of the daemon */
    struct pmi_process_facts *processes;
    uint32_t processes_count;
};

void pmi_query_fini(struct pmi_query *query);
void pmi_query_encode(const struct pmi_query *query, struct buffer *out);
/* -EBADMSG; ret_query is untouched then.  Likewise below. */
int pmi_query_decode(struct pmi_query *ret_query, const void *data, size_t bytes);

/* A zeroed struct is empty.  What is added is valid until the next addition. */
struct pmi_job_facts *pmi_instance_facts_add(struct pmi_instance_facts *facts, uint32_t number);
/* argv ends with NULL. */
void pmi_job_facts_add(struct pmi_job_facts *job, uint32_t first_rank, uint32_t size,
                       char *const *argv);
const struct pmi_job_facts *pmi_instance_facts_find(const struct pmi_instance_facts *facts,
                                                    uint32_t number); /* or NULL */
void pmi_instance_facts_fini(struct pmi_instance_facts *facts);
void pmi_instance_facts_encode(const struct pmi_instance_facts *facts, struct buffer *out);
int pmi_instance_facts_decode(struct pmi_instance_facts *ret_facts, const void *data, size_t bytes);

void pmi_node_facts_add(struct pmi_node_facts *facts, const struct pmi_process_facts *process);
void pmi_node_facts_fini(struct pmi_node_facts *facts);
void pmi_node_facts_encode(const struct pmi_node_facts *facts, struct buffer *out);
/* Takes the first of several from the reader. */
int pmi_node_facts_decode(struct pmi_node_facts *ret_facts, struct wire_reader *reader);

/* The namespace of a job, and the job of a namespace: 0 if it is of no job of this instance. */
void pmi_query_namespace(const char *name, uint32_t number, char text[PMI_NAMESPACE_BYTES]);
uint32_t pmi_query_job(const char *name, const char *namespace);

#endif
