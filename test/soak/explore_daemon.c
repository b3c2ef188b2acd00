/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every order of events in a small instance: the cores of a root and two nodes (launch/core/daemon_core.h),
 * two clients with a job each, without overlay and processes.  The tree is a script that keeps the
 * overlay's promises: broadcasts and deaths in the root's order at each place, messages in order for each
 * pair, gathers that end when all have called or one has died.  Job 1 has a process on n1, or one on each
 * node, job 2 one on n1, which may fail.  In some scenarios a client hangs up, or a node dies, at any
 * moment.
 *
 * At each end both jobs have been reported once, to the client that is still there, as what happened to
 * them; what befell one has not changed the other; and no daemon keeps anything of them.
 *
 *     EXPLORE=full   the larger scenarios too     EXPLORE=NAME   this one only
 *     EXPLORE_PATH=1,0,2  with a NAME: follows these choices and prints what happens
 */
#include "config.h"

#include "test/soak/explore_daemon.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "test/soak/explore_search.h"
#include "test/support/tap.h"

static const struct daemon_scenario scenarios[] = {
    {"two-jobs", 2, .is_long = true},
    {"failure-beside", 1, .fails = true},
    {"hang-up-beside", 1, .hangs_up = true},
    {"death-under-two", 1, .dies = 1},
    {"death-beside", 1, .dies = 2, .is_long = true},
    {"end-beside", 1, .ends = true, .is_long = true},
    {"failure-hang-up", 1, .fails = true, .hangs_up = true, .is_long = true},
    {"hang-up-beside-two", 2, .hangs_up = true, .is_long = true},
    {"death-of-two", 2, .dies = 2, .is_long = true},
    {"death-under-three", 2, .dies = 1, .is_long = true},
};

/* ---- life ---- */

static void post(uint32_t place, const struct daemon_event *event)
{
    daemon_core_step(world->places[place].core, event);
}

static void client_says(uint32_t client, uint8_t type, struct buffer *payload)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_CLIENT_MESSAGE,
                                 .place = client,
                                 .type = type,
                                 .data = payload->data,
                                 .data_bytes = payload->length_bytes};

    post(0, &event);
    buffer_fini(payload);
}

static void client_opens(uint32_t client)
{
    struct daemon_event opened = {.kind = DAEMON_EVENT_CLIENT_OPENED, .place = client};
    struct control_hello hello = {.version = CONTROL_VERSION};
    struct buffer payload = {0};

    world->clients[client].is_open = true;
    post(0, &opened);
    control_hello_encode(&hello, &payload);
    client_says(client, CONTROL_HELLO, &payload);
}

/* Job 1 has a process on n1, or one on each node, job 2 one on n1; clients 2 and 3 run them. */
static void client_runs(uint32_t job)
{
    uint32_t processes = job == 1 ? world->scenario->processes : 1;
    struct placement_rule rule = {.policy = processes > 1 ? PLACEMENT_BY_NODE : PLACEMENT_BY_SLOT,
                                  .processes = processes};
    struct buffer payload = {0};
    struct job_spec spec;

    job_spec_init(&spec);
    placement_add(&spec.placement, &rule);
    spec.apps = memory_allocate_zeroed(sizeof(*spec.apps));
    spec.apps_count = 1;
    spec.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    spec.apps[0].argv[0] = memory_copy_string("app");
    spec.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    control_run_encode(1, 0, &spec, &payload);
    job_spec_fini(&spec);
    client_says(job + 1, CONTROL_RUN, &payload);
}

static void make_core(uint32_t place)
{
    struct daemon_core_config config = {
        .spec = &world->spec,
        .place = place,
        .range = {.first = place, .last = place > 0 ? place : PLACES - 1},
        .roster = place == 0 ? &world->allocation : NULL,
        .policy = INSTANCE_STAYS,
        .directory = "",
        .credit_piece_bytes = 1,
        .ops = &script_ops,
        .context = &world->places[place],
    };

    world->places[place].core = daemon_core_create(&config);
    daemon_core_attach(world->places[place].core, &script_tree_ops, &world->places[place]);
}

static void deliver(uint32_t at)
{
    struct item *item = world->items[at];

    item_remove(at);
    if (place_is_alive(item->to))
        post(item->to, &item->event);
    item_free(item);
}

static void create(const struct daemon_scenario *scenario)
{
    arena_leave();
    arena_reset();
    arena_enter();
    world = memory_allocate_zeroed(sizeof(*world));
    world->scenario = scenario;
    world->now_ns = 1000000000;
    instance_spec_init(&world->spec);
    world->spec.places = PLACES;
    world->spec.radix = 2;
    allocation_init(&world->allocation);
    allocation_generate(&world->allocation, "n", PLACES - 1, 2);
    for (uint32_t job = 0; job <= JOBS; job++)
        world->deadlines_ns[job] = UINT64_MAX;
    for (uint32_t place = 0; place < PLACES; place++)
        make_core(place);
    client_opens(1);
    post(0, &(struct daemon_event){.kind = DAEMON_EVENT_COMPLETE});
    while (world->items_count > 0)
        deliver(0);
    client_opens(2);
    client_opens(3);
    client_runs(1);
    client_runs(2);
    arena_leave();
}

/* ---- choices ---- */

enum {
    DO_DELIVER, /* index: the item */
    DO_EXIT,    /* place, index: job, class: rank */
    DO_FAIL,    /* the same, with status 3 */
    DO_ADVANCE, /* to the next deadline */
    DO_HANG_UP, /* from here on: troubles */
    DO_KILL,
    DO_END
};

static void add(struct choice *choices, uint32_t *count, uint8_t kind, uint32_t place,
                uint32_t index, uint32_t class)
{
    assert(*count < EXPLORE_CHOICES_MAX);
    choices[(*count)++] = (struct choice){
        .kind = kind, .place = (uint8_t)place, .index = (uint8_t)index, .class = (uint8_t) class};
}

static void add_exits(struct choice *choices, uint32_t *count)
{
    for (uint32_t place = 1; place < PLACES; place++)
        for (uint32_t job = 1; job <= JOBS && place_is_alive(place); job++)
            for (uint32_t index = 0; index < RANKS_MAX; index++) {
                if (!(world->places[place].parts[job].running & 1u << index))
                    continue;
                add(choices, count, DO_EXIT, place, job, index);
                if (job == 2 && world->scenario->fails && !world->has_failed)
                    add(choices, count, DO_FAIL, place, job, index);
            }
}

static uint64_t next_deadline_ns(void)
{
    uint64_t next_ns = UINT64_MAX;

    for (uint32_t job = 0; job <= JOBS; job++)
        next_ns = world->deadlines_ns[job] < next_ns ? world->deadlines_ns[job] : next_ns;
    return next_ns;
}

static void add_troubles(struct choice *choices, uint32_t *count)
{
    const struct daemon_scenario *scenario = world->scenario;

    if (scenario->hangs_up && !world->has_hung_up)
        add(choices, count, DO_HANG_UP, 0, 3, 0);
    if (scenario->dies > 0 && !world->has_died)
        add(choices, count, DO_KILL, scenario->dies, 0, 0);
    if (scenario->ends && !world->has_ended && world->clients[2].reports == 0)
        add(choices, count, DO_END, 0, 1, 0);
}

static uint32_t all_choices(struct choice *choices)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < world->items_count; i++)
        if (item_is_first(i))
            add(choices, &count, DO_DELIVER, world->items[i]->to, i, 0);
    add_exits(choices, &count);
    if (count == 0 && next_deadline_ns() != UINT64_MAX)
        add(choices, &count, DO_ADVANCE, 0, 0, 0);
    add_troubles(choices, &count);
    return count;
}

static void hang_up(void)
{
    struct daemon_event closed = {.kind = DAEMON_EVENT_CLIENT_CLOSED, .place = 3};

    world->has_hung_up = world->clients[3].has_closed = true;
    post(0, &closed);
}

static void end_job_1(void)
{
    struct control_end end = {.status = 130, .reason = "interrupted"};
    struct buffer payload = {0};

    world->has_ended = true;
    wire_put_u32(&payload, 1);
    control_end_encode(&end, &payload);
    client_says(2, CONTROL_END, &payload);
}

/* With its processes; what it had sent is lost, but for what the root has. */
static void kill_place(uint32_t place)
{
    struct daemon_event lost = {.kind = DAEMON_EVENT_LOST};
    struct ranges places = {0};

    world->has_died = true;
    daemon_core_destroy(world->places[place].core);
    memset(&world->places[place], 0, sizeof(world->places[place]));
    for (uint32_t i = world->items_count; i-- > 0;)
        if (world->items[i]->to == place || world->items[i]->from == place) {
            item_free(world->items[i]);
            item_remove(i);
        }
    for (uint32_t i = 0; i < GATHERS; i++)
        gather_check(&world->gathers[i]);
    ranges_add(&places, place, place);
    lost.places = &places;
    for (uint32_t other = 0; other < PLACES; other++)
        if (place_is_alive(other))
            item_push(ITEM_ORDERED, 0, other, &lost);
    ranges_fini(&places);
}

static void advance(void)
{
    uint64_t next_ns = next_deadline_ns();

    world->now_ns = next_ns > world->now_ns ? next_ns : world->now_ns;
    for (uint32_t job = 0; job <= JOBS; job++) {
        struct daemon_event event = {
            .kind = DAEMON_EVENT_TIMER, .id = DAEMON_TIMER_JOB, .job = job};

        if (world->deadlines_ns[job] > world->now_ns)
            continue;
        world->deadlines_ns[job] = UINT64_MAX;
        post(0, &event);
    }
}

static void apply(const struct choice *choice)
{
    arena_enter();
    switch (choice->kind) {
    case DO_DELIVER:
        deliver(choice->index);
        break;
    case DO_EXIT:
        rank_ends(&world->places[choice->place], choice->index, choice->class, 0, false);
        break;
    case DO_FAIL:
        world->has_failed = true;
        rank_ends(&world->places[choice->place], choice->index, choice->class, 3 << 8, false);
        break;
    case DO_ADVANCE:
        advance();
        break;
    case DO_HANG_UP:
        hang_up();
        break;
    case DO_KILL:
        kill_place(choice->place);
        break;
    default:
        end_job_1();
    }
    arena_leave();
}

static void describe(const struct choice *choice, struct buffer *out)
{
    static const char *const kinds[] = {"deliver", "exit", "fail", "advance",
                                        "hang up", "kill", "end 1"};
    static const char *const items[ITEM_COUNT] = {"ordered", "message", "result", "helper",
                                                  "drained"};

    buffer_printf(out, "%s", kinds[choice->kind]);
    if (choice->kind == DO_DELIVER) {
        const struct item *item = world->items[choice->index];

        buffer_printf(out, " %s %u to %u", items[item->kind], item->from, item->to);
        if (item->event.job_event != NULL)
            buffer_printf(out, ", event %d of job %u", (int)item->job_event.kind, item->job);
    } else {
        buffer_printf(out, " %u of job %u", choice->place, choice->index);
    }
}

static uint64_t hash(void)
{
    return arena_hash(world);
}

static bool is_trouble(const struct choice *choice)
{
    return choice->kind >= DO_HANG_UP;
}

static bool is_ask(const struct choice *choice)
{
    (void)choice;
    return false;
}

static bool is_quiet(void)
{
    return true;
}

/* ---- the end ---- */

/* What each job's client must have been told. */
static void check_report(uint32_t job)
{
    const struct client *client = &world->clients[job + 1];
    bool well = client->status == 0;
    bool is_lost = world->has_died && client->status == 125 &&
                   (world->scenario->dies == 1 || (job == 1 && world->scenario->processes > 1));
    bool has_failed = job == 2 && world->has_failed && client->status == 3;
    bool is_ended = job == 1 && world->has_ended && client->status == 130;

    if (client->has_closed)
        return;
    if (client->reports != 1)
        world_wrong("job %u is reported %u times", job, client->reports);
    else if (!well && !is_lost && !has_failed && !is_ended)
        world_wrong("job %u is reported with status %u, for no reason", job, client->status);
    else if (job == 2 && world->has_failed && !world->has_died && !has_failed &&
             !world->has_hung_up)
        world_wrong("job 2 has failed, and is reported with status %u", client->status);
}

static void finish(void)
{
    arena_enter();
    for (uint32_t job = 1; job <= JOBS; job++)
        check_report(job);
    for (uint32_t place = 0; place < PLACES; place++) {
        const struct instance *instance;

        if (!place_is_alive(place))
            continue;
        instance = daemon_core_instance(world->places[place].core);
        if (place > 0 && instance_parts(instance) > 0)
            world_wrong("%u keeps a part of a job", place);
        if (place == 0 && instance_kept_jobs(instance) > 0)
            world_wrong("the root keeps %u jobs", instance_kept_jobs(instance));
    }
    for (uint32_t i = 0; i < GATHERS; i++)
        if (world->gathers[i].is_used)
            world_wrong("an operation of job %u is never forgotten", world->gathers[i].key.owner);
    arena_leave();
}

static const char *failure(void)
{
    return world->failure;
}

static struct search_space space_of(const struct daemon_scenario *scenario)
{
    return (struct search_space){.name = scenario->name,
                                 .test = "test/soak/explore_daemon.t",
                                 .choices = all_choices,
                                 .apply = apply,
                                 .describe = describe,
                                 .hash = hash,
                                 .is_trouble = is_trouble,
                                 .is_ask = is_ask,
                                 .is_quiet = is_quiet,
                                 .finish = finish,
                                 .failure = failure};
}

int main(void)
{
    const char *which = getenv("EXPLORE");
    const char *path = getenv("EXPLORE_PATH");
    const char *sanitizers = getenv("BANYAN_SANITIZERS");
    bool is_slow = sanitizers != NULL && sanitizers[0] != '\0';

    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        struct search_space space = space_of(&scenarios[i]);

        if (which == NULL ? scenarios[i].is_long
                          : strcmp(which, "full") != 0 && strcmp(which, scenarios[i].name) != 0)
            continue;
        if (which == NULL && is_slow && scenarios[i].processes > 1) {
            skip(1, "%s takes too long under sanitizers", scenarios[i].name);
            continue;
        }
        create(&scenarios[i]);
        if (path != NULL) {
            search_follow(&space, path);
            continue;
        }
        search_all(&space, "");
    }
    search_fini();
    return done_testing();
}
