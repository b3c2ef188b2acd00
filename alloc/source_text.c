/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/source_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#define SHOWN_BYTES_MAX 40

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static void skip_blanks(struct source_text *text)
{
    while (text->at < text->line_end && is_blank(*text->at))
        text->at++;
}

void source_text_variable(struct source_text *text, const char *name, const char *value,
                          struct error *error)
{
    const char *end = value + strlen(value);

    *text = (struct source_text){
        .name = name,
        .at = value,
        .end = end,
        .line_start = value,
        .line_end = end,
        .error = error,
    };
}

void source_text_file(struct source_text *text, const char *path, const void *bytes,
                      size_t bytes_count, struct error *error)
{
    const char *start = bytes_count > 0 ? bytes : "";

    *text = (struct source_text){
        .name = path,
        .at = start,
        .end = start + bytes_count,
        .line_start = start,
        .line_end = start,
        .error = error,
    };
}

/* ---- Errors ---- */

void source_text_prefix(struct source_text *text, const char *at)
{
    size_t column = (size_t)(at - text->line_start) + 1;

    if (text->line == 0)
        error_prefix(text->error, "%s: column %zu", text->name, column);
    else
        error_prefix(text->error, "%s:%u:%zu", text->name, text->line, column);
}

int source_text_fail(struct source_text *text, const char *at, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    error_set_v(text->error, -EINVAL, format, arguments);
    va_end(arguments);
    source_text_prefix(text, at);
    return -EINVAL;
}

int source_word_shown(const struct source_word *word)
{
    return (int)(word->bytes < SHOWN_BYTES_MAX ? word->bytes : SHOWN_BYTES_MAX);
}

/* ---- Lines and words ---- */

static int line_check(struct source_text *text)
{
    for (const char *at = text->line_start; at < text->line_end; at++) {
        unsigned char byte = (unsigned char)*at;

        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return source_text_fail(text, at, "control character 0x%02x", byte);
    }
    return 0;
}

int source_text_line(struct source_text *text)
{
    const char *next = text->line == 0 ? text->at : text->line_end;

    do {
        const char *newline;

        if (text->line > 0 && next < text->end)
            next += *next == '\r' ? 2 : 1;
        if (next >= text->end)
            return 0;
        newline = memchr(next, '\n', (size_t)(text->end - next));
        text->line++;
        text->line_start = next;
        text->line_end = newline != NULL ? newline : text->end;
        if (newline != NULL && newline > next && newline[-1] == '\r')
            text->line_end--;
        if (line_check(text) < 0)
            return -EINVAL;
        text->at = next;
        skip_blanks(text);
        next = text->line_end;
    } while (text->at == text->line_end);
    return 1;
}

int source_text_word(struct source_text *text, struct source_word *ret_word)
{
    skip_blanks(text);
    ret_word->text = text->at;
    while (text->at < text->line_end && !is_blank(*text->at))
        text->at++;
    ret_word->bytes = (size_t)(text->at - ret_word->text);
    return ret_word->bytes > 0;
}

int source_text_lone_word(struct source_text *text, struct source_word *ret_word)
{
    struct source_word second;
    int rc = source_text_line(text);

    if (rc <= 0)
        return rc;
    source_text_word(text, ret_word);
    if (source_text_word(text, &second))
        return source_text_fail(text, second.text,
                                "one name per line expected; unexpected \"%.*s\"",
                                source_word_shown(&second), second.text);
    return 1;
}

int source_text_expect(struct source_text *text, const char *what, struct source_word *ret_word)
{
    if (!source_text_word(text, ret_word))
        return source_text_fail(text, ret_word->text, "%s is missing", what);
    return 0;
}

/* ---- Numbers ---- */

int source_word_number(struct source_text *text, const struct source_word *word, const char *what,
                       uint32_t minimum, uint32_t maximum, uint32_t *ret_number)
{
    uint64_t number = 0;
    size_t i = 0;

    while (i < word->bytes && is_digit(word->text[i]) && number <= maximum)
        number = 10 * number + (uint64_t)(word->text[i++] - '0');
    if (word->bytes == 0 || i < word->bytes || number < minimum || number > maximum)
        return source_text_fail(text, word->text, "%s must be a number from %u to %u, not \"%.*s\"",
                                what, minimum, maximum, source_word_shown(word), word->text);
    *ret_number = (uint32_t)number;
    return 0;
}

int source_text_number(struct source_text *text, const char *what, uint32_t minimum,
                       uint32_t maximum, uint32_t *ret_number)
{
    struct source_word word = {.text = text->at};

    while (text->at < text->line_end && is_digit(*text->at))
        text->at++;
    word.bytes = (size_t)(text->at - word.text);
    if (word.bytes == 0 && text->at < text->line_end)
        return source_text_fail(text, text->at, "%s must be a number from %u to %u, not '%c'", what,
                                minimum, maximum, *text->at);
    return source_word_number(text, &word, what, minimum, maximum, ret_number);
}
