/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/process_environment.h"
#include "test/support/tap.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_strings(void)
{
    static const char text[] = "A=1\0BB=two\0A=3\0EMPTY=";
    struct buffer environment = {0};

    ok(process_environment_find(&environment, "A=") == NULL, "an empty one has nothing");
    ok(!process_environment_has(&environment, ""), "not even an empty string");
    buffer_append(&environment, text, sizeof text);
    is_string(process_environment_find(&environment, "A="), "1", "the first of a name counts");
    is_string(process_environment_find(&environment, "BB="), "two", "another one");
    is_string(process_environment_find(&environment, "EMPTY="), "", "one without a value");
    ok(process_environment_find(&environment, "B=") == NULL, "a part of a name is none");
    ok(process_environment_has(&environment, "A=3"), "a later one of the name is there, too");
    ok(!process_environment_has(&environment, "A="), "a setting is a whole string");
    buffer_clear(&environment);
    buffer_append(&environment, "A=cut", 5);
    is_string(process_environment_find(&environment, "A="), "cut", "the last may lack its NUL");
    buffer_fini(&environment);
}

static void test_process(void)
{
    char name[] = "cat";
    char path[] = "PATH=/bin", session[] = "BANYAN_SESSION=0123";
    char *const argv[] = {name, NULL};
    char *const variables[] = {path, session, NULL};
    struct buffer environment = {0};
    int ends[2];
    char byte;
    pid_t pid;

    assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDIN_FILENO);
        (void)dup2(ends[1], STDOUT_FILENO);
        execve("/bin/cat", argv, variables);
        _exit(1);
    }
    close(ends[1]);
    /* What it says comes from the new program: its environment is in place. */
    ok(write(ends[0], "x", 1) == 1 && read(ends[0], &byte, 1) == 1, "a process runs");
    buffer_append_string(&environment, "old");
    process_environment_read(pid, &environment);
    ok(process_environment_has(&environment, "BANYAN_SESSION=0123"), "that of a process is read");
    is_uint(environment.length_bytes, sizeof(path) + sizeof(session), "and nothing else is there");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    process_environment_read(pid, &environment);
    is_uint(environment.length_bytes, 0, "who has ended has none");
    close(ends[0]);
    buffer_fini(&environment);
}

int main(void)
{
    test_strings();
    test_process();
    return done_testing();
}
