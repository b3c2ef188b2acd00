/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of --trace: launch/cli/client/trace_file.c; launch/cli/client/front_end_trace.c is for test/system/run_trace.sh. */
#include "config.h"

#include "launch/cli/client/trace_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "test/support/tap.h"

static char path[] = "/tmp/trace_file.XXXXXX";
static struct hostlist *names;

/* A file whose array has no end gets one. */
static json_t *read_events(void)
{
    struct buffer text = {0};
    FILE *file = fopen(path, "re");
    json_t *events;
    size_t got;

    while ((got = fread(buffer_reserve(&text, 4096), 1, 4096, file)) > 0)
        buffer_commit(&text, got);
    fclose(file);
    events = json_loads(buffer_string(&text), 0, NULL);
    if (events == NULL) {
        buffer_append_string(&text, "]");
        events = json_loads(buffer_string(&text), 0, NULL);
        ok(events != NULL, "without its end the array is valid but for that");
    }
    buffer_fini(&text);
    return events;
}

/* Of an event of that name in that process: "BEGIN+DURATION", in us. */
static const char *span(const json_t *events, int process, const char *name)
{
    static char text[64];
    size_t i;
    json_t *event;

    snprintf(text, sizeof(text), "none");
    json_array_foreach(events, i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "ph")), "X") == 0 &&
            json_integer_value(json_object_get(event, "pid")) == process &&
            strcmp(json_string_value(json_object_get(event, "name")), name) == 0)
            snprintf(text, sizeof(text), "%g+%g", json_number_value(json_object_get(event, "ts")),
                     json_number_value(json_object_get(event, "dur")));
    }
    return text;
}

static const char *labels(const json_t *events, int process)
{
    size_t i;
    json_t *event;

    json_array_foreach(events, i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "name")), "process_labels") == 0 &&
            json_integer_value(json_object_get(event, "pid")) == process)
            return json_string_value(json_object_get(json_object_get(event, "args"), "labels"));
    }
    return "none";
}

static void test_file(void)
{
    static struct run_trace root = {.times = {[RUN_TRACE_LAUNCHED] = 3000000}};
    static struct run_trace node = {.place = 2, .offset_ns = -500000, .error_ns = 2500};
    static struct run_trace odd = {.place = 9, .error_ns = RUN_TRACE_ERROR_UNKNOWN};
    struct run_summary summary = {.phase_ns = {[RUN_PHASE_ENDED] = 9000000}};
    struct error error = ERROR_NONE;
    struct trace_file *file;
    json_t *events;

    is_int(trace_file_open(path, 1000000, &file, &error), 0, "a file");
    trace_file_add(file, &root, names); /* only when it launched */
    for (uint64_t i = 0; i < RUN_TRACE_TIME_COUNT; i++)
        node.times[i] = 2000000 + 1000000 * i;
    node.ranks_count = 2;
    node.ranks[0] = (struct run_trace_rank){.rank = 5, .begin_ns = 4100000, .end_ns = 5100000};
    node.ranks[1] = (struct run_trace_rank){.rank = 6, .begin_ns = 4100000};
    node.spans_count = 1;
    node.spans[0] = (struct run_trace_span){RUN_TRACE_PMIX, 4200000, 4300000};
    trace_file_add(file, &node, names);
    odd.times[RUN_TRACE_LAUNCHED] = 77;
    odd.times[RUN_TRACE_ENDED] = 1000077;
    trace_file_add(file, &odd, names);
    events = read_events();
    is_string(span(events, 4, "join"), "500+1000",
              "times are by the root's clock, since the start");
    json_decref(events);
    root.times[RUN_TRACE_STARTED] = 4000000;
    root.times[RUN_TRACE_ENDED] = 8000000;
    trace_file_add(file, &root, names);
    is_int(trace_file_close(file, &summary, &error), 0, "its end");
    events = read_events();
    is_string(span(events, 4, "wait for the launch"), "1500+1000", "a node has phases,");
    is_string(span(events, 4, "run"), "3500+1000", "one after another,");
    is_string(span(events, 4, "job"), "2500+3000", "in its part of the job,");
    is_string(span(events, 4, "rank 5"), "2600+1000", "ranks,");
    is_string(span(events, 4, "rank 6"), "none", "of which one has not ended,");
    is_string(span(events, 4, "fence or other collective (PMIx)"), "2700+100", "and collectives");
    is_string(labels(events, 4), "clock +-2.5 us", "and says how right its clock is");
    is_string(span(events, 11, "job"), "2000+1000",
              "one whose clock is not known has got the launch when it was sent");
    is_string(labels(events, 11), "clock not known", "and says so");
    is_string(span(events, 2, "run"), "3000+4000", "the root");
    is_string(span(events, 1, "job"), "0+8000", "banyan itself");
    is_string(span(events, 1, "run"), "none", "what was not reached is not there");
    json_decref(events);
}

static void test_errors(void)
{
    struct run_summary summary = {.status = 0};
    struct error error = ERROR_NONE;
    struct trace_file *file = NULL;

    is_int(trace_file_close(NULL, &summary, &error), 0, "no file");
    is_int(trace_file_open("/nonexistent/t", 1, &file, &error), -ENOENT, "one that cannot be");
    is_string(error.text, "option --trace: cannot write /nonexistent/t: No such file or directory",
              "says why");
    if (access("/dev/full", W_OK) == 0) {
        is_int(trace_file_open("/dev/full", 1, &file, &error), 0, "a full disk");
        is_int(trace_file_close(file, &summary, &error), -EIO, "is seen at the end");
    }
}

int main(void)
{
    int fd = mkstemp(path);

    if (fd < 0)
        bail_out("no file");
    close(fd);
    names = hostlist_create();
    if (hostlist_parse(names, "n[1-3]", NULL) < 0)
        bail_out("no names");
    test_file();
    test_errors();
    unlink(path);
    hostlist_destroy(names);
    return done_testing();
}
