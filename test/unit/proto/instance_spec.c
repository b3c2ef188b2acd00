/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/instance_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"
#include "test/support/truncated.h"

#define SESSION "0123456789abcdef"

static void fill_instance(struct instance_spec *spec)
{
    instance_spec_init(spec);
    memcpy(spec->session, SESSION, sizeof(SESSION));
    for (size_t i = 0; i < sizeof(spec->secret); i++)
        spec->secret[i] = (unsigned char)(i * 7 + 1);
    spec->places = 4097;
    spec->radix = 32;
    spec->trees = 2;
    spec->starter = STARTER_SSH;
    spec->agent = memory_copy_string("ssh -p 2222");
    spec->addresses = memory_copy_string("west %n.west\n");
    spec->banyand = memory_copy_string("/opt/banyan/sbin/banyand");
    spec->tmpdir = memory_copy_string("");
    spec->log = memory_copy_string("/var/log");
    spec->nodes_min = 4096;
    spec->spares = 4095;
    spec->start_retries = 5;
    spec->lease_ms = 9000;
    spec->survive_s = 600;
    spec->port_first = 7000;
    spec->port_last = 65535;
    spec->log_level = 3;
}

static void test_instance(void)
{
    struct instance_spec spec, copy;
    struct buffer out = {0};
    struct wire_reader reader;

    fill_instance(&spec);
    instance_spec_encode(&spec, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(instance_spec_decode(&copy, &reader), 0, "an instance can be read again");
    is_int(wire_finish(&reader), 0, "all of it was read");
    is_string(copy.session, SESSION, "session");
    is_uint(copy.places, 4097, "places");
    is_uint(copy.radix, 32, "radix");
    is_uint(copy.trees, 2, "trees");
    is_int(copy.starter, STARTER_SSH, "starter");
    is_string(copy.agent, "ssh -p 2222", "agent");
    is_string(copy.addresses, "west %n.west\n", "addresses");
    is_string(copy.banyand, "/opt/banyan/sbin/banyand", "banyand");
    is_string(copy.tmpdir, "", "an empty text stays empty");
    is_string(copy.log, "/var/log", "log");
    is_string(copy.net, NULL, "and none stays none");
    is_string(copy.virtual_base, NULL, "twice");
    is_uint(copy.nodes_min, 4096, "nodes that are enough");
    is_uint(copy.spares, 4095, "spares");
    is_uint(copy.start_retries, 5, "calls");
    is_uint(copy.lease_ms, 9000, "lease");
    is_uint(copy.survive_s, 600, "time without a root");
    is_uint(copy.port_first, 7000, "first port");
    is_uint(copy.port_last, 65535, "last port");
    is_uint(copy.kill_grace_ms, spec.kill_grace_ms, "grace");
    is_uint(copy.log_level, 3, "log level");
    is_uint(copy.secret[5], 0, "the secret does not travel with it");
    instance_spec_fini(&copy);
    free(spec.tmpdir);
    spec.tmpdir = memory_copy_string("/a;n[1-2]=/b");
    instance_spec_localize(&spec, "n2");
    is_string(spec.own_tmpdir, "/b", "a node's own directory");
    instance_spec_copy(&copy, &spec);
    instance_spec_localize(&copy, "");
    is_string(copy.own_tmpdir, "/a", "the root's");
    is_string(copy.agent, spec.agent, "a copy is equal");
    ok(copy.agent != spec.agent, "and its own");
    is_bytes(copy.secret, SECRET_BYTES, spec.secret, SECRET_BYTES, "with the secret");
    instance_spec_fini(&copy);
    is_uint(copy.secret[5], 0, "which is wiped");
    instance_spec_fini(&spec);
    buffer_fini(&out);
}

static int decode_instance(struct wire_reader *reader)
{
    struct instance_spec spec;
    int rc = instance_spec_decode(&spec, reader);

    if (rc == 0)
        instance_spec_fini(&spec);
    return rc;
}

static int decode_changed(struct instance_spec *spec)
{
    struct buffer out = {0};
    struct wire_reader reader;
    int rc;

    instance_spec_encode(spec, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    rc = decode_instance(&reader);
    buffer_fini(&out);
    return rc;
}

static void test_instance_refused(void)
{
    struct instance_spec spec;
    struct buffer out = {0};

    fill_instance(&spec);
    instance_spec_encode(&spec, &out);
    truncated_is_refused(&out, decode_instance, "an instance");
    spec.places = 0;
    is_int(decode_changed(&spec), -EBADMSG, "no places");
    spec.places = 2;
    spec.radix = 1;
    is_int(decode_changed(&spec), -EBADMSG, "radix 1");
    spec.radix = 2;
    spec.trees = 3;
    is_int(decode_changed(&spec), -EBADMSG, "3 trees");
    spec.trees = 0;
    spec.nodes_min = 2;
    is_int(decode_changed(&spec), -EBADMSG, "more than all nodes");
    spec.nodes_min = 0;
    spec.spares = 1;
    is_int(decode_changed(&spec), -EBADMSG, "no node that is not a spare");
    spec.places = 3;
    is_int(decode_changed(&spec), 0, "one of two is");
    spec.spares = 0;
    spec.starter = STARTER_KIND_COUNT;
    is_int(decode_changed(&spec), -EBADMSG, "an unknown starter");
    spec.starter = STARTER_LOCAL;
    spec.log_level = 9;
    is_int(decode_changed(&spec), -EBADMSG, "an unknown log level");
    spec.log_level = 0;
    memcpy(spec.session, "../../tmp/xxxxxx", sizeof(spec.session));
    is_int(decode_changed(&spec), -EBADMSG, "a session that is a path");
    memcpy(spec.session, "0123", 5);
    is_int(decode_changed(&spec), -EBADMSG, "a short session");
    instance_spec_fini(&spec);
    buffer_fini(&out);
}

static void test_retry_delays(void)
{
    struct instance_spec spec;
    uint64_t spread_ns = 0;

    instance_spec_init(&spec);
    for (uint32_t calls = 1; calls <= 20; calls++) {
        uint64_t delay_ns = instance_spec_retry_delay_ns(calls);

        spec.start_retries = calls;
        ok(delay_ns >= 500000000 && delay_ns <= 8000000000, "from half a second to eight: %u",
           calls);
        ok(instance_spec_retry_spread_ns(&spec) - spread_ns == delay_ns / 2,
           "half of each delay is by chance: %u", calls);
        spread_ns = instance_spec_retry_spread_ns(&spec);
    }
    spec.start_retries = 0;
    is_uint(instance_spec_retry_spread_ns(&spec), 0, "agents that are called once end together");
    instance_spec_fini(&spec);
}

int main(void)
{
    test_instance();
    test_instance_refused();
    test_retry_delays();
    return done_testing();
}
