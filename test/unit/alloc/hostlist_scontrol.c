/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random hostlists against Slurm's own `scontrol show hostnames`, which needs a configuration of
 * two lines and no controller; and what we print of them, read by it. Lists have no text after the
 * last bracket of an item, no unclosed bracket, and no bad one beside others: there we differ from
 * Slurm 22.05 on purpose (doc/hostlist.rst). BANYAN_TEST_LISTS says how many, BANYAN_TEST_SEED from where.
 */
#include "config.h"

#include "alloc/hostlist.h"
#include "test/support/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"

#define LISTS          300
#define GROUP_HOSTS    40 /* in one bracket */
#define ITEMS_MAX      4
#define DIFFERENCE_MAX 3     /* shown */
#define ARGUMENT_BYTES 65536 /* Linux allows 128 KiB */

static struct buffer expected, got, command;
static int is_later; /* than Slurm 22.05 */

/* ---- Random lists ---- */

static void random_number(struct random_state *random, struct buffer *text, unsigned int number)
{
    int width = random_chance(random, 0.3) ? 1 + (int)random_below(random, 6) : 1;

    buffer_printf(text, "%0*u", width, number);
}

static void random_range(struct random_state *random, struct buffer *text)
{
    unsigned int first =
        (unsigned int)random_below(random, random_chance(random, 0.2) ? 100000 : 110);
    unsigned int last = first + (unsigned int)random_below(random, GROUP_HOSTS);

    random_number(random, text, first);
    if (random_chance(random, 0.5))
        return;
    buffer_append_string(text, "-");
    if (random_chance(random, 0.97))
        random_number(random, text, last);
}

static void random_group(struct random_state *random, struct buffer *text, int may_be_odd)
{
    static const char *const odd[] = {"3-1",  "",      "1,,3",  "1-3,", ",1",    "a-b",  "-3",
                                      "1--3", "1-3:2", "1-3/2", "1.5",  "[1-2]", " 1-3", "+1-3"};

    buffer_append_string(text, "[");
    if (may_be_odd && random_chance(random, 0.05)) {
        buffer_append_string(text, odd[random_below(random, sizeof(odd) / sizeof(*odd))]);
    } else {
        random_range(random, text);
        while (random_chance(random, 0.4)) {
            buffer_append_string(text, ",");
            random_range(random, text);
        }
    }
    buffer_append_string(text, "]");
}

static void random_item(struct random_state *random, struct buffer *text)
{
    static const char *const words[] = {"n",    "rack", "node-", "nid00", "a.b", "x_",
                                        "gpu1", "N",    "10.0.", "m9",    "c-"};
    unsigned int groups = (unsigned int)random_below(random, 4);

    buffer_append_string(text, words[random_below(random, sizeof(words) / sizeof(*words))]);
    for (unsigned int i = 0; i < groups; i++) {
        if (i > 0 && random_chance(random, 0.7))
            buffer_append_string(text, words[random_below(random, 3)]);
        random_group(random, text, groups == 1);
    }
    if (groups == 0 && random_chance(random, 0.7))
        random_number(random, text, (unsigned int)random_below(random, 1000));
}

static void random_list(struct random_state *random, struct buffer *text)
{
    static const char *const separators[] = {",", ",", ",", ",,", " ", ", "};
    unsigned int items = 1 + (unsigned int)random_below(random, ITEMS_MAX);

    buffer_clear(text);
    for (unsigned int i = 0; i < items; i++) {
        if (i > 0)
            buffer_append_string(
                text, separators[random_below(random, sizeof(separators) / sizeof(*separators))]);
        random_item(random, text);
    }
}

/* ---- Both readers ---- */

static int is_later_version(void)
{
    FILE *pipe = popen("scontrol --version 2>/dev/null", "r");
    unsigned int year = 0;

    if (pipe == NULL)
        return 0;
    if (fscanf(pipe, "%*[^0-9]%u", &year) != 1)
        year = 0;
    pclose(pipe);
    return year > 22;
}

/* All names, each followed by a newline; nothing if the list is in error. */
static void ask_scontrol(const char *list)
{
    size_t read_bytes;
    FILE *pipe;

    buffer_clear(&command);
    buffer_printf(&command, "scontrol show hostnames '%s' 2>/dev/null", list);
    pipe = popen(buffer_string(&command), "r");
    buffer_clear(&expected);
    if (pipe == NULL)
        return;
    do {
        read_bytes = fread(buffer_reserve(&expected, 65536), 1, 65536, pipe);
        buffer_commit(&expected, read_bytes);
    } while (read_bytes > 0);
    pclose(pipe);
}

static void ask_ours(const struct hostlist *list)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    buffer_clear(&got);
    for (uint32_t i = 0; i < hostlist_count(list); i++) {
        hostlist_name(list, i, name);
        buffer_printf(&got, "%s\n", name);
    }
}

static int agrees(const char *list)
{
    static int shown;

    if (strcmp(buffer_string(&got), buffer_string(&expected)) == 0)
        return 1;
    /* Later versions print the names in front of what is wrong. */
    if (is_later && got.length_bytes == 0)
        return 1;
    if (shown++ < DIFFERENCE_MAX)
        diag("%.300s\nours: %.300s\nscontrol: %.300s", list, buffer_string(&got),
             buffer_string(&expected));
    return 0;
}

/* 1 if some item goes on behind its last bracket. */
static int has_suffix(const char *list)
{
    const char *close = list;

    while ((close = strchr(close, ']')) != NULL) {
        size_t rest = strcspn(++close, ",[");

        if (rest > 0 && close[rest] != '[')
            return 1;
    }
    return 0;
}

static void compare(unsigned int lists, uint64_t seed)
{
    struct random_state random;
    struct buffer text = {0}, printed = {0};
    unsigned int bad = 0, differ = 0, printed_lists = 0, printed_differ = 0;

    random_init(&random, seed);
    for (unsigned int i = 0; i < lists; i++) {
        struct hostlist *list = hostlist_create();

        random_list(&random, &text);
        bad += hostlist_parse(list, buffer_string(&text), NULL) < 0;
        ask_ours(list);
        ask_scontrol(buffer_string(&text));
        differ += !agrees(buffer_string(&text));
        buffer_clear(&printed);
        hostlist_print(list, &printed);
        if (printed.length_bytes > 0 && printed.length_bytes < ARGUMENT_BYTES &&
            !has_suffix(buffer_string(&printed))) {
            ask_scontrol(buffer_string(&printed));
            printed_differ += !agrees(buffer_string(&printed));
            printed_lists++;
        }
        hostlist_destroy(list);
    }
    is_uint(differ, 0, "%u lists are what scontrol says (%u are errors; seed %llu)", lists, bad,
            (unsigned long long)seed);
    is_uint(printed_differ, 0, "and so are %u of them as we print them", printed_lists);
    buffer_fini(&text);
    buffer_fini(&printed);
}

static unsigned long long setting(const char *name, unsigned long long otherwise)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? strtoull(value, NULL, 10) : otherwise;
}

int main(void)
{
    char path[] = "/tmp/banyan-slurm.XXXXXX";
    static const char configuration[] = "ClusterName=t\nSlurmctldHost=localhost\n";
    int fd;

    if (system("command -v scontrol >/dev/null") != 0)
        skip_all("there is no scontrol (Debian package slurm-client)");
    fd = mkstemp(path);
    if (fd < 0 || write(fd, configuration, strlen(configuration)) < 0)
        bail_out("cannot write %s", path);
    close(fd);
    setenv("SLURM_CONF", path, 1);
    is_later = is_later_version();
    ask_scontrol("n[1-2]");
    if (strcmp(buffer_string(&expected), "n1\nn2\n") != 0) {
        unlink(path);
        skip_all("scontrol does not work here");
    }
    compare((unsigned int)setting("BANYAN_TEST_LISTS", LISTS), setting("BANYAN_TEST_SEED", 1));
    unlink(path);
    buffer_fini(&expected);
    buffer_fini(&got);
    buffer_fini(&command);
    return done_testing();
}
