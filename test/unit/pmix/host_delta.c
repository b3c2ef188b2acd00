/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of a fence's data is sent, made and read by libpmix's own functions in the form of its server: one key or many,
 * with a table of them or not, values that change, processes that have nothing new, other operations in between.
 */
#include "config.h"

#include "pmix/host_delta.h"
#include "test/support/tap.h"

#include <stdlib.h>
#include <string.h>

#include <pmix.h>
#include <pmix_tool.h>

/* libpmix 4 keeps some words of its own tool, which is not for us to mend. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:PMIx_tool_init\nleak:pmix_bfrops_base_value_load\n";
}

#define COLLECT 1
#define KEYED   2

static const struct host_process everyone[] = {{.namespace = "jobs-1", .rank = PMI_RANK_ALL}};
static const struct host_process some[] = {{.namespace = "jobs-1", .rank = 0},
                                           {.namespace = "jobs-1", .rank = 3}};

static void pack(pmix_data_buffer_t *buffer, void *value, int32_t count, pmix_data_type_t type)
{
    if (PMIx_Data_pack(NULL, buffer, value, count, type) != PMIX_SUCCESS)
        abort();
}

static void pack_object(pmix_data_buffer_t *buffer, pmix_data_buffer_t *inner)
{
    pmix_byte_object_t object = {.bytes = inner->base_ptr, .size = inner->bytes_used};

    pack(buffer, &object, 1, PMIX_BYTE_OBJECT);
    PMIX_DATA_BUFFER_DESTRUCT(inner);
}

/* A process's keys and values: "a=1 b=2", in this order; names "": without a table. */
static void pack_process(pmix_data_buffer_t *node, uint32_t rank, const char *text,
                         const char *names)
{
    char *copy = strdup(text), *rest = copy, *word;
    pmix_data_buffer_t process;

    PMIX_DATA_BUFFER_CONSTRUCT(&process);
    pack(&process, &rank, 1, PMIX_PROC_RANK);
    while ((word = strsep(&rest, " ")) != NULL && *word != '\0') {
        uint32_t value = (uint32_t)atoi(word + 2);
        char key[2] = {*word}, *keys[] = {key};

        if (*names != '\0') {
            uint32_t number = (uint32_t)(strchr(names, *word) - names);

            pack(&process, &number, 1, PMIX_UINT32);
        } else {
            pack(&process, keys, 1, PMIX_STRING);
        }
        pack(&process, &value, 1, PMIX_UINT32);
    }
    pack_object(node, &process);
    free(copy);
}

/* A node's data: "0 a=1 b=2;3 a=1": two processes; names: of the keys, a letter each.  A process without keys, "3 ", is
 * there with libpmix 5 only. */
static struct buffer node_data(const char *text, const char *names)
{
    uint8_t flags = COLLECT | (*names != '\0' ? KEYED : 0);
    char *copy = strdup(text), *rest = copy, *process;
    uint32_t count = (uint32_t)strlen(names);
    pmix_data_buffer_t node, whole;
    struct buffer data = {0};

    PMIX_DATA_BUFFER_CONSTRUCT(&node);
    PMIX_DATA_BUFFER_CONSTRUCT(&whole);
    pack(&node, &flags, 1, PMIX_BYTE);
    if (count > 0) {
        char letters[16][2] = {{0}}, *keys[16];

        for (uint32_t i = 0; i < count; i++) {
            letters[i][0] = names[i];
            keys[i] = letters[i];
        }
        pack(&node, &count, 1, PMIX_UINT32);
        pack(&node, keys, (int32_t)count, PMIX_STRING);
    }
    while ((process = strsep(&rest, ";")) != NULL && *process != '\0') {
        if (strchr(process, '=') == NULL && BANYAN_PMIX_MAJOR < 5)
            continue;
        pack_process(&node, (uint32_t)atoi(process), strchr(process, ' ') + 1, names);
    }
    pack_object(&whole, &node);
    buffer_append(&data, whole.base_ptr, whole.bytes_used);
    PMIX_DATA_BUFFER_DESTRUCT(&whole);
    free(copy);
    return data;
}

static int same(const struct buffer *a, const struct buffer *b)
{
    return a->length_bytes == b->length_bytes && memcmp(a->data, b->data, a->length_bytes) == 0;
}

/* A fence with data succeeds; sent: what goes to others, NULL: all. */
static void fence(const struct host_process *members, size_t count, const char *text,
                  const char *names, const char *sent, const char *sent_names, const char *name)
{
    struct buffer data = node_data(text, names), part = {0};
    struct buffer expected = node_data(sent != NULL ? sent : "", sent_names);
    uint64_t number = host_delta_begin(members, count, data.data, data.length_bytes, &part);

    host_delta_end(members[0].namespace, number, 1);
    ok(sent == NULL ? part.length_bytes == 0 : same(&part, &expected), "%s", name);
    buffer_fini(&data);
    buffer_fini(&part);
    buffer_fini(&expected);
}

static void fence_all(const char *text, const char *sent, const char *name)
{
    fence(everyone, 1, text, "", sent, "", name);
}

static void test_keys(void)
{
    fence_all("0 a=1;3 a=5", NULL, "the first fence sends all");
    fence_all("0 a=1 b=2;3 a=5 b=6", "0 b=2;3 b=6", "the next what has been added");
    fence_all("0 a=1 b=2;3 a=5 b=6", "0 ;3 ", "one without anything new nothing");
    fence_all("3 a=5 b=6 c=7;0 a=1 b=2", "3 c=7;0 ", "in whatever order the processes come");
    fence_all("3 a=5 b=6 c=7;0 a=9 b=2", "3 ;0 a=9 b=2",
              "all of a process of which a value has changed");
    fence_all("3 a=5 b=6 c=7;0 a=9 b=2;7 a=1", "3 ;0 ;7 a=1", "and of a new one");
    fence_all("7 a=1", "7 ", "which is then known");
    fence_all("0 a=9 b=2;7 a=1", "0 a=9 b=2;7 ", "one that was not there is sent again");
    host_delta_close("jobs-1");
    fence_all("0 a=9 b=2;7 a=1", NULL, "nothing is known of a new job");
    host_delta_close("jobs-1");
}

static void test_table(void)
{
    fence(everyone, 1, "0 a=1;3 a=5", "a", NULL, "", "a table of keys: all");
    fence(everyone, 1, "0 a=1 b=2;3 a=5", "ab", "0 b=2;3 ", "ab",
          "what is new, with the whole table");
    fence(everyone, 1, "0 a=1 b=2;3 a=5", "ab", "0 ;3 ", "", "nothing new: no table either");
    fence(everyone, 1, "0 b=2 a=1;3 a=5", "ba", NULL, "", "other numbers of keys: all");
    fence(everyone, 1, "0 b=2 a=1;3 a=5", "", NULL, "", "another form: all");
    fence(everyone, 1, "0 b=2 a=1;3 a=5 c=1", "", "0 ;3 c=1", "", "the same again: what is new");
    host_delta_close("jobs-1");
}

static void test_members(void)
{
    fence_all("0 a=1", NULL, "members: all");
    fence(some, 2, "0 a=1", "", NULL, "", "others have nothing");
    fence(some, 2, "0 a=1", "", NULL, "", "nor is that sure before a second one");
    fence(some, 2, "0 a=1", "", "0 ", "", "but then");
    fence_all("0 a=1", NULL, "and what the first had may have changed");
    fence_all("0 a=1", NULL, "likewise");
    fence_all("0 a=1", "0 ", "until now");
    host_delta_forget("jobs-1");
    fence_all("0 a=1", NULL, "it may by a direct modex");
    host_delta_forget("jobs-2");
    fence_all("0 a=1", "0 ", "unless that was of another job");
    host_delta_close("jobs-1");
}

static void test_others(void)
{
    struct buffer data = node_data("0 a=1", ""), part = {0};
    uint64_t first, second;

    fence_all("0 a=1", NULL, "a first fence");
    first = host_delta_begin(everyone, 1, NULL, 0, &part);
    host_delta_end("jobs-1", first, 0);
    fence_all("0 a=1", NULL, "a group makes nothing known");

    first = host_delta_begin(everyone, 1, data.data, data.length_bytes, &part);
    ok(part.length_bytes > 0 && part.length_bytes < data.length_bytes, "less is sent");
    buffer_clear(&part);
    second = host_delta_begin(everyone, 1, data.data, data.length_bytes, &part);
    is_uint(part.length_bytes, 0, "two at once: all");
    host_delta_end("jobs-1", first, 1);
    host_delta_end("jobs-1", second, 1);
    fence_all("0 a=1", NULL, "of which neither makes anything known");

    first = host_delta_begin(everyone, 1, data.data, data.length_bytes, &part);
    buffer_clear(&part);
    host_delta_end("jobs-1", first, 0);
    fence_all("0 a=1", NULL, "nor one that fails");

    first = host_delta_begin(everyone, 1, data.data, data.length_bytes, &part);
    host_delta_forget("jobs-1");
    host_delta_end("jobs-1", first, 1);
    fence_all("0 a=1", NULL, "nor one with a direct modex meanwhile");
    host_delta_close("jobs-1");
    buffer_fini(&data);
    buffer_fini(&part);
}

static void send_garbage(const void *data, size_t data_bytes, const char *name)
{
    struct buffer part = {0};

    for (int i = 0; i < 2; i++) {
        host_delta_end("jobs-1", host_delta_begin(everyone, 1, data, data_bytes, &part), 1);
        is_uint(part.length_bytes, 0, "%s is sent whole (%d)", name, i);
    }
    host_delta_close("jobs-1");
}

static void test_garbage(void)
{
    struct buffer data = node_data("0 a=1;3 b=2", "ab");
    char *big = calloc(1, 17u << 20);

    send_garbage("x", 1, "a byte");
    send_garbage("\0\0\0\1\4abcd", 9, "an object with something else");
    for (size_t i = 1; i < data.length_bytes; i += 7)
        send_garbage(data.data, data.length_bytes - i, "a part");
    buffer_append(&data, "x", 1);
    send_garbage(data.data, data.length_bytes, "more than that");
    send_garbage(big, 17u << 20, "very much");
    free(big);
    buffer_fini(&data);
}

int main(void)
{
    bool yes = true;
    pmix_info_t info;
    pmix_proc_t self;

    PMIX_INFO_LOAD(&info, PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
    if (PMIx_tool_init(&self, &info, 1) != PMIX_SUCCESS)
        bail_out("libpmix");
    test_keys();
    test_table();
    test_members();
    test_others();
    test_garbage();
    PMIx_tool_finalize();
    return done_testing();
}
