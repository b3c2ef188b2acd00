/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/process_limits.h"

#include <string.h>

#include "test/support/tap.h"
#include "test/support/truncated.h"

static void test_names(void)
{
    for (unsigned int i = 0; i < PROCESS_LIMIT_KIND_COUNT; i++) {
        const char *name = process_limits_name((enum process_limit_kind)i);

        is_uint(process_limits_find(name, strlen(name)), i, "%s is found by its name", name);
    }
    is_uint(process_limits_find("nofiles", 7), PROCESS_LIMIT_KIND_COUNT, "a longer name is not");
    is_uint(process_limits_find("nofile", 3), PROCESS_LIMIT_KIND_COUNT, "nor a part of one");
    is_uint(process_limits_find("", 0), PROCESS_LIMIT_KIND_COUNT, "nor none");
}

static int decode_limits(struct wire_reader *reader)
{
    struct process_limits limits;

    process_limits_decode(reader, &limits);
    return wire_status(reader);
}

static void test_round_trip(void)
{
    struct process_limits limits = {.umask = 0, .umask_is_set = 1, .nice = -PROCESS_NICE_MAX};
    struct process_limits copy;
    struct wire_reader reader;
    struct buffer out = {0};

    limits.items[PROCESS_LIMIT_CORE] =
        (struct process_limit){.rule = PROCESS_LIMIT_BOTH, .soft = 5, .hard = PROCESS_LIMIT_NONE};
    limits.items[PROCESS_LIMIT_AS] =
        (struct process_limit){.rule = PROCESS_LIMIT_SOFT, .soft = 1ull << 40};
    limits.items[PROCESS_LIMIT_STACK] = (struct process_limit){.rule = PROCESS_LIMIT_RAISE};
    process_limits_encode(&limits, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    process_limits_decode(&reader, &copy);
    is_int(wire_finish(&reader), 0, "limits can be read again");
    is_uint(copy.umask_is_set, 1, "a mask of 0 is a mask");
    is_uint(copy.umask, 0, "of 0");
    is_int(copy.nice, -PROCESS_NICE_MAX, "the lowest nice value");
    for (unsigned int i = 0; i < PROCESS_LIMIT_KIND_COUNT; i++)
        ok(copy.items[i].rule == limits.items[i].rule &&
               copy.items[i].soft == limits.items[i].soft &&
               copy.items[i].hard == limits.items[i].hard,
           "%s is as it was", process_limits_name((enum process_limit_kind)i));
    truncated_is_refused(&out, decode_limits, "limits");
    buffer_clear(&out);
    process_limits_encode(&(struct process_limits){.umask = 0}, &out);
    is_uint(out.length_bytes, 3, "none take three bytes");
    wire_reader_init(&reader, out.data, out.length_bytes);
    process_limits_decode(&reader, &copy);
    ok(wire_finish(&reader) == 0 && copy.umask_is_set == 0 && copy.nice == 0, "and change nothing");
    buffer_fini(&out);
}

static void refused(const unsigned char *bytes, size_t count, const char *what)
{
    struct process_limits limits;
    struct wire_reader reader;

    wire_reader_init(&reader, bytes, count);
    process_limits_decode(&reader, &limits);
    ok(wire_status(&reader) < 0 && limits.nice == 0 && !limits.umask_is_set, "%s is refused", what);
}

#define REFUSED(what, ...) \
    refused((const unsigned char[]){__VA_ARGS__}, sizeof((unsigned char[]){__VA_ARGS__}), what)

static void test_refused(void)
{
    const unsigned char neutral = PROCESS_NICE_MAX;

    REFUSED("a mask of more than 0777", 0x81, 0x04, neutral, 0);
    REFUSED("a nice value above 20", 0, 2 * PROCESS_NICE_MAX + 1, 0);
    REFUSED("an unknown limit", 0, neutral, 1, PROCESS_LIMIT_KIND_COUNT, PROCESS_LIMIT_SOFT, 1, 0);
    REFUSED("an unknown rule", 0, neutral, 1, 0, PROCESS_LIMIT_RULE_COUNT, 0, 0);
    REFUSED("a limit that is kept", 0, neutral, 1, 0, PROCESS_LIMIT_KEEP, 0, 0);
    REFUSED("a hard limit below the soft one", 0, neutral, 1, 0, PROCESS_LIMIT_BOTH, 2, 1);
    REFUSED("a hard limit where only the soft one is set", 0, neutral, 1, 0, PROCESS_LIMIT_SOFT, 1,
            1);
    REFUSED("a number where none is meant", 0, neutral, 1, 0, PROCESS_LIMIT_RAISE, 1, 0);
}

int main(void)
{
    test_names();
    test_round_trip();
    test_refused();
    return done_testing();
}
