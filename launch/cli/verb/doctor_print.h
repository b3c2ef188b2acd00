/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of `banyan doctor` for its reader: a table, or JSON.  names: of places 1 and on.
 */
#ifndef LAUNCH_CLI_VERB_DOCTOR_PRINT_H
#define LAUNCH_CLI_VERB_DOCTOR_PRINT_H

#include "alloc/hostlist.h"
#include "base/buffer.h"
#include "launch/proto/doctor_report.h"

/* Problems first, then notes and, with has_facts, facts. */
void doctor_print_table(const struct doctor_report *report, const struct hostlist *names,
                        int has_facts, struct buffer *out);
/* -ENOMEM if the JSON library is out of memory. */
int doctor_print_json(const struct doctor_report *report, const struct hostlist *names,
                      struct buffer *out);

#endif
