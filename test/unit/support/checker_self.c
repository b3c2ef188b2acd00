/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker of the overlay (test/support/overlay_checker.h) against traces in which one rule is broken
 * each: what it says then, and that it says nothing of the same traces unbroken.  Four places of
 * radix 2 are the tree 0 (1 (2) 3).
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "overlay/overlay_wire.h"
#include "test/support/laterals.h"
#include "test/support/overlay_checker.h"
#include "test/support/tap.h"

#define PLACES   4
#define LEASE_NS 1000
#define BOUND_NS 500

static const struct operation_name key = {.set_id = 7, .generation = 1};
static const struct operation_name gather_key = {.set_id = 7,
                                                 .generation = 1,
                                                 .target = ENDPOINT_TARGET_ROOT};

static struct checker_view views[PLACES + 1]; /* and a place that comes */

/* ---- the parts of traces ---- */

static void begin(struct checker *checker)
{
    static const uint32_t parents[PLACES] = {UINT32_MAX, 0, 1, 0};

    checker_init(checker, PLACES, 2, LEASE_NS);
    for (uint32_t place = 0; place < PLACES; place++) {
        checker_started(checker, place, 1);
        if (place > 0)
            checker_told_joined(checker, place);
        views[place] = (struct checker_view){.parent = parents[place], .degree = 1};
    }
    checker_told_complete(checker);
}

static void say(struct checker *checker, const char *text, uint32_t first, uint32_t last)
{
    struct message *payload = message_create(text, strlen(text));
    struct ranges set = {0};

    ranges_add(&set, first, last);
    checker_broadcast(checker, &set, payload);
    ranges_fini(&set);
    message_release(payload);
}

static void told(struct checker *checker, uint32_t place, const char *text)
{
    struct message *payload = message_create(text, strlen(text));

    checker_told_broadcast(checker, place, 100, payload);
    message_release(payload);
}

/* Members are 1..3, each contributes its number. */
static void call(struct checker *checker, uint32_t place, const struct operation_name *of)
{
    char digit = (char)('0' + place);
    struct message *payload = message_create(&digit, 1);
    struct ranges set = {0};

    ranges_add(&set, 1, 3);
    checker_called(checker, place, of, &set, payload);
    ranges_fini(&set);
    message_release(payload);
}

static void call_all(struct checker *checker, const struct operation_name *of)
{
    for (uint32_t place = 1; place < PLACES; place++)
        call(checker, place, of);
}

static void success(struct checker *checker, uint32_t place, const char *text)
{
    struct message *payload = message_create(text, strlen(text));
    struct ranges nobody = {0};

    checker_told_result(checker, place, 100, &key, 0, &nobody, payload);
    message_release(payload);
}

static void failure(struct checker *checker, uint32_t place, uint32_t lost)
{
    struct ranges places = {0};

    ranges_add(&places, lost, lost);
    checker_told_result(checker, place, 100, &key, -EHOSTDOWN, &places, NULL);
    ranges_fini(&places);
}

static void dead(struct checker *checker, uint32_t place, uint32_t who)
{
    struct ranges places = {0};

    ranges_add(&places, who, who);
    checker_told_dead(checker, place, 100, &places);
    ranges_fini(&places);
}

static void send_contribute(struct checker *checker, uint32_t from, uint32_t attempt,
                            uint32_t incarnation)
{
    struct overlay_contribute contribute = {.key = key, .state = OVERLAY_PART_COLLECTED};
    struct frame frame;

    ranges_add(&contribute.set, 1, 3);
    overlay_encode_contribute(&contribute, attempt, &frame);
    frame.incarnation = incarnation;
    checker_sent(checker, from, &frame);
    message_release(frame.payload);
    ranges_fini(&contribute.set);
}

static void hand_release(struct checker *checker, uint32_t from, uint32_t to, uint32_t attempt,
                         uint32_t incarnation)
{
    struct overlay_release release = {.key = key};
    struct frame frame;

    overlay_encode_release(&release, attempt, &frame);
    frame.incarnation = incarnation;
    checker_delivered(checker, from, to, &frame);
    message_release(frame.payload);
}

static void finish(struct checker *checker)
{
    checker_finish(checker, 200, BOUND_NS, views);
}

/* 3 dies at 100, everyone is told. */
static void three_dies(struct checker *checker)
{
    checker_killed(checker, 3, 100);
    for (uint32_t place = 0; place < 3; place++)
        dead(checker, place, 3);
}

/* ---- what is right ---- */

static void good_quiet(struct checker *checker)
{
    finish(checker);
}

static void good_broadcast(struct checker *checker)
{
    say(checker, "a", 0, 3);
    say(checker, "b", 1, 1);
    told(checker, 0, "a");
    told(checker, 2, "a");
    told(checker, 1, "a");
    told(checker, 1, "b");
    told(checker, 3, "a");
    finish(checker);
}

static void good_exchange(struct checker *checker)
{
    call_all(checker, &key);
    send_contribute(checker, 2, 0, 1);
    send_contribute(checker, 2, 1, 1);
    hand_release(checker, 1, 2, 1, 1);
    for (uint32_t place = 1; place < PLACES; place++)
        success(checker, place, "123");
    finish(checker);
}

static void good_loss(struct checker *checker)
{
    call_all(checker, &key);
    three_dies(checker);
    failure(checker, 1, 3);
    failure(checker, 2, 3);
    finish(checker);
}

/* Who has died may have seen another result than the survivors. */
static void good_dead_disagree(struct checker *checker)
{
    call_all(checker, &key);
    success(checker, 3, "123");
    three_dies(checker);
    failure(checker, 1, 3);
    failure(checker, 2, 3);
    finish(checker);
}

static void good_request(struct checker *checker)
{
    checker_requested(checker, 1, 5, 3);
    checker_requested(checker, 1, 6, 2);
    three_dies(checker);
    checker_told_reply(checker, 1, 5, -EHOSTDOWN);
    checker_told_reply(checker, 1, 6, 0);
    finish(checker);
}

static void good_leave(struct checker *checker)
{
    checker_leaving(checker);
    for (uint32_t place = PLACES; place-- > 0;)
        checker_ended(checker, place, ENDPOINT_END_LEFT);
    finish(checker);
}

/* 4 is new: a place behind the first. */
static void four_comes(struct checker *checker)
{
    struct ranges four = {0};

    ranges_add(&four, 4, 4);
    checker_set_capacity(checker, PLACES + 1);
    checker_grow(checker, 1);
    for (uint32_t place = 0; place < PLACES; place++)
        checker_told_grown(checker, place, 100, &four);
    views[4] = (struct checker_view){.parent = 0, .degree = 1};
    ranges_fini(&four);
}

static void good_grow(struct checker *checker)
{
    say(checker, "before", 0, 0);
    told(checker, 0, "before");
    four_comes(checker);
    checker_started(checker, 4, 1);
    checker_told_joined(checker, 4);
    checker_told_complete(checker);
    finish(checker);
}

static void left(struct checker *checker, uint32_t place, uint32_t who)
{
    struct ranges set = {0};

    ranges_add(&set, who, who);
    checker_told_left(checker, place, 100, &set);
    ranges_fini(&set);
}

static void two_is_asked(struct checker *checker)
{
    struct ranges two = {0};

    ranges_add(&two, 2, 2);
    checker_shrink(checker, &two, 100);
    ranges_fini(&two);
}

static void good_shrink(struct checker *checker)
{
    two_is_asked(checker);
    left(checker, 0, 2);
    left(checker, 1, 2);
    left(checker, 3, 2);
    checker_ended(checker, 2, ENDPOINT_END_LEFT);
    finish(checker);
}

/* ---- what is wrong ---- */

static void new_one_does_not_come(struct checker *checker)
{
    four_comes(checker);
    finish(checker);
}

static void old_place_is_new(struct checker *checker)
{
    checker_set_capacity(checker, PLACES + 1);
    checker_started(checker, 4, 1);
    four_comes(checker);
}

static void leaves_unasked(struct checker *checker)
{
    left(checker, 0, 2);
}

static void stays(struct checker *checker)
{
    two_is_asked(checker);
    left(checker, 0, 2);
    left(checker, 1, 2);
    left(checker, 3, 2);
    finish(checker);
}

static void leaver_counts_as_dead(struct checker *checker)
{
    two_is_asked(checker);
    dead(checker, 0, 2);
}

static void leaver_is_evicted(struct checker *checker)
{
    two_is_asked(checker);
    checker_ended(checker, 2, ENDPOINT_END_EVICTED);
}

static void twice_told(struct checker *checker)
{
    say(checker, "a", 0, 3);
    told(checker, 1, "a");
    told(checker, 1, "a");
}

static void told_out_of_order(struct checker *checker)
{
    say(checker, "a", 0, 3);
    say(checker, "b", 0, 3);
    told(checker, 1, "b");
}

static void told_not_its_own(struct checker *checker)
{
    say(checker, "a", 1, 1);
    told(checker, 2, "a");
}

static void never_told(struct checker *checker)
{
    say(checker, "a", 1, 1);
    finish(checker);
}

static void result_not_called(struct checker *checker)
{
    call(checker, 1, &key);
    success(checker, 2, "123");
}

static void result_twice(struct checker *checker)
{
    call_all(checker, &key);
    success(checker, 1, "123");
    success(checker, 1, "123");
}

static void success_without_one(struct checker *checker)
{
    call_all(checker, &key);
    success(checker, 1, "13");
}

static void success_counted_twice(struct checker *checker)
{
    call_all(checker, &key);
    success(checker, 1, "1233");
}

static void success_before_all_called(struct checker *checker)
{
    call(checker, 1, &key);
    success(checker, 1, "1");
}

static void gather_of_the_wrong(struct checker *checker)
{
    struct message *payload = message_create("12", 2);
    struct ranges nobody = {0};

    call_all(checker, &gather_key);
    checker_told_result(checker, 0, 100, &gather_key, 0, &nobody, payload);
    message_release(payload);
}

static void error_names_the_living(struct checker *checker)
{
    call_all(checker, &key);
    failure(checker, 1, 3);
}

static void error_names_no_member(struct checker *checker)
{
    call_all(checker, &key);
    failure(checker, 1, 0);
}

static void times_out(struct checker *checker, uint32_t place)
{
    struct ranges nobody = {0};

    checker_told_result(checker, place, 100, &key, -ETIMEDOUT, &nobody, NULL);
}

/* 3 comes late. */
static void good_cancel(struct checker *checker)
{
    call(checker, 1, &key);
    call(checker, 2, &key);
    checker_cancelled(checker, &key);
    times_out(checker, 1);
    times_out(checker, 2);
    call(checker, 3, &key);
    times_out(checker, 3);
    finish(checker);
}

static void times_out_for_nothing(struct checker *checker)
{
    call_all(checker, &key);
    times_out(checker, 1);
}

static void cancelled_waits(struct checker *checker)
{
    call(checker, 1, &key);
    checker_cancelled(checker, &key);
    finish(checker);
}

static void cancelled_disagree(struct checker *checker)
{
    call_all(checker, &key);
    checker_cancelled(checker, &key);
    times_out(checker, 1);
    success(checker, 2, "123");
    success(checker, 3, "123");
    finish(checker);
}

static void survivors_disagree(struct checker *checker)
{
    call_all(checker, &key);
    three_dies(checker);
    success(checker, 1, "123");
    failure(checker, 2, 3);
    finish(checker);
}

static void member_waits(struct checker *checker)
{
    call_all(checker, &key);
    success(checker, 1, "123");
    success(checker, 2, "123");
    finish(checker);
}

static void old_attempt(struct checker *checker)
{
    call_all(checker, &key);
    send_contribute(checker, 2, 1, 1);
    hand_release(checker, 1, 2, 0, 1);
    success(checker, 2, "123");
}

static void attempt_goes_back(struct checker *checker)
{
    call_all(checker, &key);
    send_contribute(checker, 2, 1, 1);
    send_contribute(checker, 2, 0, 1);
}

static void wrong_incarnation_sent(struct checker *checker)
{
    send_contribute(checker, 2, 0, 2);
}

static void old_incarnation_handed(struct checker *checker)
{
    checker_started(checker, 1, 2);
    hand_release(checker, 1, 2, 0, 1);
}

static void living_counted_dead(struct checker *checker)
{
    dead(checker, 0, 3);
}

static void dies_twice(struct checker *checker)
{
    checker_killed(checker, 3, 100);
    dead(checker, 0, 3);
    dead(checker, 0, 3);
}

static void deaths_out_of_order(struct checker *checker)
{
    checker_killed(checker, 2, 100);
    checker_killed(checker, 3, 100);
    dead(checker, 0, 2);
    dead(checker, 0, 3);
    dead(checker, 1, 3);
}

static void death_not_noticed(struct checker *checker)
{
    checker_killed(checker, 3, 100);
    finish(checker);
}

static void death_not_told(struct checker *checker)
{
    checker_killed(checker, 3, 100);
    dead(checker, 0, 3);
    dead(checker, 1, 3);
    finish(checker);
}

static void two_owners(struct checker *checker)
{
    checker_troubled(checker, 3, 100);
    for (uint32_t place = 0; place < 3; place++)
        dead(checker, place, 3);
    finish(checker);
}

static void acts_without_lease(struct checker *checker)
{
    struct message *payload = message_create("a", 1);

    say(checker, "a", 0, 3);
    checker_troubled(checker, 3, 100);
    dead(checker, 0, 3);
    checker_told_broadcast(checker, 3, 100 + LEASE_NS / 2 * 3 + 1, payload);
    message_release(payload);
}

static void acts_after_death(struct checker *checker)
{
    say(checker, "a", 0, 3);
    checker_killed(checker, 3, 100);
    told(checker, 3, "a");
}

static void two_heads(struct checker *checker)
{
    views[2].parent = 0;
    finish(checker);
}

static void wrong_heir(struct checker *checker)
{
    three_dies(checker);
    checker_killed(checker, 1, 100);
    dead(checker, 0, 1);
    dead(checker, 2, 1); /* and 2 still names 1 as its parent */
    finish(checker);
}

static void ends_for_nothing(struct checker *checker)
{
    checker_ended(checker, 3, ENDPOINT_END_ORPHAN);
}

static void never_leaves(struct checker *checker)
{
    checker_leaving(checker);
    checker_ended(checker, 3, ENDPOINT_END_LEFT);
    finish(checker);
}

static void outlives_the_root(struct checker *checker)
{
    checker_killed(checker, 0, 100);
    checker_ended(checker, 3, ENDPOINT_END_ORPHAN);
    finish(checker);
}

static void answered_twice(struct checker *checker)
{
    checker_requested(checker, 1, 5, 3);
    checker_told_reply(checker, 1, 5, 0);
    checker_told_reply(checker, 1, 5, 0);
}

static void never_answered(struct checker *checker)
{
    checker_requested(checker, 1, 5, 3);
    finish(checker);
}

static void living_unreachable(struct checker *checker)
{
    checker_requested(checker, 1, 5, 3);
    checker_told_reply(checker, 1, 5, -EHOSTDOWN);
}

static void healed_late(struct checker *checker)
{
    three_dies(checker);
    checker_finish(checker, 100 + BOUND_NS + 1, BOUND_NS, views);
}

static void too_many_links(struct checker *checker)
{
    views[1].degree = 6; /* 2 x 2 and the parent */
    checker_limits(checker, 1, &views[1]);
}

static void too_many_entries(struct checker *checker)
{
    views[1].kept_entries = 2;
    checker_limits(checker, 1, &views[1]);
}

static void too_many_operations(struct checker *checker)
{
    call_all(checker, &key);
    views[1].kept_operations = 2;
    checker_limits(checker, 1, &views[1]);
}

static void keeps_for_ever(struct checker *checker)
{
    views[1].kept_entries = 1;
    finish(checker);
}

static void keeps_a_stream(struct checker *checker)
{
    views[1].kept_stream_bytes = 1;
    finish(checker);
}

static void keeps_an_open(struct checker *checker)
{
    views[1].early_opens = 1;
    finish(checker);
}

static void joins_twice(struct checker *checker)
{
    checker_told_joined(checker, 1);
}

static void complete_twice(struct checker *checker)
{
    checker_told_complete(checker);
}

static const struct {
    void (*play)(struct checker *checker);
    const char *says; /* empty: nothing */
    const char *name;
} traces[] = {
    {good_quiet, "", "nothing happens"},
    {good_broadcast, "", "broadcasts to all and to one"},
    {good_exchange, "", "an exchange with two attempts"},
    {good_loss, "", "an exchange that loses a member"},
    {good_cancel, "", "an exchange that times out, and a member that comes late"},
    {good_dead_disagree, "", "the dead have seen success, the survivors loss"},
    {good_request, "", "requests to the living and to the dead"},
    {good_leave, "", "everyone leaves"},
    {good_grow, "", "a new place comes"},
    {good_shrink, "", "a place leaves"},
    {new_one_does_not_come, "never complete", "a new place that does not come"},
    {old_place_is_new, "has been used before", "an old place given again"},
    {leaves_unasked, "counted as left and lives", "a departure that nobody asked for"},
    {stays, "lives on", "somebody who stays"},
    {leaver_counts_as_dead, "counted as dead and lives", "a departure told as a death"},
    {leaver_is_evicted, "nothing befell", "who leaves ending otherwise"},
    {twice_told, "1 is told a broadcast twice", "a broadcast twice"},
    {told_out_of_order, "out of order", "broadcasts out of order"},
    {told_not_its_own, "not its own", "a broadcast to who is not in its set"},
    {never_told, "1 misses a broadcast", "a broadcast that never comes"},
    {result_not_called, "has not called", "a result of what was not called"},
    {result_twice, "told twice", "a result twice"},
    {success_without_one, "without what 2", "success without a member"},
    {success_counted_twice, "more than", "success with a member twice"},
    {success_before_all_called, "without what 2", "success before all have called"},
    {gather_of_the_wrong, "without what 3", "a gather without a member"},
    {error_names_the_living, "names 3, which lives", "an error that names the living"},
    {error_names_no_member, "no member", "an error that names no member"},
    {times_out_for_nothing, "nobody cancelled", "a time-out that nobody asked for"},
    {cancelled_waits, "1 waits", "a member that waits though it has given up"},
    {cancelled_disagree, "disagree", "success at some, the time over at others"},
    {survivors_disagree, "disagree", "survivors that disagree"},
    {member_waits, "3 waits", "a member that waits for ever"},
    {old_attempt, "old attempt", "a release of an old attempt"},
    {attempt_goes_back, "goes back", "a contribution to an old attempt"},
    {wrong_incarnation_sent, "as incarnation 2", "a frame of another incarnation sent"},
    {old_incarnation_handed, "of incarnation 1", "a frame of an old incarnation handed over"},
    {living_counted_dead, "3 is counted as dead and lives", "a death of the living"},
    {dies_twice, "dies twice", "a death twice"},
    {deaths_out_of_order, "out of the root's order", "deaths in another order"},
    {death_not_noticed, "never noticed", "a death that is not noticed"},
    {death_not_told, "other deaths", "a death that is not told to all"},
    {two_owners, "lives on", "two owners of a place"},
    {acts_without_lease, "after it was counted", "an act after the lease"},
    {acts_after_death, "though it is gone", "an act of the dead"},
    {two_heads, "has parent 0, should have 1", "a place with the wrong parent"},
    {wrong_heir, "2 has parent 1, should have 0", "an heir that does not take over"},
    {ends_for_nothing, "nothing befell", "an end for no reason"},
    {never_leaves, "outlives the instance", "somebody who does not leave"},
    {outlives_the_root, "outlives the instance", "somebody who outlives the root"},
    {answered_twice, "answered twice", "an answer twice"},
    {never_answered, "never answered", "no answer"},
    {living_unreachable, "fails", "a request to the living that fails"},
    {healed_late, "not at rest", "healing that takes too long"},
    {too_many_links, "degree 6", "too many links"},
    {too_many_entries, "keeps 2 entries", "too many entries"},
    {too_many_operations, "keeps 2 operations", "too many operations"},
    {keeps_for_ever, "for ever", "an entry kept for ever"},
    {keeps_a_stream, "bytes of streams", "a stream that is never given back"},
    {keeps_an_open, "early OPENs", "an OPEN that is kept for ever"},
    {joins_twice, "joins twice", "a place that joins twice"},
    {complete_twice, "complete twice", "a root that is complete twice"},
};

/* ---- lateral links at rest ---- */

#define OWNER 7

/* Between 1 and 2. */
struct link {
    bool one_has_it;
    bool two_has_it;
    bool is_for_owner;
    bool one_knows_owner;
    bool two_knows_owner;
};

static uint32_t laterals_of(const void *context, uint32_t place,
                            struct endpoint_lateral ret_laterals[ENDPOINT_LATERALS_MAX])
{
    const struct link *link = context;

    if (place == 0 || (place == 1 && !link->one_has_it) || (place == 2 && !link->two_has_it))
        return 0;
    ret_laterals[0] = (struct endpoint_lateral){
        .place = 3 - place, .owners = {OWNER}, .owners_count = link->is_for_owner ? 1 : 0};
    return 1;
}

static bool knows_owner(const void *context, uint32_t place, uint32_t owner)
{
    const struct link *link = context;

    return owner == OWNER && (place == 1 ? link->one_knows_owner : link->two_knows_owner);
}

static const struct {
    struct link link;
    const char *says; /* empty: nothing */
    const char *name;
} links[] = {
    {{false, false, false, false, false}, "", "no lateral link"},
    {{true, true, true, true, true}, "", "a lateral link of a series that lives"},
    {{true, true, false, true, true}, "for no series", "a lateral link without use"},
    {{true, false, true, true, true}, "2, who has none", "a link that only the lower end knows"},
    {{false, true, true, true, true}, "1, who has none", "a link that only the upper end knows"},
    {{true, true, true, false, true}, "no series at both", "a series forgotten at the lower end"},
    {{true, true, true, true, false}, "no series at both", "a series forgotten at the upper end"},
};

static void judge_links(void)
{
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        const struct laterals_world world = {3, laterals_of, knows_owner, &links[i].link};
        char text[128] = "";

        ok(laterals_are_kept(&world, text, sizeof(text)) == (links[i].says[0] == '\0'),
           "%s is judged", links[i].name);
        has_string(text, links[i].says, "so it says");
    }
}

int main(void)
{
    judge_links();
    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        struct checker checker;

        begin(&checker);
        traces[i].play(&checker);
        if (traces[i].says[0] == '\0')
            is_string(checker.failure, "", "nothing is wrong if %s", traces[i].name);
        else
            has_string(checker.failure, traces[i].says, "%s is seen", traces[i].name);
        checker_fini(&checker);
    }
    return done_testing();
}
