/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/clean_verb.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "launch/cli/verb/command.h"
#include "launch/doctor/leftovers.h"
#include "launch/cli/option/options.h"
#include "launch/cli/verb/verb_output.h"
#include "launch/proto/exit_status.h"

#define STATUS_LEFT 1

struct clean_settings {
    const char *tmpdir;
    int dry_run;
    int help;
    int version;
};

#define FIELD(member) .offset = offsetof(struct clean_settings, member)

static const struct option_rule clean_rules[] = {
    {.kind = OPTION_HEADING, .help = "What to remove"},
    {.kind = OPTION_TEXT,
     .name = "tmpdir",
     .value = "DIR",
     FIELD(tmpdir),
     .help = "where session directories are, as for banyan run (default: $TMPDIR or /tmp)"},
    {.kind = OPTION_FLAG,
     .letter = 'n',
     .name = "dry-run",
     FIELD(dry_run),
     .help = "show what would be removed, and remove nothing"},
    OPTION_ROWS_ABOUT(struct clean_settings, help, version)};

const struct option_rule *clean_verb_rules(void)
{
    return clean_rules;
}

void clean_verb_help(struct buffer *out)
{
    buffer_append_string(
        out, "Usage: banyan clean [OPTIONS]\n\n"
             "Removes what dead instances of yours have left on this machine: processes, cgroups,\n"
             "session directories and shared memory. Living instances are not touched.\n"
             "On the nodes of an allocation: banyan run --ppn 1 banyan clean\n");
    options_help(clean_rules, out);
    buffer_append_string(out, "\nMore in banyan-clean(1).\n");
}

struct cleaning {
    struct leftovers_count count; /* of what was removed, or would be */
    int dry_run;
    int failed;
};

static void clean_leftover(void *context, const struct leftover *leftover)
{
    struct cleaning *cleaning = context;
    struct error error = ERROR_NONE;

    if (cleaning->dry_run == 0 && leftovers_remove(leftover, &error) < 0) {
        fprintf(stderr, "banyan: %s\n", error.text);
        cleaning->failed = 1;
        return;
    }
    leftovers_count_add(&cleaning->count, leftover);
}

static void print_count(const struct cleaning *cleaning, struct buffer *out)
{
    const struct leftovers_count *count = &cleaning->count;
    const char *verb = cleaning->dry_run > 0 ? "would remove" : "removed";

    for (uint32_t i = 0; i < count->sessions_count; i++) {
        buffer_printf(out, "%s of session %s: ", verb, count->sessions[i].session);
        leftovers_session_print(&count->sessions[i], out);
        buffer_append_string(out, "\n");
    }
    if (count->more > 0)
        buffer_printf(out, "%s of other sessions: %u\n", verb, count->more);
    if (count->cgroups > 0)
        buffer_printf(out, "%s: %u %s\n", verb, count->cgroups,
                      count->cgroups == 1 ? "cgroup" : "cgroups");
    if (count->sessions_count == 0 && count->cgroups == 0 && !cleaning->failed)
        buffer_append_string(out, "nothing to remove\n");
}

int clean_verb(int argc, char **argv)
{
    struct clean_settings settings = {.tmpdir = NULL};
    struct cleaning cleaning = {.failed = 0};
    struct buffer text = {0};
    struct error error = ERROR_NONE;
    int next = argc;

    if (options_parse(clean_rules, argc, argv, &settings, &next, &error) < 0)
        return verb_output_fail(&error);
    if (settings.help > 0)
        clean_verb_help(&text);
    else if (settings.version > 0)
        options_version(&text);
    else if (next < argc) {
        error_set(&error, -EINVAL, "unexpected argument '%.80s'; see 'banyan help clean'",
                  argv[next]);
        return verb_output_fail(&error);
    } else {
        cleaning.dry_run = settings.dry_run;
        leftovers_find(settings.tmpdir, clean_leftover, &cleaning);
        print_count(&cleaning, &text);
    }
    return verb_output_print(&text, cleaning.failed ? STATUS_LEFT : EXIT_SUCCESS);
}
