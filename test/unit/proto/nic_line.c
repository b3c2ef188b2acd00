/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of NICs as they are printed and read. */
#include "config.h"

#include "launch/proto/nic_line.h"

#include <errno.h>
#include <string.h>

#include "test/support/tap.h"

static void test_texts(void)
{
    struct nic_line line;
    struct buffer out = {0};

    nic_line_print_node(7, 8, "n\xc3\xa9.site", &out);
    is_string(buffer_string(&out), "node\t7\t8\tn\xc3\xa9.site\n", "a node");
    ok(nic_line_parse(buffer_string(&out), &line) == 0 && line.kind == NIC_LINE_NODE &&
           line.rank == 7 && line.of == 8 && strcmp(line.text, "n\xc3\xa9.site") == 0,
       "is read, with the name as it is");
    buffer_clear(&out);
    nic_line_print_fail(4294967294u, "a\tb\nc", &out);
    ok(nic_line_parse(buffer_string(&out), &line) == 0 && line.kind == NIC_LINE_FAIL &&
           line.rank == 4294967294u,
       "a failure is read");
    is_string(line.text, "a b c", "in one line");
    buffer_clear(&out);
    nic_line_print_end(3, &out);
    is_string(buffer_string(&out), "end\t3\n", "an end");
    ok(nic_line_parse(buffer_string(&out), &line) == 0 && line.kind == NIC_LINE_END &&
           line.rank == 3,
       "is read");
    buffer_fini(&out);
}

static void test_nic(void)
{
    struct nic nic = {.name = "mlx5_0", .fabric = "10.0.0.0/24"};
    struct nic_line line;
    struct buffer out = {0};

    nic_facts_init(&nic.facts);
    nic.facts.speed = INT64_MAX;
    nic.facts.mtu = UINT32_MAX;
    nic.facts.state = NIC_DOWN;
    nic_text_set(nic.facts.texts[NIC_TYPE], NIC_TEXT_BYTES, "HPE Slingshot");
    nic_pci_set(&nic.facts, 0, 0x21, 0, 0);
    nic_line_print_nic(3, &nic, &out);
    nic_line_print_nic(4, &nic, &out);
    is_int(nic_line_parse(buffer_string(&out), &line), 0, "a NIC is read");
    ok(line.kind == NIC_LINE_NIC && line.rank == 3, "of its process");
    is_string(line.nic.name, nic.name, "its name");
    is_string(line.nic.fabric, nic.fabric, "its fabric");
    ok(memcmp(&line.nic.facts, &nic.facts, sizeof(nic.facts)) == 0, "and all its facts");
    buffer_fini(&out);
}

static void test_refused(void)
{
    static const char *const wrong[] = {
        "",
        "node",
        "node\t1",
        "node\t1\t2",
        "node\t1\t2\t",
        "node\t1\t1\tn1",
        "node\t1\tx\tn1",
        "node\t-1\t2\tn1",
        "node\t4294967295\t4294967295\tn1",
        "node\t1\t2\tn1\tx",
        "edge\t1\t2\tn1",
        "fail\t1",
        "fail\t1\t",
        "fail\t1\t\xc3\xa9",
        "end",
        "end\tx",
        "end\t1\t",
        "nic\t1\teth0",
        "nic\t1\teth0\t\t0\t0\t65535\t0\t\t\t\t\t\t\tx",
        "nic\t1\teth0\t\t0\t0\t65535\t0\t\t\t\t\t",
        "nic\t1\t\t\t0\t0\t65535\t0\t\t\t\t\t\t",
        "nic\t1\teth0\t\t-1\t0\t65535\t0\t\t\t\t\t\t",
        "nic\t1\teth0\t\t0x\t0\t65535\t0\t\t\t\t\t\t",
        "nic\t1\teth0\t\t99999999999999999999\t0\t65535\t0\t\t\t\t\t\t",
        "nic\t1\teth0\t\t0\t4294967296\t65535\t0\t\t\t\t\t\t",
        "nic\t1\teth0\t\t0\t0\t65536\t0\t\t\t\t\t\t",
        "nic\t1\teth0\t\t0\t0\t65535\t3\t\t\t\t\t\t",
        "nic\t1\teth0\t\t0\t0\t65535\t0\t\t\t\t\t\t3",
        "nic\t1\teth0\t\t0\t0\t65535\t0\t\x01\t\t\t\t\t"};
    struct nic_line line;
    char long_line[3 * NIC_LINE_BYTES_MAX];

    is_int(nic_line_parse("nic\t1\teth0\t\t0\t0\t65535\t0\t\t\t\t\t\t", &line), 0,
           "little is known");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        is_int(nic_line_parse(wrong[i], &line), -EPROTO, "no line: %zu", i);
    memset(long_line, 'x', sizeof(long_line) - 1);
    memcpy(long_line, "node\t1\t2\t", 9);
    long_line[sizeof(long_line) - 1] = '\0';
    is_int(nic_line_parse(long_line, &line), -EPROTO, "nor a long one");
}

int main(void)
{
    test_texts();
    test_nic();
    test_refused();
    return done_testing();
}
