/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/root.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/secret.h"
#include "launch/daemon/daemon.h"
#include "launch/daemon/daemon_internal.h"
#include "launch/daemon/root_clients.h"
#include "launch/exec/process_title.h"

/* Only the front end uses the terminal; agents must not ask for passwords there. */
static void leave_terminal(void)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)setsid();
    if (null_fd >= 0)
        (void)dup2(null_fd, STDIN_FILENO);
}

static void root_record(const struct instance_spec *spec, const struct allocation *allocation,
                        struct boot_record *ret_record)
{
    assert(spec->places == allocation_nodes(allocation) + 1);
    boot_record_init(ret_record);
    instance_spec_copy(&ret_record->instance, spec);
    ret_record->incarnation = 1;
    ret_record->range = (struct range){.first = 0, .last = spec->places - 1};
    boot_record_set_nodes(ret_record, allocation);
}

/* Neither the helper nor any process that it forks has the secret in its memory. */
static struct helper *fork_helper(struct instance_spec *spec, struct error *error)
{
    unsigned char *secret = secret_create(SECRET_BYTES);
    struct helper *helper;

    secret_keep_from_children(secret, SECRET_BYTES);
    memcpy(secret, spec->secret, SECRET_BYTES);
    explicit_bzero(spec->secret, SECRET_BYTES);
    secret_clear_stack();
    helper = helper_fork(error);
    memcpy(spec->secret, secret, SECRET_BYTES);
    secret_destroy(secret, SECRET_BYTES);
    return helper;
}

int root_live(struct root_config *config, int channel_fd)
{
    struct daemon daemon = {.root = root_create(channel_fd), .record = config->record};
    struct error error = ERROR_NONE;

    explicit_bzero(config->record.instance.secret, SECRET_BYTES);
    leave_terminal();
    helper_set_daemon(daemon_main);
    daemon.helper = fork_helper(&daemon.record.instance, &error);
    if (!daemon.helper) {
        fprintf(stderr, "banyan: %s\n", error.text);
        return EXIT_FAILURE;
    }
    process_title_set("banyan-root", NULL);
    daemon.roster = config->roster;
    daemon.policy = config->policy;
    daemon.replay = config->replay;
    if (daemon_run(&daemon, &error) < 0) {
        fprintf(stderr, "banyan: %s\n", error.text);
        return EXIT_FAILURE;
    }
    return daemon.exit_status;
}

int root_fork_with(int (*life)(void *context, int channel_fd), void *context, pid_t *ret_pid,
                   int *ret_channel_fd, struct error *error)
{
    int ends[2];
    pid_t pid;

    assert(ret_pid != NULL && ret_channel_fd != NULL);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(error, -errno, "cannot create the control socket: %s", strerror(errno));
    pid = fork();
    if (pid < 0) {
        int rc = error_set(error, -errno, "cannot start the root: %s", strerror(errno));

        close(ends[0]);
        close(ends[1]);
        return rc;
    }
    if (pid == 0) {
        close(ends[0]);
        _exit(life(context, ends[1]));
    }
    close(ends[1]);
    *ret_pid = pid;
    *ret_channel_fd = ends[0];
    return 0;
}

struct root_birth {
    struct instance_spec *spec;
    const struct allocation *allocation;
    enum instance_policy policy;
};

static int root_main(void *context, int channel_fd)
{
    struct root_birth *birth = context;
    struct root_config config = {.roster = birth->allocation, .policy = birth->policy};

    root_record(birth->spec, birth->allocation, &config.record);
    explicit_bzero(birth->spec->secret, SECRET_BYTES);
    secret_clear_stack();
    return root_live(&config, channel_fd);
}

int root_fork(struct instance_spec *spec, const struct allocation *allocation,
              enum instance_policy policy, pid_t *ret_pid, int *ret_channel_fd, struct error *error)
{
    struct root_birth birth = {.spec = spec, .allocation = allocation, .policy = policy};
    int rc = root_fork_with(root_main, &birth, ret_pid, ret_channel_fd, error);

    if (rc < 0)
        return rc;
    explicit_bzero(spec->secret, SECRET_BYTES);
    secret_clear_stack();
    return 0;
}
