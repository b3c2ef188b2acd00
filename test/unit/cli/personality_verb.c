/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/personality_verb.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/proto/exit_status.h"
#include "test/support/tap.h"

#define STATUS 42

static int runs;

static int run(int argc, char **argv)
{
    runs++;
    is_int(argc, 4, "banyan run gets the words");
    is_string(argv[0], "run", "the verb");
    is_string(argv[1], "--np", "a translated option");
    is_string(argv[3], "program", "and the program");
    return STATUS;
}

static void test_find(void)
{
    ok(personality_verb_find("/usr/lib/banyan/bin/mpirun") == personality_find("mpirun"),
       "a path is known by its last part");
    ok(personality_verb_find("srun") == personality_find("srun"), "and so is a name");
    ok(personality_verb_find("/mpirun/banyan") == NULL, "a directory does not count");
    ok(personality_verb_find(NULL) == NULL, "nor does none");
}

static void test_run(void)
{
    char name[] = "mpirun", option[] = "-np", one[] = "1", program[] = "program";
    char *argv[] = {name, option, one, program, NULL};
    char *bad[] = {name, option, NULL};

    unsetenv("BANYAN_HELPER");
    is_int(personality_verb(personality_find("mpirun"), 4, argv, run), STATUS,
           "its status is the run's");
    setenv("BANYAN_HELPER", "12.3", 1);
    is_int(personality_verb(personality_find("mpirun"), 4, argv, run), STATUS,
           "also in a process of a job");
    setenv("BANYAN_HELPER", "12.0", 1);
    setenv("PATH", "/nonexistent", 1);
    is_int(personality_verb(personality_find("mpirun"), 4, argv, run), EXIT_STATUS_FAILED,
           "a daemon never means banyan");
    unsetenv("BANYAN_HELPER");
    is_int(personality_verb(personality_find("mpirun"), 2, bad, run), EXIT_STATUS_FAILED,
           "a wrong word starts nothing");
    is_int(runs, 2, "two have run");
}

int main(void)
{
    test_find();
    test_run();
    return done_testing();
}
