/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What staging files says (doc/stage.rst): the manifest, which lists files, directories and symbolic links with
 * the hashes of their contents; packs of chunks; what a client requests, what the root orders, and what the nodes
 * report, which is merged on its way to the root.
 *
 * Invariant: a decoded manifest has no path that leaves its destination, and names no chunk that it does not have.
 */
#ifndef LAUNCH_PROTO_STAGE_H
#define LAUNCH_PROTO_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"
#include "base/wire.h"

#define STAGE_HASH_BYTES         32             /* SHA-256 */
#define STAGE_CHUNK_BYTES        (1024u * 1024) /* all but the last of a file */
#define STAGE_PACK_BYTES         (1024u * 1024) /* a pack is full with at least as much, of at most twice */
#define STAGE_PACKS_MAX          4u             /* on their way to the nodes, of all transfers */
#define STAGE_TRANSFERS_MAX      8u             /* at a time */
#define STAGE_ENTRIES_MAX        (1u << 20)
#define STAGE_CHUNKS_MAX         (1u << 20)
#define STAGE_ROOTS_MAX          4096u
#define STAGE_CHECKS_MAX         4096u
#define STAGE_PATH_BYTES_MAX     4095u
#define STAGE_VARIABLE_BYTES_MAX (128u * 1024)
#define STAGE_MANIFEST_BYTES_MAX (48u * 1024 * 1024)
#define STAGE_TEXT_BYTES         400 /* of a failure */
#define STAGE_FAILURES_MAX       16u /* with different texts, in a report */
#define STAGE_SHARED_MAX         4096u

enum stage_kind { STAGE_FILE, STAGE_DIRECTORY, STAGE_SYMLINK, STAGE_KIND_COUNT };

struct stage_entry {
    uint8_t kind;  /* enum stage_kind */
    uint32_t root; /* index of the directory that path is relative to */
    char *path;
    char *target;     /* of a symbolic link; else NULL */
    uint32_t mode;    /* permissions, of files and directories */
    uint64_t time_ns; /* of the last modification of a file, since the epoch */
    uint64_t bytes;   /* of a file */
    uint32_t *chunks; /* indexes, in the order of the content */
    uint32_t chunks_count;
};

struct stage_chunk {
    unsigned char hash[STAGE_HASH_BYTES];
    uint32_t bytes; /* at least 1 */
};

/* A program whose shared libraries must be found. */
struct stage_check {
    uint8_t
        is_staged; /* program is relative to the stage directory, its libraries may be there, too */
    char *program;
    char *directory;    /* working directory */
    char *path;         /* PATH */
    char *library_path; /* LD_LIBRARY_PATH; "": none */
};

/* A zeroed struct is empty. */
struct stage_manifest {
    uint8_t force; /* existing files are replaced */
    char **
        roots; /* absolute; index 0 is the stage directory and not listed: root n is roots[n - 1] */
    uint32_t roots_count;
    struct stage_entry *entries; /* directories before what they contain */
    uint32_t entries_count;
    struct stage_chunk *chunks;
    uint32_t chunks_count;
    struct stage_check *checks;
    uint32_t checks_count;
};

void stage_manifest_fini(struct stage_manifest *manifest);
/* Compressed where that is shorter. */
void stage_manifest_encode(const struct stage_manifest *manifest, struct buffer *out);
/* 0 or -EBADMSG; *ret_manifest is empty on failure. */
int stage_manifest_decode(struct stage_manifest *ret_manifest, struct wire_reader *reader);
/* Relative, without empty components, "." and "..". */
bool stage_path_is_safe(const char *path);

/* Sets of chunks: a bit for each. */
#define STAGE_SET_BYTES(chunks) (((size_t)(chunks) + 7) / 8)
bool stage_set_has(const void *set, size_t set_bytes, uint32_t chunk);
void stage_set_add(unsigned char *set, size_t set_bytes, uint32_t chunk);

enum stage_step {
    STAGE_OPEN,   /* the manifest: which chunks are lacking? */
    STAGE_PACK,   /* chunks, for the nodes that keep them */
    STAGE_COMMIT, /* put files where they belong */
    STAGE_REMOVE, /* of the root only: the job has ended; no report */
    STAGE_STEP_COUNT
};

/* What the root broadcasts: JOB_MESSAGE_STAGE. */
struct stage_order {
    uint8_t step;
    uint32_t job;           /* whose stage directory; 0: that of the instance */
    uint32_t transfer;      /* number at the root */
    uint32_t generation;    /* of the gather of reports */
    struct ranges places;   /* who reports; owned */
    struct wire_bytes body; /* the manifest or a pack; inside the message */
};

/* With the message's kind; it must have been read before the rest is decoded. */
void stage_order_encode(const struct stage_order *order, struct buffer *out);
/* 0 or -EBADMSG; *ret_order must be freed after success. */
int stage_order_decode(struct stage_order *ret_order, struct wire_reader *reader);
void stage_order_fini(struct stage_order *order);

/* A chunk of a pack. */
struct stage_piece {
    uint32_t chunk;
    uint8_t is_compressed;
    struct wire_bytes bytes; /* inside the message */
};

void stage_piece_encode(const struct stage_piece *piece, struct buffer *out);
/* 1: the next one, 0: there are no more, -EBADMSG. */
int stage_piece_decode(struct stage_piece *ret_piece, struct wire_reader *reader);

/* What the process of a node that carries orders out says to its daemon. */
struct stage_reply {
    uint32_t generation;      /* of the order */
    struct wire_bytes report; /* inside the message */
};

void stage_reply_encode(uint32_t generation, const struct buffer *report, struct buffer *out);
int stage_reply_decode(struct stage_reply *ret_reply, struct wire_reader *reader);

struct stage_failure {
    char text[STAGE_TEXT_BYTES];
    struct ranges places;
};

/* Places that share a cache: the first of them keeps what is sent. */
struct stage_shared {
    uint64_t cache;
    uint32_t place;
};

/* A zeroed struct is empty. */
struct stage_report {
    struct buffer lacks;   /* set of chunks; no bytes: none */
    struct ranges keepers; /* places with a separate cache */
    struct stage_shared *shared;
    uint32_t shared_count;
    struct stage_failure *failures; /* at most STAGE_FAILURES_MAX */
    uint32_t failures_count;
    struct ranges others; /* places whose failures are not listed */
};

void stage_report_fini(struct stage_report *report);
void stage_report_fail(struct stage_report *report, uint32_t place, const char *text);
void stage_report_encode(const struct stage_report *report, struct buffer *out);
int stage_report_decode(struct stage_report *ret_report, struct wire_reader *reader);
/* Merge of the gather. */
void stage_report_merge(struct buffer *merged, const void *other, size_t other_bytes);

/* What a client asks of the root: data of CONTROL_REQUEST with the kind JOB_MESSAGE_STAGE. */
struct stage_request {
    uint8_t step; /* not REMOVE */
    uint32_t job;
    struct wire_bytes body; /* of OPEN the manifest, or nothing: the same again; of PACK pieces */
};

void stage_request_encode(const struct stage_request *request, struct buffer *out);
int stage_request_decode(struct stage_request *ret_request, struct wire_reader *reader);

enum stage_outcome {
    STAGE_DONE,
    STAGE_AGAIN,  /* nodes have been lost: ask again what is lacking */
    STAGE_FAILED, /* text says why and where */
    STAGE_OUTCOME_COUNT
};

/* Its answer: data of CONTROL_ANSWER. */
struct stage_answer {
    uint8_t outcome;
    uint32_t nodes;
    struct wire_bytes text;  /* inside the message */
    struct wire_bytes lacks; /* likewise; of OPEN: set of chunks */
};

void stage_answer_encode(const struct stage_answer *answer, struct buffer *out);
int stage_answer_decode(struct stage_answer *ret_answer, struct wire_reader *reader);

#endif
