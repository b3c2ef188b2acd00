/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/configured.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

#define NUMBER_NOT_GIVEN 99u

struct settings {
    int flag;
    uint32_t number;
    const char *text;
    struct option_list adds;
    struct option_list hosts;
    const char *nodes;
    int secret;
};

#define FIELD(member) .offset = offsetof(struct settings, member)

static const struct option_rule rules[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {.kind = OPTION_FLAG, .name = "flag", FIELD(flag)},
    {.kind = OPTION_NUMBER,
     .name = "a-number",
     FIELD(number),
     .value = "N",
     .minimum = 0,
     .maximum = 9},
    {.kind = OPTION_TEXT, .name = "text", FIELD(text), .value = "TEXT"},
    {.kind = OPTION_LIST, .name = "adds", FIELD(adds), .value = "ITEM"},
    {.kind = OPTION_LIST, .name = "hosts", FIELD(hosts), .value = "LIST"},
    {.kind = OPTION_TEXT, .name = "nodes", FIELD(nodes), .value = "NODES"},
    {.kind = OPTION_FLAG, .name = "secret", FIELD(secret)},
    {.kind = OPTION_END}};

static const char *const verbs[] = {"run", "start", NULL};
static const char *const refused[] = {"secret", NULL};
static const char *const adding[] = {"adds", NULL};
static const char *const nodes[] = {"hosts", "nodes", NULL};

static const struct configured_schema schema = {.rules = rules,
                                                .settings_bytes = sizeof(struct settings),
                                                .verbs = verbs,
                                                .refused = refused,
                                                .adding = adding,
                                                .nodes = nodes};
static const struct settings defaults = {.number = NUMBER_NOT_GIVEN};

static struct configured_values values;
static struct error error;

static int read_text(const char *path, const char *text)
{
    struct buffer buffer = {0};
    int rc;

    buffer_append_string(&buffer, text);
    rc = configured_read_file(&values, &schema, path, &buffer, &error);
    buffer_fini(&buffer);
    return rc;
}

static void refuses(const char *text, const char *why)
{
    configured_fini(&values);
    ok(read_text("f", text) < 0, "a file is refused");
    is_string(error.text, why, "for: %s", why);
    configured_fini(&values);
}

static int everything(const char *name)
{
    return name != NULL;
}

static int only_text(const char *name)
{
    return strcmp(name, "text") == 0;
}

static void list_is(const struct option_list *list, const char *expected, const char *what)
{
    char *text = options_list_join(list, " ");

    is_string(text, expected, "%s", what);
    free(text);
}

static void fill(const char *verb, struct settings *settings)
{
    configured_fill(&values, &schema, rules, verb, everything, &defaults, settings);
}

static void finish(struct settings *settings)
{
    options_list_fini(&settings->adds);
    options_list_fini(&settings->hosts);
}

static void test_order(void)
{
    static const char *const environment[] = {"BANYAN_A_NUMBER=3", "BANYAN_ADDS=d",  "BANYAN_FLAG=",
                                              "BANYAN_SECRET=1",   "BANYAN_TEXTS=x", NULL};
    struct settings settings = defaults;

    is_int(read_text("site",
                     "# comment\n flag = yes\n\na-number=1\ntext = a = b \r\nadds=a\nadds=b\n"
                     "hosts=h1\nhosts=h2\n"),
           0, "a file");
    is_int(read_text("user", "a-number = 2\nadds=c\nhosts=h3\n[start]\nflag=no\n[ run ]\ntext=r\n"),
           0, "another");
    is_int(configured_read_environment(&values, &schema, (char *const *)environment, &error), 0,
           "and variables");
    fill("start", &settings);
    is_int(settings.flag, 0, "a section's value");
    is_uint(settings.number, 3, "a variable replaces those of files");
    is_string(settings.text, "a = b", "a value has blanks and equals signs inside");
    list_is(&settings.adds, "a b c d", "values of a list that adds up");
    list_is(&settings.hosts, "h3", "and of one that does not: those of the last origin");
    finish(&settings);
    settings = defaults;
    fill("run", &settings);
    is_int(settings.flag, 1, "a section of another verb does not count");
    is_string(settings.text, "r", "that of the verb does");
    is_string(configured_find(&values, &rules[2], "run")->origin, "$BANYAN_A_NUMBER",
              "a variable is named");
    is_string(configured_find(&values, &rules[1], "start")->origin, "user:5", "and a line");
    ok(configured_find(&values, &rules[6], "run") == NULL, "what is nowhere is not found");
    finish(&settings);
    settings = defaults;
    configured_fill(&values, &schema, rules, "run", only_text, &defaults, &settings);
    ok(settings.flag == 0 && settings.adds.count == 0 && settings.text != NULL,
       "only wanted options are filled");
    configured_fini(&values);
}

static void test_given(void)
{
    struct settings settings = defaults;

    is_int(read_text("f", "flag=yes\na-number=5\ntext=t\nadds=a\nhosts=h\n"), 0, "a file");
    settings.number = 0;
    settings.text = "given";
    (void)options_set(&rules[4], "z", &settings, &error);
    settings.nodes = "these";
    fill("run", &settings);
    is_uint(settings.number, 0, "a given number stays");
    is_string(settings.text, "given", "and a given text");
    list_is(&settings.adds, "a z", "a given item of a list that adds up comes last");
    list_is(&settings.hosts, NULL, "given nodes replace those of any option");
    finish(&settings);
    settings = defaults;
    is_int(read_text("g", "nodes=n\n"), 0, "a later file with other nodes");
    fill("run", &settings);
    is_string(settings.nodes, "n", "has the nodes");
    list_is(&settings.hosts, NULL, "without those of the earlier one");
    finish(&settings);
    configured_fini(&values);
}

static void test_refused(void)
{
    static const char *const environment[] = {"BANYAN_A_NUMBER=x", NULL};
    struct buffer binary = {0};

    refuses("flag=yes\nfrobnicate=1\n",
            "f:2: unknown option 'frobnicate'; 'banyan config' lists those there are");
    refuses("a-numbre=1", "f:1: unknown option 'a-numbre': did you mean 'a-number'?");
    refuses("a-number=10", "f:1: option a-number: must be a whole number from 0 to 9, not '10'");
    refuses("flag=maybe", "f:1: option flag: must be yes or no, not 'maybe'");
    refuses("text=", "f:1: option text: TEXT is empty");
    refuses("secret=yes", "f:1: option 'secret' can be given on the command line only");
    refuses("\n\nflag", "f:3: 'flag' is not NAME = VALUE");
    refuses("[start", "f:1: '[start' is not [COMMAND]");
    refuses("[start] x", "f:1: '[start] x' is not [COMMAND]");
    refuses("[stard]", "f:1: unknown section [stard]: did you mean [start]?");
    ok(configured_read_environment(&values, &schema, (char *const *)environment, &error) < 0,
       "a variable is refused");
    has_string(error.text, "$BANYAN_A_NUMBER: option a-number: must be", "by its name");
    configured_fini(&values);
    buffer_append(&binary, "a\0b", 3);
    ok(configured_read_file(&values, &schema, "f", &binary, &error) < 0,
       "a binary file is refused");
    buffer_fini(&binary);
    configured_fini(&values);
}

static void test_clusters(void)
{
    const struct site_section *west, *gpu;

    configured_fini(&values);
    is_int(read_text("site", "text=a\n[cluster \"west\"]\nnodes = q[0-9]\ntmpdir=/a\n"
                             "[ cluster  \"west\" \"gpu\" ]\nnodes = q1\n[run]\ntext=b\n"),
           0, "clusters in a file");
    is_int(read_text("user", "[cluster \"west\"]\ntmpdir = /b\n"), 0, "and in another");
    west = site_find(&values.site, "west", NULL);
    gpu = site_find(&values.site, "west", "gpu");
    is_string(west->values[SITE_NODES], "q[0-9]", "a value of the first");
    is_string(west->values[SITE_TMPDIR], "/b", "is replaced by the second");
    is_string(west->origins[SITE_TMPDIR], "user:2", "whose line is known");
    is_string(gpu->values[SITE_NODES], "q1", "a kind of nodes");
    is_uint(values.count, 2, "other sections have the rest");
    refuses("[cluster]\n", "f:1: expected [cluster \"NAME\"] or, for a kind of its nodes, "
                           "[cluster \"NAME\" \"KIND\"]");
    refuses("[cluster \"a\" b]\n", "f:1: expected [cluster \"NAME\"] or, for a kind of its nodes, "
                                   "[cluster \"NAME\" \"KIND\"]");
    refuses("[cluster \"a\"]\n\nnode = x\n", "f:3: a cluster has no 'node': did you mean 'nodes'?");
    refuses("[clustre \"a\"]\n", "f:1: unknown section [clustre]: did you mean [cluster]?");
    refuses("[cluster \"9\"]\n", "f:1: '9' does not begin with a letter");
}

int main(void)
{
    test_order();
    test_given();
    test_refused();
    test_clusters();
    return done_testing();
}
