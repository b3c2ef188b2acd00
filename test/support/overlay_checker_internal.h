/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of test/support/overlay_checker.h, for its files only: overlay_checker.c has what is asked for and
 * told, overlay_checker_members.c who is there.
 */
#ifndef TEST_SUPPORT_OVERLAY_CHECKER_INTERNAL_H
#define TEST_SUPPORT_OVERLAY_CHECKER_INTERNAL_H

#include "test/support/overlay_checker.h"

#define NEVER_NS UINT64_MAX

struct checker_place {
    bool started;
    bool joined;
    bool killed;
    bool ended;
    bool troubled;
    bool asked;    /* to leave */
    bool is_stale; /* the last frame it got was a release of an older attempt */
    uint32_t incarnation;
    uint32_t entries_told; /* of the root's order, those that are not its own included */
    uint32_t deaths_told;
    uint64_t dead_ns; /* the root said so; NEVER: it has not */
};

/* It may count as dead; it may, or may have been asked to leave. */
bool checker_may_be_dead(const struct checker *checker, uint32_t place);
bool checker_may_be_gone(const struct checker *checker, uint32_t place);
/* What is told to somebody shows that it is alive and believes to be a member. */
void checker_note_life(struct checker *checker, uint32_t place, uint64_t now_ns);

#endif
