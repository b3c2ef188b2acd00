/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/instance_spec.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "overlay/endpoint_types.h"
#include "overlay/tree.h"

#define INSTANCE_SPEC_TEXT_BYTES_MAX 131072u /* the system's limit for one argument */
#define INSTANCE_SPEC_DURATION_MAX   (1000u * 1000 * 1000)
#define INSTANCE_SPEC_RETRIES_MAX    1000u

static uint32_t get_number(struct wire_reader *reader, uint32_t maximum)
{
    return (uint32_t)wire_get_varint_max(reader, maximum);
}

void instance_spec_encode(const struct instance_spec *spec, struct buffer *out)
{
    wire_put_string(out, spec->session);
    wire_put_varint(out, spec->places);
    wire_put_varint(out, spec->radix);
    wire_put_varint(out, spec->trees);
    wire_put_varint(out, spec->starter);
    wire_put_optional_string(out, spec->agent);
    wire_put_optional_string(out, spec->banyand);
    wire_put_optional_string(out, spec->addresses);
    wire_put_optional_string(out, spec->net);
    wire_put_optional_string(out, spec->fabric);
    wire_put_varint(out, spec->port_first);
    wire_put_varint(out, spec->port_last);
    wire_put_optional_string(out, spec->boot);
    wire_put_optional_string(out, spec->tmpdir);
    wire_put_optional_string(out, spec->virtual_base);
    wire_put_optional_string(out, spec->record);
    wire_put_optional_string(out, spec->log);
    wire_put_varint(out, spec->start_timeout_s);
    wire_put_varint(out, spec->nodes_min);
    wire_put_varint(out, spec->spares);
    wire_put_varint(out, spec->start_retries);
    wire_put_varint(out, spec->kill_grace_ms);
    wire_put_varint(out, spec->heartbeat_ms);
    wire_put_varint(out, spec->lease_ms);
    wire_put_varint(out, spec->survive_s);
    wire_put_u8(out, spec->log_level);
    wire_put_u8(out, spec->is_doctor);
}

/* It becomes part of paths, so its form must be checked. */
static void check_session(struct wire_reader *reader, const char *session)
{
    if (strspn(session, "0123456789abcdef") != SESSION_ID_BYTES - 1)
        wire_fail(reader);
}

int instance_spec_decode(struct instance_spec *ret_spec, struct wire_reader *reader)
{
    struct instance_spec spec;

    instance_spec_init(&spec);
    wire_get_string_into(reader, spec.session, sizeof(spec.session));
    check_session(reader, spec.session);
    spec.places = get_number(reader, TREE_PLACES_MAX);
    spec.radix = get_number(reader, TREE_RADIX_MAX);
    spec.trees = (uint8_t)get_number(reader, ENDPOINT_TREES_COUNT - 1);
    spec.starter = (enum starter_kind)get_number(reader, STARTER_KIND_COUNT - 1);
    spec.agent = wire_get_optional_string(reader, INSTANCE_SPEC_TEXT_BYTES_MAX);
    spec.banyand = wire_get_optional_string(reader, INSTANCE_SPEC_TEXT_BYTES_MAX);
    spec.addresses = wire_get_optional_string(reader, INSTANCE_SPEC_TEXT_BYTES_MAX);
    spec.net = wire_get_optional_string(reader, INSTANCE_SPEC_TEXT_BYTES_MAX);
    spec.fabric = wire_get_optional_string(reader, INSTANCE_SPEC_TEXT_BYTES_MAX);
    spec.port_first = (uint16_t)get_number(reader, UINT16_MAX);
    spec.port_last = (uint16_t)get_number(reader, UINT16_MAX);
    spec.boot = wire_get_optional_string(reader, INSTANCE_SPEC_TEXT_BYTES_MAX);
    spec.tmpdir = wire_get_optional_string(reader, INSTANCE_SPEC_TEXT_BYTES_MAX);
    spec.virtual_base = wire_get_optional_string(reader, INSTANCE_SPEC_TEXT_BYTES_MAX);
    spec.record = wire_get_optional_string(reader, INSTANCE_SPEC_TEXT_BYTES_MAX);
    spec.log = wire_get_optional_string(reader, INSTANCE_SPEC_TEXT_BYTES_MAX);
    spec.start_timeout_s = get_number(reader, INSTANCE_SPEC_DURATION_MAX);
    spec.nodes_min = get_number(reader, TREE_PLACES_MAX);
    spec.spares = get_number(reader, TREE_PLACES_MAX);
    spec.start_retries = get_number(reader, INSTANCE_SPEC_RETRIES_MAX);
    spec.kill_grace_ms = get_number(reader, INSTANCE_SPEC_DURATION_MAX);
    spec.heartbeat_ms = get_number(reader, INSTANCE_SPEC_DURATION_MAX);
    spec.lease_ms = get_number(reader, INSTANCE_SPEC_DURATION_MAX);
    spec.survive_s = get_number(reader, INSTANCE_SPEC_DURATION_MAX);
    spec.log_level = wire_get_u8(reader);
    spec.is_doctor = (uint8_t)get_number(reader, 1);
    if (spec.places == 0 || spec.nodes_min >= spec.places ||
        (spec.spares > 0 && spec.spares + 1 >= spec.places) || spec.radix < TREE_RADIX_MIN ||
        spec.log_level >= LOG_LEVEL_COUNT || spec.port_first > spec.port_last ||
        (spec.port_first == 0 && spec.port_last != 0))
        wire_fail(reader);
    if (wire_status(reader) < 0) {
        instance_spec_fini(&spec);
        return -EBADMSG;
    }
    *ret_spec = spec;
    return 0;
}
