/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/control.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct wire_reader reader_of(const struct buffer *bytes, size_t length_bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, bytes->data, length_bytes);
    return reader;
}

static void test_end(void)
{
    struct control_end message = {.status = 124, .at_once = 1, .reason = "timed out after 10 s"};
    struct control_end back = {0};
    struct buffer bytes = {0};
    struct wire_reader reader;
    int refused = 1;

    control_end_encode(&message, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_end_decode(&back, &reader), 0, "an end is decoded");
    is_uint(back.status, 124, "its status");
    is_uint(back.at_once, 1, "its urgency");
    is_string(back.reason, message.reason, "its reason");
    for (size_t cut = 0; cut < bytes.length_bytes; cut++) {
        reader = reader_of(&bytes, cut);
        refused = control_end_decode(&back, &reader) == -EBADMSG && refused;
    }
    ok(refused, "an end cut anywhere is refused");
    bytes.data[4] = 2;
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_end_decode(&back, &reader), -EBADMSG, "a flag of 2 is refused");
    buffer_fini(&bytes);
}

static void test_started(void)
{
    struct control_started message = {.processes = 128000, .nodes = 1000};
    struct control_started back = {0};
    struct buffer bytes = {0};
    struct wire_reader reader;

    control_started_encode(&message, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_started_decode(&back, &reader), 0, "a start is decoded");
    ok(back.processes == 128000 && back.nodes == 1000, "its counts");
    wire_put_u8(&bytes, 0);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_started_decode(&back, &reader), -EBADMSG, "a start with more behind is refused");
    buffer_fini(&bytes);
}

static void test_job_end(void)
{
    struct control_job_end message = {.status = 139, .processes_ended = 64};
    struct control_job_end back = {.banyan_failed = 1};
    struct buffer bytes = {0};
    struct wire_reader reader;

    memset(message.text, 'x', sizeof(message.text) - 1);
    control_job_end_encode(&message, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_job_end_decode(&back, &reader), 0, "an end of a job is decoded");
    ok(back.status == 139 && back.banyan_failed == 0 && back.processes_ended == 64, "its numbers");
    is_string(back.text, message.text, "its text, as long as can be");
    bytes.length_bytes--;
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_job_end_decode(&back, &reader), -EBADMSG, "one byte less is refused");
    buffer_fini(&bytes);
}

static void test_output(void)
{
    const struct control_output message = {
        .rank = 7,
        .stream = 2,
        .time_ns = 1795692651042000001,
        .place = 300,
        .bytes = {.data = (const unsigned char *)"a\0b\n", .length_bytes = 4}};
    const struct control_output ended = {.stream = 1};
    struct control_output back = {0};
    struct buffer bytes = {0};
    struct wire_reader reader;

    control_output_encode(&message, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_output_decode(&back, &reader), 0, "output is decoded");
    ok(back.rank == 7 && back.stream == 2, "its rank and stream");
    ok(back.time_ns == message.time_ns && back.place == 300, "its time and place");
    is_bytes(back.bytes.data, back.bytes.length_bytes, "a\0b\n", 4, "its bytes");
    bytes.data[4] = 3;
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_output_decode(&back, &reader), -EBADMSG, "a third stream is refused");
    reader = reader_of(&bytes, 16);
    is_int(control_output_decode(&back, &reader), -EBADMSG, "output without a place is refused");
    reader = reader_of(&bytes, 4);
    is_int(control_output_decode(&back, &reader), -EBADMSG, "output without a stream is refused");
    buffer_clear(&bytes);
    control_output_encode(&ended, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_output_decode(&back, &reader), 0, "empty output is decoded");
    is_uint(back.bytes.length_bytes, 0, "as no bytes");
    buffer_fini(&bytes);
}

static void test_text(void)
{
    static char long_text[3 * CONTROL_TEXT_BYTES_MAX];
    struct control_text back = {0};
    struct buffer bytes = {0};
    struct wire_reader reader;

    control_text_encode(1, "node n3 is slow", &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_text_decode(&back, &reader), 0, "a text is decoded");
    is_uint(back.level, 1, "its level");
    is_bytes(back.text.data, back.text.length_bytes, "node n3 is slow", 15, "its words");
    buffer_clear(&bytes);
    memset(long_text, 'y', sizeof(long_text) - 1);
    control_text_encode(1, long_text, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_text_decode(&back, &reader), 0, "a text that is too long is cut, not refused");
    is_uint(back.text.length_bytes, CONTROL_TEXT_BYTES_MAX, "to what fits");
    buffer_fini(&bytes);
}

static void test_run(void)
{
    struct buffer bytes = {0};
    struct job_spec spec, back;
    struct wire_reader reader;
    uint32_t request = 0, job = 0;
    uint8_t flags = 0;
    char *why;

    job_spec_init(&spec);
    spec.uid = 1000;
    control_run_encode(7, CONTROL_RUN_MAY_WAIT, &spec, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_run_decode(&request, &flags, &back, &reader), 0, "a job to run is decoded");
    is_uint(request, 7, "its request");
    is_uint(flags, CONTROL_RUN_MAY_WAIT, "that it may wait");
    is_uint(back.uid, 1000, "its specification");
    job_spec_fini(&back);
    reader = reader_of(&bytes, bytes.length_bytes - 1);
    request = 0;
    is_int(control_run_decode(&request, &flags, &back, &reader), -EBADMSG,
           "one that is cut is refused");
    is_uint(request, 7, "and who asked for it can be told");
    bytes.data[4] = CONTROL_RUN_FLAGS + 1;
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_run_decode(&request, &flags, &back, &reader), -EBADMSG,
           "likewise one with flags that nobody knows");
    buffer_clear(&bytes);
    control_accepted_encode(7, 12, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_accepted_decode(&request, &job, &reader), 0, "that it is accepted is decoded");
    ok(request == 7 && job == 12, "request and job");
    reader = reader_of(&bytes, bytes.length_bytes - 1);
    is_int(control_accepted_decode(&request, &job, &reader), -EBADMSG, "but not a part of it");
    buffer_clear(&bytes);
    control_waits_encode("job 3 waits for 2 slots", &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_waits_decode(&why, &reader), 0, "that it waits is decoded");
    is_string(why, "job 3 waits for 2 slots", "and for what");
    free(why);
    reader = reader_of(&bytes, bytes.length_bytes - 1);
    is_int(control_waits_decode(&why, &reader), -EBADMSG, "but not a part of it");
    free(why);
    job_spec_fini(&spec);
    buffer_fini(&bytes);
}

static void test_failed(void)
{
    struct buffer bytes = {0};
    struct wire_reader reader;
    char *why;

    control_failed_encode("no node is left", &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_failed_decode(&why, &reader), 0, "why an instance failed is decoded");
    is_string(why, "no node is left", "its words");
    free(why);
    reader = reader_of(&bytes, bytes.length_bytes - 1);
    is_int(control_failed_decode(&why, &reader), -EBADMSG, "a text that is cut is refused");
    is_string(why, "", "and empty");
    free(why);
    buffer_fini(&bytes);
}

static void test_written(void)
{
    struct buffer bytes = {0};
    struct wire_reader reader;
    struct unwritten_part part = {.job = 3, .place = 2, .bytes = 77};

    control_put_written(&part, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    part = (struct unwritten_part){.job = 0};
    control_get_written(&reader, &part);
    is_uint(part.job, 3, "of which job something was written");
    is_uint(part.place, 2, "from which place");
    is_uint(part.bytes, 77, "and how much");
    is_int(wire_finish(&reader), 0, "and no more");
    buffer_fini(&bytes);
}

static void test_number(void)
{
    struct buffer bytes = {0};
    struct wire_reader reader;

    control_put_job(3, &bytes);
    control_put_number(15, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_uint(control_get_job(&reader), 3, "the job of a signal");
    is_uint(control_get_number(&reader), 15, "its number");
    is_int(wire_finish(&reader), 0, "and no more");
    buffer_fini(&bytes);
}

static void test_request(void)
{
    struct control_request request = {.request = 9, .kind = 3, .data = {(const uint8_t *)"abc", 3}};
    struct control_answer answer = {
        .request = 9, .status = -ENOENT, .data = {(const uint8_t *)"de", 2}};
    struct control_request back = {0};
    struct control_answer answer_back = {0};
    struct buffer bytes = {0};
    struct wire_reader reader;

    ranges_add(&request.places, 2, 5);
    control_request_encode(&request, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_request_decode(&back, &reader), 0, "a request is decoded");
    ok(back.request == 9 && back.kind == 3 && ranges_count(&back.places) == 4,
       "its number, kind and places");
    is_bytes(back.data.data, back.data.length_bytes, "abc", 3, "its data");
    ranges_fini(&back.places);
    reader = reader_of(&bytes, 5);
    is_int(control_request_decode(&back, &reader), -EBADMSG, "one without places is refused");
    buffer_clear(&bytes);
    control_answer_encode(&answer, &bytes);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_answer_decode(&answer_back, &reader), 0, "an answer is decoded");
    ok(answer_back.request == 9 && answer_back.status == -ENOENT, "its number and status");
    is_bytes(answer_back.data.data, answer_back.data.length_bytes, "de", 2, "its data");
    bytes.data[7] = 0x80;
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(control_answer_decode(&answer_back, &reader), -EBADMSG,
           "a status that is none: refused");
    ranges_fini(&request.places);
    buffer_fini(&bytes);
}

int main(void)
{
    test_end();
    test_started();
    test_job_end();
    test_output();
    test_text();
    test_run();
    test_failed();
    test_number();
    test_written();
    test_request();
    return done_testing();
}
