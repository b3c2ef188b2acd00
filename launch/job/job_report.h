/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a person reads of jobs and nodes, one line each, and the exit status that goes with a failure.
 */
#ifndef LAUNCH_JOB_JOB_REPORT_H
#define LAUNCH_JOB_JOB_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"

struct instance;
struct instance_root;
struct job;
struct job_event;
struct job_failure;

void job_report_failure(const struct job *job, const struct job_failure *failure, char *text,
                        size_t text_bytes);
uint32_t job_report_status(const struct job_failure *failure);
/* "rank 3", "ranks 4-7,12-15 and 90 more". */
void job_report_rank_set(const struct ranges *ranks, struct buffer *out);
/* Who runs on places: "rank 3", "ranks 4-7,12-15 and 90 more". */
void job_report_ranks(const struct job *job, const struct ranges *places, struct buffer *out);
/* What was seen of a place that is lost: "its daemon closed the connection", "silent for 61.2 s". */
void job_report_seen(struct instance_root *root, const struct job_event *event);
void job_report_loss(const struct instance_root *root, uint32_t place, struct buffer *out);
void job_report_places(const struct instance *instance, const struct ranges *places,
                       struct buffer *out);
/* "waiting for the daemons of n[3,7] to join; 62 of 64 have" */
void job_report_unjoined(const struct instance *instance, const struct ranges *missing, char *text,
                         size_t text_bytes);
/* Why daemons did not start, one line for each reason, "\n" between them. */
void job_report_start(const struct instance *instance, const struct ranges *missing,
                      struct buffer *out);

#endif
