/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The golden trace of a launch: four nodes in virtual time, from a whole instance to the end of a job
 * of four processes that fence once and end.  Every frame is a line, but for heartbeats and
 * acknowledgements, with the message about the job that it carries; so is what the processes do and
 * what the front end is told.  doc/job.rst quotes it.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "launch/proto/job_wire.h"
#include "launch/sim/sim.h"
#include "overlay/overlay_print.h"
#include "overlay/overlay_wire.h"
#include "test/support/golden.h"
#include "test/support/tap.h"

#define MS 1000000ull

struct scene {
    struct sim_machine *machine;
    struct buffer trace;
    uint64_t zero_ns; /* the instance is complete: what is printed as +0.00ms */
};

static void say(struct scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct scene *scene, const char *format, ...)
{
    uint64_t now_ns = sim_machine_now_ns(scene->machine);
    char text[256];
    va_list arguments;

    if (scene->zero_ns == 0)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    buffer_printf(&scene->trace, "+%.2fms %s\n", (double)(now_ns - scene->zero_ns) / 1e6, text);
}

/* ---- frames ---- */

static const char *name_of(const struct wire_bytes *payload)
{
    static const char *const names[JOB_MESSAGE_COUNT] = {
        [JOB_MESSAGE_ROSTER] = " ROSTER", [JOB_MESSAGE_LAUNCH] = " LAUNCH",
        [JOB_MESSAGE_END] = " END",       [JOB_MESSAGE_SURVEY] = " SURVEY",
        [JOB_MESSAGE_OUTPUT] = " OUTPUT", [JOB_MESSAGE_CREDIT] = " CREDIT",
        [JOB_MESSAGE_PLACED] = " PLACED", [JOB_MESSAGE_TEXT] = " TEXT",
    };

    if (payload->length_bytes == 0 || payload->data[0] >= JOB_MESSAGE_COUNT ||
        names[payload->data[0]] == NULL)
        return "";
    return names[payload->data[0]];
}

/* What a frame carries about the job. */
static const char *content_of(const struct frame *frame)
{
    const char *name = "";
    struct overlay_entry entry;
    struct overlay_data data;

    if (frame->type == OVERLAY_ENTRY && overlay_decode_entry(frame, &entry) == 0) {
        if (entry.kind == OVERLAY_ENTRY_USER)
            name = name_of(&entry.payload);
        overlay_entry_fini(&entry);
    } else if (frame->type == OVERLAY_DATA && overlay_decode_data(frame, &data) == 0) {
        name = name_of(&data.payload);
    }
    return name;
}

/* Without the size of the payload at its end: what a message weighs is not the point here. */
static void print_frame(const struct frame *frame, struct buffer *out)
{
    char *last;

    overlay_print(frame, out);
    last = strrchr(buffer_string(out), ' ');
    if (last != NULL && last[1] >= '0' && last[1] <= '9' && last[strlen(last) - 1] == 'B')
        out->length_bytes -= strlen(last);
    buffer_append_string(out, content_of(frame));
}

static void on_fact(void *context, uint64_t now_ns, enum sim_fact fact, uint32_t from, uint32_t to,
                    const struct frame *frame)
{
    struct buffer text = {0};

    (void)now_ns;
    if (fact != SIM_FACT_SEND || frame->type == OVERLAY_LEASE ||
        frame->type == OVERLAY_LEASE_ECHO || frame->type == OVERLAY_ACK)
        return;
    print_frame(frame, &text);
    say(context, "%u -> %u %s", from, to, buffer_string(&text));
    buffer_fini(&text);
}

/* ---- what is told ---- */

static void on_complete(void *context, uint64_t now_ns)
{
    struct scene *scene = context;

    scene->zero_ns = now_ns;
    say(scene, "0 is complete");
}

static void on_process(void *context, const struct sim_process_fact *fact)
{
    static const char *const fates[SIM_FATE_COUNT] = {
        [SIM_FATE_STARTED] = "runs",     [SIM_FATE_CANNOT_START] = "cannot start",
        [SIM_FATE_ABORTED] = "aborts",   [SIM_FATE_ENDED] = "ends",
        [SIM_FATE_VANISHED] = "is gone",
    };

    say(context, "the process of %u %s", fact->place, fates[fact->fate]);
}

static void on_fence(void *context, uint32_t job, uint32_t place, uint32_t generation, int status,
                     const struct message *result)
{
    (void)result;
    say(context, "the process of %u is through fence %u%s", place, generation,
        status == 0 ? "" : ", which fails");
}

static void on_started(void *context, uint64_t now_ns, uint32_t job,
                       const struct control_started *started)
{
    (void)now_ns;
    say(context, "the front end is told: %u processes run on %u nodes", started->processes,
        started->nodes);
}

static void on_report(void *context, uint64_t now_ns, uint32_t job,
                      const struct control_job_end *end)
{
    (void)now_ns;
    say(context, "the front end is told: status %u", (unsigned)end->status);
}

static void on_ended(void *context, uint64_t now_ns, uint32_t place, enum node_end end)
{
    (void)now_ns;
    say(context, "%u ends%s", place, end == NODE_END_LEFT ? "" : ", not by leaving");
}

static const struct sim_watch watch = {
    .complete = on_complete,
    .process = on_process,
    .fence = on_fence,
    .started = on_started,
    .report = on_report,
    .ended = on_ended,
};

int main(void)
{
    struct sim_machine_config config = {
        .radix = 2, .seed = 1, .latency_ns = MS / 10, .daemon_ns = MS};
    struct allocation allocation;
    struct scene scene = {0};

    allocation_init(&allocation);
    allocation_generate(&allocation, "n", 4, 1);
    config.allocation = &allocation;
    config.rule = (struct map_rule){.policy = MAP_BY_SLOT, .processes = 4};
    config.program = (struct sim_program){.fences = 1};
    scene.machine = sim_machine_create(&config, &watch, &scene);
    sim_set_trace(sim_machine_world(scene.machine), on_fact, &scene);
    ok(sim_machine_run(scene.machine, 100000 * MS), "the job ends and everyone leaves");
    golden_compare("launch", &scene.trace);
    golden_check_quoted("launch", "job.rst", &scene.trace);
    sim_machine_destroy(scene.machine);
    buffer_fini(&scene.trace);
    allocation_fini(&allocation);
    return done_testing();
}
