/* SPDX-License-Identifier: BSD-3-Clause */
/* What the command line names: files, directories and symbolic links, and where they go. */
#include "config.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "launch/cli/client/stage_files_internal.h"

#define DEPTH_MAX 128 /* of directories */

/* Where a word of the command line goes. */
struct destination {
    uint32_t root;
    char path[PATH_MAX]; /* "": the contents of a directory go into the root */
};

static int stage_error(struct error *error, int rc, const char *path, const char *what)
{
    return error_set(error, rc, "cannot stage %.300s: %s", path, what);
}

/* ---- entries ---- */

static char *entry_name(uint32_t root, const char *path)
{
    return memory_printf("%u/%s", root, path);
}

/* NULL, with an error, if something else has that name; *ret_known: it is there already. */
static struct stage_entry *new_entry(struct stage_files *files, const struct destination *to,
                                     uint8_t kind, int *ret_known, struct error *error)
{
    struct stage_manifest *manifest = &files->manifest;
    char *name = entry_name(to->root, to->path);
    uintptr_t before = (uintptr_t)hash_map_get(files->names, name, strlen(name));
    struct stage_entry *entry = NULL;

    *ret_known = before > 0 && manifest->entries[before - 1].kind == kind;
    if (before > 0) {
        if (!*ret_known || kind != STAGE_DIRECTORY)
            error_set(error, -EEXIST, "two files would be staged as %.300s", to->path);
    } else if (manifest->entries_count == STAGE_ENTRIES_MAX || !stage_path_is_safe(to->path)) {
        error_set(error, -E2BIG, "cannot stage %.300s: %s", to->path,
                  stage_path_is_safe(to->path) ? "there are too many files"
                                               : "its path is too long");
    } else {
        uint32_t count = manifest->entries_count + 1;

        manifest->entries = memory_resize(manifest->entries, count * sizeof(*manifest->entries));
        files->sources = memory_resize(files->sources, count * sizeof(*files->sources));
        files->sources[count - 1] = (struct stage_source){.path = NULL};
        entry = &manifest->entries[count - 1];
        *entry = (struct stage_entry){
            .kind = kind, .root = to->root, .path = memory_copy_string(to->path)};
        manifest->entries_count = count;
        (void)hash_map_put(files->names, name, strlen(name), (void *)(uintptr_t)count);
    }
    free(name);
    return entry;
}

/* Holes would be filled, and a file of terabytes may have nothing but them. */
static int is_sparse(int fd, const struct stat *status)
{
    off_t hole = status->st_size > 0 ? lseek(fd, 0, SEEK_HOLE) : -1;

    return hole >= 0 && hole < status->st_size;
}

/* fd is of what it names: a file, or it is refused. */
static int add_file(struct stage_files *files, const struct destination *to, const char *source,
                    int fd, struct error *error)
{
    struct stage_entry *entry;
    struct stat status;
    int known;

    assert(fd >= 0 && to->path[0] != '\0');
    if (fstat(fd, &status) < 0)
        return stage_error(error, -errno, source, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return stage_error(error, -EINVAL, source,
                           "it is neither a file nor a directory nor a symbolic link");
    if (is_sparse(fd, &status))
        return stage_error(error, -EINVAL, source, "it is a sparse file");
    entry = new_entry(files, to, STAGE_FILE, &known, error);
    if (entry == NULL)
        return error->code;
    entry->mode = status.st_mode & 0777;
    entry->bytes = (uint64_t)status.st_size;
    entry->time_ns = (uint64_t)status.st_mtim.tv_sec * NS_PER_S + (uint64_t)status.st_mtim.tv_nsec;
    files->sources[files->manifest.entries_count - 1].path = memory_copy_string(source);
    files->sources[files->manifest.entries_count - 1].status = status;
    return 0;
}

static int add_link(struct stage_files *files, const struct destination *to, const char *source,
                    int parent, const char *name, struct error *error)
{
    char target[STAGE_PATH_BYTES_MAX + 1];
    ssize_t bytes = readlinkat(parent, name, target, sizeof(target));
    struct stage_entry *entry;
    int known;

    if (bytes <= 0 || (size_t)bytes == sizeof(target))
        return stage_error(error, bytes < 0 ? -errno : -ENAMETOOLONG, source,
                           bytes < 0 ? strerror(errno) : "its target is too long");
    entry = new_entry(files, to, STAGE_SYMLINK, &known, error);
    if (entry == NULL)
        return error->code;
    target[bytes] = '\0';
    entry->target = memory_copy_string(target);
    return 0;
}

static int add_tree(struct stage_files *files, const struct destination *to, const char *source,
                    int fd, int depth, struct error *error);

/* A name in a directory that is being scanned. */
static int add_name(struct stage_files *files, const struct destination *to, const char *source,
                    int parent, const char *name, int depth, struct error *error)
{
    struct destination inner = {.root = to->root};
    char path[PATH_MAX];
    struct stat status;
    int fd, rc;

    if (snprintf(path, sizeof(path), "%s/%s", source, name) >= (int)sizeof(path) ||
        snprintf(inner.path, sizeof(inner.path), "%s%s%s", to->path, to->path[0] != '\0' ? "/" : "",
                 name) >= (int)sizeof(inner.path))
        return stage_error(error, -ENAMETOOLONG, source, "a path below it is too long");
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return stage_error(error, -errno, path, strerror(errno));
    if (S_ISLNK(status.st_mode))
        return add_link(files, &inner, path, parent, name, error);
    fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return stage_error(error, -errno, path,
                           errno == ENXIO ? "it is a socket or a device" : strerror(errno));
    rc = S_ISDIR(status.st_mode) ? add_tree(files, &inner, path, fd, depth + 1, error)
                                 : add_file(files, &inner, path, fd, error);
    close(fd);
    return rc;
}

static int skip_dots(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int add_tree(struct stage_files *files, const struct destination *to, const char *source,
                    int fd, int depth, struct error *error)
{
    struct dirent **names = NULL;
    struct stage_entry *entry;
    struct stat status;
    int count, known, rc = 0;

    if (depth > DEPTH_MAX)
        return stage_error(error, -ELOOP, source, "its directories are nested too deeply");
    if (fstat(fd, &status) < 0 || !S_ISDIR(status.st_mode))
        return stage_error(error, -ENOTDIR, source, "it has changed");
    if (to->path[0] != '\0') {
        entry = new_entry(files, to, STAGE_DIRECTORY, &known, error);
        if (entry == NULL && !known)
            return error->code;
        if (entry != NULL)
            entry->mode = status.st_mode & 0777;
    }
    count = scandirat(fd, ".", &names, skip_dots, alphasort);
    if (count < 0)
        return stage_error(error, -errno, source, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (rc == 0)
            rc = add_name(files, to, source, fd, names[i]->d_name, depth, error);
        free(names[i]);
    }
    free(names);
    return rc;
}

/* ---- destinations ---- */

static uint32_t root_number(struct stage_files *files, const char *path, size_t bytes)
{
    struct stage_manifest *manifest = &files->manifest;
    char *root = memory_printf("%.*s", bytes > 0 ? (int)bytes : 1, path);

    for (uint32_t i = 0; i < manifest->roots_count; i++) {
        if (strcmp(manifest->roots[i], root) == 0) {
            free(root);
            return i + 1;
        }
    }
    manifest->roots =
        memory_resize(manifest->roots, (manifest->roots_count + 1) * sizeof(*manifest->roots));
    manifest->roots[manifest->roots_count++] = root;
    return manifest->roots_count;
}

/* Without "./" in front and "/" at the end. */
static void trim_path(const char *path, char trimmed[PATH_MAX])
{
    size_t length;

    while (path[0] == '.' && path[1] == '/')
        path += 2 + strspn(path + 2, "/");
    snprintf(trimmed, PATH_MAX, "%s", path);
    length = strlen(trimmed);
    while (length > 1 && trimmed[length - 1] == '/')
        trimmed[--length] = '\0';
}

/* The last component of what it really is, as "." and ".." name nothing. */
static void last_name(const char *source, char name[NAME_MAX + 1])
{
    char real[PATH_MAX];
    const char *slash;

    trim_path(source, real);
    slash = strrchr(real, '/');
    snprintf(name, NAME_MAX + 1, "%.255s", slash != NULL ? slash + 1 : real);
    if (stage_path_is_safe(name) || realpath(source, real) == NULL)
        return;
    slash = strrchr(real, '/');
    snprintf(name, NAME_MAX + 1, "%.255s", slash + 1);
}

static int choose_default(const char *source, struct destination *ret_to, struct error *error)
{
    trim_path(source, ret_to->path);
    if (!stage_path_is_safe(ret_to->path))
        last_name(source, ret_to->path);
    return stage_path_is_safe(ret_to->path)
               ? 0
               : stage_error(error, -EINVAL, source, "it has no name: give it one by ':DEST'");
}

static int choose_given(struct stage_files *files, const char *source, const char *given,
                        int is_directory, struct destination *ret_to, struct error *error)
{
    char name[NAME_MAX + 1], trimmed[PATH_MAX];
    size_t length = strlen(given);
    int is_into = length > 0 && given[length - 1] == '/';
    const char *slash;

    last_name(source, name);
    trim_path(given, trimmed);
    if (strcmp(trimmed, ".") == 0 || trimmed[0] == '\0') {
        snprintf(ret_to->path, sizeof(ret_to->path), "%s", is_directory && !is_into ? "" : name);
        return 0;
    }
    if (!stage_path_is_safe(trimmed[0] == '/' ? trimmed + 1 : trimmed))
        return error_set(error, -EINVAL,
                         "cannot stage %.200s as %.200s: a destination has no '..', '.' or empty "
                         "components",
                         source, given);
    if (trimmed[0] != '/') {
        if (snprintf(ret_to->path, sizeof(ret_to->path), "%s%s%s", trimmed, is_into ? "/" : "",
                     is_into ? name : "") >= (int)sizeof(ret_to->path))
            return stage_error(error, -ENAMETOOLONG, source, "its destination is too long");
        return 0;
    }
    slash = is_into ? trimmed + strlen(trimmed) : strrchr(trimmed, '/');
    ret_to->root = root_number(files, trimmed, (size_t)(slash - trimmed));
    snprintf(ret_to->path, sizeof(ret_to->path), "%s", is_into ? name : slash + 1);
    return 0;
}

/* What is after the last ':' is the destination, unless there is a file of the whole name. */
static char *split_word(const char *word, char *source)
{
    char *colon = strrchr(source, ':');
    struct stat status;

    if (colon == NULL || lstat(word, &status) == 0)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

int stage_files_add(struct stage_files *files, const char *word, struct error *error)
{
    struct destination to = {.root = 0};
    char *source = memory_copy_string(word);
    const char *given = split_word(word, source);
    struct stat status;
    int fd = open(source, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int rc;

    if (fd < 0 || fstat(fd, &status) < 0) {
        rc = stage_error(error, -errno, source,
                         errno == ENXIO ? "it is a socket or a device" : strerror(errno));
    } else {
        rc = given == NULL
                 ? choose_default(source, &to, error)
                 : choose_given(files, source, given, S_ISDIR(status.st_mode), &to, error);
        if (rc == 0 && S_ISDIR(status.st_mode))
            rc = add_tree(files, &to, source, fd, 0, error);
        else if (rc == 0)
            rc = add_file(files, &to, source, fd, error);
    }
    if (fd >= 0)
        close(fd);
    free(source);
    return rc;
}

int stage_files_add_as(struct stage_files *files, const char *source, const char *path,
                       struct error *error)
{
    struct destination to = {.root = 0};
    char *name = entry_name(0, path);
    int is_there = hash_map_get(files->names, name, strlen(name)) != NULL;
    int fd, rc;

    assert(stage_path_is_safe(path));
    free(name);
    if (is_there)
        return 0;
    snprintf(to.path, sizeof(to.path), "%s", path);
    fd = open(source, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return stage_error(error, -errno, source, strerror(errno));
    rc = add_file(files, &to, source, fd, error);
    close(fd);
    return rc;
}
