/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of libpmix made of what is known of the network: pmix/host_fabric_value.c. */
#include "config.h"

#include "pmix/host_fabric_value.h"

#include <errno.h>
#include <string.h>

#include <pmix.h>

#include "test/support/tap.h"

static char plane[] = "hsn", switch_name[] = "s1", node[] = "n1";
static char names[2][8] = {"n1:a", "n1:b"};
static uint32_t place[] = {0, 3};
static struct nic_facts known;

static struct pmi_fabric_device devices[2] = {
    {.index = 4, .place = place, .name = names[0], .node = node, .switch_name = switch_name},
    {.index = 5, .place = place, .name = names[1], .node = node, .switch_name = switch_name},
};
static char *planes[] = {plane};
static struct pmi_fabric_facts facts = {.planes = planes,
                                        .planes_count = 1,
                                        .devices = 6,
                                        .dims = 2,
                                        .list = devices,
                                        .list_count = 2};

static void know_all(void)
{
    nic_facts_init(&known);
    nic_text_set(known.texts[NIC_DRIVER], NIC_TEXT_BYTES, "mlx5_core");
    nic_text_set(known.texts[NIC_VENDOR], NIC_TEXT_BYTES, "0x15b3");
    nic_text_set(known.texts[NIC_DEVICE], NIC_TEXT_BYTES, "0x101b");
    nic_text_set(known.texts[NIC_ADDRESS], NIC_TEXT_BYTES, "fe80::1");
    nic_text_set(known.texts[NIC_TYPE], NIC_TEXT_BYTES, "InfiniBand");
    nic_pci_set(&known, 0xabc1, 0x0f, 0x1f, 1);
    known.speed = 200000000000u;
    known.mtu = 4096;
    known.numa = 1;
    known.state = NIC_UP;
}

/* NULL: it is not in the array. */
static const pmix_value_t *find(const pmix_value_t *value, const char *key)
{
    const pmix_data_array_t *array = value->data.darray;

    for (size_t i = 0; i < array->size; i++) {
        const pmix_info_t *item = (const pmix_info_t *)array->array + i;

        if (PMIX_CHECK_KEY(item, key))
            return &item->value;
    }
    return NULL;
}

static void has_text(const pmix_value_t *value, const char *key, const char *text)
{
    const pmix_value_t *found = find(value, key);

    if (found == NULL || found->type != PMIX_STRING)
        fail("%s is missing", key);
    else
        is_string(found->data.string, text, "%s", key);
}

static void has_size(const pmix_value_t *value, const char *key, size_t size)
{
    const pmix_value_t *found = find(value, key);

    if (found == NULL || found->type != PMIX_SIZE)
        fail("%s is missing", key);
    else
        is_uint(found->data.size, size, "%s", key);
}

static void test_known(void)
{
    pmix_value_t value;
    const pmix_value_t *state;

    facts.list_count = 1;
    devices[0].facts = &known;
    is_int(host_fabric_device(&facts, &value), 0, "a device of which all is known");
    is_uint(value.data.darray->size, 17, "has as many attributes");
    has_text(&value, PMIX_DEVICE_ID, "n1:a");
    has_text(&value, PMIX_FABRIC_DEVICE_NAME, "n1:a");
    has_text(&value, PMIX_FABRIC_SWITCH, "s1");
    has_text(&value, PMIX_FABRIC_PLANE, "hsn");
    has_text(&value, PMIX_FABRIC_DEVICE_DRIVER, "mlx5_core");
    has_text(&value, PMIX_FABRIC_DEVICE_VENDOR, "0x15b3");
    has_text(&value, PMIX_FABRIC_DEVICE_VENDORID, "0x101b");
    has_text(&value, PMIX_FABRIC_DEVICE_ADDRESS, "fe80::1");
    has_text(&value, PMIX_FABRIC_DEVICE_TYPE, "InfiniBand");
    has_text(&value, PMIX_FABRIC_DEVICE_BUS_TYPE, "PCI");
    has_text(&value, PMIX_FABRIC_DEVICE_PCI_DEVID, "abc1:0f:1f:01");
    has_size(&value, PMIX_FABRIC_DEVICE_SPEED, 200000000000u);
    has_size(&value, PMIX_FABRIC_DEVICE_MTU, 4096);
    state = find(&value, PMIX_FABRIC_DEVICE_STATE);
    ok(state != NULL && state->type == PMIX_LINK_STATE && state->data.linkstate == PMIX_LINK_UP,
       "the state of its link");
    PMIX_VALUE_DESTRUCT(&value);
}

static void test_little(void)
{
    pmix_value_t value;
    const pmix_value_t *state;

    nic_facts_init(&known);
    known.state = NIC_DOWN;
    is_int(host_fabric_device(&facts, &value), 0, "one of which its state is known");
    is_uint(value.data.darray->size, 8, "has one attribute more than the others");
    state = find(&value, PMIX_FABRIC_DEVICE_STATE);
    ok(state != NULL && state->data.linkstate == PMIX_LINK_DOWN, "which is it");
    ok(find(&value, PMIX_FABRIC_DEVICE_SPEED) == NULL &&
           find(&value, PMIX_FABRIC_DEVICE_BUS_TYPE) == NULL,
       "and nothing that is not known");
    PMIX_VALUE_DESTRUCT(&value);
}

static void test_list(void)
{
    const pmix_info_t *items;
    pmix_value_t value;

    facts.list_count = 2;
    is_int(host_fabric_device(&facts, &value), -EINVAL, "two are not one");
    is_int(host_fabric_devices(&facts, &value), 0, "two devices");
    items = value.data.darray->array;
    is_uint(value.data.darray->size, 2, "are two");
    ok(PMIX_CHECK_KEY(&items[1], PMIX_FABRIC_DEVICE) && items[0].value.data.darray->size == 8 &&
           items[1].value.data.darray->size == 7,
       "each with its own attributes");
    has_text(&items[1].value, PMIX_FABRIC_DEVICE_NAME, "n1:b");
    PMIX_VALUE_DESTRUCT(&value);
    facts.list_count = 0;
    is_int(host_fabric_devices(&facts, &value), -ENOENT, "none");
    facts.is_cut = 1;
    is_int(host_fabric_devices(&facts, &value), -ENOBUFS, "more than are given");
    is_int(host_fabric_device(&facts, &value), -EINVAL, "which are not one, either");
}

int main(void)
{
    know_all();
    test_known();
    test_little();
    test_list();
    return done_testing();
}
