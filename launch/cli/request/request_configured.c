/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_configured.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/start/run_environment.h"

#define FILE_NAME     "banyan.conf"
#define FILE_VARIABLE "BANYAN_CONFIG"
#define NO_FILE       "none"

static const char *const verbs[] = {"run", "start", "map", "doctor", NULL};

/* What is read before there is a configuration, concerns one command only, or has a variable of that name
 * with another meaning. */
static const char *const refused[] = {"help",     "version", "on",  "alloc", "app-file", "json",
                                      "instance", "stage",   "pty", "trace", NULL};

static const char *const adding[] = {"env",    "env-file", "unset",   "prepend", "append",
                                     "rlimit", "facts",    "require", NULL};

static const char *const nodes[] = {"host", "hostfile", "virtual-nodes", "source", NULL};

const struct configured_schema request_configured_schema = {.rules = run_rules,
                                                            .settings_bytes =
                                                                sizeof(struct request_settings),
                                                            .verbs = verbs,
                                                            .refused = refused,
                                                            .adding = adding,
                                                            .nodes = nodes};

/* ---- Reading ---- */

static int read_one(const char *path, int must_exist,
                    int (*read_file)(const char *path, struct buffer *out, struct error *error),
                    struct configured_values *values, struct error *error)
{
    struct buffer text = {0};
    int rc = read_file(path, &text, error);

    if ((rc == -ENOENT || rc == -ENOTDIR) && !must_exist)
        rc = 0;
    else if (rc == 0)
        rc = configured_read_file(values, &request_configured_schema, path, &text, error);
    buffer_fini(&text);
    return rc;
}

/* The caller's; NULL if the user has no directory. */
static char *user_file(char *const *environment)
{
    const char *directory = run_environment_get(environment, "XDG_CONFIG_HOME");
    const char *home = run_environment_get(environment, "HOME");

    if (directory != NULL && directory[0] == '/')
        return memory_printf("%s/" FILE_NAME, directory);
    return home != NULL && home[0] == '/' ? memory_printf("%s/.config/" FILE_NAME, home) : NULL;
}

int request_configured_read(char *const *environment,
                            int (*read_file)(const char *path, struct buffer *out,
                                             struct error *error),
                            struct configured_values *ret_values, struct error *error)
{
    const char *only = run_environment_get(environment, FILE_VARIABLE);
    char *user = user_file(environment);
    int rc = 0;

    assert(ret_values->count == 0);
    if (only != NULL && only[0] != '\0') {
        if (strcmp(only, NO_FILE) != 0)
            rc = read_one(only, 1, read_file, ret_values, error);
        if (rc < 0)
            error_prefix(error, "$" FILE_VARIABLE);
    } else {
        rc = read_one(SYSCONFDIR "/" FILE_NAME, 0, read_file, ret_values, error);
        if (rc == 0 && user != NULL)
            rc = read_one(user, 0, read_file, ret_values, error);
    }
    free(user);
    if (rc == 0)
        rc =
            configured_read_environment(ret_values, &request_configured_schema, environment, error);
    return rc;
}

/* ---- Filling ---- */

static int is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

static int is_of_start(const char *name)
{
    if (strcmp(name, "verbose") == 0)
        return 0;
    for (const struct option_rule *rule = request_settings_start_rules(); rule->kind != OPTION_END;
         rule++)
        if (rule->kind != OPTION_HEADING && strcmp(rule->name, name) == 0)
            return 1;
    return 0;
}

static int is_of_job(const char *name)
{
    return !is_of_start(name);
}

/* A job that is left alone has no client for which these are. */
static int is_of_detached_job(const char *name)
{
    static const char *const of_client[] = {"timeout", "label",     "stdin",       "output",
                                            "error",   "merge",     "output-from", "fold",
                                            "stats",   "timestamp", "profile",     "stack"};

    return is_of_job(name) && !is_one_of(name, of_client, sizeof(of_client) / sizeof(of_client[0]));
}

/* A terminal shows what its rank writes, as it is. */
static int is_of_terminal_job(const char *name)
{
    static const char *const of_lines[] = {"label",  "timestamp", "stdin",
                                           "output", "error",     "output-from",
                                           "merge",  "fold",      "on-failure"};

    return is_of_job(name) && !is_one_of(name, of_lines, sizeof(of_lines) / sizeof(of_lines[0]));
}

/* Processes without daemons. */
static int is_of_direct_job(const char *name)
{
    static const char *const of_daemons[] = {
        "detach", "no-wait", "tasks",           "stage", "stage-binary", "check-libraries", "mpi",
        "modex",  "stop",    "report-bindings", "stats", "profile",      "stack",           "stdin",
        "log",    "pty",     "on-failure"};

    return is_of_job(name) &&
           !is_one_of(name, of_daemons, sizeof(of_daemons) / sizeof(of_daemons[0]));
}

/* Tasks are processes of workers. */
static int is_of_tasks(const char *name)
{
    static const char *const of_ranks[] = {"stdin", "stop", "timestamp", "stats", "stage-binary"};

    return is_of_job(name) && !is_one_of(name, of_ranks, sizeof(of_ranks) / sizeof(of_ranks[0]));
}

/* How daemons reach separate machines has no meaning for virtual nodes, and a site describes no network between them. */
static int is_of_start_here(const char *name)
{
    static const char *const elsewhere[] = {"starter", "ssh-agent", "join-file", "boot",
                                            "fabric-topology"};

    return is_of_start(name) &&
           !is_one_of(name, elsewhere, sizeof(elsewhere) / sizeof(elsewhere[0]));
}

/* Which nodes there are. */
static int is_of_nodes_here(const char *name)
{
    static const char *const of_nodes[] = {"host",  "hostfile", "source", "virtual-nodes",
                                           "slots", "radix",    "facts"};

    return is_one_of(name, of_nodes, sizeof(of_nodes) / sizeof(of_nodes[0]));
}

/* And how they are reached. */
static int is_of_nodes(const char *name)
{
    return is_of_nodes_here(name) || strcmp(name, "starter") == 0 || strcmp(name, "ssh-agent") == 0;
}

static void fill(const struct configured_values *values, struct request_apps *apps,
                 int (*wanted)(const char *name))
{
    assert(apps->count > 0 && apps->rules != NULL && apps->verb != NULL);
    configured_fill(values, &request_configured_schema, apps->rules, apps->verb, wanted,
                    &apps->defaults, &apps->items[0].settings);
}

void request_configured_fill_job(const struct configured_values *values, struct request_apps *apps)
{
    if (values != NULL)
        fill(values, apps,
             apps->items[0].settings.tasks != NULL    ? is_of_tasks
             : apps->items[0].settings.detach > 0     ? is_of_detached_job
             : apps->items[0].settings.pty > 0        ? is_of_terminal_job
             : apps->items[0].settings.no_daemons > 0 ? is_of_direct_job
                                                      : is_of_job);
}

/* What the command line has said of these two has another weight. */
static void keep_configured(const char *agent, uint32_t radix, struct request_settings *settings)
{
    if (agent == NULL) {
        settings->configured_agent = settings->agent;
        settings->agent = NULL;
    }
    settings->radix_is_configured = settings->radix != radix;
}

void request_configured_fill_start(const struct configured_values *values,
                                   struct request_apps *apps)
{
    struct request_settings *settings = &apps->items[0].settings;
    const char *agent = settings->agent;
    uint32_t radix = settings->radix;

    if (values == NULL)
        return;
    fill(values, apps, settings->virtual_nodes > 0 ? is_of_start_here : is_of_start);
    keep_configured(agent, radix, settings);
}

void request_configured_fill_nodes(const struct configured_values *values,
                                   struct request_settings *settings)
{
    static const struct request_settings defaults;
    const char *agent = settings->agent;
    uint32_t radix = settings->radix;

    if (values == NULL)
        return;
    configured_fill(values, &request_configured_schema, run_rules, "run",
                    settings->virtual_nodes > 0 ? is_of_nodes_here : is_of_nodes, &defaults,
                    settings);
    keep_configured(agent, radix, settings);
}

void request_configured_limit_radix(struct request_settings *settings, uint32_t nodes_count)
{
    assert(!settings->radix_is_configured || settings->radix >= 2);
    if (settings->radix_is_configured && settings->radix > nodes_count)
        settings->radix = nodes_count > 2 ? nodes_count : 2;
}
