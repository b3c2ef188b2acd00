/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/topology/fabric_read.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "fabric/topology/fabric_read_internal.h"

/* One entry of a list, for messages: "nics[3]". */
struct entry {
    const char *list;
    size_t index;
    const char *part; /* an object in it: ".device"; NULL: itself */
    const json_t *object;
};

static const struct entry whole = {.list = NULL};

static int fail(const struct entry *entry, int code, const char *key, const char *why,
                struct error *error)
{
    if (entry->list == NULL)
        return error_set(error, code, "\"%s\" %s", key, why);
    return error_set(error, code, "%s[%zu]%s: \"%s\" %s", entry->list, entry->index,
                     entry->part != NULL ? entry->part : "", key, why);
}

/* A key that this format does not have is most likely a typing error. */
static int check_keys(const struct entry *entry, const char *const *keys, struct error *error)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)entry->object, key, value)
    {
        size_t i = 0;

        while (keys[i] != NULL && strcmp(keys[i], key) != 0)
            i++;
        if (keys[i] == NULL)
            return fail(entry, -EINVAL, key, "is unknown", error);
    }
    return 0;
}

/* *ret_text is fallback if the key is missing; a NULL fallback: it must not be. */
static int text_of(const struct entry *entry, const char *key, const char *fallback,
                   const char **ret_text, struct error *error)
{
    const json_t *value = json_object_get(entry->object, key);

    if (value == NULL && fallback != NULL) {
        *ret_text = fallback;
        return 0;
    }
    if (value == NULL)
        return fail(entry, -EINVAL, key, "is missing", error);
    if (!json_is_string(value))
        return fail(entry, -EINVAL, key, "must be a string", error);
    *ret_text = json_string_value(value);
    return 0;
}

static int cost_of(const struct entry *entry, const char *key, uint16_t fallback,
                   uint16_t *ret_cost, struct error *error)
{
    const json_t *value = json_object_get(entry->object, key);

    *ret_cost = fallback;
    if (value == NULL)
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > FABRIC_COST_MAX)
        return fail(entry, -EINVAL, key, "must be a whole number from 0 to 65534", error);
    *ret_cost = (uint16_t)json_integer_value(value);
    return 0;
}

static int link_of(const struct entry *entry, struct fabric_link *ret_link, struct error *error)
{
    int rc = cost_of(entry, "up", fabric_read_link.up, &ret_link->up, error);

    return rc < 0 ? rc : cost_of(entry, "down", fabric_read_link.down, &ret_link->down, error);
}

/* Says in which entry the model has refused something. */
static int refused(const struct entry *entry, struct error *error)
{
    error_prefix(error, "%s[%zu]", entry->list, entry->index);
    return error != NULL ? error->code : -EINVAL;
}

static int add_switch(struct fabric_model *model, const struct entry *entry, struct error *error)
{
    static const char *const keys[] = {"name", "parent", "up", "down", "across", NULL};
    const char *name = NULL;
    uint32_t own;
    uint16_t across = 0;
    int rc = check_keys(entry, keys, error);

    if (rc == 0)
        rc = text_of(entry, "name", NULL, &name, error);
    if (rc == 0)
        rc = cost_of(entry, "across", 0, &across, error);
    if (rc < 0)
        return rc;
    return fabric_model_add_switch(model, name, across, &own, error) < 0 ? refused(entry, error)
                                                                         : 0;
}

static int find_switch(const struct fabric_model *model, const struct entry *entry, const char *key,
                       const char *name, uint32_t *ret_switch, struct error *error)
{
    *ret_switch = fabric_model_find_switch(model, name);
    if (*ret_switch == FABRIC_NONE)
        return error_set(error, -ENOENT, "%s[%zu]: \"%s\": there is no switch %.80s", entry->list,
                         entry->index, key, name);
    return 0;
}

static int set_parent(struct fabric_model *model, const struct entry *entry, struct error *error)
{
    const char *name = NULL, *parent_name = NULL;
    struct fabric_link link = fabric_read_link;
    uint32_t parent = FABRIC_NONE;
    int rc = text_of(entry, "parent", "", &parent_name, error);

    if (rc < 0 || parent_name[0] == '\0')
        return rc;
    rc = text_of(entry, "name", NULL, &name, error);
    if (rc == 0)
        rc = find_switch(model, entry, "parent", parent_name, &parent, error);
    if (rc == 0)
        rc = link_of(entry, &link, error);
    if (rc < 0)
        return rc;
    rc = fabric_model_set_parent(model, fabric_model_find_switch(model, name), parent, link, error);
    return rc < 0 ? refused(entry, error) : 0;
}

/* ---- What a NIC is ---- */

/* Untouched if the key is missing. */
static int number_of(const struct entry *entry, const char *key, json_int_t minimum,
                     json_int_t maximum, json_int_t *ret_number, struct error *error)
{
    const json_t *value = json_object_get(entry->object, key);
    char why[96];

    if (value == NULL)
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < minimum ||
        json_integer_value(value) > maximum) {
        snprintf(why, sizeof(why), "must be a whole number from %lld to %lld", (long long)minimum,
                 (long long)maximum);
        return fail(entry, -EINVAL, key, why, error);
    }
    *ret_number = json_integer_value(value);
    return 0;
}

static int read_numbers(const struct entry *entry, struct nic_facts *facts, struct error *error)
{
    json_int_t speed = 0, mtu = 0, numa = NIC_NUMA_UNKNOWN;
    int rc = number_of(entry, "speed", 1, INT64_MAX, &speed, error);

    if (rc == 0)
        rc = number_of(entry, "mtu", 1, UINT32_MAX, &mtu, error);
    if (rc == 0)
        rc = number_of(entry, "numa", 0, NIC_NUMA_UNKNOWN - 1, &numa, error);
    facts->speed = (uint64_t)speed;
    facts->mtu = (uint32_t)mtu;
    facts->numa = (uint16_t)numa;
    return rc;
}

static int read_state(const struct entry *entry, struct nic_facts *facts, struct error *error)
{
    const char *state = "";
    int rc = text_of(entry, "state", "", &state, error);

    if (rc == 0 && strcmp(state, "up") == 0)
        facts->state = NIC_UP;
    else if (rc == 0 && strcmp(state, "down") == 0)
        facts->state = NIC_DOWN;
    else if (rc == 0 && json_object_get(entry->object, "state") != NULL)
        rc = fail(entry, -EINVAL, "state", "must be \"up\" or \"down\"", error);
    return rc;
}

static int read_text(const struct entry *entry, const char *key, enum nic_text kind,
                     struct nic_facts *facts, struct error *error)
{
    const char *text = "";
    int rc = text_of(entry, key, "", &text, error);

    if (rc < 0 || json_object_get(entry->object, key) == NULL)
        return rc;
    if (!nic_text_is_valid(text))
        return fail(entry, -EINVAL, key, "must have 1 to 63 printable characters", error);
    if (kind == NIC_PCI && !nic_pci_is_valid(text))
        return fail(entry, -EINVAL, key, "must be an address like 0000:c1:00.0", error);
    nic_text_set(facts->texts[kind], NIC_TEXT_BYTES, text);
    return 0;
}

/* Nothing is known without "device". */
static int read_device(const struct entry *nic, struct nic_facts *facts, struct error *error)
{
    static const char *const keys[] = {"driver", "vendor", "device", "address", "type", "pci",
                                       "speed",  "mtu",    "state",  "numa",    NULL};
    const struct entry entry = {.list = nic->list,
                                .index = nic->index,
                                .part = ".device",
                                .object = json_object_get(nic->object, "device")};
    int rc;

    nic_facts_init(facts);
    if (entry.object == NULL)
        return 0;
    if (!json_is_object(entry.object))
        return fail(nic, -EINVAL, "device", "must be an object", error);
    rc = check_keys(&entry, keys, error);
    for (int i = 0; i < NIC_TEXT_COUNT && rc == 0; i++)
        rc = read_text(&entry, keys[i], (enum nic_text)i, facts, error);
    if (rc == 0)
        rc = read_numbers(&entry, facts, error);
    return rc == 0 ? read_state(&entry, facts, error) : rc;
}

/* ---- NICs ---- */

static int add_list(struct fabric_model *model, const char *names, const char *plane, uint32_t top,
                    struct fabric_link link, struct error *error)
{
    struct hostlist *nodes = hostlist_create();
    int rc = hostlist_parse(nodes, names, error);

    if (rc == 0)
        rc = fabric_read_add_nodes(model, nodes, plane, top, link, error);
    hostlist_destroy(nodes);
    return rc;
}

static int add_nic(struct fabric_model *model, const struct entry *entry, struct error *error)
{
    static const char *const keys[] = {"name", "node", "nodes",  "switch", "plane",
                                       "up",   "down", "device", NULL};
    const char *name = NULL, *node = NULL, *nodes = NULL, *plane = NULL, *top_name = NULL;
    struct fabric_link link = fabric_read_link;
    struct nic_facts facts;
    uint32_t top = FABRIC_NONE, first = model->vertices_count;
    int rc = check_keys(entry, keys, error);

    if (rc == 0)
        rc = text_of(entry, "switch", NULL, &top_name, error);
    if (rc == 0)
        rc = find_switch(model, entry, "switch", top_name, &top, error);
    if (rc == 0)
        rc = text_of(entry, "plane", "", &plane, error);
    if (rc == 0)
        rc = link_of(entry, &link, error);
    if (rc == 0)
        rc = text_of(entry, "nodes", "", &nodes, error);
    if (rc == 0 && nodes[0] == '\0')
        rc = text_of(entry, "name", NULL, &name, error);
    if (rc == 0 && nodes[0] == '\0')
        rc = text_of(entry, "node", NULL, &node, error);
    if (rc == 0)
        rc = read_device(entry, &facts, error);
    if (rc < 0)
        return rc;
    if (nodes[0] != '\0')
        rc = add_list(model, nodes, plane, top, link, error);
    else
        rc = fabric_model_add_vertex(model, name, node, plane, top, link, error);
    for (uint32_t i = first; rc == 0 && i < model->vertices_count; i++)
        fabric_model_describe(model, i, &facts);
    return rc < 0 ? refused(entry, error) : 0;
}

static int each_entry(struct fabric_model *model, const json_t *document, const char *list,
                      int (*add)(struct fabric_model *, const struct entry *, struct error *),
                      struct error *error)
{
    const json_t *items = json_object_get(document, list);
    int rc = 0;

    if (!json_is_array(items))
        return fail(&whole, -EINVAL, list, "must be a list", error);
    for (size_t i = 0; i < json_array_size(items) && rc == 0; i++) {
        const struct entry entry = {.list = list, .index = i, .object = json_array_get(items, i)};

        if (!json_is_object(entry.object))
            return error_set(error, -EINVAL, "%s[%zu] must be an object", list, i);
        rc = add(model, &entry, error);
    }
    return rc;
}

/* A row of "costs". */
static int read_row(const json_t *row, size_t number, uint32_t count, uint16_t *ret_costs,
                    struct error *error)
{
    if (!json_is_array(row) || json_array_size(row) != count)
        return error_set(error, -EINVAL,
                         "costs[%zu] must be a list of %u numbers, one for each NIC", number,
                         count);
    for (uint32_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(row, i);

        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > FABRIC_COST_NO_WAY)
            return error_set(error, -EINVAL,
                             "costs[%zu][%u] must be a whole number from 0 to 65535", number, i);
        ret_costs[i] = (uint16_t)json_integer_value(value);
    }
    return 0;
}

/* If there are some. */
static int read_costs(struct fabric_model *model, const json_t *document, struct error *error)
{
    const json_t *rows = json_object_get(document, "costs");
    uint32_t count = model->vertices_count;
    uint16_t *matrix;
    int rc = 0;

    if (rows == NULL)
        return 0;
    if (count > FABRIC_MATRIX_MAX)
        return error_set(error, -E2BIG, "\"costs\" of more than %u NICs", FABRIC_MATRIX_MAX);
    if (!json_is_array(rows) || json_array_size(rows) != count)
        return error_set(error, -EINVAL, "\"costs\" must be a list of %u rows, one for each NIC",
                         count);
    matrix = memory_allocate((size_t)count * count * sizeof(*matrix));
    for (uint32_t i = 0; i < count && rc == 0; i++)
        rc = read_row(json_array_get(rows, i), i, count, matrix + (size_t)i * count, error);
    if (rc == 0)
        fabric_model_set_matrix(model, matrix);
    else
        free(matrix);
    return rc;
}

static int read_document(struct fabric_model *model, const json_t *document, struct error *error)
{
    static const char *const keys[] = {"switches", "nics", "costs", "measured", NULL};
    const struct entry top = {.object = document};
    int rc;

    if (!json_is_object(document))
        return error_set(error, -EINVAL, "an object with \"switches\" and \"nics\" expected");
    rc = check_keys(&top, keys, error);
    if (rc == 0)
        rc = each_entry(model, document, "switches", add_switch, error);
    if (rc == 0)
        rc = each_entry(model, document, "switches", set_parent, error);
    if (rc == 0)
        rc = each_entry(model, document, "nics", add_nic, error);
    if (rc == 0 && model->vertices_count == 0)
        rc = error_set(error, -EINVAL, "no NIC is described");
    if (rc == 0)
        rc = read_costs(model, document, error);
    return rc < 0 ? rc : fabric_model_settle(model, error);
}

int fabric_read_json(struct fabric_model *model, const char *text, size_t text_bytes,
                     struct error *error)
{
    json_error_t why;
    json_t *document = json_loadb(text, text_bytes, JSON_REJECT_DUPLICATES, &why);
    int rc;

    assert(model->vertices_count == 0);
    if (document == NULL)
        return error_set(error, -EINVAL, "line %d: %s", why.line, why.text);
    rc = read_document(model, document, error);
    json_decref(document);
    return rc;
}
