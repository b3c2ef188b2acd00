/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/instance_verb.h"

#include <errno.h>
#include <stdlib.h>

#include "launch/cli/verb/verb_output.h"
#include "launch/proto/exit_status.h"

static int print_help(const struct instance_verb *verb, int is_version)
{
    struct buffer text = {0};

    if (is_version)
        options_version(&text);
    else
        verb->help(&text);
    return verb_output_print(&text, EXIT_SUCCESS);
}

static int with_client(const struct instance_verb *verb, const struct instance_settings *settings,
                       char *const *words)
{
    struct instance_client client;
    struct error error = ERROR_NONE;
    int status = instance_client_open(&client, settings->instance, &error);

    if (status < 0)
        return verb_output_fail(&error);
    status = verb->carry_out(&client, settings, words, &error);
    instance_client_close(&client);
    return status < 0 ? verb_output_fail(&error) : status;
}

/* Options may also follow words, which are gathered after argv[0]; returns how many, or a negative errno. */
static int parse(const struct instance_verb *verb, int argc, char **argv,
                 struct instance_settings *settings, struct error *error)
{
    int words = 0, at = 0;

    while (at < argc) {
        int next = argc - at;
        int rc = options_parse(verb->rules, argc - at, argv + at, settings, &next, error);

        if (rc < 0)
            return rc;
        at += next;
        if (at < argc)
            argv[++words] = argv[at];
    }
    argv[words + 1] = NULL;
    return words;
}

int instance_verb_run(const struct instance_verb *verb, int argc, char **argv)
{
    struct instance_settings settings = {.instance = NULL};
    struct error error = ERROR_NONE;
    int words = parse(verb, argc, argv, &settings, &error);

    if (words < 0)
        return verb_output_fail(&error);
    if (settings.help > 0 || settings.version > 0)
        return print_help(verb, settings.help == 0);
    if (words < verb->words_min || words > verb->words_max) {
        error_set(&error, -EINVAL, "expected: banyan %s; see 'banyan help %s'", verb->usage,
                  argv[0]);
        return verb_output_fail(&error);
    }
    if (verb->check != NULL && verb->check(&settings, argv + 1, &error) < 0)
        return verb_output_fail(&error);
    return with_client(verb, &settings, argv + 1);
}
