/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/options.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 16

struct settings {
    int label;
    uint32_t count;
    const char *directory;
    struct option_list set;
    int help;
};

static const struct option_rule rules[] = {
    {.kind = OPTION_HEADING, .help = "Counts"},
    {.kind = OPTION_NUMBER,
     .letter = 'n',
     .name = "np",
     .value = "N",
     .minimum = 1,
     .maximum = 1000,
     .offset = offsetof(struct settings, count),
     .help = "how many processes"},
    {.kind = OPTION_FLAG,
     .letter = 'l',
     .name = "label",
     .offset = offsetof(struct settings, label),
     .help = "put the rank in front of each line"},
    {.kind = OPTION_TEXT,
     .name = "wdir",
     .aliases = "chdir cwd",
     .value = "DIRECTORY-OF-RANKS",
     .offset = offsetof(struct settings, directory),
     .help = "where the program starts, which is the current directory unless this option says "
             "something else"},
    {.kind = OPTION_LIST,
     .letter = 'x',
     .name = "env",
     .value = "NAME",
     .offset = offsetof(struct settings, set),
     .help = "a variable"},
    {.kind = OPTION_FLAG,
     .letter = 'h',
     .name = "help",
     .ends_parsing = 1,
     .offset = offsetof(struct settings, help),
     .help = "this text"},
    {.kind = OPTION_END}};

/* Splits line at blanks and parses it; the words stay valid until the next call. */
static int parse(const char *line, struct settings *settings, int *ret_next, struct error *error)
{
    static char text[256];
    static char *argv[WORDS_MAX];
    int argc = 0;
    char *rest = text;

    strcpy(text, line);
    for (char *word; (word = strsep(&rest, " ")) != NULL && argc < WORDS_MAX - 1;)
        argv[argc++] = word;
    argv[argc] = NULL;
    *settings = (struct settings){0};
    *error = ERROR_NONE;
    return options_parse(rules, argc, argv, settings, ret_next, error);
}

static void refuses(const char *line, const char *message)
{
    struct settings settings;
    struct error error;
    int next = -1;

    is_int(parse(line, &settings, &next, &error), -EINVAL, "'%s' is refused", line);
    is_string(error.text, message, "with one line that says why");
    options_list_fini(&settings.set);
}

static void test_forms(void)
{
    static const char *const forms[] = {"run -n 4 a", "run -np 4 a", "run --np 4 a", "run --np=4 a",
                                        "run -n4 a",  "run -np=4 a", "run -n=4 a"};
    struct settings settings;
    struct error error;
    int next;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        next = 0;
        ok(parse(forms[i], &settings, &next, &error) == 0 && settings.count == 4, "'%s' means 4",
           forms[i]);
    }
    parse("run -l -label --label --wdir=/tmp -cwd /x -x A=1 -x=B --env C -- -n 3", &settings, &next,
          &error);
    is_string(error.text, "", "many options");
    is_int(settings.label, 3, "a flag is counted");
    is_string(settings.directory, "/x", "the last text counts");
    is_uint(settings.set.count, 3, "a list keeps all");
    ok(settings.set.count == 3 && strcmp(settings.set.items[0], "A=1") == 0 &&
           strcmp(settings.set.items[1], "B") == 0 && strcmp(settings.set.items[2], "C") == 0,
       "in order");
    is_int(next, 13, "'--' ends the options");
    options_list_fini(&settings.set);
    parse("run -ll -ln2 -lxA=1 -xB=2 --x=C --n=3 -lh -n 0", &settings, &next, &error);
    is_string(error.text, "", "letters that stand together");
    ok(settings.label == 5 && settings.count == 3 && settings.set.count == 3 &&
           strcmp(settings.set.items[0], "A=1") == 0 && strcmp(settings.set.items[1], "B=2") == 0 &&
           strcmp(settings.set.items[2], "C") == 0,
       "each is an option, and one that takes a value has the rest");
    ok(settings.help == 1 && next == 8, "--help ends the options");
    options_list_fini(&settings.set);
    is_int(parse("run -n 2 prog -n 3 --help", &settings, &next, &error), 0,
           "what follows the program is not looked at");
    ok(next == 3 && settings.count == 2, "and is the program's");
    ok(parse("run - x", &settings, &next, &error) == 0 && next == 1, "a lone dash is a word");
    ok(parse("run", &settings, &next, &error) == 0 && next == 1, "nothing is fine");
}

static void test_refusals(void)
{
    refuses("run --labl", "unknown option '--labl': did you mean '--label'?");
    refuses("run --lable=3 x", "unknown option '--lable=3': did you mean '--label'?");
    refuses("run -lq", "unknown option '-lq': --help lists the options");
    refuses("run -lx", "option -x needs a value: -x NAME");
    refuses("run -l=1", "option -l takes no value");
    refuses("run -lnx", "unknown option '-lnx': --help lists the options");
    refuses("run -Label", "unknown option '-Label': did you mean '--label'?");
    refuses("run -Xy", "unknown option '-Xy': --help lists the options");
    refuses("run --mem 4", "unknown option '--mem': --help lists the options");
    refuses("run --y=4", "unknown option '--y=4': --help lists the options");
    refuses("run --ntasks-per-node 4",
            "unknown option '--ntasks-per-node': --help lists the options");
    refuses("run --tag-output", "unknown option '--tag-output': use -l");
    refuses("run -ntasks=4", "unknown option '-ntasks=4': use -n N");
    refuses("run --frobnicate", "unknown option '--frobnicate': --help lists the options");
    refuses("run --label=1", "option --label takes no value");
    refuses("run -n", "option -n needs a value: -n N");
    refuses("run --wdir=", "option --wdir: DIRECTORY-OF-RANKS is empty");
    refuses("run -n 0", "option -n: must be a whole number from 1 to 1000, not '0\'");
    refuses("run -n -1", "option -n: must be a whole number from 1 to 1000, not '-1\'");
    refuses("run --np=1001", "option --np: must be a whole number from 1 to 1000, not '1001\'");
    refuses("run -n 99999999999999999999",
            "option -n: must be a whole number from 1 to 1000, not '99999999999999999999\'");
    refuses("run -n 4294967297",
            "option -n: must be a whole number from 1 to 1000, not '4294967297\'");
    refuses("run -n 4x", "option -n: must be a whole number from 1 to 1000, not '4x\'");
    refuses("run --np= x", "option --np: must be a whole number from 1 to 1000, not '\'");
    refuses("run --bad\noption", "unknown option '--bad option': --help lists the options");
}

static void test_help(void)
{
    static const char expected[] = "\n"
                                   "Counts:\n"
                                   "  -n, --np N              how many processes\n"
                                   "  -l, --label             put the rank in front of each line\n"
                                   "      --wdir DIRECTORY-OF-RANKS\n"
                                   "                          where the program starts, which is "
                                   "the current\n"
                                   "                          directory unless this option says "
                                   "something else\n"
                                   "  -x, --env NAME          a variable\n"
                                   "  -h, --help              this text\n";
    struct buffer text = {0};

    options_help(rules, &text);
    is_string(buffer_string(&text), expected, "the help comes from the same table");
    buffer_fini(&text);
}

int main(void)
{
    test_forms();
    test_refusals();
    test_help();
    return done_testing();
}
