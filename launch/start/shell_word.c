/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/shell_word.h"

#include <string.h>

#define PLAIN_LETTERS                                                \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
    "/._-+:@%,="

void shell_word_put(struct buffer *out, const char *word)
{
    if (word[0] != '\0' && word[strspn(word, PLAIN_LETTERS)] == '\0') {
        buffer_append_string(out, word);
        return;
    }
    buffer_append_string(out, "'");
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            buffer_append_string(out, "'\\''");
        else
            buffer_append(out, word, 1);
    }
    buffer_append_string(out, "'");
}
