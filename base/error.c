/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static void blank_control_characters(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte == 0x7f)
            *text = ' ';
    }
}

int error_set_v(struct error *error, int code, const char *format, va_list arguments)
{
    /* Formatted aside, for the arguments may lie in error->text. */
    char text[ERROR_TEXT_BYTES];

    if (error == NULL)
        return code;
    vsnprintf(text, sizeof(text), format, arguments);
    blank_control_characters(text);
    memcpy(error->text, text, strlen(text) + 1);
    error->code = code;
    return code;
}

int error_set(struct error *error, int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    error_set_v(error, code, format, arguments);
    va_end(arguments);
    return code;
}

void error_prefix(struct error *error, const char *format, ...)
{
    struct error prefix;
    va_list arguments;

    if (error == NULL)
        return;
    va_start(arguments, format);
    error_set_v(&prefix, 0, format, arguments);
    va_end(arguments);
    error_set(error, error->code, "%s: %s", prefix.text, error->text);
}
