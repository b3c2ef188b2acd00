/* SPDX-License-Identifier: BSD-3-Clause */
/* What every daemon does when the roll is called: tells the root what it hears, and answers. */
#include "config.h"

#include "launch/daemon/roll_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void roll_call_name(const struct node_key *key, uint32_t job, char *text, size_t text_bytes)
{
    snprintf(text, text_bytes, "%s %u of job %u",
             key->kind == JOB_OPERATION_PMI1 ? "barrier" : "fence", key->generation, job);
}

/* What the meeting point hears goes to the root, which knows who runs where. */
void roll_call_missing(struct daemon *daemon, const struct node_key *key, const struct ranges *set,
                       const struct node_missing *missing)
{
    struct job_stalled message = {.key = *key, .over = missing == NULL};
    struct buffer payload = {0};

    if (set != NULL)
        message.set = *set; /* borrowed, as the next */
    if (missing != NULL)
        message.missing = *missing;
    wire_put_u8(&payload, JOB_MESSAGE_STALLED);
    job_stalled_encode(&message, &payload);
    node_send(daemon->node, 0, FRAME_CONTROL, message_from_buffer(&payload));
    buffer_fini(&payload);
}

/* The third word of /proc/PID/stat; the second is in brackets and may hold anything. */
uint8_t roll_call_process_state(pid_t pid)
{
    char path[64], text[512];
    const char *end;
    ssize_t bytes;
    int fd;

    if (pid <= 0)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    bytes = read(fd, text, sizeof text - 1);
    close(fd);
    if (bytes <= 0)
        return 0;
    text[bytes] = 0;
    end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? (uint8_t)end[2] : 0;
}

static void roll_add(struct job_roll *roll, uint32_t rank, uint8_t state, uint8_t process)
{
    struct job_roll_entry *last = roll->count > 0 ? &roll->entries[roll->count - 1] : NULL;

    if (last != NULL && last->last + 1 == rank && last->state == state && last->process == process)
        last->last = rank;
    else if (roll->count < JOB_ROLL_ENTRIES_MAX)
        roll->entries[roll->count++] = (struct job_roll_entry){
            .first = rank, .last = rank, .state = state, .process = process};
}

/* Returns whether any rank is left that could still join. */
static int roll_of_node(const struct daemon_job *job, const struct node_key *key,
                        struct job_roll *ret_roll)
{
    const struct instance *instance = job->daemon->instance;
    int any = 0;

    ret_roll->count = 0;
    for (uint32_t i = 0; i < job->local->count; i++) {
        enum job_roll_state state = JOB_ROLL_ENDED;

        if (!instance_part_has_ended(instance, job->number, i))
            state = services_roll_state(job->services, key, i);
        any |= state != JOB_ROLL_ENDED;
        roll_add(ret_roll, instance_part_rank(instance, job->local, i), (uint8_t)state,
                 state == JOB_ROLL_ENDED ? 0 : roll_call_process_state(job->pids[i]));
    }
    return any;
}

/* Nobody here will ever join. */
static void nobody_left(const struct daemon_job *job, const struct job_roll_request *request)
{
    struct job_event event = {.kind = JOB_EVENT_MISSED, .job = request->number};
    char name[64];

    if (job->local->spec.on_failure == JOB_ON_FAILURE_CONTINUE)
        services_stand_in(job->services, &request->key, &request->set);
    roll_call_name(&request->key, request->number, name, sizeof name);
    event.text = name;
    daemon_job_event(job->daemon, &event);
}

void roll_call_answer(struct daemon *daemon, uint32_t source, uint32_t id,
                      struct wire_reader *reader)
{
    const struct daemon_job *job = NULL;
    struct job_roll_request request = {0};
    struct job_roll roll = {0};
    struct buffer answer = {0};
    int rc = job_roll_request_decode(&request, reader);

    if (rc == 0) {
        job = daemon_job_find(daemon, request.number);
        if (job == NULL || job->services == NULL)
            rc = -ENOENT;
        else if (!ranges_contains(&request.set, daemon->record.place))
            rc = -EINVAL;
    }
    if (rc == 0 && !roll_of_node(job, &request.key, &roll))
        nobody_left(job, &request);
    wire_put_u32(&answer, (uint32_t)rc);
    if (rc == 0)
        job_roll_encode(&roll, &answer);
    node_reply(daemon->node, source, id, message_from_buffer(&answer));
    buffer_fini(&answer);
    job_roll_request_fini(&request);
}
