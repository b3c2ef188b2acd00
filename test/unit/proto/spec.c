/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "launch/proto/compress.h"
#include "test/support/tap.h"

#define SESSION "0123456789abcdef"

static void fill_instance(struct instance_spec *spec)
{
    instance_spec_init(spec);
    memcpy(spec->session, SESSION, sizeof(SESSION));
    for (size_t i = 0; i < sizeof(spec->secret); i++)
        spec->secret[i] = (unsigned char)(i * 7 + 1);
    spec->places = 4097;
    spec->radix = 32;
    spec->starter = STARTER_SSH;
    spec->agent = memory_copy_string("ssh -p 2222");
    spec->banyand = memory_copy_string("/opt/banyan/sbin/banyand");
    spec->tmpdir = memory_copy_string("");
    spec->lease_ms = 9000;
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
    is_int(copy.starter, STARTER_SSH, "starter");
    is_string(copy.agent, "ssh -p 2222", "agent");
    is_string(copy.banyand, "/opt/banyan/sbin/banyand", "banyand");
    is_string(copy.tmpdir, "", "an empty text stays empty");
    is_string(copy.net, NULL, "and none stays none");
    is_string(copy.virtual_base, NULL, "twice");
    is_uint(copy.lease_ms, 9000, "lease");
    is_uint(copy.port_first, 7000, "first port");
    is_uint(copy.port_last, 65535, "last port");
    is_uint(copy.kill_grace_ms, spec.kill_grace_ms, "grace");
    is_uint(copy.log_level, 3, "log level");
    is_uint(copy.secret[5], 0, "the secret does not travel with it");
    instance_spec_fini(&copy);
    instance_spec_copy(&copy, &spec);
    is_string(copy.agent, spec.agent, "a copy is equal");
    ok(copy.agent != spec.agent, "and its own");
    is_bytes(copy.secret, SECRET_BYTES, spec.secret, SECRET_BYTES, "with the secret");
    instance_spec_fini(&copy);
    is_uint(copy.secret[5], 0, "which is wiped");
    instance_spec_fini(&spec);
    buffer_fini(&out);
}

/* Every beginning of a message must be refused, without a look beyond its end. */
static void test_truncated(const struct buffer *whole, int (*decode)(struct wire_reader *reader),
                           const char *what)
{
    size_t accepted = 0;

    for (size_t bytes = 0; bytes < whole->length_bytes; bytes++) {
        void *part = memory_copy(whole->data, bytes);
        struct wire_reader reader;
        wire_reader_init(&reader, part, bytes);
        accepted += decode(&reader) != -EBADMSG;
        free(part);
    }
    is_uint(accepted, 0, "no beginning of %s is taken for the whole", what);
}

static int decode_instance(struct wire_reader *reader)
{
    struct instance_spec spec;
    int rc = instance_spec_decode(&spec, reader);

    if (rc == 0)
        instance_spec_fini(&spec);
    return rc;
}

static int decode_job(struct wire_reader *reader)
{
    struct job_spec spec;
    int rc = job_spec_decode(&spec, reader);

    if (rc == 0)
        job_spec_fini(&spec);
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
    test_truncated(&out, decode_instance, "an instance");
    spec.places = 0;
    is_int(decode_changed(&spec), -EBADMSG, "no places");
    spec.places = 2;
    spec.radix = 1;
    is_int(decode_changed(&spec), -EBADMSG, "radix 1");
    spec.radix = 2;
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

/* ---- Jobs ---- */

static void fill_job(struct job_spec *spec, size_t variable_bytes)
{
    struct app_spec *app = memory_allocate_zeroed(sizeof(*app));
    char *large = memory_allocate(variable_bytes + 1);

    memset(large, 'y', variable_bytes);
    large[variable_bytes] = '\0';
    job_spec_init(spec);
    spec->number = 3;
    spec->uid = 1000;
    spec->mpi = JOB_MPI_PMI1;
    spec->stdin_rank = 0;
    spec->on_failure = JOB_ON_FAILURE_CONTINUE;
    placement_add(&spec->placement,
                  &(struct placement_rule){.policy = PLACEMENT_BY_NODE, .processes = 128000});
    spec->apps = app;
    spec->apps_count = 1;
    app->argv = memory_allocate_zeroed(4 * sizeof(char *));
    app->argv[0] = memory_copy_string("./a.out");
    app->argv[1] = memory_copy_string("");
    app->argv[2] = memory_copy_string("line\nline \xff\xfe");
    app->set = memory_allocate_zeroed(3 * sizeof(char *));
    app->set[0] = memory_copy_string("BASH_FUNC_f%%=() {  echo\n}");
    app->set[1] = large;
    app->directory = memory_copy_string("/home/user");
}

static void test_job(void)
{
    struct job_spec spec, copy;
    struct buffer out = {0};
    struct wire_reader reader;

    fill_job(&spec, 300000);
    job_spec_encode(&spec, &out);
    ok(out.length_bytes < 1024, "300 kB of variables that repeat are packed (%zu bytes)",
       out.length_bytes);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(job_spec_decode(&copy, &reader), 0, "a job can be read again");
    is_int(wire_finish(&reader), 0, "all of it was read");
    is_uint(copy.number, 3, "number");
    is_uint(copy.uid, 1000, "user");
    is_uint(copy.mpi, JOB_MPI_PMI1, "kinds of MPI");
    is_uint(copy.stdin_rank, 0, "who reads");
    is_uint(copy.on_failure, JOB_ON_FAILURE_CONTINUE, "what becomes of it when a rank fails");
    is_int(copy.placement.rules[0].policy, PLACEMENT_BY_NODE, "policy");
    is_uint(copy.processes, 128000, "processes of the job");
    is_uint(copy.apps_count, 1, "applications");
    is_string(copy.apps[0].argv[0], "./a.out", "program");
    is_string(copy.apps[0].argv[1], "", "an empty argument");
    is_string(copy.apps[0].argv[2], "line\nline \xff\xfe", "bytes that are no text");
    is_string(copy.apps[0].argv[3], NULL, "the end of the arguments");
    is_string(copy.apps[0].set[0], spec.apps[0].set[0], "a shell's function");
    is_string(copy.apps[0].set[1], spec.apps[0].set[1], "a long variable");
    is_string(copy.apps[0].directory, "/home/user", "directory");
    is_uint(copy.placement.rules[0].processes, 128000, "processes of the application");
    job_spec_fini(&copy);
    job_spec_fini(&spec);
    buffer_fini(&out);
}

static void test_job_refused(void)
{
    struct job_spec spec;
    struct buffer out = {0};

    fill_job(&spec, 10);
    job_spec_encode(&spec, &out);
    test_truncated(&out, decode_job, "a small job");
    job_spec_fini(&spec);
    buffer_clear(&out);
    fill_job(&spec, 5000);
    job_spec_encode(&spec, &out);
    test_truncated(&out, decode_job, "a packed job");
    job_spec_fini(&spec);
    buffer_fini(&out);
}

static void test_namespace(void)
{
    char text[64];

    job_namespace(SESSION, 12, text, sizeof(text));
    is_string(text, "banyan-" SESSION "-12", "the name of a job's namespace");
}

/* ---- Packing ---- */

static void check_block(const void *data, size_t bytes, const char *what)
{
    struct buffer out = {0}, block = {0};
    struct wire_reader reader;

    compress_put(&out, data, bytes);
    ok(out.length_bytes <= bytes + 16, "%s do not grow (%zu bytes)", what, out.length_bytes);
    wire_reader_init(&reader, out.data, out.length_bytes);
    compress_get(&reader, bytes, &block);
    is_int(wire_finish(&reader), 0, "%s can be read", what);
    is_bytes(block.data, block.length_bytes, data, bytes, "%s are the same", what);
    if (bytes > 0) {
        wire_reader_init(&reader, out.data, out.length_bytes);
        buffer_clear(&block);
        compress_get(&reader, bytes - 1, &block);
        is_int(wire_status(&reader), -EBADMSG, "%s above the limit are refused", what);
        is_uint(block.length_bytes, 0, "and leave nothing");
    }
    buffer_fini(&out);
    buffer_fini(&block);
}

static void test_blocks(void)
{
    size_t bytes = 100000;
    unsigned char *data = memory_allocate(bytes);
    struct random_state random;

    random_init(&random, 1);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)random_next(&random);
    check_block("", 0, "no bytes");
    check_block(data, COMPRESS_BYTES_MIN - 1, "few bytes");
    check_block(data, bytes, "random bytes");
    memset(data, 'a', bytes);
    check_block(data, bytes, "equal bytes");
    free(data);
}

int main(void)
{
    test_instance();
    test_instance_refused();
    test_job();
    test_job_refused();
    test_namespace();
    test_blocks();
    return done_testing();
}
