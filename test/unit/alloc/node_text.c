/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/node_text.h"

#include <errno.h>
#include <stdlib.h>

#include "test/support/tap.h"

static struct error error;

static void is_of(const char *text, const char *name, const char *expected)
{
    char *value = node_text_of(text, name);

    is_string(value, expected, "%s: %s", text != NULL ? text : "none", name);
    free(value);
}

static void refuses(const char *text, const char *why)
{
    is_int(node_text_check(text, &error), -EINVAL, "'%s' is refused", text);
    has_string(error.text, why, "because: %s", why);
}

int main(void)
{
    static const char text[] = "/local;q[512-519]=/nvme;west/=/scratch;west/q[1-4]=/a=b";

    is_int(node_text_check(text, &error), 0, "a text");
    is_of(text, "q1", "/local");
    is_of(text, "q513", "/nvme");
    is_of(text, "q520", "/local");
    is_of(text, "west/q9", "/scratch");
    is_of(text, "west/q4", "/a=b");
    is_of(text, "wes/q4", "/local");
    is_of(text, "east/q4", "/local");
    is_of(text, "", "/local");
    is_of("n1=/a", "n2", NULL);
    is_of("n1=/a", "", NULL);
    is_of("n1=/a;/b", "n1", "/b");
    is_of(NULL, "n1", NULL);
    is_of("", "n1", "");
    refuses("tmp", "'tmp' is not an absolute path");
    refuses("/a;n1=b", "'b' is not an absolute path");
    refuses("/a;", "'' is not an absolute path");
    refuses("n[1-=/a", "unmatched '['");
    refuses("=/a", "no node is named before '=/a'");
    return done_testing();
}
