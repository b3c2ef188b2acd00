/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hostlists: the vectors of test/data/hostlist-vectors.tsv (made with Slurm's scontrol; each
 * difference from it says why there), errors with their columns, and random lists against plain
 * arrays of names.
 */
#include "config.h"

#include "alloc/hostlist.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define NAMES_MAX 64

/* ---- Vectors ---- */

/* Undoes \n and \t in place. */
static void unescape(char *text)
{
    char *out = text;

    for (; *text != '\0'; text++) {
        if (text[0] == '\\' && (text[1] == 'n' || text[1] == 't')) {
            *out++ = text[1] == 'n' ? '\n' : '\t';
            text++;
        } else {
            *out++ = *text;
        }
    }
    *out = '\0';
}

/* All names, each followed by a newline, or the COUNT form if that is asked for. */
static void describe(const struct hostlist *list, int as_count, struct buffer *out)
{
    char first[HOST_NAME_BYTES_MAX + 1], last[HOST_NAME_BYTES_MAX + 1];

    buffer_clear(out);
    if (as_count && hostlist_count(list) > 0) {
        hostlist_name(list, 0, first);
        hostlist_name(list, hostlist_count(list) - 1, last);
        buffer_printf(out, "COUNT=%u first=%s last=%s", hostlist_count(list), first, last);
        return;
    }
    for (uint32_t i = 0; i < hostlist_count(list); i++) {
        hostlist_name(list, i, first);
        buffer_printf(out, "%s\n", first);
    }
}

static int lists_equal(const struct hostlist *a, const struct hostlist *b)
{
    struct buffer names_a = {0}, names_b = {0};
    int equal;

    describe(a, 0, &names_a);
    describe(b, 0, &names_b);
    equal = strcmp(buffer_string(&names_a), buffer_string(&names_b)) == 0;
    buffer_fini(&names_a);
    buffer_fini(&names_b);
    return equal;
}

/* What is printed parses to the same names. */
static int round_trips(const struct hostlist *list)
{
    struct hostlist *again = hostlist_create();
    struct buffer text = {0};
    int held;

    hostlist_print(list, &text);
    held = hostlist_parse(again, buffer_string(&text), NULL) == 0 && lists_equal(list, again);
    hostlist_destroy(again);
    buffer_fini(&text);
    return held;
}

static void test_vector(char *line)
{
    struct hostlist *list = hostlist_create();
    struct buffer got = {0};
    struct error error = ERROR_NONE;
    char *expected = strchr(line, '\t');
    char *note;
    int as_count;

    *expected++ = '\0';
    note = strchr(expected, '\t');
    if (note != NULL)
        *note++ = '\0';
    unescape(line);
    unescape(expected);
    as_count = strncmp(expected, "COUNT", 5) == 0;
    if (hostlist_parse(list, line, &error) < 0)
        buffer_append_string(&got, "ERROR");
    else
        describe(list, as_count, &got);
    is_string(buffer_string(&got), expected, "%s%s%s", line, note != NULL ? ": " : "",
              note != NULL ? note : "");
    ok(round_trips(list), "printed and parsed again");
    ok(error.code == 0 || (hostlist_count(list) == 0 && strncmp(error.text, "column ", 7) == 0),
       "a list that is refused adds nothing and has a column");
    hostlist_destroy(list);
    buffer_fini(&got);
}

static void test_vectors(void)
{
    const char *srcdir = getenv("srcdir");
    char path[4096], line[65536];
    FILE *file;

    snprintf(path, sizeof(path), "%s/test/data/hostlist-vectors.tsv",
             srcdir != NULL ? srcdir : ".");
    file = fopen(path, "r");
    if (file == NULL)
        bail_out("cannot read %s", path);
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#')
            test_vector(line);
    }
    fclose(file);
}

/* ---- Errors ---- */

static void error_case(const char *text, const char *expected)
{
    struct hostlist *list = hostlist_create();
    struct error error = ERROR_NONE;

    hostlist_append(list, "kept");
    hostlist_parse(list, text, &error);
    is_string(error.text, expected, "%.40s", text);
    ok(hostlist_count(list) == 1 && round_trips(list), "the list stays as it was");
    hostlist_destroy(list);
}

static void test_errors(void)
{
    char text[600];

    error_case("a,n[3-1]", "column 5: the range 3-1 runs backwards");
    error_case("a,n[1,,3]", "column 7: missing number");
    error_case("n[]", "column 3: missing number");
    error_case("n[1-3,a-b]", "column 7: \"a-b\" is not a range of numbers");
    error_case("n[1-3:2]", "column 3: \"1-3:2\" is not a range of numbers");
    error_case("a,b[1-3", "column 4: unmatched '['");
    error_case("n[1-[2-3]]", "column 5: a '[' inside brackets");
    error_case("n]a[1-2]", "column 2: unmatched ']'");
    error_case("n[1-2]]", "column 7: unmatched ']'");
    error_case("ab\x07", "column 3: control character 0x07 in a name");
    error_case("n[1\n2]", "column 4: control character 0x0a in a name");
    error_case("n[1-16777217]", "column 3: more than 16777216 hosts");
    error_case("n[0-18446744073709551615]", "column 3: more than 16777216 hosts");
    error_case("n[1-9000000],n[1-9000000]", "column 14: more than 16777216 hosts");
    error_case("n[1-16777216]", "column 1: more than 16777216 hosts");
    error_case("a,a[1-300]b[1-300]c[1-3]",
               "column 3: more than 65536 combinations of brackets in one name");
    error_case("[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]",
               "column 49: more than 16 brackets in one name");
    snprintf(text, sizeof(text), "n,%0256d", 1);
    error_case(text, "column 3: a name of more than 255 bytes");
    snprintf(text, sizeof(text), "n,[9-%0300d]%0254d", 10, 1);
    error_case(text, "column 3: a name of more than 255 bytes");
    snprintf(text, sizeof(text), "[%0256d]", 1);
    error_case(text, "column 2: a number of more than 255 digits");
}

static void test_bytes(void)
{
    struct hostlist *list = hostlist_create();
    struct error error = ERROR_NONE;
    size_t offset = 99;

    is_int(hostlist_parse_bytes(list, "a,b\0c", 5, &offset, &error), -EINVAL, "a NUL is refused");
    is_uint(offset, 3, "at its offset");
    is_string(error.text, "control character 0x00 in a name", "with its reason");
    is_int(hostlist_parse_bytes(list, "a,bc", 3, &offset, &error), 0, "text need not end in NUL");
    is_uint(hostlist_count(list), 2, "and is read to its length");
    hostlist_destroy(list);
}

/* ---- Appending, finding, slicing ---- */

static void print_case(const char *names, const char *expected)
{
    struct hostlist *list = hostlist_create(), *parsed = hostlist_create();
    struct buffer text = {0};
    char *copy = strdup(names);

    for (char *name = strtok(copy, " "); name != NULL; name = strtok(NULL, " "))
        hostlist_append(list, name);
    hostlist_print(list, &text);
    is_string(buffer_string(&text), expected, "%s", names);
    ok(round_trips(list), "and back");
    hostlist_parse(parsed, names, NULL);
    ok(lists_equal(list, parsed), "the same as when parsed");
    free(copy);
    buffer_fini(&text);
    hostlist_destroy(list);
    hostlist_destroy(parsed);
}

static void test_print(void)
{
    print_case("n1", "n1");
    print_case("n1 n2 n3", "n[1-3]");
    print_case("n1 n3 n4 n9", "n[1,3-4,9]");
    print_case("n08 n09 n10 n11", "n[08-11]");
    print_case("n8 n9 n10 n011 n012", "n[8-10,011-012]");
    print_case("n98 n99 n100", "n[98-100]");
    print_case("n1.a.b n2.a.b n3.a.b", "n[1-3].a.b");
    print_case("n1-ib0 n2-ib0 n3-ib1", "n[1-2]-ib0,n3-ib1");
    print_case("10.0.0.9 10.0.0.10", "10.0.0.[9-10]");
    print_case("x1c0n0 x1c0n1 x1c1n0", "x1c0n[0-1],x1c1n0");
    print_case("a b c", "a,b,c");
    print_case("n1 n1 n1", "n[1,1,1]");
    print_case("a a", "a,a");
    print_case("7 8", "[7-8]");
    print_case("n]1 n]2", "n]1,n]2");
    print_case("n18446744073709551615 n0", "n[18446744073709551615,0]");
    print_case("n18446744073709551616 n18446744073709551617",
               "n18446744073709551616,n18446744073709551617");
}

/* Runs join names and runs that they continue. */
static void test_join(void)
{
    struct hostlist *list = hostlist_create(), *other = hostlist_create();
    struct buffer text = {0};

    hostlist_parse(list, "n5,n[6-9],n10,n[11-12],n[013-014],m]1,m]2,n[1-2]-ib,n3-ib", NULL);
    hostlist_print(list, &text);
    is_string(buffer_string(&text), "n[5-12,013-014],m]1,m]2,n[1-3]-ib", "joined as parsed");
    hostlist_parse(other, "n[4-5]-ib", NULL);
    hostlist_move(list, other);
    is_uint(hostlist_count(other), 0, "a moved list is empty");
    hostlist_move(other, list);
    buffer_clear(&text);
    hostlist_print(other, &text);
    is_string(buffer_string(&text), "n[5-12,013-014],m]1,m]2,n[1-5]-ib", "joined as moved");
    hostlist_destroy(list);
    hostlist_destroy(other);
    buffer_fini(&text);
}

static void test_find(void)
{
    struct hostlist *list = hostlist_create();

    hostlist_parse(list, "n[08-11],login,n[09-10],n[7-8]-ib", NULL);
    is_int(hostlist_find(list, "n08", 0), 0, "the first");
    is_int(hostlist_find(list, "n11", 0), 3, "the last of a run");
    is_int(hostlist_find(list, "login", 2), 4, "a name without number");
    is_int(hostlist_find(list, "n10", 3), 6, "a later one of the same name");
    is_int(hostlist_find(list, "n10", 6), 6, "from itself");
    is_int(hostlist_find(list, "n10", 7), -1, "not after the last");
    is_int(hostlist_find(list, "n8", 0), -1, "another padding is another name");
    is_int(hostlist_find(list, "n012", 0), -1, "a number out of the range");
    is_int(hostlist_find(list, "n8-ib", 0), 8, "with a suffix");
    is_int(hostlist_find(list, "n", 0), -1, "a prefix is no name");
    is_int(hostlist_find(list, "n-ib", 0), -1, "nor prefix and suffix");
    is_int(hostlist_find(list, "n08", 9), -1, "from beyond the end");
    hostlist_destroy(list);
}

static void test_rename(void)
{
    struct hostlist *list = hostlist_create();
    struct buffer text = {0};

    hostlist_parse(list, "n[1-4],x", NULL);
    hostlist_rename(list, 1, "y");
    hostlist_rename(list, 4, "n5");
    hostlist_print(list, &text);
    is_string(buffer_string(&text), "n1,y,n[3-5]", "names in the middle and at the end change");
    hostlist_rename(list, 1, "n2");
    hostlist_rename(list, 0, "z");
    buffer_clear(&text);
    hostlist_print(list, &text);
    is_string(buffer_string(&text), "z,n[2-5]", "also back, and the first");
    buffer_fini(&text);
    hostlist_destroy(list);
}

/* ---- Random lists ---- */

/* A name that often continues the one before it. */
static void random_name(struct random_state *random, const char *previous, char name[32])
{
    static const char *const stems[] = {"n", "n0", "rack1n", "", "x9-", "a]"};
    static const char *const tails[] = {"", "", "-ib", ".a.b1", "9"};
    unsigned int number;

    if (sscanf(previous, "n%u", &number) == 1 && random_chance(random, 0.7))
        snprintf(name, 32, random_chance(random, 0.5) ? "n%u" : "n%02u",
                 number + (unsigned int)random_below(random, 3));
    else if (random_chance(random, 0.1))
        snprintf(name, 32, "login");
    else
        snprintf(name, 32, "%s%u%s", stems[random_below(random, 6)],
                 (unsigned int)random_below(random, 12), tails[random_below(random, 5)]);
}

static int random_list_agrees(struct random_state *random)
{
    char names[NAMES_MAX][32];
    char got[HOST_NAME_BYTES_MAX + 1];
    uint32_t count = 1 + (uint32_t)random_below(random, NAMES_MAX);
    uint32_t first = (uint32_t)random_below(random, count);
    uint32_t length = (uint32_t)random_below(random, count - first + 1);
    struct hostlist *list = hostlist_create(), *slice = hostlist_create();
    int held = 1;

    for (uint32_t i = 0; i < count; i++) {
        random_name(random, i > 0 ? names[i - 1] : "", names[i]);
        hostlist_append(list, names[i]);
    }
    hostlist_append(slice, "in-front");
    hostlist_append_slice(slice, list, first, length);
    held = held && hostlist_count(list) == count && hostlist_count(slice) == length + 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t earliest = 0;

        hostlist_name(list, i, got);
        held = held && strcmp(got, names[i]) == 0;
        while (strcmp(names[earliest], names[i]) != 0)
            earliest++;
        held = held && hostlist_find(list, names[i], 0) == earliest &&
               hostlist_find(list, names[i], i) == i;
    }
    for (uint32_t i = 0; i < length; i++) {
        hostlist_name(slice, i + 1, got);
        held = held && strcmp(got, names[first + i]) == 0;
    }
    held = held && round_trips(list) && round_trips(slice);
    hostlist_destroy(list);
    hostlist_destroy(slice);
    return held;
}

/* Text of pieces that make sense and nonsense. */
static int random_text_agrees(struct random_state *random)
{
    static const char *const pieces[] = {"n", "[",  "]", "1",  "-",   ",",  "08", "11",
                                         "+", " ",  "x", "\t", "1-3", "[1", "]b", "[1-2]",
                                         "a", "9-", ".", "99", "]",   "\r", "-12"};
    struct hostlist *list = hostlist_create();
    struct buffer text = {0};
    int held;

    for (uint64_t i = random_below(random, 20); i > 0; i--)
        buffer_append_string(&text, pieces[random_below(random, sizeof(pieces) / sizeof(*pieces))]);
    if (hostlist_parse(list, buffer_string(&text), NULL) < 0)
        held = hostlist_count(list) == 0;
    else
        held = round_trips(list);
    hostlist_destroy(list);
    buffer_fini(&text);
    return held;
}

static void test_random(void)
{
    struct random_state random;
    int lists = 1, texts = 1;

    random_init(&random, 1);
    for (int i = 0; i < 5000; i++)
        lists = lists && random_list_agrees(&random);
    ok(lists, "random lists append, find, slice, print and parse as arrays do");
    for (int i = 0; i < 20000; i++)
        texts = texts && random_text_agrees(&random);
    ok(texts, "random text is refused or comes back as it was printed");
}

/* 1,000,000 names in 2,000 groups, mixed padding and holes: parsed and compressed to the same. */
static void test_large(void)
{
    struct hostlist *list = hostlist_create(), *slice = hostlist_create();
    struct buffer text = {0}, printed = {0};
    struct error error = ERROR_NONE;

    for (unsigned int i = 0; i < 500; i++)
        buffer_printf(&text, "%srack%un[%05u-%05u,2000-2499],rack%un[8-507,700-1199]-ib%u",
                      i > 0 ? "," : "", i, 7 * i, 7 * i + 499, i, i);
    is_int(hostlist_parse(list, buffer_string(&text), &error), 0, "a large list %s", error.text);
    is_uint(hostlist_count(list), 1000000, "has 1,000,000 names");
    is_uint(hostlist_runs(list), 2000, "in 2,000 runs");
    hostlist_print(list, &printed);
    is_string(buffer_string(&printed), buffer_string(&text), "and prints as it was");
    hostlist_append_slice(slice, list, 999998, 2);
    buffer_clear(&printed);
    hostlist_print(slice, &printed);
    is_string(buffer_string(&printed), "rack499n[1198-1199]-ib499", "its last two");
    hostlist_destroy(list);
    hostlist_destroy(slice);
    buffer_fini(&text);
    buffer_fini(&printed);
}

static void test_places(void)
{
    struct hostlist *list = hostlist_create(), *named = hostlist_create();
    struct ranges places = {0};
    struct buffer text = {0};

    for (uint32_t i = 0; i < 9; i++) {
        char name[] = {'n', (char)('1' + i), '\0'};

        hostlist_append(list, name);
    }
    hostlist_append_places(named, list, &places);
    is_uint(hostlist_count(named), 0, "no places have no names");
    ranges_add(&places, 0, 2);
    ranges_add(&places, 5, 5);
    ranges_add(&places, 8, 12);
    ranges_add(&places, 20, UINT32_MAX);
    hostlist_append_places(named, list, &places);
    hostlist_print(named, &text);
    is_string(buffer_string(&text), "n[1-2,5,8-9]", "names of places, of those that are nodes");
    buffer_fini(&text);
    ranges_fini(&places);
    hostlist_destroy(named);
    hostlist_destroy(list);
}

int main(void)
{
    test_vectors();
    test_errors();
    test_bytes();
    test_print();
    test_join();
    test_find();
    test_rename();
    test_random();
    test_large();
    test_places();
    return done_testing();
}
