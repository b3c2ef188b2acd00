/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/recover_verb.h"

#include <errno.h>
#include <stdlib.h>

#include "launch/cli/client/instance_search.h"
#include "launch/cli/client/recover.h"
#include "launch/cli/request/request.h"
#include "launch/cli/verb/verb_output.h"

struct recover_settings {
    const char *instance;
    int help;
    int version;
};

static const struct option_rule recover_rules[] = {
    {.kind = OPTION_HEADING, .help = "Which instance"},
    {.kind = OPTION_TEXT,
     .name = "instance",
     .value = "DIR",
     .offset = offsetof(struct recover_settings, instance),
     .help = "the instance whose directory 'banyan start' has printed (default: $BANYAN_INSTANCE, "
             "or the only one of yours in $TMPDIR on this machine whose root has died)"},
    OPTION_ROWS_ABOUT(struct recover_settings, help, version)};

const struct option_rule *recover_verb_rules(void)
{
    return recover_rules;
}

void recover_verb_help(struct buffer *out)
{
    buffer_append_string(
        out,
        "Usage: banyan recover [OPTIONS]\n\n"
        "Makes another root for an instance that was started with --survive and whose root has "
        "died.\nIts jobs have gone on and go on; prints its directory when it is ready.\n");
    options_help(recover_rules, out);
    buffer_append_string(out, "\nMore in banyan-recover(1).\n");
}

struct dead_roots {
    char *directory; /* the first */
    unsigned int count;
};

static void look_at(void *context, const char *directory, int is_dead)
{
    struct dead_roots *dead = context;

    if (!is_dead)
        return;
    if (dead->count++ == 0)
        dead->directory = memory_copy_string(directory);
}

/* The caller frees it. */
static char *choose_directory(const char *given, struct error *error)
{
    struct dead_roots dead = {.directory = NULL};

    if (given == NULL)
        given = getenv(REQUEST_INSTANCE_VARIABLE);
    if (given != NULL && given[0] != '\0')
        return memory_copy_string(given);
    instance_search_each(NULL, look_at, &dead);
    if (dead.count == 1)
        return dead.directory;
    free(dead.directory);
    if (dead.count == 0)
        error_set(error, -ENOENT,
                  "no instance of yours here has lost its root; name one with --instance DIR");
    else
        error_set(
            error, -EINVAL,
            "%u instances of yours here have lost their roots: choose one with --instance DIR",
            dead.count);
    return NULL;
}

static int recover(const char *given, struct error *error)
{
    char *directory = choose_directory(given, error);
    int status;

    if (directory == NULL)
        return error->code;
    status = recover_run(directory, error);
    free(directory);
    return status;
}

int recover_verb(int argc, char **argv)
{
    struct recover_settings settings = {.instance = NULL};
    struct error error = ERROR_NONE;
    struct buffer text = {0};
    int at = 0;
    int rc = options_parse(recover_rules, argc, argv, &settings, &at, &error);

    if (rc == 0 && (settings.help > 0 || settings.version > 0)) {
        if (settings.help > 0)
            recover_verb_help(&text);
        else
            options_version(&text);
        return verb_output_print(&text, EXIT_SUCCESS);
    }
    if (rc == 0 && at < argc - 1)
        rc = error_set(&error, -EINVAL,
                       "expected: banyan recover [OPTIONS]; see 'banyan help recover'");
    if (rc == 0)
        rc = recover(settings.instance, &error);
    return rc < 0 ? verb_output_fail(&error) : rc;
}
