/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/operation.h"

#include <stdlib.h>
#include <string.h>

#include "overlay/large.h"
#include "overlay/series.h"
#include "overlay/stream.h"

static void stream_of_operation_check(const struct operation *operation)
{
    assert(operation_is_going(operation) <= (operation->stream != NULL));
    assert(operation_is_stored(operation) <= (operation->stream != NULL));
    assert(operation_is_going(operation) || operation_is_stored(operation) ||
           operation->stream == NULL);
    assert(!operation_is_going(operation) || operation->stream->attempt == operation->attempt);
    assert(!operation_is_stored(operation) || stream_is_complete(operation->stream));
    assert(operation->broken <= operation->round + 1);
}

void operation_check(const struct overlay *overlay, const struct series *series,
                     const struct operation *operation)
{
    series_check(overlay, series);
    assert(operation->attempt <= series->attempt); /* I1: a new one begins with restart */
    assert(operation->sent == ATTEMPT_NONE || operation->sent <= operation->attempt);
    assert(operation->waiting == WAITING_UNKNOWN ||
           operation->waiting <= overlay->children_count + 1);
    assert(operation->parts_count <= overlay->children_count);
    assert(operation->own == NULL || (operation->called && !operation_is_decided(operation)));
    assert(operation->result == NULL || operation->phase == OPERATION_DECIDED);
    assert(operation->cancel <= CANCEL_TOLD);
    assert((operation->pieces_count == 0) == (operation->pieces == NULL));
    assert(operation->next == NULL ||
           generation_before(operation->generation, operation->next->generation));
    stream_of_operation_check(operation);
}

void operation_part_clear(struct part *part)
{
    message_release(part->frame);
    *part = (struct part){.state = OVERLAY_PART_NONE};
}

struct part *operation_part(struct overlay *overlay, struct operation *operation, uint32_t index)
{
    uint32_t count = overlay->children_count;

    if (operation->parts_count < count) {
        operation->parts = memory_resize(operation->parts, count * sizeof(*operation->parts));
        memset(&operation->parts[operation->parts_count], 0,
               (count - operation->parts_count) * sizeof(*operation->parts));
        operation->parts_count = count;
    }
    assert(index < operation->parts_count);
    return &operation->parts[index];
}

struct operation_name operation_key(const struct series *series, const struct operation *operation)
{
    struct operation_name key = series->key;

    key.generation = operation->generation;
    return key;
}

void operation_destroy(struct overlay *overlay, struct series *series, struct operation *operation)
{
    assert(series->count > 0);
    series->count--;
    if (!operation_is_decided(operation)) {
        series_count_open(overlay, series, -1);
        overlay->collective.calls -= operation->called;
    }
    large_reset(overlay, operation);
    stream_destroy(overlay, operation->stream);
    for (uint32_t i = 0; i < operation->parts_count; i++)
        operation_part_clear(&operation->parts[i]);
    free(operation->parts);
    message_release(operation->own);
    message_release(operation->result);
    ranges_fini(&operation->lost);
    free(operation);
}

bool operation_is_hopeless(const struct overlay *overlay, const struct series *series,
                           const struct operation *operation)
{
    return operation->cancel != CANCEL_NONE || series_has_dead(overlay, series);
}
