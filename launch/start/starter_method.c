/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/starter_method.h"

#include <assert.h>
#include <stdlib.h>

#include "alloc/node_text.h"
#include "base/buffer.h"
#include "launch/exec/orphan.h"
#include "launch/exec/session.h"

static void start_local(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                        const char *node_name, const struct helper_fd *fds, uint32_t fds_count)
{
    helper_start_daemon(helper, id, NULL, NULL, fds, fds_count);
}

static void start_virtual(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                          const char *node_name, const struct helper_fd *fds, uint32_t fds_count)
{
    helper_start_daemon(helper, id, node_name, instance->virtual_base, fds, fds_count);
}

static void remove_directories(struct helper *helper, const char *base,
                               const struct instance_spec *instance, uint32_t place)
{
    struct session session;

    if (session_name(&session, base, instance->session, place) < (int)sizeof(session.directory))
        helper_remove_directory(helper, session.directory);
    helper_remove_directory(helper, session.shared_directory);
}

/* The processes that a dead daemon and its helper leave on this machine fall to our own helper, which
 * kills them; to look for the session in all processes would hit the other nodes, too. */
static int clean_local(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                       uint32_t place, const char *node_name)
{
    char *tmpdir = node_text_of(instance->tmpdir, node_name);

    remove_directories(helper, session_base(tmpdir), instance, place);
    free(tmpdir);
    return 0;
}

/* A private /dev/shm ended with its last process; else it was ours. */
static int clean_virtual(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                         uint32_t place, const char *node_name)
{
    char *tmpdir = node_text_of(instance->tmpdir, node_name);
    char *own = instance->virtual_base != NULL
                    ? memory_printf("%s/%s", instance->virtual_base, node_name)
                    : NULL;

    remove_directories(helper, session_base(tmpdir != NULL ? tmpdir : own), instance, place);
    free(tmpdir);
    free(own);
    return 0;
}

static char *program_daemon(const struct instance_spec *instance)
{
    return memory_copy_string(DAEMON_NAME);
}

static const struct starter_method starter_local = {.name = "local",
                                                    .start = start_local,
                                                    .clean = clean_local,
                                                    .program = program_daemon};

static const struct starter_method starter_virtual = {.name = "virtual",
                                                      .start = start_virtual,
                                                      .clean = clean_virtual,
                                                      .program = program_daemon};

/* Nobody of ours gets to that node: its helper cleans up, as always, or `banyand --clean` by hand. */
static int clean_nothing(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                         uint32_t place, const char *node_name)
{
    return 0;
}

/* What launch/daemon/join_root.h waits for. */
static const struct starter_method starter_join = {.name = "join",
                                                   .clean = clean_nothing,
                                                   .program = program_daemon};

static const struct starter_method *const methods[STARTER_KIND_COUNT] = {
    [STARTER_LOCAL] = &starter_local, [STARTER_VIRTUAL] = &starter_virtual,
    [STARTER_SSH] = &starter_ssh,     [STARTER_SRUN] = &starter_srun,
    [STARTER_PALS] = &starter_pals,   [STARTER_FLUX] = &starter_flux,
    [STARTER_JOIN] = &starter_join,
};

const struct starter_method *starter_method_of(enum starter_kind kind)
{
    assert(kind < STARTER_KIND_COUNT);
    assert(methods[kind] != NULL);
    return methods[kind];
}
