/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of NICs, and how what libfabric and hwloc say is joined: base/nic.c. */
#include "config.h"

#include "base/nic.h"

#include <string.h>

#include "test/support/tap.h"

static struct nic make(enum nic_kind kind, const char *name, const char *pci, uint64_t speed)
{
    struct nic nic = {.kind = kind};

    nic_facts_init(&nic.facts);
    nic_text_set(nic.name, sizeof(nic.name), name);
    nic_text_set(nic.facts.texts[NIC_PCI], NIC_TEXT_BYTES, pci);
    nic.facts.speed = speed;
    return nic;
}

static void test_texts(void)
{
    char text[8];

    nic_text_set(text, sizeof(text), "a\tb\xff\n");
    is_string(text, "a b", "characters that are no text become blanks, and none at the end");
    nic_text_set(text, sizeof(text), "0123456789");
    is_string(text, "0123456", "what has room");
    nic_text_set(text, sizeof(text), NULL);
    is_string(text, "", "nothing");
    ok(nic_text_is_valid("mlx5 0") && !nic_text_is_valid("") && !nic_text_is_valid("a ") &&
           !nic_text_is_valid("a\x01"),
       "what is kept as it is");
}

static void test_pci(void)
{
    static const char *const wrong[] = {"",
                                        "c1:00.0",
                                        "0000:c1:00.8",
                                        "0000:c1:20.0",
                                        "0000:C1:00.0",
                                        "0000:c1:0.0",
                                        "0000:c1:00.0 ",
                                        "0x00:c1:00.0",
                                        "000000000:c1:00.0"};
    struct nic_facts facts;

    nic_facts_init(&facts);
    nic_pci_set(&facts, 0, 0xc1, 0x1f, 7);
    is_string(facts.texts[NIC_PCI], "0000:c1:1f.7", "a PCI address");
    ok(nic_pci_is_valid(facts.texts[NIC_PCI]), "is one");
    ok(nic_pci_is_valid("10000:00:02.0"), "also in a domain of five digits");
    nic_pci_set(&facts, 0, 0xc1, 0x20, 0);
    is_string(facts.texts[NIC_PCI], "", "there is no device 32");
    nic_pci_set(&facts, 0, 0xc1, 0, 8);
    is_string(facts.texts[NIC_PCI], "", "nor a function 8");
    nic_pci_set(&facts, 0, 0x100, 0, 0);
    is_string(facts.texts[NIC_PCI], "", "nor a bus 256");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ok(!nic_pci_is_valid(wrong[i]), "'%s' is none", wrong[i]);
}

static void test_facts(void)
{
    struct nic_facts facts, others;

    nic_facts_init(&facts);
    ok(!nic_facts_known(&facts), "nothing is known");
    nic_facts_init(&others);
    others.numa = 0;
    ok(nic_facts_known(&others), "NUMA node 0 is a fact");
    others.mtu = 1500;
    others.state = NIC_DOWN;
    nic_text_set(others.texts[NIC_DRIVER], NIC_TEXT_BYTES, "other");
    nic_text_set(facts.texts[NIC_DRIVER], NIC_TEXT_BYTES, "own");
    facts.state = NIC_UP;
    nic_facts_fill(&facts, &others);
    is_string(facts.texts[NIC_DRIVER], "own", "what is known stays");
    ok(facts.state == NIC_UP && facts.numa == 0 && facts.mtu == 1500 && facts.speed == 0,
       "what is not is filled");
    nic_facts_fill(&others, &facts);
    is_uint(others.state, NIC_UP, "what another says is up is up");
}

/* A card of libfabric's is both verbs device and interface of hwloc's; eth0 is another. */
static void test_joined(void)
{
    struct nic_list libfabric = {.items = NULL}, hwloc = {.items = NULL}, list;
    struct nic nic = make(NIC_OF_LIBFABRIC, "mlx5_10", "0000:c1:00.0", 200);

    nic_list_add(&libfabric, &nic);
    nic = make(NIC_OF_LIBFABRIC, "mlx5_2", "0000:41:00.0", 0);
    nic_list_add(&libfabric, &nic);
    nic = make(NIC_OF_LIBFABRIC, "mlx5_10-dgram", "0000:c1:00.0", 5);
    nic_text_set(nic.fabric, sizeof(nic.fabric), "IB-0xfe80000000000000");
    nic.facts.mtu = 4096;
    nic_list_add(&libfabric, &nic);
    nic = make(NIC_OF_LIBFABRIC, "hsn0", "", 0);
    nic_list_add(&libfabric, &nic);
    nic = make(NIC_OF_LIBFABRIC, "ib0", "", 0);
    nic_list_add(&libfabric, &nic);
    nic = make(NIC_INTERFACE, "ib0", "0000:c1:00.0", 1);
    nic.facts.numa = 1;
    nic_text_set(nic.facts.texts[NIC_ADDRESS], NIC_TEXT_BYTES, "of-ib0");
    nic_list_add(&hwloc, &nic);
    nic = make(NIC_VERBS, "mlx5_10", "0000:c1:00.0", 2);
    nic_text_set(nic.facts.texts[NIC_ADDRESS], NIC_TEXT_BYTES, "of-mlx5_10");
    nic_list_add(&hwloc, &nic);
    nic = make(NIC_INTERFACE, "hsn0", "0000:21:00.0", 100);
    nic_list_add(&hwloc, &nic);
    nic = make(NIC_INTERFACE, "eth0", "0000:00:03.0", 1);
    nic_list_add(&hwloc, &nic);
    nic_list_join(&libfabric, &hwloc, &list);
    is_uint(list.count, 3, "libfabric's NICs, each once, also as interface of its card");
    is_string(list.items[0].name, "hsn0", "sorted by name");
    ok(strcmp(list.items[1].name, "mlx5_2") == 0 && strcmp(list.items[2].name, "mlx5_10") == 0,
       "2 before 10");
    ok(list.items[2].facts.speed == 200 && list.items[2].facts.mtu == 4096 &&
           strcmp(list.items[2].fabric, "IB-0xfe80000000000000") == 0,
       "a further description fills the first");
    ok(list.items[2].facts.numa == 1, "what hwloc knows of its PCI address is joined");
    is_string(list.items[2].facts.texts[NIC_ADDRESS], "of-mlx5_10", "that of its name first");
    is_string(list.items[0].facts.texts[NIC_PCI], "0000:21:00.0", "without one by its name");
    ok(list.items[0].facts.speed == 100 && list.items[1].facts.speed == 0, "and no other");
    nic_list_fini(&list);
    nic_list_fini(&libfabric);
    nic_list_fini(&hwloc);
}

/* libfabric does not know the state of the first two, and says of the third that it is down. */
static void test_states(void)
{
    struct nic_list libfabric = {.items = NULL}, hwloc = {.items = NULL}, list;
    struct nic nic = make(NIC_OF_LIBFABRIC, "mlx5_0", "0000:c1:00.0", 0);

    nic_list_add(&libfabric, &nic);
    nic = make(NIC_OF_LIBFABRIC, "mlx5_1", "0000:c2:00.0", 0);
    nic_list_add(&libfabric, &nic);
    nic = make(NIC_OF_LIBFABRIC, "mlx5_2", "0000:c3:00.0", 0);
    nic.facts.state = NIC_DOWN;
    nic_list_add(&libfabric, &nic);
    nic.facts.state = NIC_UP;
    nic_list_add(&libfabric, &nic);
    nic = make(NIC_INTERFACE, "ib0", "0000:c1:00.0", 1);
    nic_text_set(nic.facts.texts[NIC_ADDRESS], NIC_TEXT_BYTES, "of-ib0");
    nic.facts.state = NIC_DOWN;
    nic_list_add(&hwloc, &nic);
    nic = make(NIC_VERBS, "rocep0", "0000:c1:00.0", 200);
    nic_text_set(nic.facts.texts[NIC_ADDRESS], NIC_TEXT_BYTES, "of-rocep0");
    nic_list_add(&hwloc, &nic);
    nic = make(NIC_VERBS, "mlx5_1", "0000:c2:00.0", 0);
    nic.facts.state = NIC_DOWN;
    nic_list_add(&hwloc, &nic);
    nic_list_join(&libfabric, &hwloc, &list);
    is_uint(list.count, 3, "three NICs");
    is_uint(list.items[0].facts.state, NIC_STATE_UNKNOWN,
            "one is not down since an interface of its card is");
    is_uint(list.items[0].facts.speed, 200, "its speed is that of the verbs device");
    is_string(list.items[0].facts.texts[NIC_ADDRESS], "of-rocep0", "and its address");
    is_uint(list.items[1].facts.state, NIC_DOWN, "one is down if the device of its name is");
    is_uint(list.items[2].facts.state, NIC_UP, "one is up if one of its descriptions is");
    nic_list_fini(&list);
    nic_list_fini(&libfabric);
    nic_list_fini(&hwloc);
}

static void test_names(void)
{
    struct nic_list libfabric = {.items = NULL}, none = {.items = NULL}, list;
    struct nic nic = make(NIC_OF_LIBFABRIC, "cxi0", "0000:c1:00.0", 0);

    nic_list_add(&libfabric, &nic);
    nic = make(NIC_OF_LIBFABRIC, "cxi0", "0000:21:00.0", 0);
    nic_list_add(&libfabric, &nic);
    nic = make(NIC_OF_LIBFABRIC, "cxi1", "0000:31:00.0", 0);
    nic_list_add(&libfabric, &nic);
    nic_list_join(&libfabric, &none, &list);
    is_uint(list.count, 3, "two NICs of the same name, and another");
    is_string(list.items[0].name, "cxi0", "the first keeps its name");
    is_string(list.items[1].name, "cxi0@0000:c1:00.0", "the second gets its PCI address");
    is_string(list.items[2].name, "cxi1", "the other has its own");
    nic_list_fini(&list);
    nic_list_fini(&libfabric);
}

/* An active port of InfiniBand whose interface nobody has set up. */
static void test_verbs_alone(void)
{
    struct nic_list none = {.items = NULL}, hwloc = {.items = NULL}, list;
    struct nic nic = make(NIC_INTERFACE, "ib0", "0000:c1:00.0", 0);

    nic.facts.state = NIC_DOWN;
    nic_list_add(&hwloc, &nic);
    nic = make(NIC_VERBS, "mlx5_0", "0000:c1:00.0", 200);
    nic.facts.state = NIC_UP;
    nic_list_add(&hwloc, &nic);
    nic_list_join(&none, &hwloc, &list);
    ok(list.count == 1 && strcmp(list.items[0].name, "mlx5_0") == 0,
       "a verbs device whose interface is down");
    nic_list_fini(&list);
    nic_list_fini(&hwloc);
}

static void test_interfaces(void)
{
    struct nic_list none = {.items = NULL}, hwloc = {.items = NULL}, list;
    struct nic nic = make(NIC_INTERFACE, "eth1", "0000:01:00.1", 1);

    nic.facts.state = NIC_UP;
    nic_list_add(&hwloc, &nic);
    nic = make(NIC_INTERFACE, "eth0", "0000:01:00.0", 1);
    nic.facts.state = NIC_DOWN;
    nic_list_add(&hwloc, &nic);
    nic = make(NIC_VERBS, "rocep1", "0000:01:00.1", 1);
    nic_list_add(&hwloc, &nic);
    nic = make(NIC_VERBS, "qib0", "0000:02:00.0", 1);
    nic_list_add(&hwloc, &nic);
    nic = make(NIC_INTERFACE, "bond0", "", 1);
    nic_list_add(&hwloc, &nic);
    nic_list_join(&none, &hwloc, &list);
    ok(list.count == 2 && strcmp(list.items[0].name, "eth1") == 0 &&
           strcmp(list.items[1].name, "qib0") == 0,
       "without libfabric's: interfaces that are up, verbs devices without one, all with PCI");
    nic_list_fini(&list);
    nic_list_join(&none, &none, &list);
    is_uint(list.count, 0, "no NIC");
    for (uint32_t i = 0; i < NIC_LIST_MAX; i++)
        nic_list_add(&list, &nic);
    ok(!list.is_cut, "as many as the limit");
    nic_list_add(&list, &nic);
    ok(list.is_cut && list.count == NIC_LIST_MAX, "but not more");
    nic_list_fini(&list);
    nic_list_add(&hwloc, &nic);
    hwloc.is_cut = true;
    nic_list_join(&none, &hwloc, &list);
    ok(list.is_cut, "what is made of a list that is cut is so, too");
    nic_list_fini(&list);
    nic_list_add_new(&list, &nic);
    nic_list_add_new(&list, &nic);
    is_uint(list.count, 1, "an equal one is not added");
    nic.facts.mtu = 7;
    nic_list_add_new(&list, &nic);
    nic.facts.texts[NIC_TYPE][0] = 'x';
    nic_list_add_new(&list, &nic);
    is_uint(list.count, 3, "but others are");
    nic_list_fini(&list);
    nic_list_fini(&hwloc);
}

int main(void)
{
    test_texts();
    test_pci();
    test_facts();
    test_joined();
    test_states();
    test_names();
    test_verbs_alone();
    test_interfaces();
    return done_testing();
}
