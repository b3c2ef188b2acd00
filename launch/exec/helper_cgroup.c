/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/helper_cgroup.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/exec/orphan.h"

#define TEXT_BYTES_MAX 8192
#define NAME_FORMAT    "banyan-%lu-%d.%u" /* name space of pids, helper, group */
#define CLEAN_PAUSES   100
#define CLEAN_ROUNDS   50
#define CLEAN_PAUSE_US 1000
#define DEPTH_MAX      32 /* of cgroups in cgroups; descriptors: one per level */

/* Where a system has them: alone, or beside version 1. */
static const char *const mount_points[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

static int disabled;
static unsigned long name_space; /* of our pids: those of another say nothing here */
static char *own_path;           /* of the cgroup of this process, NULL until it was looked for */

static const char *find_mount(void)
{
    for (size_t i = 0; i < sizeof(mount_points) / sizeof(mount_points[0]); i++) {
        struct statfs status;
        if (statfs(mount_points[i], &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC)
            return mount_points[i];
    }
    return NULL;
}

/* The line "0::/path" of /proc/self/cgroup, whose other lines are of version 1. */
static char *find_own_path(const char *mount)
{
    char text[TEXT_BYTES_MAX];
    char *line;
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (line == NULL)
        return NULL;
    line += strspn(line, "\n") + strlen("0::");
    line[strcspn(line, "\n")] = '\0';
    return memory_printf("%s%s", mount, strcmp(line, "/") == 0 ? "" : line);
}

static const char *own_cgroup(void)
{
    struct stat status;
    const char *mount;

    if (own_path != NULL || disabled)
        return own_path;
    mount = find_mount();
    if (mount != NULL && stat("/proc/self/ns/pid", &status) == 0) {
        name_space = (unsigned long)status.st_ino;
        own_path = find_own_path(mount);
    }
    disabled = own_path == NULL;
    return own_path;
}

char *helper_cgroup_create(uint32_t group, int *ret_fd)
{
    const char *parent = disabled ? NULL : own_cgroup();
    char *path;

    assert(group > 0 && ret_fd != NULL);
    *ret_fd = -1;
    if (parent == NULL || disabled)
        return NULL;
    path = memory_printf("%s/" NAME_FORMAT, parent, name_space, (int)getpid(), group);
    if (mkdir(path, 0755) == 0 || errno == EEXIST)
        *ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_fd >= 0)
        return path;
    rmdir(path);
    free(path);
    disabled = 1;
    return NULL;
}

void helper_cgroup_kill(int fd)
{
    int kill_fd = fd >= 0 ? openat(fd, "cgroup.kill", O_WRONLY | O_CLOEXEC) : -1;

    if (kill_fd < 0)
        return;
    (void)!write(kill_fd, "1", 1);
    close(kill_fd);
}

/* The names of those directly below; each ends with a NUL. */
static void list_children(const char *path, struct buffer *names)
{
    DIR *directory = opendir(path);
    struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            buffer_append(names, entry->d_name, strlen(entry->d_name) + 1);
    if (directory != NULL)
        closedir(directory);
}

/* Removes those below that processes of the job have made, from the innermost outward, as far as nobody is left there. */
static void remove_below(const char *path)
{
    struct buffer names = {0};
    size_t next = 0;

    assert(path[0] == '/');
    list_children(path, &names);
    while (next < names.length_bytes) {
        const char *name = (const char *)names.data + next;
        char *child = memory_printf("%s/%s", path, name);

        next += strlen(name) + 1;
        if (rmdir(child) < 0 && errno == EBUSY) {
            remove_below(child);
            (void)rmdir(child);
        }
        free(child);
    }
    buffer_fini(&names);
}

int helper_cgroup_remove(const char *path, int fd)
{
    if (path == NULL || rmdir(path) == 0 || errno != EBUSY)
        return 1;
    helper_cgroup_kill(fd);
    remove_below(path);
    return 0; /* also if only zombies are left, which must be reaped before the group counts as gone */
}

void helper_cgroup_disable(void)
{
    disabled = 1;
}

/* A cgroup of this user whose helper is dead; what cannot be known is alive. */
static int is_left(int parent_fd, const char *name)
{
    unsigned long helper_name_space;
    unsigned int group;
    struct stat status;
    int pid, length = 0;

    return sscanf(name, NAME_FORMAT "%n", &helper_name_space, &pid, &group, &length) == 3 &&
           name[length] == '\0' && helper_name_space == name_space &&
           fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_uid == geteuid() && !orphan_helper_lives(pid);
}

static int clean_one(const char *parent, int parent_fd, const char *name)
{
    char *path;
    int fd, rc = 0;

    if (!is_left(parent_fd, name))
        return 0;
    fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    helper_cgroup_kill(fd);
    close(fd);
    path = memory_printf("%s/%s", parent, name);
    /* What was killed needs a moment to leave. */
    for (int i = 0; i < CLEAN_PAUSES; i++) {
        remove_below(path);
        rc = unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
        if (rc != -EBUSY)
            break;
        usleep(CLEAN_PAUSE_US);
    }
    free(path);
    return rc;
}

void helper_cgroup_clean(void)
{
    const char *parent = own_cgroup();
    DIR *directory = parent != NULL ? opendir(parent) : NULL;
    struct dirent *entry;

    if (directory == NULL)
        return;
    while ((entry = readdir(directory)) != NULL)
        if (entry->d_type == DT_DIR)
            (void)clean_one(parent, dirfd(directory), entry->d_name);
    closedir(directory);
}

static void find_below(const char *path, int depth, void (*found)(void *context, const char *path),
                       void *context)
{
    DIR *directory = opendir(path);
    struct dirent *entry;

    assert(depth <= DEPTH_MAX && found != NULL);
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char *child;

        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        child = memory_printf("%s/%s", path, entry->d_name);
        if (is_left(dirfd(directory), entry->d_name))
            found(context, child);
        else if (depth < DEPTH_MAX)
            find_below(child, depth + 1, found, context);
        free(child);
    }
    if (directory != NULL)
        closedir(directory);
}

void helper_cgroup_find_left(void (*found)(void *context, const char *path), void *context)
{
    const char *mount = own_cgroup() != NULL ? find_mount() : NULL;

    if (mount != NULL)
        find_below(mount, 0, found, context);
}

int helper_cgroup_remove_left(const char *path)
{
    const char *name = strrchr(path, '/');
    char *parent;
    int fd, rc;

    assert(name != NULL);
    parent = memory_printf("%.*s", (int)(name - path), path);
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = fd < 0 ? (errno == ENOENT ? 0 : -errno) : -EBUSY;
    for (int i = 0; i < CLEAN_ROUNDS && rc == -EBUSY && fd >= 0; i++)
        rc = clean_one(parent, fd, name + 1);
    if (fd >= 0)
        close(fd);
    free(parent);
    return rc;
}
