/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aprun of PALS (HPE Cray EX): one application starts a daemon on each node.  Only its rank 0 has
 * standard input, so the boot record goes as --boot says, by MUNGE if it says nothing.  What PALS
 * gives an application (the fabric's service) the daemons and their processes have, too.
 */
#include "config.h"

#include <unistd.h>

#include "base/buffer.h"
#include "launch/start/starter_call.h"

#define APRUN_DEFAULT "aprun"

static const char *aprun_of(const struct instance_spec *instance)
{
    return instance->agent != NULL ? instance->agent : APRUN_DEFAULT;
}

/* One on each of the nodes, and bound to no core. */
static void call_begin(struct starter_call *call, const struct instance_spec *instance,
                       uint32_t nodes)
{
    static const char *const words[] = {"-N", "1", "--cc", "none", NULL};

    starter_call_add(call, memory_copy_string(aprun_of(instance)));
    starter_call_add(call, memory_copy_string("-n"));
    starter_call_add(call, memory_printf("%u", nodes));
    starter_call_add_words(call, words);
}

static void start_all_pals(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                           uint32_t index, const struct hostlist *nodes,
                           const struct helper_fd *fds, uint32_t fds_count)
{
    struct starter_call call = {.count = 0};

    (void)index;
    call_begin(&call, instance, hostlist_count(nodes));
    starter_call_add_nodes(&call, "-L", nodes, 0);
    starter_call_add_daemon(&call, instance, "pals");
    starter_call_make(&call, helper, id, environ, fds, fds_count);
}

static int clean_pals(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                      uint32_t place, const char *node_name)
{
    struct starter_call call = {.count = 0};

    call_begin(&call, instance, 1);
    starter_call_add(&call, memory_copy_string("-L"));
    starter_call_add(&call, memory_copy_string(node_name));
    starter_call_add_clean(&call, instance, place, node_name);
    starter_call_make(&call, helper, id, environ, NULL, 0);
    return 1;
}

static char *program_pals(const struct instance_spec *instance)
{
    return memory_copy_string(aprun_of(instance));
}

const struct starter_method starter_pals = {.name = "pals",
                                            .select = starter_call_select_all,
                                            .start_all = start_all_pals,
                                            .clean = clean_pals,
                                            .program = program_pals};
