/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/completion.h"

#include <assert.h>
#include <string.h>

#include "launch/cli/option/completion_internal.h"

/* What ends earlier is no sentence but a word that is explained. */
#define SUMMARY_BYTES_MIN 12

const struct completion_shell completion_shells[COMPLETION_SHELLS] = {
    {"bash", completion_bash_print},
    {"zsh", completion_zsh_print},
    {"fish", completion_fish_print},
};

static int begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void add_word(struct completion_value *value, const char *word, size_t bytes)
{
    if (value->words.length_bytes > 0)
        buffer_append_string(&value->words, " ");
    buffer_append(&value->words, word, bytes);
}

/* One of the alternatives of "DIR|none" or "file:DIR": what is in lower case is typed as it is. */
static void read_alternative(const char *text, const char *choices, struct completion_value *value)
{
    size_t bytes = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

    if (*text >= 'a' && *text <= 'z') {
        if (choices == NULL)
            add_word(value, text, bytes + (text[bytes] == ':'));
        return;
    }
    if (begins_with(text, "SIGNAL"))
        buffer_append_string(&value->words, "TERM INT HUP QUIT USR1 USR2 STOP CONT KILL");
    value->files |=
        begins_with(text, "FILE") || begins_with(text, "PATH") || begins_with(text, "PATTERN");
    value->directories |= begins_with(text, "DIR");
    value->programs |= begins_with(text, "PROGRAM") || begins_with(text, "COMMAND");
}

void completion_value_read(const char *text, const char *choices,
                           struct completion_value *ret_value)
{
    *ret_value = (struct completion_value){.files = 0};
    if (choices != NULL)
        add_word(ret_value, choices, strlen(choices));
    while (text != NULL && *text != '\0') {
        read_alternative(text, choices, ret_value);
        text += strcspn(text, "|");
        text += *text == '|';
    }
}

void completion_value_fini(struct completion_value *value)
{
    buffer_fini(&value->words);
}

int completion_is_option(const struct option_rule *rules, const struct option_rule *rule)
{
    assert(rules <= rule);
    if (rule->kind == OPTION_HEADING)
        return 0;
    for (; rules < rule; rules++) {
        if (rules->kind != OPTION_HEADING && strcmp(rules->name, rule->name) == 0)
            return 0;
    }
    return 1;
}

static void put(const char *text, size_t bytes, const char *special, struct buffer *out)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\'')
            buffer_append_string(out, "'\\'");
        else if (strchr(special, text[i]) != NULL)
            buffer_append_string(out, "\\");
        buffer_append(out, &text[i], 1);
    }
}

void completion_put_quoted(const char *text, const char *special, struct buffer *out)
{
    put(text, strlen(text), special, out);
}

void completion_put_summary(const char *text, const char *special, struct buffer *out)
{
    static const char *const ends[] = {": ", "; ", " ("};
    size_t bytes = strlen(text);

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const char *end =
            bytes > SUMMARY_BYTES_MIN ? strstr(text + SUMMARY_BYTES_MIN, ends[i]) : NULL;

        if (end != NULL && (size_t)(end - text) < bytes)
            bytes = (size_t)(end - text);
    }
    put(text, bytes, special, out);
}
