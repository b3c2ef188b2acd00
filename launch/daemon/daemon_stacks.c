/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes the stacks of ranks in a process of the helper (launch/exec/stack_read.h), as the programs that do so are slow, and may
 * block.  It ends by itself in time; if it does not, it is killed some seconds later.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/time.h"
#include "launch/daemon/daemon_internal.h"
#include "launch/proto/stack_fold.h"

#define GRACE_MS         2000u
#define ANSWER_BYTES_MAX (64u * 1024)
#define PIECE_BYTES      4096u
#define WORD_BYTES       32

struct daemon_stacks {
    struct list_link node;
    struct daemon *daemon;
    uint32_t look; /* the core's number of it */
    uint64_t id;   /* of its process at the helper */
    int fd;
    struct loop_watch *watch;
    struct loop_timer *timer;
    struct buffer answer;
};

static void stacks_check(const struct daemon_stacks *stacks)
{
    assert(stacks->daemon != NULL && list_is_linked(&stacks->node) && stacks->look > 0);
    assert((stacks->fd >= 0) == (stacks->watch != NULL));
    assert(stacks->answer.length_bytes <= ANSWER_BYTES_MAX + PIECE_BYTES);
}

static void stacks_free(struct daemon_stacks *stacks)
{
    list_remove(&stacks->node);
    loop_watch_destroy(stacks->watch);
    loop_timer_destroy(stacks->timer);
    if (stacks->fd >= 0)
        close(stacks->fd);
    buffer_fini(&stacks->answer);
    free(stacks);
}

void daemon_stacks_close(struct daemon *daemon)
{
    struct list_link *node;

    while ((node = list_first(&daemon->stacks)) != NULL)
        stacks_free(list_entry(node, struct daemon_stacks, node));
}

/* why: of the ranks without an answer. */
static void stacks_finish(struct daemon_stacks *stacks, const char *why)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_STACKS, .id = stacks->look, .text = why};
    struct daemon *daemon = stacks->daemon;
    struct buffer answer = {0};

    stacks_check(stacks);
    buffer_swap(&answer, &stacks->answer);
    stacks_free(stacks);
    event.data = answer.data;
    event.data_bytes = answer.length_bytes;
    daemon_core_step(daemon->core, &event);
    buffer_fini(&answer);
}

static void on_readable(void *context, int fd, unsigned int ready)
{
    struct daemon_stacks *stacks = context;
    ssize_t got = read(fd, buffer_reserve(&stacks->answer, PIECE_BYTES), PIECE_BYTES);

    stacks_check(stacks);
    assert(fd == stacks->fd);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        buffer_commit(&stacks->answer, (size_t)got);
    if (got <= 0 || stacks->answer.length_bytes > ANSWER_BYTES_MAX)
        stacks_finish(stacks, "the process that takes them exited early");
}

static void on_timer(void *context)
{
    struct daemon_stacks *stacks = context;

    stacks_check(stacks);
    helper_signal(stacks->daemon->helper, stacks->id, SIGKILL);
    stacks_finish(stacks, "they have not been taken in time");
}

/* Of the processes that run: what has ended meanwhile has no stack. */
static uint32_t make_words(const struct daemon_job *job, const struct ranges *indices,
                           char words[STACK_FOLD_RANKS_MAX][WORD_BYTES],
                           char *argv[STACK_FOLD_RANKS_MAX + 1])
{
    uint32_t count = 0, index = 0;

    for (; count < STACK_FOLD_RANKS_MAX && ranges_next(indices, index, &index); index++) {
        assert(index < job->local->count);
        if (job->pids[index] <= 0)
            continue;
        snprintf(words[count], WORD_BYTES, "%u:%d", index, (int)job->pids[index]);
        argv[count] = words[count];
        count++;
    }
    argv[count] = NULL;
    return count;
}

void daemon_stacks_start(void *context, uint32_t number, const struct ranges *indices,
                         uint32_t look, uint32_t limit_ms)
{
    struct daemon *daemon = context;
    const struct daemon_job *job = daemon_job_find(daemon, number);
    struct daemon_stacks *stacks = memory_allocate_zeroed(sizeof(*stacks));
    char words[STACK_FOLD_RANKS_MAX][WORD_BYTES];
    char *argv[STACK_FOLD_RANKS_MAX + 1];
    int ends[2];

    daemon_check(daemon);
    assert(daemon->record.place > 0 && !ranges_is_empty(indices));
    stacks->daemon = daemon;
    stacks->look = look;
    stacks->fd = -1;
    list_append(&daemon->stacks, &stacks->node);
    stacks->timer = loop_timer_create(daemon->loop, on_timer, stacks);
    if (job == NULL || make_words(job, indices, words, argv) == 0) {
        stacks_finish(stacks, "it has ended meanwhile");
        return;
    }
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        stacks_finish(stacks, "no descriptors are left");
        return;
    }
    stacks->id = DAEMON_SURVEY_ID + daemon->surveys_made++ % DAEMON_SURVEY_ID;
    stacks->fd = ends[0];
    stacks->watch = loop_watch_create(daemon->loop, ends[0], LOOP_READ, on_readable, stacks);
    loop_timer_set(stacks->timer, loop_now_ns() + (uint64_t)(limit_ms + GRACE_MS) * NS_PER_MS);
    helper_stacks(daemon->helper, stacks->id, argv, limit_ms, ends[1]);
    close(ends[1]);
}
