/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of nodes with the name of the first of them. */
#include "config.h"

#include "launch/proto/report_line.h"

#include "test/support/tap.h"

static void printed_is(const char *line, uint64_t nodes, const char *expected)
{
    struct buffer out = {0};

    report_line_print(line, "n7", nodes, &out);
    is_string(buffer_string(&out), expected, "%s of %u", line, (unsigned int)nodes);
    buffer_fini(&out);
}

int main(void)
{
    printed_is("connect to host <node> port 22: refused", 1, "connect to host n7 port 22: refused");
    printed_is("connect to host <node>: refused", 3,
               "connect to host n7: refused (reported by n7)");
    printed_is("it printed nothing", 3, "it printed nothing");
    return done_testing();
}
