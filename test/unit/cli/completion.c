/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/completion.h"
#include "launch/cli/option/completion_internal.h"
#include "test/support/tap.h"

#include <string.h>

static void test_value(const char *text, const char *choices, const char *words, int files,
                       int directories, int programs)
{
    struct completion_value value;

    completion_value_read(text, choices, &value);
    is_string(buffer_string(&value.words), words, "%s: the words", text != NULL ? text : "nothing");
    is_int(value.files * 100 + value.directories * 10 + value.programs,
           files * 100 + directories * 10 + programs, "and what this machine has");
    completion_value_fini(&value);
}

static void test_values(void)
{
    test_value(NULL, NULL, "", 0, 0, 0);
    test_value("N", NULL, "", 0, 0, 0);
    test_value("slot|node|fill", NULL, "slot node fill", 0, 0, 0);
    test_value("DIR|none", NULL, "none", 0, 1, 0);
    test_value("FILE|DIR[:DEST]", NULL, "", 1, 1, 0);
    test_value("FILE|-", NULL, "", 1, 0, 0);
    test_value("munge|file:DIR", NULL, "munge file:", 0, 0, 0);
    test_value("tcp|ofi[:PROVIDER]|auto", NULL, "tcp ofi auto", 0, 0, 0);
    test_value("LEVEL|none", "none core", "none core", 0, 0, 0);
    test_value("COMMAND", NULL, "", 0, 0, 1);
}

static void test_text(void)
{
    struct buffer text = {0};

    completion_put_summary("the job's [number]: or more", "[]\\", &text);
    is_string(buffer_string(&text), "the job'\\''s \\[number\\]", "the sentence, quoted");
    buffer_clear(&text);
    completion_put_summary("slot: fill the nodes (default)", "", &text);
    is_string(buffer_string(&text), "slot: fill the nodes", "one that begins with a word");
    buffer_clear(&text);
    completion_put_summary("short", "", &text);
    is_string(buffer_string(&text), "short", "a short one");
    buffer_clear(&text);
    completion_put_quoted("HOW: it's (all)", ":", &text);
    is_string(buffer_string(&text), "HOW\\: it'\\''s (all)", "a whole text");
    buffer_fini(&text);
}

/* Of rows with the same name the first counts; headings are no options; other names are known. */
static void test_scripts(void)
{
    static const struct option_rule rules[] = {
        {.kind = OPTION_HEADING, .help = "Heading"},
        {.kind = OPTION_FLAG, .name = "json", .help = "print JSON"},
        {.kind = OPTION_NUMBER,
         .letter = 'n',
         .name = "np",
         .aliases = "count number",
         .value = "N",
         .help = "how many"},
        {.kind = OPTION_TEXT, .name = "json", .value = "FILE", .help = "write JSON"},
        {.kind = OPTION_LIST, .name = "file", .value = "FILE", .help = "read it"},
        {.kind = OPTION_END}};
    static const struct completion_verb verbs[] = {
        {.name = "run", .summary = "run it", .words = "PROGRAM", .rules = rules},
        {.name = "stop", .summary = "stop it"}};
    static const struct {
        const char *shell;
        const char *has;
    } expected[COMPLETION_SHELLS][3] = {
        {{"bash", "options='--json -n --np --file '"},
         {"bash", "-n | --np | --count | --number) value='' ;;\n        --file) value=' @file' ;;"},
         {"bash", "_banyan_verbs='run stop'"}},
        {{"zsh", "_arguments -s -S \\\n            '--json[print JSON]' \\\n            "
                 "'(-n --np)'{-n+,--np=}'[how many]:N:' \\\n            "
                 "'*''--file=[read it]:FILE:_files'"},
         {"zsh", "'stop:stop it'"},
         {"zsh", "    stop)\n        _arguments -s -S\n        ;;"}},
        {{"fish", "verb run' -l json -d 'print JSON'\n"},
         {"fish", "-l file -r -F -d 'read it'\n"},
         {"fish", "-a stop -d 'stop it'\n"}}};

    for (size_t i = 0; i < COMPLETION_SHELLS; i++) {
        struct buffer text = {0};

        is_string(completion_shells[i].name, expected[i][0].shell, "the shell");
        completion_shells[i].print(verbs, 2, &text);
        for (size_t j = 0; j < 3; j++)
            has_string(buffer_string(&text), expected[i][j].has, "%s: row %zu",
                       expected[i][j].shell, j);
        ok(strstr(buffer_string(&text), "write JSON") == NULL, "the later row does not count");
        buffer_fini(&text);
    }
}

int main(void)
{
    test_values();
    test_text();
    test_scripts();
    return done_testing();
}
