/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_limits.h"

#include <string.h>

#include "test/support/tap.h"

#define ITEMS_MAX 4

static struct process_limits limits;

static int parse(const char *const *items, const char *mask, const char *nice_text,
                 struct error *error)
{
    struct request_settings settings = {.umask = mask, .nice = nice_text};
    const char *copy[ITEMS_MAX];

    for (; settings.limits.count < ITEMS_MAX && items[settings.limits.count] != NULL;
         settings.limits.count++)
        copy[settings.limits.count] = items[settings.limits.count];
    settings.limits.items = copy;
    *error = ERROR_NONE;
    return request_limits_make(&settings, &limits, error);
}

static void limit_is(const char *text, enum process_limit_kind kind, enum process_limit_rule rule,
                     uint64_t soft, uint64_t hard)
{
    struct error error;

    if (!is_int(parse((const char *const[]){text, NULL}, NULL, NULL, &error), 0, "%s", text))
        return;
    is_int(limits.items[kind].rule, rule, "its rule");
    is_uint(limits.items[kind].soft, soft, "the soft limit");
    is_uint(limits.items[kind].hard, hard, "the hard limit");
}

static void refuses(const char *limit, const char *mask, const char *nice_text, const char *why)
{
    struct error error;

    limits.umask = 1;
    ok(parse((const char *const[]){limit, NULL}, mask, nice_text, &error) < 0, "%s%s%s is refused",
       limit != NULL ? limit : "", mask != NULL ? mask : "", nice_text != NULL ? nice_text : "");
    has_string(error.text, why, "and says why");
    is_uint(limits.umask, 1, "nothing is changed");
}

static void test_limits(void)
{
    struct error error;

    limit_is("nofile=100", PROCESS_LIMIT_NOFILE, PROCESS_LIMIT_SOFT, 100, 0);
    limit_is("core=0:0", PROCESS_LIMIT_CORE, PROCESS_LIMIT_BOTH, 0, 0);
    limit_is("as=4G:1T", PROCESS_LIMIT_AS, PROCESS_LIMIT_BOTH, 4ull << 30, 1ull << 40);
    limit_is("stack=8m", PROCESS_LIMIT_STACK, PROCESS_LIMIT_SOFT, 8ull << 20, 0);
    limit_is("memlock=unlimited", PROCESS_LIMIT_MEMLOCK, PROCESS_LIMIT_SOFT, PROCESS_LIMIT_NONE, 0);
    limit_is("cpu=60:unlimited", PROCESS_LIMIT_CPU, PROCESS_LIMIT_BOTH, 60, PROCESS_LIMIT_NONE);
    limit_is("nproc=hard", PROCESS_LIMIT_NPROC, PROCESS_LIMIT_RAISE, 0, 0);
    is_int(parse((const char *const[]){"nofile=1", "nofile=2", NULL}, "0027", "-5", &error), 0,
           "limits, a mask and a nice value together");
    is_uint(limits.items[PROCESS_LIMIT_NOFILE].soft, 2, "the last of a name counts");
    ok(limits.umask_is_set && limits.umask == 027, "the mask is octal");
    is_int(limits.nice, -5, "and the nice value negative");
    is_int(parse((const char *const[]){NULL}, NULL, NULL, &error), 0, "none of them");
    ok(!limits.umask_is_set && limits.nice == 0 &&
           limits.items[PROCESS_LIMIT_NOFILE].rule == PROCESS_LIMIT_KEEP,
       "changes nothing");
}

static void test_refused(void)
{
    static const char *const wrong[] = {"nofile=",
                                        "nofile=x",
                                        "nofile=1x",
                                        "nofile=1KK",
                                        "nofile=-1",
                                        "nofile=1:",
                                        "nofile=:1",
                                        "nofile=hard:1",
                                        "nofile=1:hard",
                                        "nofile=K",
                                        "nofile=1:2:3",
                                        "nofile=18446744073709551616",
                                        "nofile=99999999999T"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        refuses(wrong[i], NULL, NULL, "give whole numbers, with K, M, G or T");
    refuses("nofile=2:1", NULL, NULL, "the soft limit is above the hard one");
    refuses("nofile", NULL, NULL, "'nofile' is not NAME=SOFT[:HARD]");
    refuses("nofiles=1", NULL, NULL, "did you mean 'nofile'?");
    refuses("frobnicate=1", NULL, NULL, "there are as, core, cpu");
    refuses(NULL, "8", NULL, "option --umask: '8' is not an octal number");
    refuses(NULL, "1000", NULL, "from 0 to 0777");
    refuses(NULL, "-1", NULL, "option --umask");
    refuses(NULL, NULL, "21", "option --nice: must be a number from -20 to 20");
    refuses(NULL, NULL, "--1", "option --nice");
    refuses(NULL, NULL, "-", "option --nice");
}

int main(void)
{
    test_limits();
    test_refused();
    return done_testing();
}
