/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace in the JSON form of Chrome, which Perfetto opens: operations on a separate track, and for
 * each of the first places its messages, link changes and faults.  Written as events happen; those
 * beyond EVENTS_MAX are counted but not written.
 */
#include "config.h"

#include "launch/cli/sim/simulate_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "launch/cli/option/json_text.h"
#include "overlay/overlay_print.h"

#define EVENTS_MAX  2000000ull
#define WORLD_TRACK 0 /* of the process "machine"; places are threads of the process "places" */

struct simulate_trace {
    FILE *file;
    const char *path;
    uint32_t places;
    uint64_t events;
    uint64_t left_out;
};

static bool begin_trace_event(struct simulate_trace *trace)
{
    assert(trace->events <= EVENTS_MAX);
    if (trace->events >= EVENTS_MAX) {
        trace->left_out++;
        return false;
    }
    fputs(trace->events++ > 0 ? ",\n" : "\n", trace->file);
    return true;
}

static void put_name(struct simulate_trace *trace, const char *what, int process, uint32_t thread,
                     const char *name)
{
    if (!begin_trace_event(trace))
        return;
    fprintf(trace->file,
            "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":", what,
            process, thread);
    json_text_write(trace->file, name);
    fputs("}}", trace->file);
}

/* A message starts an arrow: Perfetto shows it at the sender, with the receiver's name. */
static void put_message(struct simulate_trace *trace, uint64_t now_ns, uint32_t from, uint32_t to,
                        const struct frame *frame)
{
    struct buffer text = {0};
    size_t bytes = FRAME_HEADER_BYTES;

    if (frame->payload != NULL)
        bytes += frame->payload->length_bytes;
    overlay_print(frame, &text);
    fprintf(trace->file,
            "{\"ph\":\"X\",\"pid\":2,\"tid\":%u,\"ts\":%.3f,\"dur\":0.1,\"name\":", from,
            (double)now_ns / 1000);
    json_text_write(trace->file, buffer_string(&text));
    fprintf(trace->file, ",\"args\":{\"to\":%u,\"bytes\":%zu,\"class\":%u}}", to, bytes,
            frame->class);
    buffer_fini(&text);
}

static void on_fact(void *context, uint64_t now_ns, enum virtual_network_fact fact, uint32_t from,
                    uint32_t to, const struct frame *frame)
{
    static const char *const facts[VIRTUAL_NETWORK_FACT_COUNT] = {
        [VIRTUAL_NETWORK_FACT_UP] = "link up",           [VIRTUAL_NETWORK_FACT_DOWN] = "link down",
        [VIRTUAL_NETWORK_FACT_KILL] = "killed or ended", [VIRTUAL_NETWORK_FACT_STOP] = "stopped",
        [VIRTUAL_NETWORK_FACT_CONTINUE] = "continues",
    };
    struct simulate_trace *trace = context;

    if (from >= trace->places || !begin_trace_event(trace))
        return;
    if (fact == VIRTUAL_NETWORK_FACT_SEND) {
        put_message(trace, now_ns, from, to, frame);
        return;
    }
    assert(fact < VIRTUAL_NETWORK_FACT_COUNT && facts[fact] != NULL);
    fprintf(trace->file,
            "{\"ph\":\"i\",\"s\":\"t\",\"pid\":2,\"tid\":%u,\"ts\":%.3f,\"name\":\"%s\","
            "\"args\":{\"peer\":%u}}",
            from, (double)now_ns / 1000, facts[fact], to);
}

int simulate_trace_open(const char *path, uint32_t places, struct simulate_trace **ret_trace,
                        struct error *error)
{
    struct simulate_trace *trace;
    FILE *file = fopen(path, "we");
    char name[32];

    if (file == NULL)
        return error_set(error, -errno, "option --trace: cannot write %s: %s", path,
                         strerror(errno));
    trace = memory_allocate_zeroed(sizeof *trace);
    *trace = (struct simulate_trace){.file = file, .path = path, .places = places};
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", file);
    put_name(trace, "process_name", 1, 0, "machine");
    put_name(trace, "process_name", 2, 0, "places");
    put_name(trace, "thread_name", 1, WORLD_TRACK, "operations");
    for (uint32_t place = 0; place < places; place++) {
        snprintf(name, sizeof name, place == 0 ? "root" : "place %u", place);
        put_name(trace, "thread_name", 2, place, name);
    }
    *ret_trace = trace;
    return 0;
}

void simulate_trace_attach(struct simulate_trace *trace, struct virtual_network *sim)
{
    virtual_network_set_trace(sim, on_fact, trace);
}

void simulate_trace_operation(struct simulate_trace *trace, const struct outcome *outcome)
{
    if (trace->events >= EVENTS_MAX)
        trace->events--; /* operations are always written */
    if (!begin_trace_event(trace))
        return;
    fprintf(trace->file,
            "{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\","
            "\"args\":{\"bytes\":%llu,\"text\":",
            WORLD_TRACK, (double)outcome->begun_ns / 1000, (double)outcome->took_ns / 1000,
            operation_names[outcome->operation.kind],
            (unsigned long long)outcome->operation.amount);
    json_text_write(trace->file, outcome->text);
    fputs("}}", trace->file);
}

int simulate_trace_close(struct simulate_trace *trace, struct error *error)
{
    int rc = 0;

    fprintf(trace->file, "\n],\"otherData\":{\"events_left_out\":%llu}}\n",
            (unsigned long long)trace->left_out);
    if (ferror(trace->file) || fflush(trace->file) != 0)
        rc = error_set(error, -EIO, "option --trace: cannot write %s: %s", trace->path,
                       strerror(errno > 0 ? errno : EIO));
    fclose(trace->file);
    free(trace);
    return rc;
}
