/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket layer against a scripted peer: each pair of bytes of an input is an operation, of ours
 * or of the peer, and how much of it.  A model of one sock is kept beside it: what is posted ends
 * exactly once, within its range and with the right bytes, and nothing comes after the close.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/sock.h"
#include "test/fuzz/fuzz.h"

#define BYTES_MAX   (64u * 1024) /* of one operation */
#define SCALE       257          /* from a byte of script to bytes of data */
#define STEPS_MAX   200
#define WAIT_AT_END 64

enum step {
    STEP_POST_READ,      /* all of it */
    STEP_POST_READ_SOME, /* at least one byte */
    STEP_POST_READV,
    STEP_POST_WRITE,
    STEP_POST_WRITE_SOME,
    STEP_POST_READABLE,
    STEP_READ,
    STEP_WRITE,
    STEP_SHUTDOWN,
    STEP_CLOSE,
    STEP_WAKEUP,
    STEP_WAIT,
    STEP_PEER_WRITE,
    STEP_PEER_READ,
    STEP_PEER_SHUTDOWN,
    STEP_PEER_CLOSE,
    STEP_COUNT
};

static struct banyan_sock_set *set;

/* What must be true of the sock. */
static struct {
    struct banyan_sock *sock; /* NULL once its close has been told */
    int peer_fd;              /* -1 once it is closed */
    int closing;
    int is_input_posted;
    int is_posting; /* input, at this moment */
    enum banyan_sock_operation input;
    size_t input_minimum;
    size_t input_maximum;
    size_t input_seen; /* by updates */
    int is_output_posted;
    size_t output_minimum;
    size_t output_maximum;
    uint64_t read_bytes;       /* that came to us, for the pattern */
    uint64_t written_bytes;    /* that left us */
    uint64_t peer_wrote_bytes; /* that the peer sent */
    uint64_t peer_read_bytes;
} model;

static unsigned char in_data[BYTES_MAX];
static unsigned char out_data[BYTES_MAX];
static unsigned char peer_data[BYTES_MAX];

static unsigned char pattern(uint64_t at)
{
    return (unsigned char)(at * 7 + (at >> 8));
}

static void fill(unsigned char *data, size_t bytes, uint64_t from)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = pattern(from + i);
}

static void check_pattern(const unsigned char *data, size_t bytes, uint64_t *position)
{
    for (size_t i = 0; i < bytes; i++)
        assert(data[i] == pattern(*position + i));
    *position += bytes;
}

static void on_update(void *user, size_t bytes)
{
    assert((model.is_input_posted || model.is_posting) && bytes > model.input_seen &&
           bytes < model.input_minimum);
    model.input_seen = bytes;
}

/* ---- Events ---- */

static void take_input(const struct banyan_sock_event *event)
{
    assert(model.is_input_posted && event->operation == model.input);
    model.is_input_posted = 0;
    if (event->operation != BANYAN_SOCK_READ)
        return;
    assert(event->bytes <= model.input_maximum);
    if (event->status == BANYAN_SOCK_OK)
        assert(event->bytes >= model.input_minimum);
    check_pattern(in_data, event->bytes, &model.read_bytes);
    assert(model.read_bytes <= model.peer_wrote_bytes);
}

static void take_event(const struct banyan_sock_event *event)
{
    if (event->operation == BANYAN_SOCK_WAKEUP)
        return;
    assert(model.sock != NULL && event->sock == model.sock && event->user == &model);
    if (event->status == BANYAN_SOCK_INTERRUPTED)
        assert(model.closing);
    if (event->operation == BANYAN_SOCK_CLOSE) {
        assert(model.closing && !model.is_input_posted && !model.is_output_posted);
        model.sock = NULL;
    } else if (event->operation == BANYAN_SOCK_WRITE) {
        assert(model.is_output_posted && event->bytes <= model.output_maximum);
        assert(event->status != BANYAN_SOCK_OK || event->bytes >= model.output_minimum);
        model.is_output_posted = 0;
        model.written_bytes += event->bytes;
    } else {
        take_input(event);
    }
}

static int take_all(void)
{
    struct banyan_sock_event event;
    int count = 0;

    while (banyan_sock_set_wait(set, 0, &event) == 1) {
        take_event(&event);
        count++;
    }
    return count;
}

/* ---- Steps of ours ---- */

/* What a call must answer before anything is tried. */
static int expected(int is_posted)
{
    if (model.closing)
        return -ESHUTDOWN;
    return is_posted ? -EBUSY : 0;
}

static void post_input(enum banyan_sock_operation kind, size_t minimum, size_t bytes, int pieces)
{
    struct iovec vectors[3];
    size_t third = bytes / 3;
    int rc;

    for (int i = 0; i < 3; i++)
        vectors[i] = (struct iovec){.iov_base = in_data + (size_t)i * third,
                                    .iov_len = i < 2 ? third : bytes - 2 * third};
    model.is_posting = !model.is_input_posted;
    if (model.is_posting) {
        model.input = kind;
        model.input_minimum = minimum;
        model.input_maximum = bytes;
        model.input_seen = 0;
    }
    if (kind == BANYAN_SOCK_READABLE)
        rc = banyan_sock_post_readable(model.sock);
    else if (pieces > 1)
        rc = banyan_sock_post_readv(model.sock, vectors, 3, minimum, on_update);
    else
        rc = banyan_sock_post_read(model.sock, in_data, minimum, bytes, on_update);
    model.is_posting = 0;
    if (kind == BANYAN_SOCK_READ && (bytes == 0 || minimum > bytes)) {
        assert(rc == -EINVAL);
        return;
    }
    assert(rc == expected(model.is_input_posted));
    if (rc == 0)
        model.is_input_posted = 1;
}

static void post_output(size_t minimum, size_t bytes)
{
    int rc;

    /* What is posted is lent: it must not be touched. */
    if (!model.is_output_posted)
        fill(out_data, bytes, model.written_bytes);
    rc = banyan_sock_post_write(model.sock, out_data, minimum, bytes, NULL);
    if (bytes == 0 || minimum > bytes) {
        assert(rc == -EINVAL);
        return;
    }
    assert(rc == expected(model.is_output_posted));
    if (rc < 0)
        return;
    model.is_output_posted = 1;
    model.output_minimum = minimum;
    model.output_maximum = bytes;
}

static void read_now(size_t bytes)
{
    size_t got = SIZE_MAX;
    int is_posted = model.is_input_posted;
    int rc = banyan_sock_read(model.sock, peer_data, bytes, &got);

    if (bytes == 0)
        assert(rc == -EINVAL);
    else if (expected(is_posted) < 0)
        assert(rc == expected(is_posted));
    else if (rc == 0) {
        assert(got > 0 && got <= bytes);
        check_pattern(peer_data, got, &model.read_bytes);
    }
}

static void write_now(size_t bytes)
{
    size_t got = 0;
    int rc;

    if (!model.is_output_posted)
        fill(out_data, bytes, model.written_bytes);
    rc = banyan_sock_write(model.sock, out_data, bytes, &got);
    if (bytes == 0)
        assert(rc == -EINVAL);
    else if (expected(model.is_output_posted) < 0)
        assert(rc == expected(model.is_output_posted));
    else if (rc == 0)
        model.written_bytes += got;
}

static void close_sock(void)
{
    int rc = banyan_sock_post_close(model.sock);

    assert(rc == (model.closing ? -ESHUTDOWN : 0));
    model.closing = 1;
}

/* ---- Steps of the peer ---- */

static void peer_write(size_t bytes)
{
    ssize_t sent;

    fill(peer_data, bytes, model.peer_wrote_bytes);
    sent = send(model.peer_fd, peer_data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0)
        model.peer_wrote_bytes += (uint64_t)sent;
}

static void peer_read(size_t bytes)
{
    ssize_t got = recv(model.peer_fd, peer_data, bytes, MSG_DONTWAIT);

    if (got > 0)
        check_pattern(peer_data, (size_t)got, &model.peer_read_bytes);
}

static void run_peer(enum step step, size_t bytes)
{
    if (model.peer_fd < 0)
        return;
    if (step == STEP_PEER_WRITE) {
        peer_write(bytes);
    } else if (step == STEP_PEER_READ) {
        peer_read(bytes);
    } else if (step == STEP_PEER_SHUTDOWN) {
        shutdown(model.peer_fd, SHUT_WR);
    } else {
        close(model.peer_fd);
        model.peer_fd = -1;
    }
}

static void run_step(enum step step, size_t bytes)
{
    if (step >= STEP_PEER_WRITE)
        run_peer(step, bytes);
    else if (step == STEP_WAKEUP)
        banyan_sock_set_wakeup(set);
    else if (step == STEP_WAIT || model.sock == NULL)
        take_all();
    else if (step == STEP_POST_READ || step == STEP_POST_READ_SOME || step == STEP_POST_READV)
        post_input(BANYAN_SOCK_READ, step == STEP_POST_READ_SOME ? 1 : bytes, bytes,
                   step == STEP_POST_READV ? 3 : 1);
    else if (step == STEP_POST_READABLE)
        post_input(BANYAN_SOCK_READABLE, 0, 0, 0);
    else if (step == STEP_POST_WRITE || step == STEP_POST_WRITE_SOME)
        post_output(step == STEP_POST_WRITE ? bytes : 1, bytes);
    else if (step == STEP_READ)
        read_now(bytes);
    else if (step == STEP_WRITE)
        write_now(bytes);
    else if (step == STEP_SHUTDOWN)
        (void)banyan_sock_shutdown_write(model.sock);
    else
        close_sock();
}

static void open_sock(void)
{
    int fds[2];

    if (set == NULL && banyan_sock_set_create(&set, NULL) < 0)
        abort();
    memset(&model, 0, sizeof(model));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
        banyan_sock_adopt(set, fds[0], &model, &model.sock, NULL) < 0)
        abort();
    model.peer_fd = fds[1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    int rounds = 0;

    if (data_bytes > 2 * STEPS_MAX)
        data_bytes = 2 * STEPS_MAX;
    open_sock();
    for (size_t i = 0; i + 1 < data_bytes; i += 2) {
        run_step((enum step)(data[i] % STEP_COUNT), (size_t)data[i + 1] * SCALE % BYTES_MAX);
    }
    if (model.peer_fd >= 0)
        close(model.peer_fd);
    model.peer_fd = -1;
    if (model.sock != NULL && !model.closing)
        close_sock();
    while (model.sock != NULL && rounds++ < WAIT_AT_END)
        take_all();
    assert(model.sock == NULL);
    assert(take_all() <= 1); /* a wake-up */
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const uint8_t scripts[][16] = {
        {STEP_POST_READ, 4, STEP_PEER_WRITE, 2, STEP_WAIT, 0, STEP_PEER_WRITE, 2, STEP_WAIT, 0},
        {STEP_POST_WRITE, 200, STEP_WAIT, 0, STEP_PEER_READ, 255, STEP_WAIT, 0, STEP_CLOSE, 0},
        {STEP_POST_READ, 255, STEP_POST_WRITE, 255, STEP_CLOSE, 0, STEP_POST_READ, 1},
        {STEP_PEER_WRITE, 9, STEP_PEER_CLOSE, 0, STEP_POST_READABLE, 0, STEP_WAIT, 0, STEP_READ,
         99},
        {STEP_POST_READV, 9, STEP_PEER_WRITE, 3, STEP_WAIT, 0, STEP_PEER_SHUTDOWN, 0, STEP_WAIT, 0},
        {STEP_WRITE, 255, STEP_WRITE, 255, STEP_POST_WRITE_SOME, 9, STEP_SHUTDOWN, 0, STEP_WAIT, 0},
    };

    if (number >= sizeof(scripts) / sizeof(scripts[0]) || buffer_bytes < sizeof(scripts[0]))
        return 0;
    memcpy(buffer, scripts[number], sizeof(scripts[0]));
    return sizeof(scripts[0]);
}
