/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that a daemon's core (launch/core/daemon_core.h) needs: clock, starter, end. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"
#include "launch/daemon/daemon_internal.h"
#include "launch/daemon/join_root.h"
#include "launch/daemon/journal.h"
#include "launch/daemon/replay.h"
#include "launch/exec/process_stat.h"

/* ---- the clock ---- */

/* A deadline of the core. */
struct core_timer {
    struct daemon *daemon;
    struct loop_timer *timer;
    enum daemon_timer kind;
    uint32_t job; /* of DAEMON_TIMER_JOB; else 0 */
};

uint64_t daemon_now_ns(void)
{
    return loop_now_ns();
}

static uint64_t ops_now_ns(void *context)
{
    const struct daemon *daemon = context;

    return daemon->journal != NULL ? journal_now_ns(daemon->journal) : loop_now_ns();
}

static void timer_over(void *context)
{
    const struct core_timer *timer = context;
    struct daemon_event event = {.kind = DAEMON_EVENT_TIMER, .id = timer->kind, .job = timer->job};

    daemon_check(timer->daemon);
    daemon_core_step(timer->daemon->core, &event);
}

static struct core_timer *timer_create(struct daemon *daemon, enum daemon_timer kind, uint32_t job)
{
    struct core_timer *timer = memory_allocate_zeroed(sizeof(*timer));

    *timer = (struct core_timer){.daemon = daemon, .kind = kind, .job = job};
    timer->timer = loop_timer_create(daemon->loop, timer_over, timer);
    return timer;
}

static void timer_free(struct core_timer *timer)
{
    loop_timer_destroy(timer->timer);
    free(timer);
}

static void set_job_timer(struct daemon *daemon, uint32_t job, uint64_t deadline_ns)
{
    struct core_timer *timer = hash_map_get_u64(daemon->job_timers, job);

    assert(timer == NULL || (timer->job == job && timer->daemon == daemon));
    if (deadline_ns == UINT64_MAX) {
        if (timer != NULL)
            timer_free(hash_map_remove_u64(daemon->job_timers, job));
        return;
    }
    if (timer == NULL) {
        timer = timer_create(daemon, DAEMON_TIMER_JOB, job);
        (void)hash_map_put_u64(daemon->job_timers, job, timer);
    }
    loop_timer_set(timer->timer, deadline_ns);
}

static void ops_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
    struct daemon *daemon = context;

    assert(timer < DAEMON_TIMER_COUNT);
    assert(timer == DAEMON_TIMER_JOB || job == 0);
    if (timer == DAEMON_TIMER_JOB)
        set_job_timer(daemon, job, deadline_ns);
    else
        loop_timer_set(daemon->timers[timer]->timer, deadline_ns);
}

static void open_timers(struct daemon *daemon)
{
    daemon->job_timers = hash_map_create();
    for (enum daemon_timer kind = 0; kind < DAEMON_TIMER_COUNT; kind++)
        if (kind != DAEMON_TIMER_JOB)
            daemon->timers[kind] = timer_create(daemon, kind, 0);
}

static void close_timers(struct daemon *daemon)
{
    struct core_timer *timer;
    size_t cursor = 0;

    while ((timer = hash_map_next(daemon->job_timers, &cursor)) != NULL)
        timer_free(timer);
    hash_map_destroy(daemon->job_timers);
    for (enum daemon_timer kind = 0; kind < DAEMON_TIMER_COUNT; kind++)
        if (kind != DAEMON_TIMER_JOB)
            timer_free(daemon->timers[kind]);
}

/* ---- the starter ---- */

static void ops_start(void *context, struct range range)
{
    daemon_start_child(context, range);
}

static void ops_grow(void *context, uint32_t first, const struct hostlist *names)
{
    daemon_add_names(context, first, names);
}

static void ops_start_new(void *context, uint32_t place)
{
    daemon_start_newcomer(context, place);
}

static void ops_linked(void *context, uint32_t place)
{
    struct daemon *daemon = context;

    assert(place != daemon->record.place);
    starter_joined(daemon->starter, place);
    join_root_linked(daemon->join_root, place);
}

static void ops_clean(void *context, uint32_t place)
{
    struct daemon *daemon = context;
    char name[HOST_NAME_BYTES_MAX + 1];

    assert(place > daemon->record.range.first && place <= daemon->record.range.last);
    starter_clean(daemon->starter, &daemon->record.instance, place,
                  daemon_place_name(daemon, place, name));
}

static void ops_expect_end(void *context)
{
    starter_expect_end(((struct daemon *)context)->starter);
}

static void ops_let_go(void *context)
{
    starter_let_go(((struct daemon *)context)->starter);
}

static void ops_kill(void *context)
{
    starter_kill(((struct daemon *)context)->starter);
}

static uint32_t ops_running(void *context)
{
    return starter_running(((struct daemon *)context)->starter);
}

static uint8_t ops_state(void *context, uint32_t place)
{
    return process_stat_state(starter_daemon_pid(((struct daemon *)context)->starter, place));
}

static const char *ops_name(void *context, uint32_t place, char name[HOST_NAME_BYTES_MAX + 1])
{
    return daemon_place_name(context, place, name);
}

/* ---- the user, and the end ---- */

static void ops_print(void *context, const char *text)
{
    const struct daemon *daemon = context;

    fprintf(stderr, "%s%s\n", daemon->root != NULL ? "banyan: " : "", text);
}

static void on_links_finished(void *context)
{
    struct daemon *daemon = context;

    daemon_check(daemon);
    daemon_core_step(daemon->core, &(struct daemon_event){.kind = DAEMON_EVENT_FINISHED});
}

static void ops_finish(void *context)
{
    daemon_finish_links(context, on_links_finished);
}

static void ops_stop(void *context)
{
    loop_stop(((struct daemon *)context)->loop);
}

/* ---- all of it ---- */

static const struct daemon_starter_ops starter_ops = {
    .start = ops_start,
    .grow = ops_grow,
    .start_new = ops_start_new,
    .linked = ops_linked,
    .unlinked = daemon_parent_unlinked,
    .joined = daemon_joined,
    .clean = ops_clean,
    .expect_end = ops_expect_end,
    .let_go = ops_let_go,
    .kill = ops_kill,
    .running = ops_running,
    .state = ops_state,
    .name = ops_name,
};

static const struct daemon_ops machine_ops = {
    .now_ns = ops_now_ns,
    .timer = ops_timer,
    .print = ops_print,
    .finish = ops_finish,
    .stop = ops_stop,
    .stage = daemon_stage_order,
    .load = daemon_query_load,
    .lost = daemon_log_lost,
    .ranks = &daemon_rank_ops,
    .pmi = &daemon_pmi_ops,
    .starter = &starter_ops,
    .clients = &root_client_ops,
};

void daemon_open_core(struct daemon *daemon)
{
    struct daemon_core_config config = {
        .spec = &daemon->record.instance,
        .place = boot_record_listed_place(&daemon->record),
        .range = daemon->record.range,
        .order = daemon->record.order,
        .roster = daemon->roster,
        .policy = daemon->policy,
        .directory = daemon->session.directory,
        .credit_piece_bytes = output_window_bytes(daemon->record.instance.places - 1) / 4,
        .ops = daemon->replay != NULL ? replay_ops() : &machine_ops,
        .context = daemon->replay != NULL ? (void *)daemon->replay : (void *)daemon,
    };

    assert(daemon->loop != NULL && daemon->core == NULL);
    open_timers(daemon);
    daemon->core = daemon_core_create(&config);
}

/* The step in which the root goes on. */
void daemon_recover(struct daemon *daemon)
{
    assert(daemon->replay != NULL && daemon->journal != NULL);
    daemon->record.range.last += hostlist_count(daemon->record.names) -
                                 (daemon->record.range.last - daemon->record.range.first);
    root_count_clients(daemon, replay_last_client(daemon->replay));
    replay_hand_over(daemon->replay, &machine_ops, daemon);
    daemon->has_recovered = 1;
    journal_begin_recovery(daemon->journal);
    replay_recover(daemon->replay, daemon_journal_ops(daemon), daemon->journal);
    journal_end_recovery(daemon->journal);
}

void daemon_close_core(struct daemon *daemon)
{
    if (daemon->core == NULL)
        return;
    if (daemon_core_has_failed(daemon->core) && daemon->exit_status == 0)
        daemon->exit_status = EXIT_FAILURE;
    daemon_core_destroy(daemon->core);
    daemon->core = NULL;
    close_timers(daemon);
}
