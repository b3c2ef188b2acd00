/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/output_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash_map.h"
#include "base/list.h"
#include "base/memory.h"

struct output_file {
    struct list_link open; /* while it is */
    char *path;
    void *user;
    int fd;
    int was_created; /* by us: it is not emptied again */
};

struct output_files {
    struct hash_map *by_path;
    struct list open; /* the most recently used last */
    uint32_t open_count;
    struct error first; /* of a file that could not be closed */
};

struct output_files *output_files_create(void)
{
    struct output_files *files = memory_allocate_zeroed(sizeof(*files));

    files->by_path = hash_map_create();
    list_init(&files->open);
    return files;
}

static void file_close(struct output_files *files, struct output_file *file)
{
    assert(file->fd >= 0 && files->open_count > 0);
    if (close(file->fd) < 0 && errno != EINTR && files->first.code == 0)
        error_set(&files->first, -errno, "cannot write to %s: %s", file->path, strerror(errno));
    file->fd = -1;
    list_remove(&file->open);
    files->open_count--;
}

void output_files_destroy(struct output_files *files)
{
    struct output_file *file;
    size_t cursor = 0;

    if (files == NULL)
        return;
    while ((file = output_files_next(files, &cursor)) != NULL) {
        if (file->fd >= 0)
            file_close(files, file);
        free(file->path);
        free(file);
    }
    hash_map_destroy(files->by_path);
    free(files);
}

struct output_file *output_files_find(struct output_files *files, const char *path)
{
    struct output_file *file = hash_map_get(files->by_path, path, strlen(path));

    if (file != NULL)
        return file;
    file = memory_allocate_zeroed(sizeof(*file));
    file->path = memory_copy_string(path);
    file->fd = -1;
    list_link_init(&file->open);
    hash_map_put(files->by_path, path, strlen(path), file);
    return file;
}

struct output_file *output_files_next(const struct output_files *files, size_t *cursor)
{
    return hash_map_next(files->by_path, cursor);
}

void **output_files_user(struct output_file *file)
{
    return &file->user;
}

const char *output_files_path(const struct output_file *file)
{
    return file->path;
}

/* Makes the directories that lead to the file; those that exist are left as they are.  Returns how many are new: the last
 * ones. */
static uint32_t make_directories(const char *path)
{
    char *copy = memory_copy_string(path);
    uint32_t made = 0;

    for (char *slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        made += mkdir(copy, 0777) == 0; /* the file's open() says what is wrong */
        *slash = '/';
    }
    free(copy);
    return made;
}

/* Removes the last ones that are new, but none that is in use meanwhile. */
static void remove_directories(const char *path, uint32_t made)
{
    char *copy = memory_copy_string(path), *slash;

    while (made > 0 && (slash = strrchr(copy, '/')) != NULL) {
        *slash = '\0';
        made -= rmdir(copy) == 0;
    }
    free(copy);
}

/* Opens the file in new directories, or leaves none. */
static int create_below(const char *path, int flags)
{
    uint32_t made = make_directories(path);
    int fd = open(path, flags, 0666);

    if (fd < 0) {
        int saved = errno;

        remove_directories(path, made);
        errno = saved;
    }
    return fd;
}

/* Writing to a pipe or a terminal could block the loop. */
static int check_kind(int fd)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return -errno;
    if (S_ISREG(status.st_mode) || (S_ISCHR(status.st_mode) && !isatty(fd)))
        return 0;
    return -EOPNOTSUPP;
}

static int file_open(struct output_file *file)
{
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
                (file->was_created ? 0 : O_TRUNC);
    int fd = open(file->path, flags, 0666);
    int rc;

    if (fd < 0 && errno == ENOENT && !file->was_created)
        fd = create_below(file->path, flags);
    if (fd < 0)
        return -errno;
    rc = check_kind(fd);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    file->fd = fd;
    file->was_created = 1;
    return 0;
}

int output_files_open(struct output_files *files, struct output_file *file)
{
    int rc;

    assert((file->fd >= 0) == list_is_linked(&file->open));
    if (file->fd >= 0) {
        list_remove(&file->open);
        list_append(&files->open, &file->open);
        return file->fd;
    }
    if (files->open_count == OUTPUT_FILES_OPEN_MAX)
        file_close(files, list_entry(list_first(&files->open), struct output_file, open));
    rc = file_open(file);
    if (rc < 0)
        return rc;
    list_append(&files->open, &file->open);
    files->open_count++;
    assert(files->open_count <= OUTPUT_FILES_OPEN_MAX);
    return file->fd;
}

int output_files_close(struct output_files *files, struct error *error)
{
    struct list_link *link;

    while ((link = list_first(&files->open)) != NULL)
        file_close(files, list_entry(link, struct output_file, open));
    if (files->first.code == 0)
        return 0;
    *error = files->first;
    return files->first.code;
}

/* ---- before the start ---- */

static int prepare_file(const char *path, struct error *error)
{
    struct output_file file = {.path = memory_copy_string(path), .fd = -1};
    int rc = file_open(&file);

    if (rc < 0)
        error_set(error, rc, "cannot write output to %s: %s", path,
                  rc == -EOPNOTSUPP ? "not a file" : strerror(-rc));
    if (file.fd >= 0)
        close(file.fd);
    free(file.path);
    return rc;
}

/* A directory that does not exist is made when it is needed. */
static int look_at_directory(const char *path, struct error *error)
{
    struct stat status;
    int code = 0;

    if (stat(path, &status) < 0)
        code = errno == ENOENT ? 0 : errno;
    else if (!S_ISDIR(status.st_mode))
        code = ENOTDIR;
    else if (access(path, W_OK | X_OK) < 0)
        code = errno;
    if (code == 0)
        return 0;
    return error_set(error, -code, "cannot write output to files in %s: %s", path, strerror(code));
}

int output_files_prepare(const char *pattern, struct error *error)
{
    const char *percent = strchr(pattern, '%');
    const char *slash;
    char *directory;
    int rc;

    if (percent == NULL)
        return prepare_file(pattern, error);
    slash = memrchr(pattern, '/', (size_t)(percent - pattern));
    if (slash == NULL)
        return look_at_directory(".", error);
    directory = strndup(pattern, slash == pattern ? 1 : (size_t)(slash - pattern));
    assert(directory != NULL);
    rc = look_at_directory(directory, error);
    free(directory);
    return rc;
}
