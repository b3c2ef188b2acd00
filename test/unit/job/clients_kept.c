/* SPDX-License-Identifier: BSD-3-Clause */
/* What is kept of jobs for clients that come later, and when it is dropped: launch/job/clients_kept.c. */
#include "config.h"

#include "launch/job/clients_kept.h"

#include <stdlib.h>
#include <string.h>

#include "launch/proto/control.h"
#include "test/support/tap.h"

/* "0.1:text" for output of a rank's stream, "(text)" for a text, "=status" for an end. */
static struct buffer seen;
static size_t seen_bytes; /* of output */

static void on_message(void *context, uint8_t type, const void *payload, size_t bytes)
{
    struct wire_reader reader;
    struct control_output output;
    struct control_job_end end;
    struct control_text text;

    (void)context;
    wire_reader_init(&reader, payload, bytes);
    (void)control_get_job(&reader);
    if (type == CONTROL_OUTPUT && control_output_decode(&output, &reader) == 0) {
        buffer_printf(&seen, "%u.%u:%.*s ", output.rank, output.stream,
                      (int)output.bytes.length_bytes, (const char *)output.bytes.data);
        seen_bytes += output.bytes.length_bytes;
    } else if (type == CONTROL_TEXT && control_text_decode(&text, &reader) == 0) {
        buffer_printf(&seen, "(%.*s) ", (int)text.text.length_bytes, (const char *)text.text.data);
    } else if (type == CONTROL_JOB_END && control_job_end_decode(&end, &reader) == 0) {
        buffer_printf(&seen, "=%u ", end.status);
    } else {
        buffer_append_string(&seen, "unreadable ");
    }
}

static void writes(struct clients_kept *kept, uint32_t rank, uint8_t stream, const char *text,
                   size_t bytes)
{
    const struct control_output output = {
        .rank = rank, .stream = stream, .bytes = {(const unsigned char *)text, bytes}};
    struct buffer payload = {0};

    control_put_job(5, &payload);
    control_output_encode(&output, &payload);
    clients_kept_add(kept, payload.data, payload.length_bytes);
    buffer_fini(&payload);
}

static void ends(struct clients_ended *ended, uint32_t job, uint32_t status,
                 struct clients_kept *kept)
{
    const struct control_job_end end = {.status = status};
    struct buffer payload = {0};

    control_put_job(job, &payload);
    control_job_end_encode(&end, &payload);
    clients_ended_add(ended, job, &payload, kept);
    buffer_fini(&payload);
}

static void is_seen(const char *expected, const char *what)
{
    is_string(buffer_string(&seen), expected, "%s", what);
    buffer_clear(&seen);
}

static void test_pieces(void)
{
    struct clients_kept *kept = clients_kept_create();

    clients_kept_replay(kept, 5, on_message, NULL);
    is_seen("", "nothing was written");
    writes(kept, 0, 1, "a\n", 2);
    writes(kept, 0, 1, "b", 1);
    writes(kept, 0, 1, "", 0);
    writes(kept, 0, 1, "c\n", 2);
    writes(kept, 0, 2, "d\n", 2);
    writes(kept, 1, 2, "e\n", 2);
    writes(kept, 0, 2, "f\n", 2);
    clients_kept_replay(kept, 5, on_message, NULL);
    is_seen("0.1:a\nb 0.1: 0.1:c\n 0.2:d\n 1.2:e\n 0.2:f\n ",
            "what one rank writes in one piece is joined, in order, and ends of lines stay");
    clients_kept_replay(kept, 5, on_message, NULL);
    ok(seen.length_bytes > 0, "it is kept for the next");
    buffer_clear(&seen);
    clients_kept_destroy(kept);
    clients_kept_destroy(NULL);
}

static void test_bound(void)
{
    struct clients_kept *kept = clients_kept_create();
    static char text[1000];
    uint64_t written = 0;
    const char *said;

    memset(text, 'x', sizeof(text));
    for (uint32_t i = 0; written < 3ull * CLIENTS_KEPT_BYTES_MAX; i++) {
        writes(kept, i % 7, 1, text, sizeof(text));
        written += sizeof(text);
    }
    seen_bytes = 0;
    clients_kept_replay(kept, 5, on_message, NULL);
    ok(seen_bytes <= CLIENTS_KEPT_BYTES_MAX && seen_bytes > CLIENTS_KEPT_BYTES_MAX / 2,
       "no more is kept than the bound: %zu bytes", seen_bytes);
    said = buffer_string(&seen);
    ok(strncmp(said, "(the first ", 11) == 0 &&
           strstr(said, " bytes that job 5 wrote are not kept) "),
       "what was dropped is said first");
    is_uint(strtoull(said + 11, NULL, 10), written - seen_bytes, "how much it is");
    buffer_clear(&seen);
    clients_kept_destroy(kept);
}

static void test_ended(void)
{
    struct clients_ended *ended = clients_ended_create();
    struct clients_kept *kept = clients_kept_create();

    writes(kept, 0, 1, "a\n", 2);
    ends(ended, 5, 3, kept);
    ends(ended, 7, 0, NULL);
    is_int(clients_ended_replay(ended, 5, on_message, NULL), 1, "a job that has ended is known");
    is_seen("0.1:a\n =3 ", "its output and its end");
    is_int(clients_ended_replay(ended, 7, on_message, NULL), 1, "likewise one without output");
    is_seen("=0 ", "its end");
    is_int(clients_ended_replay(ended, 6, on_message, NULL), 0, "another is not");
    for (uint32_t i = 0; i < CLIENTS_ENDED_MAX - 1; i++)
        ends(ended, 100 + i, 1, NULL);
    is_int(clients_ended_replay(ended, 5, on_message, NULL), 0, "the oldest is forgotten first");
    is_int(clients_ended_replay(ended, 7, on_message, NULL), 1, "the next not yet");
    is_int(clients_ended_replay(ended, 100 + CLIENTS_ENDED_MAX - 2, on_message, NULL), 1,
           "nor the last");
    buffer_clear(&seen);
    clients_ended_destroy(ended);
}

/* All of them together keep so much output. */
static void test_ended_bound(void)
{
    const uint32_t jobs = 40;
    struct clients_ended *ended = clients_ended_create();
    static char text[15000];

    memset(text, 'x', sizeof(text));
    for (uint32_t job = 1; job <= jobs; job++) {
        struct clients_kept *kept = clients_kept_create();

        for (uint32_t i = 0; i < 60; i++)
            writes(kept, i, 1, text, sizeof(text));
        ends(ended, job, 0, kept);
    }
    seen_bytes = 0;
    for (uint32_t job = 1; job <= jobs; job++)
        is_int(clients_ended_replay(ended, job, on_message, NULL), 1, "job %u has its end", job);
    ok(seen_bytes <= CLIENTS_ENDED_BYTES_MAX && seen_bytes > CLIENTS_ENDED_BYTES_MAX / 2,
       "their output is bounded: %zu bytes", seen_bytes);
    buffer_clear(&seen);
    (void)clients_ended_replay(ended, jobs, on_message, NULL);
    ok(seen.length_bytes > 60 * sizeof(text), "the last has all of it");
    buffer_clear(&seen);
    (void)clients_ended_replay(ended, 1, on_message, NULL);
    is_seen("=0 ", "the first has none");
    clients_ended_destroy(ended);
}

int main(void)
{
    test_pieces();
    test_bound();
    test_ended();
    test_ended_bound();
    buffer_fini(&seen);
    return done_testing();
}
