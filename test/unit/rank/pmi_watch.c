/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that sleep, compute, are stopped, and have exited, as the watch of the PMIx server sees them.
 */
#include "config.h"

#include "launch/rank/pmi_watch.h"
#include "test/support/tap.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOKS      3
#define BUSY_MS    100
#define PATIENCE_S 60

static volatile int counter;

static void compute(void)
{
    for (;;)
        counter = 0;
}

static void sleep_on(void)
{
    for (;;)
        pause();
}

static void *run_thread(void *context)
{
    compute();
    return NULL;
}

/* Its first thread sleeps. */
static void compute_in_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run_thread, NULL) == 0)
        sleep_on();
}

static pid_t start(void (*what)(void))
{
    int ends[2];
    char byte;
    pid_t pid;

    if (pipe(ends) < 0 || (pid = fork()) < 0)
        bail_out("fork");
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)!write(ends[1], "", 1);
        what();
        _exit(0);
    }
    close(ends[1]);
    (void)!read(ends[0], &byte, 1);
    close(ends[0]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static struct pmi_watch watch_of(pid_t pid)
{
    struct pmi_watch watch = {.limits = {.sleeping_looks = LOOKS, .busy_ms = BUSY_MS}};

    pmi_watch_ask(&watch, pid);
    return watch;
}

/* The first finding, which may take any number of looks. */
static enum pmi_watch_finding finding_of(struct pmi_watch *watch)
{
    enum pmi_watch_finding finding;
    time_t until = time(NULL) + PATIENCE_S;

    do {
        usleep(2000);
        finding = pmi_watch_look(watch);
    } while (finding == PMI_WATCH_GOES_ON && time(NULL) < until);
    return finding;
}

static void test_sleeps(void)
{
    pid_t pid = start(sleep_on);
    struct pmi_watch watch = watch_of(pid);
    int looks = 1;

    while (pmi_watch_look(&watch) == PMI_WATCH_GOES_ON && looks < 100000)
        looks++;
    ok(looks >= LOOKS, "one that sleeps is given %d looks", LOOKS);
    is_int(pmi_watch_look(&watch), PMI_WATCH_SLEEPS, "and is found to sleep");
    pmi_watch_ask(&watch, pid);
    is_int(pmi_watch_look(&watch), PMI_WATCH_GOES_ON, "asked again, it has as many again");
    end(pid);
}

static void test_stopped(void)
{
    pid_t pid = start(sleep_on);
    struct pmi_watch watch;
    int status, found = 0;

    kill(pid, SIGSTOP);
    (void)waitpid(pid, &status, WUNTRACED);
    watch = watch_of(pid);
    for (int i = 0; i < 10 * LOOKS; i++)
        found |= pmi_watch_look(&watch) != PMI_WATCH_GOES_ON;
    is_int(found, 0, "one that is stopped is waited for");
    end(pid);
}

static void test_computes(void (*what)(void), const char *name)
{
    pid_t pid = start(what);
    struct pmi_watch watch = watch_of(pid);

    is_int(finding_of(&watch), PMI_WATCH_SPINS, "%s", name);
    end(pid);
}

static void test_exited(void)
{
    pid_t pid = start(sleep_on);
    struct pmi_watch watch = watch_of(pid);
    int found = 0;

    end(pid);
    for (int i = 0; i < 10 * LOOKS; i++)
        found |= pmi_watch_look(&watch) != PMI_WATCH_GOES_ON;
    is_int(found, 0, "of one that has exited nothing is found");
}

int main(void)
{
    test_sleeps();
    test_stopped();
    test_computes(compute, "one that computes is found to");
    test_computes(compute_in_thread, "also if its first thread sleeps");
    test_exited();
    return done_testing();
}
