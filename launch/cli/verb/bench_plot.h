/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plots of measurements: a script for gnuplot with the data in it, and the drawings (SVG) that gnuplot makes of it.
 */
#ifndef LAUNCH_CLI_VERB_BENCH_PLOT_H
#define LAUNCH_CLI_VERB_BENCH_PLOT_H

#include "base/error.h"
#include "launch/cli/verb/bench_row.h"

#define BENCH_PLOT_SCRIPT "bench.gp"

/* time.svg (over the size), bandwidth.svg, and nodes.svg (time over the number of nodes, if there are several); of pairs, with the most nodes,
 * pairs_latency.svg and pairs_BYTES.svg: maps of the time of each way. */
void bench_plot_script(const struct bench_row *rows, uint32_t count, struct buffer *out);
/* Writes the script into that directory, which is made if need be, and runs gnuplot there.  -ENOENT: there is no gnuplot,
 * but the script. */
int bench_plot_write(const char *directory, const struct bench_row *rows, uint32_t count,
                     struct error *error);

#endif
