/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Switches in the simulated world, from a model of the fabric: links up that all nodes below a switch share, and
 * latencies from the model's costs.  The root is connected to a highest switch, whatever the order of the nodes.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/file_read.h"
#include "fabric/topology/fabric_order.h"
#include "fabric/topology/fabric_read.h"
#include "launch/cli/sim/simulate_internal.h"

#define LINK_DEFAULT_PS 250000ull
#define RATIO_MAX       1000u
#define MODEL_BYTES_MAX (256u * 1024 * 1024)
#define SHUFFLE_SEED    0x73687566ull
#define PS_PER_NS       1000ull

/* ---- from the command line ---- */

static int read_model(const char *text, struct fabric_model *model, struct error *error)
{
    struct buffer content = {0};
    int rc;

    if (fabric_read_is_generated(text)) {
        rc = fabric_read_generate(model, text, error);
        if (rc < 0)
            error_prefix(error, "option --fabric-model");
        return rc;
    }
    rc = file_read(text, MODEL_BYTES_MAX, &content);
    if (rc < 0)
        error_set(error, rc, "cannot read %s: %s", text, strerror(-rc));
    else if ((rc = fabric_read_text(model, buffer_string(&content), content.length_bytes, error)) <
             0)
        error_prefix(error, "%s", text);
    buffer_fini(&content);
    return rc;
}

/* "4,1" */
static int parse_ratios(const char *text, struct simulate_fabric *fabric, struct error *error)
{
    const char *at = text;

    for (;;) {
        char word[16];
        size_t bytes = strcspn(at, ",");

        if (fabric->ratios_count == SIMULATE_RATIOS_MAX || bytes >= sizeof(word))
            break;
        memcpy(word, at, bytes);
        word[bytes] = '\0';
        if (options_number(word, 1, RATIO_MAX, &fabric->ratios[fabric->ratios_count++]) < 0)
            break;
        if (at[bytes] == '\0')
            return 0;
        at += bytes + 1;
    }
    return error_set(
        error, -EINVAL,
        "option --oversubscription: '%.40s' is not a list of up to %u whole numbers from "
        "1 to %u",
        text, SIMULATE_RATIOS_MAX, RATIO_MAX);
}

static int check_alone(const struct simulate_fabric_words *words, struct error *error)
{
    const char *option = words->link_latency != NULL ? "--link-latency"
                         : words->ratios != NULL     ? "--oversubscription"
                         : words->is_shuffled > 0    ? "--shuffle"
                         : words->no_shape > 0       ? "--no-shape"
                                                     : NULL;

    if (option == NULL)
        return 0;
    return error_set(error, -EINVAL, "option %s: it needs --fabric-model", option);
}

int simulate_fabric_parse(const struct simulate_fabric_words *words,
                          struct simulate_fabric *ret_fabric, struct error *error)
{
    uint64_t link_ps = LINK_DEFAULT_PS;
    int rc = 0;

    assert(ret_fabric->name == NULL);
    if (words->model == NULL)
        return check_alone(words, error);
    if (words->link_latency != NULL && simulate_time_parse(words->link_latency, &link_ps) < 0)
        return error_set(error, -EINVAL,
                         "option --link-latency: '%.40s' is not a time such as 250ns",
                         words->link_latency);
    if (words->ratios != NULL)
        rc = parse_ratios(words->ratios, ret_fabric, error);
    if (rc == 0)
        rc = read_model(words->model, &ret_fabric->model, error);
    if (rc < 0)
        return rc;
    ret_fabric->name = words->model;
    ret_fabric->link_ns = link_ps / PS_PER_NS;
    ret_fabric->is_shuffled = words->is_shuffled > 0;
    ret_fabric->is_shaped = words->no_shape == 0;
    return 0;
}

void simulate_fabric_fini(struct simulate_fabric *fabric)
{
    fabric_model_fini(&fabric->model);
    fabric->name = NULL;
}

void simulate_fabric_print(const struct simulate_fabric *fabric, struct buffer *out)
{
    if (fabric->name == NULL)
        return;
    buffer_printf(out, "%s, nodes %s, tree by the %s", fabric->name,
                  fabric->is_shuffled ? "shuffled" : "as listed there",
                  fabric->is_shaped ? "switches" : "order of the nodes");
    for (uint32_t i = 0; i < fabric->ratios_count; i++)
        buffer_printf(out, "%s%u:1", i == 0 ? ", uplinks " : ", ", fabric->ratios[i]);
    buffer_append_string(out, "\n");
}

/* ---- a world's ---- */

/* The NICs of the nodes in the order in which they are listed: each its first. */
static void list_nodes(const struct simulate_fabric *fabric, uint32_t seed, uint32_t *ret_vertices)
{
    const struct fabric_model *model = &fabric->model;
    struct random_state random;

    for (uint32_t i = model->vertices_count; i > 0; i--)
        ret_vertices[model->vertices[i - 1].node] = i - 1;
    random_init(&random, seed ^ SHUFFLE_SEED);
    for (uint32_t i = model->nodes_count; fabric->is_shuffled && i > 1; i--) {
        uint32_t other = (uint32_t)random_below(&random, i), kept = ret_vertices[i - 1];

        ret_vertices[i - 1] = ret_vertices[other];
        ret_vertices[other] = kept;
    }
}

/* From the lowest switches on: 0 where only NICs are below. */
static uint32_t *heights_of(const struct fabric_model *model)
{
    uint32_t *heights = memory_allocate_zeroed(model->switches_count * sizeof(*heights));

    for (uint32_t depth = FABRIC_LEVELS_MAX; depth > 1; depth--)
        for (uint32_t i = 0; i < model->switches_count; i++) {
            uint32_t parent = model->switches[i].parent;

            if (model->switches[i].depth == depth - 1 && heights[parent] <= heights[i])
                heights[parent] = heights[i] + 1;
        }
    return heights;
}

static uint32_t ratio_at(const struct simulate_fabric *fabric, uint32_t height)
{
    uint32_t last = fabric->ratios_count - 1;

    assert(fabric->ratios_count > 0);
    return fabric->ratios[height < last ? height : last];
}

/* What leaves a switch is what enters it from below, in bytes per ps, by its ratio: nodes' ports, and what
 * leaves the switches below. */
static void set_rates(const struct simulate_fabric *fabric, uint64_t byte_ps,
                      struct virtual_network_switch *switches)
{
    const struct fabric_model *model = &fabric->model;
    double *rates = memory_allocate_zeroed(model->switches_count * sizeof(*rates));
    uint32_t *heights = heights_of(model);

    for (uint32_t i = 0; i < model->vertices_count; i++)
        rates[model->vertices[i].top] += 1.0 / (double)byte_ps;
    for (uint32_t depth = FABRIC_LEVELS_MAX; depth > 1; depth--)
        for (uint32_t i = 0; i < model->switches_count; i++) {
            double rate;

            if (model->switches[i].depth != depth - 1 || model->switches[i].below == 0)
                continue;
            rate = rates[i] / ratio_at(fabric, heights[i]);
            rates[model->switches[i].parent] += rate;
            switches[i].up_byte_ps = 1.0 / rate > 1 ? (uint64_t)(1.0 / rate + 0.5) : 1;
            switches[i].down_byte_ps = switches[i].up_byte_ps;
        }
    free(heights);
    free(rates);
}

static struct virtual_network_switch *make_switches(const struct simulate_fabric *fabric,
                                                    uint64_t byte_ps)
{
    const struct fabric_model *model = &fabric->model;
    struct virtual_network_switch *switches =
        memory_allocate_zeroed(model->switches_count * sizeof(*switches));

    for (uint32_t i = 0; i < model->switches_count; i++) {
        const struct fabric_switch *own = &model->switches[i];

        switches[i].parent = own->parent; /* FABRIC_NONE is VIRTUAL_NETWORK_NO_SWITCH */
        switches[i].depth = own->depth;
        switches[i].across_latency_ns = own->across * fabric->link_ns;
        if (own->parent == FABRIC_NONE)
            continue;
        switches[i].up_latency_ns = own->link.up * fabric->link_ns;
        switches[i].down_latency_ns = own->link.down * fabric->link_ns;
    }
    if (fabric->ratios_count > 0 && byte_ps > 0)
        set_rates(fabric, byte_ps, switches);
    return switches;
}

/* Places after the root's in the order of the nodes, or of the switches. */
static struct virtual_network_port_at *make_ports(const struct simulate_fabric *fabric,
                                                  uint32_t nodes, uint32_t seed)
{
    const struct fabric_model *model = &fabric->model;
    struct virtual_network_port_at *ports = memory_allocate((nodes + 1) * sizeof(*ports));
    uint32_t *vertices = memory_allocate(model->nodes_count * sizeof(*vertices));
    uint32_t *order = memory_allocate(nodes * sizeof(*order));

    list_nodes(fabric, seed, vertices);
    (void)fabric_order_make(model, vertices, nodes, order);
    for (uint32_t i = 0; i < nodes; i++) {
        const struct fabric_vertex *vertex =
            &model->vertices[vertices[fabric->is_shaped ? order[i] : i]];

        ports[i + 1] = (struct virtual_network_port_at){
            .top = vertex->top,
            .up_latency_ns = vertex->link.up * fabric->link_ns,
            .down_latency_ns = vertex->link.down * fabric->link_ns};
    }
    ports[0] = (struct virtual_network_port_at){.top = model->vertices[0].top,
                                                .up_latency_ns = fabric->link_ns,
                                                .down_latency_ns = fabric->link_ns};
    while (model->switches[ports[0].top].parent != FABRIC_NONE)
        ports[0].top = model->switches[ports[0].top].parent;
    free(order);
    free(vertices);
    return ports;
}

struct virtual_network_fabric *simulate_fabric_make(const struct simulate_fabric *fabric,
                                                    uint32_t nodes, uint64_t byte_ps, uint32_t seed)
{
    struct virtual_network_fabric *made = memory_allocate(sizeof(*made));

    assert(fabric->name != NULL && nodes > 0 && nodes <= fabric->model.nodes_count);
    *made = (struct virtual_network_fabric){.switches = make_switches(fabric, byte_ps),
                                            .switches_count = fabric->model.switches_count,
                                            .ports = make_ports(fabric, nodes, seed),
                                            .ports_count = nodes + 1};
    return made;
}

void simulate_fabric_free(struct virtual_network_fabric *fabric)
{
    if (fabric == NULL)
        return;
    free((void *)fabric->switches);
    free((void *)fabric->ports);
    free(fabric);
}
