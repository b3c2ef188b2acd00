/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_starter.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/same_node.h"
#include "launch/cli/request/request_cluster.h"
#include "launch/start/join_token.h"
#include "launch/start/run_environment.h"
#include "launch/start/srun_version.h"
#include "launch/start/starter_agent.h"
#include "overlay/tree.h"

/* A busy controller may create a step late. */
#define STEP_TIMEOUT_DEFAULT_S 60

static const struct starter_word {
    const char *word;
    enum starter_kind kind;
} starter_words[] = {
    {"local", STARTER_LOCAL}, {"virtual", STARTER_VIRTUAL}, {"ssh", STARTER_SSH},
    {"srun", STARTER_SRUN},   {"pals", STARTER_PALS},       {"flux", STARTER_FLUX},
    {"join", STARTER_JOIN},
};

/* A scheduler's means of starting something on a node of its job. */
static const struct scheduler_starter {
    const char *source;
    enum starter_kind kind;
    const char *program; /* searched in PATH */
    const char *agent;   /* STARTER_SSH: called as AGENT NODE COMMAND */
} scheduler_starters[] = {
    {"slurm", STARTER_SRUN, "srun", NULL},
    {"flux", STARTER_FLUX, "flux", NULL},
    {"pals", STARTER_PALS, "aprun", NULL},
    {"pbs", STARTER_PALS, "aprun", NULL}, /* a PBS job on a machine with PALS */
    {"pbs", STARTER_SSH, "pbs_tmrsh", "pbs_tmrsh"},
    {"pbs", STARTER_SSH, "pbsdsh", "pbsdsh -h"}, /* Torque */
    {"lsf", STARTER_SSH, "blaunch", "blaunch"},
    {"gridengine", STARTER_SSH, "qrsh", "qrsh -inherit -V"},
    {"oar", STARTER_SSH, "oarsh", "oarsh"},
    {"pjm", STARTER_SSH, "pjrsh", "pjrsh"},
    {"condor", STARTER_SSH, "condor_ssh", "condor_ssh"},
};

static int starter_find(const char *word, enum starter_kind *ret_kind, struct error *error)
{
    for (size_t i = 0; i < sizeof(starter_words) / sizeof(starter_words[0]); i++) {
        if (strcmp(starter_words[i].word, word) == 0) {
            *ret_kind = starter_words[i].kind;
            return 0;
        }
    }
    return error_set(
        error, -EINVAL,
        "option --starter: '%.80s' is not local, virtual, ssh, srun, pals, flux or join", word);
}

/* Stops at the first name of another machine, usually the first or second. */
static int is_only_this_machine(const struct allocation *allocation, const struct request_ops *ops)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t i = 0; i < allocation_nodes(allocation); i++) {
        hostlist_name(allocation->names, i, name);
        if (!same_node_is_here(name, ops->host_name))
            return 0;
    }
    return 1;
}

/* --ssh-agent, or that of the configuration, or BANYAN_SSH_AGENT, or NULL. */
static const char *given_agent(const struct request_settings *settings,
                               const struct request_ops *ops)
{
    const char *agent = settings->agent;

    if (agent == NULL)
        agent = settings->configured_agent;
    if (agent == NULL)
        agent = run_environment_get(ops->environment, "BANYAN_SSH_AGENT");
    if (agent == NULL || agent[strspn(agent, " ")] == '\0')
        return NULL;
    return agent;
}

static const struct scheduler_starter *scheduler_starter_of(const struct request_ops *ops,
                                                            const struct request_nodes *nodes)
{
    if (nodes->source == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof(scheduler_starters) / sizeof(scheduler_starters[0]); i++) {
        const struct scheduler_starter *starter = &scheduler_starters[i];

        if (strcmp(starter->source, nodes->source->name) == 0 &&
            ops->has_program(ops->environment, starter->program))
            return starter;
    }
    return NULL;
}

static int check_starter(const struct request_settings *settings, enum starter_kind kind,
                         struct error *error)
{
    if (kind == STARTER_VIRTUAL && settings->virtual_nodes == 0)
        return error_set(error, -EINVAL, "option --starter: virtual needs --virtual-nodes N");
    if (kind == STARTER_JOIN && settings->boot != NULL)
        return error_set(error, -EINVAL,
                         "option --boot: with --starter join daemons get a token instead");
    return 0;
}

/* "user@" before the nodes' names becomes option -l of ssh and similar agents. */
static void set_agent(struct instance_spec *instance, const char *agent, const char *user)
{
    if (instance->starter != STARTER_SSH)
        return;
    if (user[0] != '\0')
        instance->agent = memory_printf("%s -l %s", agent != NULL ? agent : "ssh", user);
    else
        instance->agent = memory_copy_string(agent != NULL ? agent : "ssh");
    assert(instance->agent != NULL);
}

/* A starter that works from one node only needs a tree without relays, as far as the radix
 * allows. */
static void set_radix(const struct request_settings *settings, const struct request_nodes *nodes,
                      struct instance_spec *instance)
{
    uint32_t wide = allocation_nodes(&nodes->allocation);

    if (settings->radix > 0)
        return;
    wide = wide < TREE_RADIX_MAX ? wide : TREE_RADIX_MAX;
    instance->radix = wide > instance->radix ? wide : instance->radix;
}

/* NULL: the starter's default.  A version that cannot be asked for or read is no error. */
static char *srun_agent(const struct request_ops *ops)
{
    static const char *const argv[] = {"srun", "--version", NULL};
    const char *option = SRUN_VERSION_STEP_OPTION;
    struct error error = ERROR_NONE;
    struct buffer text = {0};

    if (ops->command != NULL && ops->command(argv, &text, &error) == 0)
        option = srun_version_step_option(buffer_string(&text));
    buffer_fini(&text);
    return strcmp(option, SRUN_VERSION_STEP_OPTION) != 0 ? memory_printf("srun %s", option) : NULL;
}

static int choose(const struct request_settings *settings, const struct request_ops *ops,
                  const struct request_nodes *nodes, struct instance_spec *instance,
                  struct error *error)
{
    const char *agent = given_agent(settings, ops);
    const struct scheduler_starter *scheduler = NULL;
    int rc = 0;

    instance->starter = STARTER_SSH;
    if (settings->starter != NULL) {
        rc = starter_find(settings->starter, &instance->starter, error);
        if (rc == 0)
            rc = check_starter(settings, instance->starter, error);
    } else if (settings->virtual_nodes > 0) {
        instance->starter = STARTER_VIRTUAL;
    } else if (settings->agent == NULL && nodes->allocation.user[0] == '\0' &&
               is_only_this_machine(&nodes->allocation, ops)) {
        instance->starter = STARTER_LOCAL;
    } else if (agent == NULL && nodes->allocation.user[0] == '\0') {
        scheduler = scheduler_starter_of(ops, nodes);
    }
    if (rc == 0 && settings->join_file != NULL && instance->starter != STARTER_JOIN)
        rc = error_set(error, -EINVAL, "option --join-file: it needs --starter join");
    if (rc < 0)
        return rc;
    if (scheduler != NULL) {
        instance->starter = scheduler->kind;
        agent = scheduler->agent;
    }
    if (instance->starter == STARTER_SSH && agent != NULL && starter_agent_find(agent)->root_only)
        set_radix(settings, nodes, instance);
    assert(instance->starter < STARTER_KIND_COUNT);
    set_agent(instance, agent, nodes->allocation.user);
    if (instance->starter == STARTER_SRUN)
        instance->agent = srun_agent(ops);
    if (instance->starter == STARTER_JOIN)
        instance->join_file = memory_copy_string(settings->join_file != NULL ? settings->join_file
                                                                             : JOIN_FILE_DEFAULT);
    if (settings->start_timeout_s > 0)
        instance->start_timeout_s = settings->start_timeout_s;
    else if (instance->starter == STARTER_SRUN || instance->starter == STARTER_PALS ||
             instance->starter == STARTER_FLUX)
        instance->start_timeout_s = STEP_TIMEOUT_DEFAULT_S;
    else if (instance->starter == STARTER_JOIN)
        instance->start_timeout_s = JOIN_TIMEOUT_DEFAULT_S;
    return 0;
}

/* The clusters of the nodes have a say. */
int request_starter_choose(const struct request_settings *settings, const struct request_ops *ops,
                           const struct request_nodes *nodes, struct instance_spec *instance,
                           struct error *error)
{
    const struct site *site = ops->configured != NULL ? &ops->configured->site : NULL;
    struct request_settings chosen = *settings;
    struct buffer addresses = {0};
    char *agent;
    int rc = request_cluster_starter(site, &nodes->allocation, &chosen, &agent, error);

    if (rc < 0)
        return rc;
    if (site != NULL)
        site_addresses(site, &addresses);
    if (addresses.length_bytes > 0)
        instance->addresses = memory_copy_string(buffer_string(&addresses));
    rc = choose(&chosen, ops, nodes, instance, error);
    buffer_fini(&addresses);
    free(agent);
    return rc;
}

const char *request_starter_name(enum starter_kind kind)
{
    size_t i = 0;

    assert(kind < STARTER_KIND_COUNT);
    while (starter_words[i].kind != kind)
        i++;
    return starter_words[i].word;
}
