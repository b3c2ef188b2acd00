/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_spawn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/host_environment.h"

#define PROCESSES_MAX 268435456u

static void strings_free(char **strings)
{
    for (size_t i = 0; strings != NULL && strings[i] != NULL; i++)
        free(strings[i]);
    free(strings);
}

char **pmi_spawn_copy_strings(char *const *strings)
{
    size_t count = 0;
    char **copy;

    while (strings != NULL && strings[count] != NULL)
        count++;
    copy = memory_allocate_zeroed((count + 1) * sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = memory_copy_string(strings[i]);
    return copy;
}

/* Those of one process: some programs pass on all that they find.  The daemons find processes by theirs. */
static int is_of_launcher(const char *name)
{
    static const char *const own[] = {"BANYAN_SESSION",    "BANYAN_HELPER", "BANYAN_NODE",
                                      "BANYAN_PLACE",      "BANYAN_JOB",    "BANYAN_RANK",
                                      "BANYAN_LOCAL_RANK", "BANYAN_SIZE",   "BANYAN_LOCAL_SIZE"};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strcmp(name, own[i]) == 0)
            return 1;
    }
    return host_environment_is_foreign(name) || host_environment_is_own(name);
}

void pmi_spawn_edit(struct pmi_spawn_app *app, enum variable_edit_kind kind, const char *name,
                    const char *value, char separator)
{
    assert(variable_name_is_valid(name) && value != NULL && kind < VARIABLE_EDIT_KIND_COUNT);
    if (!is_of_launcher(name))
        variable_edits_add(&app->edits, kind, name, value, separator);
}

static void set_variable(struct pmi_spawn_app *app, const char *variable)
{
    char *name = memory_copy_string(variable);
    char *equals = strchr(name, '=');

    if (equals != NULL && equals != name) {
        *equals = '\0';
        pmi_spawn_edit(app, VARIABLE_EDIT_SET, name, equals + 1, '\0');
    }
    free(name);
}

static void rule_fini(struct pmi_spawn_rule *rule)
{
    free(rule->hosts);
    free(rule->map_by);
    free(rule->rank_by);
    free(rule->bind_to);
}

void pmi_spawn_init(struct pmi_spawn *spawn)
{
    *spawn = (struct pmi_spawn){.stdin_rank = PMI_RANK_ALL};
}

void pmi_spawn_fini(struct pmi_spawn *spawn)
{
    for (uint32_t i = 0; i < spawn->apps_count; i++) {
        struct pmi_spawn_app *app = &spawn->apps[i];

        strings_free(app->argv);
        variable_edits_fini(&app->edits);
        free(app->directory);
        rule_fini(&app->rule);
    }
    for (uint32_t i = 0; i < spawn->preput_count; i++) {
        free(spawn->preput[i].key);
        free(spawn->preput[i].value);
    }
    rule_fini(&spawn->rule);
    free(spawn->target.namespace);
    free(spawn->tool);
    free(spawn->apps);
    free(spawn->preput);
    pmi_spawn_init(spawn);
}

int pmi_spawn_is_beside(const struct pmi_spawn *spawn)
{
    const struct pmi_spawn_target *target = &spawn->target;

    return target->namespace != NULL && (target->per_node > 0 || target->per_process > 0);
}

/* argv[0] is what is executed, whatever the caller's own is. */
struct pmi_spawn_app *pmi_spawn_add_app(struct pmi_spawn *spawn, const char *program,
                                        char *const *argv, char *const *env, uint32_t processes)
{
    char *const alone[] = {(char *)(uintptr_t)program, NULL};
    struct pmi_spawn_app *app;

    assert(program != NULL && spawn->apps_count < PMI_SPAWN_APPS_MAX);
    spawn->apps = memory_resize(spawn->apps, (spawn->apps_count + 1) * sizeof(*spawn->apps));
    app = &spawn->apps[spawn->apps_count++];
    *app = (struct pmi_spawn_app){
        .argv = pmi_spawn_copy_strings(argv != NULL && argv[0] != NULL ? argv : alone),
        .processes = processes,
    };
    for (; env != NULL && *env != NULL; env++)
        set_variable(app, *env);
    pmi_spawn_set(&app->argv[0], program);
    return app;
}

void pmi_spawn_add_preput(struct pmi_spawn *spawn, const char *key, const char *value)
{
    spawn->preput =
        memory_resize(spawn->preput, (spawn->preput_count + 1) * sizeof(*spawn->preput));
    spawn->preput[spawn->preput_count++] =
        (struct pmi_spawn_pair){memory_copy_string(key), memory_copy_string(value)};
}

void pmi_spawn_set(char **field, const char *text)
{
    char *copy = memory_copy_string(text); /* which may be the old one */

    free(*field);
    *field = copy;
}

static void set_number(uint32_t *field, const char *value)
{
    char *end;
    unsigned long number = strtoul(value, &end, 10);

    if (end != value && *end == '\0' && number <= PROCESSES_MAX)
        *field = (uint32_t)number;
}

int pmi_spawn_info(struct pmi_spawn_app *app, const char *key, const char *value)
{
    const struct {
        const char *key;
        char **field;
    } texts[] = {
        {"host", &app->rule.hosts},      {"hosts", &app->rule.hosts},
        {"wdir", &app->directory},       {"wd", &app->directory},
        {"map_by", &app->rule.map_by},   {"map-by", &app->rule.map_by},
        {"mapper", &app->rule.map_by},   {"rank_by", &app->rule.rank_by},
        {"bind_to", &app->rule.bind_to}, {"bind-to", &app->rule.bind_to},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcmp(key, texts[i].key) != 0)
            continue;
        pmi_spawn_set(texts[i].field, value);
        return 1;
    }
    if (strcmp(key, "path") == 0)
        pmi_spawn_edit(app, VARIABLE_EDIT_SET, "PATH", value, '\0');
    else if (strcmp(key, "ppn") == 0)
        set_number(&app->rule.per_node, value);
    else
        return 0;
    return 1;
}
