/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core, one event at a time: what it answers to whom, what a wrong frame costs the peer, when
 * leases end, what an idle place weighs.
 */
#include "config.h"

#include "overlay/overlay.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "overlay/limits.h"
#include "test/support/core_bench.h"
#include "test/support/tap.h"

/* ---- joining ---- */

static void test_root(void)
{
    struct bench bench;
    struct frame frame;

    bench_open(&bench, 0, 1);
    ok(bench_find(&bench, OVERLAY_ACTION_COMPLETE) != NULL, "a root alone is complete at once");
    bench_close(&bench);
    bench_open(&bench, 0, 3);
    ok(bench_find(&bench, OVERLAY_ACTION_COMPLETE) == NULL, "a root of three is not");
    bench_adopt(&bench, 1, 1, 1, 3);
    ok(bench_sent(&bench, 1, OVERLAY_WELCOME) != NULL, "who belongs below is welcomed");
    bench_adopt(&bench, 2, 2, 2, 3);
    ok(bench_find(&bench, OVERLAY_ACTION_COMPLETE) != NULL, "and with the last one it is complete");
    bench_hear(&bench, 1);
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 1});
    ok(bench_sent(&bench, 2, OVERLAY_ENTRY) == NULL, "others may be lost with it: the root waits");
    bench_log_deaths(&bench);
    ok(bench_sent(&bench, 2, OVERLAY_ENTRY) != NULL, "a lost child is a death in the log");
    ok(bench_find(&bench, OVERLAY_ACTION_DEAD) != NULL, "that the root hears of too");
    bench_step_up(&bench, 1);
    bench_make_join(1, 1, 1, 3, &frame);
    bench_step_frame(&bench, 1, &frame);
    ok(bench_sent(&bench, 1, OVERLAY_REFUSE) != NULL, "who counts as dead is refused");
    bench_close(&bench);
}

static void test_mismatch(void)
{
    struct overlay_refuse refuse;
    struct bench bench;
    struct frame frame;

    bench_open(&bench, 0, 3);
    bench_step_up(&bench, 1);
    bench_make_join(1, 1, 1, 4, &frame);
    bench_step_frame(&bench, 1, &frame);
    if (ok(bench_sent(&bench, 1, OVERLAY_REFUSE) != NULL, "another size of tree is refused")) {
        overlay_decode_refuse(bench_sent(&bench, 1, OVERLAY_REFUSE), &refuse);
        is_uint(refuse.refusal, OVERLAY_REFUSAL_MISMATCH, "with the reason");
    }
    bench_close(&bench);
}

static void test_pending(void)
{
    struct bench bench;

    bench_open(&bench, 1, 7);
    ok(bench_find(&bench, OVERLAY_ACTION_CONNECT) != NULL, "a place connects to its parent");
    bench_adopt(&bench, 2, 2, 2, 7);
    ok(bench_sent(&bench, 2, OVERLAY_WELCOME) == NULL, "who is not joined answers nobody");
    bench_welcome(&bench, 0, 1, 3, 0, 0);
    ok(bench_find(&bench, OVERLAY_ACTION_JOINED) != NULL, "welcomed, it is joined");
    ok(bench_sent(&bench, 2, OVERLAY_WELCOME) != NULL, "and answers who has waited");
    bench_close(&bench);
}

static void test_first_join_in_vain(void)
{
    struct bench bench;
    uint32_t tries = 0;

    bench_open(&bench, 3, 7);
    while (bench_find(&bench, OVERLAY_ACTION_ENDED) == NULL && bench.now_ns < 60000 * MS) {
        const struct overlay_action *connect = bench_find(&bench, OVERLAY_ACTION_CONNECT);

        bench.now_ns += MS;
        if (connect != NULL) {
            tries++;
            bench_step(&bench,
                       (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = connect->place});
        } else {
            bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
        }
    }
    ok(bench.now_ns >= 17000 * MS && bench.now_ns < 18000 * MS,
       "the first join gives up after 16 s (%.1f)", (double)bench.now_ns / 1e9 - 1);
    ok(tries > 20 && tries < 200, "after %u tries", tries);
    bench_close(&bench);
}

/* ---- leases ---- */

static void test_lease(void)
{
    struct overlay_lease wave = {.round = 2};
    struct bench bench;
    struct frame frame;
    uint64_t asked_ns;

    bench_open(&bench, 1, 3);
    asked_ns = bench.now_ns;
    bench_welcome(&bench, 0, 1, 1, 300 * MS, 100 * MS);
    is_uint(overlay_lease_end_ns(bench.overlay), asked_ns + (300 - 100 + 8000) * MS,
            "a lease counts from when the wave can have been sent at the earliest");
    bench.now_ns += 50 * MS;
    wave.echo_stamp_ns = asked_ns;
    wave.echo_hold_ns = 340 * MS;
    wave.age_ns = 10 * MS;
    overlay_encode_lease(&wave, &frame);
    bench_step_frame(&bench, 0, &frame);
    is_uint(overlay_lease_end_ns(bench.overlay), asked_ns + (340 - 10 + 8000) * MS,
            "a new wave renews it");
    ok(bench_sent(&bench, 0, OVERLAY_LEASE_ECHO) != NULL, "and is echoed");
    bench.now_ns = overlay_lease_end_ns(bench.overlay) - 1;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 2});
    ok(bench_find(&bench, OVERLAY_ACTION_ENDED) == NULL, "a nanosecond before its end it lives");
    bench.now_ns++;
    bench_step_up(&bench, 2);
    if (ok(bench_find(&bench, OVERLAY_ACTION_ENDED) != NULL, "at its end it does nothing but end"))
        is_int(bench_find(&bench, OVERLAY_ACTION_ENDED)->end, ENDPOINT_END_LEASE,
               "with the reason");
    bench_close(&bench);
}

static void test_silent_parent(void)
{
    struct bench bench;

    bench_open(&bench, 3, 7);
    bench_welcome(&bench, 1, 3, 3, 0, 0);
    bench.now_ns += 5000 * MS - 1;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    ok(!bench_closed(&bench, 1), "a parent may be silent for five eighths of a lease");
    bench.now_ns++;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    ok(bench_closed(&bench, 1), "not longer");
    if (ok(bench_find(&bench, OVERLAY_ACTION_CONNECT) != NULL, "then another is asked"))
        is_uint(bench_find(&bench, OVERLAY_ACTION_CONNECT)->place, 0, "the next ancestor");
    bench_close(&bench);
}

static void test_silent_child(void)
{
    struct bench bench;

    bench_open(&bench, 0, 3);
    bench_adopt(&bench, 1, 1, 1, 3);
    for (uint32_t i = 0; i < 8; i++) {
        bench.now_ns += 500 * MS - (i == 7);
        bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
        if (i == 1)
            ok(bench_sent(&bench, 1, OVERLAY_LEASE) != NULL, "a heartbeat a second");
    }
    ok(!bench_closed(&bench, 1), "a child may be silent for half a lease");
    bench.now_ns++;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    ok(bench_closed(&bench, 1), "then it is dropped");
    if (ok(bench_find(&bench, OVERLAY_ACTION_SEEN) != NULL, "and what was seen of it is told")) {
        is_uint(bench_find(&bench, OVERLAY_ACTION_SEEN)->id, ENDPOINT_LOSS_SILENT,
                "that it was silent");
        is_uint(bench_find(&bench, OVERLAY_ACTION_SEEN)->deadline_ns, 4000 * MS,
                "and for how long");
    }
    bench_log_deaths(&bench);
    ok(bench_find(&bench, OVERLAY_ACTION_DEAD) != NULL, "then it is lost");
    bench_close(&bench);
}

static void test_silence_is_told(void)
{
    struct bench bench;
    struct frame frame;

    bench_open(&bench, 0, 3);
    bench_adopt(&bench, 1, 1, 1, 3);
    bench.now_ns += 1000 * MS;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    bench.now_ns += 1000 * MS;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    if (ok(bench_find(&bench, OVERLAY_ACTION_SILENT) != NULL, "whose silence lasts is told"))
        is_uint(bench_find(&bench, OVERLAY_ACTION_SILENT)->deadline_ns, 2000 * MS,
                "with its length");
    bench.now_ns += 1000 * MS;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    ok(bench_find(&bench, OVERLAY_ACTION_SILENT) == NULL, "once");
    overlay_encode_lease_echo(&(struct overlay_lease_echo){.stamp_ns = 6 * MS}, &frame);
    bench_step_frame(&bench, 1, &frame);
    ok(bench_find(&bench, OVERLAY_ACTION_SILENT) != NULL &&
           bench_find(&bench, OVERLAY_ACTION_SILENT)->deadline_ns == 0,
       "and so is that it is heard again");
    bench_close(&bench);
}

/* Nobody can answer a place that is stopped itself: it is not they who were silent. */
static void test_stalled_itself(void)
{
    struct bench bench;

    bench_open(&bench, 0, 3);
    bench_adopt(&bench, 1, 1, 1, 3);
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    bench.now_ns += 100000 * MS;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    ok(!bench_closed(&bench, 1), "a root that was stopped blames no child for its own silence");
    for (uint32_t i = 0; i < 200 && !bench_closed(&bench, 1); i++) {
        bench.now_ns += 500 * MS;
        bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    }
    ok(bench_closed(&bench, 1), "but who stays silent when it goes on is lost");
    bench_close(&bench);
    bench_open(&bench, 3, 7);
    bench_welcome(&bench, 1, 3, 3, 0, 0);
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    bench.now_ns = overlay_lease_end_ns(bench.overlay) - 500 * MS;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    ok(!bench_closed(&bench, 1), "nor does a child that was stopped blame its parent");
    bench_close(&bench);
}

/* A stamp of the future would stretch a lease for ever. */
static void test_lying_parent(void)
{
    struct overlay_lease wave = {.round = 2};
    struct bench bench;
    struct frame frame;

    bench_open(&bench, 1, 3);
    bench_welcome(&bench, 0, 1, 1, 0, 0);
    wave.echo_stamp_ns = bench.now_ns + 1;
    overlay_encode_lease(&wave, &frame);
    bench_step_frame(&bench, 0, &frame);
    ok(bench_closed(&bench, 0), "a parent that echoes the future is left");
    bench_close(&bench);
}

/* A parent that was stopped for long may send what it has had in hand all the time. */
static void test_stale_welcome(void)
{
    struct bench bench;

    bench_open(&bench, 3, 7);
    bench.now_ns += 9000 * MS;
    bench_welcome(&bench, 1, 3, 3, 0, 8000 * MS);
    ok(bench_find(&bench, OVERLAY_ACTION_JOINED) == NULL && bench_closed(&bench, 1),
       "a welcome whose lease is over is none");
    ok(bench_find(&bench, OVERLAY_ACTION_ENDED) == NULL, "and costs only who sent it");
    bench_close(&bench);
}

/* 2 inherits from 1.  A second daemon of it knows nothing of what the first one was. */
static void test_second_daemon(void)
{
    struct overlay_join join = {
        .version = OVERLAY_VERSION, .places = 7, .radix = 2, .scope = {2, 2}, .fresh = 1};
    struct range items[] = {{1, 3}};
    struct ranges arrived = {.items = items, .count = 1};
    struct bench bench;
    struct frame frame;

    for (int i = 0; i < 2; i++) {
        bench_open(&bench, 0, 7);
        bench_adopt(&bench, 1, 1, 3, 7);
        overlay_encode_arrived(&arrived, &frame);
        bench_step_frame(&bench, 1, &frame);
        bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 1});
        bench_log_deaths(&bench);
        bench_step_up(&bench, 2);
        join.fresh = i == 0;
        overlay_encode_join(&join, &frame);
        bench_step_frame(&bench, 2, &frame);
        if (i == 0)
            ok(bench_sent(&bench, 2, OVERLAY_REFUSE) != NULL,
               "a second daemon of a place is refused");
        else
            ok(bench_sent(&bench, 2, OVERLAY_WELCOME) != NULL, "the first one inherits");
        bench_close(&bench);
    }
}

/* ---- wrong frames ---- */

static void test_wrong_role(void)
{
    struct frame frame = {.type = OVERLAY_RELEASE, .payload = message_create("x", 1)};
    struct bench bench;

    bench_open(&bench, 0, 3);
    bench_adopt(&bench, 1, 1, 1, 3);
    bench_hear(&bench, 1);
    bench_step_frame(&bench, 1, &frame);
    ok(bench_closed(&bench, 1), "a child that speaks like a parent is dropped");
    bench_log_deaths(&bench);
    ok(bench_find(&bench, OVERLAY_ACTION_DEAD) != NULL, "and counts as dead");
    frame = (struct frame){.type = 200};
    bench_adopt(&bench, 2, 2, 2, 3);
    bench_step_frame(&bench, 2, &frame);
    ok(bench_closed(&bench, 2), "and so is one with a type that is none");
    bench_close(&bench);
}

/* Any type with random bytes, or with another message's, from each kind of peer. */
static void fuzz_one(struct random_state *random)
{
    struct bench bench;
    uint32_t from = (uint32_t)random_below(random, 4);

    bench_open(&bench, 1, 7);
    bench_welcome(&bench, 0, 1, 3, 0, 0);
    bench_adopt(&bench, 2, 2, 2, 7);
    bench_step_up(&bench, 3);
    for (int i = 0; i < 20 && !overlay_is_ended(bench.overlay); i++) {
        unsigned char bytes[40];
        struct frame frame = {
            .type = (uint8_t)(OVERLAY_JOIN + random_below(random, OVERLAY_MESSAGE_END)),
            .class = (uint8_t)random_below(random, FRAME_CLASS_COUNT),
            .attempt = (uint32_t)random_below(random, 3)};

        for (size_t j = 0; j < sizeof(bytes); j++)
            bytes[j] = (unsigned char)random_below(random, random_below(random, 2) ? 256 : 4);
        frame.payload = message_create(bytes, random_below(random, sizeof(bytes)));
        bench_step_frame(&bench, from, &frame);
        bench.now_ns += MS;
    }
    bench_close(&bench);
}

static void test_fuzz(void)
{
    struct random_state random;

    random_init(&random, 1);
    for (int i = 0; i < 20000; i++)
        fuzz_one(&random);
    pass("20,000 peers that send nonsense");
}

/* ---- operations ---- */

static void make_contribute(uint64_t set_id, uint32_t low, const struct ranges *set,
                            struct frame *ret_frame)
{
    struct overlay_contribute contribute = {
        .key = {.set_id = set_id, .generation = 1, .owner = (uint32_t)set_id},
        .set = *set,
        .state = OVERLAY_PART_COLLECTED,
        .low = low,
        .payload = {(const unsigned char *)"x", 1}};

    overlay_encode_contribute(&contribute, 0, ret_frame);
}

static void test_forget(void)
{
    struct range items[] = {{1, 2}};
    struct ranges set = {.items = items, .count = 1};
    struct bench bench;
    struct frame frame;

    bench_open_root_of_three(&bench);
    make_contribute(77, 1, &set, &frame);
    bench_step_frame(&bench, 1, &frame);
    is_uint(overlay_kept_operations(bench.overlay), 1, "an operation is open");
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_FORGET, .id = 77, .set = &set});
    is_uint(overlay_kept_operations(bench.overlay), 0, "forgotten, it is gone");
    make_contribute(77, 1, &set, &frame);
    bench_step_frame(&bench, 2, &frame);
    is_uint(overlay_kept_operations(bench.overlay), 0, "what comes late is dropped");
    ok(!bench_closed(&bench, 2), "and who sent it is not to blame");
    bench_close(&bench);
}

/* Members that say they have got further than they can have must not cost others their result. */
static void test_lying_low(void)
{
    struct range items[] = {{0, 2}};
    struct ranges set = {.items = items, .count = 1};
    struct overlay_event call = {.kind = OVERLAY_EVENT_CONTRIBUTE,
                                 .key = {.set_id = 5, .generation = 1, .owner = 5},
                                 .set = &set};
    struct bench bench;
    struct frame frame;

    bench_open_root_of_three(&bench);
    make_contribute(5, 4000000000, &set, &frame);
    bench_step_frame(&bench, 1, &frame);
    make_contribute(5, 4000000000, &set, &frame);
    bench_step_frame(&bench, 2, &frame);
    bench_step(&bench, call);
    ok(bench_find(&bench, OVERLAY_ACTION_RESULT) != NULL &&
           bench_sent(&bench, 1, OVERLAY_RELEASE) != NULL,
       "a result comes whatever the others say of their past");
    bench_close(&bench);
}

/* Without a death or a cancel nobody can be absent: it must not be counted as if it had called. */
static void test_lying_absent(void)
{
    struct range items[] = {{1, 2}};
    struct ranges set = {.items = items, .count = 1};
    struct overlay_contribute contribute = {
        .key = {.set_id = 6, .generation = 1}, .set = set, .state = OVERLAY_PART_ABSENT, .low = 1};
    struct overlay_roll_call cancel = {.key = contribute.key, .set = set};
    struct bench bench;
    struct frame frame;

    bench_open_root_of_three(&bench);
    overlay_encode_contribute(&contribute, 0, &frame);
    bench_step_frame(&bench, 1, &frame);
    ok(bench_closed(&bench, 1), "who is absent though nothing is the matter is dropped");
    bench_close(&bench);
    bench_open_root_of_three(&bench);
    overlay_encode_named(OVERLAY_CANCEL, &cancel, &frame);
    bench_step_frame(&bench, 2, &frame);
    overlay_encode_contribute(&contribute, 0, &frame);
    bench_step_frame(&bench, 1, &frame);
    ok(!bench_closed(&bench, 1) && !bench_closed(&bench, 2),
       "not so when somebody waits no longer");
    bench_close(&bench);
}

/* Two times 600 MiB, of which the meeting point hears the sizes, is more than a stream holds. */
static void test_too_large(void)
{
    struct buffer size = {0};
    struct range items[] = {{1, 2}};
    struct ranges set = {.items = items, .count = 1};
    struct bench bench;

    bench_open(&bench, 0, 3);
    wire_put_varint(&size, 600 * 1024 * 1024);
    for (uint32_t place = 1; place <= 2; place++) {
        struct overlay_contribute contribute = {.key = {.set_id = 8, .generation = 1},
                                                .set = set,
                                                .state = OVERLAY_PART_SIZED,
                                                .low = 1,
                                                .payload = {size.data, size.length_bytes}};
        struct frame frame;

        bench_adopt(&bench, place, place, place, 3);
        overlay_encode_contribute(&contribute, 0, &frame);
        bench_step_frame(&bench, place, &frame);
    }
    if (ok(bench_sent(&bench, 1, OVERLAY_RELEASE) != NULL, "what is too large together ends")) {
        struct overlay_release release;

        overlay_decode_release(bench_sent(&bench, 1, OVERLAY_RELEASE), &release);
        is_int(overlay_status_errno(release.status), -EMSGSIZE, "with the reason");
        overlay_release_fini(&release);
    }
    bench_close(&bench);
    buffer_fini(&size);
}

/* A long set need be told once. */
static void test_known_set(void)
{
    struct range items[] = {{1, 2}};
    struct ranges set = {.items = items, .count = 1};
    struct ranges none = {0};
    struct bench bench;
    struct frame frame;

    bench_open_root_of_three(&bench);
    make_contribute(6, 1, &none, &frame);
    bench_step_frame(&bench, 1, &frame);
    ok(bench_find(&bench, OVERLAY_ACTION_CLOSE) == NULL, "a set that is not known is waited for");
    make_contribute(6, 1, &set, &frame);
    bench_step_frame(&bench, 1, &frame);
    make_contribute(6, 1, &none, &frame);
    bench_step_frame(&bench, 2, &frame);
    ok(bench_sent(&bench, 1, OVERLAY_RELEASE) != NULL &&
           bench_sent(&bench, 2, OVERLAY_RELEASE) != NULL,
       "one that is known need not be told again");
    bench_close(&bench);
}

static void test_other_set(void)
{
    struct range items[] = {{1, 2}};
    struct range others[] = {{0, 2}};
    struct ranges set = {.items = items, .count = 1};
    struct ranges other = {.items = others, .count = 1};
    struct bench bench;
    struct frame frame;

    bench_open_root_of_three(&bench);
    make_contribute(77, 1, &set, &frame);
    bench_step_frame(&bench, 1, &frame);
    make_contribute(77, 1, &other, &frame);
    bench_step_frame(&bench, 2, &frame);
    ok(bench_closed(&bench, 2), "two sets of one name cannot be");
    bench_close(&bench);
}

/* A starter may say that a child has exited before its link ends: while all leave, it has left. */
static void test_leaving_child_exits(void)
{
    struct overlay_event failed = {.kind = OVERLAY_EVENT_FAILED, .place = 1};
    struct bench bench;

    bench_open(&bench, 0, 7);
    bench_adopt(&bench, 1, 1, 3, 7);
    bench_adopt(&bench, 4, 4, 6, 7);
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_LEAVE});
    bench_step(&bench, failed);
    ok(bench_find(&bench, OVERLAY_ACTION_DEAD) == NULL,
       "a child that exits while leaving is no death");
    ok(bench_closed(&bench, 1), "its link is closed");
    bench_step(&bench, failed);
    ok(bench_find(&bench, OVERLAY_ACTION_DEAD) == NULL, "nor is one whose link has ended");
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 4});
    ok(bench_find(&bench, OVERLAY_ACTION_ENDED) != NULL, "and it is not waited for");
    bench_close(&bench);
    bench_open(&bench, 0, 7);
    bench_adopt(&bench, 1, 1, 3, 7);
    bench_step(&bench, failed);
    bench_log_deaths(&bench);
    ok(bench_find(&bench, OVERLAY_ACTION_DEAD) != NULL, "at other times it is a death");
    bench_close(&bench);
}

/* ---- limits ---- */

static void test_limit_of_guests(void)
{
    struct bench bench;

    bench_open(&bench, 1, 10000); /* nobody is answered before it has joined */
    for (uint32_t place = 2; place < 2 + OVERLAY_GUESTS_MAX; place++)
        bench_step_up(&bench, place);
    ok(!bench_closed(&bench, 1 + OVERLAY_GUESTS_MAX), "as many links as may wait do");
    bench_step_up(&bench, 2 + OVERLAY_GUESTS_MAX);
    ok(bench_closed(&bench, 2 + OVERLAY_GUESTS_MAX), "one more is closed");
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 7});
    bench_step_up(&bench, 7);
    ok(!bench_closed(&bench, 7), "until another has gone");
    bench_close(&bench);
}

static void test_limit_of_broadcasts(void)
{
    struct overlay_event broadcast = {.kind = OVERLAY_EVENT_BROADCAST};
    struct bench bench;
    struct frame frame;

    bench_open(&bench, 0, 2);
    bench_adopt(&bench, 1, 1, 1, 2);
    for (uint32_t i = 0; i < OVERLAY_ENTRIES_MAX; i++)
        bench_step(&bench, broadcast);
    is_int(overlay_may_broadcast(bench.overlay), -EAGAIN, "the root must wait for its children");
    overlay_encode_ack(1, &frame);
    bench_step_frame(&bench, 1, &frame);
    is_int(overlay_may_broadcast(bench.overlay), 0, "an acknowledgement makes room");
    bench_close(&bench);
}

static void test_limit_of_calls(void)
{
    struct overlay_event call = {.kind = OVERLAY_EVENT_CONTRIBUTE, .key = {.set_id = 5}};
    struct bench bench;
    struct ranges set = {0};

    ranges_add(&set, 0, 1);
    call.set = &set;
    bench_open(&bench, 0, 2);
    for (uint32_t i = 1; i <= OVERLAY_CALLS_MAX; i++) {
        call.key.generation = i;
        bench_step(&bench, call);
    }
    ok(bench_find(&bench, OVERLAY_ACTION_RESULT) == NULL, "as many calls as may wait do");
    call.key.generation++;
    bench_step(&bench, call);
    is_int(bench_find(&bench, OVERLAY_ACTION_RESULT)->status, -EAGAIN, "one more fails at once");
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_FORGET, .set = &set});
    call.key.owner = 1;
    bench_step(&bench, call);
    ok(bench_find(&bench, OVERLAY_ACTION_RESULT) == NULL, "what is forgotten makes room");
    ranges_fini(&set);
    bench_close(&bench);
}

static void test_call_of_other_set(void)
{
    struct overlay_event call = {.kind = OVERLAY_EVENT_CONTRIBUTE,
                                 .key = {.set_id = 5, .generation = 1}};
    struct bench bench;
    struct ranges set = {0}, other = {0};

    ranges_add(&set, 0, 1);
    ranges_add(&other, 0, 0);
    bench_open(&bench, 0, 2);
    call.set = &set;
    bench_step(&bench, call);
    call.set = &other;
    call.key.generation = 2;
    bench_step(&bench, call);
    is_int(bench_find(&bench, OVERLAY_ACTION_RESULT)->status, -EEXIST,
           "a name that stands for another set already is refused");
    is_uint(bench_find(&bench, OVERLAY_ACTION_RESULT)->key.generation, 2, "that call only");
    ranges_fini(&other);
    ranges_fini(&set);
    bench_close(&bench);
}

static void test_limit_of_requests(void)
{
    struct overlay_event request = {.kind = OVERLAY_EVENT_REQUEST, .place = 1};
    struct overlay_data data = {.source = 0, .destination = 5, .id = 9};
    const struct frame *answer;
    struct bench bench;
    struct frame frame;

    bench_open(&bench, 0, 7); /* 1 has not joined: what is for it waits */
    for (request.id = 1; request.id <= OVERLAY_HELD_MAX; request.id++)
        bench_step(&bench, request);
    ok(bench_find(&bench, OVERLAY_ACTION_REPLY) == NULL, "as many frames as may wait do");
    bench_step(&bench, request);
    is_int(bench_find(&bench, OVERLAY_ACTION_REPLY)->status, -EAGAIN,
           "one more request is refused");
    bench_adopt(&bench, 4, 4, 6, 7);
    data = (struct overlay_data){.source = 4, .destination = 2, .id = 9};
    overlay_encode_data(OVERLAY_REQUEST, FRAME_COLLECTIVE, &data, &frame);
    bench_step_frame(&bench, 4, &frame);
    answer = bench_sent(&bench, 4, OVERLAY_REPLY);
    if (ok(answer != NULL && overlay_decode_data(answer, &data) == 0, "also of somebody else"))
        ok(data.status == OVERLAY_STATUS_BUSY && data.id == 9 && data.source == 2,
           "who hears that it is busy");
    data = (struct overlay_data){.source = 4, .destination = 2};
    overlay_encode_data(OVERLAY_DATA, FRAME_BULK, &data, &frame);
    bench_step_frame(&bench, 4, &frame);
    ok(bench.actions.count == 0, "data is dropped, as with a relay that dies");
    bench_close(&bench);
}

/* ---- weight ---- */

static void test_weight(void)
{
    enum { CORES = 1000 };
    static struct bench benches[CORES];
    size_t before;
    size_t bytes;

    before = mallinfo2().uordblks;
    for (uint32_t i = 0; i < CORES; i++) {
        /* The last place is a leaf at the full depth. */
        bench_open(&benches[i], 4095, 4096);
        bench_welcome(&benches[i], 4094, 4095, 4095, 0, 0);
        overlay_actions_fini(&benches[i].actions);
    }
    bytes = (mallinfo2().uordblks - before) / CORES;
    ok(bytes < 1024, "an idle leaf among 4,096 places of radix 2 weighs %zu bytes", bytes);
    for (uint32_t i = 0; i < CORES; i++)
        bench_close(&benches[i]);
}

/* The parent and with it the link is lost; every further attempt ends so: for how many ms does the
 * orphan look for another? */
static uint64_t orphan_seeks_ms(enum endpoint_loss loss)
{
    struct bench bench;
    uint64_t begin_ns;

    bench_open(&bench, 2, 7); /* below 1, which is below the root */
    bench_welcome(&bench, 1, 2, 2, 0, 0);
    begin_ns = bench.now_ns;
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 1, .loss = ENDPOINT_LOSS_CLOSED});
    while (bench_find(&bench, OVERLAY_ACTION_ENDED) == NULL &&
           bench.now_ns < begin_ns + 9000 * MS) {
        const struct overlay_action *connect = bench_find(&bench, OVERLAY_ACTION_CONNECT);

        bench.now_ns += MS;
        if (connect != NULL)
            bench_step(&bench, (struct overlay_event){
                                   .kind = OVERLAY_EVENT_DOWN,
                                   .place = connect->place,
                                   .loss = connect->place == 0 ? loss : ENDPOINT_LOSS_REFUSED});
        else
            bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    }
    bench_close(&bench);
    return (bench.now_ns - begin_ns) / MS;
}

static void test_orphan_in_vain(void)
{
    uint64_t refused_ms = orphan_seeks_ms(ENDPOINT_LOSS_REFUSED);
    uint64_t closed_ms = orphan_seeks_ms(ENDPOINT_LOSS_CLOSED);
    uint64_t unreachable_ms = orphan_seeks_ms(ENDPOINT_LOSS_UNREACHABLE);

    ok(refused_ms >= 500 && refused_ms < 1100,
       "an orphan to whom all ancestors refuse ends after half a second (%llu ms)",
       (unsigned long long)refused_ms);
    ok(closed_ms >= 4000, "if the root only closes it may live: it has its time (%llu ms)",
       (unsigned long long)closed_ms);
    ok(unreachable_ms >= 4000, "so if its machine does not answer (%llu ms)",
       (unsigned long long)unreachable_ms);
}

/* An orphan asks one who takes the connection and says nothing: it may be stopped. */
static void test_orphan_waits(void)
{
    struct bench bench;
    uint64_t begin_ns;

    bench_open(&bench, 2, 7);
    bench_welcome(&bench, 1, 2, 2, 0, 0);
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 1, .loss = ENDPOINT_LOSS_CLOSED});
    begin_ns = bench.now_ns;
    bench_step_up(&bench, 0);
    ok(bench_sent(&bench, 0, OVERLAY_JOIN) != NULL, "an orphan asks the root");
    while (bench_find(&bench, OVERLAY_ACTION_ENDED) == NULL && !bench_closed(&bench, 0) &&
           bench.now_ns < begin_ns + 9000 * MS) {
        bench.now_ns += 10 * MS;
        bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    }
    ok(bench_closed(&bench, 0) && bench.now_ns >= begin_ns + 5000 * MS,
       "it leaves who is silent after 5/8 of a lease (%llu ms)",
       (unsigned long long)((bench.now_ns - begin_ns) / MS));
    ok(bench_find(&bench, OVERLAY_ACTION_ENDED) == NULL, "and looks on while its lease lasts");
    bench_close(&bench);
}

int main(void)
{
    test_root();
    test_mismatch();
    test_pending();
    test_first_join_in_vain();
    test_orphan_in_vain();
    test_orphan_waits();
    test_lease();
    test_silent_parent();
    test_silent_child();
    test_silence_is_told();
    test_stalled_itself();
    test_lying_parent();
    test_stale_welcome();
    test_wrong_role();
    test_fuzz();
    test_forget();
    test_lying_low();
    test_second_daemon();
    test_lying_absent();
    test_too_large();
    test_known_set();
    test_other_set();
    test_leaving_child_exits();
    test_limit_of_guests();
    test_limit_of_broadcasts();
    test_limit_of_calls();
    test_call_of_other_set();
    test_limit_of_requests();
    test_weight();
    return done_testing();
}
