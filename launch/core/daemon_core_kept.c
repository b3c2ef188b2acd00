/* SPDX-License-Identifier: BSD-3-Clause */
/* Events posted from within a step wait here until it is over. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "launch/core/daemon_core_internal.h"

/* An event posted from within a step, with copies of everything that it points to. */
struct kept_event {
    struct list_link node;
    struct daemon_event event;
    struct job_event job_event;
    struct operation_name key;
    struct ranges places;
    struct job_spec spec;
    struct control_end end;
    char *text;
    void *data;
};

static const char *keep_text(struct kept_event *kept, const char *text)
{
    if (text != NULL)
        kept->text = memory_copy_string(text);
    return kept->text;
}

static const struct operation_name *keep_key(struct kept_event *kept,
                                             const struct operation_name *key)
{
    if (key != NULL)
        kept->key = *key;
    return key != NULL ? &kept->key : NULL;
}

static const struct ranges *keep_places(struct kept_event *kept, const struct ranges *places)
{
    if (places != NULL)
        ranges_copy(&kept->places, places);
    return places != NULL ? &kept->places : NULL;
}

static void keep_job_event(struct kept_event *kept, struct job_event *event)
{
    struct job_event *copy = &kept->job_event;

    *copy = *event;
    copy->text = keep_text(kept, event->text);
    copy->key = keep_key(kept, event->key);
    copy->places = keep_places(kept, event->places);
    message_reference(copy->message);
    if (event->spec != NULL) {
        kept->spec = *event->spec;
        copy->spec = &kept->spec;
        job_spec_init(event->spec);
    }
    if (event->end != NULL) {
        kept->end = *event->end;
        copy->end = &kept->end;
    }
    kept->event.job_event = copy;
}

void daemon_core_keep_event(struct daemon_core *core, const struct daemon_event *event)
{
    struct kept_event *kept = memory_allocate_zeroed(sizeof(*kept));

    assert(event->missing == NULL); /* the tree posts no events from within a step */
    kept->event = *event;
    job_spec_init(&kept->spec);
    if (event->job_event != NULL) {
        keep_job_event(kept, event->job_event);
    } else {
        kept->event.text = keep_text(kept, event->text);
        kept->event.key = keep_key(kept, event->key);
        kept->event.places = keep_places(kept, event->places);
        message_reference(event->message);
        if (event->data_bytes > 0)
            kept->event.data = kept->data = memory_copy(event->data, event->data_bytes);
    }
    list_append(&core->kept, &kept->node);
}

static void kept_free(struct kept_event *kept)
{
    list_remove(&kept->node);
    message_release(kept->event.message);
    message_release(kept->job_event.message);
    ranges_fini(&kept->places);
    job_spec_fini(&kept->spec);
    free(kept->text);
    free(kept->data);
    free(kept);
}

void daemon_core_keep(struct daemon_core *core, struct job_event *event)
{
    struct daemon_event kept = {.kind = DAEMON_EVENT_JOB, .job_event = event};

    assert(core->is_stepping);
    daemon_core_keep_event(core, &kept);
}

const struct daemon_event *daemon_core_kept_first(const struct daemon_core *core)
{
    struct list_link *node = list_first(&core->kept);

    return node != NULL ? &list_entry(node, struct kept_event, node)->event : NULL;
}

void daemon_core_kept_drop(struct daemon_core *core)
{
    kept_free(list_entry(list_first(&core->kept), struct kept_event, node));
}
