/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_direct.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/placement_require.h"
#include "launch/cli/request/request_starter.h"
#include "launch/proto/process_limits.h"
#include "launch/start/shell_variable.h"
#include "launch/start/starter_agent.h"

#define LACKS                                                                                     \
    "without daemons there are no PMIx, standard input, bindings, forwarded signals, or reports " \
    "of what hangs; "

int request_direct_check(const struct request_settings *settings, struct error *error)
{
    const struct {
        const char *name;
        int given;
    } options[] = {
        {"--instance", settings->instance != NULL},
        {"--detach", settings->detach > 0},
        {"--no-wait", settings->no_wait > 0},
        {"--tasks", settings->tasks != NULL},
        {"--stage", settings->stage.count > 0},
        {"--stage-binary", settings->stage_binary > 0},
        {"--check-libraries", settings->check_libraries > 0},
        {"--mpi", settings->mpi != NULL && strcmp(settings->mpi, "none") != 0},
        {"--modex", settings->modex != NULL},
        {"--stop", settings->stop != NULL},
        {"--stdin", settings->input != NULL && strcmp(settings->input, "none") != 0},
        {"--json", settings->json != NULL},
        {"--report-bindings", settings->report_bindings > 0},
        {"--min-nodes", settings->min_nodes > 0},
        {"--spares", settings->spares > 0},
        {"--record", settings->record != NULL},
        {"--log", settings->log != NULL},
        {"--pty", settings->pty > 0},
        {"--stats", settings->stats > 0},
        {"--profile", settings->profile > 0},
        {"--stack", settings->stack > 0},
        {"--trace", settings->trace != NULL},
        {"--fabric", settings->fabric != NULL},
        {"--fabric-topology", settings->fabric_topology != NULL},
        {"--trees", settings->trees != NULL},
        {"--boot", settings->boot != NULL},
    };

    for (size_t i = 0; settings->no_daemons > 0 && i < sizeof(options) / sizeof(options[0]); i++)
        if (options[i].given)
            return error_set(error, -EINVAL,
                             "option %s cannot be used with --no-daemons: it needs a daemon on "
                             "each node",
                             options[i].name);
    return 0;
}

static int refuse(const char *what, struct error *error)
{
    return error_set(error, -EINVAL, "option --no-daemons: %s", what);
}

static int check_starter(const struct instance_spec *instance, struct error *error)
{
    if (instance->starter == STARTER_SSH) {
        if (starter_agent_find(instance->agent)->no_stdin)
            return refuse("this agent hands no input on, by which processes are started", error);
        return 0;
    }
    if (instance->starter == STARTER_LOCAL || instance->starter == STARTER_SRUN)
        return 0;
    return error_set(error, -EINVAL,
                     "option --no-daemons: the starter %s starts daemons only; ssh, srun and "
                     "local start processes",
                     request_starter_name(instance->starter));
}

/* What the environment here has of such names is only forwarded, and is left out. */
static int check_variables(const struct app_spec *app, struct error *error)
{
    for (char **variable = app->set; variable != NULL && *variable != NULL; variable++) {
        int name_bytes = (int)strcspn(*variable, "=");
        char *name = memory_printf("%.*s", name_bytes, *variable);
        const char *here = getenv(name);
        bool is_new = here == NULL || strcmp(here, *variable + name_bytes + 1) != 0;

        free(name);
        if (is_new && shell_variable_of(*variable) == SHELL_VARIABLE_IMPOSSIBLE)
            return error_set(error, -EINVAL,
                             "option --no-daemons: the shells that start the processes cannot set "
                             "the variable '%.*s': only a daemon can",
                             name_bytes < 80 ? name_bytes : 80, *variable);
    }
    return 0;
}

/* What a daemon does to a process before it is the program. */
static int check_app(const struct app_spec *app, struct error *error)
{
    const struct process_limits nothing = {0};
    struct buffer wanted = {0}, none = {0};
    int differs;

    process_limits_encode(&app->limits, &wanted);
    process_limits_encode(&nothing, &none);
    differs = wanted.length_bytes != none.length_bytes ||
              memcmp(wanted.data, none.data, none.length_bytes) != 0;
    buffer_fini(&wanted);
    buffer_fini(&none);
    if (differs)
        return refuse("limits, umask and nice are set by a daemon", error);
    if (app->edits.count > 0)
        return refuse("variables are removed, or added to, by a daemon", error);
    return 0;
}

/* One call of srun for all. */
static int check_srun(const struct run_request *request, struct error *error)
{
    const struct request_output *output = &request->output;

    if (request->job.apps_count > 1)
        return refuse("srun starts one program; give one", error);
    if (request->job.apps[0].directory_is_template)
        return refuse("srun has one working directory: give it without %r, %h and %j", error);
    if (request->timeout_s > 0)
        return refuse("with srun there is no --timeout", error);
    if (request->timestamp > 0 || output->patterns[0] != NULL || output->patterns[1] != NULL ||
        output->is_merged || output->is_folded || !ranges_is_empty(&output->from))
        return refuse("srun prints the output itself: --label is all that can be asked for", error);
    return 0;
}

int request_direct_finish(const struct request_settings *settings, struct run_request *request,
                          struct error *error)
{
    int is_srun = request->instance.starter == STARTER_SRUN;
    int rc = 0;

    if (settings->no_daemons == 0)
        return 0;
    assert(request->instance_fd < 0 && request->tasks == NULL);
    rc = check_starter(&request->instance, error);
    if (rc == 0 && placement_wants_topology(&request->job.placement))
        rc = refuse("this placement or binding needs the nodes' topologies, which daemons find",
                    error);
    if (rc == 0 && placement_require_open(&request->job.placement, &request->allocation))
        rc = refuse("what --require asks of the nodes only daemons know", error);
    if (rc == 0 && request->job.on_failure == JOB_ON_FAILURE_RESTART)
        rc = refuse("ranks are started again by a daemon", error);
    for (uint32_t i = 0; rc == 0 && i < request->job.apps_count; i++)
        rc = check_app(&request->job.apps[i], error);
    for (uint32_t i = 0; rc == 0 && !is_srun && i < request->job.apps_count; i++)
        rc = check_variables(&request->job.apps[i], error);
    if (rc == 0 && is_srun)
        rc = check_srun(request, error);
    if (rc < 0)
        return rc;
    request->no_daemons = 1;
    free(request->warnings);
    request->warnings =
        memory_copy_string(is_srun ? LACKS "PMI is what srun offers"
                                   : LACKS "without PMI each process of MPI is alone");
    return 0;
}
