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

static char **strings_copy(char *const *strings)
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

/* What a launcher has set for the caller alone is dropped: Open MPI passes on all that it finds. */
static void drop_foreign(char **env)
{
    size_t kept = 0;

    for (size_t i = 0; env[i] != NULL; i++) {
        if (host_environment_is_foreign(env[i]) || host_environment_is_own(env[i]))
            free(env[i]);
        else
            env[kept++] = env[i];
    }
    env[kept] = NULL;
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
    *spawn = (struct pmi_spawn){.apps = NULL};
}

void pmi_spawn_fini(struct pmi_spawn *spawn)
{
    for (uint32_t i = 0; i < spawn->apps_count; i++) {
        struct pmi_spawn_app *app = &spawn->apps[i];

        strings_free(app->argv);
        strings_free(app->env);
        free(app->directory);
        rule_fini(&app->rule);
    }
    for (uint32_t i = 0; i < spawn->preput_count; i++) {
        free(spawn->preput[i].key);
        free(spawn->preput[i].value);
    }
    rule_fini(&spawn->rule);
    free(spawn->apps);
    free(spawn->preput);
    pmi_spawn_init(spawn);
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
        .argv = strings_copy(argv != NULL && argv[0] != NULL ? argv : alone),
        .env = strings_copy(env),
        .processes = processes,
    };
    drop_foreign(app->env);
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

static void add_to_path(struct pmi_spawn_app *app, const char *directories)
{
    char *text = memory_printf("PATH=%s", directories);
    size_t count = 0;

    while (app->env[count] != NULL)
        count++;
    app->env = memory_resize(app->env, (count + 2) * sizeof(*app->env));
    app->env[count] = text;
    app->env[count + 1] = NULL;
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
        add_to_path(app, value);
    else if (strcmp(key, "ppn") == 0)
        set_number(&app->rule.per_node, value);
    else
        return 0;
    return 1;
}
