/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_app_file.h"

#include <string.h>

#include "test/support/tap.h"

static struct request_app_file file;
static struct error error;

static int parse(const char *text, size_t text_bytes)
{
    struct buffer buffer = {0};
    int rc;

    request_app_file_fini(&file);
    buffer_append(&buffer, text, text_bytes);
    rc = request_app_file_parse("apps", &buffer, &file, &error);
    buffer_fini(&buffer);
    return rc;
}

static void words_are(uint32_t index, unsigned int number, const char *expected)
{
    struct buffer words = {0};

    if (!ok(index < file.count, "there is a line %u", index))
        return;
    for (int i = 0; i < file.lines[index].count; i++)
        buffer_printf(&words, "%s<%s>", i > 0 ? " " : "", file.lines[index].words[i]);
    is_string(buffer_string(&words), expected, "it has the words %s", expected);
    is_uint(file.lines[index].number, number, "its number");
    is_string(file.lines[index].words[file.lines[index].count], NULL, "and an end");
    buffer_fini(&words);
}

static void refuses(const char *text, size_t text_bytes, const char *why)
{
    ok(parse(text, text_bytes) < 0, "a file is refused");
    has_string(error.text, why, "because %s", why);
}

static void test_lines(void)
{
    const char text[] =
        "# comment\n\n-n 2 ./a b  \r\n\t'x y' \"a\\\"b\\\\c\\n\" d\\ e'f'\"\" ''\n./last";

    is_int(parse(text, strlen(text)), 0, "a file of three applications");
    is_uint(file.count, 3, "has three");
    words_are(0, 3, "<apps:3> <-n> <2> <./a> <b>");
    words_are(1, 4, "<apps:4> <x y> <a\"b\\c\\n> <d ef> <>");
    words_are(2, 5, "<apps:5> <./last>");
}

static void test_refused(void)
{
    refuses("", 0, "apps has no program: give one per line");
    refuses("# only\n\n", 8, "apps has no program");
    refuses("a\nb 'c\n", 7, "apps:2: a quote or backslash has nothing after it");
    refuses("a \"c", 4, "apps:1: a quote");
    refuses("a \"c\\", 5, "apps:1: a quote");
    refuses("a\\", 2, "apps:1: a quote");
    refuses("a\0b", 3, "apps is not a text file");
}

int main(void)
{
    test_lines();
    test_refused();
    request_app_file_fini(&file);
    return done_testing();
}
