/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A member that has called stops waiting, which ends the operation for all.  CANCEL goes up to the
 * meeting point; a place that knows of it no longer waits for calls, asks the children it has not
 * heard from (QUERY), and notifies each new parent until there is a decision.  The rest is as after
 * a member's death: members that have not called answer ABSENT, an existing decision stands, and
 * late callers find the decision.
 */
#include "config.h"

#include <errno.h>

#include "overlay/collective.h"
#include "overlay/series.h"

void collective_cancel_tell(struct overlay *overlay, struct series *series,
                            struct operation *operation)
{
    struct overlay_roll_call call = {.key = operation_key(series, operation)};
    struct frame frame;

    if (operation->cancel != CANCEL_KNOWN || !series_can_tell(overlay, series) ||
        !collective_can_contribute(overlay, series))
        return;
    operation->cancel = CANCEL_TOLD;
    call.set = series_set_to_tell(overlay, series);
    overlay_encode_named(OVERLAY_CANCEL, &call, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
}

void collective_cancel_take(struct overlay *overlay, struct series *series,
                            struct operation *operation, enum cancel_state state)
{
    if (operation->cancel != CANCEL_NONE || operation_is_decided(operation) ||
        operation_is_over(operation))
        return;
    if (!operation->called && series_is_member(overlay, series) &&
        !series_has_dead(overlay, series))
        operation_count_down(operation);
    operation->cancel = state;
    for (uint32_t i = 0; i < overlay->children_count && !operation_is_going(operation); i++)
        collective_query_child(overlay, series, operation, i);
    collective_advance(overlay, series, operation);
}

void collective_cancel(struct overlay *overlay, const struct operation_name *key)
{
    struct series *series = series_find(overlay, key);
    struct operation *operation = series != NULL ? series_operation(series, key->generation) : NULL;

    if (operation != NULL && operation->called)
        collective_cancel_take(overlay, series, operation, CANCEL_KNOWN);
}

int collective_on_cancel(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct operation *operation;
    struct series *series;
    int rc = collective_open_named(overlay, frame, &series, &operation);

    (void)from;
    if (operation != NULL)
        collective_cancel_take(overlay, series, operation, CANCEL_KNOWN);
    return rc;
}
