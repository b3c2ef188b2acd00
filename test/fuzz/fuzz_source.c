/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sources of allocations, host files and --host. The first byte chooses the reader; the rest is
 * texts with a byte 0xff between them: values of the variables in the order in which they are asked
 * for, then the same texts as files and as Flux's resources.
 */
#include "config.h"

#include "alloc/host_name.h"
#include "alloc/source.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 6, NAMES_CHECKED_MAX = 1000 };

static struct texts {
    char *text[TEXTS_MAX]; /* NUL-terminated copies */
    size_t bytes[TEXTS_MAX];
    uint32_t count;
    uint32_t asked;
} texts;

static void texts_split(const uint8_t *data, size_t data_bytes)
{
    texts.count = 0;
    texts.asked = 0;
    while (texts.count < TEXTS_MAX) {
        const uint8_t *stop = data_bytes > 0 ? memchr(data, 0xff, data_bytes) : NULL;
        size_t bytes = stop != NULL ? (size_t)(stop - data) : data_bytes;
        char *text = memory_allocate(bytes + 1);

        if (bytes > 0)
            memcpy(text, data, bytes);
        text[bytes] = '\0';
        texts.text[texts.count] = text;
        texts.bytes[texts.count++] = bytes;
        if (stop == NULL)
            return;
        data += bytes + 1;
        data_bytes -= bytes + 1;
    }
}

/* A text "-" leaves its variable unset. */
static const char *fuzz_variable(void *context, const char *name)
{
    const char *text = texts.text[texts.asked++ % texts.count];

    (void)context;
    (void)name;
    return strcmp(text, "-") == 0 ? NULL : text;
}

static int fuzz_file(void *context, const char *path, struct buffer *text)
{
    uint32_t last = texts.count - 1;

    (void)context;
    if (path[0] == '!')
        return -ENOENT;
    buffer_append(text, texts.text[last], texts.bytes[last]);
    return 0;
}

static int fuzz_flux(void *context, const char *job, struct flux_resources *ret_resources,
                     struct error *error)
{
    static struct flux_entry entries[2];
    static const char *nodelist[1];

    (void)context;
    (void)job;
    (void)error;
    entries[0] = (struct flux_entry){texts.text[0], texts.text[1 % texts.count]};
    entries[1] = (struct flux_entry){texts.text[2 % texts.count], texts.text[3 % texts.count]};
    nodelist[0] = texts.text[texts.count - 1];
    *ret_resources = (struct flux_resources){entries, texts.count > 3 ? 2 : 1, nodelist, 1};
    return 0;
}

static void allocations_are_equal(const struct allocation *left, const struct allocation *right)
{
    char one[HOST_NAME_BYTES_MAX + 1], other[HOST_NAME_BYTES_MAX + 1];
    uint32_t nodes = allocation_nodes(left);

    assert(allocation_nodes(right) == nodes);
    for (uint32_t i = 0; i < nodes; i += 1 + nodes / NAMES_CHECKED_MAX) {
        hostlist_name(left->names, i, one);
        hostlist_name(right->names, i, other);
        assert(strcmp(one, other) == 0);
    }
    assert(left->runs_count == right->runs_count);
    for (uint32_t i = 0; i < left->runs_count; i++)
        assert(left->runs[i].nodes == right->runs[i].nodes &&
               left->runs[i].slots == right->runs[i].slots);
}

/* As --host has it: names and slots of each run of equal nodes; addresses of IPv6 in brackets. */
static int print_hosts(const struct allocation *allocation, struct buffer *out)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    uint32_t node = 0;

    if (allocation->user[0] != '\0')
        buffer_printf(out, "%s@", allocation->user);
    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        for (uint32_t k = 0; k < allocation->runs[i].nodes; k++, node++) {
            if (node > NAMES_CHECKED_MAX || allocation->runs[i].slots == 0)
                return 0; /* too long for this, or nothing that --host can say */
            hostlist_name(allocation->names, node, name);
            buffer_printf(out, strchr(name, ':') != NULL ? "%s[%s]:%u" : "%s%s:%u",
                          node > 0 ? "," : "", name, allocation->runs[i].slots);
        }
    }
    return 1;
}

/* It is the same after the wire, and after --host has read what it prints as. */
static void allocation_returns(const struct allocation *allocation)
{
    struct allocation again;
    struct wire_reader reader;
    struct buffer bytes = {0}, words = {0};
    struct error error = ERROR_NONE;

    allocation_encode(allocation, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    assert(allocation_decode(&again, &reader) == 0 && wire_left(&reader) == 0);
    allocations_are_equal(allocation, &again);
    allocation_fini(&again);
    if (print_hosts(allocation, &words)) {
        allocation_init(&again);
        assert(allocation_parse_hosts(&again, buffer_string(&words), &error) == 0);
        allocations_are_equal(allocation, &again);
        assert(strcmp(allocation->user, again.user) == 0);
        allocation_fini(&again);
    }
    buffer_fini(&bytes);
    buffer_fini(&words);
}

/* What was accepted is a usable allocation. */
static void allocation_check(const struct allocation *allocation)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    uint32_t nodes = allocation_nodes(allocation);
    uint64_t covered = 0;
    size_t offset;

    assert(nodes > 0 && allocation_slots(allocation) > 0);
    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        assert(allocation->runs[i].slots <= ALLOCATION_SLOTS_MAX);
        covered += allocation->runs[i].nodes;
    }
    assert(covered == nodes);
    for (uint32_t i = 0; i < nodes && i < NAMES_CHECKED_MAX; i++) {
        hostlist_name(allocation->names, i, name);
        assert(host_name_check(name, strlen(name), &offset, NULL) == 0);
    }
    allocation_returns(allocation);
}

static void source_case(const struct source *source)
{
    struct source_ops world = {fuzz_variable, fuzz_file, fuzz_flux, NULL};
    struct source_result result;
    struct error error = ERROR_NONE;

    if (source_read(source, &world, &result, &error) < 0) {
        assert(error.code < 0 && strncmp(error.text, source->title, strlen(source->title)) == 0);
        return;
    }
    allocation_check(&result.allocation);
    for (uint32_t i = 0; i < result.tasks_count; i++) {
        assert(result.tasks[i].node < allocation_nodes(&result.allocation));
        assert(!ranges_is_empty(&result.tasks[i].cpus));
    }
    source_result_fini(&result);
}

/* n[1-4] are there. */
static int fuzz_base(void *context, const struct allocation **ret_nodes, struct error *error)
{
    *ret_nodes = context;
    return 0;
}

static void text_case(int is_file)
{
    struct allocation nodes, allocation;
    struct allocation_base base = {.nodes = fuzz_base, .context = &nodes};
    struct error error = ERROR_NONE;
    int rc;

    allocation_init(&nodes);
    allocation_generate(&nodes, "n", 4, 2);
    allocation_init(&allocation);
    if (is_file)
        rc = allocation_parse_hostfile_of(&allocation, "hosts", texts.text[0], texts.bytes[0],
                                          &base, &error);
    else
        rc = allocation_parse_hosts_of(&allocation, texts.text[0], &base, &error);
    assert(rc == error.code && (rc < 0) == (error.text[0] != '\0'));
    if (rc == 0)
        allocation_check(&allocation);
    allocation_fini(&allocation);
    allocation_fini(&nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    size_t sources = 0;
    size_t which;

    if (data_bytes == 0)
        return 0;
    while (source_at(sources) != NULL)
        sources++;
    which = fuzz_choice(data[0], sources + 2);
    texts_split(data + 1, data_bytes - 1);
    if (which < sources)
        source_case(source_at(which));
    else
        text_case(which == sources);
    for (uint32_t i = 0; i < texts.count; i++)
        free(texts.text[i]);
    return 0;
}

/* ---- Samples ---- */

/* The header of a PALS file with one rank on one node. */
static size_t pals_sample(uint8_t *buffer, size_t buffer_bytes)
{
    enum { START = 4, RANKS = 112, NODES = 124, BYTES = 192 };
    static const struct {
        size_t at;
        uint8_t value;
    } fields[] = {{0, 5},   {64, 12},    {72, RANKS}, {80, 1},
                  {88, 68}, {96, NODES}, {104, 1},    {NODES + 4, 'n'}};

    assert(buffer_bytes >= START + BYTES);
    memset(buffer, 0, START + BYTES);
    memcpy(buffer, "\x01/\xff", 3); /* the file follows in the next text */
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        buffer[3 + fields[i].at] = fields[i].value;
    return START + BYTES;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const char *const samples[] = {
        "\x01/\xffn1\nn1\nn2\r\n",
        "\x02"
        "7\xff-\xff-\xffn[1-3,7],m[01-02]-ib\xff"
        "2(x3),1,4(x2)",
        "\x02"
        "7\xff"
        "2\xff-\xffn[1-3]\xff"
        "2(x3)",
        "\x03"
        "7\xff-\xff/\xff/\xff-\xff"
        "a 0,1,2\nb 3 1 1\n",
        "\x03"
        "7\xff-\xff-\xff-\xff"
        "a 4 b 2 ",
        "\x04/n\xff"
        "a\nb\n\na\n",
        "\x05/n\xffnode1 4 all.q@node1 UNDEFINED\nnode2 2 q 0,0:0,1\n",
        "\x08"
        "4\xff/\xff"
        "10.0.0.1\nfe80::1\n",
        "\x09/\xff"
        "a b a\n",
        "\x0a/\xffRequestCpus = 4\nAllRemoteHosts = \"slot1@h1,slot1@h2\"\n",
        "\x0b"
        "1",
        "\x0c/\xff"
        "a slots=2\nb:3 # c\n",
        "\x0d"
        "a slots=2 max_slots=4\nn[1-3]:4\n[fe80::1]:2\n// x\n",
        "\x0e"
        "a,b:4,n[1-3]:2,[::1]:3 c",
    };
    static const char flux[] = "0-1,3\xff"
                               "0-3\xff"
                               "[2]\xff"
                               "0,2\xffn[1-3],b";
    const char *sample;
    size_t bytes;

    if (number == 0)
        return pals_sample(buffer, buffer_bytes);
    if (number == 1) {
        buffer[0] = 0;
        memcpy(buffer + 1, flux, sizeof(flux) - 1);
        return sizeof(flux);
    }
    if (number - 2 >= sizeof(samples) / sizeof(*samples))
        return 0;
    sample = samples[number - 2];
    bytes = strlen(sample);
    assert(bytes <= buffer_bytes);
    memcpy(buffer, sample, bytes);
    return bytes;
}
