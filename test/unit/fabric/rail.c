/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two daemons' rails over real links and real endpoints of libfabric (tcp;ofi_rxm on loopback), in one
 * loop.  Between rail and endpoint stands a table of this test that can forge, repeat and stop
 * messages, as a stranger on the fabric or a broken one would.
 */
#include "config.h"

#include "fabric/rail.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "fabric/address.h"
#include "fabric/loop.h"
#include "fabric/tls.h"
#include "test/support/tap.h"

#define PATIENCE_NS (60ull * 1000 * 1000 * 1000)
#define PROVIDER    "tcp;ofi_rxm"
#define TYPE        20
#define PLACES      2

static const unsigned char secret[LINK_SECRET_BYTES] = "the secret of this test instance";

struct endpoint {
    uint32_t place;
    struct link_set *links;
    struct rail *rail;
    struct addresses addresses;
    int up;
    int down;
    struct error why;
    int frames[FRAME_CLASS_COUNT];
    uint32_t next[FRAME_CLASS_COUNT]; /* the stream number that must come next */
    int wrong;                        /* order, size or bytes */
    size_t bytes;
};

static struct loop *loop;
static struct loop_timer *patience;
static int timed_out;
static int (*condition)(void);
static struct endpoint nodes[PLACES];
static const struct ofi_table *real;
static struct ofi_table table; /* real, with what this test does to it */

/* What the test's table does. */
static struct {
    int forge;  /* send a forged copy of the next messages before each */
    int repeat; /* and the message once more after it */
    int stop;   /* take nothing */
    const struct ofi_events *events;
    int forged;
} trick;

/* ---- The table between ---- */

static void on_sent(void *context, void *user, int status)
{
    if (user != &trick)
        trick.events->sent(context, user, status);
}

static void on_received(void *context, const unsigned char *data, size_t bytes)
{
    trick.events->received(context, data, bytes);
}

static int open_between(const struct ofi_config *config, struct ofi **ret_ofi, struct error *error)
{
    static const struct ofi_events between = {.received = on_received, .sent = on_sent};
    struct ofi_config mine = *config;

    trick.events = config->events;
    mine.events = &between;
    return real->open(&mine, ret_ofi, error);
}

static int send_copy(struct ofi *ofi, uint64_t peer, const unsigned char *data, size_t bytes)
{
    unsigned char *out = real->buffer(ofi);

    if (out == NULL)
        return -EAGAIN;
    memcpy(out, data, bytes);
    return real->send(ofi, peer, bytes, &trick);
}

static int send_between(struct ofi *ofi, uint64_t peer, size_t bytes, void *user)
{
    unsigned char copy[OFI_MESSAGE_BYTES_MAX];
    unsigned char *out = real->buffer(ofi);
    int rc;

    if (trick.stop)
        return -EAGAIN;
    memcpy(copy, out, bytes);
    if (trick.forge > 0) {
        copy[bytes - 1 - (size_t)trick.forge] ^= 0x10; /* another byte each time */
        if (send_copy(ofi, peer, copy, bytes) == 0) {
            trick.forge--;
            trick.forged++;
        }
        copy[bytes - 1 - (size_t)trick.forge - 1] ^= 0x10;
        out = real->buffer(ofi);
        if (out == NULL)
            return -EAGAIN;
        memcpy(out, copy, bytes);
    }
    rc = real->send(ofi, peer, bytes, user);
    if (rc == 0 && trick.repeat > 0 && send_copy(ofi, peer, copy, bytes) == 0) {
        trick.repeat--;
        trick.forged++;
    }
    return rc;
}

/* ---- Nodes ---- */

static void check(void)
{
    if (condition != NULL && condition())
        loop_stop(loop);
}

static void on_up(void *context, uint32_t place, uint32_t incarnation)
{
    ((struct endpoint *)context)->up++;
    check();
}

static void on_down(void *context, uint32_t place, const struct error *why)
{
    struct endpoint *node = context;

    node->down++;
    node->why = *why;
    check();
}

static unsigned char byte_at(uint32_t stream, size_t at)
{
    return (unsigned char)(stream * 31 + at * 7 + at / 251);
}

/* The size of a frame goes with its number: none, small ones, and some of many chunks. */
static size_t size_of(uint32_t stream)
{
    static const size_t sizes[] = {0, 1, 64, 4000, 16300, 16384, 70000, 1000000};

    return sizes[stream % (sizeof(sizes) / sizeof(sizes[0]))];
}

static void on_frame(void *context, uint32_t place, const struct frame *frame)
{
    struct endpoint *node = context;
    size_t bytes = frame->payload != NULL ? frame->payload->length_bytes : 0;

    node->wrong += frame->type != TYPE || frame->stream != node->next[frame->class] ||
                   bytes != size_of(frame->stream);
    for (size_t i = 0; i < bytes; i++)
        node->wrong += frame->payload->data[i] != byte_at(frame->stream, i);
    node->next[frame->class] = frame->stream + 1;
    node->frames[frame->class]++;
    node->bytes += bytes;
    check();
}

static void on_timer(void *context)
{
}

static const struct transport_events events = {.up = on_up,
                                               .down = on_down,
                                               .frame = on_frame,
                                               .timer = on_timer};

static void start(struct endpoint *node, uint32_t place, uint32_t renew_after, uint64_t stuck_ns)
{
    struct rail_config config = {.loop = loop,
                                 .table = &table,
                                 .provider = PROVIDER,
                                 .node = "127.0.0.1",
                                 .place = place,
                                 .renew_after = renew_after,
                                 .stuck_ns = stuck_ns,
                                 .events = &events,
                                 .context = node};
    struct link_set_config links = {.loop = loop,
                                    .secret = secret,
                                    .session = "12ab",
                                    .place = place,
                                    .incarnation = 1,
                                    .events = rail_link_events()};
    struct error error = ERROR_NONE;

    memset(node, 0, sizeof(*node));
    node->place = place;
    if (rail_create(&config, &node->rail, &error) < 0)
        bail_out("%s", error.text);
    links.context = node->rail;
    links.listen_on.count = 1;
    if (address_parse("127.0.0.1", &links.listen_on.items[0], &error) < 0)
        bail_out("%s", error.text);
    node->links = link_set_create(&links, &error);
    if (node->links == NULL)
        bail_out("%s", error.text);
    rail_attach(node->rail, node->links);
    link_set_addresses(node->links, &node->addresses);
}

static void stop(struct endpoint *node)
{
    link_set_destroy(node->links);
    rail_destroy(node->rail);
    node->links = NULL;
    node->rail = NULL;
}

static void send_frame(struct endpoint *node, uint32_t to, uint8_t class, uint32_t stream)
{
    struct frame frame = {.type = TYPE, .class = class, .stream = stream};
    size_t bytes = size_of(stream);
    unsigned char *data = memory_allocate(bytes + 1);

    for (size_t i = 0; i < bytes; i++)
        data[i] = byte_at(stream, i);
    if (bytes > 0)
        frame.payload = message_create(data, bytes);
    free(data);
    rail_ops()->send(node->rail, to, &frame);
}

static void on_patience(void *context)
{
    timed_out = 1;
    loop_stop(loop);
}

static void on_look(void *context)
{
    check();
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

static int both_up(void)
{
    return nodes[0].up == 1 && nodes[1].up == 1;
}

static void connect_both(uint32_t renew_after, uint64_t stuck_ns, const char *what)
{
    memset(&trick, 0, sizeof(trick));
    start(&nodes[0], 0, renew_after, stuck_ns);
    start(&nodes[1], 1, renew_after, stuck_ns);
    rail_ops()->connect(nodes[1].rail, 0, &nodes[0].addresses);
    run_until(both_up, what);
}

/* ---- Tests ---- */

#define COUNT 24

static int all_there(void)
{
    for (int i = 0; i < PLACES; i++)
        for (int class = 0; class < FRAME_CLASS_COUNT; class ++)
            if (nodes[i].frames[class] < COUNT)
                return 0;
    return 1;
}

static void send_all(void)
{
    for (uint32_t stream = 0; stream < COUNT; stream++)
        for (uint8_t class = 0; class < FRAME_CLASS_COUNT; class ++) {
            send_frame(&nodes[0], 1, class, stream);
            send_frame(&nodes[1], 0, class, stream);
        }
}

static int rail_is_used(void)
{
    return rail_messages_sent(nodes[0].rail) > 0 && rail_messages_sent(nodes[1].rail) > 0;
}

static int is_quiet(void)
{
    return nodes[1].frames[FRAME_BULK] >= 2 * COUNT;
}

static void test_frames(void)
{
    uint64_t before;

    connect_both(0, 0, "two places with rails are linked");
    /* Sent at once: the first of them go by the link, the rest by the rail, in order. */
    send_all();
    run_until(all_there, "frames of all classes come both ways");
    is_int(nodes[0].wrong + nodes[1].wrong, 0, "each whole and in its order");
    for (int i = 0; i < PLACES; i++)
        memset(nodes[i].next, 0, sizeof(nodes[i].next));
    send_frame(&nodes[0], 1, FRAME_BULK, 0);
    send_frame(&nodes[1], 0, FRAME_BULK, 0);
    run_until(rail_is_used, "and then over the fabric");
    before = rail_messages_sent(nodes[0].rail);
    nodes[1].next[FRAME_CONTROL] = 3;
    send_frame(&nodes[0], 1, FRAME_CONTROL, 3);
    for (uint32_t stream = 1; stream < COUNT; stream++)
        send_frame(&nodes[0], 1, FRAME_BULK, stream);
    run_until(is_quiet, "bulk goes by rail");
    ok(rail_messages_sent(nodes[0].rail) >= before + COUNT - 1, "in messages of the fabric");
    is_int(nodes[0].wrong + nodes[1].wrong, 0, "whole and in order");
    is_int((long)rail_messages_refused(nodes[1].rail), 0, "none of them refused");
    stop(&nodes[0]);
    stop(&nodes[1]);
}

static uint32_t sent_to_b;

/* Sends one more each time it looks, until what is wanted has come by rail. */
static int more_by_rail(void)
{
    if (rail_messages_sent(nodes[0].rail) > 0)
        return 1;
    if (nodes[1].frames[FRAME_BULK] == (int)sent_to_b)
        send_frame(&nodes[0], 1, FRAME_BULK, sent_to_b++);
    return 0;
}

static void use_rail(void)
{
    sent_to_b = 0;
    run_until(more_by_rail, "the rail is in use");
}

static int has_come(void)
{
    return nodes[1].frames[FRAME_BULK] >= (int)sent_to_b;
}

static void send_some(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        send_frame(&nodes[0], 1, FRAME_BULK, sent_to_b++);
}

static void test_forged(void)
{
    connect_both(0, 0, "two places, and somebody who forges messages");
    use_rail();
    run_until(has_come, "what was sent has come");
    trick.forge = 8;
    trick.repeat = 8;
    send_some(40);
    run_until(has_come, "all frames come in spite of forged and repeated messages");
    is_int(nodes[1].wrong, 0, "whole and in order");
    is_int(trick.forged, 16, "16 messages were forged or repeated");
    is_int((long)rail_messages_refused(nodes[1].rail), 16, "and each was refused");
    is_int(nodes[0].down + nodes[1].down, 0, "the link is none the worse");
    stop(&nodes[0]);
    stop(&nodes[1]);
}

static void test_renewal(void)
{
    connect_both(3, 0, "two places that renew their keys every 3 messages");
    use_rail();
    send_some(64);
    run_until(has_come, "all frames come under many keys");
    is_int(nodes[1].wrong, 0, "whole and in order");
    ok(rail_messages_sent(nodes[0].rail) > 30, "with a new key every third message");
    is_int((long)rail_messages_refused(nodes[1].rail), 0, "none of them refused");
    stop(&nodes[0]);
    stop(&nodes[1]);
}

static int b_is_down(void)
{
    return nodes[1].down > 0;
}

static void test_close(void)
{
    connect_both(0, 0, "two places, of which one closes");
    use_rail();
    run_until(has_come, "what was sent has come");
    send_some(32);
    rail_ops()->close(nodes[0].rail, 1);
    run_until(b_is_down, "the other is told");
    is_int(nodes[1].frames[FRAME_BULK], (long)sent_to_b, "after everything that was sent before");
    is_int(nodes[1].wrong, 0, "whole and in order");
    is_int(nodes[1].why.code, -ESHUTDOWN, "and as an orderly end");
    is_int(nodes[0].down, 0, "who closes is told nothing");
    stop(&nodes[0]);
    stop(&nodes[1]);
}

static void test_death(void)
{
    connect_both(0, 0, "two places, of which one dies");
    use_rail();
    stop(&nodes[0]);
    run_until(b_is_down, "the other is told, though the fabric says nothing");
    stop(&nodes[1]);
}

static int a_is_down(void)
{
    return nodes[0].down > 0 && nodes[1].down > 0;
}

static void test_stuck(void)
{
    connect_both(0, 200ull * 1000 * 1000, "two places, and a fabric that stops");
    use_rail();
    run_until(has_come, "what was sent has come");
    trick.stop = 1;
    send_some(3);
    run_until(a_is_down, "the link is given up at both ends");
    is_int(nodes[0].why.code, -EHOSTUNREACH, "because of the fabric");
    diag("%s", nodes[0].why.text);
    stop(&nodes[0]);
    stop(&nodes[1]);
}

static long resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long all = 0, resident = 0;

    if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2)
        bail_out("no /proc/self/statm");
    fclose(file);
    return resident * 4096;
}

/* An endpoint in a process that has libfabric already: what each daemon pays beside the library. */
static void test_memory(void)
{
    struct endpoint alone[2];
    long before, after;

    start(&alone[0], 0, 0, 0);
    before = resident_bytes();
    start(&alone[1], 1, 0, 0);
    after = resident_bytes();
    diag("an endpoint takes %ld kB", (after - before) / 1024);
#ifdef BANYAN_SANITIZED
    skip(1, "a sanitizer has memory of its own");
#else
    ok(after - before <= 6L * 1024 * 1024, "an endpoint takes no more than 6 MB");
#endif
    stop(&alone[0]);
    stop(&alone[1]);
}

int main(void)
{
    const char *directory = getenv("BANYAN_PKGLIBDIR");
    struct error error = ERROR_NONE;
    char path[4096];
    void *handle;

    snprintf(path, sizeof(path), "%s/fabric_ofi.so", directory != NULL ? directory : PKGLIBDIR);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        skip_all("fabric_ofi.so is not built: %s", dlerror());
    real = dlsym(handle, "ofi_table");
    if (real == NULL || real->abi != OFI_ABI)
        bail_out("%s has no table of ours", path);
    table = *real;
    table.open = open_between;
    table.send = send_between;
    loop = loop_create(&error);
    patience = loop_timer_create(loop, on_patience, NULL);
    test_memory(); /* first: later there is free memory */
    test_frames();
    test_forged();
    test_renewal();
    test_close();
    test_death();
    test_stuck();
    loop_timer_destroy(patience);
    loop_destroy(loop);
    tls_stop();
    return done_testing();
}
