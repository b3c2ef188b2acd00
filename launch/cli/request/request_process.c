/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_process.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/request/request_limits.h"
#include "launch/cli/request/request_lines.h"
#include "launch/start/run_environment.h"

#define SEPARATOR_DEFAULT  ':'
#define SEPARATORS         ":,;|+ " /* that may be given after a ':' at the end of a value */
#define PATTERN_CHARACTERS "*?["

/* ---- Variables: what is set ---- */

static void add_item(struct option_list *items, char *item)
{
    assert(item[0] != '\0');
    items->items = memory_resize(items->items, (items->count + 1) * sizeof(*items->items));
    items->items[items->count++] = item;
}

static void free_items(struct option_list *items)
{
    for (uint32_t i = 0; i < items->count; i++)
        free((char *)(uintptr_t)items->items[i]);
    options_list_fini(items);
}

/* In place: without blanks around it. */
static char *trim(char *line)
{
    char *end = line + strlen(line);

    while (end > line && strchr(" \t\r", end[-1]) != NULL)
        *--end = '\0';
    return line + strspn(line, " \t");
}

/* In place: without a pair of quotes around the value. */
static void unquote(char *value)
{
    size_t length = strlen(value);

    if (length < 2 || (value[0] != '"' && value[0] != '\'') || value[length - 1] != value[0])
        return;
    memmove(value, value + 1, length - 2);
    value[length - 2] = '\0';
}

static int read_line(const char *path, unsigned int number, char *line, void *items,
                     struct error *error)
{
    char *item = trim(line), *equals;

    if (item[0] == '\0' || item[0] == '#')
        return 0;
    if (strncmp(item, "export ", 7) == 0)
        item = trim(item + 7);
    equals = strchr(item, '=');
    if (equals == item ||
        strcspn(item, " \t") < (equals != NULL ? (size_t)(equals - item) : strlen(item)))
        return error_set(error, -EINVAL, "%s:%u: '%.80s' is not NAME=VALUE or NAME", path, number,
                         item);
    if (equals != NULL)
        unquote(equals + 1);
    add_item(items, memory_copy_string(item));
    return 0;
}

int request_process_read_variables(const char *path, const struct buffer *text,
                                   struct option_list *items, struct error *error)
{
    return request_lines_read(path, text, read_line, items, error);
}

static int read_files(const struct request_settings *settings, const struct request_ops *ops,
                      struct option_list *items, struct error *error)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < settings->env_files.count; i++) {
        struct buffer text = {0};

        rc = ops->read_file(settings->env_files.items[i], &text, error);
        if (rc == 0)
            rc = request_process_read_variables(settings->env_files.items[i], &text, items, error);
        if (rc < 0)
            error_prefix(error, "option --env-file");
        buffer_fini(&text);
    }
    return rc;
}

static int is_pattern(const char *item)
{
    return strpbrk(item, PATTERN_CHARACTERS) != NULL && strchr(item, '=') == NULL;
}

static int variable_matches(const char *pattern, const char *variable)
{
    size_t name_bytes = strcspn(variable, "=");
    char *name = memory_printf("%.*s", (int)name_bytes, variable);
    int matches = fnmatch(pattern, name, 0) == 0;

    free(name);
    return matches;
}

/* The variables here that the pattern selects; none is fine. */
static void add_matching(const char *pattern, char *const *environment, uint32_t mpi,
                         struct option_list *items)
{
    for (; *environment != NULL; environment++)
        if (run_environment_may_match(*environment, mpi) && variable_matches(pattern, *environment))
            add_item(items, memory_copy_string(*environment));
}

static int make_set(const struct request_settings *settings, const struct request_ops *ops,
                    uint32_t mpi, struct app_spec *app, struct error *error)
{
    struct option_list items = {.count = 0};
    int rc = read_files(settings, ops, &items, error);

    for (uint32_t i = 0; i < settings->set.count; i++) {
        const char *item = settings->set.items[i];

        if (is_pattern(item))
            add_matching(item, ops->environment, mpi, &items);
        else
            add_item(&items, memory_copy_string(item));
    }
    if (rc == 0)
        rc = run_environment_build(ops->environment, items.items, items.count, mpi, &app->set,
                                   error);
    free_items(&items);
    return rc;
}

/* ---- Variables: what is changed ---- */

static int unset_one(const char *name, struct app_spec *app, struct error *error)
{
    uint32_t kept = 0;

    if (strchr(name, '=') != NULL)
        return error_set(error, -EINVAL, "option --unset: '%.80s' is not a name or a pattern",
                         name);
    if (!is_pattern(name)) {
        variable_edits_add(&app->edits, VARIABLE_EDIT_UNSET, name, "", '\0');
        return 0;
    }
    assert(app->set != NULL);
    for (char **variable = app->set; *variable != NULL; variable++) {
        if (variable_matches(name, *variable))
            free(*variable);
        else
            app->set[kept++] = *variable;
    }
    app->set[kept] = NULL;
    return 0;
}

/* "NAME=VALUE", or "NAME=VALUE:" and a separator. */
static int edit_one(const char *option, enum variable_edit_kind kind, const char *item,
                    struct app_spec *app, struct error *error)
{
    size_t length = strlen(item), name_bytes = strcspn(item, "=");
    char separator = SEPARATOR_DEFAULT;
    char *name, *value;

    if (item[name_bytes] == '\0' || name_bytes == 0 || item[name_bytes + 1] == '\0')
        return error_set(error, -EINVAL, "option %s: '%.80s' is not NAME=VALUE[:SEPARATOR]", option,
                         item);
    if (length > name_bytes + 3 && item[length - 2] == ':' &&
        strchr(SEPARATORS, item[length - 1]) != NULL) {
        separator = item[length - 1];
        length -= 2;
    }
    assert(length > name_bytes + 1);
    name = memory_printf("%.*s", (int)name_bytes, item);
    value = memory_printf("%.*s", (int)(length - name_bytes - 1), item + name_bytes + 1);
    variable_edits_add(&app->edits, kind, name, value, separator);
    free(name);
    free(value);
    return 0;
}

static int make_edits(const struct request_settings *settings, struct app_spec *app,
                      struct error *error)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < settings->unset.count; i++)
        rc = unset_one(settings->unset.items[i], app, error);
    for (uint32_t i = 0; rc == 0 && i < settings->prepend.count; i++)
        rc = edit_one("--prepend", VARIABLE_EDIT_PREPEND, settings->prepend.items[i], app, error);
    for (uint32_t i = 0; rc == 0 && i < settings->append.count; i++)
        rc = edit_one("--append", VARIABLE_EDIT_APPEND, settings->append.items[i], app, error);
    return rc;
}

/* ---- Directory ---- */

/* One that is not given is not a template. */
static int choose_directory(const char *given, const char *current, struct app_spec *app,
                            struct error *error)
{
    const char *place = NULL;
    struct buffer path = {0};

    if (given != NULL && job_spec_directory_check(given, &place) < 0)
        return error_set(
            error, -EINVAL,
            "option --wdir: '%.2s' is not %%r (rank), %%h (node), %%j (job) or %%%% in "
            "'%.200s'",
            place, given);
    if (current == NULL && (given == NULL || given[0] != '/'))
        return error_set(error, -ENOENT,
                         "the current directory no longer exists: give --wdir an absolute path");
    app->directory_is_template = given != NULL && strchr(given, '%') != NULL;
    if (given != NULL && given[0] == '/') {
        app->directory = memory_copy_string(given);
        return 0;
    }
    for (const char *at = current; *at != '\0'; at++)
        buffer_append_string(&path,
                             app->directory_is_template && *at == '%' ? "%%" : (char[]){*at, '\0'});
    if (given != NULL)
        buffer_printf(&path, "/%s", given);
    buffer_append(&path, "", 1);
    app->directory = buffer_take(&path, NULL);
    return 0;
}

int request_process_make(const struct request_settings *settings, const struct request_ops *ops,
                         uint32_t mpi, struct app_spec *app, struct error *error)
{
    int rc = choose_directory(settings->directory, ops->directory, app, error);

    assert(app->set == NULL && app->edits.count == 0);
    if (rc == 0)
        rc = make_set(settings, ops, mpi, app, error);
    if (rc == 0)
        rc = make_edits(settings, app, error);
    if (rc == 0)
        rc = request_limits_make(settings, &app->limits, error);
    return rc;
}
