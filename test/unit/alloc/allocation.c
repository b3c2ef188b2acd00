/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocations: host files and --host with what is wrong in them, and random ones against a plain
 * array of names and slots.
 */
#include "config.h"

#include "alloc/allocation.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

/* "n[1-2]:4 m:1", nodes of equal slots together. */
static const char *describe(const struct allocation *allocation)
{
    static struct buffer text;
    uint32_t first = 0;

    buffer_clear(&text);
    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        struct hostlist *names = hostlist_create();

        hostlist_append_slice(names, allocation->names, first, allocation->runs[i].nodes);
        buffer_append_string(&text, i > 0 ? " " : "");
        hostlist_print(names, &text);
        buffer_printf(&text, ":%u", allocation->runs[i].slots);
        first += allocation->runs[i].nodes;
        hostlist_destroy(names);
    }
    if (first != allocation_nodes(allocation))
        return "slots do not cover the nodes";
    return buffer_string(&text);
}

/* ---- Good text ---- */

static void hosts_case(const char *text, const char *expected)
{
    struct allocation allocation;
    struct error error = ERROR_NONE;

    allocation_init(&allocation);
    allocation_parse_hosts(&allocation, text, &error);
    is_string(describe(&allocation), expected, "--host %s%s%s", text, error.code < 0 ? ": " : "",
              error.text);
    allocation_fini(&allocation);
}

static void file_case(const char *text, const char *expected)
{
    struct allocation allocation;
    struct error error = ERROR_NONE;

    allocation_init(&allocation);
    allocation_parse_hostfile(&allocation, "hosts", text, strlen(text), &error);
    is_string(describe(&allocation), expected, "host file %.20s%s%s", text,
              error.code < 0 ? ": " : "", error.text);
    allocation_fini(&allocation);
}

static void test_hosts(void)
{
    hosts_case("a", "a:1");
    hosts_case("a,b:4,n[1-3]:2", "a:1 b:4 n[1-3]:2");
    hosts_case("a,a,b,a", "a:3 b:1");
    hosts_case("b:2,a,b:3", "b:5 a:1");
    hosts_case(",a,, b\tc\nd,", "a,b,c,d:1");
    hosts_case("n[1-3]:2,n2,n[2-4]", "n1:2 n2:4 n3:3 n4:1");
    hosts_case("n[1-100],n[50-150]:2", "n[1-49]:1 n[50-100]:3 n[101-150]:2");
    hosts_case("n[001-100],n[1-100]", "n[001-099]:1 n100:2 n[1-99]:1");
    hosts_case("1,2,3:4", "[1-2]:1 3:4");
    hosts_case("10.0.0.1,10.0.0.2:2", "10.0.0.1:1 10.0.0.2:2");
    hosts_case("rack[1-2]n[1-2].a-b_c", "rack1n[1-2].a-b_c,rack2n[1-2].a-b_c:1");
    hosts_case("[fe80::1%eth0]:2,[::1],a", "fe80::1%eth0:2 ::1,a:1");
    hosts_case("a:0,b", "a:0 b:1");
    hosts_case("a:1000000", "a:1000000");
    hosts_case("n\xc3\xa9", "n\xc3\xa9:1");
}

static void test_hostfiles(void)
{
    file_case("a\n", "a:1");
    file_case("a", "a:1");
    file_case("a:2\nb slots=3\nc\n", "a:2 b:3 c:1");
    file_case("a slots = 2\nb slots= 3 # four\nc\tslots =4\n", "a:2 b:3 c:4");
    file_case("# nodes\n\n  \t\n a # first\n#\nb:2#second\n", "a:1 b:2");
    file_case("a\r\nb:2\r\n\r\nc slots=3\r\n", "a:1 b:2 c:3");
    file_case("a\nb\na\n", "a:2 b:1");
    file_case("a slots=2\nb\na slots=3\na\n", "a:6 b:1");
    file_case("n[1-3]:4\nn[4,5] slots=4\n", "n[1-5]:4");
    file_case("n1\nn2\nn3\nn[4-200]\nn201", "n[1-201]:1");
    file_case("100\n200 slots=2\n", "100:1 200:2");
    file_case("a slots=0\nb\n", "a:0 b:1");
    file_case("a count=2\nb cpu=3\nc slots=4 max_slots=4 // all\n", "a:2 b:3 c:4");
    file_case("// a comment\na max-slots=4 slots=2\nb:2 slots_max=2//all\n", "a,b:2");
    file_case("\xef\xbb\xbf"
              "a\n",
              "a:1");
    file_case("[fe80::1]:2\n[fe80::2] slots=3", "fe80::1:2 fe80::2:3");
}

/* ---- Bad text ---- */

static void hosts_error(const char *text, const char *expected)
{
    struct allocation allocation;
    struct error error = ERROR_NONE;

    allocation_init(&allocation);
    allocation_add(&allocation, "kept", 3);
    ok(allocation_parse_hosts(&allocation, text, &error) < 0, "--host %.40s fails", text);
    is_string(error.text, expected, "saying why");
    is_string(describe(&allocation), "kept:3", "and changes nothing");
    allocation_fini(&allocation);
}

static void bytes_error(const char *text, size_t bytes, const char *expected)
{
    struct allocation allocation;
    struct error error = ERROR_NONE;

    allocation_init(&allocation);
    allocation_add(&allocation, "kept", 3);
    ok(allocation_parse_hostfile(&allocation, "dir/hosts", text, bytes, &error) < 0,
       "host file %.20s fails", text);
    is_string(error.text, expected, "saying why");
    is_string(describe(&allocation), "kept:3", "and changes nothing");
    allocation_fini(&allocation);
}

static void file_error(const char *text, const char *expected)
{
    bytes_error(text, strlen(text), expected);
}

static void test_hosts_errors(void)
{
    hosts_error("", "contains no node name");
    hosts_error(" ,, ", "contains no node name");
    hosts_error("a,b[1", "column 4: unmatched '['");
    hosts_error("a,n[3-1]:4", "column 5: the range 3-1 runs backwards");
    hosts_error("a:x", "column 3: slots must be a number from 0 to 1000000, not \"x\"");
    hosts_error("a:", "column 3: slots must be a number from 0 to 1000000, not \"\"");
    hosts_error("a:-1", "column 3: slots must be a number from 0 to 1000000, not \"-1\"");
    hosts_error("a:1000001", "column 3: slots must be a number from 0 to 1000000, not \"1000001\"");
    hosts_error("a:99999999999999999999", "column 3: slots must be a number from 0 to 1000000, "
                                          "not \"99999999999999999999\"");
    hosts_error("a:1000000,b,a", "node a has more than 1000000 slots");
    hosts_error("a,:4", "column 3: missing name before ':'");
    hosts_error(
        "me@a,you@b",
        "column 6: two users, me and you: give one for all nodes, or set them in ssh's configuration");
    hosts_error("a,@b", "column 3: a user name must have 1 to 63 bytes");
    hosts_error("-lx@b", "column 1: '-' is not allowed here in a user name");
    hosts_error("m;e@b", "column 1: ';' is not allowed here in a user name");
    hosts_error("a,^b", "^b: no node has that name");
    hosts_error("a,^a,^kept", "all nodes are excluded");
    hosts_error("a,^", "column 4: '^' must be followed by a name without slots");
    hosts_error("a,^a:2", "column 5: '^' must be followed by a name without slots");
    hosts_error("a,^n[1", "column 5: unmatched '['");
    hosts_error("+n0", "column 1: there are no nodes to select from");
    hosts_error("^a", "there are no nodes to select from");
    hosts_error("..", "column 1: a node name cannot begin with '.'");
    hosts_error("-oProxyCommand=x", "column 1: a node name cannot begin with '-'");
    hosts_error("a;b", "column 2: ';' is not allowed in a node name");
    hosts_error("n{1..3}", "column 2: '{' is not allowed in a node name");
    hosts_error("a$(b)", "column 2: '$' is not allowed in a node name");
    hosts_error("a\x1b[1m", "column 2: control character 0x1b");
    hosts_error("fe80::1:4", "column 5: more than one ':': an IPv6 address is written "
                             "[fe80::1] or [fe80::1]:4");
    hosts_error("[fe80::1]4", "column 10: '4' is not allowed in a node name");
    hosts_error("[fe80::;]", "column 8: ';' is not allowed in a node name");
    hosts_error("n[[1-3]]", "column 3: '[' inside brackets");
    hosts_error("a,3]", "column 4: ']' without '[' before it");
    hosts_error("a,[1:2]", "column 4: not an IPv6 address");
    hosts_error("[-::1]", "column 2: not an IPv6 address");
    hosts_error("[:\x01]", "column 3: control character 0x01");
    hosts_error("n[1-9000000],m[1-9000000]", "column 14: more than 16777216 nodes");
    hosts_error("n[1-16777216]", "column 1: more than 16777216 nodes");
}

static void test_hostfile_errors(void)
{
    char long_line[400];

    file_error("", "dir/hosts: contains no node name");
    file_error("# nobody\n\n", "dir/hosts: contains no node name");
    file_error("a\nb slots=abc\n",
               "dir/hosts:2:9: slots must be a number from 0 to 1000000, not \"abc\"");
    file_error("a slots=-1", "dir/hosts:1:9: slots must be a number from 0 to 1000000, not \"-1\"");
    file_error("a slots=", "dir/hosts:1:9: slots must be a number from 0 to 1000000, not \"\"");
    file_error("a slots=1.5",
               "dir/hosts:1:9: slots must be a number from 0 to 1000000, not \"1.5\"");
    file_error("a slots", "dir/hosts:1:8: '=' is missing after slots");
    file_error("a slots 4", "dir/hosts:1:8: '=' is missing after slots");
    file_error("a slots=1 slots=2", "dir/hosts:1:11: slots given twice");
    file_error("a:4 slots=2", "dir/hosts:1:2: slots given twice");
    file_error("a max_slots=2 max-slots=3", "dir/hosts:1:15: max_slots given twice");
    file_error("a slots=4 max_slots=2", "dir/hosts:1:11: slots=4 is more than max_slots=2");
    file_error("a:4 max_slots=2", "dir/hosts:1:5: slots=4 is more than max_slots=2");
    file_error("a max_slots=0", "dir/hosts:1:3: slots=1 is more than max_slots=0");
    file_error("a max_slots=x",
               "dir/hosts:1:13: slots must be a number from 0 to 1000000, not \"x\"");
    file_error("a port=22", "dir/hosts:1:3: port= is not supported: give the port in ssh's "
                            "configuration");
    file_error(
        "a:4 user=me\nb user-name=you",
        "dir/hosts:2:13: two users, me and you: give one for all nodes, or set them in ssh's configuration");
    file_error("a:4 binding=map=0",
               "dir/hosts:1:5: binding= is not supported: a host file does not set binding");
    file_error("rank 0=a slot=1", "dir/hosts:1:6: write slots as name:0 or slots=0, not \"0\"");
    file_error(
        "a b",
        "dir/hosts:1:3: unknown attribute \"b\"; known are slots=N, max_slots=N and user=NAME");
    file_error("n1 4", "dir/hosts:1:4: write slots as name:4 or slots=4, not \"4\"");
    file_error("n1 slots:4", "dir/hosts:1:4: write slots=4, not \"slots:4\"");
    file_error("n1 slots=4 maxslots=2", "dir/hosts:1:12: slots=4 is more than max_slots=2");
    file_error("n1 slot:4", "dir/hosts:1:4: unknown attribute \"slot:4\"; known are slots=N, "
                            "max_slots=N and user=NAME");
    file_error(
        "a =4",
        "dir/hosts:1:3: unknown attribute \"\"; known are slots=N, max_slots=N and user=NAME");
    file_error("a\n\n  b,c\n", "dir/hosts:3:4: one entry per line (several names: n[1-3])");
    file_error("a\nn[1-\n", "dir/hosts:2:2: unmatched '['");
    file_error("a\nxn[5-2] slots=4\n", "dir/hosts:2:4: the range 5-2 runs backwards");
    file_error("a\rb\n", "dir/hosts:1:2: control character 0x0d");
    file_error("a\n\x7f\n", "dir/hosts:2:1: control character 0x7f");
    file_error(
        "a\n/* b */\n",
        "dir/hosts:2:4: unknown attribute \"b\"; known are slots=N, max_slots=N and user=NAME");
    bytes_error("a\nb\0c\n", 6, "dir/hosts:2:2: control character 0x00");
    bytes_error("a\n\0", 3, "dir/hosts:2:1: control character 0x00");
    bytes_error("a x\0y\n", 6, "dir/hosts:1:4: control character 0x00");
    snprintf(long_line, sizeof(long_line), "a\n%0256d\n", 1);
    file_error(long_line, "dir/hosts:2:1: a name of more than 255 bytes");
    snprintf(long_line, sizeof(long_line), "a\n%0256d:4\n", 1);
    file_error(long_line, "dir/hosts:2:1: a name of more than 255 bytes");
}

/* ---- Relative entries ---- */

static int base_asked;

static int base_nodes(void *context, const struct allocation **ret_nodes, struct error *error)
{
    base_asked++;
    *ret_nodes = context;
    return *ret_nodes != NULL ? 0 : error_set(error, -ENOENT, "no job is there");
}

/* With n1:4 n2:4 n3:2 n4:2 there, of which n2 has processes. */
static void relative_case(const char *text, const char *expected, const char *user)
{
    struct allocation nodes, allocation;
    struct ranges busy = {0};
    struct allocation_base base = {.nodes = base_nodes, .context = &nodes, .busy = &busy};
    struct error error = ERROR_NONE;

    base_asked = 0;
    ranges_add(&busy, 1, 1);
    allocation_init(&nodes);
    allocation_parse_hosts(&nodes, "n[1-2]:4,n[3-4]:2", NULL);
    allocation_init(&allocation);
    allocation_parse_hosts_of(&allocation, text, &base, &error);
    is_string(error.text[0] != '\0' ? error.text : describe(&allocation), expected, "%s", text);
    is_string(allocation.user, user, "the user");
    allocation_fini(&allocation);
    allocation_fini(&nodes);
    ranges_fini(&busy);
}

static void test_relative(void)
{
    relative_case("+n0", "n1:4", "");
    relative_case("+n3,+n1:1,x:7", "n4:2 n2:1 x:7", "");
    relative_case("+n4", "column 1: no node +n4: there are 4 nodes, +n0 to +n3", "");
    relative_case("+n", "column 1: the number after +n is missing", "");
    relative_case("x,+n1x", "column 3: the number after +n is a number, not \"1x\"", "");
    relative_case("+n1:", "column 1: the slots is missing", "");
    relative_case("+n99999999999", "column 1: the number after +n is too large", "");
    relative_case("+x", "column 1: expected +nK or +e", "");
    relative_case("+e", "n1:4 n[3-4]:2", "");
    relative_case("n1:9,+e:1", "n1:9 n3:2", "");
    relative_case("+e:4", "column 1: only 3 nodes are empty, too few for +e:4", "");
    relative_case("+ex", "column 1: expected +e or +e:N", "");
    relative_case("^n2", "n1:4 n[3-4]:2", "");
    relative_case("^n[1-3]", "n4:2", "");
    relative_case("^n9", "^n9: no node has that name", "");
    relative_case("^n[1-4]", "all nodes are excluded", "");
    relative_case("+e,^n1", "n[3-4]:2", "");
    relative_case("me@x:2,n2,me@n3", "x:2 n[2-3]:1", "me");
    is_int(base_asked, 0, "nobody asks what there is if nothing is relative");
    relative_case("me@[fe80::1]:2,n[7-9],^n8", "fe80::1:2 n[7,9]:1", "me");
}

static void test_relative_file(void)
{
    struct allocation allocation;
    struct allocation_base base = {.nodes = base_nodes};
    static const char text[] = "a slots=2 user=me\nb:3\n^a\n";
    struct error error = ERROR_NONE;

    allocation_init(&allocation);
    is_int(allocation_parse_hostfile_of(&allocation, "h", text, strlen(text), &base, &error), 0,
           "a host file excludes, too");
    is_string(describe(&allocation), "b:3", "what it named before");
    is_string(allocation.user, "me", "and says who to be");
    ok(allocation_parse_hostfile_of(&allocation, "h", "b\n +n1\n", 7, &base, &error) < 0,
       "without nodes there nothing is relative");
    is_string(error.text, "h:2:2: no job is there", "as whoever was asked says");
    allocation_fini(&allocation);
}

static void test_zero_slots(void)
{
    struct allocation allocation;
    struct error error = ERROR_NONE;

    allocation_init(&allocation);
    is_int(allocation_parse_hosts(&allocation, "a:0,b:0", &error), -EINVAL, "no slot at all");
    is_string(error.text, "no node has a slot", "is said");
    is_int(allocation_parse_hostfile(&allocation, "h", "a:0\n", 4, &error), -EINVAL,
           "nor in a host file");
    is_string(error.text, "h: no node has a slot", "is said");
    is_uint(allocation_nodes(&allocation), 0, "nothing was added");
    allocation_fini(&allocation);
}

/* ---- Adding, asking ---- */

static void test_add(void)
{
    struct allocation allocation;
    char name[HOST_NAME_BYTES_MAX + 1];

    allocation_init(&allocation);
    is_uint(allocation_slots(&allocation), 0, "an empty allocation has no slots");
    allocation_generate(&allocation, "v", 0, 4);
    is_uint(allocation_nodes(&allocation), 0, "no nodes are generated");
    allocation_generate(&allocation, "v", 1000000, 128);
    is_uint(allocation_nodes(&allocation), 1000000, "a million nodes are generated");
    is_uint(allocation_slots(&allocation), 128000000, "with their slots");
    ok(allocation.runs_count == 1 && hostlist_runs(allocation.names) == 1, "in one run");
    hostlist_name(allocation.names, 999999, name);
    is_string(name, "v1000000", "the last has its name");
    allocation_add(&allocation, "v500000", 2);
    allocation_add(&allocation, "w", 2);
    is_uint(allocation_slots_of(&allocation, 499998), 128, "the node before has its slots");
    is_uint(allocation_slots_of(&allocation, 499999), 130, "a node got more");
    is_uint(allocation_slots_of(&allocation, 500000), 128, "the node after has its slots");
    is_uint(allocation_slots_of(&allocation, 1000000), 2, "a node was added");
    is_uint(allocation.runs_count, 4, "in four runs");
    allocation_add(&allocation, "w", 126);
    is_uint(allocation.runs_count, 3, "equal neighbours are one run");
    allocation_add(&allocation, "w", ALLOCATION_SLOTS_MAX);
    is_uint(allocation_slots_of(&allocation, 1000000), ALLOCATION_SLOTS_MAX, "up to the limit");
    allocation_fini(&allocation);
}

static void test_append(void)
{
    struct allocation allocation, copy, added;

    allocation_init(&allocation);
    allocation_init(&added);
    allocation_parse_hosts(&allocation, "n[1-3]:2,x", NULL);
    allocation_parse_hosts(&added, "y,n[4-5]:2", NULL);
    allocation_copy(&copy, &allocation);
    allocation_append(&copy, &added);
    is_string(describe(&copy), "n[1-3]:2 x,y:1 n[4-5]:2", "nodes are added to a copy");
    is_string(describe(&allocation), "n[1-3]:2 x:1", "of nodes that stay as they are");
    is_string(copy.origin, "--host", "and come from the same");
    allocation_fini(&allocation);
    allocation_fini(&copy);
    allocation_fini(&added);
}

static void test_origin(void)
{
    struct allocation allocation;
    char file[200];

    allocation_init(&allocation);
    allocation_parse_hosts(&allocation, "a,b", NULL);
    is_string(allocation.origin, "--host", "origin of --host");
    allocation_parse_hosts(&allocation, "b,c", NULL);
    is_string(allocation.origin, "--host", "the same again");
    is_string(describe(&allocation), "a:1 b:2 c:1", "adds up");
    allocation_parse_hostfile(&allocation, "dir/hosts", "c\nd\n", 4, NULL);
    is_string(allocation.origin, "--host and host file dir/hosts", "then a file");
    is_string(describe(&allocation), "a:1 b,c:2 d:1", "adds up");
    memset(file, 'x', sizeof(file) - 1);
    file[sizeof(file) - 1] = '\0';
    allocation_parse_hostfile(&allocation, file, "c\n", 2, NULL);
    is_uint(strlen(allocation.origin), sizeof(allocation.origin) - 1, "a long name is cut");
    allocation_fini(&allocation);
}

/* ---- Wire ---- */

static int allocations_equal(const struct allocation *a, const struct allocation *b)
{
    char name_a[HOST_NAME_BYTES_MAX + 1], name_b[HOST_NAME_BYTES_MAX + 1];

    if (allocation_nodes(a) != allocation_nodes(b) || a->runs_count != b->runs_count ||
        allocation_slots(a) != allocation_slots(b))
        return 0;
    for (uint32_t i = 0; i < allocation_nodes(a); i++) {
        hostlist_name(a->names, i, name_a);
        hostlist_name(b->names, i, name_b);
        if (strcmp(name_a, name_b) != 0 || allocation_slots_of(a, i) != allocation_slots_of(b, i))
            return 0;
    }
    return 1;
}

/* What is encoded is decoded, and cut at any byte refused. */
static int wire_agrees(const struct allocation *allocation)
{
    struct buffer bytes = {0};
    struct allocation decoded;
    struct wire_reader reader;
    int held;

    allocation_encode(allocation, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    held = allocation_decode(&decoded, &reader) == 0 && wire_finish(&reader) == 0 &&
           allocations_equal(allocation, &decoded);
    allocation_fini(&decoded);
    for (size_t length = 0; length < bytes.length_bytes; length++) {
        unsigned char *cut = malloc(length > 0 ? length : 1); /* for the sanitizer to guard */

        memcpy(cut, bytes.data, length);
        wire_reader_init(&reader, cut, length);
        held = held && allocation_decode(&decoded, &reader) == -EBADMSG &&
               allocation_nodes(&decoded) == 0;
        allocation_fini(&decoded);
        free(cut);
    }
    buffer_fini(&bytes);
    return held;
}

static void decode_error(const char *bytes, size_t length, const char *name)
{
    struct allocation decoded;
    struct wire_reader reader;

    wire_reader_init(&reader, bytes, length);
    is_int(allocation_decode(&decoded, &reader), -EBADMSG, "%s", name);
    allocation_fini(&decoded);
}

static void test_wire(void)
{
    struct allocation allocation;

    allocation_init(&allocation);
    ok(wire_agrees(&allocation), "an empty allocation goes over the wire");
    allocation_parse_hosts(&allocation, "n[1-100]:4,m[01-07]-ib:300,x", NULL);
    ok(wire_agrees(&allocation), "a mixed one too");
    allocation_fini(&allocation);
    decode_error("\x03n[1\x01\x01\x01", 7, "names that do not parse");
    decode_error("\x03"
                 "a,b\x01\x01\x01",
                 7, "slots for too few nodes");
    decode_error("\x03"
                 "a,b\x01\x03\x01",
                 7, "slots for too many");
    decode_error("\x03"
                 "a,b\x02\x01\x01\x01\x01",
                 9, "equal neighbours");
    decode_error("\x03"
                 "a,b\x02\x02\x01\x00\x02",
                 9, "a run of no nodes");
    decode_error("\x01"
                 "a\x01\x01\xc1\x84\x3d",
                 7, "too many slots");
}

/* ---- Random against arrays ---- */

#define NODES_MAX 600

struct model {
    char names[NODES_MAX][24];
    uint32_t slots[NODES_MAX];
    uint32_t count;
};

static void model_add(struct model *model, const char *name, uint32_t slots)
{
    uint32_t i = 0;

    while (i < model->count && strcmp(model->names[i], name) != 0)
        i++;
    if (i == model->count) {
        snprintf(model->names[i], sizeof(model->names[i]), "%s", name);
        model->slots[i] = 0;
        model->count++;
    }
    model->slots[i] += slots;
}

/* A random entry, as text and into the model: runs shorter and longer than the index takes apart,
 * which overlap in odd ways. */
static void random_entry(struct random_state *random, struct model *model, struct buffer *text)
{
    static const char *const around[][2] = {{"n", ""}, {"n1", ""}, {"n", "1"}, {"n0", ""},
                                            {"", ""},  {"n", "b"}, {"n1b", ""}};
    const char *const *texts = around[random_below(random, sizeof(around) / sizeof(*around))];
    unsigned int first = (unsigned int)random_below(random, 120);
    unsigned int length = 1;
    unsigned int width = random_chance(random, 0.3) ? 2 : 1;
    unsigned int slots = (unsigned int)random_below(random, 4);
    char name[24];

    if (random_chance(random, 0.5))
        length = (unsigned int)random_below(random, 150) + 1;
    for (unsigned int i = first; i < first + length; i++) {
        snprintf(name, sizeof(name), "%s%0*u%s", texts[0], (int)width, i, texts[1]);
        model_add(model, name, slots);
    }
    if (length > 1)
        buffer_printf(text, "%s[%0*u-%u]%s:%u", texts[0], (int)width, first, first + length - 1,
                      texts[1], slots);
    else
        buffer_printf(text, "%s:%u", name, slots);
}

static int random_agrees(struct random_state *random)
{
    static struct model model;
    struct allocation allocation;
    struct buffer text = {0};
    char name[HOST_NAME_BYTES_MAX + 1];
    int as_file = random_chance(random, 0.5);
    uint64_t total = 0;
    int held, rc;

    model.count = 0;
    for (uint64_t i = random_below(random, 6) + 1; i > 0 && model.count + 150 < NODES_MAX; i--) {
        random_entry(random, &model, &text);
        buffer_append_string(&text, as_file ? "\n" : ",");
    }
    for (uint32_t i = 0; i < model.count; i++)
        total += model.slots[i];
    allocation_init(&allocation);
    if (as_file)
        rc = allocation_parse_hostfile(&allocation, "f", buffer_string(&text), text.length_bytes,
                                       NULL);
    else
        rc = allocation_parse_hosts(&allocation, buffer_string(&text), NULL);
    held = total == 0 ? rc == -EINVAL : rc == 0 && allocation_nodes(&allocation) == model.count;
    held = held && allocation_slots(&allocation) == total;
    for (uint32_t i = 0; held && rc == 0 && i < model.count; i++) {
        hostlist_name(allocation.names, i, name);
        held = strcmp(name, model.names[i]) == 0 &&
               allocation_slots_of(&allocation, i) == model.slots[i];
    }
    held = held && wire_agrees(&allocation);
    if (!held)
        diag("%s", buffer_string(&text));
    allocation_fini(&allocation);
    buffer_fini(&text);
    return held;
}

/* Bytes of a host file's alphabet: for the sanitizers. */
static void test_garbage(struct random_state *random)
{
    static const char *const pieces[] = {"n",  "[",  "]", "1-3", ":", "slots=", "4",  "\n",
                                         "\r", "\0", " ", "#",   ",", "::",     "[:", "\xff",
                                         "-",  "=",  "@", "a",   "x", "\t",     "]:", "9"};

    for (int round = 0; round < 20000; round++) {
        struct allocation allocation;
        struct buffer text = {0};

        for (uint64_t i = random_below(random, 20); i > 0; i--) {
            uint64_t piece = random_below(random, sizeof(pieces) / sizeof(*pieces));

            buffer_append(&text, pieces[piece], piece == 9 ? 1 : strlen(pieces[piece]));
        }
        allocation_init(&allocation);
        allocation_parse_hostfile(&allocation, "f", (char *)text.data, text.length_bytes, NULL);
        allocation_parse_hosts(&allocation, buffer_string(&text), NULL);
        allocation_fini(&allocation);
        buffer_fini(&text);
    }
    pass("random text is read without harm");
}

static void test_clear_last(void)
{
    struct allocation allocation;

    allocation_init(&allocation);
    allocation_parse_hosts(&allocation, "n[1-3]:4,n[4-5]:2", NULL);
    allocation_clear_last(&allocation, 0);
    is_string(describe(&allocation), "n[1-3]:4 n[4-5]:2", "none of the last is cleared");
    allocation_clear_last(&allocation, 1);
    is_string(describe(&allocation), "n[1-3]:4 n4:2 n5:0", "the last one is");
    allocation_clear_last(&allocation, 3);
    is_string(describe(&allocation), "n[1-2]:4 n[3-5]:0", "the last three are");
    allocation_clear_last(&allocation, 5);
    is_string(describe(&allocation), "n[1-5]:0", "all are");
    allocation_fini(&allocation);
}

int main(void)
{
    struct random_state random;
    int held = 1;

    test_hosts();
    test_hostfiles();
    test_hosts_errors();
    test_hostfile_errors();
    test_relative();
    test_relative_file();
    test_zero_slots();
    test_add();
    test_append();
    test_clear_last();
    test_origin();
    test_wire();
    random_init(&random, 1);
    for (int round = 0; round < 2000 && held; round++)
        held = random_agrees(&random);
    ok(held, "random entries add up as in an array");
    test_garbage(&random);
    return done_testing();
}
