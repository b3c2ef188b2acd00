/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of the job logic: there and back, cut anywhere, merged in any way. */
#include "config.h"

#include "launch/proto/job_wire.h"
#include "launch/proto/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "launch/job/job.h"
#include "test/support/tap.h"

static const struct job_failure a_failure = {.number = 7,
                                             .kind = JOB_FAILURE_START,
                                             .rank = 1000000,
                                             .place = 4096,
                                             .code = -ENOENT,
                                             .step = START_STEP_INTERPRETER,
                                             .detail = "/bin/none"};

static int failures_equal(const struct job_failure *a, const struct job_failure *b)
{
    return a->kind == b->kind && a->number == b->number && a->rank == b->rank &&
           a->place == b->place && a->code == b->code && a->step == b->step &&
           strcmp(a->detail, b->detail) == 0;
}

static int failure_decode(struct job_failure *ret_failure, const void *data, size_t bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    job_failure_decode(&reader, ret_failure);
    return wire_finish(&reader);
}

static void test_failure(void)
{
    struct job_failure none = {0}, longest = a_failure, back = a_failure;
    struct buffer bytes = {0};
    int refused = 1;

    job_failure_encode(&none, &bytes);
    is_uint(bytes.length_bytes, 1, "that nothing failed is one byte");
    is_int(failure_decode(&back, bytes.data, bytes.length_bytes), 0, "and comes back");
    is_int(back.kind, JOB_FAILURE_NONE, "as it was");
    buffer_clear(&bytes);

    memset(longest.detail, 'x', sizeof longest.detail - 1);
    job_failure_encode(&longest, &bytes);
    is_int(failure_decode(&back, bytes.data, bytes.length_bytes), 0, "a failure with a long text");
    ok(failures_equal(&back, &longest), "comes back");
    back = a_failure;
    for (size_t cut = 0; cut < bytes.length_bytes; cut++)
        refused &= failure_decode(&back, bytes.data, cut) == -EBADMSG;
    ok(refused && failures_equal(&back, &a_failure),
       "cut anywhere it is refused and nothing is touched");
    bytes.data[0] = JOB_FAILURE_COUNT;
    is_int(failure_decode(&back, bytes.data, bytes.length_bytes), -EBADMSG,
           "a kind that there is not is refused");
    buffer_fini(&bytes);
}

static int restarted_decode(struct job_restarted *ret_message, const void *data, size_t bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    (void)wire_get_u8(&reader);
    return job_restarted_decode(ret_message, &reader);
}

static void test_restarted(void)
{
    struct job_failure failure = {
        .number = 7, .kind = JOB_FAILURE_SIGNAL, .rank = 12, .place = 3, .code = 11};
    struct job_restarted message = {.failure = failure, .count = 2, .delay_ms = 30000};
    struct job_restarted back;
    struct buffer bytes = {0};
    int refused = 1;

    ranges_add(&message.ranks, failure.rank, failure.rank + 3);
    ranges_add(&message.ranks, failure.rank + 9, failure.rank + 9);
    job_restarted_encode(&message, &bytes);
    is_int(bytes.data[0], JOB_MESSAGE_RESTARTED, "ranks that are restarted: the kind");
    is_int(restarted_decode(&back, bytes.data, bytes.length_bytes), 0, "the message");
    ok(failures_equal(&back.failure, &failure) && back.count == 2 && back.delay_ms == 30000 &&
           ranges_equal(&back.ranks, &message.ranks),
       "comes back");
    ranges_fini(&back.ranks);
    for (size_t cut = 0; cut < bytes.length_bytes; cut++)
        refused &= restarted_decode(&back, bytes.data, cut) == -EBADMSG && back.ranks.count == 0;
    ok(refused, "cut anywhere it is refused");
    ranges_fini(&message.ranks);
    buffer_clear(&bytes);
    wire_put_u8(&bytes, JOB_MESSAGE_RESTARTED);
    job_failure_encode(&failure, &bytes);
    wire_put_varint(&bytes, 1);
    wire_put_varint(&bytes, 1000);
    ranges_encode(&message.ranks, &bytes);
    is_int(restarted_decode(&back, bytes.data, bytes.length_bytes), -EBADMSG,
           "also one without the rank that has failed");
    buffer_fini(&bytes);
}

static void test_launched(void)
{
    struct job_launched message = {
        .processes = 128000, .hash = 0xfedcba9876543210ull, .failure = a_failure};
    struct job_launched back = {0};
    struct buffer bytes = {0};
    int refused = 1;

    job_launched_encode(&message, &bytes);
    for (size_t cut = 0; cut < bytes.length_bytes; cut++)
        refused &= job_launched_decode(&back, bytes.data, cut) == -EBADMSG;
    ok(refused && back.processes == 0, "LAUNCHED cut anywhere is refused");
    is_int(job_launched_decode(&back, bytes.data, bytes.length_bytes), 0, "LAUNCHED comes back");
    ok(back.processes == message.processes && back.hash == message.hash &&
           failures_equal(&back.failure, &a_failure),
       "as it was");
    wire_put_u8(&bytes, 0);
    is_int(job_launched_decode(&back, bytes.data, bytes.length_bytes), -EBADMSG,
           "with more behind it is refused");
    buffer_fini(&bytes);
}

static void test_ended(void)
{
    struct job_ended message = {
        .processes = 3, .status = 255, .output_bytes = 1ull << 40, .failure = a_failure};
    struct job_ended back = {0};
    struct buffer bytes = {0};
    int refused = 1;

    job_ended_encode(&message, &bytes);
    for (size_t cut = 0; cut < bytes.length_bytes; cut++)
        refused &= job_ended_decode(&back, bytes.data, cut) == -EBADMSG;
    ok(refused && back.processes == 0, "ENDED cut anywhere is refused");
    is_int(job_ended_decode(&back, bytes.data, bytes.length_bytes), 0, "ENDED comes back");
    ok(back.processes == 3 && back.status == 255 && back.output_bytes == 1ull << 40 &&
           failures_equal(&back.failure, &a_failure),
       "as it was");
    wire_put_u8(&bytes, 0);
    is_int(job_ended_decode(&back, bytes.data, bytes.length_bytes), -EBADMSG,
           "with more behind it is refused");
    buffer_fini(&bytes);
}

/* Its kind has been read by whoever has it decoded. */
static int end_decode(struct job_end_message *ret_message, const struct buffer *bytes, size_t cut)
{
    struct wire_reader reader;

    wire_reader_init(&reader, bytes->data, cut);
    if (wire_get_u8(&reader) != JOB_MESSAGE_END)
        return -EBADMSG;
    return job_end_message_decode(ret_message, &reader);
}

static void test_end(void)
{
    struct job_end_message message = {
        .number = 1, .generation = 3, .grace_ms = 2000, .discard = 1, .goes_on = 1, .tell = 1};
    struct job_end_message back = {0};
    struct buffer bytes = {0};
    int refused = 1;

    ranges_add(&message.places, 1, 71);
    ranges_add(&message.places, 73, 100000);
    job_end_message_encode(&message, &bytes);
    for (size_t cut = 0; cut < bytes.length_bytes; cut++)
        refused &= end_decode(&back, &bytes, cut) == -EBADMSG;
    ok(refused && back.number == 0, "END cut anywhere is refused");
    is_int(end_decode(&back, &bytes, bytes.length_bytes), 0, "END comes back");
    ok(back.number == 1 && back.generation == 3 && back.grace_ms == 2000 && back.discard == 1 &&
           back.goes_on == 1 && back.tell == 1 && ranges_equal(&back.places, &message.places),
       "as it was");
    ranges_fini(&back.places);
    bytes.data[13] = 2;
    is_int(end_decode(&back, &bytes, bytes.length_bytes), -EBADMSG, "a flag of 2 is refused");
    bytes.data[13] = 1;
    bytes.data[14] = 2;
    is_int(end_decode(&back, &bytes, bytes.length_bytes), -EBADMSG, "so is the other");
    ranges_fini(&message.places);
    buffer_fini(&bytes);
}

static void test_text(void)
{
    struct buffer bytes = {0};
    struct wire_reader reader;
    uint32_t number = 0;
    uint8_t level = 0;
    char *text = NULL;
    int refused = 1;

    job_text_encode(7, 2, "node n3 is full", &bytes);
    for (size_t cut = 1; cut < bytes.length_bytes; cut++) {
        wire_reader_init(&reader, bytes.data + 1, cut - 1);
        refused &= job_text_decode(&reader, &number, &level, &text) == -EBADMSG;
        free(text);
    }
    ok(refused, "TEXT cut anywhere is refused");
    wire_reader_init(&reader, bytes.data + 1, bytes.length_bytes - 1);
    is_int(job_text_decode(&reader, &number, &level, &text), 0, "TEXT comes back");
    ok(bytes.data[0] == JOB_MESSAGE_TEXT && number == 7 && level == 2, "with its number and level");
    is_string(text, "node n3 is full", "and its words");
    free(text);
    buffer_fini(&bytes);
}

static void test_stalled(void)
{
    struct job_stalled message = {
        .key = {.set_id = 1ull << 60, .generation = 3, .kind = JOB_OPERATION_PMIX},
        .kind = JOB_STALLED_LOCAL};
    struct job_stalled back = {.kind = 7};
    struct buffer bytes = {0};
    struct wire_reader reader;
    int refused = 1;

    ranges_add(&message.set, 1, 100);
    ranges_add(&message.ranks, 7, 9);
    ranges_add(&message.missing.absent, 4, 9);
    ranges_add(&message.missing.silent, 20, 20);
    message.missing.more = 11;
    job_stalled_encode(&message, &bytes);
    for (size_t cut = 0; cut < bytes.length_bytes; cut++) {
        wire_reader_init(&reader, bytes.data, cut);
        refused &= job_stalled_decode(&back, &reader) == -EBADMSG;
    }
    ok(refused && back.kind == 7, "STALLED cut anywhere is refused");
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(job_stalled_decode(&back, &reader), 0, "STALLED comes back");
    ok(back.kind == JOB_STALLED_LOCAL && back.key.set_id == message.key.set_id &&
           back.key.generation == 3 && ranges_equal(&back.set, &message.set) &&
           ranges_equal(&back.ranks, &message.ranks) && back.missing.more == 11 &&
           ranges_equal(&back.missing.absent, &message.missing.absent) &&
           ranges_equal(&back.missing.silent, &message.missing.silent),
       "as it was");
    job_stalled_fini(&back);
    job_stalled_fini(&message);
    buffer_fini(&bytes);
}

static void test_control(void)
{
    struct job_control message = {
        .number = 3, .kind = JOB_CONTROL_KILL, .signal = 9, .by = "rank 2 of job 3"};
    struct job_control back = {.kind = JOB_CONTROL_COUNT};
    struct buffer bytes = {0};
    struct wire_reader reader;
    int refused = 1;

    ranges_add(&message.ranks, 4, 7);
    job_control_encode(&message, &bytes);
    for (size_t length = 0; length < bytes.length_bytes; length++) {
        wire_reader_init(&reader, bytes.data, length);
        refused &= job_control_decode(&back, &reader) == -EBADMSG;
    }
    ok(refused, "a CONTROL that is cut off is refused");
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(job_control_decode(&back, &reader), 0, "CONTROL comes back");
    ok(back.number == 3 && back.kind == JOB_CONTROL_KILL && back.signal == 9 &&
           ranges_equal(&back.ranks, &message.ranks) && strcmp(back.by, message.by) == 0,
       "with all that is in it");
    ranges_fini(&back.ranks);
    bytes.data[4] = JOB_CONTROL_COUNT;
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(job_control_decode(&back, &reader), -EBADMSG, "an unknown kind is refused");
    ranges_fini(&message.ranks);
    buffer_fini(&bytes);
}

static void test_signal(void)
{
    struct ranges ranks = {0}, back;
    struct buffer bytes = {0};
    uint32_t number, signal;
    struct wire_reader reader;

    ranges_add(&ranks, 1, 2);
    job_signal_encode(5, 12, &ranks, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_uint(wire_get_u8(&reader), JOB_MESSAGE_SIGNAL, "SIGNAL");
    is_int(job_signal_decode(&reader, &number, &signal, &back), 0, "comes back");
    ok(number == 5 && signal == 12 && ranges_equal(&ranks, &back), "with all that is in it");
    ranges_fini(&back);
    wire_reader_init(&reader, bytes.data + 1, bytes.length_bytes - 2);
    is_int(job_signal_decode(&reader, &number, &signal, &back), -EBADMSG, "cut off it is refused");
    ok(ranges_is_empty(&back), "and nothing is left of it");
    ranges_fini(&ranks);
    buffer_fini(&bytes);
}

static void test_roll(void)
{
    struct job_roll_request request = {.number = 1,
                                       .key = {.set_id = 5, .generation = 2, .kind = 3}};
    struct job_roll roll = {.count = 2,
                            .entries = {{0, 3, JOB_ROLL_ENDED, 0}, {7, 7, JOB_ROLL_NEW, 'T'}}};
    struct job_roll_request request_back;
    struct job_roll back = {.count = 9};
    struct buffer bytes = {0};
    struct wire_reader reader;

    ranges_add(&request.set, 1, 4);
    ranges_add(&request.ranks, 2, 2);
    job_roll_request_encode(&request, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(job_roll_request_decode(&request_back, &reader), 0, "a request of ROLL comes back");
    ok(request_back.number == 1 && request_back.key.generation == 2 &&
           ranges_equal(&request_back.set, &request.set) &&
           ranges_equal(&request_back.ranks, &request.ranks),
       "as it was");
    job_roll_request_fini(&request_back);
    job_roll_request_fini(&request);
    buffer_clear(&bytes);
    job_roll_encode(&roll, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(job_roll_decode(&back, &reader), 0, "a roll comes back");
    ok(back.count == 2 && back.entries[0].last == 3 && back.entries[1].first == 7 &&
           back.entries[1].state == JOB_ROLL_NEW && back.entries[1].process == 'T',
       "as it was");
    bytes.data[3] = JOB_ROLL_STATE_COUNT;
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(job_roll_decode(&back, &reader), -EBADMSG, "an unknown state is refused");
    bytes.data[0] = JOB_ROLL_ENTRIES_MAX + 1;
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(job_roll_decode(&back, &reader), -EBADMSG, "too many entries are refused");
    buffer_fini(&bytes);
}

/* ---- merges ---- */

#define PARTS 3

static struct job_failure random_failure(struct random_state *random, uint32_t rank)
{
    struct job_failure failure = {.number = 1, .rank = rank, .place = rank / 4 + 1, .code = 3};

    failure.kind = (uint8_t)random_below(random, JOB_FAILURE_COUNT);
    if (failure.kind == JOB_FAILURE_NONE)
        failure = (struct job_failure){0};
    return failure;
}

static void random_part(struct random_state *random, enum job_merge merge, uint32_t rank,
                        struct buffer *out)
{
    struct job_launched launched = {.processes = (uint32_t)random_below(random, 100),
                                    .hash = random_next(random),
                                    .failure = random_failure(random, rank)};
    struct job_ended ended = {.processes = launched.processes,
                              .status = (uint32_t)random_below(random, 256),
                              .output_bytes = random_below(random, 1u << 30),
                              .failure = launched.failure};

    if (random_below(random, 2) == 0) {
        struct usage_rank what = {.values = {random_next(random), random_below(random, 9)}};

        ended.usage = memory_allocate_zeroed(sizeof(*ended.usage));
        usage_add(ended.usage, rank, &what);
        usage_add(ended.usage, rank + 100, &what);
    }
    if (merge == JOB_MERGE_LAUNCHED)
        job_launched_encode(&launched, out);
    else
        job_ended_encode(&ended, out);
    job_ended_fini(&ended);
}

/* (a + b) + c and a + (b + c) */
static int is_associative(enum job_merge merge, const struct buffer parts[PARTS])
{
    struct buffer left = {0}, inner = {0}, right = {0};
    int equal;

    buffer_append(&left, parts[0].data, parts[0].length_bytes);
    job_merges[merge](&left, parts[1].data, parts[1].length_bytes);
    job_merges[merge](&left, parts[2].data, parts[2].length_bytes);
    buffer_append(&inner, parts[1].data, parts[1].length_bytes);
    job_merges[merge](&inner, parts[2].data, parts[2].length_bytes);
    buffer_append(&right, parts[0].data, parts[0].length_bytes);
    job_merges[merge](&right, inner.data, inner.length_bytes);
    equal = left.length_bytes == right.length_bytes &&
            memcmp(left.data, right.data, left.length_bytes) == 0;
    buffer_fini(&left);
    buffer_fini(&inner);
    buffer_fini(&right);
    return equal;
}

static void test_associative(enum job_merge merge, const char *name)
{
    struct random_state random;
    int all = 1;

    random_init(&random, 1);
    for (uint32_t round = 0; round < 1000; round++) {
        struct buffer parts[PARTS] = {0};

        for (uint32_t i = 0; i < PARTS; i++)
            random_part(&random, merge, 10 * i + (uint32_t)random_below(&random, 30), &parts[i]);
        all &= is_associative(merge, parts);
        for (uint32_t i = 0; i < PARTS; i++)
            buffer_fini(&parts[i]);
    }
    ok(all, "the merge of %s is associative", name);
}

static void add_profile(struct job_ended *ended, struct buffer *bytes, uint32_t place)
{
    static struct profile profile;

    profile = (struct profile){0};
    profile_add(&profile, PROFILE_RUN, place, 100ull * place);
    profile_encode(&profile, bytes);
    ended->profile = (struct wire_bytes){.data = bytes->data, .length_bytes = bytes->length_bytes};
}

static void test_merged_values(void)
{
    struct job_ended one = {.processes = 2, .status = 3, .output_bytes = 10};
    struct job_ended two = {.processes = 4, .status = 1, .output_bytes = 5};
    struct job_ended sum = {0};
    struct buffer merged = {0}, other = {0}, profiles[2] = {{0}};
    static struct profile profile;
    struct wire_reader reader;

    one.failure = (struct job_failure){.kind = JOB_FAILURE_EXIT, .rank = 1, .code = 3, .number = 1};
    two.failure = (struct job_failure){.kind = JOB_FAILURE_EXIT, .rank = 0, .code = 1, .number = 1};
    job_ended_encode(&one, &merged);
    job_ended_encode(&two, &other);
    job_ended_merge(&merged, other.data, other.length_bytes);
    is_int(job_ended_decode(&sum, merged.data, merged.length_bytes), 0, "two ENDED are merged");
    is_uint(sum.processes, 6, "processes are added");
    is_uint(sum.output_bytes, 15, "so is their output");
    is_uint(sum.status, 3, "the highest status stays");
    is_uint(sum.failure.rank, 0, "and the failure of the lowest rank");
    is_uint(sum.profile.length_bytes, 0, "without profiles there is none");
    add_profile(&one, &profiles[0], 1);
    buffer_clear(&other);
    job_ended_encode(&one, &other);
    job_ended_merge(&merged, other.data, other.length_bytes);
    add_profile(&two, &profiles[1], 2);
    buffer_clear(&other);
    job_ended_encode(&two, &other);
    job_ended_merge(&merged, other.data, other.length_bytes);
    is_int(job_ended_decode(&sum, merged.data, merged.length_bytes), 0, "two have profiles");
    wire_reader_init(&reader, sum.profile.data, sum.profile.length_bytes);
    is_int(profile_decode(&profile, &reader), 0, "which are one");
    is_uint(profile.phases[PROFILE_RUN].nodes, 2, "of both");
    is_uint(profile.phases[PROFILE_RUN].slowest[0].place, 2, "the slower one first");
    buffer_fini(&profiles[0]);
    buffer_fini(&profiles[1]);
    buffer_fini(&merged);
    buffer_fini(&other);
}

/* What the lowest rank has to say gives way to what explains it. */
static void test_weights(void)
{
    struct job_failure start = {.kind = JOB_FAILURE_START, .rank = 30};
    struct job_failure abort = {.kind = JOB_FAILURE_ABORT, .rank = 20};
    struct job_failure killed = {.kind = JOB_FAILURE_SIGNAL, .rank = 10};
    struct job_failure left = {.kind = JOB_FAILURE_ABNORMAL, .rank = 5};
    struct job_failure sum = {0};

    job_failure_merge(&sum, &killed);
    is_uint(sum.rank, 10, "any failure is more than none");
    job_failure_merge(&sum, &left);
    is_uint(sum.rank, 5, "of two the lower rank's");
    job_failure_merge(&sum, &abort);
    is_uint(sum.rank, 20, "an abort is more than an exit");
    job_failure_merge(&sum, &start);
    is_uint(sum.rank, 30, "a process that could not be started is more than an abort");
    job_failure_merge(&sum, &left);
    is_uint(sum.rank, 30, "and stays");
}

static void test_abort(void)
{
    struct job_abort_request request = {.number = 7, .status = -5}, back = {.number = 99};
    struct buffer bytes = {0};
    struct wire_reader reader;
    int refused = 1;

    ranges_add(&request.ranks, 2, 900);
    job_abort_request_encode(&request, &bytes);
    for (size_t cut = 0; cut < bytes.length_bytes - 1; cut++) {
        wire_reader_init(&reader, bytes.data + 1, cut);
        refused &= job_abort_request_decode(&back, &reader) == -EBADMSG;
    }
    ok(refused && back.number == 99, "ABORT cut anywhere is refused");
    wire_reader_init(&reader, bytes.data + 1, bytes.length_bytes - 1);
    is_int(job_abort_request_decode(&back, &reader), 0, "ABORT comes back");
    ok(back.number == 7 && back.status == -5 && ranges_equal(&back.ranks, &request.ranks),
       "as it was");
    ranges_fini(&back.ranks);
    ranges_fini(&request.ranks);
    buffer_fini(&bytes);
}

static void test_notice(void)
{
    struct job_target targets[] = {{7, 3}, {9, JOB_RANK_ALL}};
    struct job_notice message = {.number = 7,
                                 .told = 4,
                                 .child = 3,
                                 .stop = 2,
                                 .status = 143,
                                 .targets = targets,
                                 .targets_count = 2,
                                 .data = "news",
                                 .data_bytes = 4};
    struct job_notice back = {.told = 99};
    struct buffer bytes = {0};
    struct message *payload;
    int refused = 1;

    job_notice_encode(&message, &bytes);
    for (size_t cut = 0; cut < bytes.length_bytes - message.data_bytes; cut++) {
        payload = message_create(bytes.data, cut);
        refused &= job_notice_decode(&back, payload) == -EBADMSG;
        message_release(payload);
    }
    ok(refused && back.told == 99, "NOTICE cut before its data is refused");
    payload = message_from_buffer(&bytes);
    is_int(job_notice_decode(&back, payload), 0, "NOTICE comes back");
    ok(back.number == 7 && back.told == 4 && back.child == 3 && back.stop == 2 &&
           back.status == 143 && back.targets_count == 2 &&
           memcmp(back.targets, targets, sizeof targets) == 0 && back.data_bytes == 4 &&
           memcmp(back.data, "news", 4) == 0,
       "as it was");
    job_notice_fini(&back);
    message_release(payload);
    buffer_fini(&bytes);
}

int main(void)
{
    test_failure();
    test_restarted();
    test_launched();
    test_ended();
    test_end();
    test_text();
    test_stalled();
    test_control();
    test_signal();
    test_roll();
    test_abort();
    test_notice();
    test_associative(JOB_MERGE_LAUNCHED, "LAUNCHED");
    test_associative(JOB_MERGE_ENDED, "ENDED");
    test_merged_values();
    test_weights();
    return done_testing();
}
