/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Removing what is left: trees of files, and the processes of a session whose daemon and helper are
 * both gone.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/exec/helper_cgroup.h"
#include "launch/exec/process_environment.h"
#include "launch/exec/session.h"

#define TREE_DEPTH_LIMIT 64 /* descriptors: one per level */
#define SHARED_BASE      "/dev/shm"
#define SHARED_PREFIX    "banyan-"
#define SWEEP_AGE_S      5
#define CLEAN_ROUNDS     200
#define CLEAN_PAUSE_NS   10000000

/* ---- Trees ---- */

static void remove_entries(int fd, dev_t device, int depth);

/* A directory may have been made unreadable for its owner. */
static int open_directory(int parent, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat status;
    int fd = openat(parent, name, flags);

    if (fd >= 0 && fstat(fd, &status) == 0 && (status.st_mode & 0700) != 0700)
        fchmod(fd, 0700);
    else if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        fd = openat(parent, name, flags);
    return fd;
}

static void remove_entry(int parent, const char *name, dev_t device, int depth)
{
    struct stat status;
    int fd;

    if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
        return;
    fd = open_directory(parent, name);
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && status.st_dev == device && depth < TREE_DEPTH_LIMIT)
        remove_entries(fd, device, depth + 1);
    else
        close(fd);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* Takes fd. */
static void remove_entries(int fd, dev_t device, int depth)
{
    DIR *directory = fdopendir(fd);
    struct dirent *entry;

    if (directory == NULL) {
        close(fd);
        return;
    }
    while ((entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_entry(fd, entry->d_name, device, depth);
    closedir(directory);
}

int session_remove_tree(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    if (fstat(fd, &status) < 0 || status.st_uid != geteuid()) {
        close(fd);
        return -EPERM;
    }
    remove_entries(fd, status.st_dev, 0);
    return rmdir(path) < 0 && errno != ENOENT ? -errno : 0;
}

/* ---- Processes ---- */

/* What to clean: a session, or what one place of it has left. */
struct target {
    char session[SESSION_ID_BYTES];
    char place[16];           /* decimal, "" = every place */
    char session_setting[64]; /* as in the environment of its processes */
    char place_setting[64];
};

/* SESSION or SESSION.PLACE, as the directories are named. */
static int target_parse(const char *text, struct target *ret_target, struct error *error)
{
    size_t place_bytes;

    *ret_target = (struct target){.place = ""};
    if (strspn(text, "0123456789abcdef") != SESSION_ID_BYTES - 1 ||
        (text[SESSION_ID_BYTES - 1] != '\0' && text[SESSION_ID_BYTES - 1] != '.'))
        return error_set(error, -EINVAL,
                         "\"%s\" is not a session: 16 hexadecimal digits are expected", text);
    memcpy(ret_target->session, text, SESSION_ID_BYTES - 1);
    if (text[SESSION_ID_BYTES - 1] == '.') {
        const char *place = text + SESSION_ID_BYTES;

        place_bytes = strspn(place, "0123456789");
        if (place_bytes == 0 || place[place_bytes] != '\0' || place_bytes > 10)
            return error_set(error, -EINVAL,
                             "\"%s\" is not a place of a session: a number is expected", text);
        memcpy(ret_target->place, place, place_bytes);
    }
    snprintf(ret_target->session_setting, sizeof(ret_target->session_setting), "BANYAN_SESSION=%s",
             ret_target->session);
    snprintf(ret_target->place_setting, sizeof(ret_target->place_setting), "BANYAN_PLACE=%s",
             ret_target->place);
    return 0;
}

static int is_of_target(struct buffer *environment, const struct target *target)
{
    return process_environment_has(environment, target->session_setting) &&
           (target->place[0] == '\0' ||
            process_environment_has(environment, target->place_setting));
}

/* Processes of others have environments that we cannot read. */
static size_t kill_processes(const struct target *target)
{
    DIR *directory = opendir("/proc");
    struct buffer environment = {0};
    struct dirent *entry;
    size_t killed = 0;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (pid <= 1 || pid == getpid())
            continue;
        process_environment_read(pid, &environment);
        if (is_of_target(&environment, target) && kill(pid, SIGKILL) == 0)
            killed++;
    }
    if (directory != NULL)
        closedir(directory);
    buffer_fini(&environment);
    return killed;
}

/* Entries of a directory named prefix, session, ".", place. */
static void remove_matching(const char *directory_path, const char *prefix,
                            const struct target *target)
{
    DIR *directory = opendir(directory_path);
    struct dirent *entry;

    if (directory == NULL)
        return;
    while ((entry = readdir(directory)) != NULL) {
        char path[PATH_MAX];
        char whole[64];
        int length =
            snprintf(whole, sizeof(whole), "%s%s.%s", prefix, target->session, target->place);
        if (strncmp(entry->d_name, whole, (size_t)length) != 0 ||
            (target->place[0] != '\0' && entry->d_name[length] != '\0') ||
            snprintf(path, sizeof(path), "%s/%s", directory_path, entry->d_name) >=
                (int)sizeof(path))
            continue;
        session_remove_tree(path);
    }
    closedir(directory);
}

/* ---- What the dead have left ---- */

/* Who has just made a directory holds it a moment later. */
static int is_old(int fd, const char *name)
{
    struct stat status;

    return fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && time(NULL) - status.st_mtime > SWEEP_AGE_S;
}

static void remove_if_left(const char *path)
{
    if (session_is_left(path))
        session_remove_directory(path);
}

/* The place was on this machine, as the directory in its memory was; so what it left on disk is ours
 * to remove, too. */
static void sweep_place(const char *name, const char *tmpdir)
{
    const char *base = session_base(tmpdir);
    char path[PATH_MAX];

    snprintf(path, sizeof(path), SHARED_BASE "/" SHARED_PREFIX "%.64s", name);
    if (!session_is_left(path))
        return;
    session_remove_directory(path);
    snprintf(path, sizeof(path), "%.3900s/banyan-%u/%.64s", base, (unsigned int)geteuid(), name);
    remove_if_left(path);
    if (strcmp(name + SESSION_ID_BYTES - 1, ".0") != 0)
        return;
    snprintf(path, sizeof(path), "%.3900s/" SESSION_VIRTUAL_PREFIX "%.*s", base,
             SESSION_ID_BYTES - 1, name);
    remove_if_left(path);
}

/* Directories of roots that others have survived no longer have a mark in memory.  Their journals say that they are
 * left: that of a root that lives, also on another machine that shares the file system, was written a moment ago. */
static void sweep_roots(const char *tmpdir)
{
    const char *base = session_base(tmpdir);
    char user[PATH_MAX], path[PATH_MAX];
    struct dirent *entry;
    DIR *directory;

    snprintf(user, sizeof(user), "%.3900s/banyan-%u", base, (unsigned int)geteuid());
    directory = opendir(user);
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        struct target target;

        if (target_parse(entry->d_name, &target, NULL) < 0 || strcmp(target.place, "0") != 0)
            continue;
        snprintf(path, sizeof(path), "%.3950s/%.64s", user, entry->d_name);
        if (!session_is_outlived(path))
            continue;
        session_remove_directory(path);
        snprintf(path, sizeof(path), "%.3900s/" SESSION_VIRTUAL_PREFIX "%s", base, target.session);
        remove_if_left(path);
    }
    if (directory != NULL)
        closedir(directory);
}

void session_sweep(const char *tmpdir)
{
    DIR *directory = opendir(SHARED_BASE);
    struct dirent *entry;
    struct target target;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        const char *name = entry->d_name + strlen(SHARED_PREFIX);
        if (strncmp(entry->d_name, SHARED_PREFIX, strlen(SHARED_PREFIX)) == 0 &&
            target_parse(name, &target, NULL) == 0 && target.place[0] != '\0' &&
            is_old(dirfd(directory), entry->d_name))
            sweep_place(name, tmpdir);
    }
    if (directory != NULL)
        closedir(directory);
    sweep_roots(tmpdir);
    helper_cgroup_clean();
}

static void remove_directories(const struct target *target, const char *tmpdir)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/banyan-%u", session_base(tmpdir), (unsigned int)geteuid());
    remove_matching(path, "", target);
    rmdir(path);
    remove_matching(SHARED_BASE, SHARED_PREFIX, target);
    if (target->place[0] != '\0')
        return;
    snprintf(path, sizeof(path), "%s/" SESSION_VIRTUAL_PREFIX "%s", session_base(tmpdir),
             target->session);
    (void)session_remove_tree(path);
}

int session_clean(const char *session, const char *tmpdir, struct error *error)
{
    struct timespec pause = {.tv_nsec = CLEAN_PAUSE_NS};
    struct target target;
    int rounds = 0;
    int rc = target_parse(session, &target, error);

    if (rc < 0)
        return rc;
    /* Until a whole look finds nobody: one that was missed may have had children since. */
    while (kill_processes(&target) > 0) {
        if (++rounds == CLEAN_ROUNDS)
            return error_set(error, -EBUSY, "processes of session %s did not exit", session);
        nanosleep(&pause, NULL);
    }
    helper_cgroup_clean();
    remove_directories(&target, tmpdir);
    return 0;
}
