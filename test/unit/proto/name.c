/* SPDX-License-Identifier: BSD-3-Clause */
/* launch/proto/name_wire.c and pmix/pmi_names_wire.c: what is written is read, and nothing that is cut short. */
#include "config.h"

#include "launch/proto/name.h"
#include "test/support/tap.h"

#include <errno.h>
#include <string.h>

#include "launch/proto/job_wire.h"

static struct wire_bytes bytes_of(const char *text)
{
    return (struct wire_bytes){(const unsigned char *)text, strlen(text)};
}

static int is_text(const struct wire_bytes *bytes, const char *text)
{
    return bytes->length_bytes == strlen(text) &&
           memcmp(bytes->data, text, bytes->length_bytes) == 0;
}

static void test_record(void)
{
    const struct name_record record = {.verb = NAME_UNPUBLISH,
                                       .range = PMI_NAMES_LIST,
                                       .persistence = PMI_NAMES_UNTIL_REMOVED,
                                       .may_replace = true,
                                       .place = 3,
                                       .job = 4,
                                       .rank = 5,
                                       .serial = 6ull << 40,
                                       .namespace = bytes_of("ns"),
                                       .key = bytes_of("key"),
                                       .members = bytes_of(""),
                                       .value = bytes_of("value")};
    struct name_record got = {.serial = 0};
    struct wire_reader reader;
    struct buffer out = {0};
    int refused = 1;

    name_ask_encode(&record, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(wire_get_u8(&reader), JOB_MESSAGE_NAME, "the kind of the message");
    is_int(name_ask_decode(&got, &reader), 0, "a record is read");
    ok(got.verb == record.verb && got.range == record.range && got.may_replace &&
           got.persistence == record.persistence && got.place == 3 && got.job == 4 &&
           got.rank == 5 && got.serial == record.serial,
       "its numbers");
    ok(is_text(&got.namespace, "ns") && is_text(&got.key, "key") && is_text(&got.value, "value"),
       "and its texts");
    for (size_t cut = 1; cut < out.length_bytes; cut++) {
        wire_reader_init(&reader, out.data + 1, cut - 1);
        refused = refused && name_ask_decode(&got, &reader) < 0;
    }
    ok(refused, "none that is cut short");
    out.data[1] = NAME_VERB_COUNT;
    wire_reader_init(&reader, out.data + 1, out.length_bytes - 1);
    is_int(name_ask_decode(&got, &reader), -EBADMSG, "nor an unknown verb");
    buffer_fini(&out);
}

static void test_request(void)
{
    struct pmi_names names = {.range = PMI_NAMES_SESSION,
                              .persistence = PMI_NAMES_UNTIL_READ,
                              .waits = true,
                              .wanted = 2,
                              .count = 2};
    struct name_request request = {
        .verb = NAME_LOOKUP, .job = 1, .rank = 2, .timeout_ms = 3, .namespace = bytes_of("ns")};
    struct buffer keys = {0}, members = {0}, data = {0}, out = {0};
    struct wire_bytes namespace = bytes_of("b"), key, value;
    struct name_request got = {.job = 0};
    struct wire_reader reader;

    pmi_names_key_put(&keys, "one", "1", 1);
    pmi_names_key_put(&keys, "two", NULL, 0);
    pmi_names_member_put(&members, "a", 7);
    pmi_names_member_put(&members, "b", PMI_NAMES_RANK_ALL);
    names.keys = (struct wire_bytes){keys.data, keys.length_bytes};
    names.members = (struct wire_bytes){members.data, members.length_bytes};
    ok(pmi_names_has_member(&names.members, &namespace, 9), "all ranks of a namespace");
    namespace = bytes_of("a");
    ok(pmi_names_has_member(&names.members, &namespace, 7), "one rank of another");
    ok(!pmi_names_has_member(&names.members, &namespace, 8), "and no other");
    pmi_names_encode(&names, &data);
    name_request_encode(&request, data.data, data.length_bytes, &out);
    wire_reader_init(&reader, out.data + 1, out.length_bytes - 1);
    is_int(name_request_decode(&got, &reader), 0, "a request is read");
    ok(got.verb == NAME_LOOKUP && got.job == 1 && got.rank == 2 && got.timeout_ms == 3 &&
           is_text(&got.namespace, "ns"),
       "who asks");
    ok(got.names.range == names.range && got.names.waits && !got.names.may_replace &&
           got.names.wanted == 2 && got.names.count == 2,
       "for what");
    wire_reader_init(&reader, got.names.keys.data, got.names.keys.length_bytes);
    pmi_names_key_get(&reader, &key, &value);
    ok(is_text(&key, "one") && is_text(&value, "1"), "a key with its value");
    pmi_names_key_get(&reader, &key, &value);
    ok(is_text(&key, "two") && is_text(&value, "") && wire_finish(&reader) == 0, "and without");
    names.count = 3;
    buffer_clear(&data);
    pmi_names_encode(&names, &data);
    wire_reader_init(&reader, data.data, data.length_bytes);
    is_int(pmi_names_decode(&names, &reader), -EBADMSG, "a key too few");
    buffer_fini(&keys);
    buffer_fini(&members);
    buffer_fini(&data);
    buffer_fini(&out);
}

static void test_answers(void)
{
    const struct name_record record = {
        .namespace = bytes_of("ns"), .rank = 4, .value = bytes_of("v")};
    struct pmi_names_found found;
    struct buffer value = {0}, out = {0};
    struct wire_reader reader;

    name_value_encode(&record, &value);
    name_answer_encode(0, &value, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(name_answer_decode(0, &reader), 0, "an answer");
    ok(name_value_decode(&found, &reader) == 0 && found.rank == 4 &&
           is_text(&found.namespace, "ns") && is_text(&found.value, "v"),
       "with a value and its publisher");
    buffer_clear(&out);
    name_answer_encode(-EEXIST, NULL, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(name_answer_decode(0, &reader), -EEXIST, "a refusal");
    wire_reader_init(&reader, NULL, 0);
    is_int(name_answer_decode(-EHOSTDOWN, &reader), -EHOSTDOWN, "a place that is lost");
    is_int(name_answer_decode(0, &reader), -EBADMSG, "no answer at all");
    buffer_fini(&value);
    buffer_fini(&out);
}

int main(void)
{
    test_record();
    test_request();
    test_answers();
    return done_testing();
}
