/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/soak/explore_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "overlay/overlay_print.h"
#include "overlay/stream_cost.h"
#include "overlay/tree.h"
#include "test/support/laterals.h"

#define NEVER_NS UINT64_MAX
#define BEGIN_NS (1000 * EXPLORE_MS)

/* Waves of heartbeats are as rare as leases allow: what is explored is what links tell. */
#define HEARTBEAT_NS (EXPLORE_LEASE_NS / 2 - 100 * EXPLORE_MS)
/* A frame that is late is late by less: more may cost its receiver the membership. */
#define HURRY_NS (EXPLORE_LEASE_NS / 8)
/* Of healing.  Who died with all who would have noticed is counted after a lease. */
#define BOUND_NS (EXPLORE_LEASE_NS / 2 * 3)
/* Of a lease: nobody is stopped for longer. */
#define STOP_EIGHTHS 11
/* Of lateral links (overlay/lateral.c). */
#define IDLE_NS (10000 * EXPLORE_MS)
/* A stall of a stream would heal what should not happen. */
#define STALL_NEVER_NS (3600000 * EXPLORE_MS)

struct world *world;

/* Places that there may come to be. */
uint32_t world_capacity(void)
{
    return world->scenario->places + world->scenario->more;
}

/* The linker sends calls of it here (--wrap). */
uint64_t __real_stream_cost_two_trees(const struct stream_shape *shape, uint64_t bytes);
uint64_t __wrap_stream_cost_two_trees(const struct stream_shape *shape, uint64_t bytes);

uint64_t __wrap_stream_cost_two_trees(const struct stream_shape *shape, uint64_t bytes)
{
    return world->scenario->two_trees ? 0 : __real_stream_cost_two_trees(shape, bytes);
}

uint64_t __real_stream_cost_via_top(const struct stream_shape *shape, uint64_t bytes);
uint64_t __wrap_stream_cost_via_top(const struct stream_shape *shape, uint64_t bytes);

uint64_t __wrap_stream_cost_via_top(const struct stream_shape *shape, uint64_t bytes)
{
    return world->scenario->via_top ? 0 : __real_stream_cost_via_top(shape, bytes);
}

/* ---- links ---- */

/* The caller's then. */
static struct frame end_take(struct end *end, uint32_t class)
{
    struct packet *packet = end->packets[class];
    struct frame frame = packet->frame;

    end->packets[class] = packet->next;
    free(packet);
    return frame;
}

static void end_append(struct end *end, const struct frame *frame)
{
    struct packet **link = &end->packets[frame->class];

    while (*link != NULL)
        link = &(*link)->next;
    *link = memory_allocate_zeroed(sizeof(**link));
    (*link)->frame = *frame;
}

static void end_clear(struct end *end)
{
    for (uint32_t class = 0; class < FRAME_CLASS_COUNT; class ++) {
        while (end->packets[class] != NULL)
            message_release(end_take(end, class).payload);
    }
    memset(end, 0, sizeof(*end));
}

static bool end_is_empty(const struct end *end)
{
    return !end->connected && end->packets[FRAME_CONTROL] == NULL &&
           end->packets[FRAME_COLLECTIVE] == NULL && end->packets[FRAME_BULK] == NULL;
}

/* The other end, if it belongs to the same link. */
struct end *world_end_other(uint32_t place, uint32_t peer)
{
    struct end *end = &world->places[place].ends[peer];
    struct end *other = &world->places[peer].ends[place];

    return other->state != END_NONE && other->link == end->link ? other : NULL;
}

/* Returns false if it is refused on the spot. */
static bool link_connect(uint32_t place, uint32_t peer)
{
    struct end *end = &world->places[place].ends[peer];

    if (end->state != END_NONE)
        return false;
    end->state = END_CONNECTING;
    /* Not the number of the peer's own attempt, which may be under way. */
    end->link = 2 * ++world->places[place].links[peer] + (place > peer);
    world->places[place].asks[peer] = end->link;
    return true;
}

static void link_send(uint32_t place, uint32_t peer, struct frame *frame)
{
    const struct end *end = &world->places[place].ends[peer];
    struct end *other = world_end_other(place, peer);

    if (end->state != END_UP || end->connected || other == NULL) {
        message_release(frame->payload);
        return;
    }
    end_append(other, frame);
}

static void link_close(uint32_t place, uint32_t peer, bool is_cut)
{
    struct end *end = &world->places[place].ends[peer];
    struct end *other;

    if (end->state == END_NONE)
        return;
    other = world_end_other(place, peer);
    if (other != NULL) {
        other->down = true;
        other->is_cut = other->is_cut || is_cut;
    }
    world->places[place].asks[peer] = 0;
    end_clear(end);
}

static void place_is_gone(uint32_t place, bool is_cut)
{
    world->places[place].gone = true;
    world->places[place].deadline_ns = NEVER_NS;
    for (uint32_t peer = 0; peer < world_capacity(); peer++)
        link_close(place, peer, is_cut);
    if (!world->checker.complete)
        world->places[place].failed = true;
}

bool world_is_alive(uint32_t place)
{
    return world->places[place].overlay != NULL && !world->places[place].gone;
}

static void answer(uint32_t place, const struct overlay_action *action)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_REPLY,
                                  .place = action->place,
                                  .id = action->id,
                                  .payload = action->payload};

    if (world_is_alive(place))
        world_step(place, &event);
}

/* ---- one step ---- */

static void act(uint32_t place, struct overlay_action *action)
{
    struct overlay_event refused = {.kind = OVERLAY_EVENT_DOWN, .place = action->place};

    switch (action->kind) {
    case OVERLAY_ACTION_CONNECT:
        if (!link_connect(place, action->place))
            world_step(place, &refused);
        break;
    case OVERLAY_ACTION_CLOSE:
        link_close(place, action->place, false);
        break;
    case OVERLAY_ACTION_SEND:
        checker_sent(&world->checker, place, &action->frame);
        link_send(place, action->place, &action->frame);
        action->frame.payload = NULL;
        break;
    default:
        assert(action->kind == OVERLAY_ACTION_TIMER);
        world->places[place].deadline_ns =
            action->deadline_ns > world->now_ns ? action->deadline_ns : world->now_ns;
    }
}

static void tell(uint32_t place, const struct overlay_action *action)
{
    struct checker *checker = &world->checker;

    switch (action->kind) {
    case OVERLAY_ACTION_JOINED:
        checker_told_joined(checker, place);
        break;
    case OVERLAY_ACTION_COMPLETE:
        checker_told_complete(checker);
        break;
    case OVERLAY_ACTION_BROADCAST:
        checker_told_broadcast(checker, place, world->now_ns, action->payload);
        break;
    case OVERLAY_ACTION_RESULT:
        checker_told_result(checker, place, world->now_ns, &action->key, action->status,
                            &action->places, action->payload);
        task_go_on(place, &action->key);
        break;
    case OVERLAY_ACTION_REQUEST:
        answer(place, action);
        break;
    case OVERLAY_ACTION_REPLY:
        checker_told_reply(checker, place, action->id, action->status);
        break;
    case OVERLAY_ACTION_DEAD:
        checker_told_dead(checker, place, world->now_ns, &action->places);
        break;
    case OVERLAY_ACTION_LEFT:
        checker_told_left(checker, place, world->now_ns, &action->places);
        break;
    case OVERLAY_ACTION_GROWN:
        checker_told_grown(checker, place, world->now_ns, &action->places);
        break;
    case OVERLAY_ACTION_ENDED:
        checker_ended(checker, place, action->end);
        place_is_gone(place, false);
        break;
    default:
        break;
    }
}

static struct checker_view view_of(const struct overlay *overlay)
{
    return (struct checker_view){.parent = overlay_parent(overlay),
                                 .degree = overlay_degree(overlay),
                                 .kept_entries = overlay_kept_entries(overlay),
                                 .kept_operations = overlay_kept_operations(overlay),
                                 .kept_stream_bytes = overlay_kept_stream_bytes(overlay)};
}

/* The same when all has been over for a while. */
static struct checker_view view_at_rest_of(const struct overlay *overlay)
{
    struct checker_view view = view_of(overlay);

    view.early_opens = overlay_early_opens(overlay);
    return view;
}

/* What goes to the world is done first, as overlay/endpoint.c does. */
void world_step(uint32_t place, struct overlay_event *event)
{
    struct overlay *overlay = world->places[place].overlay;
    struct overlay_actions actions = {0};
    struct checker_view view;

    event->now_ns = world->now_ns;
    overlay_step(overlay, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        if (actions.items[i].kind < OVERLAY_ACTION_FIRST_UPWARD)
            act(place, &actions.items[i]);
    }
    for (uint32_t i = 0; i < actions.count; i++) {
        if (actions.items[i].kind >= OVERLAY_ACTION_FIRST_UPWARD)
            tell(place, &actions.items[i]);
    }
    overlay_actions_fini(&actions);
    view = view_of(overlay);
    checker_limits(&world->checker, place, &view);
}

/* ---- the choices ---- */

/* Of a timer of those that are not stopped, or an eighth of a lease since somebody is. */
static uint64_t next_deadline_ns(void)
{
    uint64_t next_ns = NEVER_NS;

    for (uint32_t place = 0; place < world_capacity(); place++) {
        uint64_t at_ns = world->places[place].deadline_ns;

        if (world->places[place].stopped)
            at_ns = world->now_ns + EXPLORE_LEASE_NS / 8 -
                    (world->now_ns - world->stopped_ns) % (EXPLORE_LEASE_NS / 8);
        if (at_ns < next_ns)
            next_ns = at_ns;
    }
    return next_ns;
}

void choice_add(struct choice *choices, uint32_t *count, struct choice choice)
{
    assert(*count < EXPLORE_CHOICES_MAX);
    choices[(*count)++] = choice;
}

static void add_of_end(uint8_t place, uint8_t peer, struct choice *choices, uint32_t *count)
{
    const struct end *end = &world->places[place].ends[peer];
    struct choice choice = {.place = place, .peer = peer};

    if (world->places[peer].asks[place] != 0) {
        choice.kind = CHOICE_ACCEPT;
        choice_add(choices, count, choice);
    }
    if (end->connected) {
        choice.kind = CHOICE_CONNECTED;
        choice_add(choices, count, choice);
    }
    for (uint8_t class = 0; class < FRAME_CLASS_COUNT && !end->connected; class ++) {
        choice.kind = CHOICE_FRAME;
        choice.class = class;
        if (end->packets[class] != NULL)
            choice_add(choices, count, choice);
    }
    choice.kind = CHOICE_DOWN;
    choice.class = 0;
    if (end->down && (end->is_cut || end_is_empty(end)))
        choice_add(choices, count, choice);
}

/* What is under way, and what is due. */
static void add_deliveries(struct choice *choices, uint32_t *count)
{
    for (uint8_t place = 0; place < world_capacity(); place++) {
        const struct place *at = &world->places[place];

        if (at->stopped)
            continue;
        for (uint8_t peer = 0; peer < world_capacity(); peer++)
            add_of_end(place, peer, choices, count);
        if (at->deadline_ns <= world->now_ns)
            choice_add(choices, count, (struct choice){.kind = CHOICE_TIMER, .place = place});
        if (at->failed && world_is_alive(0))
            choice_add(choices, count, (struct choice){.kind = CHOICE_FAILED, .place = place});
    }
}

static void add_starts(struct choice *choices, uint32_t *count)
{
    for (uint8_t place = 0; place < world->checker.population; place++) {
        if (world->places[place].overlay == NULL && !world->places[place].gone)
            choice_add(choices, count, (struct choice){.kind = CHOICE_START, .place = place});
    }
}

static void add_calls(struct choice *choices, uint32_t *count)
{
    for (uint8_t i = 0; i < world->tasks_count; i++) {
        if (task_may_begin(&world->tasks[i]))
            choice_add(choices, count,
                       (struct choice){.kind = CHOICE_CALL,
                                       .index = i,
                                       .place = (uint8_t)world->tasks[i].call.place});
    }
}

static void add_kills(struct choice *choices, uint32_t *count)
{
    const struct scenario *scenario = world->scenario;

    for (uint8_t place = 0; place < world_capacity() && world->deaths > 0; place++) {
        if (!world->places[place].gone && scenario->root_may_die == (place == 0) &&
            (scenario->from_start || world_is_alive(place)))
            choice_add(choices, count, (struct choice){.kind = CHOICE_KILL, .place = place});
    }
}

static uint64_t stop_eighths(void)
{
    return world->scenario->stop_eighths > 0 ? world->scenario->stop_eighths : STOP_EIGHTHS;
}

/* Who is not at rest by then never will be. */
static uint64_t horizon_ns(void)
{
    uint64_t fault_ns = world->checker.last_fault_ns;

    if (trouble_is_stopped())
        return world->stopped_ns + EXPLORE_LEASE_NS / 8 * stop_eighths();
    return (fault_ns > world->begin_ns ? fault_ns : world->begin_ns) + 2 * EXPLORE_LEASE_NS;
}

/* Time goes on if nothing else can and somebody waits; or before frames that are late. */
static bool may_advance(bool is_early)
{
    uint64_t next_ns = next_deadline_ns();

    if (next_ns <= world->now_ns || next_ns > horizon_ns())
        return false;
    if (!is_early)
        return !world_is_quiet() || trouble_is_stopped();
    return world->is_open && world->hurries > 0 && next_ns < world->now_ns + HURRY_NS;
}

uint32_t world_choices(struct choice *choices)
{
    struct choice advance = {.kind = CHOICE_ADVANCE};
    uint32_t count = 0;

    add_deliveries(choices, &count);
    add_starts(choices, &count);
    if (count == 0)
        trouble_continue_choices(choices, &count);
    advance.index = count > 0 && !trouble_is_stopped();
    if (may_advance(count > 0 && choices[0].kind != CHOICE_CONTINUE))
        choice_add(choices, &count, advance);
    if (!world->is_open)
        return count;
    add_calls(choices, &count);
    add_kills(choices, &count);
    trouble_choices(choices, &count);
    return count;
}

/* ---- doing it ---- */

/* The static ancestors, nearest first, as a boot record would name them. */
static void start(uint32_t place)
{
    struct tree tree = {.places = world->scenario->places,
                        .radix = world->scenario->radix,
                        .population = place + 1};
    struct endpoint_ancestor ancestors[EXPLORE_PLACES_MAX] = {{0}};
    struct endpoint_config config = {.place = place,
                                     .places = tree.places,
                                     .radix = tree.radix,
                                     .incarnation = 1,
                                     .heartbeat_ns = world->scenario->stops > 0 ? EXPLORE_OFTEN_NS
                                                                                : HEARTBEAT_NS,
                                     .lease_ns = EXPLORE_LEASE_NS,
                                     .stall_ns = world->scenario->is_patient ? STALL_NEVER_NS : 0,
                                     .long_set_ranges = world->scenario->long_sets,
                                     .inline_bytes = 8 * 1024,
                                     .ancestors = ancestors,
                                     .merges = explore_merges,
                                     .merges_count = 1};
    struct overlay_event event = {.kind = OVERLAY_EVENT_START};

    config.own.count = 1;
    config.own.items[0].length_bytes = 1;
    config.own.items[0].bytes[0] = (uint8_t)place;
    for (uint32_t at = place; at != 0;) {
        at = tree_parent(&tree, at);
        ancestors[config.ancestors_count++].place = at;
    }
    world->places[place].overlay = overlay_create(&config);
    checker_started(&world->checker, place, 1);
    world_step(place, &event);
}

static void accept(uint32_t place, uint32_t peer)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_UP, .place = peer, .incarnation = 1};
    struct end *theirs = &world->places[peer].ends[place];
    struct end *ours = &world->places[place].ends[peer];

    world->places[peer].asks[place] = 0;
    if (!world_is_alive(place) || ours->state != END_NONE) {
        theirs->down = true;
        theirs->is_refused = !world_is_alive(place);
        return;
    }
    ours->state = END_UP;
    ours->link = theirs->link;
    theirs->connected = true;
    world_step(place, &event);
}

static void connected(uint32_t place, uint32_t peer)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_UP, .place = peer, .incarnation = 1};

    world->places[place].ends[peer].connected = false;
    world->places[place].ends[peer].state = END_UP;
    world_step(place, &event);
}

static void deliver(uint32_t place, uint32_t peer, uint32_t class)
{
    struct frame frame = end_take(&world->places[place].ends[peer], class);
    struct overlay_event event = {.kind = OVERLAY_EVENT_FRAME, .place = peer, .frame = &frame};

    checker_delivered(&world->checker, peer, place, &frame);
    world_step(place, &event);
    message_release(frame.payload);
}

static void down(uint32_t place, uint32_t peer)
{
    bool is_refused = world->places[place].ends[peer].is_refused;
    struct overlay_event event = {.kind = OVERLAY_EVENT_DOWN,
                                  .place = peer,
                                  .loss =
                                      is_refused ? ENDPOINT_LOSS_REFUSED : ENDPOINT_LOSS_UNKNOWN};

    end_clear(&world->places[place].ends[peer]);
    world_step(place, &event);
}

static void kill(uint32_t place)
{
    world->deaths--;
    checker_killed(&world->checker, place, world->now_ns);
    place_is_gone(place, true);
}

static void advance(void)
{
    world->now_ns = next_deadline_ns();
    trouble_time_passes();
}

static void apply(const struct choice *choice)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_TIMER, .place = choice->place};

    switch (choice->kind) {
    case CHOICE_FRAME:
        deliver(choice->place, choice->peer, choice->class);
        break;
    case CHOICE_ACCEPT:
        accept(choice->place, choice->peer);
        break;
    case CHOICE_CONNECTED:
        connected(choice->place, choice->peer);
        break;
    case CHOICE_DOWN:
        down(choice->place, choice->peer);
        break;
    case CHOICE_TIMER:
        world->places[choice->place].deadline_ns = NEVER_NS;
        world_step(choice->place, &event);
        break;
    case CHOICE_ADVANCE:
        world->hurries -= choice->index;
        advance();
        break;
    case CHOICE_START:
        start(choice->place);
        break;
    case CHOICE_CALL:
        task_begin(&world->tasks[choice->index]);
        break;
    case CHOICE_FAILED:
        event.kind = OVERLAY_EVENT_FAILED;
        world->places[choice->place].failed = false;
        world_step(0, &event);
        break;
    case CHOICE_CONTINUE:
        trouble_continue(choice->place);
        break;
    case CHOICE_STOP:
        trouble_stop(choice->place);
        break;
    case CHOICE_BREAK:
        trouble_break(choice->place, choice->peer);
        break;
    default:
        kill(choice->place);
    }
}

void world_apply(const struct choice *choice)
{
    arena_enter();
    apply(choice);
    arena_leave();
}

uint64_t world_hash(void)
{
    return arena_hash(world);
}

/* ---- words ---- */

static void describe_frame(const struct choice *choice, struct buffer *out)
{
    const struct end *end = &world->places[choice->place].ends[choice->peer];

    buffer_printf(out, "%u -> %u ", choice->peer, choice->place);
    overlay_print(&end->packets[choice->class]->frame, out);
}

void world_describe(const struct choice *choice, struct buffer *out)
{
    static const char *const words[] = {
        [CHOICE_ACCEPT] = "accepts",
        [CHOICE_CONNECTED] = "is connected to",
        [CHOICE_DOWN] = "loses",
        [CHOICE_TIMER] = "has a timer",
        [CHOICE_START] = "starts",
        [CHOICE_CALL] = "is called",
        [CHOICE_FAILED] = "is failed",
        [CHOICE_KILL] = "is killed",
        [CHOICE_STOP] = "is stopped",
        [CHOICE_CONTINUE] = "goes on",
        [CHOICE_BREAK] = "loses, by accident,",
    };

    buffer_printf(out, "%.2fms ", (double)(world->now_ns - BEGIN_NS) / 1e6);
    if (choice->kind == CHOICE_FRAME)
        describe_frame(choice, out);
    else if (choice->kind == CHOICE_ADVANCE)
        buffer_printf(out, "time goes on%s", choice->index != 0 ? " early" : "");
    else
        buffer_printf(out, "%u %s", choice->place, words[choice->kind]);
    if (choice->kind == CHOICE_ACCEPT || choice->kind == CHOICE_CONNECTED ||
        choice->kind == CHOICE_DOWN || choice->kind == CHOICE_BREAK)
        buffer_printf(out, " %u", choice->peer);
    if (choice->kind == CHOICE_CALL)
        buffer_printf(out, " (call %u)", choice->index);
}

/* ---- the world ---- */

static void add_tasks(const struct call *call)
{
    for (uint32_t place = 0; place < world_capacity(); place++) {
        bool is_member = !call_is_operation(call) || (place >= call->first && place <= call->last);

        if ((call->place != place && call->place != EVERYBODY) || !is_member)
            continue;
        world->tasks[world->tasks_count].call = *call;
        world->tasks[world->tasks_count++].call.place = place;
    }
}

/* In one order; the others are another scenario's. */
static void run_until_quiet(void)
{
    struct choice choices[EXPLORE_CHOICES_MAX];

    arena_leave();
    while (world_choices(choices) > 0 && world_failure()[0] == '\0')
        world_apply(&choices[0]);
    arena_enter();
}

/* The same while time goes on, whether or not somebody waits. */
static void run_until(uint64_t until_ns)
{
    run_until_quiet();
    while (next_deadline_ns() <= until_ns && world_failure()[0] == '\0') {
        world->now_ns = next_deadline_ns();
        run_until_quiet();
    }
    world->now_ns = until_ns;
}

static void call_again(void)
{
    for (uint32_t i = 0; i < world->tasks_count; i++)
        task_again(&world->tasks[i]);
}

/* All has been called once, and lateral links, which are as old as that, are idle in a moment. */
static void begin_again(void)
{
    uint64_t begun_ns = world->now_ns;

    for (uint32_t i = 0; i < world->tasks_count; i++)
        task_begin(&world->tasks[i]);
    run_until(begun_ns + IDLE_NS - 1);
    assert(world_is_quiet());
    for (uint32_t i = 0; i < world->tasks_count; i++)
        world->tasks[i].is_warm = true;
}

void world_create(const struct scenario *scenario)
{
    arena_reset();
    arena_enter();
    world = memory_allocate_zeroed(sizeof(*world));
    world->scenario = scenario;
    world->now_ns = BEGIN_NS;
    world->deaths = scenario->deaths;
    world->hurries = scenario->hurries;
    world->stops = scenario->stops;
    world->breaks = scenario->breaks;
    for (uint32_t place = 0; place < world_capacity(); place++)
        world->places[place].deadline_ns = NEVER_NS;
    checker_init(&world->checker, scenario->places, scenario->radix, EXPLORE_LEASE_NS);
    checker_set_capacity(&world->checker, world_capacity());
    for (uint32_t i = 0; i < scenario->absent; i++) {
        checker_killed(&world->checker, scenario->places - 1 - i, BEGIN_NS);
        place_is_gone(scenario->places - 1 - i, true);
    }
    for (uint32_t i = 0; i < EXPLORE_CALLS_MAX && scenario->calls[i].kind != CALL_NONE; i++)
        add_tasks(&scenario->calls[i]);
    if (!scenario->from_start) {
        run_until_quiet();
        assert(world_is_quiet());
    }
    if (scenario->again)
        begin_again();
    world->begin_ns = world->now_ns;
    world->is_open = true;
    arena_leave();
}

/* Nor is anybody without a parent. */
bool world_is_quiet(void)
{
    for (uint32_t place = 1; place < world_capacity() && world_is_alive(0); place++) {
        if (world_is_alive(place) && !overlay_is_joined(world->places[place].overlay))
            return false;
    }
    return checker_is_quiet(&world->checker);
}

static uint32_t laterals_of(const void *context, uint32_t place,
                            struct endpoint_lateral ret_laterals[ENDPOINT_LATERALS_MAX])
{
    (void)context;
    return world_is_alive(place) ? overlay_laterals(world->places[place].overlay, ret_laterals) : 0;
}

static bool knows_owner(const void *context, uint32_t place, uint32_t owner)
{
    (void)context;
    return world_is_alive(place) && overlay_knows_owner(world->places[place].overlay, owner);
}

static void check_laterals(void)
{
    const struct laterals_world laterals = {world_capacity(), laterals_of, knows_owner, NULL};
    char text[128];

    if (!laterals_are_kept(&laterals, text, sizeof(text)))
        checker_fault(&world->checker, "%s", text);
}

static void check(bool is_rest, uint64_t bound_ns)
{
    struct checker_view views[EXPLORE_PLACES_MAX] = {{0}};

    for (uint32_t place = 0; place < world_capacity(); place++) {
        const struct overlay *overlay = world->places[place].overlay;

        if (world_is_alive(place))
            views[place] = is_rest ? view_at_rest_of(overlay) : view_of(overlay);
    }
    checker_finish(&world->checker, world->now_ns, bound_ns, views);
}

void world_finish(void)
{
    arena_enter();
    check(false, BOUND_NS);
    if (world_is_alive(0) && !world->checker.leaving && world_failure()[0] == '\0') {
        world->is_open = false;
        world->begin_ns = world->now_ns;
        call_again();
        run_until(world->now_ns + CHECKER_REST_NS);
        check(true, NEVER_NS / 2);
        check_laterals();
    }
    arena_leave();
}

uint64_t world_now_ns(void)
{
    return world->now_ns;
}

const char *world_failure(void)
{
    return world->checker.failure;
}

const struct scenario *world_scenario(void)
{
    return world->scenario;
}
