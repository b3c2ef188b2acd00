/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The costs of the network, as the places of a tree measure them; for the choices of stream_cost.h,
 * and for nothing that two places must agree on.
 *
 * A place measures the round trip of its link up: a LEASE says which of our echoes the parent had last
 * and how long it held it; the rest of the time is transit.  A place that is stopped or gets no CPU only
 * adds to that, so a shorter trip counts at once, and a longer one raises the value by at most a quarter
 * per heartbeat.  And it measures the time per byte of each stream over the two trees, from the first
 * bytes of a peer to the last.  Most disturbances add to that, too, and in a small stream so does the
 * latency; but bytes that waited while a place was stopped arrive all at once.  So of the last five
 * streams the second fastest counts, of fewer the fastest.  In its echo a place sends its parent the
 * medians of these values and of those its children sent.  The place that decides for an operation thus
 * knows what is usual below it, and a single odd link does not matter.
 *
 * A time is stored and sent as a magnitude: one byte, with an error of at most 3 % and bounded at both
 * ends, so that no measurement, right or wrong, leads to an absurd choice.  0: nothing measured yet.
 * Until a stream has been measured, the defaults are used for everything: on a slow network with a high
 * latency, the latency alone would favour sending the data many times over the fewest hops.
 */
#ifndef OVERLAY_MEASURE_H
#define OVERLAY_MEASURE_H

#include <stdint.h>

#include "overlay/endpoint_types.h"

#define MEASURE_RATES 5
/* The size of a stream; in a smaller one nearly all of the time would be latency. */
#define MEASURE_BYTES_MIN (128u * 1024)

struct overlay;
struct stream;

/* Magnitudes: of a round trip, and of times per byte. */
struct measure {
    uint8_t trip;                 /* of our link up */
    uint8_t rates[MEASURE_RATES]; /* of the last streams, the last one first */
};

/* What a place reports of itself and of those below. */
struct measured {
    uint32_t trip;
    uint32_t rate;
};

/* A LEASE arrived; trip_ns: the transit time of our echo and of it. */
void measure_trip(struct overlay *overlay, uint64_t trip_ns);
/* With another parent, the value of the previous link up is void. */
void measure_forget_trip(struct overlay *overlay);
/* The bytes and chunks of a stream that arrived in that time. */
void measure_rate(struct overlay *overlay, uint64_t bytes, uint64_t chunks, uint64_t time_ns);
/* A stream has got bytes from a peer. */
void measure_stream(struct overlay *overlay, struct stream *stream);
/* The medians of what this place has measured and what its children report.  O(children). */
struct measured measure_usual(const struct overlay *overlay);
/* For a choice: the configuration's costs, and where it has none, as measured or the default.
 * O(children). */
struct endpoint_costs measure_costs(const struct overlay *overlay);

#endif
