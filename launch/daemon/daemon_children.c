/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the daemons below this one, and handles what happens until this one has joined. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

#include "base/log.h"
#include "fabric/secret.h"
#include "launch/daemon/daemon_internal.h"
#include "launch/daemon/join_root.h"
#include "launch/start/boot_tell.h"
#include "launch/start/one_shot.h"

#define REFUSALS_TOLD 3

void daemon_start_child(struct daemon *daemon, struct range range)
{
    struct addresses addresses;
    struct boot_record child;

    assert(daemon->starter != NULL && daemon->links != NULL);
    assert(range.first > daemon->record.range.first && range.last <= daemon->record.range.last);
    link_set_addresses(daemon->links, &addresses);
    boot_record_child(&daemon->record, &addresses, range, &child);
    link_set_copy_secret(daemon->links, child.instance.secret); /* the record's was wiped */
    starter_start(daemon->starter, &child);
    boot_record_fini(&child);
    secret_clear_stack();
}

void daemon_add_names(struct daemon *daemon, uint32_t first, const struct hostlist *names)
{
    struct boot_record *record = &daemon->record;

    assert(daemon->root != NULL && first == record->range.last + 1);
    hostlist_append_slice(record->names, names, 0, hostlist_count(names));
    record->range.last += hostlist_count(names);
}

/* One call for all that the core has started in this step. */
static void start_newcomers(void *context)
{
    struct daemon *daemon = context;
    struct range places = {ranges_min(&daemon->newcomers), ranges_max(&daemon->newcomers)};
    struct hostlist *names = hostlist_create();
    struct addresses addresses;
    struct boot_record record;

    assert(ranges_count(&daemon->newcomers) == places.last - places.first + 1);
    ranges_clear(&daemon->newcomers);
    hostlist_append_slice(names, daemon->record.names, places.first - 1,
                          places.last - places.first + 1);
    link_set_addresses(daemon->links, &addresses);
    one_shot_record_added(&daemon->record, &addresses, places, names, &record);
    link_set_copy_secret(daemon->links, record.instance.secret);
    starter_start_all(daemon->starter, &record);
    boot_record_fini(&record);
    hostlist_destroy(names);
    secret_clear_stack();
}

void daemon_start_newcomer(struct daemon *daemon, uint32_t place)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    struct addresses addresses;
    struct boot_record record;

    assert(daemon->root != NULL && daemon->starter != NULL);
    if (starter_is_one_shot(daemon->record.instance.starter)) {
        if (ranges_is_empty(&daemon->newcomers))
            loop_defer(daemon->loop, start_newcomers, daemon);
        ranges_add(&daemon->newcomers, place, place);
        return;
    }
    link_set_addresses(daemon->links, &addresses);
    boot_record_newcomer(&daemon->record, &addresses, place, daemon_place_name(daemon, place, name),
                         &record);
    link_set_copy_secret(daemon->links, record.instance.secret);
    starter_start(daemon->starter, &record);
    boot_record_fini(&record);
    secret_clear_stack();
}

/* Starts the heads of the child ranges; each head starts its own children.  A one-shot starter is
 * called by the root only. */
int daemon_start_children(struct daemon *daemon, struct error *error)
{
    struct addresses addresses;
    struct boot_record record;

    daemon_check(daemon);
    if (!starter_is_one_shot(daemon->record.instance.starter)) {
        daemon_core_step(daemon->core, &(struct daemon_event){.kind = DAEMON_EVENT_START});
    } else if (daemon->join_root) {
        return join_root_start(daemon->join_root, error);
    } else if (daemon->root) {
        link_set_addresses(daemon->links, &addresses);
        one_shot_record(&daemon->record, &addresses, &record);
        starter_start_all(daemon->starter, &record);
        boot_record_fini(&record);
    }
    return 0;
}

/* contrib/bench/joined.c reads it from the log. */
static unsigned long long own_cpu_us(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (unsigned long long)used.tv_sec * 1000000 + (unsigned long long)used.tv_nsec / 1000;
}

void daemon_joined(void *context)
{
    struct daemon *daemon = context;

    assert(daemon->record.place != 0);
    daemon_forget_starter(daemon);
    log_debug("place %u (%s) joined after %llu us of CPU time", daemon->record.place,
              daemon->record.name, own_cpu_us());
}

/* A daemon that has not joined yet sends its starter the reason, which is then part of the message
 * about its time-out.  The first refusals are ignored: the parent may not be up yet. */
void daemon_parent_unlinked(void *context, uint32_t place, int status, const char *why)
{
    struct daemon *daemon = context;
    const struct boot_record *record = &daemon->record;

    assert(!daemon_core_has_joined(daemon->core));
    if (record->ancestors_count == 0 || place != record->ancestors[0].place)
        return;
    if (status == -ECONNREFUSED && ++daemon->refusals < REFUSALS_TOLD)
        return;
    if (daemon->is_joiner)
        log_warning("cannot reach its parent in the tree: %s", why);
    else
        boot_tell_waiting("cannot reach its parent in the tree: ", why);
}

const char *daemon_place_name(const struct daemon *daemon, uint32_t place,
                              char name[HOST_NAME_BYTES_MAX + 1])
{
    const struct boot_record *record = &daemon->record;

    name[0] = 0;
    if (place >= record->range.first && place <= record->range.last && place > 0)
        hostlist_name(record->names, place - (record->range.first ? record->range.first : 1), name);
    return name;
}

/* ---- what the starter reports ---- */

static void starter_failed(void *context, uint32_t place, const struct error *why)
{
    const struct daemon *daemon = context;
    struct daemon_event event = {.kind = DAEMON_EVENT_PLACE_FAILED,
                                 .place = place,
                                 .text = why->text,
                                 .type = (uint8_t)starter_is_barren(daemon->starter, place)};

    daemon_check(daemon);
    assert(place > daemon->record.range.first && place <= daemon->record.range.last);
    daemon_core_step(daemon->core, &event);
}

static void starter_line(void *context, uint32_t place, const char *text)
{
    const struct daemon *daemon = context;
    struct daemon_event event = {.kind = DAEMON_EVENT_LINE, .place = place, .text = text};

    daemon_check(daemon);
    daemon_core_step(daemon->core, &event);
}

static void starter_ended(void *context, uint32_t place)
{
    (void)place;
    daemon_check_idle(context);
}

const struct starter_events daemon_starter_events = {
    .failed = starter_failed,
    .line = starter_line,
    .ended = starter_ended,
};
