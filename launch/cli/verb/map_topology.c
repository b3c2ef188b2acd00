/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/map_topology.h"

#include <stdlib.h>

#include <jansson.h>

/* ---- What is shown ---- */

static void cpus_of_numa(const struct topology *view, uint32_t numa, struct ranges *ret_cpus)
{
    for (uint32_t t = 0; t < view->threads; t++) {
        if (view->objects[TOPOLOGY_NUMA][t] == numa)
            ranges_add(ret_cpus, view->os[t], view->os[t]);
    }
}

static void cpus_near(const struct topology *view, const struct topology_device *device,
                      struct ranges *ret_cpus, struct ranges *ret_numas)
{
    for (uint32_t t = 0; t < view->threads; t++) {
        uint32_t numa = view->objects[TOPOLOGY_NUMA][t];

        if (!ranges_contains(&device->near, t))
            continue;
        ranges_add(ret_cpus, view->os[t], view->os[t]);
        if (numa != TOPOLOGY_NONE)
            ranges_add(ret_numas, numa, numa);
    }
}

/* ---- Text ---- */

static void print_numas(const struct topology *view, struct buffer *out)
{
    for (uint32_t i = 0; i < view->counts[TOPOLOGY_NUMA]; i++) {
        struct ranges cpus = {0};

        cpus_of_numa(view, i, &cpus);
        buffer_printf(out, "numa %-4u cpus ", i);
        ranges_print(&cpus, out);
        if (!ranges_is_empty(&view->memory[i])) {
            buffer_append_string(out, ", memory ");
            ranges_print(&view->memory[i], out);
        }
        buffer_append_string(out, "\n");
        ranges_fini(&cpus);
    }
}

static void print_device(const struct topology *view, const struct topology_device *device,
                         struct buffer *out)
{
    struct ranges cpus = {0}, numas = {0};

    cpus_near(view, device, &cpus, &numas);
    buffer_printf(out, "device    %s", device->name);
    if (!ranges_is_empty(&cpus)) {
        buffer_append_string(out, ", near cpus ");
        ranges_print(&cpus, out);
    }
    if (!ranges_is_empty(&numas)) {
        buffer_append_string(out, " (numa ");
        ranges_print(&numas, out);
        buffer_append_string(out, ")");
    }
    buffer_append_string(out, "\n");
    ranges_fini(&cpus);
    ranges_fini(&numas);
}

static void print_machine(const struct map_machine *machine, struct buffer *out)
{
    struct topology view;

    if (topology_restrict(&machine->topology, &machine->allowed, &view) < 0)
        return;
    for (int level = TOPOLOGY_PACKAGE; level < TOPOLOGY_LEVEL_COUNT; level++)
        buffer_printf(out, "%-9s %u\n", topology_level_name((enum topology_level)level),
                      view.counts[level]);
    print_numas(&view, out);
    for (uint32_t i = 0; i < view.devices_count; i++)
        print_device(&view, &view.devices[i], out);
    topology_fini(&view);
}

void map_topology_text(const struct map_machines *machines, struct buffer *out)
{
    for (uint32_t i = 0; i < machines->count; i++) {
        if (machines->count > 1) {
            map_machines_print_whose(machines, i, out);
            buffer_append_string(out, ":\n");
        }
        print_machine(&machines->items[i], out);
    }
}

/* ---- JSON ---- */

static json_t *json_ranges(const struct ranges *set)
{
    struct buffer text = {0};
    json_t *value;

    ranges_print(set, &text);
    value = json_string(buffer_string(&text));
    buffer_fini(&text);
    return value;
}

static json_t *json_numas(const struct topology *view)
{
    json_t *numas = json_array();

    for (uint32_t i = 0; i < view->counts[TOPOLOGY_NUMA]; i++) {
        struct ranges cpus = {0};

        cpus_of_numa(view, i, &cpus);
        json_array_append_new(numas, json_pack("{s:o, s:o}", "cpus", json_ranges(&cpus), "memory",
                                               json_ranges(&view->memory[i])));
        ranges_fini(&cpus);
    }
    return numas;
}

static json_t *json_devices(const struct topology *view)
{
    static const char *const kinds[TOPOLOGY_DEVICE_KIND_COUNT] = {
        [TOPOLOGY_DEVICE_OTHER] = "other",     [TOPOLOGY_DEVICE_NVIDIA] = "nvidia",
        [TOPOLOGY_DEVICE_AMD] = "amd",         [TOPOLOGY_DEVICE_INTEL] = "intel",
        [TOPOLOGY_DEVICE_NETWORK] = "network",
    };
    json_t *devices = json_array();

    for (uint32_t i = 0; i < view->devices_count; i++) {
        const struct topology_device *device = &view->devices[i];
        struct ranges cpus = {0}, numas = {0};

        cpus_near(view, device, &cpus, &numas);
        json_array_append_new(devices, json_pack("{s:s, s:s, s:o, s:o}", "name", device->name,
                                                 "kind", kinds[device->kind], "cpus",
                                                 json_ranges(&cpus), "numa", json_ranges(&numas)));
        ranges_fini(&cpus);
        ranges_fini(&numas);
    }
    return devices;
}

static json_t *json_machine(const struct map_machines *machines, uint32_t index)
{
    const struct map_machine *machine = &machines->items[index];
    json_t *value = json_object(), *levels = json_object();
    struct buffer whose = {0};
    struct topology view;

    map_machines_print_whose(machines, index, &whose);
    json_object_set_new(value, "nodes", json_string(buffer_string(&whose)));
    buffer_fini(&whose);
    json_object_set_new(value, "levels", levels);
    if (topology_restrict(&machine->topology, &machine->allowed, &view) < 0)
        return value;
    for (int level = TOPOLOGY_PACKAGE; level < TOPOLOGY_LEVEL_COUNT; level++)
        json_object_set_new(levels, topology_level_name((enum topology_level)level),
                            json_integer(view.counts[level]));
    json_object_set_new(value, "numa", json_numas(&view));
    json_object_set_new(value, "devices", json_devices(&view));
    topology_fini(&view);
    return value;
}

void map_topology_json(const struct map_machines *machines, struct buffer *out)
{
    json_t *root = json_array();
    char *text;

    for (uint32_t i = 0; i < machines->count; i++)
        json_array_append_new(root, json_machine(machines, i));
    text = json_dumps(root, JSON_INDENT(1));
    buffer_append_string(out, text);
    buffer_append_string(out, "\n");
    free(text);
    json_decref(root);
}
