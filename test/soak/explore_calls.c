/* SPDX-License-Identifier: BSD-3-Clause */
/* What the places of an explored world are asked for. */
#include "config.h"

#include "test/soak/explore_internal.h"

#include <stdlib.h>

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

endpoint_merge_function *const explore_merges[1] = {merge_concatenate};

static struct message *contribution(const struct task *task, uint32_t generation)
{
    uint32_t large = task->call.by_first ? task->call.first : task->call.last;
    struct buffer bytes = {0};
    struct message *message;

    buffer_printf(&bytes, "%u.%u", task->call.place, generation);
    while (task->call.place == large && bytes.length_bytes < task->call.bytes)
        buffer_append_string(&bytes, "................");
    message = message_from_buffer(&bytes);
    buffer_fini(&bytes);
    return message;
}

static struct operation_name key_of(const struct call *call, uint32_t generation)
{
    return (struct operation_name){.set_id = 100 * call->first + call->last + 1,
                                   .generation = generation,
                                   .target = call->kind == CALL_GATHER ? ENDPOINT_TARGET_ROOT
                                                                       : ENDPOINT_TARGET_ALL};
}

bool call_is_operation(const struct call *call)
{
    return call->kind == CALL_EXCHANGE || call->kind == CALL_GATHER;
}

static void contribute(struct task *task)
{
    struct operation_name key = key_of(&task->call, ++task->begun);
    struct message *payload = contribution(task, task->begun);
    struct overlay_event event = {.kind = OVERLAY_EVENT_CONTRIBUTE, .key = key, .payload = payload};
    struct ranges set = {0};

    ranges_add(&set, task->call.first, task->call.last);
    event.set = &set;
    checker_called(&world->checker, task->call.place, &key, &set, payload);
    world_step(task->call.place, &event);
    ranges_fini(&set);
    message_release(payload);
}

static void cancel(const struct task *task)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_CANCEL, .key = key_of(&task->call, 1)};

    checker_cancelled(&world->checker, &event.key);
    world_step(task->call.place, &event);
}

/* What a cancel is about has been called. */
static bool is_called(const struct task *cancel)
{
    for (uint32_t i = 0; i < world->tasks_count; i++) {
        const struct call *call = &world->tasks[i].call;

        if (call->kind == CALL_EXCHANGE && call->place == cancel->call.place &&
            call->first == cancel->call.first && call->last == cancel->call.last)
            return world->tasks[i].begun > 0;
    }
    return false;
}

static void broadcast(const struct task *task)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_BROADCAST};
    struct message *payload;
    struct buffer bytes = {0};
    struct ranges set = {0};

    buffer_printf(&bytes, "%u-%u.%u", task->call.first, task->call.last, task->begun);
    while (bytes.length_bytes < task->call.bytes)
        buffer_append_string(&bytes, "................");
    payload = message_from_buffer(&bytes);
    buffer_fini(&bytes);
    ranges_add(&set, task->call.first, task->call.last);
    event.payload = payload;
    event.set = task->call.last == EVERYBODY ? NULL : &set;
    checker_broadcast(&world->checker, event.set, payload);
    world_step(0, &event);
    ranges_fini(&set);
    message_release(payload);
}

static void request(const struct task *task)
{
    struct message *payload = message_create("?", 1);
    struct overlay_event event = {.kind = OVERLAY_EVENT_REQUEST,
                                  .place = task->call.first,
                                  .id = (uint32_t)(task - world->tasks) + 1,
                                  .payload = payload};

    checker_requested(&world->checker, task->call.place, event.id, event.place);
    world_step(task->call.place, &event);
    message_release(payload);
}

static void grow(void)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_GROW, .id = world->scenario->more};

    checker_grow(&world->checker, event.id);
    world_step(0, &event);
}

static void shrink(const struct task *task)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_SHRINK};
    struct ranges set = {0};

    ranges_add(&set, task->call.first, task->call.last);
    event.set = &set;
    checker_shrink(&world->checker, &set, world->now_ns);
    world_step(0, &event);
    ranges_fini(&set);
}

void task_begin(struct task *task)
{
    struct overlay_event leave = {.kind = OVERLAY_EVENT_LEAVE};

    switch (task->call.kind) {
    case CALL_EXCHANGE:
    case CALL_GATHER:
        contribute(task);
        return;
    case CALL_BROADCAST:
        broadcast(task);
        break;
    case CALL_REQUEST:
        request(task);
        break;
    case CALL_CANCEL:
        cancel(task);
        break;
    case CALL_GROW:
        grow();
        break;
    case CALL_SHRINK:
        shrink(task);
        break;
    default:
        checker_leaving(&world->checker);
        world_step(0, &leave);
    }
    task->begun++;
}

void task_again(struct task *task)
{
    if (task->begun == 0 || !world_is_alive(task->call.place))
        return;
    if (call_is_operation(&task->call) || task->call.kind == CALL_BROADCAST)
        task_begin(task);
}

/* A member calls its next operation as soon as the one before is told. */
void task_go_on(uint32_t place, const struct operation_name *key)
{
    for (uint32_t i = 0; i < world->tasks_count; i++) {
        struct task *task = &world->tasks[i];
        struct operation_name last = key_of(&task->call, task->begun);

        if (call_is_operation(&task->call) && task->call.place == place && world_is_alive(place) &&
            last.set_id == key->set_id && last.target == key->target &&
            last.generation == key->generation && task->begun < task->call.generations)
            contribute(task);
    }
}

/* It is there, and knows of everyone whom the call is about. */
bool task_may_begin(const struct task *task)
{
    const struct call *call = &task->call;

    if (task->begun > task->is_warm || !world_is_alive(call->place))
        return false;
    if (call_is_operation(call) &&
        call->last >= overlay_population(world->places[call->place].overlay))
        return false;
    return call->kind != CALL_CANCEL || is_called(task);
}
