/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of test/support/daemon_checker.h: daemon_checker.c watches, daemon_checker_judge.c judges what is
 * left when nothing happens any more.  For them only.
 */
#ifndef TEST_SUPPORT_DAEMON_CHECKER_INTERNAL_H
#define TEST_SUPPORT_DAEMON_CHECKER_INTERNAL_H

#include "test/support/daemon_checker.h"

/* News of a node reach the root in this time if nobody dies. */
#define CHECKER_NEWS_MS 1500u

/* job: NULL if it is about none. */
void checker_wrong(struct checker *checker, const struct checker_job *job, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Since when it has one to end; CHECKER_NEVER if there is none. */
uint64_t checker_reason_ns(const struct checker *checker, const struct checker_job *job);
/* The instance is to end. */
bool checker_is_over(const struct checker *checker, uint64_t now_ns);
/* The job's client is there and has not detached. */
bool checker_is_heard(const struct checker *checker, const struct checker_job *job,
                      uint64_t now_ns);
bool checker_all_called(const struct checker_job *job, uint32_t generation);

#endif
