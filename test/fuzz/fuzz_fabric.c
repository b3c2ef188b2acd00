/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptions of fabrics. The first byte chooses the reader. Numbers of more than three digits are
 * left out: a list of a million nodes is valid, and takes its time.
 */
#include "config.h"

#include "fabric/topology/fabric_read.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#define DIGITS_MAX 3
#define WAYS_MAX   200u

enum { READ_SLURM, READ_INFINIBAND, READ_JSON, READ_GENERATE, READ_ADDRESSES, READERS };

static int has_large_number(const char *text)
{
    int digits = 0;

    for (; *text != '\0'; text++) {
        digits = isdigit((unsigned char)*text) ? digits + 1 : 0;
        if (digits > DIGITS_MAX)
            return 1;
    }
    return 0;
}

static int read_any(struct fabric_model *model, size_t reader, const char *text,
                    struct error *error)
{
    switch (reader) {
    case READ_SLURM:
        return fabric_read_slurm(model, text, error);
    case READ_INFINIBAND:
        return fabric_read_infiniband(model, text, error);
    case READ_ADDRESSES:
        return fabric_read_addresses(model, text, error);
    case READ_JSON:
        return fabric_read_json(model, text, strlen(text), error);
    default:
        return fabric_read_is_generated(text) ? fabric_read_generate(model, text, error) : -1;
    }
}

static void check_ways(const struct fabric_model *model)
{
    uint32_t count = model->vertices_count < WAYS_MAX ? model->vertices_count : WAYS_MAX;
    struct nic_facts facts;

    assert(count > 0 && fabric_model_levels(model) > 0);
    for (uint32_t i = 0; i < count; i++) {
        assert(fabric_model_cost(model, i, i) == 0);
        (void)fabric_model_cost(model, i, model->vertices_count - 1);
        assert(!fabric_model_facts(model, i, &facts) || nic_facts_known(&facts));
        assert(fabric_model_find_vertex(model, fabric_model_name(model, model->vertices[i].name)) ==
               i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct fabric_model model = {.switches = NULL};
    struct error error = ERROR_NONE;
    char *text = memory_allocate(data_bytes + 1);
    size_t reader = data_bytes > 0 ? fuzz_choice(data[0], READERS) : 0;

    if (data_bytes > 1)
        memcpy(text, data + 1, data_bytes - 1);
    text[data_bytes > 0 ? data_bytes - 1 : 0] = '\0';
    if (!has_large_number(text)) {
        int rc = read_any(&model, reader, text, &error);

        if (rc == 0)
            check_ways(&model);
        else
            assert(error.text[0] != '\0' || reader == READ_GENERATE);
    }
    fabric_model_fini(&model);
    free(text);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const struct {
        uint8_t reader;
        const char *text;
    } samples[] = {
        {READ_SLURM,
         "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=x,y\nSwitchName=t Switches=a,b"},
        {READ_SLURM, "BlockName=a Nodes=n[1-2]\nBlockName=b Nodes=n[3-4]\nBlockSizes=2,4\n"},
        {READ_INFINIBAND,
         "Switch 8 \"S-1\" # \"a\"\n[1] \"S-3\"[1]\nSwitch 8 \"S-2\" # \"b\"\n[1] \"S-3\"[2]\n"
         "Ca 1 \"H-1\" # \"n1 h\"\n[1](1) \"S-1\"[2]\nCa 1 \"H-2\" # \"n2 h\"\n[1](2) "
         "\"S-2\"[2]\n"},
        {READ_JSON, "{\"switches\": [{\"name\": \"a\", \"parent\": \"b\", \"up\": 2}, {\"name\": "
                    "\"b\", \"across\": 1}], \"nics\": [{\"nodes\": \"n[1-2]\", \"switch\": "
                    "\"a\", \"plane\": \"p\"}, {\"name\": \"x\", \"node\": \"n1\", \"switch\": "
                    "\"b\", \"down\": 7}]}"},
        {READ_JSON, "{\"switches\": [{\"name\": \"a\"}], \"nics\": [{\"nodes\": \"n[1-2]\", "
                    "\"switch\": \"a\", \"device\": {\"driver\": \"d\", \"address\": \"f:1\", "
                    "\"speed\": 100, \"mtu\": 9, \"state\": \"up\", \"numa\": "
                    "0}}]}"},
        {READ_GENERATE, "fat-tree:4x2x3"},
        {READ_GENERATE, "dragonfly:2x3x4"},
    };
    size_t bytes;

    if (number >= sizeof(samples) / sizeof(samples[0]))
        return 0;
    bytes = strlen(samples[number].text) + 1;
    assert(bytes <= buffer_bytes);
    buffer[0] = samples[number].reader;
    memcpy(buffer + 1, samples[number].text, bytes - 1);
    return bytes;
}
