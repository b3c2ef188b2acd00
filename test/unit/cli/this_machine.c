/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/this_machine.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_world(void)
{
    struct this_machine machine;
    struct error error = ERROR_NONE;
    struct buffer text = {0};
    unsigned char zeros[sizeof(machine.ops.random)] = {0};
    char name[THIS_MACHINE_NAME_BYTES] = "";

    setenv("BANYAN_DAEMON", "/given/banyand", 1);
    is_int(this_machine_open(&machine, &error), 0, "the machine is opened");
    gethostname(name, sizeof(name) - 1);
    is_string(machine.ops.host_name, name, "its name");
    ok(access(machine.ops.directory, F_OK) == 0, "its directory");
    is_string(machine.ops.banyand, "/given/banyand", "the banyand that the environment names");
    ok(machine.ops.cores(&error) >= 1, "cores");
    ok(memcmp(machine.ops.random, zeros, sizeof(zeros)) != 0, "bytes for a secret");
    is_int(machine.ops.read_file("/no/such/file", &text, &error), -ENOENT, "no file");
    is_string(error.text, "cannot read /no/such/file: No such file or directory",
              "the line names it");
    is_int(machine.ops.read_file("/proc/self/comm", &text, &error), 0, "a file");
    is_string(buffer_string(&text), "this_machine.t\n", "is read");
    this_machine_close(&machine);
    ok(memcmp(machine.ops.random, zeros, sizeof(zeros)) == 0, "closed, it keeps no secret");
    buffer_fini(&text);
}

static void test_programs(void)
{
    char directory[] = "/tmp/this-machine-XXXXXX";
    char *path, *file;
    char *environment[2] = {NULL, NULL};
    struct this_machine machine;
    struct error error = ERROR_NONE;

    if (mkdtemp(directory) == NULL)
        bail_out("cannot make %s", directory);
    file = memory_printf("%s/srun", directory);
    path = memory_printf("PATH=/nowhere::%s", directory);
    environment[0] = path;
    setenv("BANYAN_DAEMON", "relative", 1);
    (void)this_machine_open(&machine, &error);
    ok(machine.ops.banyand[0] == '/', "a relative BANYAN_DAEMON does not count");
    ok(!machine.ops.has_program(environment, "srun"), "a program that is not there");
    mkdir(file, 0755);
    ok(!machine.ops.has_program(environment, "srun"), "nor is a directory of its name one");
    rmdir(file);
    if (symlink("/bin/sh", file) < 0)
        bail_out("cannot make %s", file);
    ok(machine.ops.has_program(environment, "srun"), "a program in PATH");
    environment[0] = NULL;
    ok(!machine.ops.has_program(environment, "srun"), "without a PATH there is none");
    this_machine_close(&machine);
    unlink(file);
    rmdir(directory);
    free(file);
    free(path);
}

static void test_own_path(void)
{
    char *own = this_machine_banyan();

    ok(own[0] == '/' && access(own, X_OK) == 0, "this program has a path");
    is_string(strrchr(own, '/'), "/this_machine.t", "which is its own");
    free(own);
}

int main(void)
{
    test_world();
    test_programs();
    test_own_path();
    return done_testing();
}
