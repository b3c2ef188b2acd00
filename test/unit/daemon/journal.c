/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal of a root (launch/daemon/journal_wire.h, journal.h, replay.h, replay_ops.c): what is written is read again, and
 * what cannot be is refused with one line.  test/system/run_recover.sh replays real ones.
 */
#include "config.h"

#include "launch/daemon/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "fabric/address.h"
#include "launch/daemon/replay.h"
#include "overlay/endpoint.h"
#include "test/support/tap.h"

static char scratch[] = "/tmp/journal-XXXXXX";

static void make_head(struct journal_head *ret_head)
{
    struct error error = ERROR_NONE;

    *ret_head = (struct journal_head){.survive_s = 600, .policy = INSTANCE_STAYS, .now_ns = 5};
    boot_record_init(&ret_head->record);
    allocation_init(&ret_head->roster);
    allocation_generate(&ret_head->roster, "n", 4, 2);
    ret_head->record.instance.places = 5;
    ret_head->record.instance.survive_s = 600;
    ret_head->record.instance.fabric_topology = memory_copy_string("/etc/fabric.json");
    memcpy(ret_head->record.instance.session, "0123456789abcdef", SESSION_ID_BYTES);
    memset(ret_head->record.instance.secret, 7, SECRET_BYTES);
    ret_head->record.range = (struct range){.first = 0, .last = 4};
    hostlist_append_slice(ret_head->record.names, ret_head->roster.names, 0, 4);
    ret_head->own.count = 1;
    is_int(address_parse("127.0.0.1:4000", &ret_head->own.items[0], &error), 0, "an address");
}

static void test_head(void)
{
    struct journal_head head, again;
    struct buffer text = {0};
    struct wire_reader reader;
    uint32_t wrong = 0;

    make_head(&head);
    journal_head_encode(&head, &text);
    wire_reader_init(&reader, text.data, text.length_bytes);
    is_int(journal_head_decode(&again, &reader), 0, "the head is read");
    is_string(again.record.instance.fabric_topology, "/etc/fabric.json",
              "what no other place is sent, too");
    ok(again.survive_s == 600 && again.policy == INSTANCE_STAYS && again.now_ns == 5, "the same");
    is_uint(address_port(&again.own.items[0]), 4000, "with where the root listened");
    is_uint(allocation_nodes(&again.roster), 4, "its nodes");
    is_bytes(again.record.instance.secret, SECRET_BYTES, head.record.instance.secret, SECRET_BYTES,
             "and the secret");
    journal_head_fini(&again);
    for (size_t length = 0; length < text.length_bytes; length++) {
        wire_reader_init(&reader, text.data, length);
        wrong += journal_head_decode(&again, &reader) != -EBADMSG;
        journal_head_fini(&again);
    }
    is_uint(wrong, 0, "no head that is cut off is");
    text.data[3] ^= 1;
    wire_reader_init(&reader, text.data, text.length_bytes);
    is_int(journal_head_decode(&again, &reader), -EBADMSG, "nor something else");
    journal_head_fini(&again);
    text.data[3] ^= 1;
    text.data[JOURNAL_MAGIC_BYTES + sizeof(uint32_t) + 2] ^= 1;
    wire_reader_init(&reader, text.data, text.length_bytes);
    is_int(journal_head_decode(&again, &reader), -EBADMSG, "nor that of another version");
    journal_head_fini(&again);
    journal_head_fini(&head);
    buffer_fini(&text);
}

static void is_same_record(const struct journal_record *got, const struct journal_record *expected)
{
    ok(got->kind == expected->kind && got->now_ns == expected->now_ns &&
           got->place == expected->place && got->number == expected->number,
       "a record of kind %d", (int)expected->kind);
    if (expected->text != NULL)
        is_string(got->text, expected->text, "its text");
    if (expected->kind == JOURNAL_FRAME)
        ok(got->frame.type == expected->frame.type &&
               got->frame.attempt == expected->frame.attempt &&
               got->frame.payload->length_bytes == expected->frame.payload->length_bytes,
           "its frame");
    if (expected->kind != JOURNAL_EVENT)
        return;
    ok(got->event.kind == expected->event.kind && got->event.place == expected->event.place &&
           got->event.type == expected->event.type,
       "its event");
    is_bytes(got->event.data, got->event.data_bytes, expected->event.data,
             expected->event.data_bytes, "and its data");
}

static void test_records(void)
{
    struct message *payload = message_create("payload", 7);
    char why[] = "closed";
    const struct journal_record records[] = {
        {.kind = JOURNAL_UP, .now_ns = 1, .place = 3, .number = 1},
        {.kind = JOURNAL_DOWN, .now_ns = 2, .place = 3, .number = -EPIPE, .text = why},
        {.kind = JOURNAL_FRAME,
         .now_ns = 3,
         .place = 2,
         .frame = {.type = 23, .class = FRAME_BULK, .attempt = 9, .payload = payload}},
        {.kind = JOURNAL_TIMER, .now_ns = 4},
        {.kind = JOURNAL_EVENT,
         .now_ns = 5,
         .event = {.kind = DAEMON_EVENT_CLIENT_MESSAGE,
                   .place = 7,
                   .type = 3,
                   .data = "data",
                   .data_bytes = 4}},
        {.kind = JOURNAL_RECOVERED, .now_ns = 6},
    };
    const size_t count = sizeof(records) / sizeof(records[0]);
    struct journal_record record = {.kind = JOURNAL_POSTED};
    struct buffer text = {0};
    struct wire_reader reader;
    struct ranges places = {0};
    uint32_t wrong = 0;

    for (size_t i = 0; i < count; i++)
        is_int(journal_record_encode(&records[i], &text), 0, "a record is written");
    wire_reader_init(&reader, text.data, text.length_bytes);
    for (size_t i = 0; i < count; i++) {
        is_int(journal_record_decode(&record, &reader), 1, "it is read");
        is_same_record(&record, &records[i]);
        journal_record_fini(&record);
    }
    is_int(journal_record_decode(&record, &reader), 0, "then there are no more");
    for (size_t length = 0; length < text.length_bytes; length++) {
        size_t read = 0;

        wire_reader_init(&reader, text.data, length);
        while (journal_record_decode(&record, &reader) == 1) {
            journal_record_fini(&record);
            read++;
        }
        wrong += read >= count;
    }
    is_uint(wrong, 0, "the last one, if it was cut off, is not read");
    record = (struct journal_record){.kind = JOURNAL_EVENT,
                                     .event = {.kind = DAEMON_EVENT_STALLED, .places = &places}};
    is_int(journal_record_encode(&record, &text), -EOPNOTSUPP, "no root has an event of ranks");
    message_release(payload);
    buffer_fini(&text);
}

static void refuses(const char *directory, const char *expected, const char *name)
{
    struct error error = ERROR_NONE;
    struct journal_head head;

    ok(replay_open(directory, &head, &error) == NULL && strstr(error.text, expected) != NULL,
       "%s: %s", name, error.text);
}

static void test_files(void)
{
    struct endpoint_config config = {.places = 5, .radix = 2, .incarnation = 1};
    static const struct endpoint_events events = {.joined = NULL};
    struct endpoint *endpoint = endpoint_create(&config, &events, NULL);
    struct journal *journal = journal_create(endpoint);
    struct error error = ERROR_NONE;
    struct journal_head head, again;
    struct replay *replay;
    struct stat status;
    char *path = memory_printf("%s/journal", scratch);
    int fd;

    refuses(scratch, "has no journal", "a directory without one");
    make_head(&head);
    is_int(journal_open(journal, scratch, &head, 0, &error), 0, "a journal is made");
    ok(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600, "which only its user reads");
    replay = replay_open(scratch, &again, &error);
    ok(replay != NULL && replay_bytes(replay) == (uint64_t)status.st_size, "and opened again");
    ok(replay != NULL && replay_port(replay) == 4000 && replay_last_client(replay) == 0,
       "where the root listened is known");
    replay_destroy(replay);
    journal_head_fini(&again);
    journal_head_fini(&head);
    journal_destroy(journal);
    endpoint_destroy(endpoint);
    fd = open(path, O_WRONLY | O_TRUNC);
    ok(fd >= 0 && write(fd, "something else", 14) == 14, "something else is there");
    close(fd);
    refuses(scratch, "is not a journal of this version", "what is none");
    unlink(path);
    free(path);
}

int main(void)
{
    ok(mkdtemp(scratch) != NULL, "a directory");
    test_head();
    test_records();
    test_files();
    rmdir(scratch);
    return done_testing();
}
