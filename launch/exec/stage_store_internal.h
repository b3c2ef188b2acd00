/* SPDX-License-Identifier: BSD-3-Clause */
/* What stage_store.c (the cache) and stage_store_place.c (the files) share. */
#ifndef LAUNCH_EXEC_STAGE_STORE_INTERNAL_H
#define LAUNCH_EXEC_STAGE_STORE_INTERNAL_H

#include "fabric/digest.h"
#include "launch/exec/stage_store.h"

struct stage_store {
    char *base;
    int base_fd;
    int cache_fd;
    uint64_t cache_id;
    struct digest *digest;
    unsigned char *room; /* STAGE_CHUNK_BYTES */
    unsigned int temporaries;
};

/* The content of a chunk, verified, in store->room. */
int stage_store_read(struct stage_store *store, const struct stage_chunk *chunk);
int stage_store_write_all(int fd, const void *data, size_t bytes);

#endif
