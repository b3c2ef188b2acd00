/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/task_words.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void task_words_free(char **words)
{
    for (char **word = words; word != NULL && *word != NULL; word++)
        free(*word);
    free(words);
}

/* ---- splitting ---- */

static int is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* What stands between quotes from *text on, which then is past the closing one. */
static int take_quoted(const char **text, struct buffer *word, struct error *error)
{
    const char quote = **text;
    const char *at = *text + 1;

    assert(quote == '\'' || quote == '"');
    for (; *at != quote; at++) {
        if (*at == '\0')
            return error_set(error, -EINVAL, "no closing %c", quote);
        if (quote == '"' && *at == '\\' && at[1] != '\0' && strchr("\"\\$`", at[1]) != NULL)
            at++;
        buffer_append(word, at, 1);
    }
    *text = at + 1;
    return 0;
}

static int take_word(const char **text, struct buffer *word, struct error *error)
{
    const char *at = *text;
    int rc = 0;

    while (rc == 0 && *at != '\0' && !is_blank(*at)) {
        if (*at == '\'' || *at == '"') {
            rc = take_quoted(&at, word, error);
            continue;
        }
        if (*at == '\\') {
            at++;
            if (*at == '\0')
                return error_set(error, -EINVAL, "a backslash ends the line");
        }
        buffer_append(word, at++, 1);
    }
    *text = at;
    return rc;
}

static void add_word(char ***words, uint32_t *count, char *word)
{
    *words = memory_resize(*words, (*count + 2) * sizeof(**words));
    (*words)[(*count)++] = word;
    (*words)[*count] = NULL;
}

int task_words_split(const char *line, char ***ret_words, uint32_t *ret_count, struct error *error)
{
    char **words = memory_allocate_zeroed(sizeof(*words));
    struct buffer word = {0};
    uint32_t count = 0;
    int rc = 0;

    for (;;) {
        while (is_blank(*line))
            line++;
        if (*line == '\0' || *line == '#')
            break;
        buffer_clear(&word);
        rc = take_word(&line, &word, error);
        if (rc < 0)
            break;
        add_word(&words, &count, memory_copy_string(buffer_string(&word)));
    }
    buffer_fini(&word);
    if (rc < 0) {
        task_words_free(words);
        return rc;
    }
    *ret_words = words;
    *ret_count = count;
    return 0;
}

/* ---- replacement ---- */

enum task_replacement {
    REPLACE_ALL,
    REPLACE_NO_EXTENSION,
    REPLACE_BASE,
    REPLACE_DIRECTORY,
    REPLACE_BASE_NO_EXTENSION,
    REPLACE_NUMBER,
    REPLACE_COUNT
};

static const char *const replacements[REPLACE_COUNT] = {"{}", "{.}", "{/}", "{//}", "{/.}", "{#}"};

static void put_argument(enum task_replacement what, const char *argument, uint32_t number,
                         struct buffer *out)
{
    const char *slash = strrchr(argument, '/');
    const char *base = slash != NULL ? slash + 1 : argument;
    const char *dot = strrchr(base, '.');
    const char *end = dot != NULL && dot > base ? dot : base + strlen(base);

    switch (what) {
    case REPLACE_ALL:
        buffer_append_string(out, argument);
        break;
    case REPLACE_NO_EXTENSION:
        buffer_append(out, argument, (size_t)(end - argument));
        break;
    case REPLACE_BASE:
        buffer_append_string(out, base);
        break;
    case REPLACE_DIRECTORY:
        if (slash == NULL)
            buffer_append_string(out, ".");
        else
            buffer_append(out, argument, slash > argument ? (size_t)(slash - argument) : 1);
        break;
    case REPLACE_BASE_NO_EXTENSION:
        buffer_append(out, base, (size_t)(end - base));
        break;
    default:
        assert(what == REPLACE_NUMBER);
        buffer_printf(out, "%u", number);
    }
}

/* 1 if the argument itself has been put in. */
static int replace_word(const char *word, const char *argument, uint32_t number, struct buffer *out)
{
    int has_argument = 0;

    while (*word != '\0') {
        int what = 0;

        while (what < REPLACE_COUNT &&
               strncmp(word, replacements[what], strlen(replacements[what])) != 0)
            what++;
        if (what == REPLACE_COUNT) {
            buffer_append(out, word++, 1);
            continue;
        }
        put_argument((enum task_replacement)what, argument, number, out);
        has_argument |= what != REPLACE_NUMBER;
        word += strlen(replacements[what]);
    }
    return has_argument;
}

char **task_words_replace(char *const *command, const char *argument, uint32_t number)
{
    char **words = memory_allocate_zeroed(sizeof(*words));
    uint32_t count = 0;
    int has_argument = 0;

    assert(command[0] != NULL);
    for (; *command != NULL; command++) {
        struct buffer word = {0};

        has_argument |= replace_word(*command, argument, number, &word);
        add_word(&words, &count, memory_copy_string(buffer_string(&word)));
        buffer_fini(&word);
    }
    if (!has_argument)
        add_word(&words, &count, memory_copy_string(argument));
    return words;
}

/* ---- printing ---- */

static void print_word(const char *word, struct buffer *out)
{
    int has_control = 0, is_plain = *word != '\0';

    for (const char *at = word; *at != '\0'; at++) {
        has_control |= iscntrl((unsigned char)*at) != 0;
        is_plain &= isalnum((unsigned char)*at) || strchr("%+,-./:=@_{}^", *at) != NULL ||
                    (unsigned char)*at >= 0x80;
    }
    if (is_plain) {
        buffer_append_string(out, word);
        return;
    }
    buffer_append_string(out, has_control ? "$'" : "'");
    for (; *word != '\0'; word++) {
        if (has_control && iscntrl((unsigned char)*word))
            buffer_printf(out, "\\%03o", (unsigned int)(unsigned char)*word);
        else if (has_control && (*word == '\'' || *word == '\\'))
            buffer_printf(out, "\\%c", *word);
        else if (*word == '\'')
            buffer_append_string(out, "'\\''");
        else
            buffer_append(out, word, 1);
    }
    buffer_append_string(out, "'");
}

void task_words_print(char *const *words, struct buffer *out)
{
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (i > 0)
            buffer_append_string(out, " ");
        print_word(words[i], out);
    }
}
