/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must not grow with how much there is beside it: an acknowledgement with how much is kept for
 * others, the price of a death with how many die at the same time, or with how many requests are open
 * that it does not concern, what is kept with how often somebody has not called.  Counted, not timed.
 * Generations wrap.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/random.h"
#include "overlay/limits.h"
#include "overlay/overlay_wire.h"
#include "test/support/cluster.h"
#include "test/support/lone.h"
#include "test/support/tap.h"

#define PLACES 1000
#define RADIX  16

static const struct tree tree = {.places = PLACES, .radix = RADIX};

/* ---- acknowledgements ---- */

#define ENTRIES 5000

static void broadcast(struct lone *root)
{
    struct message *payload = message_create("x", 1);

    lone_step(root, (struct overlay_event){.kind = OVERLAY_EVENT_BROADCAST, .payload = payload});
    message_release(payload);
}

static void ack(struct lone *root, uint32_t child, uint64_t sequence)
{
    struct frame frame;

    overlay_encode_ack(sequence, &frame);
    lone_frame(root, child, &frame);
}

/* The first child is far behind; all others acknowledge at once. */
static void test_acks(void)
{
    struct tree_cursor cursor = {{0}};
    uint32_t heads[TREE_RADIX_MAX];
    uint32_t children = 0;
    struct range range;
    struct lone root;
    uint64_t before, few, many;

    lone_create(&root, &tree, 0);
    lone_step(&root, (struct overlay_event){.kind = OVERLAY_EVENT_START});
    lone_adopt_all(&root, &tree, 0);
    while (tree_next_child(&tree, 0, &cursor, &range, &heads[children]))
        children++;
    few = 0;
    for (uint64_t sequence = 1; sequence <= ENTRIES; sequence++) {
        broadcast(&root);
        before = overlay_looked_at_entries(root.overlay);
        for (uint32_t i = 1; i < children; i++)
            ack(&root, heads[i], sequence);
        many = overlay_looked_at_entries(root.overlay) - before;
        if (sequence == 1)
            few = many;
    }
    is_uint(overlay_kept_entries(root.overlay), ENTRIES, "%u entries are kept for one child",
            ENTRIES);
    is_uint(many, few, "the others' acknowledgements look at as many of them as at first: %llu",
            (unsigned long long)few);
    ack(&root, heads[0], ENTRIES / 2);
    is_uint(overlay_kept_entries(root.overlay), ENTRIES - ENTRIES / 2,
            "it has acknowledged half: the others are kept");
    ack(&root, heads[0], ENTRIES);
    is_uint(overlay_kept_entries(root.overlay), 0, "and all: nothing is kept");
    lone_destroy(&root);
}

/* ---- many deaths ---- */

#define MS       1000000ull
#define VICTIMS  100
#define DEAD_MAX 5 /* so many times the messages of one death */

struct deaths {
    struct cluster *cluster;
    bool complete;
    struct ranges victims;
    struct ranges set;
    uint64_t frames; /* but heartbeats */
    uint32_t told;
    uint32_t wrong;
};

static void count_frame(void *context, uint64_t now_ns, enum virtual_network_fact fact,
                        uint32_t from, uint32_t to, const struct frame *frame)
{
    struct deaths *deaths = context;

    (void)now_ns;
    if (fact != VIRTUAL_NETWORK_FACT_SEND || frame->type == OVERLAY_LEASE ||
        frame->type == OVERLAY_LEASE_ECHO)
        return;
    (void)from;
    (void)to;
    deaths->frames++;
}

static void on_complete(struct cluster *cluster)
{
    ((struct deaths *)cluster->config.context)->complete = true;
}

static void on_result(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                      int status, const struct ranges *lost, struct message *payload)
{
    struct deaths *deaths = cluster->config.context;

    (void)place;
    (void)key;
    (void)lost;
    (void)payload;
    deaths->told++;
    deaths->wrong += status != 0;
}

static void merge_nothing(struct buffer *merged, const void *other, size_t other_bytes)
{
    (void)merged;
    (void)other;
    (void)other_bytes;
}

static endpoint_merge_function *const merges[] = {merge_nothing};
static const struct cluster_events events = {.complete = on_complete, .result = on_result};

static void run_for(struct deaths *deaths, uint64_t ms)
{
    virtual_network_run_until(deaths->cluster->sim,
                              virtual_network_now_ns(deaths->cluster->sim) + ms * MS);
}

static void call(struct deaths *deaths, uint32_t place)
{
    struct operation_name key = {.set_id = 7, .generation = 1};

    endpoint_contribute(deaths->cluster->places[place].node, &key, &deaths->set, NULL);
}

/* Everyone but those who are to die takes part in an exchange, which one of them has yet to call. */
static void deaths_open(struct deaths *deaths)
{
    struct cluster_config config = {
        .radix = RADIX,
        .merges = merges,
        .merges_count = 1,
        .events = &events,
        .context = deaths,
        .sim = {.places = PLACES, .seed = 1, .latency_ns = MS / 20, .jitter_ns = MS / 100}};
    struct random_state random;

    *deaths = (struct deaths){0};
    random_init(&random, 7);
    while (ranges_count(&deaths->victims) < VICTIMS) {
        uint32_t place = 1 + (uint32_t)random_below(&random, PLACES - 2);

        ranges_add(&deaths->victims, place, place);
    }
    ranges_add(&deaths->set, 1, PLACES - 1);
    ranges_remove_all(&deaths->set, &deaths->victims);
    deaths->cluster = cluster_create(&config);
    for (uint32_t place = 0; place < PLACES; place++)
        cluster_start(deaths->cluster, place);
    while (!deaths->complete)
        run_for(deaths, 10);
    for (uint32_t place = 1; place < PLACES - 1; place++) {
        if (ranges_contains(&deaths->set, place))
            call(deaths, place);
    }
    run_for(deaths, 100);
}

/* The first so many of the victims die; then the last member calls. */
static uint64_t kill_some(uint32_t count)
{
    struct deaths deaths;
    uint32_t place = 0;
    uint64_t frames;

    deaths_open(&deaths);
    virtual_network_set_trace(deaths.cluster->sim, count_frame, &deaths);
    for (uint32_t i = 0; i < count; i++) {
        (void)ranges_next(&deaths.victims, place + 1, &place);
        cluster_kill(deaths.cluster, place);
    }
    run_for(&deaths, 15000);
    frames = deaths.frames;
    is_uint(ranges_count(endpoint_dead(deaths.cluster->places[PLACES - 1].node)), count,
            "%u of %u places die, and nobody else counts as dead", count, PLACES);
    call(&deaths, PLACES - 1);
    run_for(&deaths, 1000);
    ok(deaths.told == ranges_count(&deaths.set) && deaths.wrong == 0,
       "the exchange that was open ends well, at %u places", deaths.told);
    cluster_destroy(deaths.cluster);
    ranges_fini(&deaths.victims);
    ranges_fini(&deaths.set);
    return frames;
}

static void test_deaths(void)
{
    uint64_t one = kill_some(1);
    uint64_t many = kill_some(VICTIMS);

    ok(many <= DEAD_MAX * one, "%u deaths at once take %llu messages, one %llu: at most %u times",
       VICTIMS, (unsigned long long)many, (unsigned long long)one, DEAD_MAX);
}

/* ---- requests ---- */

struct asking {
    struct cluster *cluster;
    bool complete;
    uint64_t requests; /* frames */
    uint32_t answers;
    bool silent; /* who is asked does not answer */
};

static void count_request(void *context, uint64_t now_ns, enum virtual_network_fact fact,
                          uint32_t from, uint32_t to, const struct frame *frame)
{
    (void)now_ns;
    (void)from;
    (void)to;
    if (fact == VIRTUAL_NETWORK_FACT_SEND && frame->type == OVERLAY_REQUEST)
        ((struct asking *)context)->requests++;
}

static void on_asking_complete(struct cluster *cluster)
{
    ((struct asking *)cluster->config.context)->complete = true;
}

static void on_request(struct cluster *cluster, uint32_t place, uint32_t source, uint32_t id,
                       struct message *payload)
{
    struct asking *asking = cluster->config.context;

    (void)payload;
    if (!asking->silent)
        endpoint_reply(cluster->places[place].node, source, id, NULL);
}

static void on_reply(struct cluster *cluster, uint32_t place, uint32_t id, int status,
                     struct message *payload)
{
    (void)place;
    (void)id;
    (void)payload;
    ((struct asking *)cluster->config.context)->answers += status == 0;
}

static void let_pass(struct asking *asking, uint64_t ms)
{
    virtual_network_run_until(asking->cluster->sim,
                              virtual_network_now_ns(asking->cluster->sim) + ms * MS);
}

#define ASKED 50

/* From the last place to the first of the root's children, over the last of them. */
static void test_requests(void)
{
    static const struct cluster_events asking_events = {
        .complete = on_asking_complete, .request = on_request, .reply = on_reply};
    struct asking asking = {.silent = true};
    struct cluster_config config = {.radix = RADIX,
                                    .merges = merges,
                                    .merges_count = 1,
                                    .events = &asking_events,
                                    .context = &asking,
                                    .sim = {.places = PLACES, .seed = 1, .latency_ns = MS / 20}};
    uint32_t relay = tree_parent(&tree, PLACES - 1);

    asking.cluster = cluster_create(&config);
    for (uint32_t place = 0; place < PLACES; place++)
        cluster_start(asking.cluster, place);
    while (!asking.complete)
        let_pass(&asking, 10);
    for (uint32_t i = 0; i < ASKED; i++)
        endpoint_request(asking.cluster->places[PLACES - 1].node, 1, NULL);
    let_pass(&asking, 100);
    virtual_network_set_trace(asking.cluster->sim, count_request, &asking);
    for (uint32_t place = 200; place < 220; place++)
        cluster_kill(asking.cluster, place);
    let_pass(&asking, 15000);
    is_uint(ranges_count(endpoint_dead(asking.cluster->places[PLACES - 1].node)), 20,
            "20 places die");
    is_uint(asking.requests, 0, "%u requests are not sent again: they do not go that way", ASKED);
    asking.silent = false;
    cluster_kill(asking.cluster, relay);
    let_pass(&asking, 15000);
    is_uint(asking.answers, ASKED, "when %u dies, over whom they go, they are, and answered",
            relay);
    cluster_destroy(asking.cluster);
}

/* ---- generations ---- */

#define SMALL       7
#define GENERATIONS 64
#define FIRST       (UINT32_MAX - GENERATIONS / 2)

struct wrap {
    struct cluster *cluster;
    uint32_t next[SMALL]; /* generation that is to be told */
    uint32_t wrong;
    uint32_t kept; /* operations at any place, at most */
};

static void wrap_call(struct wrap *wrap, uint32_t place)
{
    struct operation_name key = {.set_id = 7, .generation = wrap->next[place]};
    struct ranges set = {0};

    ranges_add(&set, 2, SMALL - 1);
    endpoint_contribute(wrap->cluster->places[place].node, &key, &set, NULL);
    ranges_fini(&set);
}

static void on_wrap_result(struct cluster *cluster, uint32_t place,
                           const struct operation_name *key, int status, const struct ranges *lost,
                           struct message *payload)
{
    struct wrap *wrap = cluster->config.context;

    (void)lost;
    (void)payload;
    wrap->wrong += status != 0 || key->generation != wrap->next[place];
    for (uint32_t i = 0; i < SMALL; i++) {
        if (cluster_is_alive(cluster, i) &&
            endpoint_kept_operations(cluster->places[i].node) > wrap->kept)
            wrap->kept = endpoint_kept_operations(cluster->places[i].node);
    }
    if (++wrap->next[place] != FIRST + GENERATIONS)
        wrap_call(wrap, place);
}

/* Around 2^32 fences follow each other, and a relay dies in the middle. */
static void test_wrap(void)
{
    static const struct cluster_events wrap_events = {.result = on_wrap_result};
    struct wrap wrap = {0};
    struct cluster_config config = {.radix = 2,
                                    .merges = merges,
                                    .merges_count = 1,
                                    .events = &wrap_events,
                                    .context = &wrap,
                                    .sim = {.places = SMALL, .seed = 1, .latency_ns = MS / 20}};
    uint32_t over = 0;

    wrap.cluster = cluster_create(&config);
    for (uint32_t place = 0; place < SMALL; place++)
        cluster_start(wrap.cluster, place);
    virtual_network_run_until(wrap.cluster->sim, 100 * MS);
    for (uint32_t place = 2; place < SMALL; place++) {
        wrap.next[place] = FIRST;
        wrap_call(&wrap, place);
    }
    virtual_network_run_until(wrap.cluster->sim, 100 * MS + GENERATIONS / 2 * MS / 5);
    ok(wrap.next[2] - FIRST > 8 && wrap.next[2] - FIRST < GENERATIONS, "in the middle of them");
    cluster_kill(wrap.cluster, 1);
    virtual_network_run_until(wrap.cluster->sim, 20000 * MS);
    for (uint32_t place = 2; place < SMALL; place++)
        over += wrap.next[place] == FIRST + GENERATIONS;
    ok(over == SMALL - 2 && wrap.wrong == 0, "%u fences around 2^32 end well, at %u places",
       GENERATIONS, over);
    ok(wrap.kept <= 3, "and no place keeps more than three of them: %u", wrap.kept);
    cluster_destroy(wrap.cluster);
}

static const struct overlay_action *result_of(const struct lone *lone)
{
    for (uint32_t i = 0; i < lone->actions.count; i++) {
        if (lone->actions.items[i].kind == OVERLAY_ACTION_RESULT)
            return &lone->actions.items[i];
    }
    return NULL;
}

/* A member never calls; another waits no longer, again and again. */
static void test_absent(void)
{
    struct tree two = {.places = 2, .radix = 2};
    struct operation_name key = {.set_id = 7};
    struct overlay_contribute absent = {.state = OVERLAY_PART_ABSENT};
    struct lone root;
    struct frame frame;

    lone_create(&root, &two, 0);
    lone_step(&root, (struct overlay_event){.kind = OVERLAY_EVENT_START});
    lone_adopt_all(&root, &two, 0);
    ranges_add(&absent.set, 0, 1);
    for (key.generation = 1; key.generation <= OVERLAY_DECIDED_MAX + 100; key.generation++) {
        lone_step(&root, (struct overlay_event){
                             .kind = OVERLAY_EVENT_CONTRIBUTE, .key = key, .set = &absent.set});
        if (result_of(&root) != NULL)
            break;
        lone_step(&root, (struct overlay_event){.kind = OVERLAY_EVENT_CANCEL, .key = key});
        absent.key = key;
        overlay_encode_contribute(&absent, 0, &frame);
        lone_frame(&root, 1, &frame);
    }
    is_uint(key.generation, OVERLAY_DECIDED_MAX + 1,
            "so many answers are kept for who never calls");
    is_int(result_of(&root) != NULL ? result_of(&root)->status : 0, -EAGAIN,
           "then others cannot call either");
    is_uint(overlay_kept_operations(root.overlay), OVERLAY_DECIDED_MAX, "and no more is kept");
    ranges_fini(&absent.set);
    lone_destroy(&root);
}

int main(void)
{
    test_acks();
    test_deaths();
    test_requests();
    test_wrap();
    test_absent();
    return done_testing();
}
