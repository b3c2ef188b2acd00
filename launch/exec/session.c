/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/session.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "launch/exec/descriptor.h"

#define SOCKET_PATH_BYTES 108 /* of struct sockaddr_un */
#define NAME_ROOM_BYTES   24  /* for "/", a name inside and its NUL */
#define CREATE_TRIES      8
#define JOURNAL_HEAD_BYTES \
    20 /* 16 say what it is, the rest are a little-endian number of seconds */
#define SHARED_BASE "/dev/shm"

const char *session_base(const char *tmpdir)
{
    if (tmpdir == NULL || tmpdir[0] == '\0')
        tmpdir = getenv("TMPDIR");
    return tmpdir != NULL && tmpdir[0] != '\0' ? tmpdir : "/tmp";
}

static int check_base(const char *base, struct error *error)
{
    struct stat status;

    if (base[0] != '/')
        return error_set(
            error, -EINVAL,
            "the directory for temporary files, \"%s\", is not an absolute path: set TMPDIR "
            "or --tmpdir",
            base);
    if (stat(base, &status) < 0)
        return error_set(error, -errno,
                         "the directory for temporary files, %s, cannot be used: %s (create it, or "
                         "set TMPDIR or --tmpdir)",
                         base, strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return error_set(error, -ENOTDIR,
                         "%s is not a directory: set TMPDIR or --tmpdir to a directory", base);
    return 0;
}

static int check_room(const char *base, struct error *error)
{
    struct statvfs status;
    unsigned long long free_bytes;

    if (statvfs(base, &status) < 0 || status.f_blocks == 0)
        return 0;
    free_bytes = (unsigned long long)status.f_bavail * status.f_frsize;
    if (free_bytes >= SESSION_FREE_BYTES_MIN)
        return 0;
    return error_set(error, -ENOSPC,
                     "not enough space in %s: %llu KiB free, %u needed (free some, or set "
                     "TMPDIR or --tmpdir)",
                     base, free_bytes / 1024, SESSION_FREE_BYTES_MIN / 1024);
}

static int cannot_create(const char *path, int code, struct error *error)
{
    return error_set(error, code,
                     "cannot create %s: %s (set TMPDIR or --tmpdir to a writable directory)", path,
                     strerror(-code));
}

/* The directory of the user, which all his sessions share: it must be his alone. */
static int check_user_directory(const char *path, struct error *error)
{
    struct stat status;

    if (lstat(path, &status) < 0)
        return errno == ENOENT ? -EAGAIN : cannot_create(path, -errno, error);
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 022) != 0)
        return error_set(
            error, -EPERM,
            "%s is not a directory that only this user can access: remove it, or set TMPDIR or "
            "--tmpdir",
            path);
    return 0;
}

/* Can it be made, if it is not there? */
static int check_parent(const char *base, const char *parent, struct error *error)
{
    int rc = check_user_directory(parent, error);

    if (rc == -EAGAIN)
        rc = faccessat(AT_FDCWD, base, W_OK | X_OK, AT_EACCESS) < 0
                 ? cannot_create(parent, -errno, error)
                 : 0;
    return rc;
}

static int make_user_directory(const char *path, struct error *error)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return cannot_create(path, -errno, error);
    return check_user_directory(path, error);
}

/* Another session that ends may remove the user's empty directory in between: then again. */
static int make_directory(const char *parent, const char *path, struct error *error)
{
    int rc = -EAGAIN;

    for (int i = 0; i < CREATE_TRIES && rc == -EAGAIN; i++) {
        rc = make_user_directory(parent, error);
        if (rc < 0)
            continue;
        if (mkdir(path, 0700) < 0)
            rc = errno == ENOENT ? -EAGAIN : cannot_create(path, -errno, error);
    }
    return rc;
}

static int open_directory(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void session_hold(const char *path)
{
    int fd = open_directory(path);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)descriptor_move_high(fd); /* closed by the end of this process, which is the point */
    else if (fd >= 0)
        close(fd);
}

enum survival {
    SURVIVAL_NONE, /* nothing goes on when this root dies */
    SURVIVAL_LASTS,
    SURVIVAL_OVER,
};

/* Of the root of an instance that goes on without it: a process that recovers it needs what is here.  The journal
 * (launch/daemon/journal_wire.h) begins with how long; it was last written when the root lived. */
static enum survival survival_of(int directory_fd)
{
    int fd = openat(directory_fd, SESSION_JOURNAL_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    enum survival survival = SURVIVAL_NONE;
    unsigned char head[JOURNAL_HEAD_BYTES];
    struct stat status;
    uint64_t limit_s = 0;

    if (fd < 0)
        return SURVIVAL_NONE;
    if (read(fd, head, sizeof(head)) == (ssize_t)sizeof(head))
        for (size_t i = sizeof(head); i-- > sizeof(head) - sizeof(uint32_t);)
            limit_s = limit_s << 8 | head[i];
    if (limit_s > 0 && fstat(fd, &status) == 0)
        survival = time(NULL) - status.st_mtime > (time_t)limit_s ? SURVIVAL_OVER : SURVIVAL_LASTS;
    close(fd);
    return survival;
}

int session_is_left(const char *path)
{
    int fd = open_directory(path);
    int is_left = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && survival_of(fd) != SURVIVAL_LASTS;

    if (fd >= 0)
        close(fd);
    return is_left;
}

int session_is_outlived(const char *path)
{
    int fd = open_directory(path);
    int is_outlived =
        fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 && survival_of(fd) == SURVIVAL_OVER;

    if (fd >= 0)
        close(fd);
    return is_outlived;
}

void session_share(struct session *session)
{
    if (mkdir(session->shared_directory, 0700) == 0) {
        session_hold(session->shared_directory);
        return;
    }
    log_debug("no directory in " SHARED_BASE ": %s", strerror(errno));
    session->shared_directory[0] = '\0';
}

/* Without slashes at its end. */
static int path_length(const char *path)
{
    size_t length = strlen(path);

    while (length > 0 && path[length - 1] == '/')
        length--;
    return (int)length;
}

int session_name(struct session *ret_session, const char *base, const char *session_id,
                 uint32_t place)
{
    snprintf(ret_session->shared_directory, sizeof(ret_session->shared_directory),
             SHARED_BASE "/banyan-%s.%u", session_id, place);
    return snprintf(ret_session->directory, sizeof(ret_session->directory), "%.*s/banyan-%u/%s.%u",
                    path_length(base), base, geteuid(), session_id, place);
}

int session_open(struct session *ret_session, const struct instance_spec *instance, uint32_t place,
                 struct error *error)
{
    const char *base = session_base(instance->own_tmpdir);
    struct session session = {0};
    char parent[PATH_MAX];
    size_t room_bytes = SOCKET_PATH_BYTES - NAME_ROOM_BYTES;
    int length;
    int rc = check_base(base, error);

    if (rc < 0)
        return rc;
    snprintf(parent, sizeof(parent), "%.*s/banyan-%u", path_length(base), base, geteuid());
    length = session_name(&session, base, instance->session, place);
    if (length > (int)room_bytes)
        return error_set(error, -ENAMETOOLONG,
                         "%s is too long for socket paths, by %d bytes: set TMPDIR or "
                         "--tmpdir to a shorter one",
                         base, length - (int)room_bytes);
    rc = check_room(base, error);
    if (rc == 0)
        rc = check_parent(base, parent, error);
    if (rc < 0)
        return rc;
    *ret_session = session;
    return 0;
}

int session_create(const struct session *session, struct error *error)
{
    char parent[sizeof(session->directory)];
    int rc;

    assert(session->directory[0] == '/');
    memcpy(parent, session->directory, sizeof(parent));
    *strrchr(parent, '/') = '\0';
    rc = make_directory(parent, session->directory, error);
    if (rc == 0)
        session_hold(session->directory);
    return rc;
}

/* [PREFIX]SESSION[.PLACE] */
static int is_named_by_session(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *end = strchrnul(name, '.');
    size_t digits = SESSION_ID_BYTES - 1;

    return (size_t)(end - name) >= digits && strspn(end - digits, "0123456789abcdef") == digits;
}

void session_remove_directory(const char *path)
{
    char parent[PATH_MAX];
    char *slash, *name;

    assert(is_named_by_session(path)); /* never what is somebody else's */
    if (rmdir(path) < 0 && errno != ENOENT)
        session_remove_tree(path);
    snprintf(parent, sizeof(parent), "%s", path);
    slash = strrchr(parent, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    name = strrchr(parent, '/');
    if (name != NULL && strncmp(name + 1, "banyan-", strlen("banyan-")) == 0)
        rmdir(parent); /* fails while other sessions are there */
}

void session_remove_of_root(const char *path)
{
    char of_root[PATH_MAX];
    const char *place = strrchr(path, '.');
    int length = place != NULL ? (int)(place - path) : 0;

    if (length == 0 || strchr(place, '/') != NULL || strcmp(place, ".0") == 0)
        return;
    snprintf(of_root, sizeof(of_root), "%.*s.0", length, path);
    if (session_is_left(of_root))
        session_remove_directory(of_root);
}

void session_remove(const struct session *session)
{
    if (session->shared_directory[0] != '\0')
        session_remove_directory(session->shared_directory);
    if (session->directory[0] != '\0')
        session_remove_directory(session->directory);
}
