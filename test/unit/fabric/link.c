/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several link sets in one process and one loop, as several daemons.  Each upcall is noted in its
 * node; run_until turns the loop until a condition holds, which must be within PATIENCE_NS.
 */
#include "config.h"

#include "fabric/link_set.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/message.h"
#include "fabric/address.h"
#include "fabric/link_wire.h"
#include "fabric/loop.h"
#include "fabric/tls.h"
#include "test/support/tap.h"

#define PATIENCE_NS (20ull * 1000 * 1000 * 1000)
#define FRAMES_MAX  4096
#define PLACES      5
#define TYPE        20

static const unsigned char secret[LINK_SECRET_BYTES] = "the secret of this test instance";
static const unsigned char other_secret[LINK_SECRET_BYTES] = "the secret of another instance..";

struct noted {
    uint8_t class;
    uint32_t stream;
    size_t bytes;
    uint32_t from;
};

struct endpoint {
    uint32_t place;
    struct link_set *links;
    struct addresses addresses;
    int up[PLACES];
    int down[PLACES];
    uint32_t incarnations[PLACES];
    struct error why;
    int frame_count;
    struct noted frames[FRAMES_MAX];
    size_t bad_bytes;
    int timer_count;
    int close_at_frame; /* of the sender, inside the upcall */
};

static struct loop *loop;
static struct loop_timer *patience;
static int timed_out;
static int (*condition)(void);
static struct endpoint a;
static struct endpoint b;
static struct endpoint c;
static int log_lines;
static char last_log[512];

static void check(void)
{
    if (condition())
        loop_stop(loop);
}

static void on_patience(void *context)
{
    timed_out = 1;
    loop_stop(loop);
}

static void on_look(void *context)
{
    if (condition())
        loop_stop(loop);
}

static bool run_until(int (*wanted)(void), const char *what)
{
    condition = wanted;
    timed_out = 0;
    loop_timer_set(patience, loop_now_ns() + PATIENCE_NS);
    loop_defer(loop, on_look, NULL);
    loop_run(loop);
    loop_timer_cancel(patience);
    return ok(!timed_out, "%s", what);
}

/* ---- Nodes ---- */

static void on_up(void *context, uint32_t place, uint32_t incarnation)
{
    struct endpoint *node = context;

    node->up[place]++;
    node->incarnations[place] = incarnation;
    check();
}

static void on_down(void *context, uint32_t place, const struct error *why)
{
    struct endpoint *node = context;

    node->down[place]++;
    node->why = *why;
    check();
}

static unsigned char pattern(size_t at)
{
    return (unsigned char)(at ^ at >> 8 ^ at >> 16);
}

static void on_frame(void *context, uint32_t place, const struct frame *frame)
{
    struct endpoint *node = context;
    struct noted *noted = &node->frames[node->frame_count % FRAMES_MAX];

    *noted = (struct noted){.class = frame->class, .stream = frame->stream, .from = place};
    noted->bytes = frame->payload != NULL ? frame->payload->length_bytes : 0;
    for (size_t i = 0; i < noted->bytes; i++)
        node->bad_bytes += frame->payload->data[i] != pattern(i);
    node->frame_count++;
    if (node->close_at_frame)
        link_set_ops()->close(node->links, place);
    check();
}

static void on_timer(void *context)
{
    struct endpoint *node = context;

    node->timer_count++;
    check();
}

static void start_full(struct endpoint *node, uint32_t place, uint32_t incarnation,
                       const unsigned char *key, const char *session)
{
    static const struct transport_events events = {
        .up = on_up, .down = on_down, .frame = on_frame, .timer = on_timer};
    struct error error = ERROR_NONE;
    struct link_set_config config = {
        .loop = loop,
        .secret = key,
        .session = session,
        .place = place,
        .incarnation = incarnation,
        .listen_on = {.count = 1},
        .events = &events,
        .context = node,
    };

    memset(node, 0, sizeof(*node));
    node->place = place;
    address_parse("127.0.0.1", &config.listen_on.items[0], NULL);
    node->links = link_set_create(&config, &error);
    if (node->links == NULL)
        bail_out("%s", error.text);
    link_set_addresses(node->links, &node->addresses);
}

static void start(struct endpoint *node, uint32_t place)
{
    start_full(node, place, 1, secret, "abc123");
}

static void stop(struct endpoint *node)
{
    link_set_destroy(node->links);
    node->links = NULL;
}

static void connect_to(struct endpoint *from, const struct endpoint *to)
{
    int rc = link_set_ops()->connect(from->links, to->place, &to->addresses);

    if (rc < 0)
        fail("connect: %s", strerror(-rc));
}

static int send_to(struct endpoint *from, uint32_t place, uint8_t class, uint32_t stream,
                   size_t bytes)
{
    struct frame frame = {.type = TYPE, .class = class, .stream = stream, .incarnation = 1};

    if (bytes > 0) {
        unsigned char *data = malloc(bytes);
        for (size_t i = 0; i < bytes; i++)
            data[i] = pattern(i);
        frame.payload = message_create(data, bytes);
        free(data);
    }
    return link_set_ops()->send(from->links, place, &frame);
}

static int a_and_b_up(void)
{
    return a.up[2] == 1 && b.up[1] == 1;
}

static int a_is_down(void)
{
    return a.down[2] > 0;
}

static int b_is_down(void)
{
    return b.down[1] > 0;
}

static void start_pair(void)
{
    start(&a, 1);
    start(&b, 2);
    connect_to(&a, &b);
    run_until(a_and_b_up, "two places have a link");
}

static void stop_pair(void)
{
    stop(&a);
    stop(&b);
}

/* ---- Tests ---- */

static int wanted_frames;

static int b_has_frames(void)
{
    return b.frame_count >= wanted_frames;
}

static void test_frames(void)
{
    uint32_t last[FRAME_CLASS_COUNT] = {0};
    int disorder = 0;

    start_pair();
    is_uint(b.incarnations[1], 1, "the incarnation is known");
    is_int(link_set_ops()->connect(a.links, 2, &b.addresses), -EALREADY, "a second connect");
    is_int(link_set_ops()->connect(a.links, 1, &b.addresses), -EINVAL, "a connect to oneself");
    is_int(send_to(&a, 3, FRAME_CONTROL, 1, 10), -ENOTCONN, "a frame to a place without link");
    for (uint32_t i = 1; i <= 1000; i++)
        for (uint8_t class = 0; class < FRAME_CLASS_COUNT; class ++)
            send_to(&a, 2, class, i, i % 100);
    is_int(b.frame_count, 0, "nothing happens inside send");
    wanted_frames = 3000;
    run_until(b_has_frames, "3,000 frames arrive");
    for (int i = 0; i < b.frame_count; i++) {
        disorder += b.frames[i].stream != last[b.frames[i].class] + 1;
        last[b.frames[i].class] = b.frames[i].stream;
    }
    is_int(disorder, 0, "in order within each class");
    is_uint(b.bad_bytes, 0, "with their payloads");
    is_uint(b.frames[0].from, 1, "from their sender");
    is_int(b.frames[999].class, FRAME_CONTROL, "control before the others");
    is_int(b.frames[1999].class, FRAME_COLLECTIVE, "collective before bulk");
    stop_pair();
}

static void test_sizes(void)
{
    static const size_t sizes[] = {0,     1,     27,     16356,   16357,
                                   65536, 65537, 131072, 1000000, 64u << 20};
    int count = (int)(sizeof(sizes) / sizeof(sizes[0]));
    int wrong = 0;

    start_pair();
    for (int i = 0; i < count; i++)
        send_to(&a, 2, FRAME_COLLECTIVE, (uint32_t)i, sizes[i]);
    wanted_frames = count;
    run_until(b_has_frames, "frames of 0 bytes to 64 MiB arrive");
    for (int i = 0; i < count; i++)
        wrong += b.frames[i].bytes != sizes[i];
    is_int(wrong, 0, "in their sizes");
    is_uint(b.bad_bytes, 0, "with their bytes");
    stop_pair();
}

static int b_has_control(void)
{
    for (int i = 0; i < b.frame_count; i++)
        if (b.frames[i].class == FRAME_CONTROL)
            return 1;
    return 0;
}

/* A control frame sent while a large one is on its way passes it. */
static void test_priority(void)
{
    start_pair();
    send_to(&a, 2, FRAME_BULK, 1, 32u << 20);
    send_to(&a, 2, FRAME_COLLECTIVE, 2, 8u << 20);
    send_to(&a, 2, FRAME_CONTROL, 3, 100);
    wanted_frames = 1;
    run_until(b_has_control, "a control frame arrives");
    is_int(b.frame_count, 1, "before the large ones");
    wanted_frames = 3;
    run_until(b_has_frames, "then they");
    is_int(b.frames[1].class, FRAME_COLLECTIVE, "collective first");
    is_uint(b.bad_bytes, 0, "unharmed");
    stop_pair();
}

static int late_control_done;

static void send_late_control(void *context)
{
    send_to(&a, 2, FRAME_CONTROL, 9, 10);
}

static int b_has_late_control(void)
{
    if (!late_control_done && b_has_control())
        late_control_done = b.frame_count;
    return b.frame_count >= wanted_frames;
}

static void test_late_priority(void)
{
    struct loop_timer *timer = loop_timer_create(loop, send_late_control, NULL);

    start_pair();
    for (uint32_t i = 0; i < 64; i++)
        send_to(&a, 2, FRAME_BULK, i, 1u << 20);
    loop_timer_set(timer, loop_now_ns() + 1000000);
    wanted_frames = 65;
    late_control_done = 0;
    run_until(b_has_late_control, "64 MiB of bulk and a late control frame");
    ok(late_control_done < 60, "which did not wait for the rest: %d", late_control_done);
    loop_timer_destroy(timer);
    stop_pair();
}

static int all_three_linked(void)
{
    return a.up[2] && a.up[3] && b.up[1] && b.up[3] && c.up[1] && c.up[2];
}

static int c_has_frames(void)
{
    return c.frame_count >= 2;
}

static void test_three(void)
{
    start(&a, 1);
    start(&b, 2);
    start(&c, 3);
    connect_to(&a, &b);
    connect_to(&a, &c);
    connect_to(&b, &c);
    run_until(all_three_linked, "three places are linked with each other");
    is_uint(link_set_count(a.links), 2, "by two links each");
    send_to(&a, 3, FRAME_CONTROL, 1, 5);
    send_to(&b, 3, FRAME_CONTROL, 2, 5);
    run_until(c_has_frames, "one hears both others");
    ok(c.frames[0].from != c.frames[1].from, "and knows who is who");
    stop(&a);
    stop_pair();
    stop(&c);
}

static int crossed_up(void)
{
    return a.up[2] && b.up[1];
}

static void test_crossed(void)
{
    int wrong = 0;

    for (int i = 0; i < 20; i++) {
        start(&a, 1);
        start(&b, 2);
        connect_to(&b, &a);
        connect_to(&a, &b);
        condition = crossed_up;
        loop_timer_set(patience, loop_now_ns() + PATIENCE_NS);
        loop_run(loop);
        send_to(&a, 2, FRAME_CONTROL, 1, 5);
        wanted_frames = 1;
        condition = b_has_frames;
        loop_run(loop);
        wrong += a.up[2] != 1 || b.up[1] != 1 || a.down[2] != 0 || b.down[1] != 0;
        stop_pair();
    }
    loop_timer_cancel(patience);
    is_int(timed_out, 0, "20 times two places connected to each other at once");
    is_int(wrong, 0, "each time one link came of it");
}

static void expect_refusal(const char *what, int code, const char *text)
{
    log_lines = 0;
    connect_to(&a, &b);
    run_until(a_is_down, what);
    is_int(a.down[2], 1, "it is told once");
    is_int(a.why.code, code, "with its code");
    has_string(a.why.text, text, "and its text");
    is_int(a.up[2] + b.up[1] + b.down[1], 0, "nothing else is told");
}

static void test_wrong_secret(void)
{
    start(&a, 1);
    start_full(&b, 2, 1, other_secret, "abc123");
    expect_refusal("a wrong secret is refused", -EACCES,
                   "the peer does not share this instance's secret");
    has_string(a.why.text, "127.0.0.1:", "the address too");
    is_int(log_lines, 1, "the other side logs one line");
    has_string(last_log, "127.0.0.1:", "with the stranger's address");
    stop_pair();
}

static void test_wrong_session(void)
{
    start(&a, 1);
    start_full(&b, 2, 1, secret, "abc124");
    expect_refusal("a wrong session is refused", -EACCES, "another instance or place");
    stop_pair();
}

static void test_wrong_place(void)
{
    start(&a, 1);
    start(&c, 3);
    start(&b, 2);
    b.addresses = c.addresses;
    expect_refusal("a wrong place is refused", -EACCES, "another instance or place");
    is_int(c.up[1], 0, "also there");
    stop_pair();
    stop(&c);
}

/* The port that a set of b's, listening on ip, has got, who wishes for a's. */
static uint16_t port_got(const char *ip)
{
    static const struct transport_events events = {.up = on_up};
    struct error error = ERROR_NONE;
    struct link_set_config config = {
        .loop = loop,
        .secret = secret,
        .session = "abc123",
        .place = 2,
        .incarnation = 1,
        .listen_on = {.count = 1},
        .port_wished = address_port(&a.addresses.items[0]),
        .events = &events,
        .context = &b,
    };
    struct addresses addresses;

    address_parse(ip, &config.listen_on.items[0], NULL);
    b.links = link_set_create(&config, &error);
    if (b.links == NULL)
        bail_out("%s", error.text);
    link_set_addresses(b.links, &addresses);
    stop(&b);
    return address_port(&addresses.items[0]);
}

static void test_port_wished(void)
{
    uint16_t wished;
    uint16_t other;

    start(&a, 1);
    wished = address_port(&a.addresses.items[0]);
    is_uint(port_got("127.7.7.7"), wished, "a port that is wished for is taken");
    other = port_got("127.0.0.1");
    ok(other != wished && other != 0, "where it is taken already another is");
    stop(&a);
}

/* A port that nobody listens on: one that was given back. */
static void nobody_at(struct endpoint *node)
{
    start(&c, 4);
    *node = (struct endpoint){.place = 2, .addresses = c.addresses};
    stop(&c);
}

static void test_refused(void)
{
    start(&a, 1);
    nobody_at(&b);
    expect_refusal("nobody is there", -ECONNREFUSED, "Connection refused");
    b.addresses.count = 0;
    a.down[2] = 0;
    expect_refusal("no address at all", -EDESTADDRREQ, "no address of place 2 is known");
    stop(&a);
}

/* The wrong one, one that never answers, then the right one. */
static void test_several_addresses(void)
{
    struct sockaddr_in silent = {.sin_family = AF_INET};
    struct addresses addresses = {.count = 3};
    socklen_t bytes = sizeof(silent);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    uint64_t begin_ns = loop_now_ns();

    silent.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&silent, bytes) < 0 || listen(fd, 5) < 0 ||
        getsockname(fd, (struct sockaddr *)&silent, &bytes) < 0)
        bail_out("a silent listener");
    nobody_at(&b);
    addresses.items[0] = b.addresses.items[0];
    address_from_system((struct sockaddr *)&silent, &addresses.items[1]);
    start(&a, 1);
    start(&b, 2);
    addresses.items[2] = b.addresses.items[0];
    link_set_ops()->connect(a.links, 2, &addresses);
    run_until(a_and_b_up, "the third address is the right one");
    ok(loop_now_ns() - begin_ns < 2000000000, "and found soon");
    is_int(a.down[2], 0, "the others are not told");
    close(fd);
    stop_pair();
}

static int c_is_down_2(void)
{
    return c.down[2] > 0;
}

static void test_second_connection(void)
{
    start_pair();
    start(&c, 1);
    connect_to(&c, &b);
    run_until(c_is_down_2, "a second connection of a place is refused");
    is_int(c.why.code, -EEXIST, "with its code");
    has_string(c.why.text, "these places already have a link", "and its text");
    send_to(&a, 2, FRAME_CONTROL, 1, 10);
    wanted_frames = 1;
    run_until(b_has_frames, "the first goes on");
    is_int(a.down[2] + b.down[1], 0, "undisturbed");
    stop(&c);
    stop_pair();
}

static int b_has_new_incarnation(void)
{
    return b.incarnations[1] == 2;
}

static void test_new_incarnation(void)
{
    start_pair();
    start_full(&c, 1, 2, secret, "abc123");
    connect_to(&c, &b);
    run_until(b_has_new_incarnation, "a place that came back replaces its link");
    is_int(b.down[1], 1, "the old one is told down");
    has_string(b.why.text, "came back with incarnation 2", "with the reason");
    run_until(a_is_down, "and its other end notices");
    stop(&c);
    stop_pair();
}

static int b_frames_and_down(void)
{
    return b.frame_count >= wanted_frames && b.down[1] > 0;
}

static void test_close_flushes(void)
{
    start_pair();
    for (uint32_t i = 0; i < 10; i++)
        send_to(&a, 2, (uint8_t)(i % 3), i, 500000);
    link_set_ops()->close(a.links, 2);
    is_int(send_to(&a, 2, FRAME_CONTROL, 1, 10), -ENOTCONN, "a closed link takes nothing");
    wanted_frames = 10;
    run_until(b_frames_and_down, "what was queued before a close arrives");
    is_int(b.frame_count, 10, "all of it");
    is_int(b.why.code, -ESHUTDOWN, "the end is told as an orderly one");
    has_string(b.why.text, "the peer closed the link", "in words");
    is_int(a.down[2], 0, "the closing side is not told");
    connect_to(&a, &b);
    a.up[2] = 0;
    b.up[1] = 0;
    run_until(a_and_b_up, "a new link can be made at once");
    stop_pair();
}

static int a_finished;

static void on_finished(void *context)
{
    a_finished = 1;
    check();
}

static int finished(void)
{
    return a_finished && b.down[1] && b.frame_count == 1;
}

static void test_finish(void)
{
    start_pair();
    send_to(&a, 2, FRAME_BULK, 1, 1000000);
    a_finished = 0;
    link_set_finish(a.links, on_finished, NULL);
    run_until(finished, "a set that finishes writes everything and tells when");
    stop_pair();
}

static void test_close_in_upcall(void)
{
    start_pair();
    b.close_at_frame = 1;
    send_to(&a, 2, FRAME_CONTROL, 1, 10);
    send_to(&a, 2, FRAME_CONTROL, 2, 10);
    run_until(a_is_down, "a link closed inside an upcall");
    is_int(b.frame_count, 1, "tells no more frames");
    is_int(a.why.code, -ESHUTDOWN, "the other side is told");
    stop_pair();
}

/* A daemon that dies: place 2 in a child of its own. */
static void test_death(void)
{
    int fds[2];
    pid_t pid;
    uint64_t begin_ns;

    if (pipe(fds) < 0)
        bail_out("pipe");
    pid = fork();
    if (pid == 0) {
        loop = loop_create(NULL);
        patience = loop_timer_create(loop, on_patience, NULL);
        start(&b, 2);
        if (write(fds[1], &b.addresses, sizeof(b.addresses)) < 0)
            _exit(1);
        condition = b_is_down;
        loop_run(loop);
        _exit(0);
    }
    start(&a, 1);
    memset(&b, 0, sizeof(b));
    b.place = 2;
    if (read(fds[0], &b.addresses, sizeof(b.addresses)) != sizeof(b.addresses))
        bail_out("the child says nothing");
    connect_to(&a, &b);
    b.up[1] = 1;
    run_until(a_and_b_up, "a link to another process");
    begin_ns = loop_now_ns();
    kill(pid, SIGKILL);
    run_until(a_is_down, "is down when that is killed");
    ok(loop_now_ns() - begin_ns < 2000000000, "at once, not when a lease ends");
    has_string(a.why.text, "connection closed by peer", "with the reason");
    is_int(a.down[2], 1, "once");
    waitpid(pid, NULL, 0);
    close(fds[0]);
    close(fds[1]);
    stop(&a);
}

static int raw_connect(const struct address *address)
{
    struct sockaddr_storage system;
    socklen_t bytes;
    int fd;

    address_to_system(address, &system, &bytes);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&system, bytes) < 0)
        bail_out("a stranger cannot connect");
    return fd;
}

static int b_logged(void)
{
    return log_lines > 0;
}

static struct loop_timer *poll_timer;

static void on_poll(void *context)
{
    check();
    loop_timer_set(poll_timer, loop_now_ns() + 1000000);
}

static void test_garbage(void)
{
    int scanner;
    int talker;

    start_pair();
    scanner = raw_connect(&b.addresses.items[0]);
    close(scanner);
    talker = raw_connect(&b.addresses.items[0]);
    scanner = raw_connect(&b.addresses.items[0]);
    log_lines = 0;
    if (write(talker, "GET / HTTP/1.0\r\n\r\n", 18) != 18)
        bail_out("write");
    poll_timer = loop_timer_create(loop, on_poll, NULL);
    loop_timer_set(poll_timer, 0);
    run_until(b_logged, "a stranger that talks is refused");
    loop_timer_destroy(poll_timer);
    has_string(last_log, "127.0.0.1:", "and logged with its address");
    has_string(last_log, "does not speak our TLS", "and the reason");
    send_to(&a, 2, FRAME_CONTROL, 1, 10);
    wanted_frames = 1;
    run_until(b_has_frames, "the link beside it goes on");
    is_int(a.down[2] + b.down[1], 0, "undisturbed");
    close(talker);
    close(scanner);
    stop_pair();
}

#define STRANGERS 300

static void test_many_strangers(void)
{
    int fds[STRANGERS];

    start(&a, 1);
    start(&b, 2);
    for (int i = 0; i < STRANGERS; i++)
        fds[i] = raw_connect(&b.addresses.items[0]);
    connect_to(&a, &b);
    run_until(a_and_b_up, "a link comes up beside 300 silent strangers");
    for (int i = 0; i < STRANGERS; i++)
        close(fds[i]);
    stop_pair();
}

static int timer_told(void)
{
    return a.timer_count > 0;
}

static void test_timer(void)
{
    const struct transport_ops *ops = link_set_ops();
    uint64_t deadline_ns;

    start(&a, 1);
    deadline_ns = ops->now_ns(a.links) + 3000000;
    ops->timer(a.links, UINT64_MAX);
    ops->timer(a.links, deadline_ns);
    run_until(timer_told, "the timer of the overlay fires");
    ok(ops->now_ns(a.links) >= deadline_ns, "not before its time");
    is_int(a.timer_count, 1, "once");
    stop(&a);
}

static void sink(void *context, enum log_level level, const char *line)
{
    log_lines++;
    strncpy(last_log, line, sizeof(last_log) - 1);
}

int main(void)
{
    log_set_sink(sink, NULL, LOG_LEVEL_INFO);
    loop = loop_create(NULL);
    patience = loop_timer_create(loop, on_patience, NULL);
    test_frames();
    test_sizes();
    test_priority();
    test_late_priority();
    test_three();
    test_crossed();
    test_wrong_secret();
    test_wrong_session();
    test_wrong_place();
    test_refused();
    test_port_wished();
    test_several_addresses();
    test_second_connection();
    test_new_incarnation();
    test_close_flushes();
    test_finish();
    test_close_in_upcall();
    test_death();
    test_garbage();
    test_many_strangers();
    test_timer();
    loop_timer_destroy(patience);
    loop_destroy(loop);
    tls_stop();
    return done_testing();
}
