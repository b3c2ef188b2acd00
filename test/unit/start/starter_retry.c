/* SPDX-License-Identifier: BSD-3-Clause */
/* When agents that have failed are called again (launch/start/starter_retry.c). */
#include "config.h"

#include "launch/start/starter_retry.h"

#include <string.h>

#include "base/time.h"
#include "test/support/tap.h"

#define SESSION        "0123456789abcdef"
#define EXITED(status) ((status) << 8)

static void test_delays(void)
{
    uint64_t first_ns = starter_retry_delay_ns(SESSION, 1, 1);
    int differ = 0;

    is_uint(starter_retry_delay_ns(SESSION, 1, 1), first_ns, "equal arguments, equal delays");
    for (uint32_t place = 1; place <= 100; place++) {
        uint64_t limit_ns = 500 * NS_PER_MS;

        for (uint32_t calls = 1; calls <= 12; calls++) {
            uint64_t delay_ns = starter_retry_delay_ns(SESSION, place, calls);

            if (delay_ns < limit_ns / 2 || delay_ns > limit_ns)
                fail("place %u, call %u: %llu ns", place, calls, (unsigned long long)delay_ns);
            if (calls < 5)
                limit_ns *= 2;
        }
        differ += starter_retry_delay_ns(SESSION, place, 1) != first_ns;
    }
    ok(differ > 90, "places do not return together");
    ok(starter_retry_delay_ns("fedcba9876543210", 1, 1) != first_ns, "nor do sessions");
}

static int is_useless(const char *said, int wait_status)
{
    struct buffer words = {0};
    int result;

    buffer_append_string(&words, said);
    result = starter_retry_is_useless(&words, wait_status);
    buffer_fini(&words);
    return result;
}

static void test_useless(void)
{
    ok(!is_useless("ssh: connect to host n1 port 22: Connection refused", EXITED(255)), "refused");
    ok(!is_useless("", EXITED(1)), "no reason");
    ok(!is_useless("", 9), "killed");
    ok(is_useless("", EXITED(127)), "no such program");
    ok(is_useless("", EXITED(126)), "a program that is none");
    ok(is_useless("u@n1: Permission denied (publickey,password).", EXITED(255)), "not allowed");
    ok(is_useless("Host key verification failed.", EXITED(255)), "a host that is not known");
}

static void test_kept(void)
{
    struct instance_spec spec, *kept;

    instance_spec_init(&spec);
    memset(spec.secret, 7, sizeof(spec.secret));
    spec.agent = memory_copy_string("ssh");
    spec.boot_word = "word";
    kept = starter_retry_keep(&spec);
    is_string(kept->agent, "ssh", "what is kept for further calls");
    is_string(kept->boot_word, "word", "with its word");
    is_uint(kept->secret[3], 0, "but not the secret");
    starter_retry_forget(&kept);
    ok(kept == NULL, "until there are none");
    starter_retry_forget(&kept);
    instance_spec_fini(&spec);
}

int main(void)
{
    test_delays();
    test_useless();
    test_kept();
    return done_testing();
}
