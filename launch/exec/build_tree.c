/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/build_tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"

/* Is it there, a directory or a regular file as asked, and as safe as the program itself? */
static int is_trusted(const char *path, mode_t type, uid_t owner)
{
    struct stat status;

    return lstat(path, &status) == 0 && (status.st_mode & S_IFMT) == type &&
           status.st_uid == owner && (status.st_mode & S_IWOTH) == 0;
}

/* Checks DIRECTORY/NAME and frees the path. */
static int has_trusted(char *path, mode_t type, uid_t owner)
{
    int trusted = is_trusted(path, type, owner);

    free(path);
    return trusted;
}

char *build_tree_object_of(const char *program, const char *name)
{
    const char *slash = strrchr(program, '/');
    struct stat status;
    int length;
    char *object;

    if (slash == NULL || slash == program || stat(program, &status) < 0)
        return NULL;
    length = (int)(slash - program);
    if (!has_trusted(memory_printf("%.*s", length, program), S_IFDIR, status.st_uid) ||
        !has_trusted(memory_printf("%.*s/.libs", length, program), S_IFDIR, status.st_uid) ||
        !has_trusted(memory_printf("%.*s/%s.la", length, program, name), S_IFREG, status.st_uid))
        return NULL;
    object = memory_printf("%.*s/.libs/%s.so", length, program, name);
    if (is_trusted(object, S_IFREG, status.st_uid))
        return object;
    free(object);
    return NULL;
}

/* Of this process and those that it forks. */
static char running[PATH_MAX];

void build_tree_init(void)
{
    ssize_t length = readlink("/proc/self/exe", running, sizeof(running) - 1);

    running[length > 0 ? length : 0] = '\0';
}

char *build_tree_object(const char *name)
{
    return build_tree_object_of(running, name);
}
