/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies: the first byte chooses one from the wire, or hwloc's words as --topology has them. What
 * is accepted is the same after the wire, and what is left of it with every other thread is sound.
 */
#include "config.h"

#include "base/topology.h"
#include "fabric/topology_read.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

/* hwloc 2.9 forgets some words that it refuses, which is not for us to mend. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:hwloc_synthetic_component_instantiate\n";
}

#define WORDS_THREADS_MAX 4096u /* of what hwloc is asked to make up */

static void is_sound(const struct topology *topology)
{
    assert(topology->threads > 0 && topology->threads <= TOPOLOGY_THREADS_MAX);
    for (int level = TOPOLOGY_PACKAGE; level <= TOPOLOGY_THREAD; level++) {
        for (uint32_t t = 0; t < topology->threads; t++)
            assert(topology->objects[level][t] == TOPOLOGY_NONE ||
                   topology->objects[level][t] < topology->counts[level]);
    }
}

static void topology_returns(const struct topology *topology)
{
    struct topology again;
    struct wire_reader reader;
    struct buffer bytes = {0};

    topology_encode(topology, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    assert(topology_decode(&again, &reader) == 0 && wire_left(&reader) == 0);
    assert(topology_hash(topology) == topology_hash(&again));
    is_sound(&again);
    topology_fini(&again);
    buffer_fini(&bytes);
}

static void check(const struct topology *topology)
{
    struct ranges allowed = {0};
    struct topology left;

    is_sound(topology);
    topology_returns(topology);
    for (uint32_t t = 0; t < topology->threads; t += 2)
        ranges_add(&allowed, topology->os[t], topology->os[t]);
    if (topology_restrict(topology, &allowed, &left) == 0) {
        is_sound(&left);
        topology_fini(&left);
    }
    ranges_fini(&allowed);
}

static void from_wire(const uint8_t *data, size_t data_bytes)
{
    struct wire_reader reader;
    struct topology topology;

    wire_reader_init(&reader, data, data_bytes);
    if (topology_decode(&topology, &reader) < 0)
        return;
    check(&topology);
    topology_fini(&topology);
}

/* hwloc makes up whatever it is told, so what would not fit into memory is left out. */
static int is_small(const char *text)
{
    unsigned long product = 1;

    while (*text != '\0') {
        char *end;
        unsigned long number = isdigit((unsigned char)*text) ? strtoul(text, &end, 0) : 0;

        if (number > WORDS_THREADS_MAX)
            return 0;
        if (number > 0 && (product *= number) > WORDS_THREADS_MAX)
            return 0;
        text = isdigit((unsigned char)*text) ? end : text + 1;
    }
    return 1;
}

/* hwloc says on standard error what it does not like. */
static void from_words(const char *text)
{
    static int is_silent;
    struct error error = ERROR_NONE;
    struct ranges allowed = {0};
    struct topology topology;

    if (!is_silent && getenv("HWLOC_HIDE_ERRORS") == NULL)
        setenv("HWLOC_HIDE_ERRORS", "2", 1);
    is_silent = 1;
    if (strchr(text, '/') != NULL || strstr(text, ".xml") != NULL || !is_small(text))
        return;
    if (topology_read_text(text, &topology, &allowed, &error) < 0) {
        assert(error.text[0] != '\0');
    } else {
        check(&topology);
        assert(!ranges_is_empty(&allowed));
        topology_fini(&topology);
    }
    ranges_fini(&allowed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    char *text;

    if (data_bytes == 0)
        return 0;
    if (fuzz_choice(data[0], 2) == 0) {
        from_wire(data + 1, data_bytes - 1);
        return 0;
    }
    text = memory_allocate(data_bytes);
    memcpy(text, data + 1, data_bytes - 1);
    text[data_bytes - 1] = '\0';
    from_words(text);
    free(text);
    return 0;
}

/* Two packages of two cores of two threads, with a GPU on the second. */
static void sample_topology(struct buffer *out)
{
    struct topology topology;
    struct ranges near = {0};

    topology_init(&topology, 8);
    for (uint32_t i = 0; i < 8; i++) {
        topology.os[i] = i;
        topology.objects[TOPOLOGY_PACKAGE][i] = i / 4;
        topology.objects[TOPOLOGY_CORE][i] = i / 2;
    }
    topology_number(&topology);
    ranges_add(&near, 4, 7);
    topology_add_device(&topology, "gpu0", TOPOLOGY_DEVICE_NVIDIA, &near);
    topology_encode(&topology, out);
    topology_fini(&topology);
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const char *const samples[] = {"\1package:2 l3:2 core:2 pu:2", "\1numa:2 core:3",
                                          "\1[numa] pack:1 core:2 pu:2(indexes=0,2,1,3)"};
    struct buffer bytes = {0};

    if (number == 0) {
        buffer_append(&bytes, "", 1);
        sample_topology(&bytes);
    } else if (number <= sizeof(samples) / sizeof(samples[0])) {
        buffer_append_string(&bytes, samples[number - 1]);
    }
    return fuzz_hand_over(&bytes, buffer, buffer_bytes);
}
