/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to a root that others survive (instance_spec.survive_s).  When it dies, those under way are lost, and some of
 * them are output of programs.  So each place numbers what it sends to the root and keeps it until the root has said
 * that it has it; when the root has been recovered, a place is lost, which may have relayed some of them, or the root
 * says that one is missing, it sends them again.  The root takes each number once, and none before the
 * one that precedes it.  Each class of frames is a separate stream, since the classes overtake each other.
 *
 * A place keeps no more output than it has credit for, and TAKEN_MESSAGES others; credit that was under
 * way is renewed.  The root has a few numbers for each place that has sent something.  Where nobody
 * survives the root messages are sent as they are.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "launch/core/daemon_core_internal.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/numbered.h"

/* What the root takes from a place before it says so. */
#define TAKEN_MESSAGES 16u
#define TAKEN_BYTES    (32u * 1024)
/* Of that many messages after a gap the first asks for what is missing, since that may get lost, too. */
#define GAP_MESSAGES 16u

struct kept_message {
    struct list_link node;
    uint64_t number;
    struct message *message;
};

struct resend {
    struct list kept[FRAME_CLASS_COUNT]; /* struct kept_message, ascending */
    uint64_t next[FRAME_CLASS_COUNT];
};

/* The root, of a place. */
struct sender {
    uint64_t next[FRAME_CLASS_COUNT];
    uint32_t messages[FRAME_CLASS_COUNT]; /* taken since that was last said */
    uint64_t bytes[FRAME_CLASS_COUNT];
    uint32_t early[FRAME_CLASS_COUNT]; /* not taken, since one before them is missing */
};

/* ---- a place ---- */

static struct resend *resend_of(struct daemon_core *core)
{
    if (core->resend != NULL)
        return core->resend;
    core->resend = memory_allocate_zeroed(sizeof(*core->resend));
    for (uint32_t i = 0; i < FRAME_CLASS_COUNT; i++)
        list_init(&core->resend->kept[i]);
    return core->resend;
}

static void send_kept(struct daemon_core *core, enum frame_class class, struct message *message)
{
    struct resend *resend = resend_of(core);
    struct kept_message *kept = memory_allocate_zeroed(sizeof(*kept));

    kept->number = resend->next[class]++;
    kept->message = numbered_message((uint8_t) class, kept->number, message);
    list_append(&resend->kept[class], &kept->node);
    message_release(message);
    core->tree->send(core->tree_context, 0, class, message_reference(kept->message));
}

void daemon_core_send(struct daemon_core *core, uint32_t place, enum frame_class class,
                      struct message *message)
{
    assert(class < FRAME_CLASS_COUNT);
    if (place == 0 && core->place != 0 && core->spec->survive_s > 0)
        send_kept(core, class, message);
    else
        core->tree->send(core->tree_context, place, class, message);
}

static void drop_first(struct list *list)
{
    struct kept_message *kept = list_entry(list_first(list), struct kept_message, node);

    list_remove(&kept->node);
    message_release(kept->message);
    free(kept);
}

static void send_stream_again(struct daemon_core *core, enum frame_class class)
{
    struct list_link *node, *spare;

    list_for_each(&core->resend->kept[class], node, spare)
        core->tree->send(core->tree_context, 0, class,
                         message_reference(list_entry(node, struct kept_message, node)->message));
}

void daemon_core_resend_taken(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    struct list *list;
    uint64_t next;
    uint8_t stream;
    bool again;

    if (numbered_taken_decode(&stream, &next, &again, reader) < 0 || source != 0 ||
        core->resend == NULL)
        return;
    list = &core->resend->kept[stream];
    while (!list_is_empty(list) &&
           list_entry(list_first(list), struct kept_message, node)->number < next)
        drop_first(list);
    if (again)
        send_stream_again(core, (enum frame_class)stream);
}

void daemon_core_resend_lost(struct daemon_core *core)
{
    for (uint32_t class = 0; core->resend != NULL && class < FRAME_CLASS_COUNT; class ++)
        send_stream_again(core, (enum frame_class) class);
}

void daemon_core_resend_all(struct daemon_core *core, const struct daemon_event *event)
{
    (void)event;
    if (daemon_core_is_root(core))
        return;
    daemon_core_resend_lost(core);
    core->ops->ranks->renew_credit(core->context);
}

/* ---- the root ---- */

static struct sender *sender_of(struct daemon_core *core, uint32_t place)
{
    struct sender *sender;

    if (core->root->senders == NULL)
        core->root->senders = hash_map_create();
    sender = hash_map_get_u64(core->root->senders, place);
    if (sender != NULL)
        return sender;
    sender = memory_allocate_zeroed(sizeof(*sender));
    (void)hash_map_put_u64(core->root->senders, place, sender);
    return sender;
}

static void say_taken(struct daemon_core *core, uint32_t place, struct sender *sender,
                      uint8_t stream, bool again)
{
    core->tree->send(core->tree_context, place, FRAME_CONTROL,
                     numbered_taken_message(stream, sender->next[stream], again));
    sender->messages[stream] = 0;
    sender->bytes[stream] = 0;
}

struct message *daemon_core_resend_came(struct daemon_core *core, uint32_t source,
                                        struct wire_reader *reader)
{
    struct sender *sender;
    uint64_t number;
    uint8_t stream;

    if (numbered_decode(&stream, &number, reader) < 0 || wire_left(reader) == 0 ||
        reader->position[0] == JOB_MESSAGE_NUMBERED)
        return NULL;
    sender = sender_of(core, source);
    assert(daemon_core_is_root(core) && sender->messages[stream] < TAKEN_MESSAGES);
    if (number > sender->next[stream] && sender->early[stream]++ % GAP_MESSAGES == 0)
        say_taken(core, source, sender, stream, true);
    if (number != sender->next[stream])
        return NULL; /* taken already, or one before it will be sent again, and then this one */
    sender->next[stream]++;
    sender->early[stream] = 0;
    sender->bytes[stream] += wire_left(reader);
    if (++sender->messages[stream] >= TAKEN_MESSAGES || sender->bytes[stream] >= TAKEN_BYTES)
        say_taken(core, source, sender, stream, false);
    return message_create(reader->position, wire_left(reader));
}

void daemon_core_resend_close(struct daemon_core *core)
{
    struct sender *sender;
    size_t cursor = 0;

    for (uint32_t class = 0; core->resend != NULL && class < FRAME_CLASS_COUNT; class ++)
        while (!list_is_empty(&core->resend->kept[class]))
            drop_first(&core->resend->kept[class]);
    free(core->resend);
    while (core->root->senders != NULL &&
           (sender = hash_map_next(core->root->senders, &cursor)) != NULL)
        free(sender);
    hash_map_destroy(core->root->senders);
}
