/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/root_process.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/daemon/root.h"
#include "launch/proto/control.h"

static int make_virtual_base(const char *path, struct error *error)
{
    if (path == NULL || mkdir(path, 0700) == 0)
        return 0;
    return error_set(error, -errno,
                     "cannot create %s: %s: set TMPDIR or --tmpdir to a writable directory", path,
                     strerror(errno));
}

int root_process_fork(struct root_process *root, struct run_request *request,
                      enum instance_policy policy, int *ret_channel_fd, struct error *error)
{
    int rc = make_virtual_base(request->instance.virtual_base, error);

    assert(root->pid == 0);
    if (rc < 0)
        return rc;
    return root_fork(&request->instance, &request->allocation, policy, &root->pid, ret_channel_fd,
                     error);
}

static void on_exited(void *context, int fd, unsigned int ready)
{
    struct root_process *root = context;

    (void)ready;
    assert(fd == root->fd);
    if (waitpid(root->pid, &root->wait_status, WNOHANG) != root->pid)
        return;
    root_process_unwatch(root);
    root->has_ended = 1;
    root->ended(root->context);
}

void root_process_watch(struct root_process *root, struct loop *loop, void (*ended)(void *context),
                        void *context)
{
    assert(root->pid > 0 && root->watch == NULL);
    root->ended = ended;
    root->context = context;
    root->fd = pidfd_open(root->pid, 0);
    assert(root->fd >= 0); /* our own child, not waited for */
    root->watch = loop_watch_create(loop, root->fd, LOOP_READ, on_exited, root);
}

void root_process_give_up(struct root_process *root, int channel_fd)
{
    assert(root->pid > 0 && root->watch == NULL);
    close(channel_fd);
    waitpid(root->pid, &root->wait_status, 0);
    root->has_ended = 1;
}

void root_process_unwatch(struct root_process *root)
{
    if (root->watch == NULL)
        return;
    loop_watch_destroy(root->watch);
    root->watch = NULL;
    close(root->fd);
}

void root_process_signal(const struct root_process *root, int number)
{
    assert(number > 0 && number < NSIG);
    if (root->pid > 0 && !root->has_ended)
        kill(root->pid, number);
}

/* ---- Its messages ---- */

int root_process_each_line(struct wire_reader *reader, void (*say)(void *context, const char *line),
                           void *context)
{
    struct control_text message;
    char *text, *rest, *line;
    int rc = control_text_decode(&message, reader);

    if (rc < 0)
        return rc;
    text = strndup((const char *)message.text.data, message.text.length_bytes);
    rest = text;
    while ((line = strsep(&rest, "\n")) != NULL)
        if (line[0] != '\0' || rest != NULL)
            say(context, line);
    free(text);
    return 0;
}

static void print_line(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "banyan: %s\n", line);
}

void root_process_print_text(struct wire_reader *reader)
{
    (void)control_get_job(reader);
    (void)root_process_each_line(reader, print_line, NULL);
}
