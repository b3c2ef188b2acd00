/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/instance_search.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/cli/request/request.h"
#include "launch/exec/session.h"
#include "launch/exec/session_about.h"
#include "launch/proto/control.h"

#define ROOT_SUFFIX ".0" /* of a session directory: the place */
#define NAMED_MAX   4u   /* in the error */

struct search {
    const char *job; /* or NULL */
    uint32_t count;
    char *first; /* directory */
    uint32_t of_job_count;
    char *of_job; /* the first one of the job */
    char *dead;   /* the first one whose root is, or NULL */
    struct buffer names;
};

enum root_state { ROOT_NONE, ROOT_LISTENS, ROOT_DEAD };

/* A socket to which nobody listens is that of a root which could not remove it. */
static enum root_state state_of(const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    enum root_state state = ROOT_NONE;
    int fd;

    if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory,
                         CONTROL_SOCKET) >= sizeof(address.sun_path))
        return ROOT_NONE;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return ROOT_NONE;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN)
        state = ROOT_LISTENS;
    else if (errno == ECONNREFUSED)
        state = ROOT_DEAD;
    close(fd);
    return state;
}

static int is_of_root(const char *name)
{
    size_t length = strlen(name), suffix = strlen(ROOT_SUFFIX);

    return length > suffix && strcmp(name + length - suffix, ROOT_SUFFIX) == 0;
}

static int is_of_job(const char *directory, const char *job)
{
    struct session_about about;

    return job != NULL && session_about_read(directory, &about) == 0 && strcmp(about.job, job) == 0;
}

static void add_found(void *context, const char *directory, int is_dead)
{
    struct search *search = context;

    if (is_dead) {
        if (search->dead == NULL)
            search->dead = memory_copy_string(directory);
        return;
    }
    if (search->count++ < NAMED_MAX)
        buffer_printf(&search->names, "%s%s", search->count > 1 ? ", " : "", directory);
    if (search->first == NULL)
        search->first = memory_copy_string(directory);
    if (!is_of_job(directory, search->job))
        return;
    search->of_job_count++;
    if (search->of_job == NULL)
        search->of_job = memory_copy_string(directory);
}

static char *take_chosen(struct search *search)
{
    char **chosen = search->of_job_count == 1 ? &search->of_job : &search->first;
    char *directory = *chosen;

    assert(search->count == 1 || search->of_job_count == 1);
    *chosen = NULL;
    return directory;
}

/* What others can write to says nothing. */
static int is_private(const char *directory)
{
    struct stat status;

    return lstat(directory, &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && (status.st_mode & 077) == 0;
}

void instance_search_each(const char *tmpdir,
                          void (*found)(void *context, const char *directory, int is_dead),
                          void *context)
{
    char *parent = memory_printf("%s/banyan-%u", session_base(tmpdir), (unsigned int)geteuid());
    DIR *entries = is_private(parent) ? opendir(parent) : NULL;
    const struct dirent *entry;

    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        char *directory = memory_printf("%s/%s", parent, entry->d_name);

        enum root_state state = is_of_root(entry->d_name) ? state_of(directory) : ROOT_NONE;

        if (state != ROOT_NONE)
            found(context, directory, state == ROOT_DEAD);
        free(directory);
    }
    if (entries != NULL)
        closedir(entries);
    free(parent);
}

int instance_search(const char *given, const char *job, const char *tmpdir, char **ret_directory,
                    struct error *error)
{
    struct search search = {.job = job};
    int rc = 0;

    if (given == NULL)
        given = getenv(REQUEST_INSTANCE_VARIABLE);
    if (given != NULL && given[0] != '\0') {
        *ret_directory = memory_copy_string(given);
        return 0;
    }
    instance_search_each(tmpdir, add_found, &search);
    assert((search.count > 0) == (search.first != NULL));
    if (search.count == 0 && search.dead != NULL)
        rc =
            error_set(error, -ENOENT,
                      "no instance of yours runs on this machine; the root of that at %s has died: "
                      "'banyan clean' removes what it left",
                      search.dead);
    else if (search.count == 0)
        rc = error_set(error, -ENOENT,
                       "no instance of yours runs on this machine (in %s); start one with 'banyan "
                       "start', or name one with --instance DIR",
                       session_base(tmpdir));
    else if (search.count > 1 && search.of_job_count != 1)
        rc = error_set(error, -ENOTUNIQ, "%u instances run; choose one with --instance DIR: %s%s",
                       search.count, buffer_string(&search.names),
                       search.count > NAMED_MAX ? ", ..." : "");
    if (rc == 0)
        *ret_directory = take_chosen(&search);
    free(search.first);
    free(search.of_job);
    free(search.dead);
    buffer_fini(&search.names);
    return rc;
}
