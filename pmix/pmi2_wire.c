/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi2_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The length may have blanks on either side.  -EPROTO if there is no number. */
static long length_decode(const unsigned char *data)
{
    size_t i = 0;
    long length = 0;
    int digits = 0;

    while (i < PMI2_LENGTH_BYTES && data[i] == ' ')
        i++;
    for (; i < PMI2_LENGTH_BYTES && data[i] >= '0' && data[i] <= '9'; i++, digits++)
        length = 10 * length + (data[i] - '0');
    while (i < PMI2_LENGTH_BYTES && data[i] == ' ')
        i++;
    return digits > 0 && i == PMI2_LENGTH_BYTES ? length : -EPROTO;
}

/* MPICH 4.0's pmi2/simple counts the length field, too, and sends as many bytes of anything after the
 * text (see also pmi2_wire_decode). */
static int has_inner_nul(const unsigned char *data, size_t bytes)
{
    const unsigned char *nul = memchr(data, '\0', bytes);

    return nul != NULL && data + bytes - nul > PMI2_LENGTH_BYTES;
}

ssize_t pmi2_wire_cut(const struct buffer *input, struct error *error)
{
    long length;

    if (input->length_bytes < PMI2_LENGTH_BYTES)
        return 0;
    length = length_decode(input->data);
    if (length <= 0)
        return error_set(error, -EPROTO, "PMI-2: a message without a length");
    if (length > PMI2_MESSAGE_BYTES - PMI2_LENGTH_BYTES)
        return error_set(error, -EPROTO, "PMI-2: a message is longer than %d bytes",
                         PMI2_MESSAGE_BYTES);
    if (input->length_bytes < (size_t)length + PMI2_LENGTH_BYTES)
        return 0;
    if (has_inner_nul(input->data, (size_t)length + PMI2_LENGTH_BYTES))
        return error_set(error, -EPROTO, "PMI-2: a message with a NUL byte");
    return length + PMI2_LENGTH_BYTES;
}

/* Ends a value with a NUL in place and undoubles its ';'; returns where the next pair starts. */
static char *value_end(char *value)
{
    char *to = value;

    for (; *value != '\0'; value++) {
        if (*value == ';' && *++value != ';') {
            *to = '\0';
            return value;
        }
        *to++ = *value;
    }
    *to = '\0';
    return value;
}

int pmi2_wire_decode(char *message, struct pmi2_pairs *ret_pairs)
{
    struct pmi2_pairs pairs = {0};
    size_t capacity = 0;
    char *next = message + PMI2_LENGTH_BYTES;

    while (*next != '\0') {
        char *key = next, *equals = strchr(next, '=');

        if (equals == NULL && pairs.count > 0 && strlen(key) <= PMI2_LENGTH_BYTES)
            break;
        if (equals == NULL || equals == key || memchr(key, ';', (size_t)(equals - key)) != NULL) {
            pmi2_wire_fini(&pairs);
            return -EPROTO;
        }
        if (pairs.count == capacity) {
            capacity = 2 * capacity + 8;
            pairs.items = memory_resize(pairs.items, capacity * sizeof(*pairs.items));
        }
        *equals = '\0';
        next = value_end(equals + 1);
        pairs.items[pairs.count++] = (struct pmi2_pair){.key = key, .value = equals + 1};
    }
    *ret_pairs = pairs;
    return 0;
}

void pmi2_wire_fini(struct pmi2_pairs *pairs)
{
    free(pairs->items);
    *pairs = (struct pmi2_pairs){0};
}

const char *pmi2_wire_get(const struct pmi2_pairs *pairs, const char *key)
{
    for (size_t i = 0; i < pairs->count; i++) {
        if (strcmp(pairs->items[i].key, key) == 0)
            return pairs->items[i].value;
    }
    return NULL;
}

long pmi2_wire_number(const struct pmi2_pairs *pairs, const char *key, long fallback)
{
    const char *text = pmi2_wire_get(pairs, key);
    char *end;
    long number;

    if (text == NULL || text[0] == '\0')
        return fallback;
    errno = 0;
    number = strtol(text, &end, 10);
    return *end != '\0' || errno != 0 ? fallback : number;
}

void pmi2_wire_begin(struct buffer *out, const char *command)
{
    assert(out->length_bytes == 0);
    buffer_append(out, "      ", PMI2_LENGTH_BYTES);
    pmi2_wire_add(out, "cmd", command);
}

void pmi2_wire_add(struct buffer *out, const char *key, const char *value)
{
    buffer_append_string(out, key);
    buffer_append(out, "=", 1);
    for (;;) {
        size_t bytes = strcspn(value, ";");

        buffer_append(out, value, bytes);
        if (value[bytes] == '\0')
            break;
        buffer_append(out, ";;", 2);
        value += bytes + 1;
    }
    buffer_append(out, ";", 1);
}

void pmi2_wire_add_number(struct buffer *out, const char *key, long value)
{
    buffer_printf(out, "%s=%ld;", key, value);
}

void pmi2_wire_end(struct buffer *out)
{
    char length[PMI2_LENGTH_BYTES + 1];

    assert(out->length_bytes <= PMI2_MESSAGE_BYTES);
    snprintf(length, sizeof(length), "%-6zu", out->length_bytes - PMI2_LENGTH_BYTES);
    memcpy(out->data, length, PMI2_LENGTH_BYTES);
}
