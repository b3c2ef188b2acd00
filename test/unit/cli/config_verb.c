/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/config_verb.h"

#include <string.h>

#include "launch/cli/request/request_configured.h"
#include "test/support/tap.h"

static struct configured_values values;
static struct error error;

/* What it prints; NULL if it fails.  Valid until the next call. */
static const char *show(const char *first, const char *second, const char *third)
{
    static struct buffer out;
    struct request_ops ops = {.configured = &values};
    const char *argv[] = {"config", first, second, third, NULL};
    int argc = 1;

    while (argv[argc] != NULL)
        argc++;
    buffer_clear(&out);
    if (config_verb(argc, (char *const *)argv, &ops, &out, &error) < 0) {
        buffer_fini(&out);
        return NULL;
    }
    return buffer_string(&out);
}

int main(void)
{
    struct buffer text = {0};

    buffer_append_string(&text, "radix = 3\nenv=A=1\nenv=B=2\n[start]\nradix = 4\n"
                                "[cluster \"west\" \"gpu\"]\nnodes = q[1-4]\n");
    is_int(configured_read_file(&values, &request_configured_schema, "f", &text, &error), 0,
           "a file");
    buffer_fini(&text);
    has_string(show(NULL, NULL, NULL), "radix              = 3   (f:1)\n", "a value and its line");
    has_string(show(NULL, NULL, NULL), "kill-grace           (default)\n", "an option without one");
    has_string(show(NULL, NULL, NULL),
               "env                = A=1   (f:2)\nenv                = B=2   (f:3)\n", "a list");
    ok(strstr(show(NULL, NULL, NULL), "\nhelp") == NULL, "what cannot be configured is not listed");
    has_string(show("start", NULL, NULL), "radix              = 4   (f:5)\n", "another verb's");
    ok(strstr(show("start", NULL, NULL), "\nlabel") == NULL, "with its options only");
    has_string(show(NULL, NULL, NULL),
               "\n[cluster \"west\" \"gpu\"]\nnodes              = q[1-4]   (f:7)\n", "clusters");
    has_string(show("--json", NULL, NULL), "\"cluster\": \"west\"", "also as JSON");
    has_string(show("--json", NULL, NULL), "\"origin\": \"f:1\"", "as JSON");
    has_string(show("--help", NULL, NULL), "Usage: banyan config", "help");
    has_string(show("--version", NULL, NULL), "banyan ", "version");
    ok(show("stop", NULL, NULL) == NULL, "a verb without configuration is refused");
    has_string(error.text, "unexpected argument 'stop'", "by its name");
    ok(show("run", "map", NULL) == NULL, "and so are two");
    ok(show("--jsn", NULL, NULL) == NULL, "and an unknown option");
    configured_fini(&values);
    return done_testing();
}
