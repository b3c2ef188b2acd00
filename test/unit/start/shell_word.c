/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words for a shell on another machine: how they look, and that /bin/sh reads back what went in.
 */
#include "config.h"

#include "launch/start/shell_word.h"

#include <stdio.h>

#include "base/buffer.h"
#include "test/support/tap.h"

static const char *const words[] = {
    "plain", "/usr/bin/env", "",          "two words", "it's", "''",      "$HOME", "`id`",
    "a\"b",  "back\\slash",  "new\nline", "*?[a]",     "~",    "a;b&c|d", "#no",   "!x",
};

static void test_shell(const char *word)
{
    struct buffer command = {0};
    char got[64];
    size_t bytes;
    FILE *shell;

    buffer_append_string(&command, "printf %s ");
    shell_word_put(&command, word);
    shell = popen(buffer_string(&command), "r");
    if (shell == NULL)
        bail_out("cannot run a shell");
    bytes = fread(got, 1, sizeof(got) - 1, shell);
    got[bytes] = '\0';
    is_int(pclose(shell), 0, "a shell reads the word");
    is_string(got, word, "as it went in");
    buffer_fini(&command);
}

int main(void)
{
    struct buffer text = {0};

    shell_word_put(&text, "plain");
    is_string(buffer_string(&text), "plain", "a plain word stays as it is");
    buffer_clear(&text);
    shell_word_put(&text, "it's");
    is_string(buffer_string(&text), "'it'\\''s'", "a quote is quoted");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        test_shell(words[i]);
    buffer_fini(&text);
    return done_testing();
}
