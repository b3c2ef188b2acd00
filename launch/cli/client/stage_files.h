/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of this machine that are staged: what the command line names is scanned first, so that everything
 * wrong with it is known before anything starts; then contents are hashed, a chunk at a time; then chunks are read
 * again to be sent.  A file that changes in between is an error.
 *
 * Memory: the manifest, and a name for each file; files are open only while they are read.
 */
#ifndef LAUNCH_CLI_CLIENT_STAGE_FILES_H
#define LAUNCH_CLI_CLIENT_STAGE_FILES_H

#include "base/error.h"
#include "launch/proto/stage.h"

struct stage_files;

struct stage_files *stage_files_create(bool force);
void stage_files_destroy(struct stage_files *files); /* NULL is fine */

/* FILE|DIR[:DEST].  DEST is relative to the stage directory, or absolute; without one, a relative path is kept, and
 * of others the last component. */
int stage_files_add(struct stage_files *files, const char *word, struct error *error);
/* A single file under that path in the stage directory; nothing happens if it is there already. */
int stage_files_add_as(struct stage_files *files, const char *source, const char *path,
                       struct error *error);
/* check: content is moved. */
void stage_files_add_check(struct stage_files *files, struct stage_check *check);

/* Hashes the next chunk: 1 while there are more, then 0. */
int stage_files_hash(struct stage_files *files, struct error *error);
const struct stage_manifest *stage_files_manifest(const struct stage_files *files);
/* Appends a chunk to a pack, compressed if that saves something. */
int stage_files_put(struct stage_files *files, uint32_t chunk, struct buffer *pack,
                    struct error *error);

#endif
