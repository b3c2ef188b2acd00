/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/trace.h"

#include <stdlib.h>

#include "overlay/overlay_print.h"

static const char *const event_names[OVERLAY_EVENT_KIND_COUNT] = {
    [OVERLAY_EVENT_START] = "start",     [OVERLAY_EVENT_UP] = "up",
    [OVERLAY_EVENT_DOWN] = "down",       [OVERLAY_EVENT_FRAME] = "frame",
    [OVERLAY_EVENT_TIMER] = "timer",     [OVERLAY_EVENT_BROADCAST] = "broadcast",
    [OVERLAY_EVENT_LEAVE] = "leave",     [OVERLAY_EVENT_CONTRIBUTE] = "contribute",
    [OVERLAY_EVENT_FORGET] = "forget",   [OVERLAY_EVENT_ASK] = "ask",
    [OVERLAY_EVENT_GROW] = "grow",       [OVERLAY_EVENT_SHRINK] = "shrink",
    [OVERLAY_EVENT_CANCEL] = "cancel",   [OVERLAY_EVENT_SEND] = "send",
    [OVERLAY_EVENT_REQUEST] = "request", [OVERLAY_EVENT_REPLY] = "reply",
    [OVERLAY_EVENT_FAILED] = "failed",   [OVERLAY_EVENT_RECOVER] = "recover",
};

static const char *const action_names[OVERLAY_ACTION_KIND_COUNT] = {
    [OVERLAY_ACTION_CONNECT] = "connect",     [OVERLAY_ACTION_CLOSE] = "close",
    [OVERLAY_ACTION_SEND] = "send",           [OVERLAY_ACTION_TIMER] = "timer",
    [OVERLAY_ACTION_JOINED] = "JOINED",       [OVERLAY_ACTION_COMPLETE] = "COMPLETE",
    [OVERLAY_ACTION_BROADCAST] = "BROADCAST", [OVERLAY_ACTION_RESULT] = "RESULT",
    [OVERLAY_ACTION_RECEIVED] = "RECEIVED",   [OVERLAY_ACTION_REQUEST] = "REQUEST",
    [OVERLAY_ACTION_REPLY] = "REPLY",         [OVERLAY_ACTION_DEAD] = "DEAD",
    [OVERLAY_ACTION_SEEN] = "SEEN",           [OVERLAY_ACTION_SILENT] = "SILENT",
    [OVERLAY_ACTION_GROWN] = "GROWN",         [OVERLAY_ACTION_LEFT] = "LEFT",
    [OVERLAY_ACTION_MISSING] = "MISSING",     [OVERLAY_ACTION_ENDED] = "ENDED",
    [OVERLAY_ACTION_RECOVERED] = "RECOVERED",
};

void trace_step_fini(struct trace_step *step)
{
    message_release(step->frame.payload);
    message_release(step->event.payload);
    ranges_fini(&step->set);
    free(step->actions_text);
    *step = (struct trace_step){0};
}

static void print_action(const struct overlay_action *action, struct buffer *out)
{
    buffer_append_string(out, action_names[action->kind]);
    if (action->kind == OVERLAY_ACTION_SEND) {
        buffer_printf(out, " %u ", action->place);
        overlay_print(&action->frame, out);
    } else if (action->kind == OVERLAY_ACTION_TIMER) {
        buffer_printf(out, " %llu", (unsigned long long)action->deadline_ns);
    } else if (action->kind == OVERLAY_ACTION_DEAD || action->kind == OVERLAY_ACTION_SEEN ||
               action->kind == OVERLAY_ACTION_GROWN || action->kind == OVERLAY_ACTION_LEFT) {
        buffer_append_string(out, " ");
        ranges_print(&action->places, out);
    } else if (action->kind == OVERLAY_ACTION_RESULT) {
        buffer_printf(out, " kind=%u gen=%u status=%d", action->key.kind, action->key.generation,
                      action->status);
    } else if (action->kind == OVERLAY_ACTION_ENDED) {
        buffer_printf(out, " %s", action->text != NULL ? action->text : "");
    } else {
        buffer_printf(out, " %u", action->place);
    }
}

void trace_print_actions(const struct overlay_actions *actions, struct buffer *out)
{
    size_t start_bytes = out->length_bytes;

    for (uint32_t i = 0; i < actions->count; i++) {
        struct buffer line = {0};

        print_action(&actions->items[i], &line);
        if (out->length_bytes - start_bytes + line.length_bytes + 1 > RECORD_TEXT_BYTES_MAX) {
            buffer_printf(out, "and %u more\n", actions->count - i);
            buffer_fini(&line);
            return;
        }
        buffer_printf(out, "%s\n", buffer_string(&line));
        buffer_fini(&line);
    }
}

void trace_print_event(const struct overlay_event *event, struct buffer *out)
{
    buffer_append_string(out, event_names[event->kind]);
    if (event->kind == OVERLAY_EVENT_FRAME) {
        buffer_printf(out, " from %u: ", event->place);
        overlay_print(event->frame, out);
    } else if (event->kind == OVERLAY_EVENT_CONTRIBUTE) {
        buffer_printf(out, " kind=%u gen=%u", event->key.kind, event->key.generation);
    } else {
        buffer_printf(out, " %u", event->place);
    }
}
