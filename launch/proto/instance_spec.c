/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/instance_spec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/node_text.h"
#include "base/log.h"
#include "base/time.h"
#include "overlay/tree.h"

#define START_TIMEOUT_DEFAULT_S 10
#define START_RETRIES_DEFAULT   2
#define KILL_GRACE_DEFAULT_MS   2000
#define HEARTBEAT_DEFAULT_MS    1000
#define LEASE_DEFAULT_MS        120000
#define RETRY_DELAY_FIRST_MS    500u
#define RETRY_DELAY_DOUBLES_MAX 4u /* at most 8 s */

void instance_spec_init(struct instance_spec *spec)
{
    *spec = (struct instance_spec){
        .places = 1,
        .radix = TREE_RADIX_DEFAULT,
        .starter = STARTER_LOCAL,
        .start_timeout_s = START_TIMEOUT_DEFAULT_S,
        .start_retries = START_RETRIES_DEFAULT,
        .kill_grace_ms = KILL_GRACE_DEFAULT_MS,
        .heartbeat_ms = HEARTBEAT_DEFAULT_MS,
        .lease_ms = LEASE_DEFAULT_MS,
        .log_level = LOG_LEVEL_WARNING,
    };
}

void instance_spec_fini(struct instance_spec *spec)
{
    free(spec->agent);
    free(spec->banyand);
    free(spec->addresses);
    free(spec->net);
    free(spec->boot);
    free(spec->join_file);
    free(spec->fabric);
    free(spec->fabric_topology);
    free(spec->tmpdir);
    free(spec->own_tmpdir);
    free(spec->virtual_base);
    free(spec->record);
    free(spec->log);
    explicit_bzero(spec->secret, sizeof(spec->secret));
    *spec = (struct instance_spec){0};
}

static char *copy_optional(const char *text)
{
    return text != NULL ? memory_copy_string(text) : NULL;
}

void instance_spec_copy(struct instance_spec *ret_spec, const struct instance_spec *source)
{
    *ret_spec = *source;
    ret_spec->agent = copy_optional(source->agent);
    ret_spec->banyand = copy_optional(source->banyand);
    ret_spec->addresses = copy_optional(source->addresses);
    ret_spec->net = copy_optional(source->net);
    ret_spec->boot = copy_optional(source->boot);
    ret_spec->boot_word = NULL;
    ret_spec->join_file = copy_optional(source->join_file);
    ret_spec->fabric = copy_optional(source->fabric);
    ret_spec->fabric_topology = copy_optional(source->fabric_topology);
    ret_spec->tmpdir = copy_optional(source->tmpdir);
    ret_spec->own_tmpdir = copy_optional(source->own_tmpdir);
    ret_spec->virtual_base = copy_optional(source->virtual_base);
    ret_spec->record = copy_optional(source->record);
    ret_spec->log = copy_optional(source->log);
}

int instance_spec_may_miss(const struct instance_spec *spec)
{
    assert(spec->spares == 0 || spec->spares + 1 < spec->places);
    return spec->nodes_min > 0 || spec->spares > 0;
}

void instance_spec_localize(struct instance_spec *spec, const char *name)
{
    assert(name != NULL);
    free(spec->own_tmpdir);
    spec->own_tmpdir = node_text_of(spec->tmpdir, name);
}

uint64_t instance_spec_retry_delay_ns(uint32_t calls)
{
    uint32_t doubles = calls - 1 < RETRY_DELAY_DOUBLES_MAX ? calls - 1 : RETRY_DELAY_DOUBLES_MAX;

    assert(calls > 0);
    return ((uint64_t)RETRY_DELAY_FIRST_MS << doubles) * NS_PER_MS;
}

uint64_t instance_spec_retry_spread_ns(const struct instance_spec *spec)
{
    uint64_t spread_ns = 0;

    for (uint32_t calls = 1; calls <= spec->start_retries; calls++)
        spread_ns += instance_spec_retry_delay_ns(calls) / 2;
    return spread_ns;
}
