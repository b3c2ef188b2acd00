/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/pmi1_client.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An answer is one line, and nothing follows it. */
static int read_line(int fd, char line[PMI1_CLIENT_LINE_BYTES])
{
    size_t bytes = 0;

    while (bytes + 1 < PMI1_CLIENT_LINE_BYTES) {
        ssize_t got = read(fd, line + bytes, PMI1_CLIENT_LINE_BYTES - 1 - bytes);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EPIPE;
        bytes += (size_t)got;
        line[bytes] = '\0';
        if (line[bytes - 1] == '\n') {
            line[bytes - 1] = '\0';
            return 0;
        }
    }
    return -EMSGSIZE;
}

static int write_line(int fd, const char *line, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(fd, line, bytes);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EPIPE;
        line += written;
        bytes -= (size_t)written;
    }
    return 0;
}

/* The value of "key=value" in an answer; NULL if there is none. */
static const char *value_of(char *line, const char *key)
{
    size_t bytes = strlen(key);

    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " ")) {
        if (strncmp(word, key, bytes) == 0 && word[bytes] == '=')
            return word + bytes + 1;
    }
    return NULL;
}

/* Sends a command; line is the answer, which must be of that kind. */
__attribute__((format(printf, 5, 6))) static int call(struct pmi1_client *client, const char *kind,
                                                      char line[PMI1_CLIENT_LINE_BYTES],
                                                      struct error *error, const char *format, ...)
{
    va_list arguments;
    size_t kind_bytes = strlen(kind);
    int bytes, rc;

    va_start(arguments, format);
    bytes = vsnprintf(line, PMI1_CLIENT_LINE_BYTES, format, arguments);
    va_end(arguments);
    assert(bytes > 0 && bytes < PMI1_CLIENT_LINE_BYTES && line[bytes - 1] == '\n');
    rc = write_line(client->fd, line, (size_t)bytes);
    if (rc == 0)
        rc = read_line(client->fd, line);
    if (rc < 0)
        return error_set(error, rc, "PMI-1: %s", strerror(-rc));
    if (strncmp(line, "cmd=", 4) != 0 || strncmp(line + 4, kind, kind_bytes) != 0 ||
        (line[4 + kind_bytes] != ' ' && line[4 + kind_bytes] != '\0'))
        return error_set(error, -EPROTO, "PMI-1: expected cmd=%s, got: %.80s", kind, line);
    if (strstr(line, " rc=") != NULL && strstr(line, " rc=0") == NULL)
        return error_set(error, -EPROTO, "PMI-1: refused: %.80s", line);
    return 0;
}

/* -1 if there is none, or it is too large. */
static long number_of(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    long number;

    if (text == NULL || text[0] == '\0')
        return -1;
    number = strtol(text, &end, 10);
    return *end == '\0' && number >= 0 && number < INT32_MAX ? number : -1;
}

int pmi1_client_init(struct pmi1_client *client, struct error *error)
{
    long fd = number_of("PMI_FD"), rank = number_of("PMI_RANK"), size = number_of("PMI_SIZE");
    char line[PMI1_CLIENT_LINE_BYTES];
    const char *space;
    int rc;

    if (fd < 0 || rank < 0 || size <= rank)
        return error_set(error, -EINVAL, "PMI-1: no launcher has set PMI_FD, PMI_RANK, PMI_SIZE");
    client->fd = (int)fd;
    client->rank = (uint32_t)rank;
    client->size = (uint32_t)size;
    rc = call(client, "response_to_init", line, error, "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (rc == 0)
        rc = call(client, "my_kvsname", line, error, "cmd=get_my_kvsname\n");
    if (rc < 0)
        return rc;
    space = value_of(line, "kvsname");
    if (space == NULL || strlen(space) >= sizeof(client->space))
        return error_set(error, -EPROTO, "PMI-1: no name of the key-value space");
    memcpy(client->space, space, strlen(space) + 1);
    return 0;
}

int pmi1_client_put(struct pmi1_client *client, const char *key, const char *value,
                    struct error *error)
{
    char line[PMI1_CLIENT_LINE_BYTES];

    assert(strlen(value) < PMI1_CLIENT_VALUE_BYTES && strchr(value, ' ') == NULL);
    return call(client, "put_result", line, error, "cmd=put kvsname=%s key=%s value=%s\n",
                client->space, key, value);
}

int pmi1_client_get(struct pmi1_client *client, const char *key,
                    char ret_value[PMI1_CLIENT_VALUE_BYTES], struct error *error)
{
    char line[PMI1_CLIENT_LINE_BYTES];
    const char *value;
    int rc =
        call(client, "get_result", line, error, "cmd=get kvsname=%s key=%s\n", client->space, key);

    if (rc < 0)
        return rc;
    value = value_of(line, "value");
    if (value == NULL || strlen(value) >= PMI1_CLIENT_VALUE_BYTES)
        return error_set(error, -ENOENT, "PMI-1: nobody has put %s", key);
    memcpy(ret_value, value, strlen(value) + 1);
    return 0;
}

int pmi1_client_barrier(struct pmi1_client *client, struct error *error)
{
    char line[PMI1_CLIENT_LINE_BYTES];

    return call(client, "barrier_out", line, error, "cmd=barrier_in\n");
}

int pmi1_client_finalize(struct pmi1_client *client, struct error *error)
{
    char line[PMI1_CLIENT_LINE_BYTES];

    return call(client, "finalize_ack", line, error, "cmd=finalize\n");
}
