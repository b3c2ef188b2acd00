/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents: hashed, and read again to be sent. */
#include "config.h"

#include "launch/cli/client/stage_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "launch/cli/client/stage_files_internal.h"

#define COMPRESS_LEVEL 1
#define SAMPLE_BYTES   (8u * 1024)
/* Less is not worth the time of all nodes to restore it. */
#define SAVED_PERCENT_MIN 4u

struct stage_files *stage_files_create(bool force)
{
    struct stage_files *files = memory_allocate_zeroed(sizeof(*files));

    files->manifest.force = force;
    files->names = hash_map_create();
    files->hashes = hash_map_create();
    files->fd = -1;
    return files;
}

void stage_files_destroy(struct stage_files *files)
{
    if (files == NULL)
        return;
    for (uint32_t i = 0; i < files->manifest.entries_count; i++)
        free(files->sources[i].path);
    if (files->fd >= 0)
        close(files->fd);
    stage_manifest_fini(&files->manifest);
    hash_map_destroy(files->names);
    hash_map_destroy(files->hashes);
    digest_destroy(files->digest);
    (void)ZSTD_freeCCtx(files->compressor);
    free(files->sources);
    free(files->places);
    free(files->room);
    free(files);
}

const struct stage_manifest *stage_files_manifest(const struct stage_files *files)
{
    return &files->manifest;
}

void stage_files_add_check(struct stage_files *files, struct stage_check *check)
{
    struct stage_manifest *manifest = &files->manifest;

    assert(check->program != NULL && check->directory != NULL);
    manifest->checks =
        memory_resize(manifest->checks, (manifest->checks_count + 1) * sizeof(*manifest->checks));
    manifest->checks[manifest->checks_count++] = *check;
    *check = (struct stage_check){0};
}

/* ---- reading ---- */

static int has_changed(const struct stage_source *source, struct error *error)
{
    return error_set(error, -ESTALE, "cannot stage %.300s: it has changed while it was read",
                     source->path);
}

int stage_files_compare(const struct stage_source *source, int fd, struct error *error)
{
    const struct stat *before = &source->status;
    struct stat now;

    if (fstat(fd, &now) < 0 || now.st_ino != before->st_ino || now.st_dev != before->st_dev ||
        now.st_size != before->st_size || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != before->st_mtim.tv_nsec)
        return has_changed(source, error);
    return 0;
}

int stage_files_open(const struct stage_source *source, struct error *error)
{
    int fd = open(source->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int rc;

    if (fd < 0)
        return error_set(error, -errno, "cannot stage %.300s: %s", source->path, strerror(errno));
    rc = stage_files_compare(source, fd, error);
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

static int read_at(const struct stage_source *source, int fd, uint64_t offset, unsigned char *room,
                   size_t bytes, struct error *error)
{
    while (bytes > 0) {
        ssize_t got = pread(fd, room, bytes, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(error, -errno, "cannot read %.300s: %s", source->path,
                             strerror(errno));
        if (got == 0)
            return has_changed(source, error);
        room += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

static int hash_room(struct stage_files *files, size_t bytes, unsigned char *hash,
                     struct error *error)
{
    if (files->digest == NULL)
        files->digest = digest_create();
    if (files->digest == NULL || digest_compute(files->digest, files->room, bytes, hash) < 0)
        return error_set(error, -EIO, "OpenSSL cannot compute SHA-256 here");
    return 0;
}

/* ---- hashing ---- */

static int chunk_number(struct stage_files *files, const unsigned char *hash, uint32_t bytes,
                        uint32_t *ret_chunk, struct error *error)
{
    struct stage_manifest *manifest = &files->manifest;
    uintptr_t known = (uintptr_t)hash_map_get(files->hashes, hash, STAGE_HASH_BYTES);
    uint32_t count = manifest->chunks_count;

    if (known > 0) {
        *ret_chunk = (uint32_t)known - 1;
        return 0;
    }
    if (count == STAGE_CHUNKS_MAX)
        return error_set(error, -E2BIG, "there is too much to stage: more than %u MiB",
                         STAGE_CHUNKS_MAX);
    if ((count & (count + 1)) == 0) {
        manifest->chunks =
            memory_resize(manifest->chunks, 2 * ((size_t)count + 1) * sizeof(*manifest->chunks));
        files->places =
            memory_resize(files->places, 2 * ((size_t)count + 1) * sizeof(*files->places));
    }
    memcpy(manifest->chunks[count].hash, hash, STAGE_HASH_BYTES);
    manifest->chunks[count].bytes = bytes;
    files->places[count] = (struct stage_place){.entry = files->entry, .offset = files->offset};
    manifest->chunks_count++;
    (void)hash_map_put(files->hashes, hash, STAGE_HASH_BYTES, (void *)((uintptr_t)count + 1));
    *ret_chunk = count;
    return 0;
}

static int hash_chunk(struct stage_files *files, struct stage_entry *entry, struct error *error)
{
    const struct stage_source *source = &files->sources[files->entry];
    uint64_t left = entry->bytes - files->offset;
    uint32_t bytes = left < STAGE_CHUNK_BYTES ? (uint32_t)left : STAGE_CHUNK_BYTES;
    unsigned char hash[STAGE_HASH_BYTES];
    int rc;

    assert(files->fd >= 0 && files->offset < entry->bytes && bytes > 0);
    if (files->room == NULL)
        files->room = memory_allocate(STAGE_CHUNK_BYTES);
    if (entry->chunks == NULL)
        entry->chunks = memory_allocate_zeroed(
            (size_t)((entry->bytes + STAGE_CHUNK_BYTES - 1) / STAGE_CHUNK_BYTES) *
            sizeof(*entry->chunks));
    rc = read_at(source, files->fd, files->offset, files->room, bytes, error);
    if (rc == 0)
        rc = hash_room(files, bytes, hash, error);
    if (rc == 0)
        rc = chunk_number(files, hash, bytes, &entry->chunks[entry->chunks_count], error);
    if (rc < 0)
        return rc;
    entry->chunks_count++;
    files->offset += bytes;
    return 0;
}

/* The next one that has content. */
static struct stage_entry *next_entry(struct stage_files *files)
{
    for (; files->entry < files->manifest.entries_count; files->entry++)
        if (files->manifest.entries[files->entry].bytes > 0)
            return &files->manifest.entries[files->entry];
    return NULL;
}

int stage_files_hash(struct stage_files *files, struct error *error)
{
    struct stage_entry *entry = next_entry(files);
    int rc = 0;

    if (entry == NULL)
        return 0;
    if (files->fd < 0)
        rc = files->fd = stage_files_open(&files->sources[files->entry], error);
    if (rc >= 0)
        rc = hash_chunk(files, entry, error);
    if (rc == 0 && files->offset < entry->bytes)
        return 1;
    if (rc == 0)
        rc = stage_files_compare(&files->sources[files->entry], files->fd, error);
    if (files->fd >= 0)
        close(files->fd);
    files->fd = -1;
    if (rc < 0)
        return rc;
    files->entry++;
    files->offset = 0;
    return next_entry(files) != NULL;
}

/* ---- sending ---- */

/* What does not become shorter is recognised by its beginning. */
static int is_worth_it(size_t packed, size_t plain)
{
    return !ZSTD_isError(packed) && packed <= plain - plain * SAVED_PERCENT_MIN / 100;
}

static size_t compress_room(struct stage_files *files, size_t bytes, unsigned char *out,
                            size_t room)
{
    size_t packed;

    if (files->compressor == NULL)
        files->compressor = ZSTD_createCCtx();
    if (files->compressor == NULL || bytes < 64)
        return 0;
    if (bytes > 4 * SAMPLE_BYTES) {
        packed = ZSTD_compressCCtx(files->compressor, out, room, files->room, SAMPLE_BYTES,
                                   COMPRESS_LEVEL);
        if (!is_worth_it(packed, SAMPLE_BYTES))
            return 0;
    }
    packed = ZSTD_compressCCtx(files->compressor, out, room, files->room, bytes, COMPRESS_LEVEL);
    return is_worth_it(packed, bytes) ? packed : 0;
}

static int read_chunk(struct stage_files *files, uint32_t chunk, struct error *error)
{
    const struct stage_place *place = &files->places[chunk];
    const struct stage_source *source = &files->sources[place->entry];
    unsigned char hash[STAGE_HASH_BYTES];
    uint32_t bytes = files->manifest.chunks[chunk].bytes;
    int fd = stage_files_open(source, error);
    int rc;

    assert(files->room != NULL && bytes <= STAGE_CHUNK_BYTES); /* it was hashed */
    if (fd < 0)
        return fd;
    rc = read_at(source, fd, place->offset, files->room, bytes, error);
    close(fd);
    if (rc == 0)
        rc = hash_room(files, bytes, hash, error);
    if (rc == 0 && memcmp(hash, files->manifest.chunks[chunk].hash, sizeof(hash)) != 0)
        rc = has_changed(source, error);
    return rc;
}

int stage_files_put(struct stage_files *files, uint32_t chunk, struct buffer *pack,
                    struct error *error)
{
    struct stage_piece piece = {.chunk = chunk};
    size_t room = ZSTD_compressBound(STAGE_CHUNK_BYTES);
    unsigned char *packed;
    size_t packed_bytes;
    int rc;

    assert(chunk < files->manifest.chunks_count);
    rc = read_chunk(files, chunk, error);
    if (rc < 0)
        return rc;
    packed = memory_allocate(room);
    packed_bytes = compress_room(files, files->manifest.chunks[chunk].bytes, packed, room);
    piece.is_compressed = packed_bytes > 0;
    piece.bytes.data = packed_bytes > 0 ? packed : files->room;
    piece.bytes.length_bytes =
        packed_bytes > 0 ? packed_bytes : files->manifest.chunks[chunk].bytes;
    stage_piece_encode(&piece, pack);
    free(packed);
    return 0;
}
