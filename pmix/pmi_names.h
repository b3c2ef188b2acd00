/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What PMI_REQUEST_PUBLISH, LOOKUP and UNPUBLISH carry, and their answers (PMIx 4.1, 7).  A value is
 * opaque here: the speaker has packed it.
 *
 * A process has access to a value if it is in the range that the publisher gave, and finds it if the
 * publisher is in the range that it gives itself.  Keys are unique within a range: per namespace,
 * node, process or list of processes, or in the whole instance.
 *
 * Decoding is O(bytes) and copies nothing: the results are valid as long as the bytes.
 */
#ifndef PMIX_PMI_NAMES_H
#define PMIX_PMI_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"

#define PMI_NAMES_KEY_BYTES_MAX   511u
#define PMI_NAMES_VALUE_BYTES_MAX (16u << 20)
#define PMI_NAMES_KEYS_MAX        65536u
#define PMI_NAMES_RANK_ALL        UINT32_MAX

/* Processes: of whom, seen from the publisher or from the caller. */
enum pmi_names_range {
    PMI_NAMES_PROCESS, /* itself */
    PMI_NAMES_NODE,    /* of its node */
    PMI_NAMES_NAMESPACE,
    PMI_NAMES_LIST,    /* those listed */
    PMI_NAMES_SESSION, /* of the instance */
    PMI_NAMES_GLOBAL,  /* all that can be reached: likewise the instance */
    PMI_NAMES_MANAGER, /* none: only the resource manager */
    PMI_NAMES_ANY,     /* unpublish: whatever the range was */
    PMI_NAMES_RANGE_COUNT
};

/* How long a value is kept. */
enum pmi_names_persistence {
    PMI_NAMES_UNTIL_READ,    /* once */
    PMI_NAMES_UNTIL_EXIT,    /* of the publisher */
    PMI_NAMES_UNTIL_JOB_END, /* of the publisher's job */
    PMI_NAMES_UNTIL_REMOVED, /* or the end of the instance */
    PMI_NAMES_PERSISTENCE_COUNT
};

/* Of the whole request. */
struct pmi_names {
    enum pmi_names_range range;
    enum pmi_names_persistence persistence; /* publish */
    bool may_replace;                       /* publish: a value of the caller itself */
    bool waits;                             /* lookup: for as many keys as wanted */
    uint32_t wanted;                        /* 0: all */
    struct wire_bytes members;              /* PMI_NAMES_LIST: pmi_names_member_put each */
    uint32_t count;                         /* keys; 0 (unpublish only): all of the caller */
    struct wire_bytes keys;                 /* pmi_names_key_put each */
};

/* A member of a list; rank may be PMI_NAMES_RANK_ALL. */
void pmi_names_member_put(struct buffer *members, const char *namespace, uint32_t rank);
/* The process is one of them. */
bool pmi_names_has_member(const struct wire_bytes *members, const struct wire_bytes *namespace,
                          uint32_t rank);
/* A key, and its value if it is published. */
void pmi_names_key_put(struct buffer *keys, const char *key, const void *value, size_t value_bytes);
void pmi_names_key_get(struct wire_reader *reader, struct wire_bytes *ret_key,
                       struct wire_bytes *ret_value);

void pmi_names_encode(const struct pmi_names *names, struct buffer *out);
/* 0 or -EBADMSG: also if a key or a list is malformed. */
int pmi_names_decode(struct pmi_names *ret_names, struct wire_reader *reader);

/* The answer to a lookup has one of these for each key that was found, to unpublish a u32: how many were
 * removed. */
struct pmi_names_found {
    uint32_t index; /* of the key in the request */
    struct wire_bytes namespace;
    uint32_t rank;
    struct wire_bytes value;
};

void pmi_names_found_encode(const struct pmi_names_found *found, struct buffer *out);
/* wire_status shows whether it failed. */
void pmi_names_found_decode(struct pmi_names_found *ret_found, struct wire_reader *reader);
void pmi_names_removed_encode(uint32_t removed, struct buffer *out);
uint32_t pmi_names_removed_decode(struct wire_reader *reader);

#endif
