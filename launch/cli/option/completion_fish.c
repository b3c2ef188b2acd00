/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "launch/cli/option/completion_internal.h"

/* In single quotes of fish a backslash is special before a quote and a backslash only. */
#define SPECIAL "\\"

/* What completes a value, as the options of `complete`. */
static void put_action(const char *text, const char *choices, const char *programs,
                       struct buffer *out)
{
    struct completion_value value;

    completion_value_read(text, choices, &value);
    buffer_append_string(out, value.files ? " -F" : " -f");
    if (value.words.length_bytes > 0 || value.directories || value.programs)
        buffer_printf(out, " -a '%s%s%s'", buffer_string(&value.words),
                      value.directories ? " (__fish_complete_directories)" : "",
                      value.programs ? programs : "");
    completion_value_fini(&value);
}

static void put_option(const char *verb, const struct option_rule *rule, struct buffer *out)
{
    buffer_printf(out, "complete -c banyan -n '__fish_banyan_verb %s' -l %s", verb, rule->name);
    if (rule->letter != '\0')
        buffer_printf(out, " -s %c", rule->letter);
    if (rule->kind != OPTION_FLAG) {
        buffer_append_string(out, " -r");
        put_action(rule->value, rule->choices, " (__fish_complete_command)", out);
    }
    buffer_append_string(out, " -d '");
    completion_put_summary(rule->help, SPECIAL, out);
    buffer_append_string(out, "'\n");
}

static void put_verb(const struct completion_verb *verb, struct buffer *out)
{
    const struct option_rule *rule = verb->rules;

    buffer_printf(out, "complete -c banyan -n '__fish_banyan_verb' -a %s -d '", verb->name);
    completion_put_summary(verb->summary, SPECIAL, out);
    buffer_append_string(out, "'\n");
    if (verb->words != NULL) {
        buffer_printf(out, "complete -c banyan -n '__fish_banyan_verb %s'", verb->name);
        put_action(verb->words, NULL, " (__fish_complete_subcommand --fcs-skip=2)", out);
        buffer_append_string(out, "\n");
    }
    for (; rule != NULL && rule->kind != OPTION_END; rule++) {
        if (completion_is_option(verb->rules, rule))
            put_option(verb->name, rule, out);
    }
}

void completion_fish_print(const struct completion_verb *verbs, size_t count, struct buffer *out)
{
    buffer_append_string(out,
                         "# Completion of banyan in fish: what 'banyan completion fish' prints.\n\n"
                         "# The command is this one; without an argument: there is none yet.\n"
                         "function __fish_banyan_verb\n"
                         "    set -l words (commandline -opc)\n"
                         "    if test (count $words) -lt 2\n"
                         "        test (count $argv) -eq 0\n"
                         "    else\n"
                         "        test \"$words[2]\" = \"$argv[1]\"\n"
                         "    end\n"
                         "end\n\n"
                         "complete -c banyan -f\n");
    for (size_t i = 0; i < count; i++)
        put_verb(&verbs[i], out);
}
