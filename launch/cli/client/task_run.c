/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/task_run.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "launch/cli/client/task_log.h"
#include "launch/cli/client/task_plan.h"
#include "launch/proto/exit_status.h"
#include "launch/proto/task_frame.h"

#define PRINT_BYTES (64u * 1024)   /* at a time */
#define QUEUE_BYTES (1024u * 1024) /* in the writer, at most about */
#define STATUS_MAX  101u           /* of GNU parallel: more than 100 have failed */
#define FEED_BYTES  (64u * 1024)   /* of one message */

/* A worker, from its first word to its end. */
struct run_worker {
    char node[TASK_NODE_BYTES];
    struct buffer input;  /* what it has written: frames, the last not complete */
    struct buffer orders; /* for it */
    struct task_spool *spool;
    struct list_link pending; /* it has orders */
    uint32_t number;
    int has_ended;
};

struct task_run {
    struct request_tasks *tasks;
    struct output_writer *writer;
    struct task_run_ops ops;
    void *context;
    struct task_plan *plan;
    struct task_log *log;
    struct hash_map *workers; /* rank -> struct run_worker */
    struct list pending;
    struct list spools;      /* of tasks that have ended, to be printed */
    uint32_t planned;        /* tasks of the list that the plan has */
    struct run_worker *told; /* whose RETURNED is being read */
    char first[256];         /* the first failure */
    int is_printing;
    int is_stopped;
    int is_over; /* workers know it */
};

static struct run_worker *worker_of(struct task_run *run, uint32_t number)
{
    struct run_worker *worker = hash_map_get_u64(run->workers, number);

    if (worker != NULL)
        return worker;
    worker = memory_allocate_zeroed(sizeof(*worker));
    worker->number = number;
    list_link_init(&worker->pending);
    (void)hash_map_put_u64(run->workers, number, worker);
    return worker;
}

/* Its index in the list; numbers ascend. */
static int task_index(const struct task_run *run, uint32_t number, uint32_t *ret_index)
{
    uintptr_t position = (uintptr_t)hash_map_get_u64(run->tasks->list.numbers, number);

    if (position == 0)
        return -ENOENT;
    *ret_index = (uint32_t)position - 1;
    return 0;
}

/* ---- orders ---- */

static struct buffer *orders_of(struct task_run *run, uint32_t number)
{
    struct run_worker *worker = worker_of(run, number);

    if (!list_is_linked(&worker->pending))
        list_append(&run->pending, &worker->pending);
    return &worker->orders;
}

static void plan_run(void *context, uint32_t worker, uint32_t task)
{
    struct task_run *run = context;
    const struct buffer *order = &run->tasks->list.items[task]->order;

    buffer_append(orders_of(run, worker), order->data, order->length_bytes);
}

static void plan_recall(void *context, uint32_t worker)
{
    task_frame_put_recall(orders_of(context, worker));
}

static void send_orders(struct task_run *run)
{
    struct list_link *link;

    while ((link = list_first(&run->pending)) != NULL) {
        struct run_worker *worker = list_entry(link, struct run_worker, pending);
        size_t bytes = worker->orders.length_bytes;

        list_remove(link);
        for (size_t at = 0; at < bytes; at += FEED_BYTES)
            run->ops.feed(run->context, worker->number, worker->orders.data + at,
                          bytes - at < FEED_BYTES ? bytes - at : FEED_BYTES);
        buffer_clear(&worker->orders);
    }
}

static void end_workers(struct task_run *run)
{
    struct run_worker *worker;
    size_t cursor = 0;

    if (run->is_over)
        return;
    run->is_over = 1;
    while ((worker = hash_map_next(run->workers, &cursor)) != NULL)
        if (!worker->has_ended)
            run->ops.feed(run->context, worker->number, NULL, 0);
}

static void flush_log(struct task_run *run)
{
    struct error error = ERROR_NONE;

    if (task_log_flush(run->log, &error) < 0)
        run->ops.failed(run->context, error.text);
}

/* After each event. */
static void advance(struct task_run *run)
{
    if (!run->is_stopped && !run->is_over) {
        task_plan_step(run->plan);
        send_orders(run);
    }
    flush_log(run);
    if (task_plan_is_over(run->plan))
        end_workers(run);
    task_run_print(run);
}

/* ---- the list ---- */

static void plan_list(struct task_run *run)
{
    const struct task_list *list = &run->tasks->list;

    assert(run->planned <= list->count);
    for (; run->planned < list->count; run->planned++) {
        const struct task *task = list->items[run->planned];

        task_plan_add(run->plan, task->slots, task->after, task->after_count, task->is_done);
    }
}

void task_run_list(struct task_run *run, const void *data, size_t bytes)
{
    struct error error = ERROR_NONE;
    int rc;

    assert(run->tasks->streams);
    if (run->is_stopped)
        return;
    rc = task_list_read(&run->tasks->list, data, bytes, &error);
    plan_list(run);
    if (rc < 0)
        run->ops.failed(run->context, error.text);
    else if (bytes == 0)
        task_plan_close(run->plan);
    advance(run);
}

/* ---- ends of tasks ---- */

static void note_failure(struct task_run *run, const struct task_log_entry *entry)
{
    int length;

    if (run->first[0] != '\0')
        return;
    length =
        snprintf(run->first, sizeof(run->first), "task %u on %.64s ", entry->number, entry->node);
    if (entry->signal > 0)
        snprintf(run->first + length, sizeof(run->first) - (size_t)length,
                 "was killed by signal %d", entry->signal);
    else
        snprintf(run->first + length, sizeof(run->first) - (size_t)length, "exited with status %d",
                 entry->status);
}

static void record_end(struct task_run *run, const struct run_worker *worker, uint32_t index,
                       const struct task_ended *ended)
{
    const struct task *task = run->tasks->list.items[index];
    int wait_status = ended->wait_status;
    struct task_log_entry entry = {
        .number = task->number,
        .tries = task_plan_tries(run->plan, index),
        .node = worker->node,
        .command = task->command,
        .started_us = ended->started_us,
        .run_us = ended->run_us,
        .output_bytes = ended->output_bytes,
        .status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0,
        .signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0,
        .output = worker->spool,
    };

    assert(index < run->planned && entry.number == task->number);
    task_log_add(run->log, &entry);
    if (wait_status != 0)
        note_failure(run, &entry);
}

/* It may have run; there is nothing of it but that. */
static void plan_failed(void *context, uint32_t number, uint32_t task)
{
    struct task_run *run = context;
    struct run_worker *worker = worker_of(run, number);
    struct task_ended ended = {.wait_status = W_EXITCODE(EXIT_STATUS_FAILED, 0)};

    task_spool_destroy(worker->spool);
    worker->spool = NULL;
    record_end(run, worker, task, &ended);
}

static void drop_spool(struct run_worker *worker)
{
    task_spool_destroy(worker->spool);
    worker->spool = NULL;
}

/* Of a task that is tried again only the last try counts. */
static void take_ended(struct task_run *run, struct run_worker *worker,
                       const struct task_ended *ended)
{
    uint32_t index;
    int rc = task_index(run, ended->task, &index);

    if (rc == 0)
        rc = task_plan_ended(run->plan, worker->number, index, ended->wait_status == 0);
    if (rc == TASK_SUCCEEDED || rc == TASK_FAILED || (rc == TASK_READY && run->is_stopped)) {
        record_end(run, worker, index, ended);
        if (worker->spool != NULL && worker->spool->bytes[0] + worker->spool->bytes[1] > 0)
            list_append(&run->spools, &worker->spool->node);
        else
            drop_spool(worker);
        worker->spool = NULL;
    }
    drop_spool(worker);
}

static void take_output(struct task_run *run, struct run_worker *worker,
                        const struct task_output *output)
{
    int rc;

    if (worker->spool == NULL)
        worker->spool = task_spool_create(output->task);
    rc =
        task_spool_add(worker->spool, output->stream, output->data.data, output->data.length_bytes);
    if (rc < 0) {
        char text[128];

        snprintf(text, sizeof(text), "cannot keep the output of task %u in $TMPDIR, or /tmp: %s",
                 output->task, strerror(-rc));
        run->ops.failed(run->context, text);
    }
}

static void take_returned(void *context, uint32_t number)
{
    struct task_run *run = context;
    uint32_t index;

    if (task_index(run, number, &index) == 0)
        task_plan_returned(run->plan, run->told->number, index);
}

/* ---- workers ---- */

static int take_hello(struct task_run *run, struct run_worker *worker,
                      const struct task_frame *frame)
{
    struct task_hello hello;

    if (task_frame_get_hello(frame, &hello) < 0)
        return -EBADMSG;
    snprintf(worker->node, sizeof(worker->node), "%s", hello.node);
    if (task_plan_worker(run->plan, worker->number, hello.place) < 0)
        return -EBADMSG;
    if (run->is_over)
        run->ops.feed(run->context, worker->number, NULL, 0);
    return 0;
}

static int take_frame(struct task_run *run, struct run_worker *worker,
                      const struct task_frame *frame)
{
    struct task_output output;
    struct task_ended ended;

    switch (frame->kind) {
    case TASK_FRAME_HELLO:
        return take_hello(run, worker, frame);
    case TASK_FRAME_OUTPUT:
        if (task_frame_get_output(frame, &output) < 0)
            return -EBADMSG;
        take_output(run, worker, &output);
        return 0;
    case TASK_FRAME_ENDED:
        if (task_frame_get_ended(frame, &ended) < 0)
            return -EBADMSG;
        take_ended(run, worker, &ended);
        return 0;
    case TASK_FRAME_RETURNED:
        run->told = worker;
        if (task_frame_each_returned(frame, take_returned, run) < 0)
            return -EBADMSG;
        task_plan_recalled(run->plan, worker->number);
        return 0;
    default:
        return -EBADMSG;
    }
}

void task_run_output(struct task_run *run, uint32_t number, const void *data, size_t bytes)
{
    struct run_worker *worker = worker_of(run, number);
    struct task_frame frame;
    size_t at = 0;
    long length;
    int rc = 0;

    if (worker->has_ended || bytes == 0)
        return;
    buffer_append(&worker->input, data, bytes);
    while (rc == 0 && (length = task_frame_next(worker->input.data + at,
                                                worker->input.length_bytes - at, &frame)) != 0) {
        rc = length < 0 ? (int)length : take_frame(run, worker, &frame);
        at += length > 0 ? (size_t)length : 0;
    }
    buffer_consume(&worker->input, at);
    if (rc < 0)
        run->ops.failed(run->context,
                        "cannot decode what a worker reports; this is a bug in banyan");
    advance(run);
}

void task_run_started(struct task_run *run, uint32_t workers)
{
    task_plan_expect(run->plan, workers);
    advance(run);
}

void task_run_ended(struct task_run *run, uint32_t number)
{
    struct run_worker *worker = worker_of(run, number);

    if (worker->has_ended)
        return;
    worker->has_ended = 1;
    task_plan_lost(run->plan, number);
    drop_spool(worker);
    advance(run);
}

void task_run_lost(struct task_run *run, const struct ranges *places)
{
    task_plan_lost_places(run->plan, places);
    advance(run);
}

void task_run_stop(struct task_run *run)
{
    run->is_stopped = 1;
}

/* ---- printing ---- */

void task_run_print(struct task_run *run)
{
    static unsigned char piece[PRINT_BYTES];
    struct list_link *link;

    if (run->is_printing) /* the writer has said that it has room while it took something */
        return;
    assert(run->writer != NULL);
    run->is_printing = 1;
    while ((link = list_first(&run->spools)) != NULL &&
           output_writer_queued(run->writer) < QUEUE_BYTES) {
        struct task_spool *spool = list_entry(link, struct task_spool, node);
        uint8_t stream;
        size_t bytes = task_spool_take(spool, piece, sizeof(piece), &stream);

        if (bytes > 0)
            output_writer_put(run->writer, &(struct output_piece){.rank = spool->task,
                                                                  .stream = stream,
                                                                  .data = piece,
                                                                  .data_bytes = bytes});
        if (bytes > 0 && spool->taken != spool->bytes[0] &&
            spool->taken != spool->bytes[0] + spool->bytes[1])
            continue;
        /* A line may be open. */
        output_writer_put(run->writer,
                          &(struct output_piece){.rank = spool->task, .stream = stream});
        if (bytes == 0 || spool->taken == spool->bytes[0] + spool->bytes[1])
            task_spool_destroy(spool);
    }
    run->is_printing = 0;
}

int task_run_is_printed(const struct task_run *run)
{
    return list_is_empty(&run->spools);
}

/* ---- the end ---- */

uint32_t task_run_status(const struct task_run *run, char *text, size_t text_bytes)
{
    uint32_t failed = task_plan_count(run->plan, TASK_FAILED);
    uint32_t count = run->planned;
    uint32_t left = count - failed - task_plan_count(run->plan, TASK_SUCCEEDED);
    size_t length = 0;

    text[0] = '\0';
    if (failed > 0)
        length = (size_t)snprintf(text, text_bytes, "%u of %u tasks failed; the first: %s", failed,
                                  count, run->first);
    if (left > 0 && length < text_bytes)
        snprintf(text + length, text_bytes - length, "%s%u of %u tasks %s not run",
                 failed > 0 ? "; " : "", left, count, left == 1 ? "was" : "were");
    return failed + left < STATUS_MAX ? failed + left : STATUS_MAX;
}

/* ---- life ---- */

void task_run_open(struct task_run *run, struct output_writer *writer)
{
    assert(run->writer == NULL);
    run->writer = writer;
}

int task_run_is_over(const struct task_run *run)
{
    return task_plan_is_over(run->plan);
}

struct task_run *task_run_create(struct request_tasks *tasks, const struct task_run_ops *ops,
                                 void *context, struct error *error)
{
    static const struct task_plan_ops plan_ops = {
        .run = plan_run, .recall = plan_recall, .failed = plan_failed};
    struct task_log *log = task_log_open(tasks->joblog, tasks->results, tasks->resume, error);
    struct task_run *run;

    if (log == NULL)
        return NULL;
    run = memory_allocate_zeroed(sizeof(*run));
    run->tasks = tasks;
    run->ops = *ops;
    run->context = context;
    run->log = log;
    run->plan = task_plan_create(tasks->retries, &plan_ops, run);
    run->workers = hash_map_create();
    list_init(&run->pending);
    list_init(&run->spools);
    plan_list(run);
    if (!tasks->streams)
        task_plan_close(run->plan);
    return run;
}

static void free_worker(struct run_worker *worker)
{
    drop_spool(worker);
    buffer_fini(&worker->input);
    buffer_fini(&worker->orders);
    free(worker);
}

void task_run_destroy(struct task_run *run)
{
    struct run_worker *worker;
    struct list_link *link;
    size_t cursor = 0;

    if (run == NULL)
        return;
    while ((worker = hash_map_next(run->workers, &cursor)) != NULL)
        free_worker(worker);
    while ((link = list_first(&run->spools)) != NULL)
        task_spool_destroy(list_entry(link, struct task_spool, node));
    hash_map_destroy(run->workers);
    task_plan_destroy(run->plan);
    task_log_close(run->log);
    free(run);
}
