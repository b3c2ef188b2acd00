/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name service of place 1 of three: the input is messages of other places and of its own processes, each after a
 * byte for its kind and sender and two for its length; it asks, is answered that another place is lost, and goes on.
 */
#include "config.h"

#include "launch/core/names.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "launch/proto/name.h"

static uint32_t last_id;

static uint32_t request_place(void *context, uint32_t place, struct message *message)
{
    assert(place <= 3 && message->length_bytes > 0);
    message_release(message);
    return ++last_id;
}

/* Who waits for a name is in the record, which another daemon has sent: the tree drops what is for a place that does
 * not exist. */
static void reply_place(void *context, uint32_t source, uint32_t id, struct message *message)
{
    assert(message->length_bytes >= 4);
    message_release(message);
}

static void set_timer(void *context, uint64_t deadline_ns)
{
}

static uint64_t now_ns(void *context)
{
    return 1;
}

static bool job_is_running(void *context, uint32_t job)
{
    return true;
}

static void give(struct names *names, uint8_t how, const uint8_t *data, size_t bytes)
{
    static const enum job_message kinds[] = {JOB_MESSAGE_NAMES, JOB_MESSAGE_NAME,
                                             JOB_MESSAGE_NAME_COPY, JOB_MESSAGE_NAME_WATCH};
    struct message *answer = message_create(data, bytes);
    struct wire_reader reader;
    struct ranges lost = {0};

    if (how < 64) {
        wire_reader_init(&reader, data, bytes);
        (void)names_request(names, kinds[how % 4], how / 4 % 4, 1000, &reader);
    } else if (how < 128) {
        (void)names_reply(names, last_id - how % 4, 0, answer);
    } else if (how < 192) {
        (void)names_reply(names, last_id - how % 4, -EHOSTDOWN, NULL);
    } else {
        ranges_add(&lost, how % 2 + 2, how % 2 + 2);
        names_lost(names, &lost);
        names_process_ended(names, 1, 0);
    }
    ranges_fini(&lost);
    message_release(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    const struct names_ops ops = {.request = request_place,
                                  .reply = reply_place,
                                  .timer = set_timer,
                                  .now_ns = now_ns,
                                  .job_is_running = job_is_running};
    struct names *names = names_create(1, 3, &ops);
    const uint8_t *end = data + data_bytes;

    last_id = 4;
    while (end - data >= 3) {
        size_t bytes = data[1] + 256u * data[2], left = (size_t)(end - data) - 3;

        if (bytes > left)
            bytes = left;
        give(names, data[0], data + 3, bytes);
        data += 3 + bytes;
    }
    names_timer(names);
    names_destroy(names);
    return 0;
}

/* Appends a message, without the byte of its kind. */
static void add(struct buffer *sample, uint8_t how, const struct buffer *message)
{
    size_t bytes = message->length_bytes - 1;

    wire_put_u8(sample, how);
    wire_put_u16(sample, (uint16_t)bytes);
    buffer_append(sample, message->data + 1, bytes);
}

static void add_samples(struct buffer *sample)
{
    struct pmi_names names = {.range = PMI_NAMES_SESSION, .waits = true, .count = 1};
    struct name_record record = {.range = PMI_NAMES_SESSION,
                                 .place = 2,
                                 .serial = 7,
                                 .key = {(const unsigned char *)"key", 3}};
    struct buffer keys = {0}, data = {0}, message = {0}, records = {0};

    pmi_names_key_put(&keys, "key", "value", 5);
    names.keys = (struct wire_bytes){keys.data, keys.length_bytes};
    pmi_names_encode(&names, &data);
    for (unsigned verb = 0; verb < NAME_VERB_COUNT; verb++) {
        struct name_request request = {.verb = (enum name_verb)verb, .job = 1, .timeout_ms = 5};

        record.verb = (enum name_verb)verb;
        buffer_clear(&message);
        name_request_encode(&request, data.data, data.length_bytes, &message);
        add(sample, 4, &message);
        buffer_clear(&message);
        name_ask_encode(&record, &message);
        add(sample, 9, &message);
        name_record_encode(&record, &records);
    }
    buffer_clear(&message);
    name_copy_encode(1, records.data, records.length_bytes, &message);
    add(sample, 14, &message);
    add(sample, 192, &message);
    buffer_fini(&keys);
    buffer_fini(&data);
    buffer_fini(&message);
    buffer_fini(&records);
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct buffer sample = {0};
    size_t bytes;

    if (number > 0)
        return 0;
    add_samples(&sample);
    bytes = sample.length_bytes;
    assert(bytes <= buffer_bytes);
    memcpy(buffer, sample.data, bytes);
    buffer_fini(&sample);
    return bytes;
}
