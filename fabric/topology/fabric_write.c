/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/topology/fabric_write.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "alloc/host_name.h"
#include "alloc/hostlist.h"

/* Quotes and control characters are escaped. */
static void put_text(const char *text, struct buffer *out)
{
    buffer_append_string(out, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            buffer_printf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            buffer_printf(out, "\\u%04x", (unsigned int)*text);
        else
            buffer_append(out, text, 1);
    }
    buffer_append_string(out, "\"");
}

static void put_field(const char *key, const char *value, struct buffer *out)
{
    buffer_printf(out, "\"%s\": ", key);
    put_text(value, out);
    buffer_append_string(out, ", ");
}

static void put_link(struct fabric_link link, struct buffer *out)
{
    buffer_printf(out, "\"up\": %u, \"down\": %u", link.up, link.down);
}

static void put_switch(const struct fabric_model *model, uint32_t number, struct buffer *out)
{
    const struct fabric_switch *own = &model->switches[number];

    buffer_printf(out, "%s\n  {", number > 0 ? "," : "");
    put_field("name", fabric_model_name(model, own->name), out);
    if (own->parent != FABRIC_NONE) {
        put_field("parent", fabric_model_name(model, model->switches[own->parent].name), out);
        put_link(own->link, out);
        buffer_append_string(out, ", ");
    }
    buffer_printf(out, "\"across\": %u}", own->across);
}

static void put_key(const char *key, int *count, struct buffer *out)
{
    buffer_printf(out, "%s\"%s\": ", (*count)++ > 0 ? ", " : "", key);
}

static void put_known_text(const struct nic_facts *facts, enum nic_text kind, const char *key,
                           int *count, struct buffer *out)
{
    if (facts->texts[kind][0] == '\0')
        return;
    put_key(key, count, out);
    put_text(facts->texts[kind], out);
}

static void put_known_number(uint64_t number, const char *key, int *count, struct buffer *out)
{
    if (number == 0)
        return;
    put_key(key, count, out);
    buffer_printf(out, "%" PRIu64, number);
}

void fabric_write_facts(const struct nic_facts *facts, struct buffer *out)
{
    int count = 0;

    buffer_append_string(out, "{");
    put_known_text(facts, NIC_DRIVER, "driver", &count, out);
    put_known_text(facts, NIC_VENDOR, "vendor", &count, out);
    put_known_text(facts, NIC_DEVICE, "device", &count, out);
    put_known_text(facts, NIC_ADDRESS, "address", &count, out);
    put_known_number(facts->speed, "speed", &count, out);
    put_known_number(facts->mtu, "mtu", &count, out);
    if (facts->state != NIC_STATE_UNKNOWN) {
        put_key("state", &count, out);
        put_text(facts->state == NIC_UP ? "up" : "down", out);
    }
    put_known_text(facts, NIC_TYPE, "type", &count, out);
    put_known_text(facts, NIC_PCI, "pci", &count, out);
    if (facts->numa != NIC_NUMA_UNKNOWN) {
        put_key("numa", &count, out);
        buffer_printf(out, "%u", facts->numa);
    }
    buffer_append_string(out, "}");
}

/* Can it be an item of a hostlist? */
static int is_listed(const struct fabric_model *model, uint32_t number)
{
    const struct fabric_vertex *vertex = &model->vertices[number];
    const char *name = fabric_model_name(model, vertex->name);
    size_t offset;

    return strcmp(name, fabric_model_name(model, model->nodes[vertex->node])) == 0 &&
           host_name_check(name, strlen(name), &offset, NULL) == 0;
}

static int is_alike(const struct fabric_model *model, uint32_t number, uint32_t other)
{
    const struct fabric_vertex *a = &model->vertices[number], *b = &model->vertices[other];

    return a->top == b->top && a->plane == b->plane && a->link.up == b->link.up &&
           a->link.down == b->link.down && fabric_model_same_facts(model, number, other);
}

/* Returns the number of the first vertex that is not of this entry. */
static uint32_t put_names(const struct fabric_model *model, uint32_t first, struct buffer *out)
{
    const struct fabric_vertex *vertex = &model->vertices[first];
    struct hostlist *names;
    struct buffer text = {0};
    uint32_t next = first;

    if (!is_listed(model, first)) {
        put_field("name", fabric_model_name(model, vertex->name), out);
        put_field("node", fabric_model_name(model, model->nodes[vertex->node]), out);
        return first + 1;
    }
    names = hostlist_create();
    while (next < model->vertices_count && is_listed(model, next) && is_alike(model, first, next))
        hostlist_append(names, fabric_model_name(model, model->vertices[next++].name));
    hostlist_print(names, &text);
    put_field("nodes", buffer_string(&text), out);
    buffer_fini(&text);
    hostlist_destroy(names);
    return next;
}

static uint32_t put_vertices(const struct fabric_model *model, uint32_t first, struct buffer *out)
{
    const struct fabric_vertex *vertex = &model->vertices[first];
    const char *plane = fabric_model_name(model, model->planes[vertex->plane]);
    struct nic_facts facts;
    uint32_t next;

    buffer_printf(out, "%s\n  {", first > 0 ? "," : "");
    next = put_names(model, first, out);
    assert(next > first);
    put_field("switch", fabric_model_name(model, model->switches[vertex->top].name), out);
    if (plane[0] != '\0')
        put_field("plane", plane, out);
    put_link(vertex->link, out);
    if (fabric_model_facts(model, first, &facts)) {
        buffer_append_string(out, ",\n   \"device\": ");
        fabric_write_facts(&facts, out);
    }
    buffer_append_string(out, "}");
    return next;
}

void fabric_write_json(const struct fabric_model *model, struct buffer *out)
{
    assert(model->is_settled && model->vertices_count > 0);
    buffer_append_string(out, "{\"switches\": [");
    for (uint32_t i = 0; i < model->switches_count; i++)
        put_switch(model, i, out);
    buffer_append_string(out, "],\n \"nics\": [");
    for (uint32_t i = 0; i < model->vertices_count;)
        i = put_vertices(model, i, out);
    buffer_append_string(out, "]}\n");
}
