/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that know the secret and still do what no link does: each is a child process with a plain
 * socket and TLS, which sends bytes of its choice and reads until the end.  What they do must end
 * their connection, be logged once, and harm nothing.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "fabric/address.h"
#include "fabric/link_identity.h"
#include "fabric/link_set.h"
#include "fabric/link_wire.h"
#include "fabric/loop.h"
#include "test/support/tap.h"

#define PATIENCE_NS (20ull * 1000 * 1000 * 1000)
#define SESSION     "abc123"

static const unsigned char secret[LINK_SECRET_BYTES] = "the secret of this test instance";
static struct loop *loop;
static struct link_set *victim;
static struct addresses addresses;
static char log_text[1024];
static int log_lines;
static int ups;
static int downs;
static int frames;
static struct error why;

static void on_up(void *context, uint32_t place, uint32_t incarnation)
{
    ups++;
}

static void on_down(void *context, uint32_t place, const struct error *error)
{
    downs++;
    why = *error;
    loop_stop(loop);
}

static void on_frame(void *context, uint32_t place, const struct frame *frame)
{
    frames++;
}

static void on_timer(void *context)
{
}

static void sink(void *context, enum log_level level, const char *line)
{
    log_lines++;
    strncpy(log_text, line, sizeof(log_text) - 1);
}

/* ---- The child ---- */

struct raw {
    int fd;
    struct tls *tls;
    struct buffer output;
};

static void raw_flush(struct raw *raw)
{
    if (raw->output.length_bytes > 0 &&
        send(raw->fd, raw->output.data, raw->output.length_bytes, MSG_NOSIGNAL) < 0)
        _exit(3);
    buffer_clear(&raw->output);
}

/* 0 at the end. */
static ssize_t raw_fill(struct raw *raw)
{
    static unsigned char input[65536];
    ssize_t bytes = recv(raw->fd, input, sizeof(input), 0);

    if (bytes > 0)
        tls_input(raw->tls, input, (size_t)bytes);
    return bytes;
}

static void raw_open(struct raw *raw, const char *identity)
{
    unsigned char key[TLS_KEY_BYTES];
    struct sockaddr_storage system;
    struct error error;
    socklen_t bytes;
    int rc;

    memset(raw, 0, sizeof(*raw));
    address_to_system(&addresses.items[0], &system, &bytes);
    raw->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(raw->fd, (struct sockaddr *)&system, bytes) < 0)
        _exit(4);
    tls_derive_key(secret, sizeof(secret), identity, key);
    raw->tls = tls_create_client(identity, key, &error);
    tls_output(raw->tls, &raw->output);
    while ((rc = tls_handshake(raw->tls, &error)) == -EAGAIN) {
        raw_flush(raw);
        if (raw_fill(raw) <= 0)
            _exit(5);
    }
    raw_flush(raw);
    if (rc < 0)
        _exit(rc == -EACCES ? 6 : 7);
}

static void put_frame(struct buffer *out, uint8_t type, uint8_t class, uint32_t sequence,
                      struct message *payload)
{
    size_t bytes = payload != NULL ? payload->length_bytes : 0;
    struct frame_header header = {
        .length_bytes = (uint32_t)(FRAME_HEADER_BYTES + bytes),
        .type = type,
        .class = class,
        .sequence = sequence,
    };

    frame_encode(&header, buffer_reserve(out, FRAME_HEADER_BYTES));
    buffer_commit(out, FRAME_HEADER_BYTES);
    if (payload != NULL)
        buffer_append(out, payload->data, bytes);
    message_release(payload);
}

static void put_hello(struct buffer *out, uint32_t version, uint32_t place, uint32_t incarnation)
{
    put_frame(out, LINK_HELLO, FRAME_CONTROL, 1, link_hello_encode(version, place, incarnation));
}

typedef void hostile_function(struct buffer *out);

/* The child's life; the exit status 0 means that the other side closed in the end. */
static void child(const char *identity, hostile_function *function)
{
    struct raw raw;
    struct buffer out = {0};

    raw_open(&raw, identity);
    function(&out);
    tls_write(raw.tls, out.data, out.length_bytes);
    raw_flush(&raw);
    while (raw_fill(&raw) > 0)
        ;
    _exit(0);
}

/* ---- What they send ---- */

static void other_version(struct buffer *out)
{
    put_hello(out, LINK_PROTOCOL_VERSION + 1, 1, 1);
}

static void other_place(struct buffer *out)
{
    put_hello(out, LINK_PROTOCOL_VERSION, 9, 1);
}

static void no_hello(struct buffer *out)
{
    put_frame(out, 20, FRAME_CONTROL, 1, NULL);
}

static void unknown_class(struct buffer *out)
{
    put_frame(out, LINK_HELLO, FRAME_CLASS_COUNT, 1, NULL);
}

static void short_hello(struct buffer *out)
{
    const unsigned char version[4] = {LINK_PROTOCOL_VERSION};

    put_frame(out, LINK_HELLO, FRAME_CONTROL, 1, message_create(version, sizeof(version)));
}

static void wrong_sequence(struct buffer *out)
{
    put_hello(out, LINK_PROTOCOL_VERSION, 1, 1);
    put_frame(out, 20, FRAME_CONTROL, 3, NULL);
}

static void second_hello(struct buffer *out)
{
    put_hello(out, LINK_PROTOCOL_VERSION, 1, 1);
    put_frame(out, LINK_HELLO, FRAME_CONTROL, 2, link_hello_encode(LINK_PROTOCOL_VERSION, 1, 1));
}

static void part_of_nothing(struct buffer *out)
{
    put_hello(out, LINK_PROTOCOL_VERSION, 1, 1);
    put_frame(out, LINK_PART, FRAME_BULK, 1, message_create("abc", 3));
}

static void put_large(struct buffer *out, uint32_t length_bytes)
{
    unsigned char bytes[FRAME_HEADER_BYTES];
    struct frame_header header = {.length_bytes = length_bytes, .type = 20, .class = FRAME_BULK};

    frame_encode(&header, bytes);
    put_frame(out, LINK_LARGE, FRAME_BULK, 1, message_create(bytes, sizeof(bytes)));
}

static void too_large(struct buffer *out)
{
    put_hello(out, LINK_PROTOCOL_VERSION, 1, 1);
    put_large(out, FRAME_HEADER_BYTES + FRAME_PAYLOAD_BYTES_MAX + 1);
}

static void large_twice(struct buffer *out)
{
    put_hello(out, LINK_PROTOCOL_VERSION, 1, 1);
    put_large(out, 1000000);
    put_large(out, 1000000);
}

static void unknown_own_type(struct buffer *out)
{
    put_hello(out, LINK_PROTOCOL_VERSION, 1, 1);
    put_frame(out, LINK_MESSAGE_COUNT, FRAME_CONTROL, 2, NULL);
}

static void bad_goodbye(struct buffer *out)
{
    put_hello(out, LINK_PROTOCOL_VERSION, 1, 1);
    put_frame(out, LINK_GOODBYE, FRAME_BULK, 1, message_create("\377", 1));
}

static void large_before_hello(struct buffer *out)
{
    put_large(out, 1000000);
}

static void put_credit(struct buffer *out, uint32_t class, uint32_t credit)
{
    struct frame_header header = {.length_bytes = FRAME_HEADER_BYTES,
                                  .type = LINK_CREDIT,
                                  .class = FRAME_CONTROL,
                                  .sequence = 2,
                                  .stream = class,
                                  .credit = credit};

    put_hello(out, LINK_PROTOCOL_VERSION, 1, 1);
    frame_encode(&header, buffer_reserve(out, FRAME_HEADER_BYTES));
    buffer_commit(out, FRAME_HEADER_BYTES);
}

static void undue_credit(struct buffer *out)
{
    put_credit(out, FRAME_BULK, 1);
}

static void credit_of_control(struct buffer *out)
{
    put_credit(out, FRAME_CONTROL, 1);
}

static void credit_of_nothing(struct buffer *out)
{
    put_credit(out, 0xffffffff, 1);
}

/* ---- The parent ---- */

static int child_status; /* -1 while it runs */
static int timed_out;
static pid_t child_pid;

static void on_child(void *context)
{
    if (waitpid(child_pid, &child_status, WNOHANG) == child_pid)
        loop_stop(loop);
}

static void on_patience(void *context)
{
    timed_out = 1;
    loop_stop(loop);
}

/* Runs the child until it ends. */
static void run(const char *identity, hostile_function *function)
{
    struct loop_signal *signal = loop_signal_create(loop, SIGCHLD, on_child, NULL);
    struct loop_timer *patience = loop_timer_create(loop, on_patience, NULL);

    log_lines = 0;
    log_text[0] = '\0';
    why = ERROR_NONE;
    ups = 0;
    downs = 0;
    frames = 0;
    child_status = -1;
    child_pid = fork();
    if (child_pid == 0)
        child(identity, function);
    loop_timer_set(patience, loop_now_ns() + PATIENCE_NS);
    while (child_status == -1 && !timed_out)
        loop_run(loop);
    loop_timer_destroy(patience);
    loop_signal_destroy(signal);
}

static void expect_refused(const char *name, hostile_function *function, const char *text)
{
    run(SESSION "/1/2/1", function);
    is_int(child_status, 0, "%s: the connection is ended", name);
    is_int(log_lines, 1, "%s: one line is logged", name);
    has_string(log_text, text, "%s: with the reason", name);
    has_string(log_text, "127.0.0.1:", "%s: and the address", name);
    is_int(ups + downs + frames, 0, "%s: nothing is told", name);
}

static void expect_down(const char *name, hostile_function *function, const char *text)
{
    run(SESSION "/1/2/1", function);
    is_int(child_status, 0, "%s: the connection is ended", name);
    ok(ups == 1 && downs == 1 && frames == 0, "%s: a link came and went", name);
    has_string(why.text, text, "%s: with the reason", name);
    is_int(why.code, -EPROTO, "%s: and its code", name);
}

static void expect_no_key(const char *name, const char *identity)
{
    run(identity, no_hello);
    is_int(WEXITSTATUS(child_status), 6, "%s: the handshake is refused", name);
    is_int(log_lines, 1, "%s: one line is logged", name);
    has_string(log_text, identity, "%s: with the identity", name);
}

int main(void)
{
    static const struct transport_events events = {
        .up = on_up, .down = on_down, .frame = on_frame, .timer = on_timer};
    struct link_set_config config = {.secret = secret,
                                     .session = SESSION,
                                     .place = 2,
                                     .incarnation = 1,
                                     .listen_on = {.count = 1},
                                     .events = &events};
    char versions[64];

    log_set_sink(sink, NULL, LOG_LEVEL_INFO);
    loop = loop_create(NULL);
    config.loop = loop;
    address_parse("127.0.0.1", &config.listen_on.items[0], NULL);
    victim = link_set_create(&config, &why);
    if (victim == NULL)
        bail_out("%s", why.text);
    link_set_addresses(victim, &addresses);
    snprintf(versions, sizeof(versions), "link protocol mismatch: peer %u, local %u",
             LINK_PROTOCOL_VERSION + 1, LINK_PROTOCOL_VERSION);
    expect_refused("another version", other_version, versions);
    expect_refused("a frame before HELLO", no_hello, "a malformed frame");
    expect_refused("a large frame before HELLO", large_before_hello, "a malformed frame");
    expect_refused("an unknown class", unknown_class, "a malformed frame");
    expect_refused("a short HELLO", short_hello, "a malformed HELLO");
    expect_refused("another place in HELLO", other_place, "authenticated identity differ");
    expect_down("a gap in the sequence", wrong_sequence, "a malformed frame");
    expect_down("a second HELLO", second_hello, "a second HELLO");
    expect_down("a part of nothing", part_of_nothing, "a malformed frame");
    expect_down("a frame above the limit", too_large, "announcement of a large frame");
    expect_down("two large frames at once", large_twice, "a malformed frame");
    expect_down("an unknown type", unknown_own_type, "a malformed frame");
    expect_down("more credit than is due", undue_credit, "more credit than is due");
    expect_down("credit of control", credit_of_control, "more credit than is due");
    expect_down("credit of no class", credit_of_nothing, "more credit than is due");
    expect_down("a malformed GOODBYE", bad_goodbye, "a malformed GOODBYE");
    expect_no_key("for another place", SESSION "/1/3/1");
    expect_no_key("of another session", "abc124/1/2/1");
    expect_no_key("from the place itself", SESSION "/2/2/1");
    expect_no_key("with leading zeros", SESSION "/01/2/1");
    expect_no_key("with a number too large", SESSION "/4294967297/2/1");
    link_set_destroy(victim);
    loop_destroy(loop);
    tls_stop();
    return done_testing();
}
