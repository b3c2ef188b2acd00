/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What dead instances have left on a node, for `banyan doctor`: session directories that nobody holds
 * (session_hold), and processes whose helper is gone.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/doctor/doctor_examine.h"
#include "launch/exec/orphan.h"
#include "launch/exec/session.h"

#define SHARED_BASE      "/dev/shm"
#define SESSIONS_MAX     16u /* that are told one by one */
#define SESSION_DIGITS   (SESSION_ID_BYTES - 1)
#define ENVIRONMENT_READ (1024u * 1024)

struct left {
    char session[SESSION_ID_BYTES];
    uint32_t directories;
    uint32_t processes;
};

struct leftovers {
    const char *own; /* the session that asks */
    struct left items[SESSIONS_MAX];
    uint32_t count;
    uint32_t more;
};

static struct left *left_of(struct leftovers *leftovers, const char *session)
{
    for (uint32_t i = 0; i < leftovers->count; i++)
        if (memcmp(leftovers->items[i].session, session, SESSION_DIGITS) == 0)
            return &leftovers->items[i];
    if (leftovers->count == SESSIONS_MAX) {
        leftovers->more++;
        return NULL;
    }
    memcpy(leftovers->items[leftovers->count].session, session, SESSION_DIGITS);
    return &leftovers->items[leftovers->count++];
}

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

static void look_into(struct leftovers *leftovers, const char *path, const char *prefix)
{
    DIR *directory = opendir(path);
    struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        const char *session = session_in(entry->d_name, prefix);
        char whole[PATH_MAX];
        struct stat status;
        struct left *left;
        if (session == NULL || memcmp(session, leftovers->own, SESSION_DIGITS) == 0 ||
            snprintf(whole, sizeof(whole), "%s/%s", path, entry->d_name) >= PATH_MAX ||
            lstat(whole, &status) < 0 || status.st_uid != geteuid() || !session_is_left(whole))
            continue;
        left = left_of(leftovers, session);
        if (left != NULL)
            left->directories++;
    }
    if (directory != NULL)
        closedir(directory);
}

/* ---- Processes ---- */

static int read_file(const char *path, struct buffer *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? -1 : 1;

    buffer_clear(out);
    while (bytes > 0 && out->length_bytes < ENVIRONMENT_READ) {
        bytes = read(fd, buffer_reserve(out, 16384), 16384);
        if (bytes > 0)
            buffer_commit(out, (size_t)bytes);
    }
    if (fd >= 0)
        close(fd);
    return bytes < 0 ? -1 : 0;
}

static const char *value_in(struct buffer *environment, const char *name)
{
    const char *at = buffer_string(environment);
    const char *end = at + environment->length_bytes;

    for (; at < end; at += strlen(at) + 1)
        if (strncmp(at, name, strlen(name)) == 0)
            return at + strlen(name);
    return NULL;
}

/* Numbers of processes mean the same to it as to us. */
static int shares_numbers(const char *pid)
{
    char path[64], theirs[64], ours[64];
    ssize_t their_bytes, our_bytes;

    snprintf(path, sizeof(path), "/proc/%.20s/ns/pid", pid);
    their_bytes = readlink(path, theirs, sizeof(theirs));
    our_bytes = readlink("/proc/self/ns/pid", ours, sizeof(ours));
    return their_bytes > 0 && their_bytes == our_bytes &&
           memcmp(theirs, ours, (size_t)our_bytes) == 0;
}

static int helper_lives(const char *mark)
{
    struct buffer name = {0};
    char path[64];
    int lives;

    snprintf(path, sizeof(path), "/proc/%d/comm", atoi(mark));
    lives = read_file(path, &name) == 0 &&
            strncmp(buffer_string(&name), HELPER_NAME, strlen(HELPER_NAME)) == 0;
    buffer_fini(&name);
    return lives;
}

static void look_at_process(struct leftovers *leftovers, const char *pid)
{
    struct buffer environment = {0};
    const char *mark, *session;
    struct left *left;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
    if (read_file(path, &environment) == 0 &&
        (mark = value_in(&environment, ORPHAN_MARK)) != NULL &&
        (session = value_in(&environment, "BANYAN_SESSION=")) != NULL &&
        strspn(session, "0123456789abcdef") == SESSION_DIGITS && shares_numbers(pid) &&
        !helper_lives(mark)) {
        left = left_of(leftovers, session);
        if (left != NULL)
            left->processes++;
    }
    buffer_fini(&environment);
}

static void look_at_processes(struct leftovers *leftovers)
{
    DIR *directory = opendir("/proc");
    struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]))
            look_at_process(leftovers, entry->d_name);
    if (directory != NULL)
        closedir(directory);
}

static void tell(const struct doctor_request *request, const struct left *left)
{
    char program[PATH_MAX] = "banyand";
    char mend[PATH_MAX + 256];
    ssize_t bytes = readlink("/proc/self/exe", program, sizeof(program) - 1);

    program[bytes > 0 ? (size_t)bytes : strlen(program)] = '\0';
    snprintf(mend, sizeof(mend), "run there: %s --clean %s%s%s", program, left->session,
             request->tmpdir != NULL ? " --tmpdir " : "",
             request->tmpdir != NULL ? request->tmpdir : "");
    doctor_tell(DOCTOR_LEFTOVERS, DOCTOR_PROBLEM, mend, "left by dead session %s: %u %s, %u %s",
                left->session, left->directories,
                left->directories == 1 ? "directory" : "directories", left->processes,
                left->processes == 1 ? "process" : "processes");
}

void doctor_check_leftovers(const struct doctor_request *request)
{
    struct leftovers leftovers = {.own = request->session};
    const char *base = session_base(request->tmpdir);
    char path[PATH_MAX];

    look_into(&leftovers, SHARED_BASE, "banyan-");
    snprintf(path, sizeof(path), "%.4000s/banyan-%u", base, (unsigned int)geteuid());
    look_into(&leftovers, path, "");
    look_into(&leftovers, base, SESSION_VIRTUAL_PREFIX);
    look_at_processes(&leftovers);
    for (uint32_t i = 0; i < leftovers.count; i++)
        tell(request, &leftovers.items[i]);
    if (leftovers.more > 0)
        doctor_tell(DOCTOR_LEFTOVERS, DOCTOR_PROBLEM, "clean the others first",
                    "of more than %u sessions", SESSIONS_MAX);
    if (leftovers.count == 0)
        doctor_tell(DOCTOR_LEFTOVERS, DOCTOR_FACT, NULL, "none");
}
