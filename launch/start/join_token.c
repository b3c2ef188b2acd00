/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/join_token.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/proto/boot.h"

#define PREFIX       "banyan-join-"
#define BLANKS       " \t\r"
#define GARBLED_TEXT "it is truncated or mistyped; copy its whole line from the file again"

/* ---- Printing ---- */

void join_token_print(const struct join_token *token, struct buffer *out)
{
    struct buffer body = {0};

    assert(token->place > 0);
    /* A growing buffer must not leave copies of the secret. */
    buffer_reserve(&body, JOIN_TOKEN_BYTES_MAX);
    buffer_reserve(out, JOIN_TOKEN_BYTES_MAX);
    join_token_encode(token, &body);
    buffer_printf(out, PREFIX "%d-", BOOT_PROTOCOL_VERSION);
    for (size_t i = 0; i < body.length_bytes; i++)
        buffer_printf(out, "%02x", body.data[i]);
    explicit_bzero(body.data, body.length_bytes);
    buffer_fini(&body);
}

/* ---- Reading ---- */

static int hex_value(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

static int read_hex(const char *text, size_t bytes, unsigned char *ret_data)
{
    if (bytes % 2 != 0)
        return -EBADMSG;
    for (size_t i = 0; i < bytes; i += 2) {
        int high = hex_value(text[i]);
        int low = hex_value(text[i + 1]);

        if (high < 0 || low < 0)
            return -EBADMSG;
        ret_data[i / 2] = (unsigned char)(high << 4 | low);
    }
    return 0;
}

/* After the prefix: "1-" and the hexadecimal digits. */
static int read_version(const char *text, size_t bytes, size_t *ret_bytes, struct error *error)
{
    size_t digits = 0;
    int version = 0;

    while (digits < bytes && digits < 6 && text[digits] >= '0' && text[digits] <= '9')
        version = 10 * version + text[digits++] - '0';
    if (digits == 0 || digits == bytes || text[digits] != '-')
        return error_set(error, -EBADMSG, "the token is garbled: " GARBLED_TEXT);
    if (version != BOOT_PROTOCOL_VERSION)
        return error_set(
            error, -EPROTO,
            "the token has protocol version %d, banyand here %d: install the same version on every node",
            version, BOOT_PROTOCOL_VERSION);
    *ret_bytes = digits + 1;
    return 0;
}

int join_token_parse(const char *text, size_t bytes, struct join_token *ret_token,
                     struct error *error)
{
    struct join_token token = {.place = 0};
    unsigned char data[JOIN_TOKEN_BYTES_MAX / 2] = {0};
    size_t skipped = 0;
    int rc;

    if (bytes <= strlen(PREFIX) || memcmp(text, PREFIX, strlen(PREFIX)) != 0)
        return error_set(error, -EBADMSG, "not a token: a token begins with " PREFIX "%d-",
                         BOOT_PROTOCOL_VERSION);
    text += strlen(PREFIX);
    bytes -= strlen(PREFIX);
    rc = read_version(text, bytes, &skipped, error);
    if (rc < 0)
        return rc;
    text += skipped;
    bytes -= skipped;
    if (bytes > 2 * sizeof(data) || read_hex(text, bytes, data) < 0 ||
        join_token_decode(data, bytes / 2, &token) < 0)
        rc = error_set(error, -EBADMSG, "the token is garbled: " GARBLED_TEXT);
    if (rc == 0)
        *ret_token = token;
    explicit_bzero(&token, sizeof(token));
    explicit_bzero(data, sizeof(data));
    return rc;
}

/* ---- Files ---- */

struct word {
    const char *text;
    size_t bytes;
};

/* The next one of the line; empty at its end. */
static struct word next_word(const char **line, const char *end)
{
    struct word word;

    while (*line < end && strchr(BLANKS, **line) != NULL && **line != '\0')
        (*line)++;
    word.text = *line;
    while (*line < end && (strchr(BLANKS, **line) == NULL || **line == '\0'))
        (*line)++;
    word.bytes = (size_t)(*line - word.text);
    return word;
}

/* The token's word of a line: 1 if it is the node's own, 0 if it might do; -1 if there is none. */
static int read_line(const char *line, const char *end, const char *node_name,
                     struct word *ret_token)
{
    struct word first = next_word(&line, end);
    struct word second = next_word(&line, end);

    if (first.bytes == 0 || first.text[0] == '#')
        return -1;
    *ret_token = second.bytes > 0 ? second : first;
    return second.bytes > 0 && node_name != NULL && first.bytes == strlen(node_name) &&
           memcmp(first.text, node_name, first.bytes) == 0;
}

int join_token_find(const char *text, size_t bytes, const char *node_name,
                    struct join_token *ret_token, struct error *error)
{
    const char *end = text + bytes;
    struct word only = {0};
    size_t count = 0;

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *line_end = newline != NULL ? newline : end;
        struct word token;
        int found = read_line(text, line_end, node_name, &token);

        if (found == 1)
            return join_token_parse(token.text, token.bytes, ret_token, error);
        if (found == 0) {
            only = token;
            count++;
        }
        text = newline != NULL ? newline + 1 : end;
    }
    if (count == 1)
        return join_token_parse(only.text, only.bytes, ret_token, error);
    if (count == 0)
        return error_set(error, -ENOENT, "it contains no token");
    return error_set(
        error, -ENOENT,
        "none of its %zu tokens is for \"%.80s\": use --node NAME, or pass only one line", count,
        node_name != NULL ? node_name : "");
}

/* ---- Identities ---- */

void join_token_identity_print(char text[JOIN_IDENTITY_BYTES], const char *session, uint32_t place)
{
    assert(place > 0);
    snprintf(text, JOIN_IDENTITY_BYTES, "%.*s/join/%u", SESSION_ID_BYTES - 1, session, place);
}

int join_token_identity_parse(const char *text, const char *session, uint32_t *ret_place)
{
    char again[JOIN_IDENTITY_BYTES];
    const char *slash = strrchr(text, '/');
    unsigned long place = slash != NULL ? strtoul(slash + 1, NULL, 10) : 0;

    if (place == 0 || place > UINT32_MAX)
        return -EBADMSG;
    /* One text for one identity. */
    join_token_identity_print(again, session, (uint32_t)place);
    if (strcmp(again, text) != 0)
        return -EBADMSG;
    *ret_place = (uint32_t)place;
    return 0;
}
