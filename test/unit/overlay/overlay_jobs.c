/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An instance that runs one job after the other for weeks.  Each job has four random nodes of 1,000: the
 * root launches it by a broadcast, its nodes contribute to LAUNCHED, fence twice, contribute to ENDED, and
 * the root forgets it.  A new job begins every millisecond, so some tens run at a time.  Job 10,000 must
 * cost what job 1,000 costs: frames, what the root and the others keep, memory.
 *
 *     JOBS=100000 test/unit/overlay/overlay_jobs.t    also compares the CPU time that jobs take
 *
 * And while relays die at any moment, nobody who has called waits for ever, and nothing is kept.
 */
#include "config.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/random.h"
#include "test/support/cluster.h"
#include "test/support/tap.h"

#define MS            1000000ull
#define PLACES        1000
#define RADIX         16
#define MEMBERS       4
#define JOBS_DEFAULT  3000
#define PACE_NS       MS
#define GROWTH_MAX    1.1 /* at the last job against the thousandth */
#define KIND_LAUNCHED 1
#define KIND_FENCE    2
#define KIND_ENDED    3

struct jobs {
    struct cluster *cluster;
    struct random_state random;
    bool complete;
    uint32_t started;
    uint32_t ended;        /* at the root */
    uint32_t called;       /* operations, by members */
    uint32_t told;         /* of them */
    uint32_t failed;       /* of these, with a status */
    uint32_t deaths;       /* planned: jobs of the dead may fail */
    struct ranges *places; /* of each job */
    uint32_t open[PLACES]; /* calls that have not been told */
};

static void merge_nothing(struct buffer *merged, const void *other, size_t other_bytes)
{
    (void)merged;
    (void)other;
    (void)other_bytes;
}

static endpoint_merge_function *const merges[] = {merge_nothing};

static void call(struct jobs *jobs, uint32_t place, uint32_t job, uint8_t kind, uint32_t generation)
{
    struct operation_name key = {.set_id = (uint64_t)job * 16 + kind,
                                 .generation = generation,
                                 .owner = job,
                                 .kind = kind,
                                 .target = kind == KIND_FENCE ? ENDPOINT_TARGET_ALL
                                                              : ENDPOINT_TARGET_ROOT};

    jobs->called++;
    jobs->open[place]++;
    endpoint_contribute(jobs->cluster->places[place].node, &key, &jobs->places[job], NULL);
}

static void on_complete(struct cluster *cluster)
{
    ((struct jobs *)cluster->config.context)->complete = true;
}

static void on_broadcast(struct cluster *cluster, uint32_t place, struct message *payload)
{
    uint32_t job = (uint32_t)strtoul((const char *)payload->data, NULL, 10);

    call(cluster->config.context, place, job, KIND_LAUNCHED, 1);
}

static void on_result(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                      int status, const struct ranges *lost, struct message *payload)
{
    struct jobs *jobs = cluster->config.context;

    (void)lost;
    (void)payload;
    if (place == 0) {
        if (key->kind == KIND_ENDED) { /* with a loss, too: the others have called and been told */
            jobs->ended += status == 0;
            endpoint_forget(cluster->places[0].node, key->owner, &jobs->places[key->owner]);
            if (status == 0)
                ranges_fini(&jobs->places[key->owner]); /* nobody calls any more */
        }
        return;
    }
    jobs->told++;
    jobs->open[place]--;
    jobs->failed += status != 0;
    if (status == -ECANCELED)
        return;
    if (key->kind == KIND_LAUNCHED)
        call(jobs, place, key->owner, KIND_FENCE, 1);
    else if (key->kind == KIND_FENCE && key->generation == 1)
        call(jobs, place, key->owner, KIND_FENCE, 2);
    else if (key->kind == KIND_FENCE)
        call(jobs, place, key->owner, KIND_ENDED, 1);
}

static const struct cluster_events events = {.complete = on_complete,
                                             .broadcast = on_broadcast,
                                             .result = on_result};

static void start_job(struct jobs *jobs)
{
    uint32_t job = ++jobs->started;
    struct ranges *places = &jobs->places[job];
    struct buffer payload = {0};

    while (ranges_count(places) < MEMBERS) {
        uint32_t place = 1 + (uint32_t)random_below(&jobs->random, PLACES - 1);

        if (!ranges_contains(endpoint_dead(jobs->cluster->places[0].node), place))
            ranges_add(places, place, place);
    }
    buffer_printf(&payload, "%u", job);
    buffer_append(&payload, "", 1);
    endpoint_broadcast(jobs->cluster->places[0].node, places, message_from_buffer(&payload));
    buffer_fini(&payload);
}

static void run_for(struct jobs *jobs, uint64_t ns)
{
    virtual_network_run_until(jobs->cluster->sim, virtual_network_now_ns(jobs->cluster->sim) + ns);
}

static void jobs_open(struct jobs *jobs, uint32_t count)
{
    struct cluster_config config = {
        .radix = RADIX,
        .merges = merges,
        .merges_count = 1,
        .events = &events,
        .context = jobs,
        .sim = {.places = PLACES, .seed = 1, .latency_ns = MS / 20, .jitter_ns = MS / 100}};

    *jobs = (struct jobs){0};
    random_init(&jobs->random, 3);
    jobs->places = memory_allocate_zeroed((count + 1) * sizeof(*jobs->places));
    jobs->cluster = cluster_create(&config);
    for (uint32_t place = 0; place < PLACES; place++)
        cluster_start(jobs->cluster, place);
    while (!jobs->complete)
        run_for(jobs, 10 * MS);
}

static void jobs_close(struct jobs *jobs)
{
    cluster_destroy(jobs->cluster);
    for (uint32_t job = 1; job <= jobs->started; job++)
        ranges_fini(&jobs->places[job]);
    free(jobs->places);
}

/* ---- what there is of it ---- */

struct kept {
    uint64_t series;
    uint64_t operations;
    uint64_t entries;
};

static struct kept kept_by(const struct jobs *jobs)
{
    struct kept kept = {0};

    for (uint32_t place = 0; place < PLACES; place++) {
        const struct endpoint *node = jobs->cluster->places[place].node;

        if (!cluster_is_alive(jobs->cluster, place))
            continue;
        kept.series += endpoint_kept_series(node);
        kept.operations += endpoint_kept_operations(node);
        kept.entries += endpoint_kept_entries(node);
    }
    return kept;
}

static double cpu_s(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec / 1e6 +
           (double)use.ru_stime.tv_sec + (double)use.ru_stime.tv_usec / 1e6;
}

/* ---- many jobs ---- */

struct price {
    double frames; /* per job, of the last 500 */
    double cpu_us;
    struct kept kept; /* while they run */
    uint64_t bytes;
};

static struct price run_to(struct jobs *jobs, uint32_t count)
{
    struct price price = {0};
    uint64_t frames = 0;
    double before = 0;

    while (jobs->started < count) {
        if (jobs->started == count - 500) {
            frames = virtual_network_frames_sent(jobs->cluster->sim);
            before = cpu_s();
        }
        start_job(jobs);
        run_for(jobs, PACE_NS);
    }
    price.frames = (double)(virtual_network_frames_sent(jobs->cluster->sim) - frames) / 500;
    price.cpu_us = (cpu_s() - before) / 500 * 1e6;
    price.kept = kept_by(jobs);
    price.bytes = mallinfo2().uordblks;
    return price;
}

static bool is_about(double late, double early)
{
    return late <= early * GROWTH_MAX;
}

static void test_many(uint32_t count)
{
    struct jobs jobs;
    struct price early, late;
    struct kept kept;

    jobs_open(&jobs, count);
    early = run_to(&jobs, 1000);
    late = run_to(&jobs, count);
    diag("job 1000: %.1f frames, %.1f us of CPU, %llu series, %llu bytes", early.frames,
         early.cpu_us, (unsigned long long)early.kept.series, (unsigned long long)early.bytes);
    diag("job %u: %.1f frames, %.1f us of CPU, %llu series, %llu bytes", count, late.frames,
         late.cpu_us, (unsigned long long)late.kept.series, (unsigned long long)late.bytes);
    ok(is_about(late.frames, early.frames), "job %u takes as many frames as job 1,000", count);
    ok(late.kept.series <= early.kept.series + 200, "there are as many series");
    ok(is_about((double)late.bytes, (double)early.bytes), "and as much memory is held");
    if (getenv("JOBS") != NULL)
        ok(is_about(late.cpu_us, early.cpu_us), "and it takes as much time of the CPU");
    run_for(&jobs, 100 * MS);
    ok(jobs.ended == count && jobs.told == jobs.called && jobs.failed == 0, "all jobs end well");
    kept = kept_by(&jobs);
    ok(kept.series == 0 && kept.operations == 0 && kept.entries == 0,
       "at the end nobody keeps anything of them");
    jobs_close(&jobs);
}

/* ---- and deaths ---- */

#define DEADLY_JOBS 2000

static void test_deaths(void)
{
    struct jobs jobs;
    struct kept kept;
    uint32_t waiting = 0;

    jobs_open(&jobs, DEADLY_JOBS);
    while (jobs.started < DEADLY_JOBS) {
        if (jobs.started % 50 == 49) { /* a head, who relays for many */
            uint32_t victim = 1 + (uint32_t)random_below(&jobs.random, 15) * 62 +
                              (uint32_t)random_below(&jobs.random, 3);

            cluster_kill(jobs.cluster, victim);
        }
        start_job(&jobs);
        run_for(&jobs, PACE_NS / 10 + random_below(&jobs.random, PACE_NS));
    }
    run_for(&jobs, 20000 * MS);
    kept = kept_by(&jobs);
    for (uint32_t place = 0; place < PLACES; place++)
        waiting += cluster_is_alive(jobs.cluster, place) ? jobs.open[place] : 0;
    diag("%u of %u jobs end well, %u results of %u calls, %u of them failures", jobs.ended,
         jobs.started, jobs.told, jobs.called, jobs.failed);
    ok(jobs.ended > DEADLY_JOBS * 9 / 10 && jobs.failed > 0, "most jobs end well, not all");
    is_uint(waiting, 0, "nobody who lives and has called waits");
    ok(kept.series == 0, "nobody keeps anything of them");
    jobs_close(&jobs);
}

int main(void)
{
    const char *jobs = getenv("JOBS");

    test_many(jobs != NULL ? (uint32_t)strtoul(jobs, NULL, 10) : JOBS_DEFAULT);
    test_deaths();
    return done_testing();
}
