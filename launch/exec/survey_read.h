/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's own answer to a survey (launch/proto/survey.h).
 */
#ifndef LAUNCH_EXEC_SURVEY_READ_H
#define LAUNCH_EXEC_SURVEY_READ_H

#include <stdint.h>

#include "base/buffer.h"

/* Inspects this machine, node number `node`, and appends the result.  want: bits of survey_want;
 * require: the applications' requirements as text (only facts that these use are reported).  hwloc
 * is loaded for topologies and GPUs: some milliseconds, or forever if the system does not
 * answer. */
void survey_read(unsigned int want, const char *require, uint32_t node, struct buffer *out);

#endif
