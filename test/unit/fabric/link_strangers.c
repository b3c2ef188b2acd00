/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strangers at the door of a place, beside a link that must not notice: a recorded handshake played
 * again, the victim's own handshake reflected, a scanner, garbage, one that talks a byte at a time,
 * and more silent ones than there is room for.  Each must be refused within a limited time and
 * memory and logged once, with its address.  The strangers are plain sockets of this process.
 */
#include "config.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fabric/address.h"
#include "fabric/link.h"
#include "fabric/link_identity.h"
#include "fabric/link_set.h"
#include "fabric/link_wire.h"
#include "fabric/loop.h"
#include "fabric/tls.h"
#include "test/support/tap.h"

#define PATIENCE_NS      (30ull * 1000 * 1000 * 1000)
#define POLL_NS          1000000ull
#define SESSION          "abc123"
#define CROWD            1500 /* more than are let in at once */
#define CROWD_BYTES_MAX  ((size_t)8 * 1024 * 1024)
#define RESERVED_FDS     64
#define LOGGED_BYTES_MAX 512

static const unsigned char secret[LINK_SECRET_BYTES] = "the secret of this test instance";
static struct loop *loop;
static struct loop_timer *ticker;
static int (*condition)(void);
static uint64_t deadline_ns;

static struct link_set *victim; /* place 2 */
static struct link_set *friend; /* place 4 */
static struct addresses addresses;
static int ups;
static int downs;
static int frames;
static struct error why;
static int log_lines;
static char log_text[LOGGED_BYTES_MAX];

/* ---- The loop ---- */

static void on_ticker(void *context)
{
    if (condition())
        loop_stop(loop);
    else if (loop_now_ns() > deadline_ns)
        bail_out("what must happen does not happen");
    else
        loop_timer_set(ticker, loop_now_ns() + POLL_NS);
}

static void run_until(int (*wanted)(void))
{
    condition = wanted;
    deadline_ns = loop_now_ns() + PATIENCE_NS;
    loop_timer_set(ticker, loop_now_ns());
    loop_run(loop);
}

static void on_up(void *context, uint32_t place, uint32_t incarnation)
{
    ups++;
}

static void on_down(void *context, uint32_t place, const struct error *error)
{
    downs++;
    why = *error;
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
    snprintf(log_text, sizeof(log_text), "%s", line);
}

static struct link_set *start(uint32_t place, struct addresses *ret_addresses)
{
    static const struct transport_events events = {
        .up = on_up, .down = on_down, .frame = on_frame, .timer = on_timer};
    struct link_set_config config = {.loop = loop,
                                     .secret = secret,
                                     .session = SESSION,
                                     .place = place,
                                     .incarnation = 1,
                                     .listen_on = {.count = 1},
                                     .events = &events};
    struct link_set *set;

    address_parse("127.0.0.1", &config.listen_on.items[0], NULL);
    set = link_set_create(&config, &why);
    if (set == NULL)
        bail_out("%s", why.text);
    link_set_addresses(set, ret_addresses);
    return set;
}

static int both_up(void)
{
    return ups == 2;
}

static int frame_came(void)
{
    return frames == 1;
}

/* The link beside all this: it has heard nothing, and it works. */
static void expect_undisturbed(const char *by)
{
    struct frame frame = {.type = 20, .class = FRAME_CONTROL};

    is_int(ups + downs + frames, 0, "%s: nothing is told", by);
    link_set_ops()->send(friend, 2, &frame);
    run_until(frame_came);
    ok(frames == 1 && downs == 0, "%s: the link beside it goes on", by);
}

static void expect_logged(const char *by, const char *text)
{
    is_int(log_lines, 1, "%s: one line is logged", by);
    has_string(log_text, text, "%s: with the reason", by);
    has_string(log_text, "127.0.0.1:", "%s: and the address", by);
}

static void forget(void)
{
    ups = 0;
    downs = 0;
    frames = 0;
    log_lines = 0;
    log_text[0] = '\0';
}

/* ---- Strangers ---- */

static int stranger_fd;

static int plain(void)
{
    struct sockaddr_storage system;
    socklen_t bytes;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address_to_system(&addresses.items[0], &system, &bytes);
    if (fd < 0 || connect(fd, (struct sockaddr *)&system, bytes) < 0)
        bail_out("a stranger cannot connect: %s", strerror(errno));
    return fd;
}

static void say(int fd, const void *data, size_t bytes)
{
    if (send(fd, data, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        bail_out("a stranger cannot speak");
}

/* The other side has closed; what it said before is dropped. */
static int stranger_is_out(void)
{
    static char data[65536];
    ssize_t bytes;

    do
        bytes = recv(stranger_fd, data, sizeof(data), MSG_DONTWAIT);
    while (bytes > 0);
    return bytes == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static void expect_out(const char *by, const void *data, size_t bytes, const char *text)
{
    forget();
    stranger_fd = plain();
    say(stranger_fd, data, bytes);
    run_until(stranger_is_out);
    expect_logged(by, text);
    expect_undisturbed(by);
    close(stranger_fd);
}

static void test_scanner(void)
{
    forget();
    stranger_fd = plain();
    shutdown(stranger_fd, SHUT_WR);
    run_until(stranger_is_out);
    expect_logged("a scanner", "connection closed by peer");
    expect_undisturbed("a scanner");
    close(stranger_fd);
}

static void test_garbage(void)
{
    unsigned char noise[3000];
    unsigned char long_record[] = {22, 3, 1, 0x40, 0};

    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (unsigned char)(i * 31 + 7);
    expect_out("noise", noise, sizeof(noise), "does not speak our TLS");
    expect_out("HTTP", "GET / HTTP/1.0\r\n\r\n", 18, "does not speak our TLS");
    expect_out("SSH", "SSH-2.0-OpenSSH_9.2\r\n", 21, "does not speak our TLS");
    expect_out("a record beyond the limit", long_record, sizeof(long_record),
               "does not speak our TLS");
}

/* ---- A recorded handshake ---- */

static struct buffer recorded; /* all that the honest client of place 1 sent */
static size_t hello_bytes;     /* of its first flight */
static struct tls *client;
static struct buffer client_out;

/* Speaks as place 1, by hand; 1 when its HELLO has been answered. */
static int client_turn(void)
{
    static unsigned char input[65536];
    static int greeted;
    struct error error;
    ssize_t bytes = recv(stranger_fd, input, sizeof(input), MSG_DONTWAIT);
    int rc;

    if (bytes > 0)
        tls_input(client, input, (size_t)bytes);
    if (greeted)
        return ups == 1;
    rc = tls_handshake(client, &error);
    if (rc < 0 && rc != -EAGAIN)
        bail_out("the honest client: %s", error.text);
    if (rc == 0) {
        unsigned char header[FRAME_HEADER_BYTES];
        struct message *hello = link_hello_encode(LINK_PROTOCOL_VERSION, 1, 1);
        struct frame_header frame = {.type = LINK_HELLO, .class = FRAME_CONTROL, .sequence = 1};
        frame.length_bytes = (uint32_t)(FRAME_HEADER_BYTES + hello->length_bytes);
        frame_encode(&frame, header);
        tls_write(client, header, sizeof(header));
        tls_write(client, hello->data, hello->length_bytes);
        message_release(hello);
        greeted = 1;
    }
    if (client_out.length_bytes > 0)
        say(stranger_fd, client_out.data, client_out.length_bytes);
    buffer_append(&recorded, client_out.data, client_out.length_bytes);
    if (hello_bytes == 0)
        hello_bytes = recorded.length_bytes;
    buffer_clear(&client_out);
    return 0;
}

static int client_is_down(void)
{
    return downs == 1;
}

static void record(void)
{
    unsigned char key[TLS_KEY_BYTES];

    forget();
    tls_derive_key(secret, sizeof(secret), SESSION "/1/2/1", key);
    client = tls_create_client(SESSION "/1/2/1", key, NULL);
    tls_output(client, &client_out);
    stranger_fd = plain();
    run_until(client_turn);
    is_int(ups, 1, "a handshake of place 1 is recorded: %zu bytes, %zu of ClientHello",
           recorded.length_bytes, hello_bytes);
    close(stranger_fd);
    run_until(client_is_down);
    tls_destroy(client);
}

static void test_replay(void)
{
    record();
    expect_out("a recorded handshake", recorded.data, recorded.length_bytes, "TLS");
}

/* ---- The victim's own handshake ---- */

static int listener_fd;
static int back_fd;
static int from_victim_fd;

static void carry(int from, int to)
{
    char data[65536];
    ssize_t bytes = from >= 0 ? recv(from, data, sizeof(data), MSG_DONTWAIT) : -1;

    if (bytes > 0)
        (void)send(to, data, (size_t)bytes, MSG_NOSIGNAL);
    if (bytes == 0)
        shutdown(to, SHUT_WR);
}

/* The victim connects to us; we connect it to itself. */
static int reflected(void)
{
    if (from_victim_fd < 0) {
        from_victim_fd = accept4(listener_fd, NULL, NULL, SOCK_NONBLOCK);
        if (from_victim_fd >= 0)
            back_fd = plain();
    }
    carry(from_victim_fd, back_fd);
    carry(back_fd, from_victim_fd);
    return downs == 1;
}

static void test_reflection(void)
{
    struct sockaddr_storage system;
    struct addresses trap = {.count = 1};
    socklen_t bytes;

    forget();
    address_parse("127.0.0.1", &trap.items[0], NULL);
    address_to_system(&trap.items[0], &system, &bytes);
    listener_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listener_fd, (struct sockaddr *)&system, bytes) < 0 || listen(listener_fd, 5) < 0 ||
        getsockname(listener_fd, (struct sockaddr *)&system, &bytes) < 0)
        bail_out("a trap");
    address_from_system((struct sockaddr *)&system, &trap.items[0]);
    from_victim_fd = -1;
    back_fd = -1;
    link_set_ops()->connect(victim, 3, &trap);
    run_until(reflected);
    expect_logged("a reflection", SESSION "/2/3/1");
    is_int(downs, 1, "a reflection: the attempt of the victim ends");
    ok(why.code < 0 && why.code != -ETIMEDOUT, "a reflection: at once: %s", why.text);
    downs = 0;
    expect_undisturbed("a reflection");
    close(listener_fd);
    close(from_victim_fd);
    close(back_fd);
}

/* ---- Slow ones, and many ---- */

static size_t said_bytes;

static int slow_turn(void)
{
    if (said_bytes + 1 < hello_bytes && said_bytes < 100)
        say(stranger_fd, recorded.data + said_bytes++, 1);
    return stranger_is_out();
}

static void test_slow(void)
{
    uint64_t begin_ns = loop_now_ns();

    forget();
    stranger_fd = plain();
    run_until(slow_turn);
    ok(loop_now_ns() - begin_ns >= 4900000000u && loop_now_ns() - begin_ns < 20000000000u,
       "a byte at a time: out after 5 s");
    expect_logged("a byte at a time", "no handshake within 5 s");
    expect_undisturbed("a byte at a time");
    close(stranger_fd);
}

static int crowd[CROWD];

static size_t memory(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* The last of the crowd is in when there is nothing to accept any more: one that came after it is. */
static int crowd_is_in(void)
{
    return stranger_is_out();
}

static void test_crowd(const char *by, const void *data, size_t bytes)
{
    size_t before = memory();
    size_t more;
    struct link_set *late;
    struct addresses own;

    forget();
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = plain();
        if (bytes > 0)
            (void)send(crowd[i], data, bytes, MSG_NOSIGNAL);
    }
    stranger_fd = plain();
    (void)send(stranger_fd, "x", 1, MSG_NOSIGNAL);
    run_until(crowd_is_in);
    close(stranger_fd);
    more = memory() - before;
    ok(more <= CROWD_BYTES_MAX, "%s: %d of them cost %zu KiB, 8 MiB at most", by, CROWD,
       more >> 10);
    is_int(ups + downs, 0, "%s: nothing is told", by);
    late = start(5, &own);
    link_set_ops()->connect(late, 2, &addresses);
    run_until(both_up);
    pass("%s: an honest one gets in beside them", by);
    link_set_destroy(late);
    run_until(client_is_down);
    forget();
    expect_undisturbed(by);
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
}

static void raise_limit(void)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 2 * CROWD + RESERVED_FDS)
        skip_all("the limit of descriptors is %ld, %d are needed", (long)limit.rlim_max,
                 2 * CROWD + RESERVED_FDS);
    limit.rlim_cur = 2 * CROWD + RESERVED_FDS;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(void)
{
    struct addresses own;

    raise_limit();
    log_set_sink(sink, NULL, LOG_LEVEL_INFO);
    loop = loop_create(NULL);
    ticker = loop_timer_create(loop, on_ticker, NULL);
    victim = start(2, &addresses);
    friend = start(4, &own);
    link_set_ops()->connect(friend, 2, &addresses);
    run_until(both_up);
    test_scanner();
    test_garbage();
    test_replay();
    test_reflection();
    test_slow();
    test_crowd("silent ones", NULL, 0);
    test_crowd("slow ones", recorded.data, hello_bytes - 1);
    test_crowd("recorded ones", recorded.data, hello_bytes);
    link_set_destroy(friend);
    link_set_destroy(victim);
    loop_timer_destroy(ticker);
    loop_destroy(loop);
    buffer_fini(&recorded);
    buffer_fini(&client_out);
    tls_stop();
    return done_testing();
}
