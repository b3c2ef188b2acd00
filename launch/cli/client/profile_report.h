/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long the nodes of a run took (launch/proto/profile.h), as a table or in JSON.  Pure.
 */
#ifndef LAUNCH_CLI_CLIENT_PROFILE_REPORT_H
#define LAUNCH_CLI_CLIENT_PROFILE_REPORT_H

#include <jansson.h>

#include "alloc/hostlist.h"
#include "base/buffer.h"
#include "launch/proto/profile.h"

/* names: of the places from 1 on.  A line for each phase that nodes went through, after one with titles. */
void profile_report_table(const struct profile *profile, const struct hostlist *names,
                          struct buffer *out);
json_t *profile_report_json(const struct profile *profile, const struct hostlist *names);

#endif
