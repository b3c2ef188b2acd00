/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a flood may do to others: two link sets in one process and one loop, as two daemons.  Delays
 * are counted in bytes of bulk that arrive in between and in CPU time of this process, which does the
 * work of both ends, so that what else runs on the machine changes nothing.
 */
#include "config.h"

#include "fabric/link_set.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/message.h"
#include "fabric/address.h"
#include "fabric/link.h"
#include "fabric/loop.h"
#include "fabric/tls.h"
#include "test/support/tap.h"

#define PATIENCE_NS   (60ull * 1000 * 1000 * 1000)
#define TYPE          20
#define CONTROLS      500
#define CONTROL_NS    1000000ull /* between two of them */
#define FLOOD_FRAMES  64         /* always queued: 4 MiB */
#define STALLED_BYTES (1024 * 1024)

static const unsigned char secret[LINK_SECRET_BYTES] = "the secret of this test instance";
static struct loop *loop;
static struct loop_timer *patience;
static struct link_set *near;
static struct link_set *far;
static struct message *chunk;
static uint8_t flood_class;
static int ups;
static struct error why;
static int downs;

static uint64_t flood_bytes;   /* that have arrived */
static uint64_t sent_at_bytes; /* what had arrived when the control frame was sent */
static uint64_t sent_at_ns;    /* of CPU time */
static uint64_t waited_ns[CONTROLS];
static uint64_t waited_bytes_max;
static int controls;
static struct loop_timer *ticker;

static uint64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void on_patience(void *context)
{
    bail_out("nothing happens any more");
}

static void on_up(void *context, uint32_t place, uint32_t incarnation)
{
    if (++ups == 2)
        loop_stop(loop);
}

static void on_down(void *context, uint32_t place, const struct error *error)
{
    downs++;
    why = *error;
    loop_stop(loop);
}

static void send_frame(struct link_set *from, uint32_t place, uint8_t class,
                       struct message *payload)
{
    struct frame frame = {.type = TYPE, .class = class, .payload = message_reference(payload)};

    link_set_ops()->send(from, place, &frame);
}

static void on_frame(void *context, uint32_t place, const struct frame *frame)
{
    if (frame->class != FRAME_CONTROL) {
        flood_bytes += frame->payload->length_bytes;
        if (controls < CONTROLS)
            send_frame(near, 2, flood_class, chunk);
        return;
    }
    waited_ns[controls] = cpu_ns() - sent_at_ns;
    if (flood_bytes - sent_at_bytes > waited_bytes_max)
        waited_bytes_max = flood_bytes - sent_at_bytes;
    controls++;
    if (controls == CONTROLS)
        loop_stop(loop);
    else
        loop_timer_set(ticker, loop_now_ns() + CONTROL_NS);
}

static void on_ticker(void *context)
{
    sent_at_bytes = flood_bytes;
    sent_at_ns = cpu_ns();
    send_frame(near, 2, FRAME_CONTROL, NULL);
}

static void on_timer(void *context)
{
}

static struct link_set *start(uint32_t place, struct addresses *ret_addresses)
{
    static const struct transport_events events = {
        .up = on_up, .down = on_down, .frame = on_frame, .timer = on_timer};
    struct error error = ERROR_NONE;
    struct link_set_config config = {.loop = loop,
                                     .secret = secret,
                                     .session = "abc123",
                                     .place = place,
                                     .incarnation = 1,
                                     .listen_on = {.count = 1},
                                     .events = &events};
    struct link_set *set;

    address_parse("127.0.0.1", &config.listen_on.items[0], NULL);
    set = link_set_create(&config, &error);
    if (set == NULL)
        bail_out("%s", error.text);
    link_set_addresses(set, ret_addresses);
    return set;
}

static void test_secret(void)
{
    unsigned char copy[LINK_SECRET_BYTES] = {0};
    struct addresses addresses;

    near = start(1, &addresses);
    link_set_copy_secret(near, copy);
    is_bytes(copy, sizeof(copy), secret, LINK_SECRET_BYTES, "it has the secret for others");
    link_set_destroy(near);
}

static void run(void)
{
    loop_timer_set(patience, loop_now_ns() + PATIENCE_NS);
    loop_run(loop);
    loop_timer_cancel(patience);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *first = a;
    const uint64_t *second = b;

    return *first < *second ? -1 : *first > *second;
}

static void test_flood(uint8_t class, const char *name, uint32_t window_bytes)
{
    struct addresses addresses;

    ups = 0;
    controls = 0;
    waited_bytes_max = 0;
    flood_class = class;
    near = start(1, &addresses);
    far = start(2, &addresses);
    link_set_ops()->connect(near, 2, &addresses);
    run();
    for (int i = 0; i < FLOOD_FRAMES; i++)
        send_frame(near, 2, class, chunk);
    loop_timer_set(ticker, loop_now_ns() + CONTROL_NS);
    run();
    qsort(waited_ns, CONTROLS, sizeof(*waited_ns), compare);
    diag("%s: %llu MiB beside %d control frames, which waited %llu us of CPU time in the median, "
         "%llu at p99, for %llu KiB at most",
         name, (unsigned long long)(flood_bytes >> 20), CONTROLS,
         (unsigned long long)waited_ns[CONTROLS / 2] / 1000,
         (unsigned long long)waited_ns[CONTROLS * 99 / 100] / 1000,
         (unsigned long long)(waited_bytes_max >> 10));
    ok(waited_bytes_max <= window_bytes + LINK_CHUNK_BYTES,
       "beside a flood of %s a control frame waits for a window and a chunk at most", name);
    ok(flood_bytes > 8ull * CONTROLS * LINK_CHUNK_BYTES / 4, "and it was a flood");
    link_set_destroy(near);
    link_set_destroy(far);
    flood_bytes = 0;
}

/* ---- A peer that takes nothing ---- */

static void stalled_child(int fd)
{
    struct addresses addresses;

    loop = loop_create(NULL);
    ups = 1;
    far = start(2, &addresses);
    if (write(fd, &addresses, sizeof(addresses)) < 0)
        _exit(1);
    loop_run(loop); /* until it is up */
    (void)raise(SIGSTOP);
    _exit(0);
}

static struct loop_timer *more;
static struct message *stalled_payload;
static size_t stalled_bytes;

/* A little in each turn, so that the link can find out. */
static void on_more(void *context)
{
    for (int i = 0; i < 16; i++)
        send_frame(near, 2, FRAME_BULK, stalled_payload);
    stalled_bytes += 16 * STALLED_BYTES;
    loop_timer_set(more, loop_now_ns());
}

/* All of it is one payload, so that only the account is full, not the machine. */
static void test_stalled(void)
{
    struct addresses addresses;
    struct addresses own;
    int fds[2];
    pid_t pid;

    more = loop_timer_create(loop, on_more, NULL);
    if (pipe(fds) < 0)
        bail_out("pipe");
    pid = fork();
    if (pid == 0)
        stalled_child(fds[1]);
    if (read(fds[0], &addresses, sizeof(addresses)) != sizeof(addresses))
        bail_out("the child says nothing");
    stalled_payload = memory_allocate_zeroed(sizeof(*stalled_payload) + STALLED_BYTES);
    stalled_payload->references = 1;
    stalled_payload->length_bytes = STALLED_BYTES;
    ups = 1;
    near = start(1, &own);
    link_set_ops()->connect(near, 2, &addresses);
    run();
    waitpid(pid, NULL, WUNTRACED);
    loop_timer_set(more, loop_now_ns());
    run();
    is_int(downs, 1, "a peer that takes nothing is given up");
    is_int(why.code, -ENOBUFS, "with its code");
    has_string(why.text, "reads too slowly", "and the reason");
    has_string(why.text, "256 of bulk frames are queued", "and how much waits");
    ok(stalled_bytes <= LINK_BULK_QUEUE_BYTES_MAX + 32 * STALLED_BYTES,
       "as soon as that is above its limit: %zu MiB", stalled_bytes >> 20);
    loop_timer_destroy(more);
    link_set_destroy(near);
    message_release(stalled_payload);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    log_set_sink(NULL, NULL, LOG_LEVEL_ERROR);
    loop = loop_create(NULL);
    patience = loop_timer_create(loop, on_patience, NULL);
    ticker = loop_timer_create(loop, on_ticker, NULL);
    chunk = memory_allocate_zeroed(sizeof(*chunk) + LINK_CHUNK_BYTES);
    chunk->references = 1;
    chunk->length_bytes = LINK_CHUNK_BYTES;
    test_secret();
    test_flood(FRAME_BULK, "bulk", LINK_BULK_WINDOW_BYTES);
    test_flood(FRAME_COLLECTIVE, "collective frames", LINK_COLLECTIVE_WINDOW_BYTES);
    test_stalled();
    message_release(chunk);
    loop_timer_destroy(ticker);
    loop_timer_destroy(patience);
    loop_destroy(loop);
    tls_stop();
    return done_testing();
}
