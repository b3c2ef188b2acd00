/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of tasks (launch/cli/request/task_words.c): split, put together, and written again. */
#include "config.h"

#include "launch/cli/request/task_words.h"

#include <errno.h>
#include <string.h>

#include "test/support/tap.h"

static const char *joined(char *const *words)
{
    static char text[512];

    text[0] = '\0';
    for (; *words != NULL; words++) {
        strncat(text, *words, sizeof(text) - strlen(text) - 2);
        strcat(text, "|");
    }
    return text;
}

static void splits(const char *line, const char *expected)
{
    struct error error = ERROR_NONE;
    char **words = NULL, **again = NULL;
    struct buffer printed = {0};
    uint32_t count = 0;

    is_int(task_words_split(line, &words, &count, &error), 0, "'%s' is split", line);
    is_string(joined(words), expected, "'%s': its words", line);
    task_words_print(words, &printed);
    if (strstr(buffer_string(&printed), "$'") == NULL) {
        is_int(task_words_split(buffer_string(&printed), &again, &count, &error), 0,
               "'%s' is what it is written as", buffer_string(&printed));
        is_string(joined(again), expected, "which has the same words");
        task_words_free(again);
    }
    task_words_free(words);
    buffer_fini(&printed);
}

static void is_refused(const char *line, const char *why)
{
    struct error error = ERROR_NONE;
    char **words;
    uint32_t count;

    is_int(task_words_split(line, &words, &count, &error), -EINVAL, "'%s' is refused", line);
    has_string(error.text, why, "and why");
}

static void replaces(char *const *command, const char *argument, const char *expected)
{
    char **words = task_words_replace(command, argument, 12);

    is_string(joined(words), expected, "'%s' put in", argument);
    task_words_free(words);
}

static void prints(const char *word, const char *expected)
{
    char *words[] = {(char *)(uintptr_t)word, NULL};
    struct buffer printed = {0};

    task_words_print(words, &printed);
    is_string(buffer_string(&printed), expected, "a word as %s", expected);
    buffer_fini(&printed);
}

int main(void)
{
    char *all[] = {(char *)"a{}b", (char *)"{.}", (char *)"{/}", (char *)"{//}",
                   (char *)"{/.}", (char *)"{#}", NULL};
    char *none[] = {(char *)"echo", (char *)"{#}", (char *)"{x}", NULL};

    splits("true", "true|");
    splits("  a\tb  c \r", "a|b|c|");
    splits("a 'b  c' \"d e\"f g\\ h", "a|b  c|d ef|g h|");
    splits("'' \"\"", "||");
    splits("a\"\\\"\\$\\n\" '\\'", "a\"$\\n|\\|");
    splits("echo $HOME ~ * ; a|b", "echo|$HOME|~|*|;|a|b|");
    splits("a#b # c 'd", "a#b|");
    splits("", "");
    splits(" # only", "");
    splits("it\\'s", "it's|");
    is_refused("a 'b", "no closing '");
    is_refused("a \"b\\\"", "no closing \"");
    is_refused("a \\", "a backslash ends the line");
    replaces(all, "/x/y.tar.gz", "a/x/y.tar.gzb|/x/y.tar|y.tar.gz|/x|y.tar|12|");
    replaces(all, "y", "ayb|y|y|.|y|12|");
    replaces(all, "/.bashrc", "a/.bashrcb|/.bashrc|.bashrc|/|.bashrc|12|");
    replaces(none, "x y", "echo|12|{x}|x y|");
    prints("a,b=c", "a,b=c");
    prints("", "''");
    prints("a b", "'a b'");
    prints("it's", "'it'\\''s'");
    prints("a\tb\n'\\", "$'a\\011b\\012\\'\\\\'");
    return done_testing();
}
