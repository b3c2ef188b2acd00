/* SPDX-License-Identifier: BSD-3-Clause */
/* The client against a server that expects certain questions. */
#include "config.h"

#include "launch/exec/pmi1_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/tap.h"

struct exchange {
    const char *question;
    const char *answer; /* NULL: the server ends */
};

#define SPACE                                                         \
    {"cmd=init pmi_version=1 pmi_subversion=1\n",                     \
     "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},   \
    {                                                                 \
        "cmd=get_my_kvsname\n", "cmd=my_kvsname rc=0 kvsname=kvs_1\n" \
    }

/* In a process of its own: 0 if it is asked just this. */
static int serve(int fd, const struct exchange *exchanges, size_t count)
{
    char line[2048];

    for (size_t i = 0; i < count; i++) {
        ssize_t got = read(fd, line, sizeof(line) - 1);

        line[got > 0 ? got : 0] = '\0';
        if (strcmp(line, exchanges[i].question) != 0)
            return 1;
        if (exchanges[i].answer != NULL &&
            write(fd, exchanges[i].answer, strlen(exchanges[i].answer)) < 0)
            return 1;
    }
    return 0;
}

static pid_t start_server(const struct exchange *exchanges, size_t count, int *ret_fd)
{
    char text[16];
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        bail_out("no socket pair: %s", strerror(errno));
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(serve(ends[1], exchanges, count));
    }
    close(ends[1]);
    snprintf(text, sizeof(text), "%d", ends[0]);
    setenv("PMI_FD", text, 1);
    setenv("PMI_RANK", "3", 1);
    setenv("PMI_SIZE", "4", 1);
    *ret_fd = ends[0];
    return pid;
}

static void end_server(pid_t pid, int fd)
{
    int status = -1;

    close(fd);
    waitpid(pid, &status, 0);
    is_int(status, 0, "the server was asked what it expects");
}

static void test_calls(void)
{
    static const struct exchange exchanges[] = {
        SPACE,
        {"cmd=put kvsname=kvs_1 key=k value=v\n", "cmd=put_result rc=0 msg=success\n"},
        {"cmd=barrier_in\n", "cmd=barrier_out rc=0\n"},
        {"cmd=get kvsname=kvs_1 key=k\n", "cmd=get_result rc=0 msg=success value=v,w\n"},
        {"cmd=get kvsname=kvs_1 key=x\n",
         "cmd=get_result rc=-1 msg=key_x_not_found value=unknown\n"},
        {"cmd=finalize\n", "cmd=finalize_ack rc=0\n"}};
    struct pmi1_client client;
    struct error error = ERROR_NONE;
    char value[PMI1_CLIENT_VALUE_BYTES] = "";
    int fd;
    pid_t pid = start_server(exchanges, sizeof(exchanges) / sizeof(exchanges[0]), &fd);

    is_int(pmi1_client_init(&client, &error), 0, "init");
    ok(client.rank == 3 && client.size == 4, "rank and size are those of the environment");
    is_string(client.space, "kvs_1", "the name of the key-value space is asked");
    is_int(pmi1_client_put(&client, "k", "v", &error), 0, "put");
    is_int(pmi1_client_barrier(&client, &error), 0, "barrier");
    is_int(pmi1_client_get(&client, "k", value, &error), 0, "get");
    is_string(value, "v,w", "the value");
    is_int(pmi1_client_get(&client, "x", value, &error), -EPROTO, "what nobody has put");
    has_string(error.text, "key_x_not_found", "the server says why");
    is_int(pmi1_client_finalize(&client, &error), 0, "finalize");
    end_server(pid, fd);
}

static void refuses(const struct exchange *exchanges, size_t count, int code, const char *message)
{
    struct pmi1_client client;
    struct error error = ERROR_NONE;
    int fd;
    pid_t pid = start_server(exchanges, count, &fd);

    is_int(pmi1_client_init(&client, &error), code, "refused: %s", message);
    has_string(error.text, message, "it says why");
    end_server(pid, fd);
}

static void test_failures(void)
{
    static const struct exchange gone[] = {{"cmd=init pmi_version=1 pmi_subversion=1\n", NULL}};
    static const struct exchange other[] = {
        {"cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=hello\n"}};
    static const struct exchange nameless[] = {
        {"cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=response_to_init rc=0\n"},
        {"cmd=get_my_kvsname\n", "cmd=my_kvsname rc=0\n"}};
    struct pmi1_client client;
    struct error error = ERROR_NONE;

    refuses(gone, 1, -EPIPE, "PMI-1: ");
    refuses(other, 1, -EPROTO, "expected cmd=response_to_init, got: cmd=hello");
    refuses(nameless, 2, -EPROTO, "no name of the key-value space");
    unsetenv("PMI_FD");
    is_int(pmi1_client_init(&client, &error), -EINVAL, "without a launcher");
    setenv("PMI_FD", "3", 1);
    setenv("PMI_RANK", "4", 1);
    is_int(pmi1_client_init(&client, &error), -EINVAL, "a rank that is not below the size");
}

int main(void)
{
    test_calls();
    test_failures();
    return done_testing();
}
