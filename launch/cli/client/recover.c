/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/recover.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/cli/client/instance_message.h"
#include "launch/cli/client/root_process.h"
#include "launch/daemon/root.h"
#include "launch/proto/control.h"
#include "launch/proto/exit_status.h"

#define SAY_AFTER_MS 15000

static int print_ready(struct wire_reader *reader)
{
    struct control_ready ready;

    if (control_ready_decode(&ready, reader) < 0)
        return -EPROTO;
    printf("%s\n", ready.directory);
    return fflush(stdout) == 0 ? 1 : -EIO;
}

/* 1: it is ready; 0: it goes on; else it has ended. */
static int take_message(int fd)
{
    struct buffer payload = {0};
    struct wire_reader reader;
    uint8_t type = 0;
    int rc = instance_message_read(fd, SAY_AFTER_MS, &type, &payload);

    wire_reader_init(&reader, payload.data, payload.length_bytes);
    if (rc == -ETIMEDOUT) {
        fprintf(stderr, "banyan: the root reads what had happened until its predecessor died\n");
        rc = 0;
    } else if (rc >= 0 && type == CONTROL_READY) {
        rc = print_ready(&reader);
    } else if (rc >= 0) {
        if (type == CONTROL_TEXT)
            root_process_print_text(&reader);
        rc = 0;
    }
    buffer_fini(&payload);
    return rc;
}

int recover_run(const char *directory, struct error *error)
{
    pid_t pid = 0;
    int fd = -1;
    int rc = root_recover_fork(directory, &pid, &fd, error);

    if (rc < 0)
        return rc;
    assert(pid > 0 && fd >= 0);
    rc = instance_message_hello(fd, CONTROL_WANTS_TEXTS);
    while (rc == 0)
        rc = take_message(fd);
    close(fd);
    if (rc > 0)
        return EXIT_SUCCESS;
    waitpid(pid, NULL, 0); /* it has said why */
    return EXIT_STATUS_FAILED;
}
