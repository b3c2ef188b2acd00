/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes are asked what they are like: who, for what, once, and what comes of an answer that is none. */
#include "config.h"

#include "launch/job/job.h"

#include <string.h>

#include "base/wire.h"
#include "launch/job/instance_state.h"
#include "launch/proto/survey.h"
#include "test/support/job_world.h"
#include "test/support/tap.h"

/* Nodes do not answer by themselves. */
static struct job_world *world_of(uint32_t nodes, const struct placement_rule *rule)
{
    struct job_world *world = job_world_create_with(nodes, 1, INSTANCE_STAYS);

    world->rule = *rule;
    job_world_complete(world);
    job_world_run(world, nodes);
    return world;
}

static const struct placement_rule by_core = {.policy = PLACEMENT_BY_OBJECT,
                                              .level = TOPOLOGY_CORE};

static void answers(struct job_world *world, uint32_t place, const struct survey *survey)
{
    struct buffer payload = {0};
    struct job_event event = {.kind = JOB_EVENT_SURVEYED, .job = 1};

    survey_encode(survey, &payload);
    event.message = message_from_buffer(&payload);
    job_world_event(world, place, event);
    message_release(event.message);
    buffer_fini(&payload);
}

static enum job_phase phase_of(const struct job_world *world)
{
    const struct job *job = instance_find_job(world->places[0].instance, 1);

    return job != NULL ? job->phase : JOB_OVER;
}

/* What is asked of a job's rule. */
static void test_wanted(void)
{
    static const struct {
        struct placement_rule rule;
        unsigned int want;
    } rows[] = {
        {{.policy = PLACEMENT_BY_SLOT}, 0},
        {{.policy = PLACEMENT_BY_NODE}, 0},
        {{.policy = PLACEMENT_BY_SLOT, .pe = 2}, SURVEY_TOPOLOGY},
        {{.policy = PLACEMENT_BY_OBJECT, .level = TOPOLOGY_PACKAGE}, SURVEY_TOPOLOGY},
        {{.policy = PLACEMENT_BY_SLOT, .bind = PLACEMENT_BIND_LEVEL, .bind_level = TOPOLOGY_CORE},
         SURVEY_TOPOLOGY},
        {{.policy = PLACEMENT_BY_SLOT, .gpus = 1}, SURVEY_TOPOLOGY | SURVEY_DEVICES},
        {{.policy = PLACEMENT_BY_DEVICE}, SURVEY_TOPOLOGY | SURVEY_DEVICES},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job_world *world = world_of(2, &rows[i].rule);
        struct job *job = instance_find_job(world->places[0].instance, 1);

        is_int(phase_of(world), rows[i].want ? JOB_SURVEYING : JOB_LAUNCHING, "rule %zu", i);
        is_uint(world->places[1].surveys, rows[i].want ? 1 : 0, "the node is asked, or not");
        ranges_clear(&job->concerned); /* as if nobody had been asked yet */
        is_uint(rows[i].want ? job_survey_wanted(job, 1) : 0, rows[i].want, "for what");
        job_world_destroy(world);
    }
}

/* A node that could not look at itself ends the job, with its reason. */
static void test_failed(void)
{
    struct job_world *world = world_of(2, &by_core);
    struct survey failed = {.why = "hwloc does not answer"}, none = {.why = ""};

    ranges_add(&failed.failed, 1, 1);
    answers(world, 1, &none);
    is_uint(world->reports, 0, "all are waited for");
    answers(world, 2, &failed);
    is_uint(world->end.status, 125, "a node that cannot be inspected");
    is_string(world->end.text, "cannot inspect n2: hwloc does not answer", "is named");
    survey_fini(&failed);
    job_world_destroy(world);
}

static void test_garbage(void)
{
    struct job_world *world = world_of(1, &by_core);
    struct job_event event = {.kind = JOB_EVENT_SURVEYED, .job = 1};
    struct buffer payload = {0};

    wire_put_u32(&payload, UINT32_MAX);
    event.message = message_from_buffer(&payload);
    job_world_event(world, 1, event);
    is_string(world->end.text, "cannot decode the nodes' descriptions of their machines",
              "an answer that is none ends the job");
    message_release(event.message);
    buffer_fini(&payload);
    job_world_destroy(world);
}

/* An answer without the machine: the node is not asked for ever. */
static void test_nothing_said(void)
{
    struct job_world *world = world_of(1, &by_core);
    struct survey none = {.why = ""};

    answers(world, 1, &none);
    is_uint(world->reports, 1, "a node that says nothing of itself ends the job");
    is_uint(world->places[1].surveys, 1, "and is not asked again");
    answers(world, 1, &none);
    is_uint(world->reports, 1, "a second answer is nobody's");
    job_world_destroy(world);
}

static void test_lost(void)
{
    struct job_world *world = world_of(2, &by_core);

    job_world_kill(world, 2);
    is_uint(world->reports, 1, "a node that dies while it is asked ends the job");
    is_string(world->end.text, "lost node n2: its daemon closed the connection; the job was ended",
              "as lost");
    job_world_destroy(world);
}

/* A survey that is cut, or is not for this node, is not answered. */
static void test_not_asked(void)
{
    struct job_world *world = world_of(2, &by_core);
    struct ranges places = {0};
    struct buffer payload = {0};

    ranges_add(&places, 2, 2);
    wire_put_u8(&payload, JOB_MESSAGE_SURVEY);
    wire_put_u32(&payload, 9);
    wire_put_u32(&payload, 1);
    wire_put_u8(&payload, SURVEY_TOPOLOGY);
    wire_put_string(&payload, "");
    ranges_encode(&places, &payload);
    for (size_t cut = 1; cut <= payload.length_bytes; cut++) {
        struct buffer part = {0};
        struct job_event event = {.kind = JOB_EVENT_BROADCAST};

        buffer_append(&part, payload.data, cut);
        event.message = message_from_buffer(&part);
        job_world_event(world, 1, event);
        message_release(event.message);
        buffer_fini(&part);
    }
    is_uint(world->places[1].surveys, 1, "only what is whole and for the node is answered");
    ranges_fini(&places);
    buffer_fini(&payload);
    job_world_destroy(world);
}

int main(void)
{
    test_wanted();
    test_failed();
    test_garbage();
    test_nothing_said();
    test_lost();
    test_not_asked();
    return done_testing();
}
