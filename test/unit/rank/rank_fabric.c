/* SPDX-License-Identifier: BSD-3-Clause */
/* What the root says of the fabric, launch/rank/rank_fabric.c. */
#include "config.h"

#include "launch/rank/rank_fabric.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/topology/fabric_read.h"

/* Ways of plane A cost 1 from n1, and 8 from the others; n2 has two NICs in it, and one in B, between those of A. */
static const char text[] =
    "{\"switches\": [{\"name\": \"a\"}, {\"name\": \"b\"}],"
    "\"nics\": [{\"name\": \"a1\", \"node\": \"n1\", \"switch\": \"a\", \"plane\": \"A\", \"up\": 0},"
    "{\"name\": \"a2\", \"node\": \"n2\", \"switch\": \"a\", \"plane\": \"A\", \"up\": 7,"
    "\"device\": {\"type\": \"Ethernet\", \"speed\": 25000000000}},"
    "{\"name\": \"b2\", \"node\": \"n2\", \"switch\": \"b\", \"plane\": \"B\"},"
    "{\"name\": \"a2x\", \"node\": \"n2\", \"switch\": \"a\", \"plane\": \"A\", \"up\": 7},"
    "{\"name\": \"a3\", \"node\": \"n3\", \"switch\": \"a\", \"plane\": \"A\", \"up\": 7}]}";

static struct fabric_model model;

static int ask(const struct pmi_fabric_query *query, struct pmi_fabric_facts *ret_facts)
{
    struct buffer answer = {0};
    int rc = rank_fabric_answer(&model, query, &answer);

    *ret_facts = (struct pmi_fabric_facts){.planes = NULL};
    if (rc == 0)
        rc = pmi_fabric_facts_decode(ret_facts, answer.data, answer.length_bytes);
    buffer_fini(&answer);
    return rc;
}

static void refused(struct pmi_fabric_query query, int status, const char *name)
{
    struct pmi_fabric_facts facts;

    is_int(ask(&query, &facts), status, "%s", name);
    pmi_fabric_facts_fini(&facts);
}

static void test_matrix(void)
{
    static const uint16_t expected[4][4] = {{0, 1, 1, 1}, {8, 0, 1, 8}, {8, 1, 0, 8}, {8, 8, 8, 0}};
    struct pmi_fabric_query query = {.parts = PMI_FABRIC_COSTS, .device = PMI_FABRIC_ALL};
    struct pmi_fabric_facts facts;

    is_int(ask(&query, &facts), 0, "the matrix of the first plane");
    ok(facts.planes_count == 2 && facts.plane == 0 && facts.devices == 4 && facts.rows_count == 4 &&
           facts.list_count == 0 && !facts.is_cut,
       "has all devices of it");
    is_string(facts.planes[1], "B", "the other is named");
    ok(facts.rows_count == 4 && memcmp(facts.costs, expected, sizeof(expected)) == 0,
       "ways there and back differ");
    pmi_fabric_facts_fini(&facts);
}

static void test_rows(void)
{
    static const uint16_t expected[2][4] = {{8, 0, 1, 8}, {8, 1, 0, 8}};
    struct pmi_fabric_query query = {.parts = PMI_FABRIC_COSTS, .device = PMI_FABRIC_ALL};
    char node[] = "n2", plane[] = "A";
    struct pmi_fabric_facts facts;

    query.node = node;
    query.plane = plane;
    is_int(ask(&query, &facts), 0, "the rows of a node in a plane");
    ok(facts.rows_count == 2 && facts.rows[0] == 1 && facts.rows[1] == 2 &&
           memcmp(facts.costs, expected, sizeof(expected)) == 0,
       "are those of its devices");
    pmi_fabric_facts_fini(&facts);
    query.node = NULL;
    query.device = 3;
    is_int(ask(&query, &facts), 0, "one row");
    ok(facts.rows_count == 1 && facts.rows[0] == 3 && facts.costs[0] == 8, "is the wanted one");
    pmi_fabric_facts_fini(&facts);
}

static void test_devices(void)
{
    struct pmi_fabric_query query = {.parts = PMI_FABRIC_DEVICES, .device = PMI_FABRIC_ALL};
    char name[] = "a2x", other[] = "a2";
    struct pmi_fabric_facts facts;

    query.device_name = name;
    is_int(ask(&query, &facts), 0, "a device by its name");
    ok(facts.list_count == 1 && facts.list[0].index == 2 && facts.list[0].up == 7 &&
           strcmp(facts.list[0].node, "n2") == 0 && strcmp(facts.list[0].switch_name, "a") == 0,
       "with its number in the plane, node and switch");
    ok(facts.dims == 2 && facts.list[0].place[0] == 0 && facts.list[0].place[1] == 2,
       "and its place: the third on the first switch");
    ok(facts.list_count == 1 && facts.list[0].facts == NULL, "nothing more is known of it");
    pmi_fabric_facts_fini(&facts);
    query.device_name = other;
    is_int(ask(&query, &facts), 0, "another one");
    ok(facts.list_count == 1 && facts.list[0].facts != NULL &&
           facts.list[0].facts->speed == 25000000000u &&
           strcmp(facts.list[0].facts->texts[NIC_TYPE], "Ethernet") == 0,
       "with what the description knows");
    pmi_fabric_facts_fini(&facts);
    query.device_name = NULL;
    query.plane_index = 1;
    is_int(ask(&query, &facts), 0, "those of another plane by its number");
    ok(facts.list_count == 1 && strcmp(facts.list[0].name, "b2") == 0 && facts.devices == 1,
       "are others");
    ok(facts.list_count == 1 && facts.list[0].place[0] == 1 && facts.list[0].place[1] == 0,
       "the first on the second switch");
    pmi_fabric_facts_fini(&facts);
}

static void test_refused(void)
{
    char unknown[] = "none";
    struct buffer answer = {0};
    struct pmi_fabric_query query = {.device = PMI_FABRIC_ALL};

    refused((struct pmi_fabric_query){.device = PMI_FABRIC_ALL, .plane = unknown}, -ENOENT,
            "a plane that there is not");
    refused((struct pmi_fabric_query){.device = PMI_FABRIC_ALL, .plane_index = 2}, -ENOENT,
            "nor by its number");
    refused((struct pmi_fabric_query){.device = PMI_FABRIC_ALL, .node = unknown}, -ENOENT,
            "a node");
    refused((struct pmi_fabric_query){.device = PMI_FABRIC_ALL, .device_name = unknown}, -ENOENT,
            "a NIC");
    refused((struct pmi_fabric_query){.device = 4}, -EINVAL, "a number beyond the last");
    is_int(rank_fabric_answer(NULL, &query, &answer), -ENOTSUP, "without a model nothing is known");
    is_uint(answer.length_bytes, 0, "or said");
}

/* The matrix is limited; rows are given beyond that. */
static void test_limits(void)
{
    struct pmi_fabric_query query = {.parts = PMI_FABRIC_COSTS, .device = PMI_FABRIC_ALL};
    struct pmi_fabric_facts facts;

    fabric_model_fini(&model);
    is_int(fabric_read_generate(&model, "fat-tree:32x65", NULL), 0, "2,080 NICs");
    is_int(ask(&query, &facts), 0, "are answered for");
    ok(facts.devices == 2080 && facts.rows_count == 0 && facts.is_cut, "without the matrix");
    pmi_fabric_facts_fini(&facts);
    query.device = 2079;
    query.parts = PMI_FABRIC_DEVICES;
    is_int(ask(&query, &facts), 0, "the last");
    ok(facts.dims == 3 && facts.list_count == 1 && facts.list[0].place[0] == 0 &&
           facts.list[0].place[1] == 64 && facts.list[0].place[2] == 31,
       "has a place in three dimensions");
    pmi_fabric_facts_fini(&facts);
    query.parts = PMI_FABRIC_COSTS;
    is_int(ask(&query, &facts), 0, "a row of it");
    ok(facts.rows_count == 1 && facts.costs[0] == 4 && facts.costs[2079] == 0 && !facts.is_cut,
       "is there");
    pmi_fabric_facts_fini(&facts);
}

int main(void)
{
    is_int(fabric_read_json(&model, text, strlen(text), NULL), 0, "a model");
    test_matrix();
    test_rows();
    test_devices();
    test_refused();
    test_limits();
    fabric_model_fini(&model);
    return done_testing();
}
