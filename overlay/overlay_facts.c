/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Amounts kept at this place, for tests and for `banyan top`.
 */
#include "config.h"

#include "base/hash_map.h"
#include "overlay/overlay.h"
#include "overlay/series.h"
#include "overlay/stream.h"

uint32_t overlay_kept_entries(const struct overlay *overlay)
{
    return overlay->broadcast.count;
}

uint64_t overlay_looked_at_entries(const struct overlay *overlay)
{
    return overlay->broadcast.looked_at;
}

static uint32_t count_operations(const struct list *list)
{
    const struct list_link *spare;
    const struct series *series;
    uint32_t count = 0;

    series_for_each(list, series, spare)
    {
        for (const struct operation *operation = series->operations; operation != NULL;
             operation = operation->next)
            count++;
    }
    return count;
}

uint32_t overlay_kept_operations(const struct overlay *overlay)
{
    return count_operations(&overlay->collective.open) +
           count_operations(&overlay->collective.at_rest);
}

uint32_t overlay_kept_series(const struct overlay *overlay)
{
    uint32_t count = 0;
    const struct list_link *spare;
    const struct series *series;

    series_for_each(&overlay->collective.open, series, spare) count++;
    series_for_each(&overlay->collective.at_rest, series, spare) count++;
    return count;
}

int overlay_knows_owner(const struct overlay *overlay, uint32_t owner)
{
    const struct hash_map *by_owner = overlay->collective.by_owner;

    return by_owner != NULL && hash_map_get_u64(by_owner, owner) != NULL;
}

uint64_t overlay_kept_stream_bytes(const struct overlay *overlay)
{
    uint64_t bytes = 0;

    for (const struct stream *stream = overlay->streams.first; stream != NULL;
         stream = stream->next)
        bytes += sizeof(*stream) + stream->have_bytes;
    return bytes;
}

uint32_t overlay_early_opens(const struct overlay *overlay)
{
    return overlay->streams.early_count;
}

uint32_t overlay_lateral_links(const struct overlay *overlay)
{
    return overlay->laterals.count;
}

uint32_t overlay_laterals(const struct overlay *overlay,
                          struct endpoint_lateral ret_laterals[ENDPOINT_LATERALS_MAX])
{
    return lateral_list(overlay, ret_laterals);
}
