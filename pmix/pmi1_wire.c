/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi1_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Their values may contain blanks, and come last. */
static int takes_the_rest(const char *name, size_t name_bytes)
{
    static const char *const names[] = {"value", "port", "msg", "message"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i]) == name_bytes && memcmp(names[i], name, name_bytes) == 0)
            return 1;
    }
    return 0;
}

const char *pmi1_wire_find(const char *line, const char *name, size_t *ret_bytes)
{
    while (*line != '\0') {
        size_t name_bytes = strcspn(line, "= ");
        const char *value = line + name_bytes + 1;
        size_t value_bytes;

        if (line[name_bytes] != '=') { /* a word without a value */
            line += name_bytes + (line[name_bytes] == ' ');
            continue;
        }
        value_bytes = strcspn(value, takes_the_rest(line, name_bytes) ? "" : " ");
        if (strlen(name) == name_bytes && memcmp(name, line, name_bytes) == 0) {
            *ret_bytes = value_bytes;
            return value;
        }
        line = value + value_bytes;
        line += *line == ' ';
    }
    return NULL;
}

int pmi1_wire_text(const char *line, const char *name, char *text, size_t text_bytes)
{
    size_t bytes;
    const char *value = pmi1_wire_find(line, name, &bytes);

    if (value == NULL || bytes >= text_bytes)
        return 0;
    memcpy(text, value, bytes);
    text[bytes] = '\0';
    return 1;
}

long pmi1_wire_number(const char *line, const char *name, long fallback)
{
    char text[24], *end;
    long number;

    if (!pmi1_wire_text(line, name, text, sizeof(text)) || text[0] == '\0')
        return fallback;
    errno = 0;
    number = strtol(text, &end, 10);
    return *end != '\0' || errno != 0 ? fallback : number;
}
