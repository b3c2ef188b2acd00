/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a place may consider itself alive.  The root sends a wave every heartbeat, or every few
 * when all places have joined; each hop forwards it at once with its age.  A child computes, by its clock, a lower bound for the time at
 * which the root sent the wave: its last echo was sent at its stamp, and the parent held that for
 * hold, so this LEASE was sent no earlier than stamp + hold, and the wave no earlier than age
 * before that.  Its lease ends lease_ns after that bound.  The stamp of JOIN stands for the first
 * echo, so there always is one.
 *
 * The limit for silence is separate and shorter than a lease, so that the orphans of a stopped
 * place find a new parent while their own leases run.  When a place stops after wave w, its parent
 * drops it half a lease after w, its children leave it an eighth later and ask the parent, and
 * other deaths (absence.c) are settled another quarter later, an eighth before their leases end.  A
 * place that gets no waves still sends beats, with the old wave, so that its children do not take
 * it for silent.  These carry the time since when the path to the root has been broken: an orphan
 * of a place that has sought a parent in vain need not seek as long again, so that all end soon
 * after the root.
 *
 * A place that has stalled (its process was stopped, or got no CPU) sees all others silent when it
 * continues, although it was they that waited.  It detects this by its own timer, which is set a wave
 * or two ahead wherever there are children: a step that comes more than a heartbeat after
 * the timer was due has stalled, and the measured silence of others starts later by as much.  If it
 * stalled for as long as a silent parent is tolerated and its children have left it, it does not
 * report them: they did what they should, and its own parent, which should have dropped it, must
 * have been stalled as well.  It ends itself.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>

#include "overlay/core.h"

#define NOTICE_NS (10000 * 1000000ull)
/* Waves of a calm instance: who is noticed after 10 s has then missed two, and the twentieth of a lease
 * for which a relay waits for one is far less than the eighths that decide.  The first ones come every
 * heartbeat. */
#define CALM_HEARTBEATS  4
#define CALM_LEASE_PARTS 30
#define CALM_ROUND       12

static uint64_t earlier_ns(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool has_children(const struct overlay *overlay)
{
    return overlay->children_count > 0;
}

/* Between two waves when nothing happens: several heartbeats, if the lease is that much longer. */
static uint64_t calm_ns(const struct overlay *overlay)
{
    uint64_t part_ns = overlay->lease_ns / CALM_LEASE_PARTS;
    uint64_t calm_ns = earlier_ns(CALM_HEARTBEATS * overlay->heartbeat_ns, part_ns);

    return calm_ns > overlay->heartbeat_ns ? calm_ns : overlay->heartbeat_ns;
}

/* Waves also collect who has joined, for which people wait, and measure what hops cost. */
static bool is_calm(const struct overlay *overlay)
{
    return overlay->complete_reported && overlay->lease.round >= CALM_ROUND;
}

static uint64_t beat_interval_ns(const struct overlay *overlay)
{
    /* A relay sends beats itself only if no waves arrive, and cannot know how often they come. */
    if (!overlay_is_root(overlay))
        return calm_ns(overlay) + calm_ns(overlay) / 2;
    return is_calm(overlay) ? calm_ns(overlay) : overlay->heartbeat_ns;
}

static uint64_t silence_of_child_ns(const struct overlay *overlay)
{
    return overlay->lease_ns / 2;
}

/* When a silence that all wait for is reported. */
uint64_t lease_notice_ns(const struct overlay *overlay)
{
    return earlier_ns(NOTICE_NS, overlay->lease_ns / 4);
}

static uint64_t silence_of_parent_ns(const struct overlay *overlay)
{
    return overlay->lease_ns / 8 * 5;
}

uint64_t lease_end_ns(const struct overlay *overlay)
{
    if (overlay_is_root(overlay) || overlay->lease.bound_ns == OVERLAY_NEVER_NS)
        return OVERLAY_NEVER_NS;
    if (overlay->survive_ns > overlay->lease_ns && !overlay->departing && !overlay->leaving)
        return overlay->lease.bound_ns + overlay->survive_ns;
    return overlay->lease.bound_ns + overlay->lease_ns;
}

struct overlay_lease lease_for(const struct overlay *overlay, const struct child *child)
{
    const struct lease *lease = &overlay->lease;
    struct overlay_lease wave = {.round = lease->round};

    assert(child->echo_received_ns <= overlay->now_ns);
    assert(overlay_is_root(overlay) || lease->bound_ns <= overlay->now_ns);
    if (!overlay_is_root(overlay))
        wave.age_ns = overlay->now_ns - lease->bound_ns;
    if (overlay->join.cut_ns != OVERLAY_NEVER_NS)
        wave.cut_ns = overlay->now_ns - overlay->join.cut_ns + 1;
    wave.echo_stamp_ns = child->echo_stamp_ns;
    wave.echo_hold_ns = overlay->now_ns - child->echo_received_ns;
    return wave;
}

static uint64_t child_due_ns(const struct overlay *overlay, const struct child *child)
{
    return child->since_ns +
           (child->is_noticed ? silence_of_child_ns(overlay) : lease_notice_ns(overlay));
}

void lease_watch(struct overlay *overlay)
{
    uint64_t due_ns = overlay->now_ns + lease_notice_ns(overlay);

    if (due_ns < overlay->lease.watch_ns)
        overlay->lease.watch_ns = due_ns;
}

void lease_tell_silent(struct overlay *overlay, uint32_t place, uint64_t silent_ns)
{
    struct overlay_action *action = overlay_act(overlay, OVERLAY_ACTION_SILENT);

    assert(place < TREE_PLACES_MAX);
    action->place = place;
    action->deadline_ns = silent_ns;
}

static uint64_t later_by(const struct overlay *overlay, uint64_t time_ns, uint64_t delay_ns)
{
    return earlier_ns(time_ns + delay_ns, overlay->now_ns);
}

/* The wait for others counts from their last message; while we were stalled their messages may have
 * gone unread, so that time does not count.  Leases keep running: they are a promise to the root,
 * which did not hear from us either. */
void lease_stalled(struct overlay *overlay)
{
    struct lease *lease = &overlay->lease;
    uint64_t excess_ns;

    if (lease->armed_ns == OVERLAY_NEVER_NS ||
        overlay->now_ns <= lease->armed_ns + overlay->heartbeat_ns)
        return;
    /* Input that arrived meanwhile has yet to be read: that takes a moment. */
    excess_ns = overlay->now_ns - lease->armed_ns + overlay->heartbeat_ns;
    if (overlay_is_root(overlay) && excess_ns >= lease_notice_ns(overlay) && !overlay->leaving)
        lease_tell_silent(overlay, overlay->place, excess_ns);
    lease->armed_ns = overlay->now_ns; /* it is due, and counted only once */
    if (excess_ns >= silence_of_parent_ns(overlay) - beat_interval_ns(overlay))
        lease->abandoned_ns = overlay->now_ns + overlay->heartbeat_ns;
    lease->heard_ns = later_by(overlay, lease->heard_ns, excess_ns);
    for (uint32_t i = 0; i < overlay->children_count; i++)
        overlay->children[i].since_ns = later_by(overlay, overlay->children[i].since_ns, excess_ns);
    join_stalled(overlay, excess_ns);
}

bool lease_is_abandoned(const struct overlay *overlay)
{
    return overlay->now_ns < overlay->lease.abandoned_ns;
}

static void notice_child(struct overlay *overlay, struct child *child)
{
    assert(child->state == CHILD_LINKED && !child->is_noticed);
    child->is_noticed = true;
    if (!overlay->leaving)
        lease_tell_silent(overlay, child->head, overlay->now_ns - child->since_ns);
}

/* Reports silent children, and drops those that have been silent for too long. */
static void check_children(struct overlay *overlay)
{
    overlay->lease.watch_ns = OVERLAY_NEVER_NS;
    for (uint32_t i = 0; i < overlay->children_count && !overlay->ended; i++) {
        struct child *child = &overlay->children[i];

        if (child->state != CHILD_LINKED)
            continue;
        if (!child->is_noticed && overlay->now_ns >= child_due_ns(overlay, child))
            notice_child(overlay, child);
        if (overlay->now_ns >= child_due_ns(overlay, child))
            membership_drop(overlay, child, ENDPOINT_LOSS_SILENT);
        else
            overlay->lease.watch_ns =
                earlier_ns(overlay->lease.watch_ns, child_due_ns(overlay, child));
    }
}

void lease_beat(struct overlay *overlay)
{
    if (overlay->ended || !has_children(overlay) ||
        (!overlay_is_root(overlay) && overlay->lease.bound_ns == OVERLAY_NEVER_NS))
        return;
    overlay->lease.beat_ns = overlay->now_ns;
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        const struct child *child = &overlay->children[i];
        struct overlay_lease wave;
        struct frame frame;

        if (child->state != CHILD_LINKED)
            continue;
        wave = lease_for(overlay, child);
        overlay_encode_lease(&wave, &frame);
        overlay_send(overlay, child->head, &frame);
    }
}

void lease_start(struct overlay *overlay)
{
    overlay->lease.beat_ns = overlay->now_ns;
    overlay->lease.heard_ns = overlay->now_ns;
}

int lease_take(struct overlay *overlay, const struct overlay_lease *wave)
{
    struct lease *lease = &overlay->lease;
    uint64_t sent_ns = wave->echo_stamp_ns + wave->echo_hold_ns;
    uint64_t bound_ns;

    /* A stamp in the future cannot be echoed, and the sums must not wrap. */
    if (wave->echo_stamp_ns > overlay->now_ns || wave->echo_hold_ns > overlay->now_ns ||
        sent_ns > overlay->now_ns || wave->cut_ns > overlay->now_ns)
        return -EBADMSG;
    bound_ns = wave->age_ns < sent_ns ? sent_ns - wave->age_ns : 0;
    if (lease->bound_ns == OVERLAY_NEVER_NS && bound_ns + overlay->lease_ns <= overlay->now_ns)
        return -ESTALE; /* a welcome from a place whose own lease has expired starts none */
    if (lease->bound_ns == OVERLAY_NEVER_NS || bound_ns > lease->bound_ns)
        lease->bound_ns = bound_ns;
    lease->heard_ns = overlay->now_ns;
    overlay->join.cut_ns = OVERLAY_NEVER_NS;
    if (wave->cut_ns > 0)
        overlay->join.cut_ns = overlay->now_ns - (wave->cut_ns - 1);
    return 0;
}

static void lease_beat_round(struct overlay *overlay, uint64_t round)
{
    if (round > overlay->lease.round)
        overlay->lease.round = round;
    lease_beat(overlay);
}

void lease_echo(struct overlay *overlay, uint32_t parent)
{
    struct frame echo;

    overlay_encode_lease_echo(&(struct overlay_lease_echo){overlay->now_ns, measure_usual(overlay)},
                              &echo);
    overlay_send(overlay, parent, &echo);
}

int lease_on_lease(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    bool was_cut = overlay->join.cut_ns != OVERLAY_NEVER_NS;
    struct overlay_lease wave;

    if (overlay_decode_lease(frame, &wave) < 0 || lease_take(overlay, &wave) < 0)
        return -EBADMSG;
    measure_trip(overlay, overlay->now_ns - wave.echo_stamp_ns - wave.echo_hold_ns);
    lease_echo(overlay, from);
    if (wave.round > overlay->lease.round || was_cut != (wave.cut_ns > 0))
        lease_beat_round(overlay, wave.round);
    membership_tell_arrived(overlay, true);
    return 0;
}

int lease_on_echo(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct child *child = membership_linked(overlay, from);
    struct overlay_lease_echo echo;

    if (overlay_decode_lease_echo(frame, &echo) < 0 || echo.stamp_ns < child->echo_stamp_ns)
        return -EBADMSG;
    child->echo_stamp_ns = echo.stamp_ns;
    child->measured = echo.measured;
    child->echo_received_ns = overlay->now_ns;
    child->since_ns = overlay->now_ns;
    if (child->is_noticed)
        lease_tell_silent(overlay, from, 0);
    child->is_noticed = false;
    return 0;
}

void lease_check(const struct overlay *overlay)
{
    const struct lease *lease = &overlay->lease;

    assert(lease->heard_ns <= overlay->now_ns && lease->beat_ns <= overlay->now_ns);
    assert(lease->bound_ns == OVERLAY_NEVER_NS || lease->bound_ns <= overlay->now_ns);
    assert(lease->bound_ns == OVERLAY_NEVER_NS || !overlay_is_root(overlay));
    assert(!join_has_parent(overlay) || lease->bound_ns != OVERLAY_NEVER_NS);
    assert(overlay->heartbeat_ns > 0 && overlay->lease_ns > 0);
}

void lease_expire(struct overlay *overlay)
{
    if (overlay->now_ns >= lease_end_ns(overlay) && overlay->departing)
        overlay_end(overlay, ENDPOINT_END_LEFT, "this place was asked to leave");
    else if (overlay->now_ns >= lease_end_ns(overlay))
        overlay_end(overlay, ENDPOINT_END_LEASE, "no heartbeat from the root for %.1f s",
                    (double)(overlay->now_ns - overlay->lease.bound_ns) / 1e9);
}

void lease_timer(struct overlay *overlay)
{
    struct lease *lease = &overlay->lease;

    if (join_has_parent(overlay) &&
        overlay->now_ns >= lease->heard_ns + silence_of_parent_ns(overlay)) {
        overlay_close(overlay, overlay->join.target);
        join_down(overlay, ENDPOINT_LOSS_SILENT);
        if (overlay->ended)
            return;
    }
    if (has_children(overlay) && overlay->now_ns >= lease->beat_ns + beat_interval_ns(overlay)) {
        if (overlay_is_root(overlay))
            lease->round++;
        lease->beat_ns = overlay->now_ns;
        lease_beat(overlay);
    }
    if (overlay->now_ns >= lease->watch_ns)
        check_children(overlay);
    if (!overlay->ended && overlay->now_ns >= overlay->absence_ns)
        absence_timer(overlay);
    if (!overlay->ended)
        heirs_timer(overlay);
    if (!overlay->ended)
        stall_probe_timer(overlay);
    if (!overlay->ended && overlay->now_ns >= overlay->parted_ns)
        membership_timer(overlay);
    membership_leave_check(overlay);
}

static uint64_t next_deadline_ns(const struct overlay *overlay)
{
    uint64_t deadline_ns = earlier_ns(join_deadline_ns(overlay), lease_end_ns(overlay));

    if (overlay->departing)
        return lease_end_ns(overlay);
    deadline_ns = earlier_ns(deadline_ns, overlay->parted_ns);
    deadline_ns = earlier_ns(deadline_ns, overlay->lease.watch_ns);
    deadline_ns = earlier_ns(deadline_ns, deaths_deadline_ns(overlay));
    deadline_ns = earlier_ns(deadline_ns, overlay->absence_ns);
    deadline_ns = earlier_ns(deadline_ns, heirs_deadline_ns(overlay));
    deadline_ns = earlier_ns(deadline_ns, stall_probe_deadline_ns(overlay));
    deadline_ns = earlier_ns(deadline_ns, lateral_deadline_ns(overlay));
    deadline_ns = earlier_ns(deadline_ns, stream_deadline_ns(overlay));
    if (join_has_parent(overlay))
        deadline_ns =
            earlier_ns(deadline_ns, overlay->lease.heard_ns + silence_of_parent_ns(overlay));
    if (has_children(overlay))
        deadline_ns = earlier_ns(deadline_ns, overlay->lease.beat_ns + beat_interval_ns(overlay));
    return deadline_ns;
}

/* The timer is only ever pulled forward here; when it fires too early it is set again.  So waves
 * cost a timer call every few seconds. */
void lease_arm(struct overlay *overlay)
{
    uint64_t deadline_ns = next_deadline_ns(overlay);

    /* A beat may be overdue only because the first child has just joined: that is no stall. */
    if (deadline_ns < overlay->now_ns)
        deadline_ns = overlay->now_ns;
    if (deadline_ns >= overlay->lease.armed_ns)
        return;
    overlay->lease.armed_ns = deadline_ns;
    overlay_act(overlay, OVERLAY_ACTION_TIMER)->deadline_ns = deadline_ns;
}
