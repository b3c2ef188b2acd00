/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/config_verb.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/option/json_text.h"
#include "launch/cli/request/request_configured.h"

#define VERB_DEFAULT "run"
#define NAME_COLUMNS 18

struct config_settings {
    int json;
    int help;
    int version;
};

static const struct option_rule config_rules[] = {
    {.kind = OPTION_HEADING, .help = "Output"},
    {.kind = OPTION_FLAG,
     .name = "json",
     .offset = offsetof(struct config_settings, json),
     .help = "print JSON"},
    OPTION_ROWS_ABOUT(struct config_settings, help, version)};

const struct option_rule *config_verb_rules(void)
{
    return config_rules;
}

void config_verb_help(struct buffer *out)
{
    buffer_append_string(
        out,
        "Usage: banyan config [OPTIONS] [COMMAND]\n\n"
        "Shows the configured value of each option of a command (run, start, map or doctor;\n"
        "default: run), and the file and line or the variable that it comes from, and then the\n"
        "clusters that are described.  Options that are not listed can be given on the command\n"
        "line only.\n");
    options_help(config_rules, out);
    buffer_append_string(out, "\nFiles: " SYSCONFDIR "/banyan.conf, then ~/.config/banyan.conf, or "
                              "$BANYAN_CONFIG\nalone.  More in banyan(1) and banyan-config(1).\n");
}

/* The values that count: one, or, of a list, those that add up. */
static uint32_t find_values(const struct configured_values *values, const struct option_rule *rule,
                            const char *verb, const struct configured_value **found)
{
    const struct configured_value *last = configured_find(values, rule, verb);
    uint32_t count = 0;

    if (last == NULL)
        return 0;
    if (rule->kind != OPTION_LIST) {
        found[count++] = last;
        return count;
    }
    for (uint32_t i = 0; i < values->count; i++) {
        const struct configured_value *value = &values->items[i];

        if (configured_applies(value, rule->name, verb) &&
            (value->level == last->level ||
             configured_adds(&request_configured_schema, rule->name)))
            found[count++] = value;
    }
    return count;
}

static void print_rule(const struct option_rule *rule, const struct configured_value **found,
                       uint32_t count, struct buffer *out)
{
    if (count == 0)
        buffer_printf(out, "%-*s   (default)\n", NAME_COLUMNS, rule->name);
    for (uint32_t i = 0; i < count; i++)
        buffer_printf(out, "%-*s = %s   (%s)\n", NAME_COLUMNS, rule->name, found[i]->text,
                      found[i]->origin);
}

static void add_rule(const struct option_rule *rule, const struct configured_value **found,
                     uint32_t count, json_t *list)
{
    json_t *item;

    for (uint32_t i = 0; i < count; i++) {
        item = json_object();
        json_object_set_new(item, "name", json_text(rule->name));
        json_object_set_new(item, "value", json_text(found[i]->text));
        json_object_set_new(item, "origin", json_text(found[i]->origin));
        json_array_append_new(list, item);
    }
    if (count > 0)
        return;
    item = json_object();
    json_object_set_new(item, "name", json_text(rule->name));
    json_object_set_new(item, "value", json_null());
    json_object_set_new(item, "origin", json_text("default"));
    json_array_append_new(list, item);
}

/* ---- Clusters ---- */

static void print_section(const struct site_section *section, struct buffer *out)
{
    const char *kind = section->kind;

    buffer_printf(out, "\n[cluster \"%s\"%s%s%s]\n", section->cluster, kind != NULL ? " \"" : "",
                  kind != NULL ? kind : "", kind != NULL ? "\"" : "");
    for (int key = 0; key < SITE_KEY_COUNT; key++)
        if (section->values[key] != NULL)
            buffer_printf(out, "%-*s = %s   (%s)\n", NAME_COLUMNS,
                          site_key_name((enum site_key)key), section->values[key],
                          section->origins[key]);
}

static void add_section(const struct site_section *section, json_t *list)
{
    for (int key = 0; key < SITE_KEY_COUNT; key++) {
        json_t *item;

        if (section->values[key] == NULL)
            continue;
        item = json_object();
        json_object_set_new(item, "cluster", json_text(section->cluster));
        if (section->kind != NULL)
            json_object_set_new(item, "kind", json_text(section->kind));
        json_object_set_new(item, "name", json_text(site_key_name((enum site_key)key)));
        json_object_set_new(item, "value", json_text(section->values[key]));
        json_object_set_new(item, "origin", json_text(section->origins[key]));
        json_array_append_new(list, item);
    }
}

static const struct option_rule *rules_of(const char *verb)
{
    if (strcmp(verb, "start") == 0)
        return request_settings_start_rules();
    return strcmp(verb, "doctor") == 0 ? request_settings_doctor_rules() : run_rules;
}

static void show(const struct configured_values *values, const char *verb, int as_json,
                 struct buffer *out)
{
    const struct configured_value **found =
        memory_allocate_zeroed((values->count + 1) * sizeof(struct configured_value *));
    json_t *list = json_array();

    for (const struct option_rule *rule = rules_of(verb); rule->kind != OPTION_END; rule++) {
        uint32_t count;

        if (!configured_has_name(&request_configured_schema, rule))
            continue;
        count = find_values(values, rule, verb, found);
        assert(count <= values->count);
        if (as_json)
            add_rule(rule, found, count, list);
        else
            print_rule(rule, found, count, out);
    }
    for (uint32_t i = 0; i < values->site.count; i++) {
        if (as_json)
            add_section(&values->site.sections[i], list);
        else
            print_section(&values->site.sections[i], out);
    }
    if (as_json) {
        char *text = json_dumps(list, JSON_INDENT(1));

        buffer_printf(out, "%s\n", text);
        free(text);
    }
    json_decref(list);
    free(found);
}

int config_verb(int argc, char *const *argv, const struct request_ops *ops, struct buffer *out,
                struct error *error)
{
    static const struct configured_values nothing;
    struct config_settings settings = {.json = 0};
    const char *verb = VERB_DEFAULT;
    int next = 0;
    int rc = options_parse(config_rules, argc, argv, &settings, &next, error);

    if (rc < 0)
        return rc;
    if (next < argc && settings.help == 0 && settings.version == 0) {
        size_t i = 0;

        verb = argv[next++];
        while (request_configured_schema.verbs[i] != NULL &&
               strcmp(request_configured_schema.verbs[i], verb) != 0)
            i++;
        if (request_configured_schema.verbs[i] == NULL || next < argc)
            return error_set(error, -EINVAL,
                             "unexpected argument '%.80s': give one of run, start, map and doctor",
                             argv[argc - 1]);
    }
    if (settings.help > 0)
        config_verb_help(out);
    else if (settings.version > 0)
        options_version(out);
    else
        show(ops->configured != NULL ? ops->configured : &nothing, verb, settings.json > 0, out);
    return 0;
}
