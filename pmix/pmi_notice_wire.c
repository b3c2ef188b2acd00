/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_notice.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/wire.h"

#define PROCESS_BYTES  8u
#define TEXT_BYTES_MAX 4096u

static void put_processes(const struct pmi_process *processes, size_t count, struct buffer *out)
{
    assert(count <= PMI_NOTICE_PROCESSES_MAX);
    wire_put_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        wire_put_u32(out, processes[i].job);
        wire_put_u32(out, processes[i].rank);
    }
}

static const struct pmi_process *get_processes(struct wire_reader *reader, size_t *ret_count)
{
    size_t count = (size_t)wire_get_varint_max(reader, PMI_NOTICE_PROCESSES_MAX);
    struct pmi_process *processes = NULL;

    *ret_count = 0;
    if (wire_left(reader) / PROCESS_BYTES < count)
        wire_fail(reader);
    if (wire_status(reader) < 0 || count == 0)
        return NULL;
    processes = memory_allocate(count * sizeof(*processes));
    for (size_t i = 0; i < count; i++) {
        processes[i].job = wire_get_u32(reader);
        processes[i].rank = wire_get_u32(reader);
    }
    *ret_count = count;
    return processes;
}

void pmi_notice_encode(const struct pmi_notice *notice, struct buffer *out)
{
    assert(notice->event < PMI_EVENT_COUNT && notice->info_bytes <= PMI_NOTICE_BYTES_MAX);
    wire_put_u8(out, (uint8_t)notice->event);
    wire_put_u32(out, (uint32_t)notice->code);
    wire_put_u32(out, notice->source.job);
    wire_put_u32(out, notice->source.rank);
    put_processes(notice->targets, notice->targets_count, out);
    put_processes(notice->affected, notice->affected_count, out);
    wire_put_string(out, notice->text != NULL ? notice->text : "");
    wire_put_bytes(out, notice->info, notice->info_bytes);
}

int pmi_notice_decode(struct pmi_notice *ret_notice, const void *data, size_t data_bytes)
{
    struct pmi_notice notice = {.event = PMI_EVENT_CLIENT};
    struct wire_reader reader;
    struct wire_bytes info;
    uint8_t event;

    wire_reader_init(&reader, data, data_bytes);
    event = wire_get_u8(&reader);
    if (event >= PMI_EVENT_COUNT)
        wire_fail(&reader);
    notice.event = (enum pmi_event)event;
    notice.code = (int32_t)wire_get_u32(&reader);
    notice.source.job = wire_get_u32(&reader);
    notice.source.rank = wire_get_u32(&reader);
    notice.targets = get_processes(&reader, &notice.targets_count);
    notice.affected = get_processes(&reader, &notice.affected_count);
    notice.text = wire_get_string(&reader, TEXT_BYTES_MAX);
    info = wire_get_bytes(&reader, PMI_NOTICE_BYTES_MAX);
    notice.info = info.data;
    notice.info_bytes = info.length_bytes;
    if (wire_finish(&reader) < 0) {
        pmi_notice_fini(&notice);
        return -EBADMSG;
    }
    *ret_notice = notice;
    return 0;
}

void pmi_notice_fini(struct pmi_notice *notice)
{
    free((void *)(uintptr_t)notice->targets);
    free((void *)(uintptr_t)notice->affected);
    free((void *)(uintptr_t)notice->text);
    *notice = (struct pmi_notice){.event = PMI_EVENT_CLIENT};
}
