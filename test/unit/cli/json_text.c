/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts in JSON: UTF-8 as it is, anything else readable. */
#include "config.h"

#include "launch/cli/option/json_text.h"

#include "test/support/tap.h"

static void test_text(const char *text, const char *expected, const char *what)
{
    json_t *value = json_text(text);

    is_string(json_string_value(value), expected, "%s", what);
    json_decref(value);
}

int main(void)
{
    test_text("", "", "an empty text");
    test_text("node 7: \"no\"\n", "node 7: \"no\"\n", "quotes and lines");
    test_text("caf\xc3\xa9", "caf\xc3\xa9", "UTF-8 stays");
    test_text("caf\xe9 \xc3(", "caf? ?(", "what is not UTF-8 has question marks beyond ASCII");
    return done_testing();
}
