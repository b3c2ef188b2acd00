/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/wire.h"
#include "pmix/pmi_control.h"

#define TARGET_BYTES_MIN 5u

void pmi_control_fini(struct pmi_control *control)
{
    free(control->targets);
    control->targets = NULL;
    control->targets_count = 0;
}

void pmi_control_encode(const struct pmi_control *control, struct buffer *out)
{
    assert(control->kind < PMI_CONTROL_KIND_COUNT && control->signal <= PMI_CONTROL_SIGNAL_MAX);
    wire_put_u8(out, (uint8_t)control->kind);
    wire_put_u8(out, (uint8_t)control->signal);
    wire_put_varint(out, control->targets_count);
    for (uint32_t i = 0; i < control->targets_count; i++) {
        wire_put_string(out, control->targets[i].namespace);
        wire_put_u32(out, control->targets[i].rank);
    }
}

int pmi_control_decode(struct pmi_control *ret_control, const void *data, size_t bytes)
{
    struct pmi_control control = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    control.kind = (enum pmi_control_kind)wire_get_u8(&reader);
    control.signal = wire_get_u8(&reader);
    if (control.kind >= PMI_CONTROL_KIND_COUNT || control.signal > PMI_CONTROL_SIGNAL_MAX ||
        (control.kind == PMI_CONTROL_SIGNAL) != (control.signal > 0))
        wire_fail(&reader);
    control.targets_count =
        (uint32_t)wire_get_varint_max(&reader, wire_left(&reader) / TARGET_BYTES_MIN);
    control.targets = memory_allocate_zeroed(control.targets_count * sizeof(*control.targets));
    for (uint32_t i = 0; i < control.targets_count && wire_status(&reader) == 0; i++) {
        wire_get_string_into(&reader, control.targets[i].namespace,
                             sizeof(control.targets[i].namespace));
        control.targets[i].rank = wire_get_u32(&reader);
    }
    if (wire_finish(&reader) < 0) {
        pmi_control_fini(&control);
        return -EBADMSG;
    }
    *ret_control = control;
    return 0;
}
