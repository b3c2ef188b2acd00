/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fixed buffer for the one line that a person must read, and the negative errno that a program
 * reads.  It is filled where the fact is known and printed once at the top.  No allocation, so it
 * can be filled when memory or descriptors are exhausted.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdarg.h>

#define ERROR_TEXT_BYTES 1024

struct error {
    int code;                    /* negative errno, 0 = no error */
    char text[ERROR_TEXT_BYTES]; /* one line, no newline at the end */
};

#define ERROR_NONE ((struct error){0})

/* Fills error (which may be NULL) and returns code, so that `return error_set(e, -EINVAL, ...)`
 * works.  Control characters in the text become blanks.  The arguments may lie in error->text. */
int error_set(struct error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int error_set_v(struct error *error, int code, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* Puts "text: " in front of what error already says; keeps its code. */
void error_prefix(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
