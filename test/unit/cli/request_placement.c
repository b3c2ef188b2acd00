/* SPDX-License-Identifier: BSD-3-Clause */
/* The applications of a command line, and of a file of them. */
#include "config.h"

#include "launch/cli/request/request_placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

#define WORDS_MAX 32

static const char *file_text;

static int read_file(const char *path, struct buffer *out, struct error *error)
{
    if (strcmp(path, "apps") != 0)
        return error_set(error, -ENOENT, "cannot read %s", path);
    buffer_append_string(out, file_text);
    return 0;
}

static const struct request_ops world = {.read_file = read_file};
static struct request_apps apps;
static struct error error;

/* Splits line at blanks; the words stay valid until the next call. */
static int parse(const char *line, const char *lines)
{
    static const struct request_settings defaults = {.kill_grace_s = RUN_NOT_GIVEN};
    static char text[512];
    static char *argv[WORDS_MAX];
    char *rest = text;
    int argc = 0;
    int rc;

    if (apps.count > 0)
        request_apps_fini(&apps);
    file_text = lines;
    strcpy(text, line);
    for (char *word; (word = strsep(&rest, " ")) != NULL && argc < WORDS_MAX - 1;)
        argv[argc++] = word;
    argv[argc] = NULL;
    error = ERROR_NONE;
    rc = request_apps_parse(run_rules, &defaults, argc, argv, &world, &apps, &error);
    if (rc < 0)
        apps = (struct request_apps){.count = 0};
    return rc;
}

static void app_is(uint32_t index, uint32_t processes, const char *variables, const char *require,
                   const char *program, int argc)
{
    const struct run_app *app = &apps.items[index];
    char *set, *terms;

    if (!ok(index < apps.count, "there is an application %u", index))
        return;
    set = options_list_join(&app->settings.set, " ");
    terms = options_list_join(&app->settings.require, " ");
    is_uint(app->settings.processes, processes, "its processes");
    is_string(set, variables, "its variables");
    is_string(terms, require, "its requirements");
    is_string(app->argv[0], program, "its program");
    is_int(app->argc, argc, "with its arguments");
    free(set);
    free(terms);
}

static void refuses(const char *line, const char *lines, const char *why)
{
    ok(parse(line, lines) < 0, "'%s' with '%s' is refused", line, lines);
    has_string(error.text, why, "because %s", why);
}

static void test_command_line(void)
{
    is_int(parse("run -n 2 -x A=1 -x B=2 p q : -x C=3 r", ""), 0, "two applications");
    is_uint(apps.count, 2, "are two");
    app_is(0, 2, "A=1 B=2", NULL, "p", 2);
    app_is(1, 0, "A=1 B=2 C=3", NULL, "r", 1);
    refuses("run p : --host n1 q", "", "is for the whole job: give it before the first program");
}

static void test_file(void)
{
    is_int(parse("run -x A=1 --require mem>=1G --app-file apps",
                 "-n 2 -x B=2 ./p q\n-n 3 --require gpus>=1 ./r\n./s\n"),
           0, "a file of three");
    is_uint(apps.count, 3, "are three");
    app_is(0, 2, "A=1 B=2", "mem>=1G", "./p", 2);
    app_is(1, 3, "A=1", "gpus>=1", "./r", 1);
    app_is(2, 0, "A=1", "mem>=1G", "./s", 1);
    is_int(parse("run --require mem>=1G --app-file apps", "--require gpus>=1 ./p\n./q\n"), 0,
           "one whose first line has requirements");
    app_is(0, 0, NULL, "gpus>=1", "./p", 1);
    app_is(1, 0, NULL, "mem>=1G", "./q", 1);
    is_int(parse("run --app-file apps", "-- ./p : q\n"), 0, "a colon that is an argument");
    app_is(0, 0, NULL, NULL, "./p", 3);
    is_int(parse("run --app-file none --help", ""), 0, "no file is read for help");
    refuses("run --app-file none", "", "option --app-file: cannot read none");
    refuses("run --app-file apps p", "./q", "remove 'p' from the command line");
    refuses("run -n 2 --app-file apps", "./q", "give -n and -N in the lines of apps");
    refuses("run -N 2 --app-file apps", "./q", "give -n and -N in the lines of apps");
    refuses("run --app-file apps", "\n", "option --app-file: apps has no program");
    refuses("run --app-file apps", "p\n--host n1 q",
            "apps:2: option --host is for the whole job: give it on the command line");
    refuses("run --app-file apps", "-n 2\n", "apps:1: no program after the options");
    refuses("run --app-file apps", "p : q\n", "apps:1: ':' separates applications on the command");
    refuses("run --app-file apps", "-n x p\n", "apps:1: option -n");
    refuses("run --app-file apps", "--app-file apps p\n", "apps:1: option --app-file is for the");
}

int main(void)
{
    test_command_line();
    test_file();
    if (apps.count > 0)
        request_apps_fini(&apps);
    return done_testing();
}
