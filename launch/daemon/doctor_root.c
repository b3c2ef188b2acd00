/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/doctor_root.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "launch/daemon/daemon_internal.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/report_line.h"
#include "launch/daemon/doctor_daemon.h"

/* Added to the start time-outs of all levels, for messages under way. */
#define START_SLACK_MS 2000
/* More than a daemon's limit for its examination (10 s). */
#define GATHER_MS 20000
#define LEAVE_MS  5000

struct doctor_root {
    struct loop_timer *timer;    /* for the start, then for the gather */
    struct buffer asked;         /* version and program from CONTROL_DOCTOR, to be broadcast */
    struct doctor_report report; /* the root's own findings: daemons that did not start */
    struct ranges failed;        /* places whose failure is in it */
    uint32_t generation;
    uint8_t is_asked;
    uint8_t is_started; /* all that can join have joined */
    uint8_t is_reported;
};

static void root_check(const struct doctor *doctor)
{
    const struct doctor_root *root = doctor->root;

    assert(root != NULL && doctor->daemon->root != NULL && root->timer != NULL);
    assert(root->generation == 0 || (root->is_asked && root->is_started));
    assert(root->is_asked || root->asked.length_bytes == 0);
}

static void add_nodes_finding(struct doctor_root *root, const struct ranges *places,
                              enum doctor_level level, const char *text, const char *remedy)
{
    struct ranges nodes = {0};

    ranges_copy(&nodes, places);
    if (ranges_contains(&nodes, 0))
        ranges_remove(&nodes, 0, 0);
    if (!ranges_is_empty(&nodes))
        doctor_report_add(&root->report, DOCTOR_START, level, &nodes, text, remedy);
    ranges_fini(&nodes);
}

/* Sends the report to the front end and ends the instance. */
static void send_report(struct doctor *doctor, const struct doctor_report *gathered)
{
    struct doctor_root *root = doctor->root;
    struct buffer payload = {0};

    if (root->is_reported)
        return;
    root->is_reported = 1;
    loop_timer_cancel(root->timer);
    if (gathered != NULL)
        doctor_report_merge(&root->report, gathered);
    doctor_report_encode(&root->report, &payload);
    root_send(doctor->daemon, CONTROL_DOCTOR_REPORT, &payload);
    buffer_fini(&payload);
    daemon_leave(doctor->daemon, LEAVE_MS);
}

static void absent_places(const struct doctor *doctor, struct ranges *ret_places)
{
    const struct endpoint *endpoint = doctor->daemon->endpoint;

    endpoint_missing(endpoint, ret_places);
    ranges_add_all(ret_places, endpoint_dead(endpoint));
}

/* Begins a new generation of the gather, with all living places that have joined. */
static void gather_reports(struct doctor *doctor)
{
    struct doctor_root *root = doctor->root;
    struct buffer payload = {0};
    struct ranges places = {0}, left_out = {0};

    absent_places(doctor, &left_out);
    ranges_add(&places, 0, doctor->daemon->record.instance.places - 1);
    ranges_remove_all(&places, &left_out);
    wire_put_u8(&payload, JOB_MESSAGE_DOCTOR);
    wire_put_u32(&payload, ++root->generation);
    ranges_encode(&places, &payload);
    buffer_append(&payload, root->asked.data, root->asked.length_bytes);
    if (root->generation == 1)
        loop_timer_set(root->timer, loop_now_ns() + GATHER_MS * NS_PER_MS);
    endpoint_broadcast(doctor->daemon->endpoint, &places, message_from_buffer(&payload));
    buffer_fini(&payload);
    ranges_fini(&places);
    ranges_fini(&left_out);
}

/* Reports places that are absent and that no starter has reported. */
static void tell_absent(struct doctor *doctor)
{
    struct doctor_root *root = doctor->root;
    struct ranges places = {0}, missing = {0};

    endpoint_missing(doctor->daemon->endpoint, &missing);
    absent_places(doctor, &places);
    ranges_remove_all(&places, &root->failed);
    ranges_remove_all(&places, &missing);
    add_nodes_finding(root, &places, DOCTOR_PROBLEM, "its daemon ended before it was examined",
                      NULL);
    ranges_remove_all(&missing, &root->failed);
    add_nodes_finding(root, &missing, DOCTOR_PROBLEM, "its daemon did not join in time",
                      "increase --start-timeout");
    ranges_fini(&places);
    ranges_fini(&missing);
}

static void begin_gather(struct doctor *doctor)
{
    struct doctor_root *root = doctor->root;

    root_check(doctor);
    if (root->is_asked && root->is_started && root->generation == 0)
        gather_reports(doctor);
}

void doctor_root_complete(struct doctor *doctor)
{
    doctor->root->is_started = 1;
    begin_gather(doctor);
}

void doctor_root_asked(struct daemon *daemon, struct wire_reader *reader)
{
    struct doctor_root *root = daemon->doctor->root;

    if (root->is_asked)
        return;
    root->is_asked = 1;
    buffer_append(&root->asked, reader->position, wire_left(reader));
    begin_gather(daemon->doctor);
}

/* A command for the user that shows the same failure. */
static char *try_by_hand(const struct instance_spec *instance)
{
    if (instance->starter != STARTER_SSH)
        return memory_copy_string("");
    return memory_printf("try by hand: %s " REPORT_LINE_NODE " %s --version",
                         instance->agent != NULL ? instance->agent : "ssh", instance->banyand);
}

void doctor_root_place_failed(struct doctor *doctor, uint32_t place, const char *why)
{
    struct doctor_root *root = doctor->root;
    char *remedy = try_by_hand(&doctor->daemon->record.instance);
    struct ranges places = {0};

    root_check(doctor);
    assert(place > 0 && why != NULL);
    if (!ranges_contains(&root->failed, place) && !root->is_reported) {
        ranges_add(&places, place, place);
        ranges_add(&root->failed, place, place);
        add_nodes_finding(root, &places, DOCTOR_PROBLEM, why, remedy);
        ranges_fini(&places);
    }
    free(remedy);
}

void doctor_root_message(struct doctor *doctor, uint8_t kind, struct wire_reader *reader)
{
    char text[DOCTOR_TEXT_BYTES_MAX];
    uint32_t place, job;
    uint8_t level;
    char *line;

    switch (kind) {
    case JOB_MESSAGE_PLACE_FAILED:
        place = wire_get_u32(reader);
        wire_get_string_into(reader, text, sizeof(text));
        if (wire_finish(reader) == 0 && place > 0 && place < doctor->daemon->record.instance.places)
            doctor_root_place_failed(doctor, place, text);
        break;
    case JOB_MESSAGE_TEXT:
        if (job_text_decode(reader, &job, &level, &line) == 0)
            daemon_core_text(doctor->daemon->core, job, level, line);
        free(line);
        break;
    default:
        log_warning("a daemon sent a message of an unknown kind");
    }
}

static void tell_result(struct doctor *doctor, struct message *payload)
{
    struct doctor_root *root = doctor->root;
    struct doctor_report gathered = {0};
    struct ranges places = {0}, left_out = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, payload ? payload->data : NULL, payload ? payload->length_bytes : 0);
    (void)doctor_report_decode(&gathered, &reader);
    tell_absent(doctor);
    ranges_copy(&places, &doctor->set);
    ranges_remove_all(&places, &root->failed);
    add_nodes_finding(root, &places, DOCTOR_FACT, "its daemon starts and joins", NULL);
    send_report(doctor, &gathered);
    doctor_report_fini(&gathered);
    ranges_fini(&places);
    ranges_fini(&left_out);
}

void doctor_root_result(struct doctor *doctor, uint32_t generation, int status,
                        struct message *payload)
{
    root_check(doctor);
    if (doctor->root->is_reported || generation != doctor->root->generation)
        return;
    if (status == -EHOSTDOWN)
        gather_reports(doctor); /* without those that were lost */
    else if (status == 0)
        tell_result(doctor, payload);
    else
        send_report(doctor, NULL);
}

static void on_doctor_root_timer(void *context)
{
    struct doctor *doctor = context;
    struct doctor_root *root = doctor->root;
    struct ranges all = {0};

    root_check(doctor);
    if (!root->is_started) {
        doctor_root_complete(doctor); /* without those that are missing */
        return;
    }
    tell_absent(doctor);
    ranges_copy(&all, &doctor->set);
    add_nodes_finding(root, &all, DOCTOR_PROBLEM, "some of these nodes have not reported", NULL);
    ranges_fini(&all);
    send_report(doctor, NULL);
}

void doctor_root_open(struct doctor *doctor)
{
    const struct instance_spec *instance = &doctor->daemon->record.instance;
    struct tree tree = {.places = instance->places, .radix = instance->radix};
    uint64_t levels = tree_depth(&tree) + 1; /* one more for daemons started by an heir */
    struct doctor_root *root = memory_allocate_zeroed(sizeof(*root));

    doctor->root = root;
    root->timer = loop_timer_create(doctor->daemon->loop, on_doctor_root_timer, doctor);
    loop_timer_set(root->timer,
                   loop_now_ns() +
                       (levels * instance->start_timeout_s * 1000ull + START_SLACK_MS) * NS_PER_MS);
}

void doctor_root_close(struct doctor *doctor)
{
    struct doctor_root *root = doctor->root;

    if (root == NULL)
        return;
    loop_timer_destroy(root->timer);
    buffer_fini(&root->asked);
    doctor_report_fini(&root->report);
    ranges_fini(&root->failed);
    free(root);
}
