/* SPDX-License-Identifier: BSD-3-Clause */
/* How daemons that all get one boot record find their places (launch/start/one_shot.c). */
#include "config.h"

#include "launch/start/one_shot.h"

#include <errno.h>
#include <string.h>

#include "test/support/tap.h"

#define SESSION "0123456789abcdef"

static void make_root(struct boot_record *root)
{
    boot_record_init(root);
    memcpy(root->instance.session, SESSION, sizeof SESSION);
    root->instance.places = 4;
    root->instance.starter = STARTER_SRUN;
    root->instance.banyand = memory_copy_string("/x/banyand");
    root->range = (struct range){0, 3};
    hostlist_parse(root->names, "n[1-3]", NULL);
}

/* What the daemon of a node makes of the record after its way over the wire. */
static int place_in(const struct boot_record *record, const char *node, struct boot_record *ret_own,
                    struct error *error)
{
    struct buffer text = {0};
    struct wire_reader reader;
    int rc;

    boot_record_encode(record, &text);
    boot_record_init(ret_own);
    wire_reader_init(&reader, text.data, text.length_bytes);
    rc = boot_record_decode(ret_own, &reader);
    if (rc == 0)
        rc = one_shot_take_place(ret_own, node, error);
    buffer_fini(&text);
    return rc;
}

static void test_first(void)
{
    struct addresses addresses = {.count = 0};
    struct boot_record root, record, own;
    struct error error = ERROR_NONE;

    make_root(&root);
    one_shot_record(&root, &addresses, &record);
    is_int(place_in(&record, "n3.example.org", &own, &error), 0, "by the first label");
    ok(own.place == 3 && own.range.first == 3 && own.range.last == 3, "its place");
    boot_record_fini(&own);
    is_int(place_in(&record, "n9", &own, &error), -ENOENT, "a node that is not there");
    has_string(error.text, "the scheduler calls this node n9, which is not a name in",
               "is told so");
    boot_record_fini(&own);
    boot_record_fini(&record);
    boot_record_fini(&root);
}

/* Names may be those of nodes that were removed: only the list of the added ones counts. */
static void test_added(void)
{
    struct addresses addresses = {.count = 0};
    struct hostlist *names = hostlist_create(), *wanted = hostlist_create(), *taken;
    struct ranges given = {0}, places = {0};
    struct boot_record root, record, own;
    struct error error = ERROR_NONE;
    const char *text = "";

    hostlist_parse(names, "n[2-6]", NULL);
    hostlist_parse(wanted, "n3,n5,n9", NULL);
    make_root(&root);
    one_shot_record_added(&root, &addresses, (struct range){7, 11}, names, &record);
    is_int(place_in(&record, "n3", &own, &error), 0, "a node among those that are added");
    ok(own.place == 8 && own.range.first == 8 && own.range.last == 8, "has its place alone");
    is_uint(hostlist_count(own.names), 1, "and starts nobody");
    is_string(own.name, "n3", "its name");
    is_uint(own.ancestors_count, 1, "it asks the root");
    boot_record_fini(&own);
    is_int(place_in(&record, "n1", &own, &error), -ENOENT,
           "one of the first nodes is none of them");
    boot_record_fini(&own);
    taken = one_shot_take_nodes(names, 7, wanted, &given, &places);
    is_uint(hostlist_count(taken), 2, "a call for some of them");
    ok(ranges_contains(&places, 8) && ranges_contains(&places, 10) && ranges_count(&places) == 2,
       "has their places");
    is_uint(one_shot_place_of(names, 7, "@n6 no room", &text), 11, "who says something is found");
    is_string(text, "no room", "with its words");
    is_uint(one_shot_place_of(names, 7, "@n1 no room", &text), 0, "a stranger is not");
    ranges_fini(&given);
    ranges_fini(&places);
    hostlist_destroy(taken);
    hostlist_destroy(wanted);
    hostlist_destroy(names);
    boot_record_fini(&record);
    boot_record_fini(&root);
}

int main(void)
{
    test_first();
    test_added();
    return done_testing();
}
