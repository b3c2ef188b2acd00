/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of an operation's phases: the ways that an operation goes, what no event may do, and that a
 * pair which cannot be ends the program.
 */
#include "config.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "overlay/operation_phase.h"
#include "test/support/tap.h"

static const enum operation_event LITTLE[] = {OPERATION_EVENT_RESTART, OPERATION_EVENT_DECISION,
                                              OPERATION_EVENT_RESTART};
static const enum operation_event MUCH[] = {
    OPERATION_EVENT_GO, OPERATION_EVENT_DECISION, OPERATION_EVENT_DONE, OPERATION_EVENT_RESTART,
    OPERATION_EVENT_GO, OPERATION_EVENT_DONE,     OPERATION_EVENT_OVER, OPERATION_EVENT_RESTART};
static const enum operation_event RELAY[] = {OPERATION_EVENT_GO, OPERATION_EVENT_DONE,
                                             OPERATION_EVENT_RESTART, OPERATION_EVENT_GO,
                                             OPERATION_EVENT_OVER};

static enum operation_phase go_along(const enum operation_event *events, size_t count)
{
    enum operation_phase phase = OPERATION_OPEN;

    for (size_t i = 0; i < count; i++)
        phase = operation_phase_next(phase, events[i]);
    return phase;
}

#define GO_ALONG(events) go_along(events, sizeof(events) / sizeof((events)[0]))

static void test_ways(void)
{
    is_int(GO_ALONG(LITTLE), OPERATION_DECIDED, "an operation of little is decided and stays so");
    is_int(GO_ALONG(MUCH), OPERATION_OVER, "one of much is spread again after a death, and over");
    is_int(GO_ALONG(RELAY), OPERATION_PASSED, "a relay passes it on, again after a death");
}

/* Whatever happens: what is decided stays so, what is over stays over, only GO makes it go. */
static void test_promises(void)
{
    int broken = 0;
    int pairs = 0;

    for (int i = OPERATION_NONE + 1; i < OPERATION_PHASE_COUNT; i++) {
        for (int event = 0; event < OPERATION_EVENT_COUNT; event++) {
            enum operation_phase phase = (enum operation_phase)i;
            enum operation_phase next;

            if (!operation_phase_allows(phase, (enum operation_event)event))
                continue;
            next = operation_phase_next(phase, (enum operation_event)event);
            pairs++;
            broken += operation_phase_is_decided(phase) && !operation_phase_is_decided(next);
            broken += operation_phase_is_over(phase) && next != phase;
            broken += operation_phase_is_over(next) && operation_phase_is_going(next);
            broken += operation_phase_is_stored(next) && !operation_phase_is_decided(next);
            broken += operation_phase_is_going(next) && !operation_phase_is_going(phase) &&
                      event != OPERATION_EVENT_GO;
            broken += event == OPERATION_EVENT_RESTART &&
                      (operation_phase_is_going(next) ||
                       operation_phase_is_decided(next) != operation_phase_is_decided(phase) ||
                       operation_phase_is_stored(next) != operation_phase_is_stored(phase));
        }
    }
    is_int(broken, 0, "no event takes back what the phases promise");
    is_int(pairs, 21, "of 45 pairs these can be");
}

/* A second decision. */
static void test_impossible(void)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        struct rlimit no_core = {0, 0};

        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)close(STDERR_FILENO);
        (void)operation_phase_next(OPERATION_DECIDED, OPERATION_EVENT_DECISION);
        _exit(0);
    }
    (void)waitpid(pid, &status, 0);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "a second decision is a bug of ours");
}

int main(void)
{
    test_ways();
    test_promises();
    test_impossible();
    return done_testing();
}
