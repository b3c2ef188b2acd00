/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of `banyan fabric`.  A fabric of any size has a few lines: one for each level of switches.  JSON also has the
 * NICs of which more is known.
 */
#ifndef LAUNCH_CLI_VERB_FABRIC_REPORT_H
#define LAUNCH_CLI_VERB_FABRIC_REPORT_H

#include "base/buffer.h"
#include "fabric/topology/fabric_model.h"

#define FABRIC_REPORT_MATRIX_MAX 4096u /* NICs */

void fabric_report_text(const struct fabric_model *model, struct buffer *out);
void fabric_report_json(const struct fabric_model *model, struct buffer *out);
/* "n1 -> n2: 4, n2 -> n1: 5" */
void fabric_report_cost(const struct fabric_model *model, uint32_t from, uint32_t to,
                        struct buffer *out);
/* The square matrix of these vertices as CSV, names first; "-" where there is no way. */
void fabric_report_matrix(const struct fabric_model *model, const uint32_t *vertices,
                          uint32_t count, struct buffer *out);

#endif
