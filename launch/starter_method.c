/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/starter_method.h"

#include <assert.h>
#include <stdio.h>

#include "launch/orphan.h"

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

/* What a dead daemon and its helper leave on this machine falls to our own helper, which kills it;
 * to look for the session in all processes would hit the other nodes, too. */
static int clean_nothing(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                         uint32_t place, const char *node_name)
{
    return 0;
}

static void program_daemon(const struct instance_spec *instance, char *program,
                           size_t program_bytes)
{
    snprintf(program, program_bytes, DAEMON_NAME);
}

static const struct starter_method starter_local = {.name = "local",
                                                    .start = start_local,
                                                    .clean = clean_nothing,
                                                    .program = program_daemon};

static const struct starter_method starter_virtual = {.name = "virtual",
                                                      .start = start_virtual,
                                                      .clean = clean_nothing,
                                                      .program = program_daemon};

static const struct starter_method *const methods[STARTER_KIND_COUNT] = {
    [STARTER_LOCAL] = &starter_local,
    [STARTER_VIRTUAL] = &starter_virtual,
    [STARTER_SSH] = &starter_ssh,
};

const struct starter_method *starter_method_of(enum starter_kind kind)
{
    assert(kind < STARTER_KIND_COUNT);
    return methods[kind];
}
