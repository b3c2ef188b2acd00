/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stacks of processes by programs of the test that are called gdb or eu-stack (launch/exec/stack_read.c): what they print, how
 * they fail, and what they leave.  That the real ones can be
 * read is for test/system/run_stack.sh, as is the daemon's side, launch/daemon/daemon_stacks.c.
 */
#include "config.h"

#include "launch/exec/stack_read.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wire.h"
#include "launch/exec/process_stat.h"
#include "launch/proto/stack_fold.h"
#include "test/support/tap.h"

static char directory[] = "/tmp/stack_read.XXXXXX";
static pid_t target;

static void tool(const char *name, const char *script)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    (void)unlink(path);
    if (script == NULL)
        return;
    file = fopen(path, "w");
    if (file == NULL)
        bail_out("no file");
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    (void)chmod(path, 0755);
}

/* Of so many ranks, all of the same process; "INDEX failure TEXT;" in the order of indices. */
static const char *stacks(uint32_t count, uint32_t limit_ms)
{
    static char text[4096];
    char words[16][32], found[16][600];
    char *argv[17] = {NULL};
    struct buffer out = {0};
    struct wire_reader reader;

    for (uint32_t i = 0; i < count; i++) {
        snprintf(words[i], sizeof(words[i]), "%u:%d", i, (int)target);
        argv[i] = words[i];
        found[i][0] = '\0';
    }
    stack_read(argv, limit_ms, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    while (wire_left(&reader) > 0) {
        char stack[STACK_FOLD_TEXT_BYTES];
        bool is_failure;
        uint32_t index;

        if (stack_fold_get_local(&reader, &index, &is_failure, stack) < 0 || index >= count)
            break;
        snprintf(found[index], sizeof(found[index]), "%u%s %.500s; ", index, is_failure ? "!" : "",
                 stack);
    }
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++)
        strcat(text, found[i]);
    buffer_fini(&out);
    return text;
}

static void test_answers(void)
{
    is_string(stacks(2, 60000),
              "0! neither gdb nor eu-stack is in PATH there; install gdb or elfutils; "
              "1! neither gdb nor eu-stack is in PATH there; install gdb or elfutils; ",
              "neither is there");
    tool("eu-stack", "echo '#0 0x1 wait_here'; echo '#1 0x2 main'");
    is_string(stacks(1, 60000), "0 main > wait_here; ", "eu-stack is");
    tool("gdb", "echo '#0  0x1 in poll ()'; echo '#1  0x2 in main ()'");
    is_string(stacks(6, 60000),
              "0 main > poll; 1 main > poll; 2 main > poll; 3 main > poll; 4 main > poll; "
              "5 main > poll; ",
              "gdb is, too; more ranks than are looked at at a time");
    tool("gdb", "echo 'ptrace: Operation not permitted.' >&2; exit 1");
    ok(strncmp(stacks(1, 60000), "0! ptrace is not permitted: ", 28) == 0, "it is refused");
    tool("gdb", "echo 'cannot read symbols' >&2; exit 1");
    is_string(stacks(1, 60000), "0! gdb has printed no stack: cannot read symbols; ",
              "it complains of something else");
    tool("gdb", "exit 0");
    is_string(stacks(1, 60000), "0! gdb has printed nothing; ", "it is silent");
    tool("gdb", "echo '#0 0x1 in main ()'; exec >/dev/null 2>&1; /bin/sleep 0.1");
    is_string(stacks(1, 60000), "0 main; ", "it ends some time after its output");
}

/* As a tracer that is killed before it has detached may. */
static void test_late(void)
{
    char script[128];

    snprintf(script, sizeof(script), "kill -STOP %d; exec /bin/sleep 1000", (int)target);
    tool("gdb", script);
    is_string(stacks(1, 1000), "0! gdb took too long and was killed; ", "it takes too long");
    while (process_stat_state(target) == 'T')
        usleep(10000);
    ok(1, "whom it has stopped goes on");
    tool("gdb", "exec /bin/sleep 1000");
    is_string(stacks(5, 200),
              "0! gdb took too long and was killed; 1! gdb took too long and was killed; "
              "2! gdb took too long and was killed; 3! gdb took too long and was killed; "
              "4! there was no time left for it; ",
              "for others there is no time");
    ok(waitpid(-1, NULL, WNOHANG) == 0, "none of them is left but the target");
    tool("gdb", "while :; do echo 0123456789012345678901234567890123456789; done");
    is_string(stacks(1, 60000), "0! gdb took too long and was killed; ",
              "one that prints without end is killed");
}

/* What a shell waits for is its child. */
static void test_shell(void)
{
    char line[64] = "";
    pid_t shell;
    int ends[2];
    int child = 0;

    if (pipe(ends) < 0)
        bail_out("no pipe");
    shell = fork();
    if (shell == 0) {
        dup2(ends[1], 1);
        execl("/bin/sh", "sh", "-c", "/bin/sleep 1000 & echo $!; wait; exit 3", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    if (read(ends[0], line, sizeof(line) - 1) > 0)
        child = atoi(line);
    close(ends[0]);
    tool("gdb", "while [ \"$1\" != -p ]; do shift; done; echo \"#0 0x1 in of_$2 ()\"");
    snprintf(line, sizeof(line), "0 of_%d; ", access("/proc/self/task", F_OK) == 0 ? child : 0);
    {
        pid_t other = target;

        target = shell;
        is_string(stacks(1, 60000), line,
                  "of a shell that waits for one program, that is looked at");
        target = other;
    }
    (void)kill(child, SIGKILL);
    (void)waitpid(shell, NULL, 0);
}

static void test_gone(void)
{
    (void)kill(target, SIGKILL);
    (void)waitpid(target, NULL, 0);
    tool("gdb", "echo 'ptrace: No such process.'");
    is_string(stacks(1, 60000), "0! it has ended meanwhile; ", "a process that has ended");
    tool("gdb", NULL);
    tool("eu-stack", NULL);
    ok(rmdir(directory) == 0, "the end");
}

int main(void)
{
    char path[128];

    if (mkdtemp(directory) == NULL)
        bail_out("no directory");
    target = fork();
    if (target == 0) {
        for (;;)
            pause();
    }
    snprintf(path, sizeof(path), "%s:", directory);
    setenv("PATH", path, 1);
    test_answers();
    test_late();
    test_shell();
    test_gone();
    return done_testing();
}
