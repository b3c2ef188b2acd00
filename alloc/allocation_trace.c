/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/allocation_trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void allocation_trace_fini(struct allocation_trace *trace)
{
    if (trace == NULL)
        return;
    for (uint32_t i = 0; i < trace->count; i++) {
        free(trace->entries[i].place);
        hostlist_destroy(trace->entries[i].names);
    }
    free(trace->entries);
    *trace = (struct allocation_trace){.count = 0};
}

void allocation_trace_place(struct allocation_trace *trace, const char *format, ...)
{
    va_list arguments;

    if (trace == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(trace->place, sizeof(trace->place), format, arguments);
    va_end(arguments);
}

static struct trace_entry *entry_last(struct allocation_trace *trace, uint32_t slots)
{
    struct trace_entry *last = trace->count > 0 ? &trace->entries[trace->count - 1] : NULL;

    if (last != NULL && last->slots == slots && strcmp(last->place, trace->place) == 0 &&
        hostlist_count(last->names) < HOSTLIST_HOSTS_MAX / 2)
        return last;
    if (trace->count == trace->capacity) {
        trace->capacity = trace->capacity > 0 ? 2 * trace->capacity : 8;
        trace->entries = memory_resize(trace->entries, trace->capacity * sizeof(*trace->entries));
    }
    last = &trace->entries[trace->count++];
    *last = (struct trace_entry){
        .place = memory_copy_string(trace->place), .names = hostlist_create(), .slots = slots};
    return last;
}

void allocation_trace_add(struct allocation_trace *trace, const struct host_run *run,
                          uint32_t slots)
{
    if (trace != NULL)
        hostlist_append_run(entry_last(trace, slots)->names, run);
}
