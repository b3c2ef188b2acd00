/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large broadcasts.  The entry of the log (LARGE) has only the size; its payload is a stream from
 * the root over two trees among the members, or over the main tree if that is cheaper, if a place
 * has not joined yet, or after a lateral link has failed (announced by the entry REROUTE).  Order,
 * replay and acknowledgement are those of any entry: a member without the whole payload does not
 * have the entry, so it keeps and does not acknowledge it.  When all members have it, the root logs
 * SETTLED, and the stream is forgotten everywhere.
 *
 * Upcalls keep the root's order: they wait for an earlier payload that is still incomplete.
 *
 * The bytes of an entry never change, so an attempt (the number of all deaths and recoveries) only changes the
 * edges: bytes already received are kept.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "overlay/broadcast.h"
#include "overlay/stream.h"
#include "overlay/stream_cost.h"

struct large_entry {
    struct large_entry *next; /* ascending */
    uint64_t sequence;
    struct ranges set;   /* empty: all places */
    uint32_t population; /* at that time: later places are not concerned */
    struct stream_large size;
    struct stream *stream; /* NULL: this place is not a member, and has nothing to forward */
    bool member;
    bool rerouted;        /* over the main tree */
    bool broken_reported; /* in this attempt */
    bool settled;         /* the root: SETTLED has been logged */
};

/* A pending upcall, in the root's order. */
struct upward {
    struct upward *next;
    uint64_t large; /* the payload of this entry, or 0 */
    struct message *payload;
    enum overlay_action_kind kind; /* of deaths and changes of membership; else BROADCAST */
    struct ranges places;
};

/* ---- upward ---- */

static struct large_entry *large_find(const struct overlay *overlay, uint64_t sequence)
{
    struct large_entry *large = overlay->broadcast.large;

    while (large != NULL && large->sequence != sequence)
        large = large->next;
    return large;
}

static struct upward *upward_add(struct overlay *overlay)
{
    struct upward **link = &overlay->broadcast.upward;
    struct upward *upward = memory_allocate_zeroed(sizeof(*upward));

    while (*link != NULL)
        link = &(*link)->next;
    upward->kind = OVERLAY_ACTION_BROADCAST;
    *link = upward;
    return upward;
}

static void upward_remove_first(struct overlay *overlay)
{
    struct upward *upward = overlay->broadcast.upward;

    overlay->broadcast.upward = upward->next;
    message_release(upward->payload);
    ranges_fini(&upward->places);
    free(upward);
}

static void upward_tell(struct overlay *overlay, struct upward *upward)
{
    struct overlay_action *action;

    action = overlay_act(overlay, upward->kind);
    ranges_move(&action->places, &upward->places);
    action->payload = upward->payload;
    upward->payload = NULL;
}

/* Makes the upcalls that need not wait any longer. */
static void upward_flush(struct overlay *overlay)
{
    while (overlay->broadcast.upward != NULL) {
        struct upward *first = overlay->broadcast.upward;

        if (first->large > 0) {
            const struct large_entry *large = large_find(overlay, first->large);

            if (!stream_is_complete(large->stream))
                return;
            first->payload = stream_bytes(large->stream);
        }
        upward_tell(overlay, first);
        upward_remove_first(overlay);
    }
}

void broadcast_tell(struct overlay *overlay, struct message *payload)
{
    upward_add(overlay)->payload = payload;
    upward_flush(overlay);
}

void broadcast_tell_places(struct overlay *overlay, enum overlay_action_kind kind,
                           const struct ranges *places)
{
    struct upward *upward = upward_add(overlay);

    upward->kind = kind;
    ranges_copy(&upward->places, places);
    upward_flush(overlay);
}

/* ---- routes ---- */

static bool is_relevant(const struct large_entry *large, struct range range)
{
    return ranges_is_empty(&large->set) || ranges_overlap(&large->set, range.first, range.last);
}

static bool concerns_child(const struct large_entry *large, const struct child *child)
{
    return is_relevant(large, child->range) && child->head < large->population;
}

static void add_main_tree(struct overlay *overlay, const struct large_entry *large)
{
    if (join_has_parent(overlay))
        stream_add_edge(overlay, large->stream, overlay->join.target, STREAM_TREE_BOTH);
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        const struct child *child = &overlay->children[i];

        if (child->state == CHILD_LINKED && concerns_child(large, child))
            stream_add_edge(overlay, large->stream, child->head, STREAM_TREE_BOTH);
    }
}

/* The members except the root, which is the source. */
static void living_of(const struct overlay *overlay, const struct large_entry *large,
                      struct ranges *ret_living)
{
    if (ranges_is_empty(&large->set))
        ranges_add(ret_living, 0, large->population - 1);
    else
        ranges_copy(ret_living, &large->set);
    ranges_remove(ret_living, 0, 0);
    ranges_remove_all(ret_living, &overlay->dead);
}

static bool goes_main_tree(const struct large_entry *large)
{
    return large->rerouted || large->size.algorithm == STREAM_MAIN_TREE;
}

/* Sets the route from the current tree and log. */
static void take_route(struct overlay *overlay, struct large_entry *large)
{
    uint32_t attempt = (uint32_t)ranges_count(&overlay->dead) + overlay->recoveries;
    struct stream_name name = {.entry = large->sequence};
    struct ranges living = {0};

    large->broken_reported = false;
    if (large->stream == NULL && (large->member || goes_main_tree(large)))
        large->stream = stream_create(overlay, &name, attempt, large->size.total_bytes,
                                      large->size.chunk_bytes);
    if (large->stream == NULL)
        return;
    stream_route(overlay, large->stream, attempt, large->rerouted, !goes_main_tree(large));
    if (goes_main_tree(large)) {
        add_main_tree(overlay, large);
    } else if (large->member) {
        living_of(overlay, large, &living);
        stream_add_two_trees(overlay, large->stream, &living, 0);
        ranges_fini(&living);
    }
    stream_go(overlay, large->stream);
}

/* A death changes the trees; bytes already received are kept. */
void broadcast_large_death(struct overlay *overlay)
{
    for (struct large_entry *large = overlay->broadcast.large; large != NULL; large = large->next)
        take_route(overlay, large);
}

/* A link up or down has changed: on the main tree it is an edge. */
void broadcast_large_linked(struct overlay *overlay, uint32_t place)
{
    const struct child *child = membership_linked(overlay, place);

    for (struct large_entry *large = overlay->broadcast.large; large != NULL; large = large->next) {
        if (large->stream != NULL && goes_main_tree(large) &&
            (child == NULL || concerns_child(large, child))) {
            stream_drop_edge(large->stream, place); /* messages of an old link are void */
            stream_add_edge(overlay, large->stream, place, STREAM_TREE_BOTH);
            stream_go(overlay, large->stream);
        }
    }
}

/* ---- entries ---- */

static struct large_entry *large_add(struct overlay *overlay, const struct overlay_entry *entry,
                                     const struct stream_large *size)
{
    struct large_entry **link = &overlay->broadcast.large;
    struct large_entry *large = memory_allocate_zeroed(sizeof(*large));
    struct range here = {overlay->place, overlay->place};

    while (*link != NULL)
        link = &(*link)->next;
    *link = large;
    large->sequence = entry->sequence;
    large->size = *size;
    large->population = overlay->population;
    ranges_copy(&large->set, &entry->set);
    large->member = is_relevant(large, here) || overlay_is_root(overlay);
    return large;
}

static void large_remove(struct overlay *overlay, struct large_entry *large)
{
    struct large_entry **link = &overlay->broadcast.large;

    while (*link != large)
        link = &(*link)->next;
    *link = large->next;
    stream_destroy(overlay, large->stream);
    ranges_fini(&large->set);
    free(large);
}

void broadcast_large_take(struct overlay *overlay, const struct overlay_entry *entry,
                          const struct stream_large *size, bool is_new)
{
    const struct message *offered = overlay->broadcast.offered;
    struct range here = {overlay->place, overlay->place};
    struct large_entry *large;

    if (entry->kind == OVERLAY_ENTRY_LARGE) {
        if (large_find(overlay, entry->sequence) != NULL)
            return;
        large = large_add(overlay, entry, size);
        if (is_relevant(large, here) && !is_new) {
            large_remove(overlay, large); /* was ours, and is finished */
            return;
        }
        if (is_relevant(large, here))
            upward_add(overlay)->large = entry->sequence;
        take_route(overlay, large);
        if (offered != NULL)
            stream_offer(overlay, large->stream, 0, offered->data, offered->length_bytes);
        upward_flush(overlay);
        return;
    }
    large = large_find(overlay, size->sequence);
    if (large == NULL)
        return;
    if (entry->kind == OVERLAY_ENTRY_REROUTE && !large->rerouted) {
        large->rerouted = true;
        take_route(overlay, large);
    } else if (entry->kind == OVERLAY_ENTRY_SETTLED &&
               !broadcast_large_is_awaited(overlay, large->sequence)) {
        large_remove(overlay, large);
    }
}

bool broadcast_large_is_awaited(const struct overlay *overlay, uint64_t sequence)
{
    const struct large_entry *large = large_find(overlay, sequence);

    return large != NULL && large->member && !stream_is_complete(large->stream);
}

void broadcast_large_complete(struct overlay *overlay)
{
    upward_flush(overlay);
    broadcast_trim(overlay);
}

/* ---- the root ---- */

/* The lateral links of the last one are still open, or it shows that there will be more. */
static bool is_warm(const struct overlay *overlay)
{
    return overlay->broadcast.streamed_ns > 0 &&
           overlay->now_ns < overlay->broadcast.streamed_ns + LATERAL_IDLE_NS;
}

/* Whether it is large enough to stream, and over which trees. */
static bool is_better_streamed(const struct overlay *overlay, const struct ranges *set,
                               size_t bytes, struct stream_large *ret_size)
{
    struct tree tree = overlay_tree(overlay);
    struct stream_shape shape = {.members = set == NULL ? overlay->population
                                                        : (uint32_t)ranges_count(set) + 1,
                                 .depth = tree_depth(&tree),
                                 .radix = overlay->radix,
                                 .one_source = true,
                                 .is_warm = is_warm(overlay),
                                 .costs = measure_costs(overlay),
                                 .trees = overlay->trees};
    uint64_t release_ns;
    uint64_t main_ns;
    uint64_t two_ns;

    if (shape.radix > overlay->population)
        shape.radix = overlay->population;
    release_ns = stream_cost_release(&shape, bytes);
    main_ns = stream_cost_main_tree(&shape, bytes);
    two_ns = stream_cost_two_trees(&shape, bytes);
    ret_size->total_bytes = (uint32_t)bytes;
    ret_size->algorithm = STREAM_TWO_TREES;
    if (!overlay->complete_reported || main_ns < two_ns)
        ret_size->algorithm = STREAM_MAIN_TREE;
    ret_size->chunk_bytes =
        stream_chunk_bytes(&shape, (enum stream_algorithm)ret_size->algorithm, bytes);
    return bytes > ENDPOINT_PAYLOAD_BYTES_MAX ||
           (bytes > STREAM_CHUNK_BYTES_MIN && release_ns > (main_ns < two_ns ? main_ns : two_ns));
}

void broadcast_user(struct overlay *overlay, const struct ranges *set, struct message *payload)
{
    size_t bytes = payload != NULL ? payload->length_bytes : 0;
    struct stream_large size = {0};
    struct buffer packed = {0};

    if (!is_better_streamed(overlay, set, bytes, &size)) {
        broadcast_append(overlay, OVERLAY_ENTRY_USER, set, payload != NULL ? payload->data : NULL,
                         bytes);
        return;
    }
    overlay->broadcast.offered = payload;
    overlay->broadcast.streamed_ns = overlay->now_ns;
    stream_put_large(&size, &packed);
    broadcast_append(overlay, OVERLAY_ENTRY_LARGE, set, packed.data, packed.length_bytes);
    overlay->broadcast.offered = NULL;
    buffer_fini(&packed);
}

static void log_about(struct overlay *overlay, const struct large_entry *large,
                      enum overlay_entry_kind kind)
{
    struct stream_large size = large->size;
    struct buffer packed = {0};
    struct ranges set = {0};

    size.sequence = large->sequence;
    ranges_copy(&set, &large->set); /* the entry may be freed once it has been logged */
    stream_put_large(&size, &packed);
    broadcast_append(overlay, kind, ranges_is_empty(&set) ? NULL : &set, packed.data,
                     packed.length_bytes);
    buffer_fini(&packed);
    ranges_fini(&set);
}

void broadcast_large_trimmed(struct overlay *overlay)
{
    for (struct large_entry *large = overlay->broadcast.large; large != NULL; large = large->next) {
        if (large->settled || broadcast_is_kept(overlay, large->sequence) ||
            broadcast_large_is_awaited(overlay, large->sequence))
            continue;
        large->settled = true;
        log_about(overlay, large, OVERLAY_ENTRY_SETTLED);
        return; /* which has checked the others */
    }
}

/* Payloads come from many sides: no place leaves while one that has ever joined waits. */
bool broadcast_large_is_under_way(const struct overlay *overlay)
{
    for (const struct large_entry *large = overlay->broadcast.large; large != NULL;
         large = large->next) {
        for (uint32_t i = 0; i < overlay->children_count && !large->settled; i++) {
            const struct child *child = &overlay->children[i];

            if (child->state != CHILD_EMPTY && child->state != CHILD_GONE &&
                child->head != TREE_NO_PLACE && child->acked < large->sequence &&
                is_relevant(large, child->range))
                return true;
        }
    }
    return false;
}

/* ---- broken ---- */

static void tell_broken(struct overlay *overlay, struct large_entry *large, uint64_t sequence)
{
    struct stream_name name = {.entry = sequence};
    struct frame frame;

    if (large != NULL && (large->broken_reported || large->rerouted))
        return;
    if (large != NULL)
        large->broken_reported = true;
    if (overlay_is_root(overlay)) {
        if (large != NULL)
            log_about(overlay, large, OVERLAY_ENTRY_REROUTE);
    } else if (join_has_parent(overlay)) {
        stream_encode_broken(&name, 0, 0, &frame);
        overlay_send(overlay, overlay->join.target, &frame);
    }
}

void broadcast_large_broken(struct overlay *overlay, uint64_t sequence)
{
    tell_broken(overlay, large_find(overlay, sequence), sequence);
}

void broadcast_large_fini(struct overlay *overlay)
{
    while (overlay->broadcast.large != NULL)
        large_remove(overlay, overlay->broadcast.large);
    while (overlay->broadcast.upward != NULL)
        upward_remove_first(overlay);
}
