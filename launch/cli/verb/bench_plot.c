/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_plot.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

#define STATUS_NO_PROGRAM 127 /* as in a shell */
#define NAMES_MAX         32u /* of nodes at the axes of a map */

/* ---- the script ---- */

static uint32_t most_nodes(const struct bench_row *rows, uint32_t count)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < count; i++)
        most = rows[i].nodes > most ? rows[i].nodes : most;
    return most;
}

/* A curve is a block of lines "x, median, between these two" in us, or "x MB/s". */
static void put_point(const struct bench_row *row, uint64_t x, bool is_rate, struct buffer *out)
{
    if (is_rate)
        buffer_printf(out, "%llu %.3f\n", (unsigned long long)x, bench_row_bandwidth(row));
    else
        buffer_printf(out, "%llu %.3f %.3f %.3f\n", (unsigned long long)x,
                      (double)row->median_ns / 1e3, (double)row->low_ns / 1e3,
                      (double)row->high_ns / 1e3);
}

/* A logarithmic axis has no 0. */
static bool is_over_size(const struct bench_row *row, const struct bench_row *first, uint32_t nodes)
{
    return bench_row_is_alike(row, first) && row->nodes == nodes && row->what.size_bytes > 0;
}

static bool is_first_of_kind(const struct bench_row *rows, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (bench_row_is_alike(&rows[i], &rows[at]))
            return false;
    return true;
}

static void put_quoted(const char *text, struct buffer *out)
{
    for (; *text != '\0'; text++)
        buffer_append_string(out, *text == '\'' ? "''" : (const char[]){*text, '\0'});
}

/* Without the quote at its end. */
static void put_title(const struct bench_row *row, struct buffer *out)
{
    buffer_append_string(out, " title '");
    put_quoted(row->name, out);
    buffer_append_string(out, row->variant[0] != '\0' ? " " : "");
    put_quoted(row->variant, out);
}

static uint32_t put_sizes(const struct bench_row *rows, uint32_t count, bool is_rate,
                          struct buffer *out, struct buffer *plots)
{
    const char *what = is_rate ? "rate" : "time";
    uint32_t nodes = most_nodes(rows, count), curves = 0;

    for (uint32_t at = 0; at < count; at++) {
        uint32_t points = 0;

        for (uint32_t i = at; is_first_of_kind(rows, at) && i < count; i++) {
            if (!is_over_size(&rows[i], &rows[at], nodes) ||
                (is_rate && bench_row_bandwidth(&rows[i]) == 0))
                continue;
            if (points++ == 0)
                buffer_printf(out, "$%s_%u << END\n", what, curves);
            put_point(&rows[i], rows[i].what.size_bytes, is_rate, out);
        }
        if (points == 0)
            continue;
        buffer_append_string(out, "END\n");
        buffer_printf(plots, "%s$%s_%u with %s", curves > 0 ? ", " : "plot ", what, curves,
                      is_rate ? "linespoints" : "yerrorlines");
        put_title(&rows[at], plots);
        buffer_append_string(plots, "'");
        curves++;
    }
    return curves;
}

static bool is_first_of_curve(const struct bench_row *rows, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (bench_row_is_alike(&rows[i], &rows[at]) &&
            rows[i].what.size_bytes == rows[at].what.size_bytes)
            return false;
    return true;
}

static uint32_t put_nodes(const struct bench_row *rows, uint32_t count, struct buffer *out,
                          struct buffer *plots)
{
    uint32_t curves = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (!is_first_of_curve(rows, i))
            continue;
        buffer_printf(out, "$nodes_%u << END\n", curves);
        for (uint32_t j = i; j < count; j++)
            if (bench_row_is_alike(&rows[j], &rows[i]) &&
                rows[j].what.size_bytes == rows[i].what.size_bytes)
                put_point(&rows[j], rows[j].nodes, false, out);
        buffer_append_string(out, "END\n");
        buffer_printf(plots, "%s$nodes_%u with yerrorlines", curves > 0 ? ", " : "plot ", curves);
        put_title(&rows[i], plots);
        buffer_printf(plots, " %u'", rows[i].what.size_bytes);
        curves++;
    }
    return curves;
}

static void put_drawing(const char *file, const char *x, const char *y, const struct buffer *data,
                        struct buffer *plots, struct buffer *out)
{
    buffer_append(out, data->data, data->length_bytes);
    buffer_printf(out, "set output '%s'\nset xlabel '%s'\nset ylabel '%s'\n%s\n", file, x, y,
                  buffer_string(plots));
}

/* Names at both axes, as long as there is room for them. */
static void put_names(const struct pair_matrix *pairs, struct buffer *out)
{
    static const char *const axes[] = {"set xtics rotate ('", "set ytics ('"};

    for (int axis = 0; axis < 2 && pairs->nodes <= NAMES_MAX; axis++) {
        for (uint32_t i = 0; i < pairs->nodes; i++) {
            buffer_printf(out, "%s", i > 0 ? ", '" : axes[axis]);
            for (const char *name = pairs->names[i]; *name != '\0'; name++)
                buffer_printf(out, "%c",
                              isalnum((unsigned char)*name) || *name == '-' || *name == '.' ? *name
                                                                                            : '_');
            buffer_printf(out, "' %u", i);
        }
        buffer_append_string(out, ")\n");
    }
    if (pairs->nodes > NAMES_MAX)
        buffer_append_string(out, "set xtics autofreq\nset ytics autofreq\n");
}

/* Of the name of a file. */
static void put_suffix(const char *variant, struct buffer *out)
{
    for (const char *at = variant; *at != '\0'; at++)
        buffer_printf(out, "%s%c", at == variant ? "_" : "",
                      isalnum((unsigned char)*at) ? *at : '_');
}

/* A row of the map is where ways begin; those from a node to itself are left blank. */
static void put_map(const struct bench_row *row, struct buffer *out)
{
    const struct pair_matrix *pairs = &row->pairs;

    buffer_printf(out, "$pairs << END\n");
    for (uint32_t from = 0; from < pairs->nodes; from++) {
        for (uint32_t to = 0; to < pairs->nodes; to++) {
            buffer_printf(out, "%.3f ",
                          (double)pair_matrix_ns(pairs, row->is_latency, from, to) / 1e3);
        }
        buffer_append_string(out, "\n");
    }
    buffer_append_string(out, "END\n");
    put_names(pairs, out);
    buffer_append_string(out, "set output 'pairs_");
    if (row->is_latency)
        buffer_append_string(out, "latency");
    else
        buffer_printf(out, "%u", row->what.size_bytes);
    put_suffix(row->variant, out);
    buffer_append_string(out, ".svg'\nset title '");
    buffer_printf(out, "%s of %u bytes", row->name, row->what.size_bytes);
    buffer_append_string(out, row->variant[0] != '\0' ? ", " : "");
    put_quoted(row->variant, out);
    buffer_append_string(
        out, "'\nplot $pairs matrix using 1:2:($3 > 0 ? $3 : NaN) with image pixels notitle\n");
}

static void put_maps(const struct bench_row *rows, uint32_t count, struct buffer *out)
{
    uint32_t nodes = 0;

    for (uint32_t i = 0; i < count; i++)
        nodes = rows[i].pairs.nodes > nodes ? rows[i].pairs.nodes : nodes;
    if (nodes == 0)
        return;
    buffer_append_string(out, "unset logscale\nunset grid\nset xlabel 'to'\nset ylabel 'from'\n"
                              "set cblabel 'us'\nset size ratio -1\n"
                              "set autoscale xfix\nset autoscale yfix\nset yrange [] reverse\n");
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].pairs.nodes == nodes)
            put_map(&rows[i], out);
    }
}

void bench_plot_script(const struct bench_row *rows, uint32_t count, struct buffer *out)
{
    struct buffer data = {0}, plots = {0};
    bool several = false;

    assert(count > 0);
    for (uint32_t i = 1; i < count; i++)
        several = several || rows[i].nodes != rows[0].nodes;
    buffer_append_string(out,
                         "# of banyan bench --plot; gnuplot " BENCH_PLOT_SCRIPT "\n"
                         "set terminal svg size 900,600 noenhanced\nset key outside\nset grid\n"
                         "set logscale xy\n");
    if (put_sizes(rows, count, false, &data, &plots) > 0)
        put_drawing("time.svg", "bytes", "median, us", &data, &plots, out);
    buffer_clear(&data);
    buffer_clear(&plots);
    if (put_sizes(rows, count, true, &data, &plots) > 0)
        put_drawing("bandwidth.svg", "bytes", "MB/s", &data, &plots, out);
    buffer_clear(&data);
    buffer_clear(&plots);
    if (several && put_nodes(rows, count, &data, &plots) > 0)
        put_drawing("nodes.svg", "nodes", "median, us", &data, &plots, out);
    buffer_fini(&data);
    buffer_fini(&plots);
    put_maps(rows, count, out);
}

/* ---- gnuplot ---- */

static int write_script(const char *path, const struct buffer *text)
{
    FILE *file = fopen(path, "we");
    int rc = 0;

    if (file == NULL)
        return -errno;
    if (fwrite(text->data, 1, text->length_bytes, file) != text->length_bytes)
        rc = -EIO;
    if (fclose(file) != 0 && rc == 0)
        rc = -errno;
    return rc;
}

static int run_gnuplot(const char *directory, struct error *error)
{
    int wait_status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        if (chdir(directory) == 0)
            execlp("gnuplot", "gnuplot", BENCH_PLOT_SCRIPT, (char *)NULL);
        _exit(errno == ENOENT ? STATUS_NO_PROGRAM : EXIT_FAILURE);
    }
    if (pid < 0)
        return error_set(error, -errno, "option --plot: cannot run gnuplot: %s", strerror(errno));
    while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return 0;
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == STATUS_NO_PROGRAM)
        return error_set(error, -ENOENT,
                         "option --plot: there is no gnuplot in PATH; it would draw what is in "
                         "%.200s/" BENCH_PLOT_SCRIPT,
                         directory);
    return error_set(error, -EIO, "option --plot: gnuplot cannot draw %.200s/" BENCH_PLOT_SCRIPT,
                     directory);
}

int bench_plot_write(const char *directory, const struct bench_row *rows, uint32_t count,
                     struct error *error)
{
    char *path = memory_printf("%s/" BENCH_PLOT_SCRIPT, directory);
    struct buffer text = {0};
    int rc = mkdir(directory, 0777) < 0 && errno != EEXIST ? -errno : 0;

    bench_plot_script(rows, count, &text);
    if (rc == 0)
        rc = write_script(path, &text);
    if (rc < 0)
        error_set(error, rc, "option --plot: cannot write %.200s: %s", path, strerror(-rc));
    else
        rc = run_gnuplot(directory, error);
    buffer_fini(&text);
    free(path);
    return rc;
}
