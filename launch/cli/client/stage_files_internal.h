/* SPDX-License-Identifier: BSD-3-Clause */
/* What stage_files.c (contents) and stage_files_scan.c (names) share. */
#ifndef LAUNCH_CLI_CLIENT_STAGE_FILES_INTERNAL_H
#define LAUNCH_CLI_CLIENT_STAGE_FILES_INTERNAL_H

#include <sys/stat.h>

#include "base/hash_map.h"
#include "fabric/digest.h"
#include "launch/cli/client/stage_files.h"

/* Where an entry comes from, and what it was when it was scanned. */
struct stage_source {
    char *path;
    struct stat status;
};

/* Where a chunk is first found. */
struct stage_place {
    uint32_t entry;
    uint64_t offset;
};

struct stage_files {
    struct stage_manifest manifest;
    struct stage_source *sources; /* of the entries */
    struct stage_place *places;   /* of the chunks */
    struct hash_map *names;       /* "root/path" -> entry + 1 */
    struct hash_map *hashes;      /* -> chunk + 1 */
    struct digest *digest;        /* NULL until the first chunk */
    void *compressor;             /* likewise */
    unsigned char *room;
    uint32_t entry; /* being hashed */
    uint64_t offset;
    int fd; /* of that entry; -1: not open */
};

/* Opens it as it was scanned; never waits. */
int stage_files_open(const struct stage_source *source, struct error *error);
/* 0 if it is what it was. */
int stage_files_compare(const struct stage_source *source, int fd, struct error *error);

#endif
