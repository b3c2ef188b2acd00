/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flux exec: a daemon beside each broker of the instance, or each shell of the job that we are in.
 * It asks the scheduler for nothing, so what is free stays free for jobs; its standard input goes to
 * all, signals too.  It knows nodes by Flux's ranks only and starts on all of them: a daemon that finds
 * that its node is not in the instance ends at once (launch/start/one_shot.h).
 */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/start/starter_call.h"

#define FLUX_DEFAULT "flux"

static const char *flux_of(const struct instance_spec *instance)
{
    return instance->agent != NULL ? instance->agent : FLUX_DEFAULT;
}

static void call_begin(struct starter_call *call, const struct instance_spec *instance)
{
    static const char *const words[] = {"exec", "--label-io", "--dir=/", NULL};
    const char *job = getenv("FLUX_JOB_ID");

    starter_call_add(call, memory_copy_string(flux_of(instance)));
    starter_call_add_words(call, words);
    if (job != NULL && job[0] != '\0')
        starter_call_add(call, memory_printf("--jobid=%s", job));
}

static void start_all_flux(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                           uint32_t index, const struct hostlist *nodes,
                           const struct helper_fd *fds, uint32_t fds_count)
{
    struct starter_call call = {.count = 0};

    (void)index;
    (void)nodes;
    call_begin(&call, instance);
    starter_call_add_daemon(&call, instance, "flux");
    starter_call_make(&call, helper, id, environ, fds, fds_count);
}

/* Everywhere: the files to remove have the place in their names. */
static int clean_flux(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                      uint32_t place, const char *node_name)
{
    struct starter_call call = {.count = 0};

    (void)node_name;
    call_begin(&call, instance);
    starter_call_add(&call, memory_copy_string("--noinput"));
    starter_call_add_clean(&call, instance, place, node_name);
    starter_call_make(&call, helper, id, environ, NULL, 0);
    return 1;
}

static char *program_flux(const struct instance_spec *instance)
{
    return memory_copy_string(flux_of(instance));
}

const struct starter_method starter_flux = {.name = "flux",
                                            .select = starter_call_select_all,
                                            .start_all = start_all_flux,
                                            .clean = clean_flux,
                                            .program = program_flux};
