/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/foreign_options.h"
#include "launch/cli/request/request_settings.h"
#include "test/support/tap.h"

#include <stdio.h>
#include <string.h>

#define LINE_BYTES_MAX 140
#define WORDS_BYTES    1024

static const struct option_rule *native_find(const char *name)
{
    for (const struct option_rule *rule = run_rules; rule->kind != OPTION_END; rule++) {
        const char letter[] = {rule->letter, '\0'};
        char aliases[WORDS_BYTES], *rest = aliases;

        if (rule->kind == OPTION_HEADING)
            continue;
        if (strcmp(rule->name, name) == 0 || (rule->letter != '\0' && strcmp(letter, name) == 0))
            return rule;
        snprintf(aliases, sizeof(aliases), "%s", rule->aliases != NULL ? rule->aliases : "");
        for (char *alias; (alias = strsep(&rest, " ")) != NULL;)
            if (strcmp(alias, name) == 0)
                return rule;
    }
    return NULL;
}

/* The forms in which a launcher's option is typed; each gets the line. */
static void test_name(const struct foreign_option *foreign, const char *name)
{
    static const char *const forms[][2] = {{"-", ""}, {"--", ""}, {"--", "=1"}, {"-", "=a,b"}};
    int same = 1;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct request_settings settings = {.help = 0};
        struct error error = ERROR_NONE;
        char word[128], expected[512];
        char run[] = "run", one[] = "1", program[] = "program";
        char *argv[] = {run, word, one, program, NULL};
        int next = 0;

        snprintf(word, sizeof(word), "%s%s%s", forms[i][0], name, forms[i][1]);
        snprintf(expected, sizeof(expected), "unknown option '%.80s': %s", word, foreign->line);
        same &= options_parse(run_rules, 4, argv, &settings, &next, &error) < 0 &&
                strcmp(error.text, expected) == 0;
        request_settings_fini(&settings);
    }
    ok(same, "-%s, --%s and with a value: %s", name, name, foreign->line);
}

/* An option that a line says to use is one of banyan's. */
static void test_line(const struct foreign_option *foreign)
{
    char line[WORDS_BYTES], *rest = line;
    int is_native = 1;

    snprintf(line, sizeof(line), "%s",
             strncmp(foreign->line, "use -", 5) == 0 ? foreign->line : "");
    for (char *word; (word = strsep(&rest, " (),;:=")) != NULL;) {
        if (word[0] == '-' && word[1] != '\0' && strcmp(word, "-vv") != 0 &&
            native_find(word + 1 + (word[1] == '-')) == NULL) {
            diag("%s is no option of banyan run", word);
            is_native = 0;
        }
    }
    ok(is_native && native_find(foreign->native) != NULL && strlen(foreign->line) <= LINE_BYTES_MAX,
       "\"%.40s\" names options that there are, in one line", foreign->line);
}

static void test_table(void)
{
    for (size_t i = 0; i < foreign_options_count; i++) {
        const struct foreign_option *foreign = &foreign_options[i];
        char names[WORDS_BYTES], *rest = names;

        test_line(foreign);
        snprintf(names, sizeof(names), "%s", foreign->names);
        for (char *name; (name = strsep(&rest, " ")) != NULL;) {
            ok(native_find(name) == NULL && foreign_options_find(name, strlen(name)) == foreign,
               "%s is here once, and not banyan's", name);
            test_name(foreign, name);
        }
    }
}

int main(void)
{
    test_table();
    ok(foreign_options_find("ntask", 5) == NULL && foreign_options_find("", 0) == NULL &&
           foreign_options_find("ntasks-per", 7) == NULL,
       "a part of a name is not the name");
    return done_testing();
}
