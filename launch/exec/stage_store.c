/* SPDX-License-Identifier: BSD-3-Clause */
/* The cache of chunks. */
#include "config.h"

#include "launch/exec/stage_store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "base/hash.h"
#include "launch/exec/session.h"
#include "launch/exec/stage_store_internal.h"

#define NAME_BYTES (2 * STAGE_HASH_BYTES + 1)

_Static_assert(STAGE_HASH_BYTES == DIGEST_BYTES, "chunks are named by their SHA-256");

static int open_made(const char *path, struct error *error)
{
    int fd;

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_set(error, -errno, "cannot create %s: %s", path, strerror(errno));
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 ? fd : error_set(error, -errno, "cannot open %s: %s", path, strerror(errno));
}

static int open_cache(struct stage_store *store, const char *cache, struct error *error)
{
    uint64_t words[2];
    struct stat status;

    store->base_fd = open_made(store->base, error);
    if (store->base_fd < 0)
        return store->base_fd;
    store->cache_fd = open_made(cache, error);
    if (store->cache_fd < 0)
        return store->cache_fd;
    if (fstat(store->cache_fd, &status) < 0)
        return error_set(error, -errno, "cannot use %s: %s", cache, strerror(errno));
    words[0] = status.st_dev;
    words[1] = status.st_ino;
    store->cache_id = hash_bytes(words, sizeof(words), 0);
    store->digest = digest_create();
    return store->digest != NULL ? 0 : error_set(error, -EIO, "OpenSSL has no SHA-256 here");
}

struct stage_store *stage_store_create(const char *base, const char *cache, struct error *error)
{
    struct stage_store *store = memory_allocate_zeroed(sizeof(*store));

    store->base = memory_copy_string(base);
    store->base_fd = store->cache_fd = -1;
    store->room = memory_allocate(STAGE_CHUNK_BYTES);
    if (open_cache(store, cache, error) == 0)
        return store;
    stage_store_destroy(store);
    return NULL;
}

void stage_store_destroy(struct stage_store *store)
{
    if (store == NULL)
        return;
    if (store->base_fd >= 0)
        close(store->base_fd);
    if (store->cache_fd >= 0)
        close(store->cache_fd);
    digest_destroy(store->digest);
    free(store->base);
    free(store->room);
    free(store);
}

uint64_t stage_store_cache_id(const struct stage_store *store)
{
    return store->cache_id;
}

void stage_store_directory(const struct stage_store *store, uint32_t job, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%u", store->base, job);
}

void stage_store_remove(struct stage_store *store, uint32_t job)
{
    char path[PATH_MAX];

    stage_store_directory(store, job, path);
    (void)session_remove_tree(path);
}

static void name_chunk(const struct stage_chunk *chunk, char name[NAME_BYTES])
{
    for (size_t i = 0; i < STAGE_HASH_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", chunk->hash[i]);
}

static bool has_chunk(const struct stage_store *store, const struct stage_chunk *chunk)
{
    char name[NAME_BYTES];
    struct stat status;

    name_chunk(chunk, name);
    return fstatat(store->cache_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && status.st_size == (off_t)chunk->bytes;
}

void stage_store_lacks(const struct stage_store *store, const struct stage_manifest *manifest,
                       struct buffer *ret_lacks)
{
    size_t bytes = STAGE_SET_BYTES(manifest->chunks_count);
    unsigned char *set = memory_allocate_zeroed(bytes);
    bool lacks_any = false;

    for (uint32_t i = 0; i < manifest->chunks_count; i++) {
        if (has_chunk(store, &manifest->chunks[i]))
            continue;
        stage_set_add(set, bytes, i);
        lacks_any = true;
    }
    buffer_clear(ret_lacks);
    if (lacks_any)
        buffer_append(ret_lacks, set, bytes);
    free(set);
}

int stage_store_write_all(int fd, const void *data, size_t bytes)
{
    const unsigned char *position = data;

    while (bytes > 0) {
        ssize_t written = write(fd, position, bytes);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        position += written;
        bytes -= (size_t)written;
    }
    return 0;
}

/* Under its name only when it is complete: others may share the cache. */
static int write_chunk(struct stage_store *store, const struct stage_chunk *chunk, const void *data)
{
    char name[NAME_BYTES], temporary[64];
    int fd, rc;

    name_chunk(chunk, name);
    snprintf(temporary, sizeof(temporary), ".%d.%u", (int)getpid(), store->temporaries++);
    fd = openat(store->cache_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd < 0)
        return -errno;
    rc = stage_store_write_all(fd, data, chunk->bytes);
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && renameat(store->cache_fd, temporary, store->cache_fd, name) < 0)
        rc = -errno;
    if (rc < 0)
        unlinkat(store->cache_fd, temporary, 0);
    return rc;
}

/* The bytes of the chunk, in the piece or in store->room; NULL if they are not what they should be. */
static const unsigned char *piece_content(struct stage_store *store,
                                          const struct stage_chunk *chunk,
                                          const struct stage_piece *piece)
{
    const unsigned char *data = piece->bytes.data;
    size_t bytes = piece->bytes.length_bytes;
    unsigned char hash[DIGEST_BYTES];

    if (piece->is_compressed) {
        bytes = ZSTD_decompress(store->room, STAGE_CHUNK_BYTES, data, bytes);
        data = store->room;
    }
    if (bytes != chunk->bytes || digest_compute(store->digest, data, bytes, hash) < 0)
        return NULL;
    return memcmp(hash, chunk->hash, sizeof(hash)) == 0 ? data : NULL;
}

int stage_store_put(struct stage_store *store, const struct stage_manifest *manifest,
                    const struct stage_piece *piece, struct error *error)
{
    const struct stage_chunk *chunk;
    const unsigned char *data;
    int rc;

    if (piece->chunk >= manifest->chunks_count)
        return error_set(error, -EBADMSG, "received a chunk that is not in the manifest");
    chunk = &manifest->chunks[piece->chunk];
    if (has_chunk(store, chunk))
        return 0;
    data = piece_content(store, chunk, piece);
    if (data == NULL)
        return error_set(error, -EBADMSG, "received a chunk whose hash is wrong");
    rc = write_chunk(store, chunk, data);
    return rc == 0 ? 0
                   : error_set(error, rc,
                               "cannot keep the files to stage: %s (free some space, or choose "
                               "another directory with --tmpdir)",
                               strerror(-rc));
}

static int read_whole(int fd, unsigned char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t got = read(fd, data, bytes);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EBADMSG;
        data += got;
        bytes -= (size_t)got;
    }
    return 0;
}

int stage_store_read(struct stage_store *store, const struct stage_chunk *chunk)
{
    unsigned char hash[DIGEST_BYTES];
    char name[NAME_BYTES];
    int fd, rc;

    assert(chunk->bytes > 0 && chunk->bytes <= STAGE_CHUNK_BYTES);
    name_chunk(chunk, name);
    fd = openat(store->cache_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    rc = read_whole(fd, store->room, chunk->bytes);
    close(fd);
    if (rc == 0)
        rc = digest_compute(store->digest, store->room, chunk->bytes, hash);
    if (rc == 0 && memcmp(hash, chunk->hash, sizeof(hash)) != 0) {
        unlinkat(store->cache_fd, name, 0); /* it is lacking from now on */
        rc = -EBADMSG;
    }
    return rc;
}
