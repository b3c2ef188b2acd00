/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts files, directories and symbolic links where a manifest says, and nowhere else. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/time.h"
#include "launch/exec/stage_store_internal.h"

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define NO_REPLACE      1u /* RENAME_NOREPLACE */

/* The directory that was used last stays open: files of one directory follow each other. */
struct placing {
    struct stage_store *store;
    const struct stage_manifest *manifest;
    uint32_t job;
    int fd; /* -1: none */
    uint32_t root;
    char *parent;
    struct error *error;
    unsigned char *made; /* set of the directories whose permissions are due */
};

/* Without the directory of the session, in which nodes differ, so that equal failures have equal texts. */
static int entry_error(const struct placing *placing, const struct stage_entry *entry, int rc,
                       const char *what)
{
    const char *root = entry->root > 0 ? placing->manifest->roots[entry->root - 1] : "";

    assert(rc < 0);
    if (rc == -EEXIST)
        return error_set(placing->error, rc,
                         "%s%s%.200s exists and differs; --force replaces existing files", root,
                         root[0] != '\0' ? "/" : "", entry->path);
    if (rc == -ELOOP || rc == -ENOTDIR)
        return error_set(placing->error, rc,
                         "cannot %s %s%s%.200s: a file or a symbolic link is where a directory is "
                         "needed",
                         what, root, root[0] != '\0' ? "/" : "", entry->path);
    return error_set(placing->error, rc, "cannot %s %s%s%.200s: %s", what, root,
                     root[0] != '\0' ? "/" : "", entry->path, strerror(-rc));
}

/* ---- directories ---- */

/* The user has named it: symbolic links are his. */
static int open_root(const char *path)
{
    char part[PATH_MAX];
    int fd;

    for (size_t i = 1; path[i] != '\0'; i++) {
        if (path[i] != '/' || i >= sizeof(part))
            continue;
        snprintf(part, sizeof(part), "%.*s", (int)i, path);
        if (mkdir(part, 0777) < 0 && errno != EEXIST && errno != EISDIR && errno != EROFS)
            return -errno;
    }
    if (mkdir(path, 0777) < 0 && errno != EEXIST && errno != EISDIR && errno != EROFS)
        return -errno;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int open_start(const struct placing *placing, uint32_t root)
{
    char name[16];
    int fd;

    if (root > 0)
        return open_root(placing->manifest->roots[root - 1]);
    snprintf(name, sizeof(name), "%u", placing->job);
    if (mkdirat(placing->store->base_fd, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = openat(placing->store->base_fd, name, DIRECTORY_FLAGS);
    return fd < 0 ? -errno : fd;
}

/* A component of a path.  Takes parent. */
static int open_next(int parent, const char *name)
{
    int fd = openat(parent, name, DIRECTORY_FLAGS);
    int rc;

    if (fd < 0 && errno == ENOENT) {
        rc = mkdirat(parent, name, 0755) < 0 && errno != EEXIST ? -errno : 0;
        fd = rc == 0 ? openat(parent, name, DIRECTORY_FLAGS) : -1;
        if (rc < 0)
            errno = -rc;
    }
    rc = fd < 0 ? -errno : fd;
    close(parent);
    return rc;
}

static int open_path(const struct placing *placing, uint32_t root, const char *path, size_t bytes)
{
    int fd = open_start(placing, root);
    char name[NAME_MAX + 1];

    while (fd >= 0 && bytes > 0) {
        size_t length = strcspn(path, "/");

        length = length < bytes ? length : bytes;
        if (length >= sizeof(name)) {
            close(fd);
            return -ENAMETOOLONG;
        }
        snprintf(name, sizeof(name), "%.*s", (int)length, path);
        fd = open_next(fd, name);
        path += length + (length < bytes);
        bytes -= length + (length < bytes);
    }
    return fd;
}

/* Of the entry; kept in placing. */
static int open_parent(struct placing *placing, const struct stage_entry *entry,
                       const char **ret_name)
{
    const char *slash = strrchr(entry->path, '/');
    size_t bytes = slash != NULL ? (size_t)(slash - entry->path) : 0;

    *ret_name = slash != NULL ? slash + 1 : entry->path;
    if (placing->fd >= 0 && placing->root == entry->root && strlen(placing->parent) == bytes &&
        memcmp(placing->parent, entry->path, bytes) == 0)
        return placing->fd;
    if (placing->fd >= 0)
        close(placing->fd);
    free(placing->parent);
    placing->parent = memory_printf("%.*s", (int)bytes, entry->path);
    placing->root = entry->root;
    placing->fd = open_path(placing, entry->root, entry->path, bytes);
    return placing->fd;
}

/* Writable until all is in it. Those of the stage directory may be left from an earlier attempt. */
static int place_directory(struct placing *placing, uint32_t index)
{
    const struct stage_entry *entry = &placing->manifest->entries[index];
    size_t set_bytes = STAGE_SET_BYTES(placing->manifest->entries_count);
    const char *name;
    int parent = open_parent(placing, entry, &name);
    int is_new, fd;

    if (parent < 0)
        return parent;
    is_new = mkdirat(parent, name, 0700) == 0;
    if (!is_new && errno != EEXIST)
        return -errno;
    fd = openat(parent, name, DIRECTORY_FLAGS);
    if (fd < 0)
        return -errno;
    if (is_new || entry->root == 0) {
        (void)fchmod(fd, (mode_t)entry->mode | 0700);
        stage_set_add(placing->made, set_bytes, index);
    }
    close(fd);
    return 0;
}

/* Inner ones first. */
static int finish_directories(struct placing *placing)
{
    size_t set_bytes = STAGE_SET_BYTES(placing->manifest->entries_count);

    for (uint32_t i = placing->manifest->entries_count; i-- > 0;) {
        const struct stage_entry *entry = &placing->manifest->entries[i];
        const char *name;
        int fd;

        if (!stage_set_has(placing->made, set_bytes, i) || (entry->mode & 0700) == 0700)
            continue;
        fd = open_parent(placing, entry, &name);
        if (fd >= 0)
            fd = openat(fd, name, DIRECTORY_FLAGS);
        if (fd < 0 || fchmod(fd, (mode_t)entry->mode) < 0) {
            int rc = entry_error(placing, entry, fd < 0 ? -EIO : -errno, "set permissions of");

            if (fd >= 0)
                close(fd);
            return rc;
        }
        close(fd);
    }
    return 0;
}

/* ---- files ---- */

/* 1 if it is a file with that content. */
static int has_content(const struct placing *placing, const struct stage_entry *entry, int parent,
                       const char *name)
{
    struct stage_store *store = placing->store;
    unsigned char hash[DIGEST_BYTES];
    struct stat status;
    int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int same = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
               (uint64_t)status.st_size == entry->bytes;
    off_t at = 0;

    for (uint32_t i = 0; same && i < entry->chunks_count; i++) {
        const struct stage_chunk *chunk = &placing->manifest->chunks[entry->chunks[i]];

        same = pread(fd, store->room, chunk->bytes, at) == (ssize_t)chunk->bytes &&
               digest_compute(store->digest, store->room, chunk->bytes, hash) == 0 &&
               memcmp(hash, chunk->hash, sizeof(hash)) == 0;
        at += (off_t)chunk->bytes;
    }
    if (fd >= 0)
        close(fd);
    return same;
}

static int write_content(const struct placing *placing, const struct stage_entry *entry, int fd)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < entry->chunks_count; i++) {
        const struct stage_chunk *chunk = &placing->manifest->chunks[entry->chunks[i]];

        rc = stage_store_read(placing->store, chunk);
        if (rc == 0)
            rc = stage_store_write_all(fd, placing->store->room, chunk->bytes);
    }
    if (rc == 0 && fchmod(fd, (mode_t)entry->mode) < 0)
        rc = -errno;
    times[1].tv_sec = (time_t)(entry->time_ns / NS_PER_S);
    times[1].tv_nsec = (long)(entry->time_ns % NS_PER_S);
    if (rc == 0 && futimens(fd, times) < 0)
        rc = -errno;
    return rc;
}

/* Never replaces anything; some file systems do not know how to rename so. */
static int rename_new(int parent, const char *from, const char *to)
{
    if (syscall(SYS_renameat2, parent, from, parent, to, NO_REPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (linkat(parent, from, parent, to, 0) < 0)
        return -errno;
    return unlinkat(parent, from, 0) < 0 ? -errno : 0;
}

static int place_file(struct placing *placing, const struct stage_entry *entry)
{
    char temporary[64];
    const char *name;
    int parent = open_parent(placing, entry, &name);
    int fd, rc;

    if (parent < 0)
        return parent;
    if (faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        if (has_content(placing, entry, parent, name))
            return 0;
        if (!placing->manifest->force)
            return -EEXIST;
    }
    snprintf(temporary, sizeof(temporary), ".banyan-stage-%d.%u", (int)getpid(),
             placing->store->temporaries++);
    fd = openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    rc = write_content(placing, entry, fd);
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && placing->manifest->force)
        rc = renameat(parent, temporary, parent, name) < 0 ? -errno : 0;
    else if (rc == 0)
        rc = rename_new(parent, temporary, name);
    if (rc < 0)
        unlinkat(parent, temporary, 0);
    if (rc == -EEXIST && has_content(placing, entry, parent, name))
        rc = 0; /* another node with the same file system was faster */
    return rc;
}

/* ---- symbolic links ---- */

static int is_same_link(const struct stage_entry *entry, int parent, const char *name)
{
    char target[PATH_MAX];
    ssize_t bytes = readlinkat(parent, name, target, sizeof(target));

    return bytes >= 0 && (size_t)bytes == strlen(entry->target) &&
           memcmp(target, entry->target, (size_t)bytes) == 0;
}

static int place_link(struct placing *placing, const struct stage_entry *entry)
{
    const char *name;
    int parent = open_parent(placing, entry, &name);

    if (parent < 0)
        return parent;
    if (symlinkat(entry->target, parent, name) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    if (is_same_link(entry, parent, name))
        return 0;
    if (!placing->manifest->force)
        return -EEXIST;
    if (unlinkat(parent, name, 0) < 0 || symlinkat(entry->target, parent, name) < 0)
        return -errno;
    return 0;
}

/* ---- all of them ---- */

static int place_entry(struct placing *placing, uint32_t index)
{
    const struct stage_entry *entry = &placing->manifest->entries[index];
    int rc;

    switch (entry->kind) {
    case STAGE_DIRECTORY:
        rc = place_directory(placing, index);
        break;
    case STAGE_SYMLINK:
        rc = place_link(placing, entry);
        break;
    default:
        assert(entry->kind == STAGE_FILE);
        rc = place_file(placing, entry);
    }
    return rc < 0 ? entry_error(placing, entry, rc, "write") : 0;
}

int stage_store_place(struct stage_store *store, const struct stage_manifest *manifest,
                      uint32_t job, struct error *error)
{
    struct placing placing = {
        .store = store, .manifest = manifest, .job = job, .fd = -1, .error = error};
    int rc = open_start(&placing, 0);

    if (rc < 0)
        return error_set(error, rc, "cannot create the stage directory: %s", strerror(-rc));
    close(rc);
    rc = 0;
    placing.made = memory_allocate_zeroed(STAGE_SET_BYTES(manifest->entries_count) + 1);
    for (uint32_t i = 0; rc == 0 && i < manifest->entries_count; i++)
        rc = place_entry(&placing, i);
    if (rc == 0)
        rc = finish_directories(&placing);
    if (placing.fd >= 0)
        close(placing.fd);
    free(placing.parent);
    free(placing.made);
    return rc;
}
