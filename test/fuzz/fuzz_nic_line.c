/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of NICs (launch/proto/nic_line.h): what is read is printed so that it is read as the same. */
#include "config.h"

#include "launch/proto/nic_line.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static void print(const struct nic_line *line, struct buffer *out)
{
    if (line->kind == NIC_LINE_NIC)
        nic_line_print_nic(line->rank, &line->nic, out);
    else if (line->kind == NIC_LINE_NODE)
        nic_line_print_node(line->rank, line->of, line->text, out);
    else if (line->kind == NIC_LINE_FAIL)
        nic_line_print_fail(line->rank, line->text, out);
    else
        nic_line_print_end(line->rank, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    char *text = memory_allocate(data_bytes + 1);
    struct nic_line line, again;
    struct buffer printed = {0}, twice = {0};

    memcpy(text, data, data_bytes);
    text[data_bytes] = '\0';
    if (nic_line_parse(text, &line) == 0) {
        print(&line, &printed);
        assert(nic_line_parse(buffer_string(&printed), &again) == 0);
        print(&again, &twice);
        assert(strcmp(buffer_string(&printed), buffer_string(&twice)) == 0);
    }
    buffer_fini(&printed);
    buffer_fini(&twice);
    free(text);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct nic nic = {.name = "mlx5_0", .fabric = "10.0.0.0/24"};
    struct buffer sample = {0};

    if (number > 3)
        return 0;
    nic_facts_init(&nic.facts);
    nic.facts.speed = 100;
    nic_pci_set(&nic.facts, 0, 0xc1, 0, 0);
    if (number == 0)
        nic_line_print_nic(3, &nic, &sample);
    else if (number == 1)
        nic_line_print_node(4, 7, "n\xc3\xa9", &sample);
    else if (number == 2)
        nic_line_print_fail(4, "it broke", &sample);
    else
        nic_line_print_end(4, &sample);
    return fuzz_hand_over(&sample, buffer, buffer_bytes);
}
