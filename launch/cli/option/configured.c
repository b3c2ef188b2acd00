/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/configured.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

#define NAMES_MAX       192
#define SHOWN_BYTES     80
#define PREFIX          "BANYAN_"
#define CLUSTER_SECTION "cluster"

static int has_word(const char *const *words, const char *word)
{
    for (; *words != NULL; words++)
        if (strcmp(*words, word) == 0)
            return 1;
    return 0;
}

static const struct option_rule *find_rule(const struct option_rule *rules, const char *name)
{
    for (; rules->kind != OPTION_END; rules++)
        if (rules->kind != OPTION_HEADING && strcmp(rules->name, name) == 0)
            return rules;
    return NULL;
}

int configured_has_name(const struct configured_schema *schema, const struct option_rule *rule)
{
    return rule->kind != OPTION_HEADING && rule->kind != OPTION_END &&
           find_rule(schema->rules, rule->name) != NULL && !has_word(schema->refused, rule->name);
}

int configured_adds(const struct configured_schema *schema, const char *name)
{
    return has_word(schema->adding, name);
}

/* ---- Reading ---- */

/* Into settings of no use, which shows whether the value is valid. */
static int check_value(const struct configured_schema *schema, const struct option_rule *rule,
                       const char *text, struct error *error)
{
    char *settings = memory_allocate_zeroed(schema->settings_bytes);
    int rc = options_set(rule, text, settings, error);

    if (rule->kind == OPTION_LIST)
        options_list_fini((struct option_list *)(void *)(settings + rule->offset));
    free(settings);
    return rc;
}

/* Takes origin. */
static int add_value(struct configured_values *values, const struct configured_schema *schema,
                     const struct option_rule *rule, const char *verb, const char *text,
                     char *origin, struct error *error)
{
    int rc = check_value(schema, rule, text, error);

    assert(values->levels > 0);
    if (rc < 0) {
        free(origin);
        return rc;
    }
    values->items = memory_resize(values->items, (values->count + 1) * sizeof(*values->items));
    values->items[values->count++] = (struct configured_value){.rule = rule,
                                                               .verb = verb,
                                                               .text = memory_copy_string(text),
                                                               .origin = origin,
                                                               .level = values->levels};
    return 0;
}

static int refuse_name(const struct configured_schema *schema, const char *name,
                       struct error *error)
{
    const char *names[NAMES_MAX];
    const char *nearest;
    size_t count = 0;

    for (const struct option_rule *rule = schema->rules; rule->kind != OPTION_END; rule++)
        if (configured_has_name(schema, rule) && count < NAMES_MAX)
            names[count++] = rule->name;
    nearest = nearest_word(name, names, count);
    if (nearest != NULL)
        return error_set(error, -EINVAL, "unknown option '%.*s': did you mean '%s'?", SHOWN_BYTES,
                         name, nearest);
    return error_set(error, -EINVAL, "unknown option '%.*s'; 'banyan config' lists those there are",
                     SHOWN_BYTES, name);
}

/* In place: without blanks around it. */
static char *trim(char *text)
{
    char *end = text + strlen(text);

    while (end > text && strchr(" \t\r", end[-1]) != NULL)
        *--end = '\0';
    return text + strspn(text, " \t");
}

/* Where a line belongs to. */
struct place {
    const char *verb;   /* NULL: all */
    int is_of_site;     /* instead: the values are of a section of the site */
    uint32_t section;   /* which */
    const char *origin; /* FILE:LINE */
};

/* Takes a name in quotes from the front of a text; NULL if there is none. */
static char *take_quoted(char **text)
{
    char *name = *text + strspn(*text, " \t");
    char *end = name[0] == '"' ? strchr(name + 1, '"') : NULL;

    if (end == NULL)
        return NULL;
    *end = '\0';
    *text = end + 1;
    return name + 1;
}

/* The rest of [cluster "NAME"] or [cluster "NAME" "KIND"]. */
static int read_cluster(struct configured_values *values, char *rest, struct place *place,
                        struct error *error)
{
    char *name = take_quoted(&rest);
    char *kind = name != NULL ? take_quoted(&rest) : NULL;
    int rc;

    if (name == NULL || rest[strspn(rest, " \t")] != '\0')
        return error_set(error, -EINVAL,
                         "expected [cluster \"NAME\"] or, for a kind of its nodes, "
                         "[cluster \"NAME\" \"KIND\"]");
    rc = site_open(&values->site, name, kind, &place->section, error);
    if (rc == 0)
        place->is_of_site = 1;
    return rc;
}

static int refuse_section(const struct configured_schema *schema, const char *name,
                          struct error *error)
{
    const char *names[NAMES_MAX] = {CLUSTER_SECTION};
    const char *nearest;
    size_t count = 1;

    for (size_t i = 0; schema->verbs[i] != NULL && count < NAMES_MAX; i++)
        names[count++] = schema->verbs[i];
    nearest = nearest_word(name, names, count);
    return error_set(error, -EINVAL, "unknown section [%.*s]%s%s%s", SHOWN_BYTES, name,
                     nearest != NULL ? ": did you mean ["
                                     : "; there are [run], [start], [map], [doctor] and "
                                       "[cluster \"NAME\"]",
                     nearest != NULL ? nearest : "", nearest != NULL ? "]?" : "");
}

static int read_section(struct configured_values *values, const struct configured_schema *schema,
                        char *line, struct place *place, struct error *error)
{
    char *end = strchr(line, ']');
    char *name = line + 1 + strspn(line + 1, " \t");
    size_t word_bytes = strcspn(name, " \t\"]");

    if (end == NULL || end[1] != '\0')
        return error_set(error, -EINVAL, "'%.*s' is not [COMMAND]", SHOWN_BYTES, line);
    *end = '\0';
    place->is_of_site = 0;
    if (word_bytes == strlen(CLUSTER_SECTION) && strncmp(name, CLUSTER_SECTION, word_bytes) == 0)
        return read_cluster(values, name + word_bytes, place, error);
    name = trim(name);
    for (size_t i = 0; schema->verbs[i] != NULL; i++) {
        if (strcmp(schema->verbs[i], name) == 0) {
            place->verb = schema->verbs[i];
            return 0;
        }
    }
    name[strcspn(name, " \t\"")] = '\0';
    return refuse_section(schema, name, error);
}

static int read_line(struct configured_values *values, const struct configured_schema *schema,
                     char *line, const struct place *place, struct error *error)
{
    char *equals = strchr(line, '=');
    const struct option_rule *rule;
    enum site_key key;
    char *name;
    int rc;

    if (equals == NULL)
        return error_set(error, -EINVAL, "'%.*s' is not NAME = VALUE", SHOWN_BYTES, line);
    *equals = '\0';
    name = trim(line);
    if (place->is_of_site) {
        assert(place->section < values->site.count);
        rc = site_key_find(name, values->site.sections[place->section].kind != NULL, &key, error);
        return rc < 0 ? rc
                      : site_set(&values->site, place->section, key, trim(equals + 1),
                                 place->origin, error);
    }
    rule = find_rule(schema->rules, name);
    if (rule == NULL)
        return refuse_name(schema, name, error);
    if (!configured_has_name(schema, rule))
        return error_set(error, -EINVAL, "option '%s' can be given on the command line only", name);
    return add_value(values, schema, rule, place->verb, trim(equals + 1),
                     memory_copy_string(place->origin), error);
}

int configured_read_file(struct configured_values *values, const struct configured_schema *schema,
                         const char *path, const struct buffer *text, struct error *error)
{
    char *copy = memory_allocate(text->length_bytes + 1), *rest = copy, *line;
    struct place place = {.verb = NULL};
    unsigned int number = 0;
    int rc = 0;

    if (text->length_bytes > 0)
        memcpy(copy, text->data, text->length_bytes);
    copy[text->length_bytes] = '\0';
    values->levels++;
    if (strlen(copy) != text->length_bytes)
        rc = error_set(error, -EINVAL, "%s is not a text file: it contains a NUL byte", path);
    while (rc == 0 && (line = strsep(&rest, "\n")) != NULL) {
        char *origin = memory_printf("%s:%u", path, ++number);
        uint32_t count = values->count;

        place.origin = origin;
        line = trim(line);
        if (line[0] == '[')
            rc = read_section(values, schema, line, &place, error);
        else if (line[0] != '\0' && line[0] != '#')
            rc = read_line(values, schema, line, &place, error);
        assert(values->count <= count + 1);
        if (rc < 0)
            error_prefix(error, "%s", origin);
        free(origin);
    }
    free(copy);
    return rc;
}

/* BANYAN_KILL_GRACE is kill-grace. */
static char *variable_of(const char *name)
{
    char *variable = memory_printf(PREFIX "%s", name);

    for (char *at = variable; *at != '\0'; at++)
        *at = (char)(*at == '-' ? '_' : *at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
    return variable;
}

static const char *value_in(char *const *environment, const char *variable)
{
    size_t bytes = strlen(variable);

    for (; *environment != NULL; environment++)
        if (strncmp(*environment, variable, bytes) == 0 && (*environment)[bytes] == '=')
            return *environment + bytes + 1;
    return NULL;
}

int configured_read_environment(struct configured_values *values,
                                const struct configured_schema *schema, char *const *environment,
                                struct error *error)
{
    int rc = 0;

    values->levels++;
    for (const struct option_rule *rule = schema->rules; rc == 0 && rule->kind != OPTION_END;
         rule++) {
        const char *text;
        char *variable;

        if (!configured_has_name(schema, rule))
            continue;
        variable = variable_of(rule->name);
        text = value_in(environment, variable);
        if (text != NULL && text[0] != '\0')
            rc = add_value(values, schema, rule, NULL, text, memory_printf("$%s", variable), error);
        if (rc < 0)
            error_prefix(error, "$%s", variable);
        free(variable);
    }
    return rc;
}

void configured_fini(struct configured_values *values)
{
    for (uint32_t i = 0; i < values->count; i++) {
        free(values->items[i].text);
        free(values->items[i].origin);
    }
    free(values->items);
    site_fini(&values->site);
    *values = (struct configured_values){.count = 0};
}

/* ---- Filling ---- */

int configured_applies(const struct configured_value *value, const char *name, const char *verb)
{
    return strcmp(value->rule->name, name) == 0 &&
           (value->verb == NULL || (verb != NULL && strcmp(value->verb, verb) == 0));
}

const struct configured_value *configured_find(const struct configured_values *values,
                                               const struct option_rule *rule, const char *verb)
{
    for (uint32_t i = values->count; i > 0; i--)
        if (configured_applies(&values->items[i - 1], rule->name, verb))
            return &values->items[i - 1];
    return NULL;
}

static size_t field_bytes(enum option_kind kind)
{
    switch (kind) {
    case OPTION_FLAG:
        return sizeof(int);
    case OPTION_NUMBER:
        return sizeof(uint32_t);
    default:
        return sizeof(const char *);
    }
}

static int is_default(const struct option_rule *rule, const void *settings, const void *defaults)
{
    assert(rule->kind != OPTION_HEADING && rule->kind != OPTION_END);
    if (rule->kind == OPTION_LIST)
        return ((const struct option_list *)(const void *)((const char *)settings + rule->offset))
                   ->count == 0;
    return memcmp((const char *)settings + rule->offset, (const char *)defaults + rule->offset,
                  field_bytes(rule->kind)) == 0;
}

/* The level below which options that say which nodes do not count; UINT32_MAX: no level does. */
static uint32_t level_of_nodes(const struct configured_values *values,
                               const struct configured_schema *schema,
                               const struct option_rule *rules, const char *verb,
                               const void *settings, const void *defaults)
{
    uint32_t level = 0;

    for (; rules->kind != OPTION_END; rules++) {
        const struct configured_value *value;

        if (rules->kind == OPTION_HEADING || !has_word(schema->nodes, rules->name))
            continue;
        if (!is_default(rules, settings, defaults))
            return UINT32_MAX;
        value = configured_find(values, rules, verb);
        if (value != NULL && value->level > level)
            level = value->level;
    }
    return level;
}

/* Those of the last level, or all, before what is there. */
static void fill_list(const struct configured_values *values, const struct option_rule *rule,
                      const char *verb, uint32_t level, void *settings)
{
    struct option_list *list = (struct option_list *)(void *)((char *)settings + rule->offset);
    struct option_list given = *list;

    assert(rule->kind == OPTION_LIST);
    *list = (struct option_list){.count = 0};
    for (uint32_t i = 0; i < values->count; i++)
        if (configured_applies(&values->items[i], rule->name, verb) &&
            values->items[i].level >= level)
            (void)options_set(rule, values->items[i].text, settings, NULL);
    for (uint32_t i = 0; i < given.count; i++)
        (void)options_set(rule, given.items[i], settings, NULL);
    options_list_fini(&given);
}

void configured_fill(const struct configured_values *values, const struct configured_schema *schema,
                     const struct option_rule *rules, const char *verb,
                     int (*wanted)(const char *name), const void *defaults, void *settings)
{
    uint32_t level = level_of_nodes(values, schema, rules, verb, settings, defaults);

    for (const struct option_rule *rule = rules; rule->kind != OPTION_END; rule++) {
        const struct configured_value *value;
        int adds;

        if (rule->kind == OPTION_HEADING || !wanted(rule->name))
            continue;
        value = configured_find(values, rule, verb);
        adds = rule->kind == OPTION_LIST && configured_adds(schema, rule->name);
        if (value == NULL || (!adds && !is_default(rule, settings, defaults)) ||
            (has_word(schema->nodes, rule->name) && value->level < level))
            continue;
        if (rule->kind == OPTION_LIST)
            fill_list(values, rule, verb, adds ? 0 : value->level, settings);
        else
            (void)options_set(rule, value->text, settings, NULL);
    }
}
