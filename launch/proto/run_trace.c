/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/run_trace.h"

#include <assert.h>

#define TIME_MAX (UINT64_MAX / 4) /* 146 years: sums of such times do not overflow */

bool run_trace_clock_take(struct run_trace_clock *clock, uint64_t asked_ns, uint64_t received_ns,
                          uint64_t sent_ns, uint64_t answered_ns, uint64_t error_ns)
{
    uint64_t away_ns = answered_ns - asked_ns, held_ns = sent_ns - received_ns;
    int64_t there, back;
    uint64_t error;

    assert(answered_ns <= TIME_MAX && asked_ns <= answered_ns);
    if (sent_ns > TIME_MAX || received_ns > sent_ns || error_ns > TIME_MAX)
        return false;
    there = (int64_t)received_ns - (int64_t)asked_ns;
    back = (int64_t)sent_ns - (int64_t)answered_ns;
    /* Clocks run at slightly different speeds. */
    error = error_ns + (away_ns > held_ns ? (away_ns - held_ns + 1) / 2 : 1);
    if (clock->is_known && clock->error_ns <= error)
        return true;
    *clock = (struct run_trace_clock){
        .is_known = true, .offset_ns = (there + back) / 2, .error_ns = error};
    return true;
}
