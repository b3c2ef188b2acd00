/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/run_environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "launch/proto/job_spec.h"
#include "pmix/host_environment.h"

/* What each node, or banyan, has its own of; a star stands for any rest.  -x NAME forwards one of them
 * all the same, a pattern does not. */
static const char *const own_to_each_node[] = {
    "TMPDIR",         /* each node and each virtual node has its own */
    "HOSTNAME",       /* likewise */
    "HOST",           /* likewise, of csh and zsh */
    "PWD",            /* the processes start in --wdir, which need not be here */
    "OLDPWD",         /* likewise */
    "SHLVL",          /* depth of shells, not of ours */
    "_",              /* the command that the shell started, which is banyan */
    "BANYAN_SESSION", /* of an enclosing banyan: processes are found by it; likewise below */
    "BANYAN_HELPER",
    "BANYAN_NODE",
    "BANYAN_JOB",
    "BANYAN_PLACE",
    "BANYAN_RANK",
    "BANYAN_SIZE",
    "BANYAN_LOCAL_*",
    "BANYAN_DAEMON", /* where the tests have their programs */
    "BANYAN_PKGLIBDIR",
    "BANYAN_INSTANCE", /* its root is on this machine */
    NULL,
};

/* What is of use here only; -x forwards them, by name and by pattern. */
static const char *const own_to_this_login[] = {
    "SSH_*",          /* connection, terminal and agent socket of this login */
    "XDG_RUNTIME_*",  /* a directory of this login on this node */
    "XDG_SESSION_*",  /* likewise */
    "DBUS_SESSION_*", /* a socket on this node */
    NULL,
};

static int name_matches(const char *pattern, const char *name, size_t name_bytes)
{
    size_t pattern_bytes = strlen(pattern);

    if (pattern[pattern_bytes - 1] == '*')
        return name_bytes >= pattern_bytes - 1 && memcmp(pattern, name, pattern_bytes - 1) == 0;
    return name_bytes == pattern_bytes && memcmp(pattern, name, name_bytes) == 0;
}

static int is_listed(const char *variable, const char *const *patterns)
{
    for (; *patterns != NULL; patterns++)
        if (name_matches(*patterns, variable, strcspn(variable, "=")))
            return 1;
    return 0;
}

int run_environment_may_match(const char *variable, uint32_t mpi)
{
    const char *equals = strchr(variable, '=');

    if (equals == NULL || equals == variable || host_environment_is_foreign(variable))
        return 0;
    if ((mpi & JOB_MPI_TORCH) && host_environment_is_torch(variable))
        return 0;
    return !is_listed(variable, own_to_each_node);
}

static int is_forwarded(const char *variable, uint32_t mpi)
{
    return run_environment_may_match(variable, mpi) && !is_listed(variable, own_to_this_login);
}

const char *run_environment_get(char *const *environment, const char *name)
{
    size_t name_bytes = strlen(name);

    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, name, name_bytes) == 0 && (*environment)[name_bytes] == '=')
            return *environment + name_bytes + 1;
    }
    return NULL;
}

static void free_strings(char **strings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(strings[i]);
    free(strings);
}

/* The "NAME=value" of one -x, the caller's; NULL on failure. */
static char *item_resolve(char *const *environment, const char *item, struct error *error)
{
    const char *value;

    if (item[0] == '=') {
        error_set(error, -EINVAL, "option -x: '%.80s' has no name before '='", item);
        return NULL;
    }
    if (strchr(item, '=') != NULL)
        return memory_copy_string(item);
    value = run_environment_get(environment, item);
    if (value == NULL) {
        error_set(
            error, -ENOENT,
            "option -x: '%.80s' is not set here: give it a value, -x %.80s=VALUE (to exclude a node, use --host ^NAME)",
            item, item);
        return NULL;
    }
    return memory_printf("%s=%s", item, value);
}

int run_environment_build(char *const *environment, const char *const *items, uint32_t items_count,
                          uint32_t mpi, char ***ret_set, struct error *error)
{
    uint32_t count = 0;
    char **set;

    while (environment[count] != NULL)
        count++;
    set = memory_allocate((count + items_count + 1) * sizeof(*set));
    count = 0;
    for (char *const *variable = environment; *variable != NULL; variable++) {
        if (is_forwarded(*variable, mpi))
            set[count++] = memory_copy_string(*variable);
    }
    for (uint32_t i = 0; i < items_count; i++) {
        set[count] = item_resolve(environment, items[i], error);
        if (set[count] == NULL) {
            free_strings(set, count);
            return -EINVAL;
        }
        count++;
    }
    set[count] = NULL;
    *ret_set = set;
    return 0;
}
