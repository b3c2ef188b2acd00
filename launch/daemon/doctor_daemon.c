/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/doctor_daemon.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/time.h"
#include "fabric/secret.h"
#include "launch/core/daemon_tree.h"
#include "launch/daemon/daemon_internal.h"
#include "launch/doctor/doctor_examine.h"
#include "launch/proto/doctor_request.h"
#include "launch/daemon/doctor_root.h"

#define EXAMINE_ID         0x7fffffffu /* of its process at the helper; above the starter's ids */
#define EXAMINE_S          10
#define MESSAGE_BYTES_MAX  (4u * DOCTOR_TEXT_BYTES_MAX)
#define CLOCK_TOLERANCE_NS ((int64_t)(NS_PER_S / 2))

enum clock_answer { CLOCK_KNOWN, CLOCK_ASK_AGAIN };

static void doctor_check(const struct doctor *doctor)
{
    assert(doctor->daemon != NULL && doctor->daemon->doctor == doctor);
    assert((doctor->root != NULL) == (doctor->daemon->root != NULL));
    assert((doctor->output_fd >= 0) == (doctor->output != NULL));
    assert(!doctor->is_examined || doctor->output == NULL);
    assert(doctor->contributed == 0 || (doctor->is_examined && doctor->is_clock_reported));
    assert(!doctor->is_clock_known || doctor->is_clock_reported);
    assert(!doctor->is_clock_known || doctor->askers_count == 0);
    assert(doctor->topic < DOCTOR_TOPIC_COUNT);
}

/* The first thing that an upcall does. */
static struct doctor *doctor_of(void *context)
{
    struct daemon *daemon = context;

    daemon_check(daemon);
    assert(daemon->doctor != NULL);
    doctor_check(daemon->doctor);
    return daemon->doctor;
}

static void own_place(const struct doctor *doctor, struct ranges *ret_places)
{
    *ret_places = (struct ranges){0};
    ranges_add(ret_places, doctor->daemon->record.place, doctor->daemon->record.place);
}

static void add_finding(struct doctor *doctor, enum doctor_topic topic, enum doctor_level level,
                        const char *text, const char *remedy)
{
    struct ranges place;

    assert(topic < DOCTOR_TOPIC_COUNT && level < DOCTOR_LEVEL_COUNT && text != NULL);
    own_place(doctor, &place);
    doctor_report_add(&doctor->report, topic, level, &place, text, remedy);
    ranges_fini(&place);
}

/* ---- The gather ---- */

static void contribute_report(struct doctor *doctor)
{
    /* Each generation has a different set, which needs a different name. */
    struct operation_name key = {.set_id = hash_mix(hash_string("doctor") + doctor->generation),
                                 .generation = doctor->generation,
                                 .kind = JOB_OPERATION_DOCTOR,
                                 .merge = JOB_MERGE_DOCTOR,
                                 .target = ENDPOINT_TARGET_ROOT};
    struct buffer payload = {0};

    if (!doctor->is_examined || !doctor->is_clock_reported || doctor->generation == 0 ||
        doctor->contributed == doctor->generation)
        return;
    loop_timer_cancel(doctor->timer);
    doctor->contributed = doctor->generation;
    doctor_report_encode(&doctor->report, &payload);
    endpoint_contribute(doctor->daemon->endpoint, &key, &doctor->set,
                        message_from_buffer(&payload));
    buffer_fini(&payload);
}

/* ---- The process that examines ---- */

static void examine_done(struct doctor *doctor)
{
    if (doctor->is_examined)
        return;
    doctor->is_examined = 1;
    loop_watch_destroy(doctor->output);
    doctor->output = NULL;
    if (doctor->output_fd >= 0)
        close(doctor->output_fd);
    doctor->output_fd = -1;
    contribute_report(doctor);
}

/* Handles one message; data starts after its length. */
static void take_message(struct doctor *doctor, const void *data, size_t bytes)
{
    struct wire_reader reader;
    struct ranges place;
    uint8_t topic;

    wire_reader_init(&reader, data, bytes);
    if (wire_get_u8(&reader) == DOCTOR_MESSAGE_BEGINS) {
        topic = wire_get_u8(&reader);
        if (wire_finish(&reader) == 0 && topic < DOCTOR_TOPIC_COUNT)
            doctor->topic = (enum doctor_topic)topic;
        return;
    }
    own_place(doctor, &place);
    (void)doctor_report_line_decode(&reader, &place, &doctor->report);
    ranges_fini(&place);
}

static void take_messages(struct doctor *doctor)
{
    struct buffer *input = &doctor->input;

    while (input->length_bytes >= 4) {
        struct wire_reader reader;
        uint32_t bytes;
        wire_reader_init(&reader, input->data, input->length_bytes);
        bytes = wire_get_u32(&reader);
        if (bytes > MESSAGE_BYTES_MAX) {
            buffer_clear(input); /* not written by our process */
            return;
        }
        if (input->length_bytes < 4 + (size_t)bytes)
            return;
        take_message(doctor, input->data + 4, bytes);
        buffer_consume(input, 4 + (size_t)bytes);
    }
}

static void on_examine_output(void *context, int fd, unsigned int ready)
{
    struct doctor *doctor = context;
    ssize_t bytes = read(fd, buffer_reserve(&doctor->input, 4096), 4096);

    (void)ready;
    doctor_check(doctor);
    assert(fd == doctor->output_fd);
    if (bytes > 0) {
        buffer_commit(&doctor->input, (size_t)bytes);
        take_messages(doctor);
    } else if (bytes == 0 || errno != EAGAIN) {
        if (doctor->topic == DOCTOR_START)
            add_finding(doctor, DOCTOR_START, DOCTOR_PROBLEM, "banyand --examine printed nothing",
                        "--banyand names the daemon; is it of the same version on every node?");
        examine_done(doctor);
    }
}

static void add_peer(struct doctor_request *request, uint32_t place,
                     const struct addresses *addresses, const char *name)
{
    struct doctor_peer *peer;

    request->peers =
        memory_resize(request->peers, (request->peers_count + 1) * sizeof(*request->peers));
    peer = &request->peers[request->peers_count++];
    *peer = (struct doctor_peer){.place = place, .addresses = *addresses};
    snprintf(peer->name, sizeof(peer->name), "%s", name);
}

static void add_peers(struct doctor *doctor, struct doctor_request *request)
{
    const struct boot_record *record = &doctor->daemon->record;
    uint32_t parent = endpoint_parent(doctor->daemon->endpoint);
    char name[HOST_NAME_BYTES_MAX + 1];
    struct addresses addresses;
    uint32_t place;

    for (uint32_t i = 0; i < record->ancestors_count; i++) {
        if (record->ancestors[i].place != parent)
            continue;
        add_peer(request, parent, &record->ancestors[i].addresses, "");
        request->has_parent = 1;
    }
    for (uint32_t i = 0; endpoint_child(doctor->daemon->endpoint, i, &place, &addresses); i++)
        if (addresses.count > 0)
            add_peer(request, place, &addresses, daemon_place_name(doctor->daemon, place, name));
}

/* The request is passed as a file in memory, so that neither process waits for the other. */
static int request_open(struct doctor *doctor, struct wire_reader *program)
{
    struct daemon *daemon = doctor->daemon;
    struct doctor_request request = {.place = daemon->record.place};
    struct buffer text = {0};
    int fd = memfd_create("request", MFD_CLOEXEC);

    wire_get_string_into(program, request.version, sizeof(request.version));
    if (wire_get_varint_max(program, 1) == 1 && job_spec_decode(&request.program, program) == 0)
        request.has_program = 1;
    snprintf(request.name, sizeof(request.name), "%s", daemon->record.name);
    snprintf(request.session, sizeof(request.session), "%s", daemon->record.instance.session);
    request.tmpdir = daemon->record.instance.own_tmpdir;
    request.is_virtual = daemon->record.instance.starter == STARTER_VIRTUAL;
    link_set_addresses(daemon->links, &request.own);
    add_peers(doctor, &request);
    doctor_request_encode(&request, &text);
    if (fd >= 0 && (write(fd, text.data, text.length_bytes) != (ssize_t)text.length_bytes ||
                    lseek(fd, 0, SEEK_SET) < 0)) {
        close(fd);
        fd = -1;
    }
    request.tmpdir = NULL; /* owned by the instance */
    doctor_request_fini(&request);
    buffer_fini(&text);
    return fd;
}

static void examine_start(struct doctor *doctor, struct wire_reader *program)
{
    struct daemon *daemon = doctor->daemon;
    char option[] = "--examine";
    char *argv[] = {daemon->record.instance.banyand, option, NULL};
    struct helper_fd fds[] = {{.target = STDIN_FILENO}, {.target = STDOUT_FILENO}};
    struct helper_process process = {
        .id = EXAMINE_ID, .argv = argv, .environment = environ, .fds = fds, .fds_count = 2};
    int input_fd = request_open(doctor, program);
    int ends[2];

    assert(!doctor->is_examined && doctor->output == NULL);
    if (input_fd < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        add_finding(doctor, DOCTOR_START, DOCTOR_PROBLEM,
                    "no descriptors are left to examine the node", NULL);
        examine_done(doctor);
    } else {
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        fds[0].fd = input_fd;
        fds[1].fd = ends[1];
        helper_start(daemon->helper, &process);
        close(ends[1]);
        doctor->output_fd = ends[0];
        doctor->output =
            loop_watch_create(daemon->loop, ends[0], LOOP_READ, on_examine_output, doctor);
    }
    if (input_fd >= 0)
        close(input_fd);
}

/* ---- The clock ---- */

static int64_t real_time_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)((uint64_t)now.tv_sec * NS_PER_S) + now.tv_nsec;
}

static void clock_answer(struct doctor *doctor, const struct doctor_asker *asker,
                         enum clock_answer answer)
{
    struct buffer payload = {0};

    wire_put_u8(&payload, (uint8_t)answer);
    wire_put_u64(&payload, (uint64_t)real_time_ns());
    wire_put_u64(&payload, (uint64_t)doctor->offset_ns);
    wire_put_u64(&payload, (uint64_t)doctor->error_ns);
    endpoint_reply(doctor->daemon->endpoint, asker->place, asker->id,
                   message_from_buffer(&payload));
    buffer_fini(&payload);
}

static void tell_clock(struct doctor *doctor)
{
    uint64_t size_ns = (uint64_t)(doctor->offset_ns < 0 ? -doctor->offset_ns : doctor->offset_ns);
    const char *side = doctor->offset_ns < 0 ? "behind" : "ahead of";
    char text[128];

    if ((int64_t)size_ns - doctor->error_ns <= CLOCK_TOLERANCE_NS) {
        add_finding(doctor, DOCTOR_CLOCK, DOCTOR_FACT,
                    "agrees with this machine's clock within half a second", NULL);
        return;
    }
    if (size_ns >= 10 * NS_PER_S)
        snprintf(text, sizeof(text), "%llu s %s this machine's clock",
                 (unsigned long long)((size_ns + NS_PER_S / 2) / NS_PER_S), side);
    else
        snprintf(text, sizeof(text), "%.1f s %s this machine's clock", (double)size_ns / 1e9, side);
    add_finding(doctor, DOCTOR_CLOCK, DOCTOR_PROBLEM, text,
                "synchronize it with chrony or ntpd (chronyc makestep)");
}

static void clock_done(struct doctor *doctor)
{
    doctor->is_clock_reported = 1;
    for (uint32_t i = 0; doctor->is_clock_known && i < doctor->askers_count; i++)
        clock_answer(doctor, &doctor->askers[i], CLOCK_ASK_AGAIN);
    doctor->askers_count = 0;
    contribute_report(doctor);
}

static void clock_ask(struct doctor *doctor, uint32_t parent)
{
    struct buffer payload = {0};

    assert(doctor->root == NULL && !doctor->is_clock_known);
    assert(parent != TREE_NO_PLACE);
    wire_put_u8(&payload, JOB_MESSAGE_CLOCK);
    doctor->clock_asked_ns = real_time_ns();
    doctor->clock_request =
        endpoint_request(doctor->daemon->endpoint, parent, message_from_buffer(&payload));
    buffer_fini(&payload);
}

/* Without a parent the time is not asked for, which the timer reports. */
static void clock_start(struct doctor *doctor)
{
    uint32_t parent = endpoint_parent(doctor->daemon->endpoint);

    if (doctor->root != NULL) {
        doctor->is_clock_known = 1;
        clock_done(doctor);
    } else if (parent != TREE_NO_PLACE) {
        clock_ask(doctor, parent);
    }
}

/* The parent's time is compared with the middle of the round trip; the error is at most half of it. */
static void on_doctor_reply(void *context, uint32_t id, int status, struct message *payload)
{
    struct doctor *doctor = doctor_of(context);
    int64_t now_ns = real_time_ns();
    int64_t round_ns = now_ns - doctor->clock_asked_ns;
    struct wire_reader reader;
    int64_t parent_ns;
    uint8_t answer;

    if (id != doctor->clock_request || doctor->is_clock_reported)
        return;
    if (status < 0 || payload == NULL) { /* the parent died, and we have a new one by now */
        clock_start(doctor);
        return;
    }
    wire_reader_init(&reader, payload->data, payload->length_bytes);
    answer = wire_get_u8(&reader);
    parent_ns = (int64_t)wire_get_u64(&reader);
    doctor->offset_ns = (int64_t)wire_get_u64(&reader);
    doctor->error_ns = (int64_t)wire_get_u64(&reader);
    if (wire_finish(&reader) < 0)
        return;
    if (answer == CLOCK_ASK_AGAIN) {
        clock_start(doctor);
        return;
    }
    doctor->offset_ns += doctor->clock_asked_ns + round_ns / 2 - parent_ns;
    doctor->error_ns += round_ns / 2;
    doctor->is_clock_known = 1;
    tell_clock(doctor);
    clock_done(doctor);
}

static void on_doctor_request(void *context, uint32_t source, uint32_t id, struct message *payload)
{
    struct doctor *doctor = doctor_of(context);
    struct doctor_asker asker = {.place = source, .id = id};

    (void)payload; /* there is only one kind of request */
    if (doctor->is_clock_known) {
        clock_answer(doctor, &asker, CLOCK_KNOWN);
        return;
    }
    doctor->askers =
        memory_resize(doctor->askers, (doctor->askers_count + 1) * sizeof(*doctor->askers));
    doctor->askers[doctor->askers_count++] = asker;
}

/* ---- What the root asks for ---- */

static void on_doctor_timer(void *context)
{
    struct doctor *doctor = context;
    char text[128];

    doctor_check(doctor);
    if (!doctor->is_examined) {
        helper_signal(doctor->daemon->helper, EXAMINE_ID, SIGKILL);
        snprintf(text, sizeof(text),
                 "this check did not finish within %d s; the others were not run", EXAMINE_S);
        add_finding(
            doctor, doctor->topic, DOCTOR_PROBLEM, text,
            "find out what hangs there: a name server, or a file system that does not respond");
    }
    if (!doctor->is_clock_reported) {
        add_finding(doctor, DOCTOR_CLOCK, DOCTOR_PROBLEM, "its parent did not send the time", NULL);
        clock_done(doctor);
    }
    examine_done(doctor);
}

/* JOB_MESSAGE_DOCTOR: u32 generation, ranges of those that take part, version, program. */
static void on_doctor_broadcast(void *context, struct message *payload)
{
    struct doctor *doctor = doctor_of(context);
    struct wire_reader reader;
    uint32_t generation;
    int is_first = doctor->generation == 0;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    if (wire_get_u8(&reader) != JOB_MESSAGE_DOCTOR)
        return;
    generation = wire_get_u32(&reader);
    ranges_decode(&reader, DOCTOR_RANGES_MAX, &doctor->set);
    if (wire_status(&reader) < 0 || generation == 0 ||
        !ranges_contains(&doctor->set, doctor->daemon->record.place))
        return;
    doctor->generation = generation;
    if (is_first) {
        loop_timer_set(doctor->timer, loop_now_ns() + (uint64_t)(EXAMINE_S * NS_PER_S));
        examine_start(doctor, &reader);
        clock_start(doctor);
    }
    contribute_report(doctor);
}

static void on_doctor_result(void *context, const struct operation_name *key, int status,
                             const struct ranges *lost, struct message *payload)
{
    struct doctor *doctor = doctor_of(context);

    (void)lost;
    if (doctor->root != NULL && key->kind == JOB_OPERATION_DOCTOR)
        doctor_root_result(doctor, key->generation, status, payload);
}

/* ---- The start ---- */

static void on_doctor_complete(void *context)
{
    doctor_root_complete(doctor_of(context));
}

static void on_doctor_linked(void *context, uint32_t place)
{
    struct daemon *daemon = context;

    ranges_add(&daemon->doctor->linked, place, place);
    daemon_tree_events.linked(daemon->core, place);
}

static void on_doctor_received(void *context, uint32_t source, uint8_t class,
                               struct message *payload)
{
    struct doctor *doctor = doctor_of(context);
    struct wire_reader reader;
    uint8_t kind;

    (void)source;
    (void)class;
    wire_reader_init(&reader, payload->data, payload->length_bytes);
    kind = wire_get_u8(&reader);
    if (doctor->root != NULL)
        doctor_root_message(doctor, kind, &reader);
}

static void on_doctor_lost(void *context, const struct ranges *places)
{
    (void)context;
    (void)places; /* the gather reports its missing members */
}

/* The initial range headed by a place below this one. */
static struct range range_of(const struct daemon *daemon, const struct tree *tree, uint32_t place)
{
    struct range range = daemon->record.range;

    assert(place >= range.first && place <= range.last);
    while (range.first != place) {
        uint32_t i = 0;
        while (tree_cut(tree, range, i).last < place)
            i++;
        range = tree_cut(tree, range, i);
    }
    return range;
}

/* Starts the daemons that a place should have started. */
static void start_in_stead(struct doctor *doctor, uint32_t place)
{
    struct daemon *daemon = doctor->daemon;
    struct instance_spec *instance = &daemon->record.instance;
    struct tree tree = {.places = instance->places, .radix = instance->radix};
    struct range range;

    memcpy(instance->secret, doctor->secret, SECRET_BYTES);
    range = range_of(daemon, &tree, place);
    for (uint32_t i = 0; i < tree_cut_count(&tree, range); i++)
        daemon_start_child(daemon, tree_cut(&tree, range, i));
    explicit_bzero(instance->secret, SECRET_BYTES);
}

static void on_doctor_starter_failed(void *context, uint32_t place, const struct error *why)
{
    struct daemon *daemon = context;
    struct doctor *doctor = doctor_of(daemon);
    struct buffer payload = {0};

    if (daemon_core_is_ending(daemon->core))
        return;
    if (doctor->root != NULL) {
        doctor_root_place_failed(doctor, place, why->text);
    } else {
        wire_put_u8(&payload, JOB_MESSAGE_PLACE_FAILED);
        wire_put_u32(&payload, place);
        wire_put_bytes(&payload, why->text, strnlen(why->text, DOCTOR_TEXT_BYTES_MAX - 1));
        endpoint_send(daemon->endpoint, 0, FRAME_CONTROL, message_from_buffer(&payload));
        buffer_fini(&payload);
    }
    endpoint_place_failed(daemon->endpoint, place);
    if (!ranges_contains(&doctor->linked, place) &&
        !starter_is_one_shot(daemon->record.instance.starter))
        start_in_stead(doctor, place);
    daemon_check_idle(daemon);
}

static void on_doctor_starter_line(void *context, uint32_t place, const char *text)
{
    daemon_starter_events.line(context, place, text);
}

static void on_doctor_starter_ended(void *context, uint32_t place)
{
    daemon_starter_events.ended(context, place);
}

const struct starter_events doctor_starter_events = {
    .failed = on_doctor_starter_failed,
    .line = on_doctor_starter_line,
    .ended = on_doctor_starter_ended,
};

static void on_doctor_joined(void *context)
{
    daemon_tree_events.joined(((struct daemon *)context)->core);
}

static void on_doctor_unlinked(void *context, uint32_t place, const struct error *why)
{
    daemon_tree_events.unlinked(((struct daemon *)context)->core, place, why);
}

static void on_doctor_ended(void *context, enum endpoint_end end, const struct error *why)
{
    daemon_tree_events.ended(((struct daemon *)context)->core, end, why);
}

const struct endpoint_events doctor_node_events = {
    .joined = on_doctor_joined,
    .linked = on_doctor_linked,
    .unlinked = on_doctor_unlinked,
    .complete = on_doctor_complete,
    .broadcast = on_doctor_broadcast,
    .result = on_doctor_result,
    .received = on_doctor_received,
    .request = on_doctor_request,
    .reply = on_doctor_reply,
    .lost = on_doctor_lost,
    .ended = on_doctor_ended,
};

void doctor_daemon_open(struct daemon *daemon)
{
    struct doctor *doctor = memory_allocate_zeroed(sizeof(*doctor));

    assert(daemon->doctor == NULL && daemon->record.instance.is_doctor);
    doctor->daemon = daemon;
    doctor->output_fd = -1;
    doctor->secret = secret_create(SECRET_BYTES);
    memcpy(doctor->secret, daemon->record.instance.secret, SECRET_BYTES);
    doctor->timer = loop_timer_create(daemon->loop, on_doctor_timer, doctor);
    daemon->doctor = doctor;
    if (daemon->root != NULL)
        doctor_root_open(doctor);
}

void doctor_daemon_close(struct daemon *daemon)
{
    struct doctor *doctor = daemon->doctor;

    if (doctor == NULL)
        return;
    daemon->doctor = NULL;
    doctor_root_close(doctor);
    loop_watch_destroy(doctor->output);
    if (doctor->output_fd >= 0)
        close(doctor->output_fd);
    loop_timer_destroy(doctor->timer);
    secret_destroy(doctor->secret, SECRET_BYTES);
    doctor_report_fini(&doctor->report);
    buffer_fini(&doctor->input);
    ranges_fini(&doctor->linked);
    ranges_fini(&doctor->set);
    free(doctor->askers);
    free(doctor);
}
