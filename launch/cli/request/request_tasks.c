/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_tasks.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/request/task_words.h"
#include "launch/exec/task_worker.h"

#define ARGUMENTS_WORD ":::"

/* Where ":::" stands among the words, or their number. */
static int arguments_at(const struct run_app *app)
{
    int at = 0;

    while (at < app->argc && strcmp(app->argv[at], ARGUMENTS_WORD) != 0)
        at++;
    return at;
}

static int refuse_with(const char *name, struct error *error)
{
    return error_set(error, -EINVAL, "options --tasks and %s cannot be used together", name);
}

/* Those of the job's processes, which are workers here.  What a configuration may set for all runs is
 * taken, and does not matter. */
static int check_options(const struct request_apps *apps, struct error *error)
{
    const struct request_settings *settings = &apps->items[0].settings;

    assert(apps->count > 0 && error != NULL);
    if (settings->processes > 0)
        return refuse_with("-n (use -N for the tasks of a node at a time)", error);
    if (settings->input != NULL)
        return refuse_with("--stdin", error);
    if (settings->pty > 0)
        return refuse_with("--pty", error);
    if (settings->stop != NULL)
        return refuse_with("--stop", error);
    if (settings->detach > 0)
        return refuse_with("--detach", error);
    if (settings->timestamp > 0)
        return refuse_with("--timestamp (the job log has times)", error);
    if (settings->stats > 0)
        return refuse_with("--stats", error);
    if (settings->stage_binary > 0)
        return refuse_with("--stage-binary", error);
    if (apps->count > 1)
        return refuse_with("several programs (\":\")", error);
    return 0;
}

static int check_without(const struct request_settings *settings, struct error *error)
{
    const char *name = settings->joblog != NULL    ? "--joblog"
                       : settings->results != NULL ? "--results"
                       : settings->retries > 0     ? "--retries"
                       : settings->resume > 0      ? "--resume"
                                                   : NULL;

    return name == NULL
               ? 0
               : error_set(error, -EINVAL, "option %s: needs --tasks FILE, or ::: ARGUMENTS", name);
}

static char **copy_command(const struct run_app *app, int count)
{
    char **command = memory_allocate_zeroed((size_t)(count + 1) * sizeof(*command));

    for (int i = 0; i < count; i++)
        command[i] = memory_copy_string(app->argv[i]);
    return command;
}

static int read_arguments(const struct run_app *app, int at, struct request_tasks *tasks,
                          struct error *error)
{
    int rc = 0;

    tasks->source = memory_copy_string(ARGUMENTS_WORD);
    tasks->list.source = tasks->source;
    for (int i = at + 1; rc == 0 && i < app->argc; i++) {
        if (strcmp(app->argv[i], ARGUMENTS_WORD) == 0)
            rc = error_set(error, -EINVAL, "one " ARGUMENTS_WORD " is supported");
        else
            rc = task_list_argument(&tasks->list, app->argv[i], error);
    }
    return rc;
}

static int read_list(const char *path, const struct request_ops *ops, struct request_tasks *tasks,
                     struct error *error)
{
    struct buffer text = {0};
    int rc;

    tasks->streams = strcmp(path, "-") == 0;
    tasks->source = memory_copy_string(tasks->streams ? "standard input" : path);
    tasks->list.source = tasks->source;
    if (tasks->streams)
        return 0;
    rc = ops->read_file(path, &text, error);
    if (rc < 0)
        error_prefix(error, "option --tasks");
    if (rc == 0 && text.length_bytes > 0)
        rc = task_list_read(&tasks->list, text.data, text.length_bytes, error);
    if (rc == 0)
        rc = task_list_read(&tasks->list, "", 0, error);
    buffer_fini(&text);
    return rc;
}

/* A run that was interrupted before it wrote one has no joblog yet. */
static int read_joblog(const struct request_ops *ops, struct request_tasks *tasks,
                       struct error *error)
{
    struct buffer text = {0};
    int rc;

    if (!tasks->resume)
        return 0;
    if (tasks->joblog == NULL)
        return error_set(error, -EINVAL,
                         "option --resume: needs --joblog FILE, of the earlier run");
    rc = ops->read_file(tasks->joblog, &text, error);
    if (rc < 0)
        error_prefix(error, "option --joblog");
    if (rc == 0)
        rc = task_list_resume(&tasks->list, tasks->joblog, &text, error);
    buffer_fini(&text);
    return rc == -ENOENT ? 0 : rc;
}

static char *copy_or_null(const char *text)
{
    return text != NULL ? memory_copy_string(text) : NULL;
}

static int fill_tasks(const struct run_app *app, const struct request_ops *ops, int at,
                      struct request_tasks *tasks, struct error *error)
{
    const struct request_settings *settings = &app->settings;
    int rc;

    task_list_init(&tasks->list);
    tasks->retries = settings->retries;
    tasks->resume = settings->resume > 0;
    tasks->joblog = copy_or_null(settings->joblog);
    tasks->results = copy_or_null(settings->results);
    if (at > 0)
        tasks->command = copy_command(app, at);
    tasks->list.command = tasks->command;
    if (at < app->argc && settings->tasks != NULL)
        return error_set(error, -EINVAL, "--tasks and " ARGUMENTS_WORD " cannot be used together");
    if (at < app->argc && at == 0)
        return error_set(error, -EINVAL, "no program before " ARGUMENTS_WORD);
    rc = read_joblog(ops, tasks, error);
    if (rc < 0)
        return rc;
    return at < app->argc ? read_arguments(app, at, tasks, error)
                          : read_list(settings->tasks, ops, tasks, error);
}

int request_tasks_make(struct request_apps *apps, const struct request_ops *ops,
                       struct request_tasks **ret_tasks, struct error *error)
{
    static char program[] = TASK_WORKER_PROGRAM, word[] = TASK_WORKER_WORD;
    static char *const worker[] = {program, word, NULL};
    struct run_app *app = &apps->items[0];
    struct request_tasks *tasks;
    int at = arguments_at(app);
    int rc;

    *ret_tasks = NULL;
    if (app->settings.tasks == NULL && at == app->argc)
        return check_without(&app->settings, error);
    rc = check_options(apps, error);
    if (rc < 0)
        return rc;
    tasks = memory_allocate_zeroed(sizeof(*tasks));
    rc = fill_tasks(app, ops, at, tasks, error);
    if (rc < 0) {
        request_tasks_free(tasks);
        return rc;
    }
    app->argc = 2;
    app->argv = worker;
    *ret_tasks = tasks;
    return 0;
}

/* Of the node with the most; what a resource manager leaves of them is known later only. */
static uint32_t slots_max(const struct allocation *allocation, uint32_t per_node)
{
    uint32_t slots = 0;

    for (uint32_t i = 0; i < allocation->runs_count; i++)
        if (allocation->runs[i].slots > slots)
            slots = allocation->runs[i].slots;
    return per_node > 0 ? per_node : slots;
}

int request_tasks_finish(struct request_tasks *tasks, const struct allocation *allocation,
                         uint32_t per_node, struct job_spec *job, struct error *error)
{
    struct task_list *list = &tasks->list;

    assert(job->apps_count == 1);
    list->slots_max = slots_max(allocation, per_node);
    for (uint32_t i = 0; i < list->count; i++)
        if (list->slots_max > 0 && list->items[i]->slots > list->slots_max)
            return error_set(
                error, -EINVAL, "%.200s, line %u: %u slots, but no node has more than %u",
                tasks->source, list->items[i]->number, list->items[i]->slots, list->slots_max);
    job->stdin_rank = JOB_STDIN_EACH;
    job->mpi = 0;
    job->on_failure = JOB_ON_FAILURE_CONTINUE;
    job->restarts_max = 0;
    return 0;
}

void request_tasks_free(struct request_tasks *tasks)
{
    if (tasks == NULL)
        return;
    task_list_fini(&tasks->list);
    task_words_free(tasks->command);
    free(tasks->source);
    free(tasks->joblog);
    free(tasks->results);
    free(tasks);
}
