/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/stop_verb.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch/cli/client/instance_message.h"
#include "launch/cli/verb/instance_verb.h"
#include "launch/proto/control.h"
#include "launch/proto/exit_status.h"

#define SAY_AFTER_MS 15000

static const struct option_rule stop_rules[] = {
    OPTION_ROW_INSTANCE,
    {.kind = OPTION_HEADING, .help = "How"},
    {.kind = OPTION_FLAG,
     .name = "now",
     INSTANCE_FIELD(now),
     .help = "end its jobs by SIGKILL at once (default: by SIGTERM first)"},
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

const struct option_rule *stop_verb_rules(void)
{
    return stop_rules;
}

void stop_verb_help(struct buffer *out)
{
    buffer_append_string(out, "Usage: banyan stop [OPTIONS]\n\n"
                              "Ends an instance that 'banyan start' has started, and its jobs, and "
                              "waits until it\nhas ended.\n");
    options_help(stop_rules, out);
    buffer_append_string(out, "\nMore in banyan-stop(1).\n");
}

static int send_leave(const struct instance_client *client, int now)
{
    struct control_end end = {.status = EXIT_STATUS_TERMINATED, .at_once = now > 0};
    struct buffer payload = {0};
    int rc;

    snprintf(end.reason, sizeof(end.reason), "the instance was stopped");
    control_end_encode(&end, &payload);
    rc = instance_message_send(client->fd, CONTROL_LEAVE, &payload);
    buffer_fini(&payload);
    return rc;
}

/* It has said all when the connection ends. */
static void wait_closed(const struct instance_client *client)
{
    int rc;

    do {
        struct buffer payload = {0};
        uint8_t type;

        rc = instance_message_read(client->fd, SAY_AFTER_MS, &type, &payload);
        buffer_fini(&payload);
        if (rc == -ETIMEDOUT)
            fprintf(stderr,
                    "banyan: waiting for the jobs and daemons of %s to end; 'banyan stop --now' "
                    "does not wait for jobs\n",
                    client->directory);
    } while (rc != -EPIPE && rc != -EBADMSG);
}

static void wait_exited(int root_fd)
{
    struct pollfd exited = {.fd = root_fd, .events = POLLIN};

    while (root_fd >= 0 && poll(&exited, 1, -1) < 0 && errno == EINTR)
        continue;
}

static int stop(struct instance_client *client, const struct instance_settings *settings,
                char *const *words, struct error *error)
{
    int root_fd = client->root > 0 ? (int)syscall(SYS_pidfd_open, client->root, 0) : -1;
    int rc = send_leave(client, settings->now);

    (void)words;
    if (rc == 0) {
        wait_closed(client);
        wait_exited(root_fd);
    } else {
        error_set(error, rc, "the instance at %s has ended already", client->directory);
    }
    if (root_fd >= 0)
        close(root_fd);
    return rc < 0 ? rc : EXIT_SUCCESS;
}

int stop_verb(int argc, char **argv)
{
    static const struct instance_verb verb = {
        .rules = stop_rules, .help = stop_verb_help, .usage = "stop [OPTIONS]", .carry_out = stop};

    return instance_verb_run(&verb, argc, argv);
}
