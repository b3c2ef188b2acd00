/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/completion_internal.h"

#define SPECIAL_HELP "[]\\"
#define SPECIAL_NAME ":[]\\"
#define SPECIAL_WORD ":\\"

/* What completes a value, as the action of _arguments. */
static void put_action(const char *text, const char *choices, struct buffer *out)
{
    struct completion_value value;
    int has_words;

    completion_value_read(text, choices, &value);
    has_words = value.words.length_bytes > 0;
    if (has_words && value.directories)
        buffer_append_string(out,
                             "{_alternative \"directories:directory:_files -/\" \"words:word:(");
    else if (has_words)
        buffer_append_string(out, "(");
    completion_put_quoted(buffer_string(&value.words), SPECIAL_WORD, out);
    if (has_words)
        buffer_append_string(out, value.directories ? ")\"}" : ")");
    else if (value.programs)
        buffer_append_string(out, "_command_names -e");
    else if (value.files)
        buffer_append_string(out, "_files");
    else if (value.directories)
        buffer_append_string(out, "_files -/");
    completion_value_fini(&value);
}

static void put_option(const struct option_rule *rule, struct buffer *out)
{
    const char *sign = rule->kind == OPTION_FLAG ? "" : "=";

    buffer_append_string(out, " \\\n            ");
    if (rule->kind == OPTION_LIST)
        buffer_append_string(out, "'*'");
    else if (rule->letter != '\0')
        buffer_printf(out, "'(-%c --%s)'", rule->letter, rule->name);
    if (rule->letter != '\0')
        buffer_printf(out, "{-%c%s,--%s%s}'[", rule->letter, *sign != '\0' ? "+" : "", rule->name,
                      sign);
    else
        buffer_printf(out, "'--%s%s[", rule->name, sign);
    completion_put_summary(rule->help, SPECIAL_HELP, out);
    buffer_append_string(out, "]");
    if (rule->kind != OPTION_FLAG) {
        buffer_append_string(out, ":");
        completion_put_quoted(rule->value, SPECIAL_NAME, out);
        buffer_append_string(out, ":");
        put_action(rule->value, rule->choices, out);
    }
    buffer_append_string(out, "'");
}

static void put_words(const char *words, struct buffer *out)
{
    struct completion_value value;

    completion_value_read(words, NULL, &value);
    if (value.programs) {
        buffer_append_string(out, " \\\n            '(-)1:program:_command_names -e' "
                                  "'*::arguments:_normal'");
    } else if (words != NULL) {
        buffer_append_string(out, " \\\n            '*:argument:");
        put_action(words, NULL, out);
        buffer_append_string(out, "'");
    }
    completion_value_fini(&value);
}

static void put_verb(const struct completion_verb *verb, struct buffer *out)
{
    const struct option_rule *rule = verb->rules;

    buffer_printf(out, "    %s)\n        _arguments -s -S", verb->name);
    for (; rule != NULL && rule->kind != OPTION_END; rule++) {
        if (completion_is_option(verb->rules, rule))
            put_option(rule, out);
    }
    put_words(verb->words, out);
    buffer_append_string(out, "\n        ;;\n");
}

void completion_zsh_print(const struct completion_verb *verbs, size_t count, struct buffer *out)
{
    buffer_append_string(out,
                         "#compdef banyan\n"
                         "# Completion of banyan in zsh: what 'banyan completion zsh' prints.\n\n"
                         "_banyan() {\n"
                         "    local -a verbs\n"
                         "    verbs=(\n");
    for (size_t i = 0; i < count; i++) {
        buffer_printf(out, "        '%s:", verbs[i].name);
        completion_put_quoted(verbs[i].summary, SPECIAL_WORD, out);
        buffer_append_string(out, "'\n");
    }
    buffer_append_string(out, "    )\n"
                              "    if ((CURRENT == 2)); then\n"
                              "        _describe -t commands 'banyan command' verbs\n"
                              "        return\n"
                              "    fi\n"
                              "    shift words\n"
                              "    ((CURRENT--))\n"
                              "    case $words[1] in\n");
    for (size_t i = 0; i < count; i++)
        put_verb(&verbs[i], out);
    /* Called as the function that it was loaded as, or sourced. */
    buffer_append_string(out, "    esac\n"
                              "}\n\n"
                              "if [[ $funcstack[1] == _banyan ]]; then\n"
                              "    _banyan \"$@\"\n"
                              "else\n"
                              "    compdef _banyan banyan\n"
                              "fi\n");
}
