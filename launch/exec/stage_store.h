/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files that are staged on a node (launch/proto/stage.h): a cache of chunks, each in a file named by its hash,
 * and below a directory one for each job (0: the instance) in which the files are put together.  Blocks: for the
 * process that stage_worker.h describes.
 *
 * Invariant: a chunk is in the cache under its name only after its hash was verified, and is verified again when it
 * is copied into a file; nothing is written outside of the destination, and no symbolic link below it is followed;
 * a file appears under its name when it is complete, and replaces another only if the manifest says so.
 */
#ifndef LAUNCH_EXEC_STAGE_STORE_H
#define LAUNCH_EXEC_STAGE_STORE_H

#include <limits.h>

#include "base/error.h"
#include "launch/proto/stage.h"

struct stage_store;

/* Both directories are made if they do not exist; the one above must.  A cache may be shared with other nodes. */
struct stage_store *stage_store_create(const char *base, const char *cache, struct error *error);
void stage_store_destroy(struct stage_store *store); /* removes nothing; NULL is fine */
/* The same for all stores with this cache. */
uint64_t stage_store_cache_id(const struct stage_store *store);

/* Set of the manifest's chunks that the cache lacks; no bytes: none. */
void stage_store_lacks(const struct stage_store *store, const struct stage_manifest *manifest,
                       struct buffer *ret_lacks);
/* Verifies a chunk and keeps it. */
int stage_store_put(struct stage_store *store, const struct stage_manifest *manifest,
                    const struct stage_piece *piece, struct error *error);
/* Puts all entries of the manifest where they belong; can be repeated. */
int stage_store_place(struct stage_store *store, const struct stage_manifest *manifest,
                      uint32_t job, struct error *error);
void stage_store_directory(const struct stage_store *store, uint32_t job, char path[PATH_MAX]);
void stage_store_remove(struct stage_store *store, uint32_t job);

#endif
