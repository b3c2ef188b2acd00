/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_configured.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

#define WORDS_MAX 32

static const char *user_text;
static unsigned int files_read;

static int read_file(const char *path, struct buffer *out, struct error *error)
{
    files_read++;
    if (strcmp(path, "/home/u/.config/banyan.conf") == 0)
        buffer_append_string(out, user_text);
    else if (strcmp(path, "/xdg/banyan.conf") == 0)
        buffer_append_string(out, "label = yes\n");
    else if (strcmp(path, "/closed/banyan.conf") == 0)
        return error_set(error, -EACCES, "cannot read %s", path);
    else
        return error_set(error, -ENOENT, "cannot read %s", path);
    return 0;
}

static struct configured_values values;
static struct error error;

static int read_with(const char *first, const char *second)
{
    const char *environment[] = {first, second, NULL};

    configured_fini(&values);
    files_read = 0;
    return request_configured_read((char *const *)environment, read_file, &values, &error);
}

static void test_files(void)
{
    user_text = "radix = 3\n";
    is_int(read_with("HOME=/home/u", NULL), 0, "a user's file");
    is_uint(files_read, 2, "is read after the site's, which need not be there");
    is_string(values.items[0].origin, "/home/u/.config/banyan.conf:1", "its line is the origin");
    is_int(read_with("HOME=/home/u", "XDG_CONFIG_HOME=/xdg"), 0, "XDG_CONFIG_HOME");
    is_string(values.items[0].origin, "/xdg/banyan.conf:1", "is another place");
    is_int(read_with(NULL, NULL), 0, "no home");
    is_uint(values.count, 0, "has no file");
    is_int(read_with("HOME=/home/u", "BANYAN_CONFIG=none"), 0, "no file is wanted");
    is_uint(files_read, 0, "and none is read");
    is_int(read_with("BANYAN_CONFIG=/xdg/banyan.conf", NULL), 0, "one file alone");
    is_uint(files_read, 1, "is all that is read");
    ok(read_with("BANYAN_CONFIG=/none", NULL) < 0, "it must be there");
    has_string(error.text, "$BANYAN_CONFIG: cannot read /none", "by its name");
    ok(read_with("XDG_CONFIG_HOME=/closed", NULL) < 0, "a file that cannot be read is an error");
    is_int(read_with("BANYAN_RADIX=4", "BANYAN_INSTANCE=/x"), 0, "variables");
    is_uint(values.count, 1, "those that have another meaning are no options");
    is_int(read_with("BANYAN_STAGE=/x/stage/0", "BANYAN_JOB=1"), 0, "what a rank's variables say");
    is_uint(values.count, 0, "is not an option of runs within its job");
}

static struct request_apps apps;

/* Splits line at blanks; the words stay valid until the next call. */
static struct request_settings *parse(const char *line)
{
    static const struct request_settings defaults = {.kill_grace_s = RUN_NOT_GIVEN};
    static char text[256];
    static char *argv[WORDS_MAX];
    struct request_ops world = {.configured = &values};
    char *rest = text;
    int argc = 0;

    if (apps.count > 0)
        request_apps_fini(&apps);
    strcpy(text, line);
    for (char *word; (word = strsep(&rest, " ")) != NULL && argc < WORDS_MAX - 1;)
        argv[argc++] = word;
    argv[argc] = NULL;
    if (request_apps_parse(run_rules, &defaults, argc, argv, &world, &apps, &error) < 0)
        bail_out("%s", error.text);
    return &apps.items[0].settings;
}

static void test_fill(void)
{
    struct request_settings *settings;

    user_text =
        "label=yes\nenv=A=1\nhost=n1\nradix=9\nssh-agent=/bin/agent\nkill-grace=7\nstarter=ssh\n"
        "modex=lazy\noutput=out.%r\nfold=yes\ntimeout=5\nstdin=1\n"
        "profile=yes\non-failure=restart\n[start]\nlabel=no\n";
    is_int(read_with("HOME=/home/u", NULL), 0, "a user's file");
    settings = parse("run -x B=2 p : q");
    is_int(settings->label, 1, "options of the job are there at once");
    is_string(settings->modex, "lazy", "all of them");
    is_uint(apps.items[1].settings.set.count, 2, "also for later programs");
    is_uint(settings->hosts.count, 0, "those of the start are not");
    ok(settings->starter == NULL && settings->radix == 0 && settings->kill_grace_s == RUN_NOT_GIVEN,
       "none of them, so an instance refuses nothing");
    request_configured_fill_start(&values, &apps);
    is_string(settings->hosts.items[0], "n1", "unless an instance is started");
    is_string(settings->starter, "ssh", "with its starter");
    is_uint(settings->kill_grace_s, 7, "and its times");
    ok(settings->agent == NULL, "an agent is not given");
    is_string(settings->configured_agent, "/bin/agent", "but known");
    request_configured_limit_radix(settings, 4);
    is_uint(settings->radix, 4, "a radix is limited to the nodes");
    settings = parse("run --virtual-nodes 3 --radix 8 --kill-grace 0 p");
    request_configured_fill_start(&values, &apps);
    request_configured_limit_radix(settings, 4);
    is_uint(settings->radix, 8, "but not one of the command line");
    is_uint(settings->kill_grace_s, 0, "which has precedence, also with 0");
    ok(settings->hosts.count == 0 && settings->starter == NULL &&
           settings->configured_agent == NULL,
       "virtual nodes need neither hosts nor ssh");
    settings = parse("run --detach p");
    ok(settings->label == 0 && settings->timeout_s == 0 && settings->input == NULL &&
           settings->output == NULL && settings->fold == 0,
       "a job that is left alone does not get what belongs to its client");
    is_string(settings->modex, "lazy", "but the rest");
    is_int(settings->profile, 0, "nor the times of the nodes");
    settings = parse("run --pty p");
    ok(settings->on_failure == NULL && settings->profile == 1,
       "a rank with a terminal is not restarted");
    settings = parse("run --no-daemons p");
    ok(settings->modex == NULL && settings->profile == 0 && settings->on_failure == NULL &&
           settings->label == 1,
       "processes without daemons do not get what these would do");
    settings = parse("run --tasks list");
    ok(settings->label == 1 && settings->input == NULL, "nor do tasks what belongs to ranks");
    settings = parse("start");
    is_int(settings->label, 0, "a section holds for its verb");
    request_configured_fill_job(NULL, &apps);
    request_configured_fill_start(NULL, &apps);
    is_uint(settings->hosts.count, 0, "without a configuration nothing is filled");
    request_apps_fini(&apps);
}

int main(void)
{
    test_files();
    test_fill();
    configured_fini(&values);
    return done_testing();
}
