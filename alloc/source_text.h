/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A walk over the text of a variable or a file, in lines and blank-separated words, that knows
 * where it is: errors read "NAME: column 3: ..." for a variable and "NAME:2:3: ..." for a file.
 * Lines may end in CR LF; a control character is an error.  The text is not copied.
 */
#ifndef ALLOC_SOURCE_TEXT_H
#define ALLOC_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct source_word {
    const char *text; /* not NUL-terminated */
    size_t bytes;
};

struct source_text {
    const char *name;
    const char *at; /* next byte */
    const char *end;
    const char *line_start;
    const char *line_end;
    unsigned int line; /* 0: a variable, which is one line */
    struct error *error;
};

void source_text_variable(struct source_text *text, const char *name, const char *value,
                          struct error *error);
void source_text_file(struct source_text *text, const char *path, const void *bytes,
                      size_t bytes_count, struct error *error);
/* Goes to the next line of a file that has a word: 1, 0 at the end, -EINVAL on a control character.
 * The line of a variable is there from the start. */
int source_text_line(struct source_text *text);
/* The next word of the line: 1 or 0. */
int source_text_word(struct source_text *text, struct source_word *ret_word);
/* The next word of a text whose lines have one word each: 1, 0 at the end, -EINVAL. */
int source_text_lone_word(struct source_text *text, struct source_word *ret_word);
/* The same for `what` that must be there, or -EINVAL. */
int source_text_expect(struct source_text *text, const char *what, struct source_word *ret_word);
/* Fails at a place of the current line; -EINVAL. */
int source_text_fail(struct source_text *text, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts the place in front of an error. */
void source_text_prefix(struct source_text *text, const char *at);

/* A word that is a number of [minimum, maximum]; `what` is it called in the error. */
int source_word_number(struct source_text *text, const struct source_word *word, const char *what,
                       uint32_t minimum, uint32_t maximum, uint32_t *ret_number);
/* Digits at text->at, at least one, up to `maximum`; for forms that are not words. */
int source_text_number(struct source_text *text, const char *what, uint32_t minimum,
                       uint32_t maximum, uint32_t *ret_number);
/* Bytes of a word to show in a message. */
int source_word_shown(const struct source_word *word);

#endif
