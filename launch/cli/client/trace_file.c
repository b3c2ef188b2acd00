/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/trace_file.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "launch/cli/option/json_text.h"
#include "launch/job/job.h"

#define CLIENT_PROCESS 1u
#define PLACE_PROCESS  2u /* of place 0; ids of 0 are not shown */
#define DAEMON_THREAD  1u
#define PMI_THREAD     2u
#define RANK_THREAD    10u /* of rank 0 */

struct trace_file {
    FILE *file;
    char *path;
    uint64_t start_ns;
    uint64_t launched_ns; /* by the root; 0: not known yet */
    uint64_t events;
    uint64_t nodes;
    uint64_t unknown;      /* nodes whose clocks could not be compared */
    uint64_t error_max_ns; /* of the others */
};

/* How times of a node become the file's. */
struct shift {
    const struct trace_file *file;
    int64_t offset_ns;
};

static double microseconds(const struct shift *shift, uint64_t time_ns)
{
    /* What a node says may be anything: without signs nothing overflows. */
    int64_t since_ns = (int64_t)(time_ns + (uint64_t)shift->offset_ns - shift->file->start_ns);

    return since_ns > 0 ? (double)since_ns / 1000 : 0;
}

static void begin_trace_event(struct trace_file *file, const char *type, uint32_t process,
                              uint32_t thread, const char *name)
{
    fputs(file->events++ > 0 ? ",\n" : "\n", file->file);
    fprintf(file->file, "{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"name\":", type, process, thread);
    json_text_write(file->file, name);
}

static void put_name(struct trace_file *file, const char *what, uint32_t process, uint32_t thread,
                     const char *name)
{
    begin_trace_event(file, "M", process, thread, what);
    fputs(",\"args\":{\"name\":", file->file);
    json_text_write(file->file, name);
    fputs("}}", file->file);
}

/* Nothing if one of the times is not known.  Clocks are read apart: an end before its beginning is that. */
static void put_span(struct trace_file *file, const struct shift *shift, uint32_t process,
                     uint32_t thread, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
    double begin, end;

    if (begin_ns == 0 || end_ns == 0)
        return;
    begin = microseconds(shift, begin_ns);
    end = microseconds(shift, end_ns);
    begin_trace_event(file, "X", process, thread, name);
    fprintf(file->file, ",\"ts\":%.3f,\"dur\":%.3f}", begin, end > begin ? end - begin : 0);
}

int trace_file_open(const char *path, uint64_t start_ns, struct trace_file **ret_file,
                    struct error *error)
{
    FILE *opened = fopen(path, "we");
    struct trace_file *file;

    if (opened == NULL)
        return error_set(error, -errno, "option --trace: cannot write %s: %s", path,
                         strerror(errno));
    file = memory_allocate_zeroed(sizeof(*file));
    file->file = opened;
    file->path = memory_copy_string(path);
    file->start_ns = start_ns;
    fputc('[', opened);
    put_name(file, "process_name", CLIENT_PROCESS, 0, "banyan run");
    (void)fflush(opened);
    *ret_file = file;
    return 0;
}

/* ---- nodes ---- */

static void put_phases(struct trace_file *file, const struct shift *shift, uint32_t process,
                       const struct run_trace *trace)
{
    const uint64_t *times = trace->times;
    uint64_t run_end_ns = times[RUN_TRACE_GONE];

    if (trace->place == 0) {
        put_span(file, shift, process, DAEMON_THREAD, "start nodes", times[RUN_TRACE_BEGUN],
                 times[RUN_TRACE_JOINED]);
        run_end_ns = times[RUN_TRACE_ENDED];
    } else {
        put_span(file, shift, process, DAEMON_THREAD, "join", times[RUN_TRACE_BEGUN],
                 times[RUN_TRACE_JOINED]);
        put_span(file, shift, process, DAEMON_THREAD, "wait for the launch",
                 times[RUN_TRACE_JOINED], times[RUN_TRACE_LAUNCHED]);
    }
    put_span(file, shift, process, DAEMON_THREAD, "job", times[RUN_TRACE_LAUNCHED],
             times[RUN_TRACE_ENDED]);
    put_span(file, shift, process, DAEMON_THREAD, "start processes", times[RUN_TRACE_LAUNCHED],
             times[RUN_TRACE_STARTED]);
    put_span(file, shift, process, DAEMON_THREAD, "run", times[RUN_TRACE_STARTED], run_end_ns);
    if (trace->place > 0)
        put_span(file, shift, process, DAEMON_THREAD, "send last output", times[RUN_TRACE_GONE],
                 times[RUN_TRACE_ENDED]);
}

static void put_rank(struct trace_file *file, const struct shift *shift, uint32_t process,
                     const struct run_trace_rank *rank)
{
    char name[32], end[64] = "not known";

    snprintf(name, sizeof(name), "rank %u", rank->rank);
    put_name(file, "thread_name", process, RANK_THREAD + rank->rank, name);
    if (rank->begin_ns == 0 || rank->end_ns == 0)
        return;
    job_local_end_text((int)rank->wait_status, end, sizeof(end));
    put_span(file, shift, process, RANK_THREAD + rank->rank, name, rank->begin_ns, rank->end_ns);
    begin_trace_event(file, "i", process, RANK_THREAD + rank->rank, end);
    fprintf(file->file, ",\"s\":\"t\",\"ts\":%.3f}", microseconds(shift, rank->end_ns));
}

static void put_spans(struct trace_file *file, const struct shift *shift, uint32_t process,
                      const struct run_trace *trace)
{
    static const char *const names[RUN_TRACE_KIND_COUNT] = {
        [RUN_TRACE_PMI1] = "barrier or fence (PMI-1, PMI-2)",
        [RUN_TRACE_PMIX] = "fence or other collective (PMIx)"};

    if (trace->spans_count > 0)
        put_name(file, "thread_name", process, PMI_THREAD, "PMI");
    for (uint32_t i = 0; i < trace->spans_count; i++)
        put_span(file, shift, process, PMI_THREAD, names[trace->spans[i].kind],
                 trace->spans[i].begin_ns, trace->spans[i].end_ns);
}

static void put_clock(struct trace_file *file, uint32_t process, const struct run_trace *trace)
{
    begin_trace_event(file, "M", process, 0, "process_labels");
    if (trace->error_ns == RUN_TRACE_ERROR_UNKNOWN)
        fputs(",\"args\":{\"labels\":\"clock not known\",\"clock_error_us\":null", file->file);
    else
        fprintf(file->file, ",\"args\":{\"labels\":\"clock +-%.1f us\",\"clock_error_us\":%.3f",
                (double)trace->error_ns / 1000, (double)trace->error_ns / 1000);
    fprintf(file->file, ",\"ranks_left_out\":%u,\"collectives_left_out\":%u}}", trace->ranks_more,
            trace->spans_more);
}

static void count_node(struct trace_file *file, const struct run_trace *trace)
{
    if (trace->place == 0)
        return;
    file->nodes++;
    if (trace->error_ns == RUN_TRACE_ERROR_UNKNOWN)
        file->unknown++;
    else if (trace->error_ns > file->error_max_ns)
        file->error_max_ns = trace->error_ns;
}

void trace_file_add(struct trace_file *file, const struct run_trace *trace,
                    const struct hostlist *names)
{
    struct shift shift = {.file = file, .offset_ns = trace->offset_ns};
    uint32_t process = PLACE_PROCESS + trace->place;
    char name[HOST_NAME_BYTES_MAX + 1] = "root";

    assert(trace->ranks_count <= RUN_TRACE_RANKS_MAX && trace->spans_count <= RUN_TRACE_SPANS_MAX);
    if (trace->place == 0)
        file->launched_ns = trace->times[RUN_TRACE_LAUNCHED];
    if (trace->place == 0 && trace->times[RUN_TRACE_ENDED] == 0)
        return; /* it comes again */
    if (trace->place > 0 && trace->place <= hostlist_count(names))
        hostlist_name(names, trace->place - 1, name);
    else if (trace->place > 0)
        snprintf(name, sizeof(name), "place %u", trace->place);
    if (trace->error_ns == RUN_TRACE_ERROR_UNKNOWN && trace->times[RUN_TRACE_LAUNCHED] > 0)
        shift.offset_ns = (int64_t)((file->launched_ns > 0 ? file->launched_ns : file->start_ns) -
                                    trace->times[RUN_TRACE_LAUNCHED]);
    put_name(file, "process_name", process, 0, name);
    put_name(file, "thread_name", process, DAEMON_THREAD, "daemon");
    put_clock(file, process, trace);
    put_phases(file, &shift, process, trace);
    put_spans(file, &shift, process, trace);
    for (uint32_t i = 0; i < trace->ranks_count; i++)
        put_rank(file, &shift, process, &trace->ranks[i]);
    count_node(file, trace);
    (void)fflush(file->file);
}

/* ---- the end ---- */

static void put_client(struct trace_file *file, const struct run_summary *summary)
{
    static const struct {
        const char *name;
        enum run_phase end;
    } spans[] = {{"start", RUN_PHASE_STARTED}, {"job", RUN_PHASE_ENDED}, {"run", RUN_PHASE_GONE}};
    const struct shift shift = {.file = file};

    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
        put_span(file, &shift, CLIENT_PROCESS, 1, spans[i].name, file->start_ns,
                 summary->phase_ns[spans[i].end]);
}

int trace_file_close(struct trace_file *file, const struct run_summary *summary,
                     struct error *error)
{
    int rc = 0;

    if (file == NULL)
        return 0;
    put_client(file, summary);
    begin_trace_event(file, "M", CLIENT_PROCESS, 0, "process_labels");
    fprintf(file->file,
            ",\"args\":{\"labels\":\"clocks +-%.1f us\",\"nodes\":%llu,\"clocks_not_known\":%llu,"
            "\"clock_error_max_us\":%.3f}}\n]\n",
            (double)file->error_max_ns / 1000, (unsigned long long)file->nodes,
            (unsigned long long)file->unknown, (double)file->error_max_ns / 1000);
    if (fflush(file->file) != 0 || ferror(file->file))
        rc = error_set(error, -EIO, "option --trace: cannot write %s: %s", file->path,
                       strerror(errno > 0 ? errno : EIO));
    if (fclose(file->file) != 0 && rc == 0)
        rc = error_set(error, -errno, "option --trace: cannot write %s: %s", file->path,
                       strerror(errno));
    free(file->path);
    free(file);
    return rc;
}
