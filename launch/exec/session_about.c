/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/session_about.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric/file_read.h"
#include "launch/proto/control.h"

#define FILE_BYTES_MAX 4096

#define TEXT_OF_NUMBER(number) #number
#define TEXT_OF(number)        TEXT_OF_NUMBER(number)

const char *session_about_version(void)
{
    return PACKAGE_VERSION " (control " TEXT_OF(CONTROL_VERSION) ")";
}

void session_about_set(char value[SESSION_ABOUT_BYTES], const char *text)
{
    snprintf(value, SESSION_ABOUT_BYTES, "%s", text != NULL ? text : "");
    for (; *value != '\0'; value++)
        if ((unsigned char)*value < ' ' || *value == 0x7f)
            *value = ' ';
}

void session_about_print(const struct session_about *about, struct buffer *out)
{
    assert(about->version[0] != '\0' && strchr(about->version, '\n') == NULL);
    assert(strchr(about->job, '\n') == NULL && strchr(about->name, '\n') == NULL);
    buffer_printf(out, "version %s\n", about->version);
    if (about->job[0] != '\0')
        buffer_printf(out, "job %s\n", about->job);
    if (about->name[0] != '\0')
        buffer_printf(out, "name %s\n", about->name);
}

/* The value of a line "KEY VALUE"; "" if it is another. */
static void take_line(const char *line, size_t bytes, const char *key, char *value)
{
    size_t key_bytes = strlen(key);

    if (bytes > key_bytes + 1 && memcmp(line, key, key_bytes) == 0 && line[key_bytes] == ' ' &&
        bytes - key_bytes <= SESSION_ABOUT_BYTES)
        snprintf(value, SESSION_ABOUT_BYTES, "%.*s", (int)(bytes - key_bytes - 1),
                 line + key_bytes + 1);
}

int session_about_parse(const char *text, struct session_about *ret_about)
{
    struct session_about about = {.version = ""};

    while (*text != '\0') {
        size_t bytes = strcspn(text, "\n");

        take_line(text, bytes, "version", about.version);
        take_line(text, bytes, "job", about.job);
        take_line(text, bytes, "name", about.name);
        text += bytes + (text[bytes] == '\n');
    }
    if (about.version[0] == '\0')
        return -EBADMSG;
    *ret_about = about;
    return 0;
}

static int path_of(const char *directory, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/" SESSION_ABOUT_FILE, directory);

    return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int session_about_write(const char *directory, const struct session_about *about,
                        struct error *error)
{
    struct buffer text = {0};
    char path[PATH_MAX];
    int rc = path_of(directory, path);
    int fd = rc < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    ssize_t written = -1;

    if (rc == 0 && fd < 0)
        rc = -errno;
    session_about_print(about, &text);
    if (rc == 0)
        written = write(fd, text.data, text.length_bytes);
    if (rc == 0 && written != (ssize_t)text.length_bytes)
        rc = written < 0 ? -errno : -ENOSPC;
    if (fd >= 0 && close(fd) < 0 && rc == 0)
        rc = -errno;
    buffer_fini(&text);
    if (rc < 0)
        return error_set(error, rc, "cannot write %s/" SESSION_ABOUT_FILE ": %s", directory,
                         strerror(-rc));
    return 0;
}

int session_about_read(const char *directory, struct session_about *ret_about)
{
    struct buffer text = {0};
    char path[PATH_MAX];
    int rc = path_of(directory, path);

    if (rc == 0)
        rc = file_read(path, FILE_BYTES_MAX, &text);
    if (rc == 0)
        rc = session_about_parse(buffer_string(&text), ret_about);
    buffer_fini(&text);
    return rc;
}
