/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Determines which places of a range that was cut off are dead.  When the link to the head of a
 * range breaks, the head is reported at once.  Usually its heir joins soon after.  But the heir may
 * have died too, and the next one, and all that would have noticed; or it may be stopped, or not
 * have noticed yet.  To distinguish these cases, absent places with a known address (heirs.c) are
 * probed by connecting to them.  A place that refuses twice in a row, or whose machine does not
 * answer twice, is dead and reported; one that answers is alive and will join; one whose machine
 * accepts the connection while the daemon stays silent is given half a lease, or, if the head of
 * the range had fallen silent and part of the leases below it has passed, until seven eighths of
 * them have.  Only the head of the range is judged by its silence: the others do not wait for any
 * other place.  A head that died before its address was known is given the same time; the places
 * below it, which may not have noticed that it is stopped, until seven eighths of the leases.
 *
 * After a full lease every place of the range that is neither linked nor below a linked one counts
 * as lost, known or not: their leases were renewed only through us, and have expired.
 */
#include "config.h"

#include <string.h>

#include "overlay/core.h"

#define MISSES_MAX 2
#define PROBES_MIN \
    8                                   /* more once dead ones are found: most missing places are
                                         * alive */
#define LOOK_MAX_NS (6000 * 1000000ull) /* longer than the transport's own attempts */
#define LOOK_AGAIN  4                   /* heartbeats, for places known to be alive */

/* Living places join at once, but they may be busy. */
static uint64_t grace_ns(const struct overlay *overlay)
{
    return overlay->rejoin_ns / 4;
}

/* Longer than the time between the parent and the children noticing a silent place (lease.c),
 * shorter than the children's leases: half of those below a silent head have already passed. */
static uint64_t patience_ns(const struct overlay *overlay, const struct child *child)
{
    return child->was_closed ? overlay->lease_ns / 2 : overlay->lease_ns / 8 * 3;
}

/* A place redirected here from above needs a moment to arrive. */
static uint64_t arrival_ns(const struct overlay *overlay)
{
    return overlay->rejoin_ns / 8;
}

static void look_at(struct overlay *overlay, uint64_t due_ns)
{
    if (due_ns < overlay->absence_ns)
        overlay->absence_ns = due_ns;
}

/* The same, if it lies ahead. */
static void look_when(struct overlay *overlay, uint64_t due_ns)
{
    if (due_ns > overlay->now_ns)
        look_at(overlay, due_ns);
}

void absence_expect(struct overlay *overlay, struct child *child, uint64_t since_ns)
{
    uint64_t due_ns = since_ns + grace_ns(overlay);

    /* No place is judged before that, however long the range has been cut off. */
    child->since_ns = since_ns;
    if (since_ns + overlay->lease_ns / 8 * 3 < overlay->now_ns + arrival_ns(overlay))
        child->since_ns = overlay->now_ns + arrival_ns(overlay) - overlay->lease_ns / 8 * 3;
    if (due_ns < overlay->now_ns + arrival_ns(overlay))
        due_ns = overlay->now_ns + arrival_ns(overlay);
    look_at(overlay, due_ns);
}

static bool is_cut_off(const struct child *child)
{
    return child->head != TREE_NO_PLACE &&
           (child->state == CHILD_LOST || child->state == CHILD_HEIR);
}

/* Places of the range that are linked, or that a guest reports below it. */
static void find_present(const struct overlay *overlay, const struct child *child,
                         struct ranges *ret_present)
{
    for (const struct guest *guest = overlay->guests; guest != NULL; guest = guest->next) {
        if (guest->asked && membership_child_of(overlay, guest->place) == child) {
            ranges_add(ret_present, guest->place, guest->place);
            ranges_add_all(ret_present, &guest->join.arrived);
            ranges_add_all(ret_present, &guest->join.waiting);
        }
    }
    ranges_clip(ret_present, child->range.first, child->range.last);
}

/* ---- probing one place ---- */

static struct probe *probe_find(struct overlay *overlay, uint32_t place)
{
    for (uint32_t i = 0; overlay->search != NULL && i < OVERLAY_PROBES_MAX; i++) {
        if (overlay->search->probes[i].place == place)
            return &overlay->search->probes[i];
    }
    return NULL;
}

/* Place 0 is never probed: it marks a free slot. */
static struct probe *probe_open(struct overlay *overlay, uint32_t place)
{
    struct probe *probe = probe_find(overlay, place);

    if (probe != NULL)
        return probe;
    (void)heirs_search(overlay);
    probe = probe_find(overlay, 0);
    if (probe == NULL || probe - overlay->search->probes >= PROBES_MIN + overlay->search->found)
        return NULL;
    *probe = (struct probe){.place = place, .due_ns = overlay->now_ns};
    return probe;
}

static void probe_close(struct overlay *overlay, struct probe *probe)
{
    if (probe->is_connecting)
        overlay_act(overlay, OVERLAY_ACTION_CLOSE)->place = probe->place;
    *probe = (struct probe){0};
}

static void report_dead(struct overlay *overlay, uint32_t place, enum endpoint_loss loss,
                        uint64_t silent_ns)
{
    deaths_report(overlay, &(struct overlay_death){.range = {place, place},
                                                   .loss = (uint8_t)loss,
                                                   .silent_ns = silent_ns});
}

/* Handles the outcome of an attempt; the death itself comes with the log. */
static void probe_result(struct overlay *overlay, struct probe *probe, enum endpoint_loss loss)
{
    uint32_t place = probe->place;

    probe->is_connecting = false;
    probe->is_silent = loss == ENDPOINT_LOSS_SILENT;
    probe->is_well = false;
    probe->due_ns = overlay->now_ns + overlay->heartbeat_ns / 2;
    look_at(overlay, probe->due_ns);
    if (loss != ENDPOINT_LOSS_CLOSED && loss != ENDPOINT_LOSS_REFUSED &&
        loss != ENDPOINT_LOSS_UNREACHABLE) {
        probe->misses = 0;
    } else if (++probe->misses >= MISSES_MAX && overlay_is_ready(overlay) && !overlay->leaving) {
        *probe = (struct probe){0};
        overlay->search->found++;
        report_dead(overlay, place, loss, 0);
    }
}

void absence_up(struct overlay *overlay, uint32_t place)
{
    struct probe *probe = place != 0 ? probe_find(overlay, place) : NULL;

    if (probe == NULL || !probe->is_connecting)
        return;
    /* It is alive.  If it does not need this link it closes it. */
    probe->is_connecting = probe->is_silent = false;
    probe->is_well = true;
    probe->misses = 0;
    probe->due_ns = overlay->now_ns + LOOK_AGAIN * overlay->heartbeat_ns;
}

bool absence_down(struct overlay *overlay, uint32_t place, enum endpoint_loss loss)
{
    struct probe *probe = place != 0 ? probe_find(overlay, place) : NULL;

    if (probe == NULL || !probe->is_connecting)
        return false;
    probe_result(overlay, probe, loss);
    return true;
}

static void probe_connect(struct overlay *overlay, struct probe *probe,
                          const struct addresses *addresses)
{
    struct overlay_action *action = overlay_act(overlay, OVERLAY_ACTION_CONNECT);
    uint64_t limit_ns = overlay->lease_ns / 8;

    action->place = probe->place;
    action->addresses = memory_copy(addresses, sizeof(*addresses));
    probe->is_connecting = true;
    probe->due_ns = overlay->now_ns + (limit_ns < LOOK_MAX_NS ? limit_ns : LOOK_MAX_NS);
}

static void probe_step(struct overlay *overlay, struct probe *probe,
                       const struct addresses *addresses)
{
    if (overlay->now_ns < probe->due_ns) {
        look_at(overlay, probe->due_ns);
        return;
    }
    if (probe->is_connecting) { /* for too long: a refusal would be quicker */
        overlay_act(overlay, OVERLAY_ACTION_CLOSE)->place = probe->place;
        probe_result(overlay, probe, ENDPOINT_LOSS_SILENT);
        return;
    }
    if (overlay_has_link(overlay, probe->place) || lateral_is_known(overlay, probe->place)) {
        /* The link is up, but it has not asked to join; if it is new the JOIN may be under way. */
        probe->is_silent = probe->is_linked;
        probe->is_linked = true;
        probe->due_ns = overlay->now_ns + overlay->heartbeat_ns;
    } else {
        probe->is_linked = false;
        probe_connect(overlay, probe, addresses);
    }
    look_at(overlay, probe->due_ns);
}

/* ---- one range ---- */

static bool is_absent(const struct overlay *overlay, const struct ranges *present, uint32_t place)
{
    return place < overlay->population && !ranges_contains(present, place) &&
           !ranges_contains(&overlay->dead, place);
}

static void look_for(struct overlay *overlay, uint32_t place, const struct addresses *addresses)
{
    struct probe *probe = probe_open(overlay, place);

    if (probe != NULL)
        probe_step(overlay, probe, addresses);
}

/* The head first, since the others wait for it; then others of the range that may have died with
 * it, so that many simultaneous deaths are not found one at a time. */
static void look_for_all(struct overlay *overlay, const struct child *child,
                         const struct ranges *present)
{
    struct overlay_heir heir = {.place = child->head};

    if (is_absent(overlay, present, child->head) &&
        heirs_find(overlay, child, child->head, &heir.addresses))
        look_for(overlay, child->head, &heir.addresses);
    while (heirs_next(overlay, child, heir.place, &heir)) {
        if (is_absent(overlay, present, heir.place))
            look_for(overlay, heir.place, &heir.addresses);
    }
}

static void judge_head(struct overlay *overlay, struct child *child, const struct ranges *present)
{
    struct probe *probe = probe_find(overlay, child->head);
    uint64_t silent_ns = overlay->now_ns - child->since_ns;

    if (child->state != CHILD_HEIR || probe == NULL || !probe->is_silent ||
        !is_absent(overlay, present, child->head))
        return;
    if (silent_ns >= patience_ns(overlay, child)) {
        uint32_t place = child->head;

        probe_close(overlay, probe);
        report_dead(overlay, place, ENDPOINT_LOSS_SILENT, silent_ns);
    } else if (!child->is_noticed && silent_ns >= lease_notice_ns(overlay)) {
        child->is_noticed = true;
        lease_tell_silent(overlay, child->head, silent_ns);
    }
}

/* Takes candidate places; those linked or already dead are skipped. */
static void report_absent(struct overlay *overlay, const struct child *child,
                          const struct ranges *present, struct ranges *absent)
{
    ranges_clip(absent, child->range.first, child->range.last);
    ranges_clip(absent, 0, overlay->population - 1);
    ranges_remove_all(absent, present);
    ranges_remove_all(absent, &overlay->dead);
    for (uint32_t i = 0; i < absent->count; i++)
        deaths_report(overlay, &(struct overlay_death){.range = absent->items[i]});
    ranges_fini(absent);
}

/* The first place of the range that probing has shown to be alive. */
static uint32_t first_sign(const struct overlay *overlay, const struct child *child)
{
    uint32_t first = TREE_NO_PLACE;

    for (uint32_t i = 0; overlay->search != NULL && i < OVERLAY_PROBES_MAX; i++) {
        const struct probe *probe = &overlay->search->probes[i];

        if (probe->place != 0 && probe->place < first && (probe->is_silent || probe->is_well) &&
            membership_child_of(overlay, probe->place) == child)
            first = probe->place;
    }
    return first;
}

/* When the places below a stopped head have left it, an eighth before their leases end. */
static uint64_t patience_below_ns(const struct overlay *overlay, const struct child *child)
{
    return overlay->lease_ns / 8 * (child->was_closed ? 7 : 3);
}

/* Reports all places that are not below one known to be alive. */
static void report_unknown(struct overlay *overlay, const struct child *child,
                           const struct ranges *present)
{
    uint32_t sign = first_sign(overlay, child);
    struct ranges absent = {0};

    if (sign == TREE_NO_PLACE) {
        ranges_copy(&absent, &overlay->arrived);
        /* No place before the first linked one is present, whether known or not. */
        ranges_add(&absent, child->range.first, ranges_min(present));
    } else if (sign > child->head) {
        ranges_add(&absent, child->head, sign - 1);
    }
    report_absent(overlay, child, present, &absent);
}

/* The head's address is not known: if it died, it was before sending it.  After half a lease it should
 * have joined; the places below it may have had to wait for its silence to be noticed, and should
 * have joined when 7/8 of their leases are over. */
static void judge_unknown(struct overlay *overlay, struct child *child,
                          const struct ranges *present)
{
    uint64_t since_ns = overlay->now_ns - child->since_ns;
    struct addresses addresses;

    if (ranges_is_empty(present) || !is_absent(overlay, present, child->head) ||
        heirs_find(overlay, child, child->head, &addresses))
        return;
    if (since_ns >= patience_below_ns(overlay, child)) {
        report_unknown(overlay, child, present);
    } else if (since_ns >= patience_ns(overlay, child) && !child->is_judged) {
        child->is_judged = true;
        report_dead(overlay, child->head, ENDPOINT_LOSS_UNKNOWN, 0);
    }
    look_when(overlay, child->since_ns + patience_ns(overlay, child));
    look_when(overlay, child->since_ns + patience_below_ns(overlay, child));
}

static void check_range(struct overlay *overlay, struct child *child)
{
    struct ranges present = {0};

    find_present(overlay, child, &present);
    if (overlay->now_ns - child->since_ns > overlay->lease_ns) {
        struct ranges all = {0};

        ranges_add(&all, child->range.first, child->range.last);
        report_absent(overlay, child, &present, &all);
    } else {
        look_for_all(overlay, child, &present);
        judge_head(overlay, child, &present);
        judge_unknown(overlay, child, &present);
    }
    ranges_fini(&present);
}

void absence_recheck(struct overlay *overlay)
{
    if (overlay->absence_ns != OVERLAY_NEVER_NS)
        overlay->absence_ns = overlay->now_ns;
}

/* Drops probes of ranges that are complete again, and of dead places. */
static void forget_probes(struct overlay *overlay)
{
    for (uint32_t i = 0; overlay->search != NULL && i < OVERLAY_PROBES_MAX; i++) {
        struct probe *probe = &overlay->search->probes[i];
        const struct child *child =
            probe->place != 0 ? membership_child_of(overlay, probe->place) : NULL;

        if (probe->place != 0 &&
            (child == NULL || !is_cut_off(child) || ranges_contains(&overlay->dead, probe->place)))
            probe_close(overlay, probe);
    }
}

/* Ranges not settled when the grace period ends are checked again once a heartbeat. */
void absence_timer(struct overlay *overlay)
{
    overlay->absence_ns = OVERLAY_NEVER_NS;
    forget_probes(overlay);
    for (uint32_t i = 0; i < overlay->children_count && !overlay->ended; i++) {
        uint64_t due_ns = overlay->children[i].since_ns + grace_ns(overlay);

        if (!is_cut_off(&overlay->children[i]))
            continue;
        if (overlay->now_ns >= due_ns) {
            due_ns = overlay->now_ns + overlay->heartbeat_ns;
            if (overlay_is_ready(overlay) && !overlay->leaving)
                check_range(overlay, &overlay->children[i]);
        }
        look_at(overlay, due_ns);
    }
    if (overlay->search != NULL && overlay->absence_ns == OVERLAY_NEVER_NS)
        overlay->search->found = 0;
}

void absence_close(struct overlay *overlay)
{
    for (uint32_t i = 0; overlay->search != NULL && i < OVERLAY_PROBES_MAX; i++) {
        if (overlay->search->probes[i].place != 0)
            probe_close(overlay, &overlay->search->probes[i]);
    }
}
