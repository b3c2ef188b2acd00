/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/completion_verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "launch/cli/verb/verb_output.h"

struct completion_settings {
    int help;
    int version;
};

static const struct option_rule completion_rules[] = {
    OPTION_ROWS_ABOUT(struct completion_settings, help, version)};

const struct option_rule *completion_verb_rules(void)
{
    return completion_rules;
}

void completion_verb_help(struct buffer *out)
{
    buffer_append_string(
        out,
        "Usage: banyan completion bash|zsh|fish\n\n"
        "Prints the script by which the shell completes commands, options and values of banyan.\n"
        "'make install' puts it where the shells look; without that:\n"
        "  bash: . <(banyan completion bash), in ~/.bashrc\n"
        "  zsh:  . <(banyan completion zsh), in ~/.zshrc after compinit\n"
        "  fish: banyan completion fish >~/.config/fish/completions/banyan.fish\n");
    options_help(completion_rules, out);
    buffer_append_string(out, "\nMore in banyan-completion(1).\n");
}

static const struct completion_shell *find_shell(int argc, char **argv, struct error *error)
{
    if (argc == 1) {
        for (size_t i = 0; i < COMPLETION_SHELLS; i++) {
            if (strcmp(argv[0], completion_shells[i].name) == 0)
                return &completion_shells[i];
        }
    }
    if (argc == 1)
        error_set(error, -EINVAL, "no completion for '%.80s': the shells are bash, zsh and fish",
                  argv[0]);
    else
        error_set(error, -EINVAL,
                  "expected: banyan completion bash|zsh|fish; see 'banyan help completion'");
    return NULL;
}

int completion_verb(const struct completion_verb *verbs, size_t count, int argc, char **argv)
{
    struct completion_settings settings = {.help = 0};
    const struct completion_shell *shell;
    struct buffer text = {0};
    struct error error = ERROR_NONE;
    int next = argc;

    if (options_parse(completion_rules, argc, argv, &settings, &next, &error) < 0)
        return verb_output_fail(&error);
    if (settings.help > 0) {
        completion_verb_help(&text);
    } else if (settings.version > 0) {
        options_version(&text);
    } else {
        shell = find_shell(argc - next, argv + next, &error);
        if (shell == NULL)
            return verb_output_fail(&error);
        shell->print(verbs, count, &text);
    }
    return verb_output_print(&text, EXIT_SUCCESS);
}
