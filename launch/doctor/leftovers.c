/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/doctor/leftovers.h"

#include <assert.h>
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
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/exec/helper_cgroup.h"
#include "launch/exec/orphan.h"
#include "launch/exec/process_environment.h"
#include "launch/exec/session.h"

#define SHARED_BASE    "/dev/shm"
#define SHARED_PREFIX  "banyan-"
#define SESSION_DIGITS (SESSION_ID_BYTES - 1)
#define NEW_S          5 /* a process locks a directory just after creating it */
#define END_PAUSE_NS   10000000
#define END_PAUSES     500 /* to wait for a killed process to end */

struct search {
    leftovers_found *found;
    void *context;
};

/* ---- Directories ---- */

/* The session in "<prefix><session>" or "<prefix><session>.<place>", else NULL. */
static const char *session_in(const char *name, const char *prefix)
{
    size_t bytes = strlen(prefix);

    if (strncmp(name, prefix, bytes) != 0 ||
        strspn(name + bytes, "0123456789abcdef") != SESSION_DIGITS)
        return NULL;
    name += bytes;
    return name[SESSION_DIGITS] == '\0' || name[SESSION_DIGITS] == '.' ? name : NULL;
}

/* File systems that only one machine mounts, so that all locks are visible here. */
static int is_local(const char *path)
{
    static const unsigned int local[] = {
        0x01021994 /* tmpfs */,     0x858458f6 /* ramfs */, 0xef53 /* ext2 to ext4 */,
        0x58465342 /* xfs */,       0x9123683e /* btrfs */, 0xf2f52010 /* f2fs */,
        0x794c7630 /* overlayfs */, 0x2fc12fc1 /* zfs */,   0xca451a4e /* bcachefs */,
    };
    struct statfs status;

    if (statfs(path, &status) < 0)
        return 0;
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
        if ((unsigned int)status.f_type == local[i])
            return 1;
    return 0;
}

static int is_left_directory(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           session_is_left(path);
}

/* The session's directory in memory, which only this machine can have, was left here too. */
static int was_here(const char *session)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), SHARED_BASE "/" SHARED_PREFIX "%.64s", session);
    return is_left_directory(path);
}

static void look_into(const struct search *search, const char *path, const char *prefix)
{
    DIR *directory = opendir(path);
    int local = directory != NULL && is_local(path);
    struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        const char *session = session_in(entry->d_name, prefix);
        struct leftover leftover = {.kind = LEFTOVER_DIRECTORY, .session = session};
        char whole[PATH_MAX];

        if (session == NULL ||
            snprintf(whole, sizeof(whole), "%s/%s", path, entry->d_name) >= PATH_MAX ||
            !is_left_directory(whole) || (!local && !was_here(session)))
            continue;
        leftover.path = whole;
        search->found(search->context, &leftover);
    }
    if (directory != NULL)
        closedir(directory);
}

/* ---- Processes ---- */

/* The process is in our PID namespace. */
static int shares_numbers(pid_t pid)
{
    char path[64], theirs[64], ours[64];
    ssize_t their_bytes, our_bytes;

    snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
    their_bytes = readlink(path, theirs, sizeof(theirs));
    our_bytes = readlink("/proc/self/ns/pid", ours, sizeof(ours));
    return their_bytes > 0 && their_bytes == our_bytes &&
           memcmp(theirs, ours, (size_t)our_bytes) == 0;
}

/* Root can also read the environments of other users' processes. */
static int is_ours(pid_t pid)
{
    struct stat status;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return stat(path, &status) == 0 && status.st_uid == geteuid();
}

/* 1 if the helper that started the process is dead; ret_session points into environment. */
static int is_left_process(pid_t pid, struct buffer *environment, const char **ret_session)
{
    const char *mark, *session;

    if (!is_ours(pid))
        return 0;
    process_environment_read(pid, environment);
    mark = process_environment_find(environment, ORPHAN_MARK);
    session = process_environment_find(environment, "BANYAN_SESSION=");
    if (mark == NULL || session == NULL || strspn(session, "0123456789abcdef") != SESSION_DIGITS ||
        !shares_numbers(pid) || orphan_helper_lives(atoi(mark)))
        return 0;
    *ret_session = session;
    return 1;
}

static void look_at_processes(const struct search *search)
{
    DIR *directory = opendir("/proc");
    struct buffer environment = {0};
    struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        struct leftover leftover = {.kind = LEFTOVER_PROCESS};

        if (isdigit((unsigned char)entry->d_name[0]))
            leftover.pid = atoi(entry->d_name);
        if (leftover.pid > 1 && leftover.pid != getpid() &&
            is_left_process(leftover.pid, &environment, &leftover.session))
            search->found(search->context, &leftover);
    }
    if (directory != NULL)
        closedir(directory);
    buffer_fini(&environment);
}

/* ---- Cgroups ---- */

static void found_cgroup(void *context, const char *path)
{
    const struct search *search = context;
    struct leftover leftover = {.kind = LEFTOVER_CGROUP, .path = path};

    search->found(search->context, &leftover);
}

void leftovers_find(const char *tmpdir, leftovers_found *found, void *context)
{
    struct search search = {.found = found, .context = context};
    const char *base = session_base(tmpdir);
    char path[PATH_MAX];

    /* Processes first: they may hold directories or create more.  The directories in memory last: they
     * show that those on disk belong to this machine. */
    look_at_processes(&search);
    helper_cgroup_find_left(found_cgroup, &search);
    snprintf(path, sizeof(path), "%.4000s/banyan-%u", base, (unsigned int)geteuid());
    look_into(&search, path, "");
    look_into(&search, base, SESSION_VIRTUAL_PREFIX);
    look_into(&search, SHARED_BASE, SHARED_PREFIX);
}

/* ---- Removing ---- */

static int remove_directory(const char *path, struct error *error)
{
    struct stat status;
    time_t age_s;

    if (lstat(path, &status) < 0)
        return 0;
    age_s = time(NULL) - status.st_mtime;
    if (age_s >= 0 && age_s <= NEW_S)
        sleep((unsigned int)(NEW_S + 1 - age_s));
    if (!is_left_directory(path))
        return 0;
    session_remove_directory(path);
    if (lstat(path, &status) == 0)
        return error_set(error, -EBUSY, "cannot remove all of %s", path);
    return 0;
}

static int kill_left(pid_t pid, struct error *error)
{
    struct timespec pause = {.tv_nsec = END_PAUSE_NS};
    struct buffer environment = {0};
    const char *session;
    int rc = 0;

    for (int i = 0; i < END_PAUSES && is_left_process(pid, &environment, &session); i++) {
        if (kill(pid, SIGKILL) < 0 && errno != ESRCH) {
            rc = error_set(error, -errno, "cannot kill process %d: %s", (int)pid, strerror(errno));
            break;
        }
        nanosleep(&pause, NULL);
    }
    if (rc == 0 && is_left_process(pid, &environment, &session))
        rc = error_set(error, -EBUSY, "process %d did not exit", (int)pid);
    buffer_fini(&environment);
    return rc;
}

int leftovers_remove(const struct leftover *leftover, struct error *error)
{
    int rc;

    switch (leftover->kind) {
    case LEFTOVER_DIRECTORY:
        assert(leftover->path != NULL);
        return remove_directory(leftover->path, error);
    case LEFTOVER_PROCESS:
        assert(leftover->pid > 1);
        return kill_left(leftover->pid, error);
    default:
        assert(leftover->kind == LEFTOVER_CGROUP && leftover->path != NULL);
        rc = helper_cgroup_remove_left(leftover->path);
        if (rc < 0)
            return error_set(error, rc, "cannot remove the cgroup %s: %s", leftover->path,
                             strerror(-rc));
        return 0;
    }
}

/* ---- How many there are ---- */

static struct leftovers_session *session_of(struct leftovers_count *count, const char *session)
{
    struct leftovers_session *item = count->sessions;

    assert(session != NULL && count->sessions_count <= LEFTOVERS_SESSIONS_MAX);
    for (; item < count->sessions + count->sessions_count; item++)
        if (memcmp(item->session, session, SESSION_DIGITS) == 0)
            return item;
    if (count->sessions_count == LEFTOVERS_SESSIONS_MAX) {
        count->more++;
        return NULL;
    }
    count->sessions_count++;
    *item = (struct leftovers_session){.session = ""};
    memcpy(item->session, session, SESSION_DIGITS);
    return item;
}

void leftovers_count_add(struct leftovers_count *count, const struct leftover *leftover)
{
    struct leftovers_session *session;

    if (leftover->kind == LEFTOVER_CGROUP) {
        count->cgroups++;
        return;
    }
    session = session_of(count, leftover->session);
    if (session != NULL && leftover->kind == LEFTOVER_DIRECTORY)
        session->directories++;
    else if (session != NULL)
        session->processes++;
}

void leftovers_session_print(const struct leftovers_session *session, struct buffer *out)
{
    if (session->directories > 0)
        buffer_printf(out, "%u %s", session->directories,
                      session->directories == 1 ? "directory" : "directories");
    if (session->processes > 0)
        buffer_printf(out, "%s%u %s", session->directories > 0 ? ", " : "", session->processes,
                      session->processes == 1 ? "process" : "processes");
}
