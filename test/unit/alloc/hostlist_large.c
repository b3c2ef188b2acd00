/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostlist of a million nodes in 2,000 groups, with mixed padding, holes and suffixes: it parses,
 * and prints as the same text. Prints the CPU time that takes (bars: 50 and 100 ms).
 */
#include "config.h"

#include "alloc/hostlist.h"
#include "test/support/tap.h"

#include <string.h>
#include <sys/resource.h>

#define GROUPS 2000
#define NODES  1000000u
#define ROUNDS 5

static double cpu_ms(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

/* Group g has 500 nodes: every fifth group in one run, the others with a hole after each 9 nodes, of
 * 1 to 4 numbers; padding to 0, 4, 5 or 6 digits; every seventh with something behind. */
static void make_group(unsigned int group, struct buffer *out)
{
    int width = group % 4 == 0 ? 1 : 3 + (int)(group % 4);
    unsigned int number = group % 3;

    buffer_printf(out, "%srack%u-n[", group > 0 ? "," : "", group);
    for (unsigned int left = 500, runs = 0; left > 0; runs++) {
        unsigned int count = group % 5 == 0 ? 500 : left < 9 ? left : 9;

        buffer_printf(out, "%s%0*u", runs > 0 ? "," : "", width, number);
        if (count > 1)
            buffer_printf(out, "-%0*u", width, number + count - 1);
        number += count + 1 + group % 4;
        left -= count;
    }
    buffer_printf(out, "]%s", group % 7 == 0 ? "-ib0" : "");
}

/* The best of some rounds: others use the machine, too. */
static void measure(const char *text, double *ret_parse_ms, double *ret_print_ms)
{
    *ret_parse_ms = *ret_print_ms = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        struct hostlist *list = hostlist_create();
        struct buffer printed = {0};
        double begin_ms = cpu_ms();
        double parsed_ms, printed_ms;
        int rc = hostlist_parse(list, text, NULL);

        parsed_ms = cpu_ms();
        hostlist_print(list, &printed);
        printed_ms = cpu_ms();
        is_int(rc, 0, "it is parsed");
        is_uint(hostlist_count(list), NODES, "a million nodes");
        ok(strcmp(buffer_string(&printed), text) == 0, "it prints as the same text");
        if (parsed_ms - begin_ms < *ret_parse_ms)
            *ret_parse_ms = parsed_ms - begin_ms;
        if (printed_ms - parsed_ms < *ret_print_ms)
            *ret_print_ms = printed_ms - parsed_ms;
        buffer_fini(&printed);
        hostlist_destroy(list);
    }
}

int main(void)
{
    struct buffer text = {0};
    double parse_ms, print_ms;

    for (unsigned int group = 0; group < GROUPS; group++)
        make_group(group, &text);
    measure(buffer_string(&text), &parse_ms, &print_ms);
    diag("%u nodes, %u groups, %zu bytes of text: parse %.2f ms, print %.2f ms of CPU", NODES,
         GROUPS, text.length_bytes, parse_ms, print_ms);
    buffer_fini(&text);
    return done_testing();
}
