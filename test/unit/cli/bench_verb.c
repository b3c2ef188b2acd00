/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of `banyan bench`, and the instance that it starts (launch/cli/verb/bench_verb.c, bench_instance.c): this
 * program itself plays `banyan start`.
 */
#include "config.h"

#include "launch/cli/verb/bench_verb.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/cli/verb/bench_instance.h"
#include "test/support/tap.h"

static void test_rules(void)
{
    const struct option_rule *rules = bench_verb_rules();
    int doubled = 0, lasting = 0;

    for (const struct option_rule *a = rules; a->kind != OPTION_END; a++) {
        for (const struct option_rule *b = a + 1; b->kind != OPTION_END; b++)
            doubled +=
                a->kind != OPTION_HEADING && b->kind != OPTION_HEADING &&
                (strcmp(a->name, b->name) == 0 || (a->letter != 0 && a->letter == b->letter));
        lasting += a->kind != OPTION_HEADING && strcmp(a->name, "daemonize") == 0;
    }
    is_int(doubled, 0, "no option is there twice");
    is_int(lasting, 0, "the instance does not outlive the measurement");
    is_int(options_words(rules, "--radix"), 2, "options of an instance");
    is_int(options_words(rules, "--operation"), 2, "and its own");
}

static void test_help(void)
{
    struct buffer out = {0};

    bench_verb_help(&out);
    ok(strstr(buffer_string(&out), "--virtual-nodes") != NULL, "help");
    buffer_fini(&out);
}

static void test_instance(void)
{
    static const char *const works[] = {"--radix", "2", NULL}, *const fails[] = {"--fails", NULL};
    struct bench_instance instance = {.pid = 0};
    struct error error = ERROR_NONE;
    pid_t pid;

    is_int(bench_instance_start(&instance, fails, &error), 1, "it says itself why it fails");
    is_int(instance.pid, 0, "there is none then");
    is_int(bench_instance_start(&instance, works, &error), 0, "it starts");
    is_string(instance.directory, "/tmp/instance start --radix 2", "with its options");
    pid = instance.pid;
    bench_instance_stop(&instance);
    ok(kill(pid, 0) < 0 && errno == ESRCH, "it has ended");
    bench_instance_stop(&instance);
    ok(instance.directory == NULL, "once");
}

int main(int argc, char **argv)
{
    if (argc > 3) {
        if (strcmp(argv[argc - 1], "--fails") == 0)
            return 125;
        printf("/tmp/instance %s %s %s\nmore\n", argv[1], argv[2], argv[3]);
        fflush(stdout);
        pause();
    }
    if (argc > 2)
        return 125;
    test_rules();
    test_help();
    test_instance();
    return done_testing();
}
