/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of a model that some nodes are: made by the same steps as the whole, so it obeys the same limits. */
#include "config.h"

#include "fabric/topology/fabric_model.h"

#include <assert.h>

void fabric_model_copy_switches(const struct fabric_model *model, struct fabric_model *ret_copy)
{
    for (uint32_t i = 0; i < model->switches_count; i++) {
        uint32_t own;
        int rc =
            fabric_model_add_switch(ret_copy, fabric_model_name(model, model->switches[i].name),
                                    model->switches[i].across, &own, NULL);

        assert(rc == 0 && own == i);
    }
    for (uint32_t i = 0; i < model->switches_count; i++) {
        const struct fabric_switch *own = &model->switches[i];
        int rc = own->parent == FABRIC_NONE
                     ? 0
                     : fabric_model_set_parent(ret_copy, i, own->parent, own->link, NULL);

        assert(rc == 0);
    }
}

void fabric_model_part(const struct fabric_model *model, const uint8_t *nodes,
                       struct fabric_model *ret_part)
{
    struct fabric_model part = {.switches = NULL};
    int rc;

    assert(model->is_settled);
    fabric_model_copy_switches(model, &part);
    for (uint32_t i = 0; i < model->vertices_count; i++) {
        const struct fabric_vertex *vertex = &model->vertices[i];
        struct nic_facts facts;

        if (!nodes[vertex->node])
            continue;
        rc = fabric_model_add_vertex(&part, fabric_model_name(model, vertex->name),
                                     fabric_model_name(model, model->nodes[vertex->node]),
                                     fabric_model_name(model, model->planes[vertex->plane]),
                                     vertex->top, vertex->link, NULL);
        assert(rc == 0);
        if (fabric_model_facts(model, i, &facts))
            fabric_model_describe(&part, part.vertices_count - 1, &facts);
    }
    rc = fabric_model_settle(&part, NULL);
    assert(rc == 0);
    *ret_part = part;
}
