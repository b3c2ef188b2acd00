/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_app_file.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "launch/cli/request/request_lines.h"

#define BLANKS " \t\r"

static void add_word(struct request_app_line *line, char *word)
{
    line->words = memory_resize(line->words, ((size_t)line->count + 2) * sizeof(*line->words));
    line->words[line->count++] = word;
    line->words[line->count] = NULL;
}

/* What a quote or a backslash at *at keeps; *at is advanced.  -EINVAL without its end. */
static int take_quoted(const char **at, struct buffer *word)
{
    char quote = *(*at)++;

    assert(quote == '\'' || quote == '"' || quote == '\\');
    if (quote == '\\') {
        if (**at == '\0')
            return -EINVAL;
        buffer_append(word, (*at)++, 1);
        return 0;
    }
    for (; **at != quote; (*at)++) {
        if (quote == '"' && **at == '\\' && ((*at)[1] == '"' || (*at)[1] == '\\'))
            (*at)++;
        if (**at == '\0')
            return -EINVAL;
        buffer_append(word, *at, 1);
    }
    (*at)++;
    return 0;
}

/* The word at *at, the caller's; NULL if a quote has no end. */
static char *take_word(const char **at)
{
    struct buffer word = {0};

    while (**at != '\0' && strchr(BLANKS, **at) == NULL) {
        if (strchr("'\"\\", **at) == NULL) {
            buffer_append(&word, (*at)++, 1);
        } else if (take_quoted(at, &word) < 0) {
            buffer_fini(&word);
            return NULL;
        }
    }
    buffer_append(&word, "", 1);
    return buffer_take(&word, NULL);
}

static int read_line(const char *path, unsigned int number, char *whole, void *context,
                     struct error *error)
{
    struct request_app_file *file = context;
    struct request_app_line *line;
    const char *text = whole;

    text += strspn(text, BLANKS);
    if (*text == '\0' || *text == '#')
        return 0;
    file->lines = memory_resize(file->lines, (file->count + 1) * sizeof(*file->lines));
    line = &file->lines[file->count++];
    *line = (struct request_app_line){.number = number};
    add_word(line, memory_printf("%s:%u", path, number));
    for (; *text != '\0'; text += strspn(text, BLANKS)) {
        char *word = take_word(&text);

        if (word == NULL)
            return error_set(error, -EINVAL, "%s:%u: a quote or backslash has nothing after it",
                             path, number);
        add_word(line, word);
    }
    assert(line->count > 1);
    return 0;
}

int request_app_file_parse(const char *path, const struct buffer *text,
                           struct request_app_file *ret_file, struct error *error)
{
    int rc;

    assert(ret_file->count == 0);
    rc = request_lines_read(path, text, read_line, ret_file, error);
    if (rc == 0 && ret_file->count == 0)
        rc = error_set(error, -EINVAL, "%s has no program: give one per line", path);
    return rc;
}

void request_app_file_fini(struct request_app_file *file)
{
    for (uint32_t i = 0; i < file->count; i++) {
        for (int j = 0; j < file->lines[i].count; j++)
            free(file->lines[i].words[j]);
        free(file->lines[i].words);
    }
    free(file->lines);
    *file = (struct request_app_file){.count = 0};
}
