/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_shape.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/topology/fabric_order.h"
#include "fabric/topology/fabric_read.h"
#include "launch/start/run_environment.h"

#define SLURM_FILE      "topology.conf"
#define SLURM_DIRECTORY "/etc/slurm"
#define SLURM           "slurm" /* the source's name */

/* ---- Reading ---- */

/* Where Slurm has its file; free() it. */
static char *slurm_file(const struct request_ops *ops)
{
    const char *conf = run_environment_get(ops->environment, "SLURM_CONF");
    const char *slash = conf != NULL ? strrchr(conf, '/') : NULL;

    if (slash == NULL)
        return memory_copy_string(SLURM_DIRECTORY "/" SLURM_FILE);
    return memory_printf("%.*s/" SLURM_FILE, (int)(slash - conf), conf);
}

static int read_file(struct fabric_model *model, const char *path, const struct request_ops *ops,
                     struct error *error)
{
    struct buffer text = {0};
    int rc = ops->read_file(path, &text, error);

    if (rc == 0) {
        rc = fabric_read_text(model, buffer_string(&text), text.length_bytes, error);
        if (rc < 0)
            error_prefix(error, "%s", path);
    }
    buffer_fini(&text);
    return rc;
}

int request_shape_read(const char *option, const char *text, const struct request_ops *ops,
                       struct fabric_model *ret_model, struct error *error)
{
    char *path;
    int rc;

    assert(option[0] == '-');
    if (text != NULL && fabric_read_is_generated(text)) {
        rc = fabric_read_generate(ret_model, text, error);
        if (rc < 0)
            error_prefix(error, "option %s", option);
        return rc;
    }
    if (text != NULL)
        return read_file(ret_model, text, ops, error);
    path = slurm_file(ops);
    rc = read_file(ret_model, path, ops, error);
    if (rc == -ENOENT)
        error_set(error, rc, "%s does not exist: describe the fabric by %s", path, option);
    free(path);
    return rc;
}

/* Slurm knows the switches above this node: what all nodes say can be collected (banyan-fabric(1)). */
static int knows_switches(const struct request_ops *ops)
{
    const char *pattern = run_environment_get(ops->environment, "SLURM_TOPOLOGY_ADDR_PATTERN");

    return pattern != NULL && strchr(pattern, '.') != NULL;
}

/* ---- The order ---- */

int request_shape_find(const struct request_settings *settings, const struct request_ops *ops,
                       const struct request_nodes *nodes, struct fabric_model *ret_model,
                       struct buffer *notes, struct error *error)
{
    struct error why = ERROR_NONE;
    int rc;

    *ret_model = (struct fabric_model){.switches = NULL};
    if (settings->fabric_topology != NULL) {
        rc = request_shape_read("--fabric-topology", settings->fabric_topology, ops, ret_model,
                                error);
    } else if (nodes->source != NULL && strcmp(nodes->source->name, SLURM) == 0) {
        rc = request_shape_read("--fabric-topology", NULL, ops, ret_model, &why);
        if (rc < 0 && (rc != -ENOENT || knows_switches(ops)))
            buffer_printf(notes, "the tree does not follow the fabric: %s\n", why.text);
        if (rc < 0) {
            fabric_model_fini(ret_model);
            return 0;
        }
    } else {
        return 0;
    }
    if (rc < 0)
        fabric_model_fini(ret_model);
    return rc < 0 ? rc : 1;
}

static void note_unknown(const struct allocation *allocation, const uint32_t *nodes,
                         uint32_t unknown, struct buffer *notes)
{
    uint32_t count = allocation_nodes(allocation);
    struct hostlist *names = hostlist_create();

    assert(unknown <= count);
    for (uint32_t i = count - unknown; i < count; i++)
        hostlist_append_slice(names, allocation->names, nodes[i], 1);
    buffer_append_string(notes, "not in the model of the fabric, so last in the tree: ");
    hostlist_print(names, notes);
    buffer_append_string(notes, "\n");
    hostlist_destroy(names);
}

void request_shape_order(const struct fabric_model *model, struct allocation *allocation,
                         struct buffer *notes)
{
    uint32_t count = allocation_nodes(allocation);
    uint32_t *vertices = memory_allocate(count * sizeof(*vertices));
    uint32_t *nodes = memory_allocate(count * sizeof(*nodes));
    uint32_t unknown;

    assert(allocation->order == NULL);
    fabric_order_find(model, allocation->names, vertices);
    unknown = fabric_order_make(model, vertices, count, nodes);
    allocation->order = node_order_create(nodes, count);
    if (unknown > 0)
        note_unknown(allocation, nodes, unknown, notes);
    free(nodes);
    free(vertices);
}

int request_shape_take(const struct request_settings *settings, const struct request_ops *ops,
                       const struct request_nodes *nodes, const struct fabric_model *given,
                       struct allocation *allocation, struct buffer *notes, struct error *error)
{
    struct fabric_model model;
    int rc;

    if (settings->no_shape > 0)
        return 0;
    if (given->is_settled) {
        request_shape_order(given, allocation, notes);
        return 0;
    }
    rc = request_shape_find(settings, ops, nodes, &model, notes, error);
    if (rc <= 0)
        return rc;
    request_shape_order(&model, allocation, notes);
    fabric_model_fini(&model);
    return 0;
}
