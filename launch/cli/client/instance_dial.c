/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/instance_dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/cli/client/instance_message.h"
#include "launch/exec/session.h"
#include "launch/proto/control.h"

/* The directory must be accessible to this user only. */
static int check_directory(const char *directory, struct error *error)
{
    struct stat status;

    if (lstat(directory, &status) < 0)
        return error_set(error, -errno, "no instance at %s: %s", directory, strerror(errno));
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0)
        return error_set(error, -EPERM,
                         "%s is not the session directory of an instance of this user", directory);
    return 0;
}

/* A directory that is needed, to recover the root, is not left over. */
static const char *why_dead(const char *directory)
{
    return session_is_left(directory)
               ? "its root has died; 'banyan clean' removes what it left"
               : "its root has died; its nodes go on, and 'banyan recover' makes another root";
}

static int connect_to(const char *directory, int *ret_fd, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t peer_bytes = sizeof(peer);
    int fd;

    if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory,
                         CONTROL_SOCKET) >= sizeof(address.sun_path))
        return error_set(error, -ENAMETOOLONG, "no instance at %s: the path is too long",
                         directory);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(error, -errno, "cannot make a socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int rc = error_set(error, -errno, "no instance runs at %s: %s", directory,
                           errno == ECONNREFUSED ? why_dead(directory) : strerror(errno));

        close(fd);
        return rc;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) < 0 || peer.uid != geteuid()) {
        close(fd);
        return error_set(error, -EPERM, "the instance at %s is not of this user", directory);
    }
    *ret_fd = fd;
    return 0;
}

static int take_welcome(uint8_t type, const struct buffer *payload, struct allocation *ret_roster,
                        struct error *error)
{
    struct control_welcome welcome;
    struct control_refused refused;
    struct wire_reader reader;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    if (type == CONTROL_REFUSED && control_refused_decode(&refused, &reader) == 0)
        return error_set(error, -EPROTO, "%s", refused.why);
    if (type != CONTROL_WELCOME || control_welcome_decode(&welcome, &reader) < 0)
        return error_set(error, -EPROTO, "it does not speak banyan's control protocol %u",
                         CONTROL_VERSION);
    if (!welcome.has_roster) {
        allocation_fini(&welcome.roster);
        return error_set(error, -EPROTO, "it did not say which nodes it has");
    }
    *ret_roster = welcome.roster;
    return 0;
}

int instance_dial(const char *directory, struct allocation *ret_roster, int *ret_fd,
                  struct error *error)
{
    struct buffer payload = {0};
    uint8_t type = 0;
    int fd = -1;
    int rc = check_directory(directory, error);

    if (rc == 0)
        rc = connect_to(directory, &fd, error);
    if (rc < 0)
        return rc;
    rc = instance_message_hello(fd, CONTROL_WANTS_ROSTER);
    if (rc == 0)
        rc = instance_message_read(fd, INSTANCE_PATIENCE_MS, &type, &payload);
    if (rc < 0)
        error_set(error, rc, "%s", strerror(-rc));
    else
        rc = take_welcome(type, &payload, ret_roster, error);
    buffer_fini(&payload);
    if (rc < 0) {
        error_prefix(error, "no answer from the instance at %.100s", directory);
        close(fd);
        return rc;
    }
    *ret_fd = fd;
    return 0;
}
