/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inspects this node in a process of the helper (survey.h): hwloc may be slow, or block in a file system
 * forever, and the loop must not wait for it.
 */
#include "config.h"

#include "base/time.h"
#include "launch/daemon/daemon_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "launch/proto/survey.h"

#define SURVEY_PATIENCE_S  30
#define SURVEY_BYTES_MAX   (16u * 1024 * 1024)
#define SURVEY_PIECE_BYTES (64u * 1024)

struct daemon_survey {
    struct list_link node;
    struct daemon *daemon;
    uint32_t job;
    uint64_t id; /* of its process at the helper */
    int fd;
    struct loop_watch *watch;
    struct loop_timer *timer;
    struct buffer answer;
};

static void survey_check(const struct daemon_survey *survey)
{
    assert(survey->daemon != NULL && list_is_linked(&survey->node));
    assert((survey->fd >= 0) == (survey->watch != NULL));
    assert(survey->id >= DAEMON_SURVEY_ID && survey->id <= UINT32_MAX);
    assert(survey->answer.length_bytes <= SURVEY_BYTES_MAX + SURVEY_PIECE_BYTES);
}

static void survey_close(struct daemon_survey *survey)
{
    list_remove(&survey->node);
    loop_watch_destroy(survey->watch);
    loop_timer_destroy(survey->timer);
    if (survey->fd >= 0)
        close(survey->fd);
    buffer_fini(&survey->answer);
    free(survey);
}

void daemon_surveys_close(struct daemon *daemon)
{
    struct list_link *node;

    while ((node = list_first(&daemon->surveys)) != NULL)
        survey_close(list_entry(node, struct daemon_survey, node));
}

/* Passes the answer to the job: the survey, or if why is not NULL, the reason why there is none. */
static void survey_finish(struct daemon_survey *survey, const char *why)
{
    struct daemon *daemon = survey->daemon;
    struct survey none = {.why = ""};
    struct buffer answer = {0};
    struct job_event event = {.kind = JOB_EVENT_SURVEYED, .job = survey->job};
    uint32_t node;

    survey_check(survey);
    if (why == NULL) {
        buffer_swap(&answer, &survey->answer);
    } else {
        node = boot_record_listed_place(&daemon->record) - 1;
        ranges_add(&none.failed, node, node);
        snprintf(none.why, sizeof(none.why), "%s", why);
        survey_encode(&none, &answer);
        survey_fini(&none);
    }
    survey_close(survey);
    event.message = message_from_buffer(&answer);
    daemon_job_event(daemon, &event);
    message_release(event.message);
    buffer_fini(&answer);
}

/* The process has closed its end: the answer must be complete. */
static void survey_complete(struct daemon_survey *survey)
{
    struct survey answer;
    struct wire_reader reader;

    wire_reader_init(&reader, survey->answer.data, survey->answer.length_bytes);
    if (survey_decode(&answer, &reader) < 0) {
        survey_finish(survey, "its inspection process exited early");
        return;
    }
    survey_fini(&answer);
    survey_finish(survey, NULL);
}

static void on_survey_readable(void *context, int fd, unsigned int ready)
{
    struct daemon_survey *survey = context;
    ssize_t got = read(fd, buffer_reserve(&survey->answer, SURVEY_PIECE_BYTES), SURVEY_PIECE_BYTES);

    survey_check(survey);
    assert(fd == survey->fd);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        buffer_commit(&survey->answer, (size_t)got);
    if (got <= 0 || survey->answer.length_bytes > SURVEY_BYTES_MAX)
        survey_complete(survey);
}

static void on_survey_timer(void *context)
{
    struct daemon_survey *survey = context;

    survey_check(survey);
    helper_signal(survey->daemon->helper, survey->id, SIGKILL);
    survey_finish(survey, "inspecting its processors took more than 30 s");
}

void daemon_survey_start(void *context, uint32_t job, uint32_t want, const char *require)
{
    struct daemon *daemon = context;
    struct daemon_survey *survey = memory_allocate_zeroed(sizeof(*survey));
    int ends[2];

    daemon_check(daemon);
    assert(daemon->record.place > 0); /* no rank runs at the root */
    survey->daemon = daemon;
    survey->job = job;
    survey->id = DAEMON_SURVEY_ID + daemon->surveys_made++ % DAEMON_SURVEY_ID;
    survey->fd = -1;
    list_append(&daemon->surveys, &survey->node);
    survey->timer = loop_timer_create(daemon->loop, on_survey_timer, survey);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        survey_finish(survey, "no descriptors are left");
        return;
    }
    survey->fd = ends[0];
    survey->watch = loop_watch_create(daemon->loop, ends[0], LOOP_READ, on_survey_readable, survey);
    loop_timer_set(survey->timer, loop_now_ns() + SURVEY_PATIENCE_S * NS_PER_S);
    helper_survey(daemon->helper, survey->id, want, require,
                  boot_record_listed_place(&daemon->record) - 1, ends[1]);
    close(ends[1]);
}
