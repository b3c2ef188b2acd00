/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_placement.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/placement_list.h"
#include "alloc/placement_require.h"
#include "launch/cli/request/request_configured.h"

/* ---- The applications ---- */

/* The table for applications after the first: options of the whole job are refused. */
static struct option_rule *rules_of_apps(const struct option_rule *rules, const char *refusal)
{
    struct option_rule *own;
    size_t count = 0;

    while (rules[count].kind != OPTION_END)
        count++;
    own = memory_copy(rules, (count + 1) * sizeof(*own));
    for (size_t i = 0; i < count; i++) {
        if (!own[i].each_app)
            own[i].refusal = refusal;
    }
    return own;
}

/* argv[0] is the word before the application's; returns the number of words read. */
static int parse_app(const struct option_rule *rules, int argc, char *const *argv,
                     struct run_app *app, int *ret_used, struct error *error)
{
    int next = 0, end;
    int rc = options_parse(rules, argc, argv, &app->settings, &next, error);
    int is_last;

    if (rc < 0)
        return rc;
    is_last = next > 1 && strcmp(argv[next - 1], "--") == 0;
    for (end = next; end < argc && (is_last || end == next || strcmp(argv[end], ":") != 0);)
        end++;
    app->argv = argv + next;
    app->argc = end - next;
    assert(next <= end && end <= argc);
    *ret_used = end;
    return 0;
}

static int add_app(struct request_apps *apps, const struct request_settings *first,
                   struct error *error)
{
    assert(apps->count > 0);
    if (apps->count >= PLACEMENT_APPS_MAX)
        return error_set(error, -E2BIG, "more than %u applications", PLACEMENT_APPS_MAX);
    apps->items = memory_resize(apps->items, (apps->count + 1) * sizeof(*apps->items));
    apps->items[apps->count++] = (struct run_app){.settings = request_settings_inherit(first)};
    return 0;
}

static int parse_later(const struct option_rule *rules, int argc, char *const *argv,
                       struct request_apps *apps, int *used, struct error *error)
{
    struct run_app *app;
    struct request_settings first = apps->items[0].settings;
    int more = 0;
    int rc = add_app(apps, &first, error);

    assert(*used < argc);
    if (rc < 0)
        return rc;
    app = &apps->items[apps->count - 1];
    rc = parse_app(rules, argc - *used, argv + *used, app, &more, error);
    *used += more;
    if (rc == 0 && app->settings.require.count == 0)
        request_settings_inherit_require(&app->settings, &apps->items[0].settings);
    if (rc == 0 && app->argc == 0)
        rc = error_set(error, -EINVAL, "no program after ':'");
    if (rc < 0)
        error_prefix(error, "application %u", apps->count - 1);
    return rc;
}

/* ---- A file of them ---- */

static int parse_line(const struct option_rule *rules, const struct request_app_line *line,
                      const struct request_settings *common, struct run_app *app,
                      struct error *error)
{
    int used = 0;
    int rc;

    options_list_fini(&app->settings.require);
    rc = parse_app(rules, line->count, line->words, app, &used, error);
    if (rc == 0 && app->settings.require.count == 0)
        request_settings_inherit_require(&app->settings, common);
    if (rc == 0 && app->argc == 0)
        rc = error_set(error, -EINVAL, "no program after the options");
    if (rc == 0 && used < line->count)
        rc =
            error_set(error, -EINVAL,
                      "':' separates applications on the command line only: give each its line, or "
                      "put '--' before the program");
    if (rc < 0)
        error_prefix(error, "%s", line->words[0]);
    return rc;
}

static int parse_lines(const struct option_rule *rules, struct request_apps *apps,
                       struct error *error)
{
    struct option_rule *own =
        rules_of_apps(rules, "is for the whole job: give it on the command line");
    struct request_settings common = request_settings_inherit(&apps->items[0].settings);
    int rc = 0;

    request_settings_inherit_require(&common, &apps->items[0].settings);
    for (uint32_t i = 0; rc == 0 && i < apps->file.count; i++) {
        if (i > 0)
            rc = add_app(apps, &common, error);
        if (rc == 0)
            rc = parse_line(own, &apps->file.lines[i], &common, &apps->items[i], error);
    }
    request_settings_fini(&common);
    free(own);
    return rc;
}

/* The command line has neither a program nor numbers of processes. */
static int check_options_alone(const struct run_app *app, struct error *error)
{
    const char *path = app->settings.app_file;

    if (app->argc > 0)
        return error_set(error, -EINVAL,
                         "option --app-file: the programs are in %.200s: remove '%.80s' from the "
                         "command line",
                         path, app->argv[0]);
    if (app->settings.processes > 0 || app->settings.per_node > 0)
        return error_set(
            error, -EINVAL,
            "option --app-file: give -n and -N in the lines of %.200s, for each program", path);
    return 0;
}

static int read_file(const char *path, const struct request_ops *ops,
                     struct request_app_file *ret_file, struct error *error)
{
    struct buffer text = {0};
    int rc = ops->read_file(path, &text, error);

    if (rc == 0)
        rc = request_app_file_parse(path, &text, ret_file, error);
    if (rc < 0)
        error_prefix(error, "option --app-file");
    buffer_fini(&text);
    return rc;
}

static int parse_file(const struct option_rule *rules, const struct request_ops *ops,
                      struct request_apps *apps, struct error *error)
{
    int rc = check_options_alone(&apps->items[0], error);

    if (rc == 0)
        rc = read_file(apps->items[0].settings.app_file, ops, &apps->file, error);
    return rc < 0 ? rc : parse_lines(rules, apps, error);
}

int request_apps_parse(const struct option_rule *rules, const struct request_settings *defaults,
                       int argc, char *const *argv, const struct request_ops *ops,
                       struct request_apps *ret_apps, struct error *error)
{
    struct request_apps apps = {.items = memory_allocate_zeroed(sizeof(*apps.items)),
                                .count = 1,
                                .rules = rules,
                                .verb = argv[0],
                                .defaults = *defaults};
    struct option_rule *own =
        rules_of_apps(rules, "is for the whole job: give it before the first program");
    const struct request_settings *settings;
    int used = 0;
    int rc;

    apps.items[0].settings = *defaults;
    rc = parse_app(rules, argc, argv, &apps.items[0], &used, error);
    if (rc == 0)
        request_configured_fill_job(ops->configured, &apps);
    while (rc == 0 && used < argc)
        rc = parse_later(own, argc, argv, &apps, &used, error);
    free(own);
    settings = &apps.items[0].settings;
    if (rc == 0 && settings->app_file != NULL && !settings->help && !settings->version)
        rc = parse_file(rules, ops, &apps, error);
    if (rc < 0)
        request_apps_fini(&apps);
    else
        *ret_apps = apps;
    return rc;
}

void request_apps_fini(struct request_apps *apps)
{
    for (uint32_t i = 0; i < apps->count; i++)
        request_settings_fini(&apps->items[i].settings);
    free(apps->items);
    request_app_file_fini(&apps->file);
    *apps = (struct request_apps){0};
}

uint64_t request_apps_processes(const struct request_apps *apps)
{
    uint64_t processes = 0;

    for (uint32_t i = 0; i < apps->count; i++) {
        if (apps->items[i].settings.processes == 0)
            return 0;
        processes += apps->items[i].settings.processes;
    }
    return processes;
}

/* ---- Rules ---- */

/* The list of a rank file or of a sequence, from its file. */
static int read_list(const struct placement_extra *extra, const struct request_settings *settings,
                     const struct request_ops *ops, const struct allocation *allocation,
                     struct placement_rule *rule, struct error *error)
{
    const struct option_list *host_files = &settings->host_files;
    const char *path = extra->file != NULL      ? extra->file
                       : host_files->count == 1 ? host_files->items[0]
                                                : NULL;
    struct buffer text = {0};
    int rc;

    assert(rule->policy == PLACEMENT_BY_LIST);
    if (path == NULL)
        return error_set(error, -EINVAL,
                         "seq needs a list of nodes, one line for each process: seq:FILE, or "
                         "--hostfile FILE");
    rc = ops->read_file(path, &text, error);
    if (rc == 0)
        rc = extra->is_sequence ? placement_list_parse_sequence(path, buffer_string(&text),
                                                                allocation, &rule->list, error)
                                : placement_list_parse_ranks(path, buffer_string(&text), allocation,
                                                             &rule->list, error);
    buffer_fini(&text);
    return rc;
}

static int check_together(const struct request_settings *settings,
                          const struct placement_rule *rule, struct error *error)
{
    if (rule->per > 0 && settings->per_node > 0 && rule->policy == PLACEMENT_PER_OBJECT)
        return error_set(error, -EINVAL,
                         "options --per-node and --map-by ppr cannot be used together");
    if (settings->per_node > 0 && rule->policy == PLACEMENT_BY_LIST)
        return error_set(error, -EINVAL,
                         "option --per-node cannot be used with a list, which places each process");
    if (settings->per_node > 0 && rule->span)
        return error_set(error, -EINVAL,
                         "options --per-node and --map-by :span cannot be used together");
    return 0;
}

static int parse_words(const struct request_settings *settings, struct placement_rule *rule,
                       struct placement_extra *extra, struct error *error)
{
    const struct {
        const char *option, *text;
        int (*parse)(const char *text, struct placement_rule *rule, struct error *error);
    } words[] = {{"--rank-by", settings->rank_by, placement_rank_by_parse},
                 {"--bind-to", settings->bind_to, placement_bind_parse},
                 {"--bind-memory", settings->bind_memory, placement_memory_parse}};
    int rc;

    if (settings->map_by != NULL) {
        rc = placement_rule_parse(settings->map_by, rule, extra, error);
        if (rc < 0) {
            error_prefix(error, "option --map-by");
            return rc;
        }
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        rc = words[i].text != NULL ? words[i].parse(words[i].text, rule, error) : 0;
        if (rc < 0) {
            error_prefix(error, "option %s", words[i].option);
            return rc;
        }
    }
    return 0;
}

static int require_rule(const struct request_settings *settings, struct placement_rule *rule,
                        struct error *error)
{
    char *terms = options_list_join(&settings->require, ",");
    struct require require;
    int rc;

    if (terms == NULL)
        return 0;
    if (strlen(terms) > REQUIRE_BYTES_MAX)
        rc = error_set(error, -E2BIG, "longer than %u bytes", REQUIRE_BYTES_MAX);
    else
        rc = placement_require_parse(terms, &require, error);
    if (rc < 0)
        error_prefix(error, "option --require");
    else if (require.count > 0) {
        rule->require = terms;
        terms = NULL;
    }
    free(terms);
    return rc;
}

static int make_rule(const struct request_settings *settings, const struct request_ops *ops,
                     const struct allocation *allocation, struct placement_rule *rule,
                     struct placement_extra *job_wide, struct error *error)
{
    struct placement_extra extra = {.no_local = 0};
    int rc;

    *rule = (struct placement_rule){.processes = settings->processes,
                                    .gpus = settings->gpus_per_rank,
                                    .oversubscribe = settings->oversubscribe > 0};
    rc = parse_words(settings, rule, &extra, error);
    if (rc == 0)
        rc = check_together(settings, rule, error);
    if (rc < 0)
        return rc;
    if (settings->cpus_per_rank > 0)
        rule->pe = settings->cpus_per_rank;
    if (rule->policy == PLACEMENT_BY_CPUS && rule->pe > 0)
        return error_set(
            error, -EINVAL,
            "option --cpus-per-rank cannot be used with pe-list, which names the cores");
    if (settings->per_node > 0)
        rule->per = settings->per_node;
    rc = require_rule(settings, rule, error);
    if (rc < 0)
        return rc;
    job_wide->no_local |= extra.no_local;
    job_wide->oversubscribe |= extra.oversubscribe;
    if (rule->pe == 0 && rule->policy < PLACEMENT_BY_LIST && rule->bind != PLACEMENT_BIND_NONE)
        rule->cpus = allocation->cpus < PLACEMENT_UNITS_MAX ? allocation->cpus : 0;
    if (rule->policy != PLACEMENT_BY_LIST)
        return 0;
    rc = read_list(&extra, settings, ops, allocation, rule, error);
    if (rc < 0)
        error_prefix(error, "option --map-by");
    return rc;
}

/* ---- Constraints ---- */

static void exclude_name(const struct allocation *allocation, const char *name,
                         struct placement *placement)
{
    int64_t index = hostlist_find(allocation->names, name, 0);

    if (index >= 0)
        ranges_add(&placement->excluded, (uint32_t)index, (uint32_t)index);
}

/* Excludes this machine, whichever of its names the allocation has. */
static void exclude_local(const struct request_ops *ops, const struct allocation *allocation,
                          struct placement *placement)
{
    size_t short_bytes = strcspn(ops->host_name, ".");
    char *short_name = memory_printf("%.*s", (int)short_bytes, ops->host_name);

    assert(ops->host_name != NULL);
    exclude_name(allocation, ops->host_name, placement);
    exclude_name(allocation, short_name, placement);
    exclude_name(allocation, "localhost", placement);
    free(short_name);
}

/* Nodes are queried for the terms of all applications at once. */
static int check_terms(const struct placement *placement, struct error *error)
{
    struct buffer all = {0};
    struct require require;
    int rc = 0;

    placement_require_all(placement, &all);
    if (all.length_bytes > 0)
        rc = placement_require_parse(buffer_string(&all), &require, error);
    if (rc < 0)
        error_set(error, -E2BIG, "option --require: the applications have more than %u terms",
                  REQUIRE_TERMS_MAX);
    buffer_fini(&all);
    return rc;
}

int request_placement_make(const struct request_apps *apps, const struct request_ops *ops,
                           const struct allocation *allocation, struct placement *placement,
                           struct error *error)
{
    struct placement_extra job_wide = {.no_local = 0};

    assert(apps->count > 0);
    for (uint32_t i = 0; i < apps->count; i++) {
        struct placement_rule rule;
        int rc = make_rule(&apps->items[i].settings, ops, allocation, &rule, &job_wide, error);

        if (rc < 0) {
            if (apps->count > 1)
                error_prefix(error, "application %u", i);
            placement_rule_fini(&rule);
            return rc;
        }
        placement_add(placement, &rule);
    }
    if (job_wide.no_local)
        exclude_local(ops, allocation, placement);
    for (uint32_t i = 0; job_wide.oversubscribe && i < placement->rules_count; i++)
        placement->rules[i].oversubscribe = 1;
    assert(placement->rules_count >= apps->count);
    return check_terms(placement, error);
}
