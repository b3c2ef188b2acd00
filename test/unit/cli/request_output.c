/* SPDX-License-Identifier: BSD-3-Clause */
/* launch/cli/request/request_output.c: patterns of files, ranks whose output is shown. */
#include "config.h"

#include "launch/cli/request/request_output.h"
#include "test/support/tap.h"

#include <errno.h>
#include <string.h>

static void path_is(const char *pattern, uint8_t stream, const char *expected)
{
    const struct request_output_names names = {
        .job = 12, .rank = 7, .stream = stream, .node = "n0412"};
    struct buffer out = {0};

    request_output_path(pattern, &names, &out);
    is_string(buffer_string(&out), expected, "%s", pattern);
    buffer_fini(&out);
}

static void test_paths(void)
{
    path_is("out.%r", 1, "out.7");
    path_is("%4r", 1, "0007");
    path_is("%04r-%1r", 1, "0007-7");
    path_is("logs/%j/%h.%5j.%t", 1, "logs/12/n0412.00012.out");
    path_is("%t", 2, "err");
    path_is("100%%/%%r", 1, "100%/%r");
    path_is("plain", 2, "plain");
}

static int make(const struct request_settings *settings, struct request_output *ret_output,
                struct error *error)
{
    *error = ERROR_NONE;
    return request_output_make(settings, ret_output, error);
}

static void refuses(const struct request_settings *settings, const char *expected)
{
    struct request_output output = {0};
    struct error error;

    is_int(make(settings, &output, &error), -EINVAL, "refused");
    has_string(error.text, expected, "%s", expected);
    ok(output.patterns[0] == NULL && output.patterns[1] == NULL, "nothing is made");
}

static void test_refused(void)
{
    refuses(&(struct request_settings){.output = "a%x"}, "option --output: 'a%x': expected %r");
    refuses(&(struct request_settings){.output = "a%x"}, "at '%x'");
    refuses(&(struct request_settings){.error = "a%"}, "option --error: 'a%': expected");
    refuses(&(struct request_settings){.output = "%4h"}, "at '%4h'");
    refuses(&(struct request_settings){.output = "%21r"}, "at most 20 digits");
    refuses(&(struct request_settings){.output = "%99999999999999999999r"}, "at most 20 digits");
    refuses(&(struct request_settings){.output = "logs/"}, "'logs/' names a directory");
    refuses(&(struct request_settings){.output = "%r", .error = "%q"}, "option --error: '%q'");
    refuses(&(struct request_settings){.merge = 1, .error = "e"}, "option --merge: ");
    refuses(&(struct request_settings){.fold = 1, .error = "e"}, "option --fold: ");
    refuses(&(struct request_settings){.fold = 1, .output = "e"}, "not in files");
    refuses(&(struct request_settings){.output_from = "3-1"}, "option --output-from: '3-1'");
    refuses(&(struct request_settings){.output_from = "1,x"}, "not a list of ranks");
    refuses(&(struct request_settings){.output = "f", .output_from = ""}, "--output-from: ''");
}

static void test_made(void)
{
    struct request_output output = {0};
    struct error error;

    is_int(make(&(struct request_settings){.merge = 0}, &output, &error), 0, "no option");
    ok(output.patterns[0] == NULL && output.patterns[1] == NULL && !output.is_merged &&
           !output.is_folded && ranges_is_empty(&output.from),
       "all is the user's");
    request_output_fini(&output);
    is_int(make(&(struct request_settings){.output = "o.%r"}, &output, &error), 0, "--output");
    is_string(output.patterns[0], "o.%r", "is for stdout");
    ok(output.patterns[1] == NULL, "and not for stderr");
    request_output_fini(&output);
    is_int(make(&(struct request_settings){.output = "%r.%t"}, &output, &error), 0, "with %%t");
    is_string(output.patterns[1], "%r.%t", "for stderr, too");
    request_output_fini(&output);
    is_int(make(&(struct request_settings){.output = "%t", .error = "e"}, &output, &error), 0,
           "unless it has its own");
    is_string(output.patterns[1], "e", "which it gets");
    request_output_fini(&output);
    is_int(make(&(struct request_settings){.merge = 1, .output_from = "0-3,9"}, &output, &error), 0,
           "--merge, --output-from");
    ok(output.is_merged && ranges_count(&output.from) == 5 && ranges_contains(&output.from, 9),
       "are understood");
    request_output_fini(&output);
    is_int(make(&(struct request_settings){.fold = 1}, &output, &error), 0, "--fold");
    ok(output.is_folded, "is understood");
    request_output_fini(&output);
}

int main(void)
{
    test_paths();
    test_refused();
    test_made();
    return done_testing();
}
