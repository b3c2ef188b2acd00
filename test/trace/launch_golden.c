/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden traces of whole daemons in virtual time; doc/job.rst quotes them.
 *
 * launch: four nodes, from a whole instance to the end of a job of four processes that fence once and
 * end.  Every frame is a line, but for heartbeats and acknowledgements, with the message about the job
 * that it carries; so is what the processes do and what the front end is told.
 *
 * The others have several jobs and clients in an instance that stays, and of the frames those that carry
 * a message about a job or the instance: how it starts, two jobs at once, a job that fails beside one
 * that lives, a client that detaches, a daemon that is lost under two jobs.
 */
#include "config.h"

#include <stdarg.h>
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
    const char *name;
    struct sim_machine_config config;
    struct allocation allocation;
    uint8_t has_all_frames;
    uint8_t has_start; /* the trace begins with the first daemon */
    uint8_t names_jobs;
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

    if (scene->zero_ns == 0 && !scene->has_start)
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

/* Of the start: what makes the tree. */
static int is_of_start(const struct frame *frame)
{
    return frame->type == OVERLAY_JOIN || frame->type == OVERLAY_WELCOME;
}

static void on_fact(void *context, uint64_t now_ns, enum virtual_network_fact fact, uint32_t from,
                    uint32_t to, const struct frame *frame)
{
    const struct scene *scene = context;
    struct buffer text = {0};

    (void)now_ns;
    if (fact != VIRTUAL_NETWORK_FACT_SEND || frame->type == OVERLAY_LEASE ||
        frame->type == OVERLAY_LEASE_ECHO || frame->type == OVERLAY_ACK)
        return;
    if (!scene->has_all_frames && content_of(frame)[0] == '\0' &&
        !(scene->has_start && is_of_start(frame)))
        return;
    print_frame(frame, &text);
    say(context, "%u -> %u %s", from, to, buffer_string(&text));
    buffer_fini(&text);
}

/* ---- what is told ---- */

/* "job 2: ", where there are several. */
static const char *of_job(const struct scene *scene, uint32_t job)
{
    static char text[24];

    if (!scene->names_jobs || job == 0)
        return "";
    snprintf(text, sizeof(text), "job %u: ", job);
    return text;
}

static void on_text(void *context, uint64_t now_ns, uint32_t job, const char *text)
{
    (void)now_ns;
    say(context, "%sthe front end is told: %s", of_job(context, job), text);
}

static void on_lost(void *context, uint64_t now_ns, const struct ranges *places)
{
    struct buffer out = {0};

    (void)now_ns;
    ranges_print(places, &out);
    say(context, "0 counts %s as dead", buffer_string(&out));
    buffer_fini(&out);
}

static void on_complete(void *context, uint64_t now_ns)
{
    struct scene *scene = context;

    if (!scene->has_start)
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

    say(context, "%sthe process of %u %s", of_job(context, fact->job), fact->place,
        fates[fact->fate]);
}

static void on_fence(void *context, uint32_t job, uint32_t place, uint32_t generation, int status,
                     const struct message *result)
{
    (void)result;
    say(context, "%sthe process of %u is through fence %u%s", of_job(context, job), place,
        generation, status == 0 ? "" : ", which fails");
}

static void on_started(void *context, uint64_t now_ns, uint32_t job,
                       const struct control_started *started)
{
    (void)now_ns;
    say(context, "%sthe front end is told: %u processes run on %u nodes", of_job(context, job),
        started->processes, started->nodes);
}

static void on_report(void *context, uint64_t now_ns, uint32_t job,
                      const struct control_job_end *end)
{
    (void)now_ns;
    say(context, "%sthe front end is told: status %u%s%s", of_job(context, job),
        (unsigned)end->status, end->text[0] != '\0' ? ", " : "", end->text);
}

static void on_ended(void *context, uint64_t now_ns, uint32_t place, enum endpoint_end end)
{
    (void)now_ns;
    say(context, "%u ends%s", place, end == ENDPOINT_END_LEFT ? "" : ", not by leaving");
}

static const struct sim_watch watch = {
    .complete = on_complete,
    .process = on_process,
    .fence = on_fence,
    .started = on_started,
    .report = on_report,
    .text = on_text,
    .lost = on_lost,
    .ended = on_ended,
};

/* ---- scenes ---- */

static struct scene scene_of(const char *name, uint32_t nodes, uint32_t slots)
{
    struct scene scene = {.name = name};

    allocation_init(&scene.allocation);
    allocation_generate(&scene.allocation, "n", nodes, slots);
    scene.config =
        (struct sim_machine_config){.radix = 2, .seed = 1, .latency_ns = MS / 10, .daemon_ns = MS};
    return scene;
}

/* An instance that stays, without a job. */
static struct scene staying(const char *name, uint32_t nodes, uint32_t slots)
{
    struct scene scene = scene_of(name, nodes, slots);

    scene.names_jobs = 1;
    scene.config.idle = 1;
    scene.config.policy = INSTANCE_STAYS;
    return scene;
}

static void begin(struct scene *scene)
{
    scene->config.allocation = &scene->allocation;
    scene->machine = sim_machine_create(&scene->config, &watch, scene);
    virtual_network_set_trace(sim_machine_network(scene->machine), on_fact, scene);
}

static void finish(struct scene *scene)
{
    ok(sim_machine_run(scene->machine, 100000 * MS), "%s: all daemons end", scene->name);
    golden_compare(scene->name, &scene->trace);
    golden_check_quoted(scene->name, "job.rst", &scene->trace);
    sim_machine_destroy(scene->machine);
    buffer_fini(&scene->trace);
    allocation_fini(&scene->allocation);
}

/* Times are since the daemons began to start; the tree is whole after 3 ms. */
static void leave_at(struct scene *scene, uint64_t time_ns)
{
    const struct control_end end = {.status = 143, .reason = "the instance was ended"};

    sim_machine_leave_at(scene->machine, time_ns, &end);
}

static void run_at(struct scene *scene, uint64_t time_ns, uint32_t client, uint32_t processes,
                   const struct sim_program *program)
{
    struct placement_rule rule = {.policy = PLACEMENT_BY_SLOT, .processes = processes};

    sim_machine_run_job_as(scene->machine, time_ns, client, &rule, program);
}

static void test_launch(void)
{
    struct scene scene = scene_of("launch", 4, 1);

    scene.has_all_frames = 1;
    scene.config.rule = (struct placement_rule){.policy = PLACEMENT_BY_SLOT, .processes = 4};
    scene.config.program = (struct sim_program){.fences = 1};
    begin(&scene);
    finish(&scene);
}

static void test_start(void)
{
    struct scene scene = staying("daemon_start", 4, 1);

    scene.has_start = 1;
    begin(&scene);
    leave_at(&scene, 10 * MS);
    finish(&scene);
}

static void test_two_jobs(void)
{
    struct scene scene = staying("daemon_two_jobs", 3, 1);
    struct sim_program program = {.fences = 1, .output_bytes_max = 8};

    begin(&scene);
    run_at(&scene, 10 * MS, 2, 2, &program);
    run_at(&scene, 10 * MS, 3, 1, &program);
    leave_at(&scene, 60 * MS);
    finish(&scene);
}

static void test_failure_beside(void)
{
    struct scene scene = staying("daemon_failure_beside", 3, 1);
    struct sim_program fails = {.fails = 1};
    struct sim_program lives = {.fences = 3, .step_ns_max = 4 * MS};

    begin(&scene);
    run_at(&scene, 10 * MS, 2, 2, &lives);
    run_at(&scene, 11 * MS, 3, 1, &fails);
    leave_at(&scene, 60 * MS);
    finish(&scene);
}

static void test_detach(void)
{
    struct scene scene = staying("daemon_detach", 2, 1);
    struct sim_program program = {.fences = 2, .step_ns_max = 10 * MS, .output_bytes_max = 8};

    begin(&scene);
    run_at(&scene, 10 * MS, 2, 1, &program);
    run_at(&scene, 10 * MS, 3, 1, &program);
    sim_machine_detach_at(scene.machine, 12 * MS, 2, 1);
    sim_machine_hang_up_at(scene.machine, 13 * MS, 2);
    sim_machine_hang_up_at(scene.machine, 13 * MS, 3);
    leave_at(&scene, 80 * MS);
    finish(&scene);
}

static void test_loss_under_two(void)
{
    struct scene scene = staying("daemon_loss_under_two", 3, 2);
    struct sim_program program = {.fences = 2, .step_ns_max = 20 * MS};

    begin(&scene);
    run_at(&scene, 10 * MS, 2, 3, &program); /* n1 and n2 */
    run_at(&scene, 11 * MS, 3, 2, &program); /* n2 and n3 */
    sim_machine_kill_at(scene.machine, 14 * MS, 2);
    leave_at(&scene, 9000 * MS);
    finish(&scene);
}

int main(void)
{
    test_launch();
    test_start();
    test_two_jobs();
    test_failure_beside();
    test_detach();
    test_loss_under_two();
    return done_testing();
}
