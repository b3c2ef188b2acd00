/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/measure.h"

#include <assert.h>
#include <string.h>

#include "overlay/core.h"
#include "overlay/stream.h"
#include "overlay/stream_cost.h"

/* What magnitude 0 would be. */
#define TRIP_UNIT_NS 1000
#define RATE_UNIT_PS 10
/* No network takes as long: a place was stopped. */
#define TRIP_NS_MAX (64 * 1000000ull)
#define TRIP_RISE   4 /* steps: a quarter at most */

#define STEPS     16 /* of each doubling: of a sixteenth to a thirty-second each */
#define DOUBLINGS 16

static uint64_t at_most(uint64_t value, uint64_t limit)
{
    return value < limit ? value : limit;
}

/* ---- magnitudes ---- */

static uint8_t magnitude_of(uint64_t value, uint64_t unit)
{
    uint64_t steps;
    uint32_t doublings = 0;

    if (value >= unit << DOUBLINGS)
        return UINT8_MAX;
    steps = value * STEPS / unit;
    while (steps >> doublings >= 2 * STEPS)
        doublings++;
    steps = (steps + (1ull << doublings) / 2) >> doublings;
    if (steps == 2 * STEPS) {
        steps = STEPS;
        doublings++;
    }
    if (doublings == DOUBLINGS)
        return UINT8_MAX;
    if (doublings == 0 && steps <= STEPS)
        return 1;
    return (uint8_t)(doublings * STEPS + steps - STEPS);
}

static uint64_t value_of(uint32_t magnitude, uint64_t unit)
{
    return unit * (STEPS + magnitude % STEPS) * (1ull << magnitude / STEPS) / STEPS;
}

/* ---- medians ---- */

/* How often each magnitude occurs, of those that are known. */
struct sample {
    uint32_t times[UINT8_MAX + 1];
    uint32_t count;
};

static void sample_add(struct sample *sample, uint32_t magnitude)
{
    if (magnitude == 0)
        return;
    sample->times[magnitude]++;
    sample->count++;
}

/* The magnitude at that index in ascending order; 0 if there are none. */
static uint8_t sample_at(const struct sample *sample, uint32_t index)
{
    uint32_t before = 0;
    uint32_t magnitude = 0;

    if (sample->count == 0)
        return 0;
    while (before + sample->times[magnitude] <= index)
        before += sample->times[magnitude++];
    assert(magnitude > 0 && magnitude <= UINT8_MAX);
    return (uint8_t)magnitude;
}

/* Of two the lower one. */
static uint8_t sample_median(const struct sample *sample)
{
    return sample_at(sample, sample->count > 0 ? (sample->count - 1) / 2 : 0);
}

static uint8_t own_rate(const struct overlay *overlay)
{
    struct sample sample = {.count = 0};

    for (uint32_t i = 0; i < MEASURE_RATES; i++)
        sample_add(&sample, overlay->measure.rates[i]);
    return sample_at(&sample, sample.count == MEASURE_RATES ? 1 : 0);
}

struct measured measure_usual(const struct overlay *overlay)
{
    struct sample trips = {.count = 0};
    struct sample rates = {.count = 0};

    sample_add(&trips, overlay->measure.trip);
    sample_add(&rates, own_rate(overlay));
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        if (overlay->children[i].state != CHILD_LINKED)
            continue;
        sample_add(&trips, overlay->children[i].measured.trip);
        sample_add(&rates, overlay->children[i].measured.rate);
    }
    return (struct measured){.trip = sample_median(&trips), .rate = sample_median(&rates)};
}

/* ---- what is seen ---- */

void measure_trip(struct overlay *overlay, uint64_t trip_ns)
{
    uint8_t *trip = &overlay->measure.trip;
    uint8_t seen = magnitude_of(trip_ns, TRIP_UNIT_NS);

    if (trip_ns >= TRIP_NS_MAX)
        return;
    if (*trip > 0 && seen > *trip + TRIP_RISE)
        seen = (uint8_t)(*trip + TRIP_RISE);
    *trip = seen;
}

void measure_forget_trip(struct overlay *overlay)
{
    overlay->measure.trip = 0;
}

/* Chunks also take CPU, which the model counts by itself: each is received once and sent once, by most.
 * While that is done others are on their way, so it is not all of the time. */
void measure_rate(struct overlay *overlay, uint64_t bytes, uint64_t chunks, uint64_t time_ns)
{
    uint64_t message_ns = stream_costs(&overlay->costs).message_ns;
    uint64_t busy_ns = at_most(2 * chunks * message_ns, time_ns / 2);
    uint8_t *rates = overlay->measure.rates;

    assert(bytes > 0);
    memmove(rates + 1, rates, MEASURE_RATES - 1);
    rates[0] =
        magnitude_of(at_most(time_ns - busy_ns, UINT64_MAX / 1000) * 1000 / bytes, RATE_UNIT_PS);
}

/* The main tree is not measured: a parent there is busy with its other children. */
void measure_stream(struct overlay *overlay, struct stream *stream)
{
    uint64_t bytes = stream->have_bytes - stream->begun_bytes;

    if (!stream->lateral || stream->total_bytes < MEASURE_BYTES_MIN)
        return;
    if (stream->begun_ns == 0) {
        stream->begun_ns = overlay->now_ns;
        stream->begun_bytes = (uint32_t)stream->have_bytes;
        stream->begun_chunks = stream->chunks_count;
    } else if (stream_is_complete(stream) && bytes >= MEASURE_BYTES_MIN / 2) {
        measure_rate(overlay, bytes, stream->chunks_count - stream->begun_chunks,
                     overlay->now_ns - stream->begun_ns);
    }
}

/* ---- what follows ---- */

/* Half of it; less the CPU of a message, which the model counts by itself. */
static uint32_t hop_of(uint64_t trip_ns, uint32_t message_ns)
{
    uint64_t half_ns = trip_ns / 2;

    return (uint32_t)(half_ns > 2ull * message_ns ? half_ns - message_ns : half_ns / 2);
}

struct endpoint_costs measure_costs(const struct overlay *overlay)
{
    struct measured usual = measure_usual(overlay);
    struct endpoint_costs costs = overlay->costs;

    if (costs.byte_ps == 0 && usual.rate == 0)
        return stream_costs(&costs);
    if (costs.byte_ps == 0)
        costs.byte_ps = (uint32_t)value_of(usual.rate, RATE_UNIT_PS);
    if (costs.hop_ns == 0 && usual.trip > 0)
        costs.hop_ns = hop_of(value_of(usual.trip, TRIP_UNIT_NS), stream_costs(&costs).message_ns);
    return stream_costs(&costs);
}
