/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <errno.h>

#include "base/wire.h"
#include "pmix/pmi_pull.h"

#define RANGES_MAX 65536u

void pmi_pull_encode(const struct pmi_pull *pull, struct buffer *out)
{
    assert(pull->kind < PMI_PULL_KIND_COUNT);
    assert(pull->kind == PMI_PULL_SET || ranges_is_empty(&pull->ranks));
    assert((pull->channels & ~(PMI_PULL_STDOUT | PMI_PULL_STDERR)) == 0);
    wire_put_u8(out, (uint8_t)pull->kind);
    wire_put_u32(out, pull->job);
    wire_put_u64(out, pull->version);
    wire_put_u32(out, pull->bytes);
    wire_put_u8(out, pull->channels);
    ranges_encode(&pull->ranks, out);
}

int pmi_pull_decode(struct pmi_pull *ret_pull, const void *data, size_t bytes)
{
    struct pmi_pull pull = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    pull.kind = (enum pmi_pull_kind)wire_get_u8(&reader);
    pull.job = wire_get_u32(&reader);
    pull.version = wire_get_u64(&reader);
    pull.bytes = wire_get_u32(&reader);
    pull.channels = wire_get_u8(&reader);
    if (pull.kind >= PMI_PULL_KIND_COUNT ||
        (pull.channels & ~(PMI_PULL_STDOUT | PMI_PULL_STDERR)) != 0)
        wire_fail(&reader);
    ranges_decode(&reader, RANGES_MAX, &pull.ranks);
    if (wire_finish(&reader) < 0) {
        ranges_fini(&pull.ranks);
        return -EBADMSG;
    }
    *ret_pull = pull;
    return 0;
}
