/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way up.  A place looks for a parent in rounds: it asks its ancestors, nearest first, until
 * one welcomes it, redirects it to one of its descendants (REDIRECT), or all have failed; then it
 * waits a little, longer each time and with jitter, and starts over.
 *
 * At the first join it may be up before its parent, so the first rounds try the nearest ancestor
 * only, until that has been seen alive: otherwise all places would crowd the root.  An orphan
 * begins above the parent it just lost, since that one is probably dead, and ends after rejoin_ns
 * without a sign of a place with a path to the root (HOLD, REDIRECT).  But a place that neither
 * answers nor refuses may be just stopped, and one that has sent HOLD may be waiting for an heir
 * that is: then only the orphan's lease bounds the search.  If all refuse up to the root, no place
 * is left that could accept it: it ends after an eighth of that time.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/address_wire.h"
#include "base/hash.h"
#include "overlay/broadcast.h"
#include "overlay/collective.h"
#include "overlay/core.h"

#define RETRY_MIN_NS      (10 * 1000000ull)
#define RETRY_MAX_NS      (500 * 1000000ull)
#define FIRST_NEAR_ROUNDS 5 /* a third of a second */
#define SILENT_ROUNDS     4

static uint64_t jitter_delay(const struct overlay *overlay, uint64_t delay_ns)
{
    uint64_t dice = hash_mix(((uint64_t)overlay->place << 32) + overlay->join.round +
                             ((uint64_t)overlay->incarnation << 20));

    return delay_ns / 2 + dice % (delay_ns / 2 + 1);
}

static void ancestor_read(const struct overlay *overlay, uint32_t index, uint32_t *ret_place,
                          struct addresses *ret_addresses)
{
    struct endpoint_ancestor ancestor;
    struct wire_reader reader;

    assert(index < overlay->join.ancestors_count);
    wire_reader_init(&reader, overlay->join.ancestors->data, overlay->join.ancestors->length_bytes);
    for (uint32_t i = 0; i <= index; i++)
        overlay_get_ancestor(&reader, &ancestor);
    *ret_place = ancestor.place;
    *ret_addresses = ancestor.addresses;
}

static void join_connect(struct overlay *overlay, uint32_t place, const struct addresses *addresses)
{
    struct overlay_action *action;
    uint32_t incarnation;
    enum lateral_take take = lateral_take(overlay, place, &incarnation);

    assert(place < overlay->place);
    overlay->join.held = false;
    overlay->join.target = place;
    overlay->join.state = JOIN_CONNECTING;
    overlay->join.asked_ns = overlay->now_ns;
    if (take == LATERAL_TAKE_LINK)
        join_up(overlay, place);
    if (take != LATERAL_TAKE_NOTHING)
        return;
    action = overlay_act(overlay, OVERLAY_ACTION_CONNECT);
    action->place = place;
    action->addresses = memory_copy(addresses, sizeof(*addresses));
}

/* The number of ancestors tried in this round. */
static uint32_t round_width(const struct overlay *overlay)
{
    if (!overlay->join.ever && overlay->join.round < FIRST_NEAR_ROUNDS &&
        overlay->join.ancestors_count > 0)
        return 1;
    return overlay->join.ancestors_count;
}

static void join_give_up(struct overlay *overlay)
{
    overlay_end(overlay, ENDPOINT_END_ORPHAN, "no living ancestor could be reached in %.1f s",
                (double)(overlay->now_ns - overlay->join.since_ns) / 1e9);
}

/* In this round or the one before a place neither answered nor refused: it may be stopped, and gets
 * the time left of our lease. */
static bool has_doubt(const struct join *join)
{
    return join->doubted && join->round <= join->doubt_round + 1;
}

/* In this round each of our ancestors up to the root was tried, and the system of each refused the
 * connection: all of them have ended, and the tree with its root. */
static bool has_no_root(const struct overlay *overlay)
{
    const struct join *join = &overlay->join;

    return overlay->survive_ns == 0 && join->refused && join->avoid == TREE_NO_PLACE &&
           join->candidate == join->ancestors_count && join->redirects == 0 &&
           overlay->now_ns >= join->since_ns + overlay->rejoin_ns / 8;
}

static void join_wait(struct overlay *overlay)
{
    struct join *join = &overlay->join;
    uint64_t delay_ns = RETRY_MIN_NS << (join->round < 6 ? join->round : 6);

    if (join->ever &&
        ((!has_doubt(join) && overlay->now_ns >= join->since_ns + recovery_seek_ns(overlay)) ||
         has_no_root(overlay))) {
        join_give_up(overlay);
        return;
    }
    if (delay_ns > RETRY_MAX_NS)
        delay_ns = RETRY_MAX_NS;
    join->state = JOIN_WAITING;
    join->target = TREE_NO_PLACE;
    join->retry_ns = overlay->now_ns + jitter_delay(overlay, delay_ns);
    join->round++;
    /* Places above know better whether a parent that fell silent is back, so it is tried only
     * rarely. */
    join->avoid = join->round % SILENT_ROUNDS == 0 ? TREE_NO_PLACE : join->silent;
    join->candidate = 0;
    join->redirects = 0;
    join->refused = true;
}

/* Tries the next ancestor of this round. */
static void join_next(struct overlay *overlay)
{
    struct join *join = &overlay->join;

    while (join->candidate < round_width(overlay)) {
        struct addresses addresses;
        uint32_t place;

        ancestor_read(overlay, join->candidate++, &place, &addresses);
        if (place == join->avoid || place >= overlay->place ||
            ranges_contains(&overlay->dead, place))
            continue;
        join_connect(overlay, place, &addresses);
        return;
    }
    join_wait(overlay);
}

static void join_seek(struct overlay *overlay, uint32_t avoid)
{
    struct join *join = &overlay->join;

    join->since_ns = overlay->now_ns;
    if (join->cut_ns < join->since_ns)
        join->since_ns = join->cut_ns;
    join->cut_ns = join->since_ns;
    join->end_ns = overlay->now_ns + overlay->rejoin_ns / 8; /* time for a round */
    if (join->end_ns < join->since_ns + recovery_seek_ns(overlay))
        join->end_ns = join->since_ns + recovery_seek_ns(overlay);
    join->round = 0;
    join->candidate = 0;
    join->redirects = 0;
    join->avoid = avoid;
    join->doubted = false;
    join->refused = true;
    join->held = false;
    join_next(overlay);
}

void join_check(const struct overlay *overlay)
{
    const struct join *join = &overlay->join;

    assert(join->state <= JOIN_JOINED);
    assert(!overlay_is_root(overlay) || join->state == JOIN_IDLE);
    if (join->state == JOIN_IDLE || join->state == JOIN_WAITING)
        assert(join->target == TREE_NO_PLACE);
    else
        assert(join->target < overlay->place); /* parents have lower numbers */
    assert(join->state != JOIN_JOINED || join->ever);
    assert(!join->held || (join->state != JOIN_CONNECTING && join->state != JOIN_WAITING));
    assert(join->redirects <= TREE_DEPTH_MAX);
    assert(!join->is_kept ||
           (join->kept.first <= overlay->place && overlay->place <= join->kept.last));
    assert(join->since_ns <= overlay->now_ns && join->asked_ns <= overlay->now_ns);
}

void join_start(struct overlay *overlay)
{
    assert(!overlay_is_root(overlay) && overlay->join.state == JOIN_IDLE);
    overlay->join.silent = TREE_NO_PLACE;
    join_seek(overlay, TREE_NO_PLACE);
}

bool join_has_parent(const struct overlay *overlay)
{
    return overlay->join.state == JOIN_JOINED;
}

bool join_is_whole(const struct overlay *overlay)
{
    return overlay_is_root(overlay) ||
           (join_has_parent(overlay) && overlay->join.cut_ns == OVERLAY_NEVER_NS);
}

void join_up(struct overlay *overlay, uint32_t place)
{
    struct tree tree = overlay_tree(overlay);
    struct overlay_join message = {
        .version = OVERLAY_VERSION,
        .places = overlay->places,
        .radix = overlay->radix,
        .received = overlay->broadcast.received,
        .stamp_ns = overlay->now_ns,
        .scope = overlay->join.is_kept ? overlay->join.kept : tree_scope(&tree, overlay->place),
        .arrived = overlay->arrived, /* borrowed */
        .fresh = !overlay->join.ever && !overlay->join.doubtful,
    };
    struct wire_reader reader;
    struct frame frame;

    assert(place == overlay->join.target && overlay->join.state == JOIN_CONNECTING);
    wire_reader_init(&reader, overlay->own->data, overlay->own->length_bytes);
    address_wire_get(&reader, &message.addresses);
    membership_waiting(overlay, &message.waiting);
    overlay_encode_join(&message, &frame);
    ranges_fini(&message.waiting);
    overlay_send(overlay, place, &frame);
    overlay->join.state = JOIN_ASKING;
    overlay->join.asked_ns = overlay->now_ns;
    if (!overlay->join.ever)
        overlay->join.since_ns = overlay->now_ns; /* a place responds: the time starts again */
    overlay->arrived_reported = (uint32_t)ranges_count(&overlay->arrived);
}

/* That place has lost our range and does not know of any place that we have joined.  If the places
 * between us are stopped, only it knows whether they are dead, so we leave our target for it. */
bool join_sought(struct overlay *overlay, uint32_t place)
{
    struct join *join = &overlay->join;

    if (place >= overlay->place || ranges_contains(&overlay->dead, place) ||
        join->state == JOIN_IDLE || join->state == JOIN_JOINED)
        return false;
    join->doubtful = join->doubtful || join->state == JOIN_ASKING;
    if (join->target != TREE_NO_PLACE && join->target != place) /* or its link is new */
        overlay_close(overlay, join->target);
    join->held = false;
    join->redirects = 0;
    join->target = place;
    join->state = JOIN_CONNECTING;
    join_up(overlay, place);
    return true;
}

void join_tell_waiting(struct overlay *overlay, const struct ranges *waiting)
{
    struct frame frame;

    if (overlay->join.state != JOIN_ASKING)
        return;
    overlay_encode_waiting(waiting, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
}

/* A place with a path to the root has responded: the time for finding one starts again.  Our lease,
 * which it does not renew, bounds that. */
static void join_is_near(struct overlay *overlay)
{
    overlay->join.since_ns = overlay->now_ns;
    overlay->join.end_ns = overlay->now_ns + recovery_seek_ns(overlay);
}

void join_down(struct overlay *overlay, enum endpoint_loss loss)
{
    struct join *join = &overlay->join;

    if (join->state == JOIN_JOINED && overlay->leaving) {
        overlay_end(overlay, ENDPOINT_END_LEFT, "the parent has left");
        return;
    }
    if (loss != ENDPOINT_LOSS_REFUSED)
        join->refused = false;
    if (join->held && join->state == JOIN_ASKING)
        join_is_near(overlay); /* it had a path to the root a moment ago */
    join->held = false;
    join->doubtful = join->doubtful || join->state == JOIN_ASKING;
    if ((join->state == JOIN_ASKING || loss == ENDPOINT_LOSS_SILENT ||
         loss == ENDPOINT_LOSS_UNREACHABLE) &&
        join->round < FIRST_NEAR_ROUNDS)
        join->round = FIRST_NEAR_ROUNDS; /* it has started, so there is no need to wait for it */
    if (loss == ENDPOINT_LOSS_SILENT) {
        join->doubted = true;
        join->doubt_round = join->round;
    }
    if (join->state == JOIN_JOINED) {
        join->silent = loss == ENDPOINT_LOSS_SILENT ? join->target : TREE_NO_PLACE;
        join_seek(overlay, join->target);
        lease_beat(overlay);
    } else if (join->redirects > 0) {
        join_wait(overlay); /* the place that sent us there will know better in a moment */
    } else {
        join_next(overlay);
    }
}

/* A place hears of its parent's death from the next parent, after all earlier entries; but of its
 * parent's departure from the parent itself, without having kept earlier entries for the others of
 * their range.  It must not claim to have them. */
void join_remember_scope(struct overlay *overlay)
{
    struct tree tree = overlay_tree(overlay);

    if (!overlay->join.is_kept)
        overlay->join.kept = tree_scope(&tree, overlay->place);
    overlay->join.is_kept = true;
}

void join_part(struct overlay *overlay)
{
    overlay->join.state = JOIN_IDLE;
    overlay->join.target = TREE_NO_PLACE;
}

/* Until when we seek; NEVER if a living place makes us wait for our first join. */
static uint64_t bound_ns(const struct overlay *overlay)
{
    const struct join *join = &overlay->join;

    if (join->state == JOIN_IDLE || join->state == JOIN_JOINED || join->state == JOIN_ASKING)
        return OVERLAY_NEVER_NS;
    /* A target that is stopped ends in an answer or in doubt.  Our lease always bounds it. */
    if (join->ever)
        return has_doubt(join) || join->state == JOIN_CONNECTING ? OVERLAY_NEVER_NS : join->end_ns;
    if (has_doubt(join) && overlay->first_join_ns < overlay->lease_ns / 2)
        return join->since_ns + overlay->lease_ns / 2;
    return join->since_ns + overlay->first_join_ns;
}

/* When to give up connecting to a place that may be stopped or cut off, and try the next.  An
 * orphan does not leave a place that has a link and has not answered yet: there may be a reason,
 * and leaving could be taken for its death (absence.c).  If that place is stopped, its parent drops
 * it after half a lease; so after 5/8 of one the orphan tries the next, just as it leaves a silent
 * parent.  A place that never had a parent does the same, after first_join_ns if that is sooner. */
static uint64_t patience_end_ns(const struct overlay *overlay)
{
    const struct join *join = &overlay->join;
    uint64_t left_ns = overlay->lease_ns / 8 * 5;

    if (join->state == JOIN_ASKING && !join->ever && overlay->first_join_ns < left_ns)
        return join->asked_ns + overlay->first_join_ns;
    if (join->state == JOIN_ASKING)
        return join->asked_ns + left_ns;
    if (join->state != JOIN_CONNECTING)
        return OVERLAY_NEVER_NS;
    if (!join->ever)
        return join->asked_ns + overlay->first_join_ns / 4;
    /* An orphan tries places quickly at first; later it gives the transport time to find out which
     * are dead and which only silent. */
    return join->asked_ns + ((overlay->rejoin_ns / 4) << (join->round < 2 ? join->round : 2));
}

uint64_t join_deadline_ns(const struct overlay *overlay)
{
    uint64_t deadline_ns = bound_ns(overlay);
    uint64_t next_ns =
        overlay->join.state == JOIN_WAITING ? overlay->join.retry_ns : patience_end_ns(overlay);

    return next_ns < deadline_ns ? next_ns : deadline_ns;
}

void join_timer(struct overlay *overlay)
{
    struct join *join = &overlay->join;

    if (overlay->now_ns >= bound_ns(overlay)) {
        join_give_up(overlay);
        return;
    }
    if (join->state == JOIN_WAITING && overlay->now_ns >= join->retry_ns) {
        join_next(overlay);
    } else if (overlay->now_ns >= patience_end_ns(overlay)) {
        overlay_close(overlay, join->target);
        join_down(overlay, ENDPOINT_LOSS_SILENT);
    }
}

static void join_done(struct overlay *overlay)
{
    bool first = !overlay->join.ever;

    assert(overlay->join.state == JOIN_ASKING);
    overlay->join.state = JOIN_JOINED;
    overlay->join.ever = true;
    if (first)
        overlay_act(overlay, OVERLAY_ACTION_JOINED);
}

void join_stalled(struct overlay *overlay, uint64_t excess_ns)
{
    struct join *join = &overlay->join;

    if (join->state == JOIN_IDLE || join->state == JOIN_JOINED)
        return;
    /* The place asked may have answered long ago; unread input is handled first. */
    if (join->end_ns != OVERLAY_NEVER_NS)
        join->end_ns += excess_ns;
    join->since_ns += excess_ns;
    if (join->since_ns > overlay->now_ns)
        join->since_ns = overlay->now_ns;
    join->asked_ns += excess_ns;
    if (join->asked_ns > overlay->now_ns)
        join->asked_ns = overlay->now_ns;
}

static bool is_welcome_sane(const struct overlay *overlay, const struct overlay_welcome *welcome)
{
    return welcome->base <= welcome->head && welcome->cut_ns <= overlay->now_ns &&
           welcome->range.first <= overlay->place && overlay->place <= welcome->range.last &&
           !ranges_contains(&welcome->dead, 0) && !ranges_contains(&welcome->dead, overlay->place);
}

int join_on_welcome(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    bool is_new = overlay->broadcast.received == 0;
    struct overlay_welcome welcome;

    if (overlay_decode_welcome(frame, &welcome) < 0)
        return -EBADMSG;
    if (!is_welcome_sane(overlay, &welcome) || lease_take(overlay, &welcome.lease) < 0) {
        overlay_welcome_fini(&welcome);
        return -EBADMSG;
    }
    overlay->cut_off_ns = overlay->now_ns - welcome.cut_ns;
    overlay->cut_off_closed = welcome.closed;
    measure_forget_trip(overlay);
    join_done(overlay);
    lease_echo(overlay, from); /* the parent knows now that we have got the WELCOME */
    lease_beat(overlay);       /* reports below that the path is complete again */
    broadcast_welcome(overlay, &welcome);
    if (is_new && welcome.population > 0)
        growth_welcome(overlay, &welcome);
    overlay_welcome_fini(&welcome);
    membership_joined(overlay);
    heirs_joined(overlay);
    collective_joined(overlay);
    broadcast_large_linked(overlay, from);
    route_flush(overlay);
    if (overlay_is_ready(overlay))
        overlay_became_ready(overlay);
    return 0;
}

int join_on_hold(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    (void)from;
    if (overlay->join.state == JOIN_ASKING) { /* else WELCOME has overtaken it */
        join_is_near(overlay);
        overlay->join.held = true;
    }
    return overlay_decode_hold(frame);
}

int join_on_redirect(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct overlay_redirect redirect;

    /* A descendant of `from` on the path to us. */
    if (overlay_decode_redirect(frame, &redirect) < 0 || redirect.place <= from ||
        redirect.place >= overlay->place || ++overlay->join.redirects > TREE_DEPTH_MAX)
        return -EBADMSG;
    if (redirect.whole)
        join_is_near(overlay);
    overlay_close(overlay, from);
    join_connect(overlay, redirect.place, &redirect.addresses);
    return 0;
}

int join_on_refuse(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    static const enum endpoint_end ends[] = {
        [OVERLAY_REFUSAL_EVICTED] = ENDPOINT_END_EVICTED,
        [OVERLAY_REFUSAL_LEFT] = ENDPOINT_END_LEFT,
        [OVERLAY_REFUSAL_MISMATCH] = ENDPOINT_END_REFUSED,
    };
    struct overlay_refuse refuse;

    if (overlay_decode_refuse(frame, &refuse) < 0 ||
        refuse.refusal >= sizeof(ends) / sizeof(ends[0]))
        return -EBADMSG;
    overlay_end(overlay, ends[refuse.refusal], "place %u refused to accept this daemon: %s", from,
                refuse.text);
    return 0;
}

void join_fini(struct overlay *overlay)
{
    message_release(overlay->join.ancestors);
    overlay->join.ancestors = NULL;
}
