/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/json_text.h"

#include <stdlib.h>

#include "base/buffer.h"

json_t *json_text(const char *text)
{
    json_t *value = json_string(text);
    char *copy;

    if (value != NULL)
        return value;
    copy = memory_copy_string(text);
    for (char *byte = copy; *byte != '\0'; byte++)
        if ((unsigned char)*byte >= 0x80)
            *byte = '?';
    value = json_string(copy);
    free(copy);
    return value;
}

void json_text_write(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        if ((unsigned char)*text >= 0x20 && (unsigned char)*text < 0x7f)
            fputc(*text, file);
    }
    fputc('"', file);
}
