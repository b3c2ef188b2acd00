/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_terminal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct request_settings request_terminal_settings(struct request_apps *apps)
{
    struct request_settings *settings = &apps->items[0].settings;

    assert(apps->count > 0);
    if (settings->pty > 0 && apps->count == 1 && settings->processes == 0 &&
        settings->per_node == 0 && settings->map_by == NULL)
        settings->processes = 1;
    return *settings;
}

static int check_terminal(const struct request_ops *ops, struct error *error)
{
    struct window window;

    if (ops->window == NULL || ops->window(&window) < 0)
        return error_set(error, -EINVAL, "option --pty: standard input is not a terminal");
    return 0;
}

int request_terminal_check(const struct request_settings *settings, const struct request_ops *ops,
                           struct error *error)
{
    const struct {
        const char *name;
        int given;
    } options[] = {
        {"--label", settings->label > 0},
        {"--timestamp", settings->timestamp > 0},
        {"--fold", settings->fold > 0},
        {"--output", settings->output != NULL},
        {"--error", settings->error != NULL},
        {"--output-from", settings->output_from != NULL},
        {"--merge", settings->merge > 0},
        {"--stdin all", settings->input != NULL && strcmp(settings->input, "all") == 0},
        {"--on-failure restart",
         settings->on_failure != NULL && strncmp(settings->on_failure, "restart", 7) == 0},
        {"--stdin none", settings->input != NULL && strcmp(settings->input, "none") == 0},
    };

    if (settings->pty == 0)
        return 0;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (options[i].given)
            return error_set(error, -EINVAL,
                             "option %s cannot be used with --pty: one rank has the terminal",
                             options[i].name);
    return check_terminal(ops, error);
}

void request_terminal_take(const struct request_settings *settings, const struct request_ops *ops,
                           struct job_spec *job)
{
    if (settings->pty == 0)
        return;
    assert(job->stdin_rank < JOB_STDIN_EACH);
    job->has_terminal = 1;
    (void)ops->window(&job->window);
}
