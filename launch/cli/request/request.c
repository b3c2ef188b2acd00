/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/node_text.h"
#include "alloc/placement_map.h"
#include "alloc/placement_require.h"
#include "base/log.h"
#include "fabric/address.h"
#include "launch/start/boot_carry.h"
#include "launch/cli/option/options.h"
#include "launch/start/run_environment.h"
#include "launch/start/starter_agent.h"
#include "launch/cli/request/request_cluster.h"
#include "launch/cli/request/request_configured.h"
#include "launch/cli/request/request_direct.h"
#include "launch/cli/request/request_fabric.h"
#include "launch/cli/request/request_facts.h"
#include "launch/cli/request/request_instance.h"
#include "launch/cli/request/request_nodes.h"
#include "launch/cli/request/request_placement.h"
#include "launch/cli/request/request_process.h"
#include "launch/cli/request/request_settings.h"
#include "launch/cli/request/request_shape.h"
#include "launch/cli/request/request_starter.h"
#include "launch/cli/request/request_tasks.h"
#include "launch/cli/request/request_terminal.h"
#include "launch/cli/request/request_unfollowed.h"
#include "launch/exec/session.h"

#define KILL_GRACE_DEFAULT_MS 1000 /* Ctrl-C ends a job in less than 2 s */
#define MS_PER_S              1000
#define BOOT_WITHOUT_STDIN    "munge"

struct word_value {
    const char *word;
    uint32_t value;
};

static const struct word_value failures[] = {{"abort", JOB_ON_FAILURE_ABORT},
                                             {"continue", JOB_ON_FAILURE_CONTINUE},
                                             {"restart", JOB_ON_FAILURE_RESTART},
                                             {NULL, 0}};

static const struct word_value stops[] = {{"exec", PMI_STOP_EXEC},
                                          {"init", PMI_STOP_INIT},
                                          {"app", PMI_STOP_APP},
                                          {NULL, 0}};

static const struct word_value modexes[] = {{"auto", JOB_MODEX_AUTO},
                                            {"full", JOB_MODEX_FULL},
                                            {"lazy", JOB_MODEX_LAZY},
                                            {NULL, 0}};

static const struct word_value interfaces[] = {{"pmix", JOB_MPI_PMIX},
                                               {"pmi1", JOB_MPI_PMI1},
                                               {"pmi2", JOB_MPI_PMI1},
                                               {"torch", JOB_MPI_TORCH},
                                               {"none", 0},
                                               {NULL, 0}};

void request_help_run(struct buffer *out)
{
    buffer_append_string(
        out, "Usage: banyan run [OPTIONS] PROGRAM [ARGUMENTS]\n"
             "       banyan run [OPTIONS] --tasks FILE|- [PROGRAM [ARGUMENTS]]\n"
             "       banyan run [OPTIONS] PROGRAM [ARGUMENTS] ::: ARGUMENTS\n\n"
             "Starts processes of a program on one or many nodes and connects them (PMIx, PMI).\n");
    options_help(run_rules, out);
    buffer_append_string(
        out, "\nExit status: the highest of the program's, 128+N for signal N; 124 timed out,\n"
             "125 banyan failed, or the command line was wrong, 126 not executable,\n"
             "127 not found, 130 interrupted.  More in banyan-run(1).\n");
}

void request_help_start(struct buffer *out)
{
    buffer_append_string(
        out,
        "Usage: banyan start [OPTIONS]\n\n"
        "Starts a persistent instance: its daemons run on the nodes, and 'banyan run --instance\n"
        "DIR' runs jobs there, many at once.  Prints DIR when it is ready.  SIGTERM or SIGINT end\n"
        "its jobs and the instance.\n");
    options_help(request_settings_start_rules(), out);
    buffer_append_string(
        out, "\nExit status: 0 the instance has ended in order (--daemonize: is ready), "
             "125 it\nfailed, or the command line was wrong.  More in banyan-start(1).\n");
}

void request_help_doctor(struct buffer *out)
{
    buffer_append_string(
        out,
        "Usage: banyan doctor [OPTIONS] [PROGRAM]\n\n"
        "Examines the nodes of an allocation as a run would use them, and says how to fix each\n"
        "problem.  With a PROGRAM, also checks that the nodes have it and its libraries.  With -v,\n"
        "also prints what is in order.\n");
    options_help(request_settings_doctor_rules(), out);
    buffer_append_string(out,
                         "\nExit status: 0 no problem found, 1 a problem was found, 125 banyan "
                         "failed, or the\ncommand line was wrong.  More in banyan-doctor(1).\n");
}

/* The value of the word that stands there, up to a comma or the end. */
static int word_find(const struct word_value *words, const char *text, size_t text_bytes,
                     uint32_t *ret_value)
{
    for (; words->word != NULL; words++) {
        if (strlen(words->word) == text_bytes && memcmp(words->word, text, text_bytes) == 0) {
            *ret_value = words->value;
            return 0;
        }
    }
    return -EINVAL;
}

static int mpi_parse(const char *text, uint32_t *ret_mpi, struct error *error)
{
    const char *word = text;
    uint32_t mpi = 0;

    for (;;) {
        size_t word_bytes = strcspn(word, ",");
        uint32_t value = 0;
        if (word_find(interfaces, word, word_bytes, &value) < 0)
            return error_set(
                error, -EINVAL,
                "option --mpi: '%.80s' is not a list of pmix, pmi1, pmi2 and torch, or none", text);
        mpi |= value;
        if (word[word_bytes] == '\0')
            break;
        word += word_bytes + 1;
    }
    *ret_mpi = mpi;
    return 0;
}

static int failure_parse(const char *text, struct job_spec *job, struct error *error)
{
    size_t word_bytes = strcspn(text, ":");
    uint32_t policy, restarts = JOB_RESTARTS_DEFAULT;

    if (word_find(failures, text, word_bytes, &policy) < 0 ||
        (text[word_bytes] == ':' && policy != JOB_ON_FAILURE_RESTART))
        return error_set(error, -EINVAL,
                         "option --on-failure: '%.80s' is not abort, continue or restart[:N]",
                         text);
    if (text[word_bytes] == ':' &&
        options_number(text + word_bytes + 1, 1, JOB_RESTARTS_MAX, &restarts) < 0)
        return error_set(
            error, -EINVAL,
            "option --on-failure: '%.80s': the number of restarts is not a number from 1 to %u",
            text, JOB_RESTARTS_MAX);
    if (policy == JOB_ON_FAILURE_RESTART && job->stdin_rank == JOB_STDIN_ALL)
        return error_set(
            error, -EINVAL,
            "options --on-failure restart and --stdin all cannot be used together: a "
            "restarted rank would miss what came before; give --stdin a rank, or none");
    job->on_failure = (enum job_on_failure)policy;
    job->restarts_max = policy == JOB_ON_FAILURE_RESTART ? restarts : 0;
    return 0;
}

static int modex_parse(const char *text, struct job_spec *job, struct error *error)
{
    uint32_t modex;

    if (word_find(modexes, text, strlen(text), &modex) < 0)
        return error_set(error, -EINVAL, "option --modex: '%.80s' is not auto, full or lazy", text);
    job->modex = (enum job_modex)modex;
    return 0;
}

static int stop_parse(const char *text, struct job_spec *job, struct error *error)
{
    uint32_t stop;

    if (word_find(stops, text, strlen(text), &stop) < 0)
        return error_set(error, -EINVAL, "option --stop: '%.80s' is not exec, init or app", text);
    if (stop != PMI_STOP_EXEC && !(job->mpi & JOB_MPI_PMIX))
        return error_set(error, -EINVAL,
                         "option --stop: '%s' needs PMIx: add pmix to --mpi, or use --stop exec",
                         text);
    job->stop = (enum pmi_stop)stop;
    return 0;
}

static int want_absolute(const char *option, const char *path, struct error *error)
{
    if (path != NULL && path[0] != '/')
        return error_set(error, -EINVAL, "option %s: '%.200s' is not an absolute path", option,
                         path);
    return 0;
}

static int check_tmpdir(const char *text, struct error *error)
{
    int rc = text != NULL ? node_text_check(text, error) : 0;

    if (rc < 0)
        error_prefix(error, "option --tmpdir");
    return rc;
}

static int check_together(const struct request_settings *settings, struct error *error)
{
    int rc = 0;

    if (settings->virtual_nodes > 0 && settings->agent != NULL && settings->starter == NULL)
        rc = error_set(error, -EINVAL,
                       "option --ssh-agent: virtual nodes are started without ssh (--starter ssh "
                       "forces it)");
    if (rc == 0)
        rc = want_absolute("--banyand", settings->banyand, error);
    if (rc == 0)
        rc = check_tmpdir(settings->tmpdir, error);
    if (rc == 0)
        rc = want_absolute("--record", settings->record, error);
    if (rc == 0)
        rc = want_absolute("--log", settings->log, error);
    return rc;
}

static char *copy_or_null(const char *text)
{
    return text != NULL ? memory_copy_string(text) : NULL;
}

/* Session id and secret come from one read of random bytes, but share none of them. */
static void name_session(struct instance_spec *instance, const struct request_ops *ops)
{
    for (size_t i = 0; i < SESSION_ID_BYTES / 2; i++)
        snprintf(instance->session + 2 * i, 3, "%02x", ops->random[i]);
    memcpy(instance->secret, ops->random + SESSION_ID_BYTES / 2, SECRET_BYTES);
}

static void choose_virtual_base(struct instance_spec *instance, const struct request_ops *ops)
{
    const char *tmpdir = instance->own_tmpdir;

    assert(instance->session[0] != '\0');
    if (tmpdir == NULL)
        tmpdir = run_environment_get(ops->environment, "TMPDIR");
    if (tmpdir == NULL || tmpdir[0] == '\0')
        tmpdir = "/tmp";
    instance->virtual_base =
        memory_printf("%s/" SESSION_VIRTUAL_PREFIX "%s", tmpdir, instance->session);
}

static int choose_net(const struct request_settings *settings, struct instance_spec *instance,
                      struct error *error)
{
    uint32_t first = 0, last = 0;
    int rc;

    instance->net = options_list_join(&settings->net, ",");
    rc = instance->net != NULL ? address_net_check(instance->net, error) : 0;
    if (rc < 0 || settings->ports == NULL)
        return rc;
    if (options_range(settings->ports, 1, UINT16_MAX, &first, &last) < 0)
        return error_set(error, -EINVAL,
                         "option --port-range: '%.80s' is not FIRST-LAST with ports from 1 to %u",
                         settings->ports, UINT16_MAX);
    assert(first <= last);
    instance->port_first = (uint16_t)first;
    instance->port_last = (uint16_t)last;
    return 0;
}

/* Daemons forked here always get their record over a pipe. */
static int choose_boot(const struct request_settings *settings, struct instance_spec *instance,
                       struct error *error)
{
    int rc = settings->boot != NULL ? boot_carry_check(settings->boot, error) : 0;

    assert(instance->starter < STARTER_KIND_COUNT);
    if (rc < 0) {
        error_prefix(error, "option --boot");
        return rc;
    }
    if (settings->boot == NULL &&
        (instance->starter == STARTER_PALS ||
         (instance->agent != NULL && starter_agent_find(instance->agent)->no_stdin)))
        instance->boot = memory_copy_string(BOOT_WITHOUT_STDIN);
    else if (instance->starter != STARTER_LOCAL && instance->starter != STARTER_VIRTUAL)
        instance->boot = copy_or_null(settings->boot);
    return 0;
}

static int make_instance(const struct request_settings *settings, const struct request_ops *ops,
                         const struct request_nodes *nodes, struct run_request *request,
                         struct fabric_model *ret_fabric, struct error *error)
{
    static const enum log_level levels[] = {LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG};
    struct instance_spec *instance = &request->instance;
    uint32_t nodes_count = allocation_nodes(&nodes->allocation);
    int rc = request_starter_choose(settings, ops, nodes, instance, error);

    if (rc < 0)
        return rc;
    rc = request_settings_check_radix(settings, nodes_count, error);
    if (rc < 0)
        return rc;
    if (settings->min_nodes > nodes_count)
        return error_set(error, -EINVAL, "option --min-nodes: there are only %u nodes, not %u",
                         nodes_count, settings->min_nodes);
    if (settings->spares > 0 && settings->spares >= nodes_count)
        return error_set(
            error, -EINVAL,
            "option --spares: there are only %u nodes, and a job needs one that is not "
            "a spare",
            nodes_count);
    instance->nodes_min = settings->min_nodes;
    instance->spares = settings->spares;
    name_session(instance, ops);
    instance->places = nodes_count + 1;
    if (settings->radix > 0)
        instance->radix = settings->radix;
    rc = request_fabric_trees(settings->trees, &instance->trees, error);
    if (rc < 0)
        return rc;
    instance->kill_grace_ms = settings->kill_grace_s == RUN_NOT_GIVEN
                                  ? KILL_GRACE_DEFAULT_MS
                                  : settings->kill_grace_s * MS_PER_S;
    if (settings->start_retries != RUN_NOT_GIVEN)
        instance->start_retries = settings->start_retries;
    if (settings->patience_s > 0)
        instance->lease_ms = 2 * settings->patience_s * MS_PER_S;
    instance->survive_s = settings->survive_s;
    instance->log_level = (uint8_t)levels[settings->verbose < 2 ? settings->verbose : 2];
    instance->banyand =
        memory_copy_string(settings->banyand != NULL ? settings->banyand : ops->banyand);
    instance->tmpdir =
        request_cluster_tmpdir(ops->configured != NULL ? &ops->configured->site : NULL,
                               &nodes->allocation, settings->tmpdir);
    instance_spec_localize(instance, ""); /* of the root, which is here */
    instance->record = copy_or_null(settings->record);
    instance->log = copy_or_null(settings->log);
    if (instance->starter == STARTER_VIRTUAL)
        choose_virtual_base(instance, ops);
    rc = choose_boot(settings, instance, error);
    if (rc == 0)
        rc = choose_net(settings, instance, error);
    if (rc == 0)
        rc = request_fabric_transport(settings, instance, error);
    if (rc == 0)
        rc = request_fabric_choose(settings->fabric_topology, ops, &nodes->allocation,
                                   &instance->fabric_topology, ret_fabric, error);
    return rc;
}

static int choose_input(const char *text, uint32_t processes, uint32_t *ret_rank,
                        struct error *error)
{
    *ret_rank = 0;
    if (text == NULL)
        return 0;
    if (strcmp(text, "none") == 0) {
        *ret_rank = UINT32_MAX;
        return 0;
    }
    if (strcmp(text, "all") == 0) {
        *ret_rank = JOB_STDIN_ALL;
        return 0;
    }
    if (processes == 0) /* counted once the nodes are known */
        processes = PLACEMENT_PROCESSES_MAX;
    if (options_number(text, 0, processes - 1, ret_rank) < 0)
        return error_set(error, -EINVAL,
                         "option --stdin: '%.80s' is not a rank from 0 to %u, all or none", text,
                         processes - 1);
    return 0;
}

static char **copy_strings(char *const *strings, int count)
{
    char **copy = memory_allocate_zeroed((size_t)(count + 1) * sizeof(*copy));

    for (int i = 0; i < count; i++)
        copy[i] = memory_copy_string(strings[i]);
    return copy;
}

static int make_app(const struct run_app *words, const struct request_ops *ops, uint32_t mpi,
                    struct app_spec *app, struct error *error)
{
    if (words->argc == 0)
        return error_set(error, -EINVAL, "no program given; usage: banyan run [OPTIONS] PROGRAM");
    if (words->argv[0][0] == '\0')
        return error_set(error, -EINVAL, "the name of the program is empty");
    app->argv = copy_strings(words->argv, words->argc);
    return request_process_make(&words->settings, ops, mpi, app, error);
}

static void tell_left_out(const struct run_request *request, struct error *error)
{
    struct buffer left_out = {0};

    placement_require_tell(&request->job.placement, &request->allocation, &left_out);
    if (request->instance.spares > 0)
        buffer_printf(&left_out, "; the last %u of %u nodes are kept as spares",
                      request->instance.spares, allocation_nodes(&request->allocation));
    error_set(error, error->code, "%s%s", error->text, buffer_string(&left_out));
    buffer_fini(&left_out);
}

/* Of the nodes that are no spares. */
static int make_map(const struct run_request *request, struct placement_map *ret_map,
                    struct error *error)
{
    struct allocation nodes;
    int rc;

    allocation_copy(&nodes, &request->allocation);
    allocation_clear_last(&nodes, request->instance.spares);
    rc = placement_map_make(ret_map, &request->job.placement, &nodes, error);
    allocation_fini(&nodes);
    return rc;
}

/* The placement as far as it is known here; only the nodes know their topologies. */
static int make_placement(const struct request_apps *apps, const struct request_ops *ops,
                          struct run_request *request, struct error *error)
{
    struct job_spec *job = &request->job;
    struct placement_map map;
    int rc = request_placement_make(apps, ops, &request->allocation, &job->placement, error);

    if (rc == 0 && placement_require_open(&job->placement, &request->allocation)) {
        job->processes = placement_processes(&job->placement);
        return 0; /* the nodes will report it */
    }
    if (rc == 0)
        rc = placement_require_settle(&job->placement, &request->allocation, error);
    if (rc == 0 && !placement_wants_topology(&job->placement)) {
        rc = make_map(request, &map, error);
        if (rc == 0) {
            if (!instance_spec_may_miss(
                    &request->instance)) /* else the nodes that start are counted */
                placement_map_resolve(&map, &job->placement);
            placement_map_fini(&map);
        } else {
            tell_left_out(request, error);
        }
    }
    job->processes = placement_processes(&job->placement);
    return rc;
}

/* The examination is of one directory. */
static int check_doctor(const struct run_request *request, struct error *error)
{
    if (!request->instance.is_doctor || !request->job.apps[0].directory_is_template)
        return 0;
    return error_set(
        error, -EINVAL,
        "option --wdir: 'banyan doctor' examines one directory: give it without %%r, %%h "
        "and %%j");
}

static int make_job(const struct request_apps *apps, const struct request_ops *ops,
                    struct run_request *request, struct error *error)
{
    const struct request_settings *settings = &apps->items[0].settings;
    struct job_spec *job = &request->job;
    int rc = make_placement(apps, ops, request, error);

    if (rc == 0)
        rc = choose_input(settings->input, job->processes, &job->stdin_rank, error);
    if (rc == 0 && settings->mpi != NULL)
        rc = mpi_parse(settings->mpi, &job->mpi, error);
    if (rc == 0 && settings->on_failure != NULL)
        rc = failure_parse(settings->on_failure, job, error);
    if (rc == 0 && settings->modex != NULL)
        rc = modex_parse(settings->modex, job, error);
    if (rc == 0 && settings->stop != NULL)
        rc = stop_parse(settings->stop, job, error);
    job->report_bindings = settings->report_bindings > 0;
    job->profile = settings->profile > 0;
    job->stats = settings->stats > 0;
    job->trace = settings->trace != NULL;
    job->apps = memory_allocate_zeroed(apps->count * sizeof(*job->apps));
    job->apps_count = apps->count;
    for (uint32_t i = 0; rc == 0 && i < apps->count; i++)
        rc = make_app(&apps->items[i], ops, job->mpi, &job->apps[i], error);
    return rc == 0 ? check_doctor(request, error) : rc;
}

/* The first option that belongs to the start of an instance, or NULL. */
static const char *option_of_start(const struct request_settings *settings)
{
    const struct {
        const char *name;
        int given;
    } options[] = {
        {"--host", settings->hosts.count > 0},
        {"--hostfile", settings->host_files.count > 0},
        {"--source", settings->source != NULL},
        {"--min-nodes", settings->min_nodes > 0},
        {"--spares", settings->spares > 0},
        {"--virtual-nodes", settings->virtual_nodes > 0},
        {"--slots", settings->slots > 0},
        {"--start-timeout", settings->start_timeout_s > 0},
        {"--start-retries", settings->start_retries != RUN_NOT_GIVEN},
        {"--kill-grace", settings->kill_grace_s != RUN_NOT_GIVEN},
        {"--patience", settings->patience_s > 0},
        {"--radix", settings->radix > 0},
        {"--trees", settings->trees != NULL},
        {"--starter", settings->starter != NULL},
        {"--ssh-agent", settings->agent != NULL},
        {"--join-file", settings->join_file != NULL},
        {"--banyand", settings->banyand != NULL},
        {"--net", settings->net.count > 0},
        {"--boot", settings->boot != NULL},
        {"--port-range", settings->ports != NULL},
        {"--fabric", settings->fabric != NULL},
        {"--fabric-topology", settings->fabric_topology != NULL},
        {"--no-shape", settings->no_shape > 0},
        {"--tmpdir", settings->tmpdir != NULL},
        {"--record", settings->record != NULL},
        {"--log", settings->log != NULL},
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (options[i].given)
            return options[i].name;
    return NULL;
}

/* The nodes of an instance are given when it is started. */
static int check_guest(const struct request_settings *settings, struct error *error)
{
    const char *name = option_of_start(settings);

    return name == NULL ? 0
                        : error_set(error, -EINVAL,
                                    "option %s cannot be used with --instance: it belongs to "
                                    "'banyan start'",
                                    name);
}

/* Nodes, or how they are started, are given for a new instance only. */
static int take_variable(struct request_settings *settings, const struct request_ops *ops,
                         struct request_nodes *nodes)
{
    const char *directory = run_environment_get(ops->environment, REQUEST_INSTANCE_VARIABLE);

    if (settings->instance != NULL || directory == NULL || directory[0] == '\0' ||
        option_of_start(settings) != NULL)
        return 0;
    settings->instance = directory;
    if (request_instance_is_none(directory))
        return 0;
    if (settings->verbose > 0)
        snprintf(nodes->notice, sizeof(nodes->notice),
                 "in the instance %.200s ($" REQUEST_INSTANCE_VARIABLE ")", directory);
    return 1;
}

static int find_nodes(const struct request_settings *settings, const struct request_ops *ops,
                      struct request_nodes *nodes, struct run_request *request, struct error *error)
{
    int rc;

    if (request_instance_is_none(settings->instance))
        return request_nodes_find(settings, ops, nodes, error);
    rc = check_guest(settings, error);
    if (rc == 0 && ops->instance == NULL)
        rc = error_set(error, -ENOTSUP, "option --instance: no instance can be reached from here");
    if (rc == 0)
        rc = ops->instance(settings->instance, &nodes->allocation, &request->instance_fd, error);
    return rc;
}

/* What a configuration says about the start of an instance. */
static int configure_start(struct request_apps *apps, const struct request_ops *ops,
                           struct request_settings *settings, struct error *error)
{
    uint32_t processes = settings->processes;

    request_configured_fill_start(ops->configured, apps);
    *settings = apps->items[0].settings;
    settings->processes = processes;
    return check_together(settings, error);
}

/* What concerns the command itself. */
static void take_settings(const struct request_settings *settings, struct run_request *request)
{
    assert(request->json_path == NULL);
    request->timeout_s = settings->timeout_s;
    request->stack = settings->stack > 0;
    request->label = settings->label > 0;
    request->no_wait = settings->no_wait > 0;
    request->timestamp = settings->timestamp;
    request->detach = settings->detach > 0;
    request->verbose = settings->verbose;
    request->json_path = copy_or_null(settings->json);
    request->trace_path = copy_or_null(settings->trace);
    request->json = settings->json_wanted > 0;
    request->daemonize = settings->daemonize > 0;
}

/* Only the tree of an instance for jobs has a shape.  Notes are printed with -v. */
static int shape_tree(const struct request_settings *settings, const struct request_ops *ops,
                      struct request_nodes *nodes, const struct fabric_model *fabric,
                      struct run_request *request, struct error *error)
{
    struct buffer notes = {0};
    char *warnings = request->warnings;
    int rc;

    if (request->instance.is_doctor || settings->no_daemons > 0)
        return 0;
    rc = request_shape_take(settings, ops, nodes, fabric, &nodes->allocation, &notes, error);
    if (rc == 0 && settings->verbose > 0 && notes.length_bytes > 0) {
        request->warnings = memory_printf("%s%s%s", warnings != NULL ? warnings : "",
                                          warnings != NULL ? "\n" : "", buffer_string(&notes));
        free(warnings);
    }
    buffer_fini(&notes);
    return rc;
}

static int make_request(struct request_apps *apps, int needs_program, const struct request_ops *ops,
                        struct run_request *request, struct error *error)
{
    struct request_settings settings = request_terminal_settings(apps);
    struct request_nodes nodes = {.slots_given = true};
    struct fabric_model fabric = {.switches = NULL};
    int by_variable = 0;
    int is_found = 0;
    int rc;

    settings.processes = (uint32_t)request_apps_processes(apps);
    rc = check_together(&settings, error);
    if (rc == 0)
        rc = request_instance_check(&settings, error);
    if (rc == 0)
        rc = request_direct_check(&settings, error);
    if (rc == 0)
        rc = request_terminal_check(&settings, ops, error);
    if (settings.no_daemons > 0)
        settings.instance = REQUEST_INSTANCE_NONE;
    if (rc == 0)
        rc = request_output_make(&settings, &request->output, error);
    if (rc == 0 && apps->items[0].argc == 0 && needs_program)
        rc = error_set(error, -EINVAL, "no program given; usage: banyan run [OPTIONS] PROGRAM");
    if (rc == 0 && needs_program)
        by_variable = take_variable(&settings, ops, &nodes);
    if (rc == 0 && needs_program && settings.instance == NULL && option_of_start(&settings) == NULL)
        is_found = request_instance_join(&settings, ops, &nodes, request);
    if (rc == 0 && request_instance_is_none(settings.instance) && !is_found)
        rc = configure_start(apps, ops, &settings, error);
    if (rc == 0 && !is_found)
        rc = find_nodes(&settings, ops, &nodes, request, error);
    if (rc == 0)
        request_configured_limit_radix(&settings, allocation_nodes(&nodes.allocation));
    if (rc < 0 && by_variable)
        error_prefix(error, "$" REQUEST_INSTANCE_VARIABLE);
    if (rc < 0)
        return rc;
    if (request->instance_fd < 0)
        rc = settings.detach > 0 ? request_instance_missing(error)
                                 : make_instance(&settings, ops, &nodes, request, &fabric, error);
    if (rc == 0 && request->instance_fd < 0)
        request->warnings =
            request_unfollowed_tell(&settings, nodes.allocation.user, request->instance.starter);
    if (rc == 0 && request->instance_fd < 0)
        rc = shape_tree(&settings, ops, &nodes, &fabric, request, error);
    fabric_model_fini(&fabric);
    allocation_fini(&request->allocation);
    request->allocation = nodes.allocation; /* moved */
    if (rc == 0 && apps->items[0].argc > 0)
        rc = request_facts_find(apps, ops, nodes.source, &request->allocation,
                                &request->job.placement.facts, error);
    if (rc == 0 && apps->items[0].argc > 0)
        rc = make_job(apps, ops, request, error);
    if (rc == 0)
        request_terminal_take(&settings, ops, &request->job);
    if (rc == 0)
        rc = request_stage_take(&settings, &request->stage, &request->job, error);
    if (rc == 0 && request->tasks != NULL)
        rc = request_tasks_finish(request->tasks, &request->allocation, settings.per_node,
                                  &request->job, error);
    if (settings.detach > 0)
        request->job.stdin_rank = UINT32_MAX;
    if (rc == -ENOSPC && is_found)
        error_set(error, rc, "%s (in your instance; --instance none makes another)", error->text);
    if (nodes.notice[0] != '\0')
        memcpy(request->notice, nodes.notice, sizeof(request->notice));
    take_settings(&settings, request);
    if (rc == 0 && needs_program)
        rc = request_direct_finish(&settings, request, error);
    return rc;
}

static int make_tasks_or_job(struct request_apps *apps, int needs_program,
                             const struct request_ops *ops, struct run_request *request,
                             struct error *error)
{
    int rc = needs_program ? request_tasks_make(apps, ops, &request->tasks, error) : 0;

    return rc < 0 ? rc : make_request(apps, needs_program, ops, request, error);
}

/* `banyan doctor` may have no program: it then only examines the nodes. */
static int parse_request(const struct option_rule *rules, int is_doctor, int needs_program,
                         struct run_request *ret_request, int argc, char *const *argv,
                         const struct request_ops *ops, struct error *error)
{
    const struct request_settings defaults = {.start_retries = RUN_NOT_GIVEN,
                                              .kill_grace_s = RUN_NOT_GIVEN};
    struct run_request request = {.wish = RUN_WISH_JOB, .instance_fd = -1};
    struct request_apps apps = {0};
    int rc = request_apps_parse(rules, &defaults, argc, argv, ops, &apps, error);

    instance_spec_init(&request.instance);
    request.instance.is_doctor = (uint8_t)is_doctor;
    job_spec_init(&request.job);
    allocation_init(&request.allocation);
    if (rc == 0 && apps.items[0].settings.help > 0)
        request.wish = RUN_WISH_HELP;
    else if (rc == 0 && apps.items[0].settings.version > 0)
        request.wish = RUN_WISH_VERSION;
    else if (rc == 0)
        rc = make_tasks_or_job(&apps, needs_program, ops, &request, error);
    request_apps_fini(&apps);
    if (rc < 0)
        request_fini(&request);
    else
        *ret_request = request;
    explicit_bzero(request.instance.secret, SECRET_BYTES);
    return rc;
}

int request_parse_run(struct run_request *ret_request, int argc, char *const *argv,
                      const struct request_ops *ops, struct error *error)
{
    return parse_request(run_rules, 0, 1, ret_request, argc, argv, ops, error);
}

int request_parse_doctor(struct run_request *ret_request, int argc, char *const *argv,
                         const struct request_ops *ops, struct error *error)
{
    return parse_request(request_settings_doctor_rules(), 1, 0, ret_request, argc, argv, ops,
                         error);
}

int request_parse_start(struct run_request *ret_request, int argc, char *const *argv,
                        const struct request_ops *ops, struct error *error)
{
    int rc =
        parse_request(request_settings_start_rules(), 0, 0, ret_request, argc, argv, ops, error);

    if (rc == 0 && ret_request->job.apps_count > 0) {
        request_fini(ret_request);
        rc = error_set(error, -EINVAL,
                       "no program is expected; start it with 'banyan run --instance DIR'");
    }
    return rc;
}

void request_fini(struct run_request *request)
{
    instance_spec_fini(&request->instance);
    job_spec_fini(&request->job);
    request_stage_fini(&request->stage);
    allocation_fini(&request->allocation);
    free(request->json_path);
    free(request->trace_path);
    request_output_fini(&request->output);
    free(request->warnings);
    request_tasks_free(request->tasks);
    *request = (struct run_request){0};
}
