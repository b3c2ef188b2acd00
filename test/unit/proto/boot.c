/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/boot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

#define SESSION "0123456789abcdef"

static void fill_address(struct address *address, unsigned char last)
{
    static const unsigned char bytes[] = {4, 0x39, 0x30, 10, 0, 0, 0};

    address->length_bytes = sizeof bytes;
    memcpy(address->bytes, bytes, sizeof bytes);
    address->bytes[sizeof bytes - 1] = last;
}

/* The root of 1,000 nodes. */
static void fill_root(struct boot_record *record)
{
    boot_record_init(record);
    memcpy(record->instance.session, SESSION, sizeof SESSION);
    record->instance.banyand = memory_copy_string("/sbin/banyand");
    record->instance.places = 1001;
    record->range.last = 1000;
    if (hostlist_parse(record->names, "n[0001-1000]", NULL) < 0)
        bail_out("no names");
}

static void test_child(void)
{
    struct boot_record root, child, grandchild;
    struct addresses addresses = {.count = 2};

    fill_address(&addresses.items[0], 1);
    fill_address(&addresses.items[1], 2);
    fill_root(&root);
    boot_record_child(&root, &addresses, (struct range){64, 126}, &child);
    is_uint(child.place, 64, "a child heads its range");
    is_string(child.name, "n0064", "and has the name of that place");
    is_uint(hostlist_count(child.names), 63, "it knows the names of its range");
    is_uint(child.ancestors_count, 1, "and one ancestor");
    is_uint(child.ancestors[0].place, 0, "the root");
    is_uint(child.ancestors[0].addresses.count, 2, "with its addresses");
    is_string(child.instance.session, SESSION, "the instance is the same");
    addresses.count = 1;
    fill_address(&addresses.items[0], 3);
    boot_record_child(&child, &addresses, (struct range){100, 103}, &grandchild);
    is_string(grandchild.name, "n0100", "a child's child has its own name");
    is_uint(grandchild.ancestors_count, 2, "and two ancestors");
    is_uint(grandchild.ancestors[0].place, 64, "the nearest first");
    is_uint(grandchild.ancestors[1].place, 0, "the root last");
    boot_record_fini(&grandchild);
    boot_record_fini(&child);
    boot_record_fini(&root);
}

/* Positions in the tree from 1 on have the nodes n4, n5, n1, n3, n2. */
static void test_order(void)
{
    static const uint32_t nodes[] = {3, 4, 0, 2, 1};
    struct addresses addresses = {.count = 0};
    struct boot_record root, child, copy, added;
    struct allocation allocation;
    struct wire_reader reader;
    struct buffer text = {0};

    allocation_init(&allocation);
    allocation_generate(&allocation, "n", 5, 1);
    allocation.order = node_order_create(nodes, 5);
    boot_record_init(&root);
    memcpy(root.instance.session, SESSION, sizeof SESSION);
    root.instance.banyand = memory_copy_string("/sbin/banyand");
    root.instance.places = 6;
    root.range.last = 5;
    boot_record_set_nodes(&root, &allocation);
    boot_record_child(&root, &addresses, (struct range){2, 3}, &child);
    is_string(child.name, "n5", "in a tree with an order a child has the node of its position");
    is_uint(boot_record_listed_place(&child), 5, "and knows its place by the allocation");
    boot_record_encode(&child, &text);
    wire_reader_init(&reader, text.data, text.length_bytes);
    boot_record_init(&copy);
    is_int(boot_record_decode(&copy, &reader), 0, "the order travels with the record");
    is_uint(node_order_node(copy.order, 2), 0, "that of its whole range");
    boot_record_newcomer(&root, &addresses, 6, "n9", &added);
    is_uint(boot_record_listed_place(&added), 6, "a newcomer has one place");
    ok(added.order != NULL, "in the same kind of tree");
    buffer_fini(&text);
    boot_record_fini(&added);
    boot_record_fini(&copy);
    boot_record_fini(&child);
    boot_record_fini(&root);
    allocation_fini(&allocation);
}

static void encode_child(struct buffer *out)
{
    struct boot_record root, child;
    struct addresses addresses = {.count = 1};

    fill_address(&addresses.items[0], 9);
    fill_root(&root);
    boot_record_child(&root, &addresses, (struct range){64, 126}, &child);
    child.incarnation = 2;
    memset(child.instance.secret, 'k', SECRET_BYTES);
    boot_record_encode(&child, out);
    boot_record_fini(&child);
    boot_record_fini(&root);
}

static void test_round_trip(void)
{
    struct boot_record copy;
    struct buffer out = {0}, again = {0};
    struct wire_reader reader;
    char name[HOST_NAME_BYTES_MAX + 1];

    encode_child(&out);
    diag("the record of 63 of 1,000 nodes: %zu bytes", out.length_bytes);
    wire_reader_init(&reader, out.data, out.length_bytes);
    boot_record_init(&copy);
    is_int(boot_record_decode(&copy, &reader), 0, "a record can be read again");
    is_int(wire_finish(&reader), 0, "all of it was read");
    is_uint(copy.place, 64, "place");
    is_uint(copy.incarnation, 2, "incarnation");
    is_string(copy.name, "n0064", "name");
    is_uint(copy.range.first, 64, "first of the range");
    is_uint(copy.range.last, 126, "last of the range");
    hostlist_name(copy.names, 62, name);
    is_string(name, "n0126", "the last name");
    is_uint(copy.ancestors_count, 1, "ancestors");
    is_uint(copy.ancestors[0].addresses.items[0].bytes[6], 9, "an ancestor's address");
    boot_record_encode(&copy, &again);
    is_bytes(again.data, again.length_bytes, out.data, out.length_bytes,
             "written again it is the same");
    is_uint(copy.instance.secret[SECRET_BYTES - 1], 'k', "the secret");
    boot_record_fini(&copy);
    is_uint(copy.instance.secret[0], 0, "is wiped");
    buffer_fini(&again);
    buffer_fini(&out);
}

static int decode(const void *data, size_t bytes)
{
    struct boot_record record;
    struct wire_reader reader;
    void *copy = memory_copy(data, bytes);
    int rc;

    wire_reader_init(&reader, copy, bytes);
    boot_record_init(&record);
    rc = boot_record_decode(&record, &reader);
    boot_record_fini(&record);
    free(copy);
    return rc;
}

static int decode_range(uint32_t place, struct range range, const char *names)
{
    struct boot_record record;
    struct buffer out = {0};
    int rc;

    boot_record_init(&record);
    memcpy(record.instance.session, SESSION, sizeof SESSION);
    record.instance.places = 10;
    record.place = place;
    record.range = range;
    if (hostlist_parse(record.names, names, NULL) < 0)
        bail_out("no names");
    boot_record_encode(&record, &out);
    rc = decode(out.data, out.length_bytes);
    boot_record_fini(&record);
    buffer_fini(&out);
    return rc;
}

static void test_refused(void)
{
    struct buffer out = {0};
    size_t accepted = 0;

    encode_child(&out);
    for (size_t bytes = 0; bytes < out.length_bytes; bytes++)
        accepted += decode(out.data, bytes) != -EBADMSG;
    is_uint(accepted, 0, "no beginning of a record is taken for the whole");
    buffer_fini(&out);
    is_int(decode_range(3, (struct range){3, 5}, "a,b,c"), 0, "a right range");
    is_int(decode_range(0, (struct range){0, 2}, "a,b"), 0, "the root's range: it has no name");
    is_int(decode_range(3, (struct range){3, 5}, "a,b"), -EBADMSG, "too few names");
    is_int(decode_range(3, (struct range){3, 5}, "a,b,c,d"), -EBADMSG, "too many names");
    is_int(decode_range(2, (struct range){3, 5}, "a,b,c"), -EBADMSG, "a place outside its range");
    is_int(decode_range(9, (struct range){8, 10}, "a,b,c"), -EBADMSG, "a range beyond all places");
    is_int(decode_range(4, (struct range){5, 4}, "a"), -EBADMSG, "a range upside down");
}

/* Of a place behind the first: its starter is the root, and it has nobody to start. */
static void test_newcomer(void)
{
    struct addresses addresses = {.count = 1};
    struct boot_record root, newcomer, read;
    struct wire_reader reader;
    struct buffer text = {0};

    fill_address(&addresses.items[0], 1);
    fill_root(&root);
    boot_record_newcomer(&root, &addresses, 1003, "spare7", &newcomer);
    boot_record_encode(&newcomer, &text);
    wire_reader_init(&reader, text.data, text.length_bytes);
    boot_record_init(&read);
    is_int(boot_record_decode(&read, &reader), 0, "a newcomer's record can be read");
    is_uint(read.place, 1003, "its place is behind the first 1,001");
    is_uint(read.instance.places, 1001, "which are those that the instance began with");
    is_string(read.name, "spare7", "it has its own name");
    ok(read.range.first == 1003 && read.range.last == 1003, "and nobody to start");
    ok(read.ancestors_count == 1 && read.ancestors[0].place == 0, "it asks the root");
    buffer_clear(&text);
    newcomer.range.first = 1000;
    boot_record_encode(&newcomer, &text);
    wire_reader_init(&reader, text.data, text.length_bytes);
    ok(boot_record_decode(&read, &reader) < 0,
       "no range is among the first places and behind them");
    buffer_fini(&text);
    boot_record_fini(&read);
    boot_record_fini(&newcomer);
    boot_record_fini(&root);
}

int main(void)
{
    test_child();
    test_order();
    test_newcomer();
    test_round_trip();
    test_refused();
    return done_testing();
}
