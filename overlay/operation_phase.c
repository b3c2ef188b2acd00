/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/operation_phase.h"

#include <assert.h>

/* Unlisted pairs are OPERATION_NONE: they are impossible. */
static const enum operation_phase next[OPERATION_PHASE_COUNT][OPERATION_EVENT_COUNT] = {
    [OPERATION_OPEN] = {[OPERATION_EVENT_DECISION] = OPERATION_DECIDED,
                        [OPERATION_EVENT_GO] = OPERATION_STREAMING,
                        [OPERATION_EVENT_OVER] = OPERATION_PASSED,
                        [OPERATION_EVENT_RESTART] = OPERATION_OPEN},
    [OPERATION_STREAMING] = {[OPERATION_EVENT_DECISION] = OPERATION_SPREADING,
                             [OPERATION_EVENT_DONE] = OPERATION_RELAYED,
                             [OPERATION_EVENT_OVER] = OPERATION_PASSED,
                             [OPERATION_EVENT_RESTART] = OPERATION_OPEN},
    [OPERATION_RELAYED] =
        {[OPERATION_EVENT_OVER] = OPERATION_PASSED, [OPERATION_EVENT_RESTART] = OPERATION_OPEN},
    [OPERATION_DECIDED] = {[OPERATION_EVENT_RESTART] = OPERATION_DECIDED},
    [OPERATION_STORED] = {[OPERATION_EVENT_GO] = OPERATION_SPREADING,
                          [OPERATION_EVENT_OVER] = OPERATION_OVER,
                          [OPERATION_EVENT_RESTART] = OPERATION_STORED},
    [OPERATION_SPREADING] = {[OPERATION_EVENT_DONE] = OPERATION_DONE,
                             [OPERATION_EVENT_OVER] = OPERATION_OVER,
                             [OPERATION_EVENT_RESTART] = OPERATION_STORED},
    [OPERATION_DONE] =
        {[OPERATION_EVENT_OVER] = OPERATION_OVER, [OPERATION_EVENT_RESTART] = OPERATION_STORED},
    [OPERATION_OVER] = {[OPERATION_EVENT_RESTART] = OPERATION_OVER},
    [OPERATION_PASSED] = {[OPERATION_EVENT_RESTART] = OPERATION_PASSED},
};

bool operation_phase_allows(enum operation_phase phase, enum operation_event event)
{
    assert(phase > OPERATION_NONE && phase < OPERATION_PHASE_COUNT);
    assert(event < OPERATION_EVENT_COUNT);
    return next[phase][event] != OPERATION_NONE;
}

enum operation_phase operation_phase_next(enum operation_phase phase, enum operation_event event)
{
    assert(operation_phase_allows(phase, event));
    return next[phase][event];
}

bool operation_phase_is_decided(enum operation_phase phase)
{
    return phase == OPERATION_DECIDED || operation_phase_is_stored(phase) ||
           phase == OPERATION_OVER;
}

bool operation_phase_is_going(enum operation_phase phase)
{
    return phase == OPERATION_STREAMING || phase == OPERATION_RELAYED ||
           phase == OPERATION_SPREADING || phase == OPERATION_DONE;
}

bool operation_phase_is_stored(enum operation_phase phase)
{
    return phase == OPERATION_STORED || phase == OPERATION_SPREADING || phase == OPERATION_DONE;
}

bool operation_phase_is_over(enum operation_phase phase)
{
    return phase == OPERATION_OVER || phase == OPERATION_PASSED;
}
