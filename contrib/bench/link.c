/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What links cost, between two processes of this machine:
 *
 *     link [ping | frames | bandwidth | handshakes]
 *
 *     ping        a byte there and back over a TLS link, waiting in the loop, and over a bare TCP
 *                 connection with epoll, in turns; ns of each and their ratio (bar: 1.4)
 *     frames      CPU of one end for each further frame in a write, sent and received; and for a
 *                 process to sleep and wake up, beyond the system calls that it waits in
 *     bandwidth   messages of 1 MiB over one TLS link (bar: 1 GB/s)
 *     handshakes  strangers that become links, as fast as one daemon takes them, by the clock and by
 *                 its own CPU time (bar: 5,000 a second)
 *
 * On a busy machine the ratio and the CPU time still mean something, the others do not.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/buffer.h"
#include "base/message.h"
#include "contrib/bench/measure.h"
#include "fabric/address.h"
#include "fabric/frame_wire.h"
#include "fabric/link.h"
#include "fabric/link_set.h"
#include "fabric/link_wire.h"
#include "fabric/loop.h"
#include "fabric/tls.h"

#define SESSION         "be9c4"
#define TYPE            20
#define BLOCKS          41 /* of each kind, in turns */
#define ROUNDS          400
#define BURST_FRAMES    33
#define FRAME_BYTES     64
#define MESSAGE_BYTES   (1024 * 1024)
#define MESSAGES        2048
#define MESSAGES_QUEUED 16
#define HANDSHAKES      4000
#define CLIENTS         16 /* at once */

static const unsigned char secret[LINK_SECRET_BYTES] = "the secret of this bench";
static struct loop *loop;
static struct link_set *links;
static uint32_t peer; /* the other place */

static void die(const char *what)
{
    fprintf(stderr, "link: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct message *message_of(size_t bytes)
{
    struct message *message = memory_allocate_zeroed(sizeof(*message) + bytes);

    message->references = 1;
    message->length_bytes = bytes;
    return message;
}

/* ---- A place ---- */

/* What a place does with a frame; set before it starts. */
static void (*take)(const struct frame *frame);
static int rounds_left; /* until the place is done */

static void on_up(void *context, uint32_t place, uint32_t incarnation)
{
    loop_stop(loop);
}

/* At the end; before it the links have failed. */
static void on_down(void *context, uint32_t place, const struct error *why)
{
    if (take == NULL || rounds_left > 0) {
        fprintf(stderr, "link: %s\n", why->text);
        exit(1);
    }
    loop_stop(loop);
}

static void on_frame(void *context, uint32_t place, const struct frame *frame)
{
    if (take != NULL)
        take(frame);
}

static void on_timer(void *context)
{
}

static void open_place(uint32_t place, struct addresses *ret_addresses)
{
    static const struct transport_events events = {
        .up = on_up, .down = on_down, .frame = on_frame, .timer = on_timer};
    struct error error = ERROR_NONE;
    struct link_set_config config = {.secret = secret,
                                     .session = SESSION,
                                     .place = place,
                                     .incarnation = 1,
                                     .listen_on = {.count = 1},
                                     .events = &events};

    loop = loop_create(&error);
    config.loop = loop;
    address_parse("127.0.0.1", &config.listen_on.items[0], NULL);
    links = loop != NULL ? link_set_create(&config, &error) : NULL;
    if (links == NULL)
        die(error.text);
    link_set_addresses(links, ret_addresses);
}

static void close_place(void)
{
    link_set_destroy(links);
    loop_destroy(loop);
    tls_stop();
}

static void send_one(uint8_t class, struct message *payload)
{
    struct frame frame = {.type = TYPE, .class = class, .payload = message_reference(payload)};

    link_set_ops()->send(links, peer, &frame);
}

/* ---- The bare connection ---- */

static int bare_fd;
static int epoll_fd;

static void open_bare(int fd)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    int one = 1;

    bare_fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    epoll_fd = epoll_create1(0);
    if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        die("epoll");
}

/* Waits for a byte as a loop would: reads when epoll says so. */
static char bare_receive(void)
{
    struct epoll_event event;
    char byte;

    for (;;) {
        ssize_t bytes = read(bare_fd, &byte, 1);
        if (bytes == 1)
            return byte;
        if (bytes == 0 || errno != EAGAIN)
            die("the bare connection has ended");
        epoll_wait(epoll_fd, &event, 1, -1);
    }
}

static void bare_send(char byte)
{
    if (write(bare_fd, &byte, 1) != 1)
        die("write");
}

/* ---- Ping ---- */

static struct message *ball;

static void echo(const struct frame *frame)
{
    send_one(FRAME_CONTROL, frame->payload);
    if (--rounds_left == 0)
        loop_stop(loop);
}

static void bounce(const struct frame *frame)
{
    if (--rounds_left == 0)
        loop_stop(loop);
    else
        send_one(FRAME_CONTROL, ball);
}

static void ping_child(void)
{
    take = echo;
    for (int block = 0; block < BLOCKS; block++) {
        for (int i = 0; i < ROUNDS; i++)
            bare_send(bare_receive());
        rounds_left = ROUNDS;
        loop_run(loop);
    }
    loop_run(loop); /* until the parent has gone */
}

static void ping_parent(void)
{
    static uint64_t bare_ns[BLOCKS];
    static uint64_t link_ns[BLOCKS];
    uint64_t bare;
    uint64_t tls;

    take = bounce;
    ball = message_of(1);
    for (int block = 0; block < BLOCKS; block++) {
        uint64_t begin_ns = now_ns();
        for (int i = 0; i < ROUNDS; i++) {
            bare_send('x');
            (void)bare_receive();
        }
        bare_ns[block] = (now_ns() - begin_ns) / ROUNDS;
        begin_ns = now_ns();
        rounds_left = ROUNDS;
        send_one(FRAME_CONTROL, ball);
        loop_run(loop);
        link_ns[block] = (now_ns() - begin_ns) / ROUNDS;
    }
    bare = median(bare_ns, BLOCKS);
    tls = median(link_ns, BLOCKS);
    printf("ping\tbare %llu ns\tlink %llu ns\tratio %.2f (bar 1.4)\n", (unsigned long long)bare,
           (unsigned long long)tls, (double)tls / (double)bare);
    message_release(ball);
}

/* ---- Frames ---- */

static int burst; /* frames there, and as many back */
static int burst_left;

static void send_burst(void)
{
    burst_left = burst;
    for (int i = 0; i < burst; i++)
        send_one(FRAME_CONTROL, ball);
}

static void echo_burst(const struct frame *frame)
{
    (void)frame;
    if (--burst_left > 0)
        return;
    send_burst();
    if (--rounds_left == 0)
        loop_stop(loop);
}

static void bounce_burst(const struct frame *frame)
{
    (void)frame;
    if (--burst_left > 0)
        return;
    if (--rounds_left == 0)
        loop_stop(loop);
    else
        send_burst();
}

static int burst_of(int block)
{
    return block % 2 == 0 ? 1 : BURST_FRAMES;
}

static void frames_child(void)
{
    take = echo_burst;
    ball = message_of(FRAME_BYTES);
    for (int block = 0; block < BLOCKS; block++) {
        rounds_left = ROUNDS;
        burst_left = burst = burst_of(block);
        loop_run(loop);
    }
    loop_run(loop); /* until the parent has gone */
    message_release(ball);
}

/* CPU of this process for a byte there and one back. */
static uint64_t pipe_ns(int out[2], int in[2])
{
    uint64_t begin_ns = cpu_ns();
    char byte = 'x';

    for (int i = 0; i < ROUNDS; i++)
        if (write(out[1], &byte, 1) != 1 || read(in[0], &byte, 1) != 1)
            die("a pipe");
    return (cpu_ns() - begin_ns) / ROUNDS;
}

/* To sleep and be woken up, less a write and a read that do not. */
static uint64_t wake_ns(void)
{
    uint64_t slept_ns[BLOCKS];
    uint64_t awake_ns[BLOCKS];
    int there[2];
    int back[2];
    char byte;
    pid_t child;

    if (pipe(there) < 0 || pipe(back) < 0)
        die("pipe");
    child = fork();
    if (child == 0) {
        close(there[1]);
        while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
            continue;
        _exit(0);
    }
    for (int block = 0; block < BLOCKS; block++) {
        slept_ns[block] = pipe_ns(there, back);
        awake_ns[block] = pipe_ns(back, back);
    }
    close(there[1]);
    (void)waitpid(child, NULL, 0);
    close(there[0]);
    close(back[0]);
    close(back[1]);
    return median(slept_ns, BLOCKS) - median(awake_ns, BLOCKS);
}

static void frames_parent(void)
{
    static uint64_t one_ns[BLOCKS];
    static uint64_t many_ns[BLOCKS];
    uint64_t extra_ns;

    take = bounce_burst;
    ball = message_of(FRAME_BYTES);
    for (int block = 0; block < BLOCKS; block++) {
        uint64_t begin_ns = cpu_ns();

        rounds_left = ROUNDS;
        burst = burst_of(block);
        send_burst();
        loop_run(loop);
        (block % 2 == 0 ? one_ns : many_ns)[block / 2] = (cpu_ns() - begin_ns) / ROUNDS;
    }
    extra_ns = median(many_ns, BLOCKS / 2) - median(one_ns, BLOCKS / 2);
    printf("frames\t%llu ns of CPU a frame\t%llu ns to wake up\n",
           (unsigned long long)(extra_ns / (BURST_FRAMES - 1)), (unsigned long long)wake_ns());
    message_release(ball);
}

/* ---- Bandwidth ---- */

static void count_down(const struct frame *frame)
{
    if (--rounds_left == 0)
        send_one(FRAME_CONTROL, NULL);
    else if (rounds_left % 4 == 0)
        send_one(FRAME_CONTROL, NULL);
}

static void bandwidth_child(void)
{
    take = count_down;
    rounds_left = MESSAGES;
    loop_run(loop); /* until the parent has gone */
}

static int messages_sent;

static void send_more(const struct frame *frame)
{
    rounds_left -= 4;
    for (int i = 0; i < 4 && messages_sent < MESSAGES; i++, messages_sent++)
        send_one(FRAME_BULK, ball);
    if (rounds_left == 0)
        loop_stop(loop);
}

static void bandwidth_parent(void)
{
    uint64_t begin_ns = now_ns();
    double seconds;

    take = send_more;
    ball = message_of(MESSAGE_BYTES);
    rounds_left = MESSAGES;
    for (messages_sent = 0; messages_sent < MESSAGES_QUEUED; messages_sent++)
        send_one(FRAME_BULK, ball);
    loop_run(loop);
    seconds = (double)(now_ns() - begin_ns) / 1e9;
    printf("bandwidth\t%.2f GB/s (bar 1.0)\n", (double)MESSAGES * MESSAGE_BYTES / seconds / 1e9);
    message_release(ball);
}

/* ---- Handshakes ---- */

/* One stranger that becomes a link, by hand: blocking sockets, several under way. */
struct client {
    int fd;
    struct tls *tls;
    struct buffer output;
};

static void client_flush(struct client *client)
{
    if (client->output.length_bytes > 0 &&
        send(client->fd, client->output.data, client->output.length_bytes, MSG_NOSIGNAL) < 0)
        die("send");
    buffer_clear(&client->output);
}

static void client_open(struct client *client, const struct address *address, uint32_t place)
{
    char identity[TLS_IDENTITY_BYTES_MAX + 1];
    unsigned char key[TLS_KEY_BYTES];
    struct sockaddr_storage system;
    struct error error;
    socklen_t bytes;

    address_to_system(address, &system, &bytes);
    snprintf(identity, sizeof(identity), SESSION "/%u/1/1", place);
    *client = (struct client){.fd = socket(AF_INET, SOCK_STREAM, 0)};
    if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&system, bytes) < 0)
        die("connect");
    tls_derive_key(secret, sizeof(secret), identity, key);
    client->tls = tls_create_client(identity, key, &error);
    tls_output(client->tls, &client->output);
    (void)tls_handshake(client->tls, &error);
    client_flush(client);
}

static void client_greet(struct client *client, uint32_t place)
{
    struct message *hello = link_hello_encode(LINK_PROTOCOL_VERSION, place, 1);
    struct frame_header header = {.type = LINK_HELLO, .class = FRAME_CONTROL, .sequence = 1};
    unsigned char bytes[FRAME_HEADER_BYTES];

    header.length_bytes = (uint32_t)(FRAME_HEADER_BYTES + hello->length_bytes);
    frame_encode(&header, bytes);
    tls_write(client->tls, bytes, sizeof(bytes));
    tls_write(client->tls, hello->data, hello->length_bytes);
    message_release(hello);
    client_flush(client);
}

/* Until the daemon's HELLO has come: it is a link then. */
static void client_finish(struct client *client, uint32_t place)
{
    static unsigned char input[65536];
    static unsigned char plain[TLS_RECORD_BYTES_MAX];
    struct error error;
    size_t got;

    for (int greeted = 0;;) {
        ssize_t bytes = recv(client->fd, input, sizeof(input), 0);
        if (bytes <= 0)
            die("a handshake was refused");
        tls_input(client->tls, input, (size_t)bytes);
        if (!greeted && tls_handshake(client->tls, &error) == 0) {
            client_greet(client, place);
            greeted = 1;
        }
        if (greeted && tls_read(client->tls, plain, sizeof(plain), &got) == 0)
            break;
    }
    close(client->fd);
    tls_destroy(client->tls);
    buffer_fini(&client->output);
}

static int downs_left;

static void on_each_up(void *context, uint32_t place, uint32_t incarnation)
{
}

static void on_each_down(void *context, uint32_t place, const struct error *why)
{
    if (--downs_left == 0)
        loop_stop(loop);
}

static void handshakes_child(int fd)
{
    static const struct transport_events events = {
        .up = on_each_up, .down = on_each_down, .frame = on_frame, .timer = on_timer};
    struct link_set_config config = {.secret = secret,
                                     .session = SESSION,
                                     .place = 1,
                                     .incarnation = 1,
                                     .listen_on = {.count = 1},
                                     .events = &events};
    struct addresses addresses;
    struct rusage usage;

    loop = loop_create(NULL);
    config.loop = loop;
    address_parse("127.0.0.1", &config.listen_on.items[0], NULL);
    links = link_set_create(&config, NULL);
    link_set_addresses(links, &addresses);
    downs_left = HANDSHAKES;
    if (write(fd, &addresses, sizeof(addresses)) < 0)
        die("write");
    loop_run(loop);
    getrusage(RUSAGE_SELF, &usage);
    if (write(fd, &usage, sizeof(usage)) < 0)
        die("write");
    close_place();
}

static double us_each(struct timeval time)
{
    return ((double)time.tv_sec * 1e6 + (double)time.tv_usec) / HANDSHAKES;
}

/* CPU of what no handshake with forward secrecy does without: a key made and one derived. */
static double x25519_us(void)
{
    EVP_PKEY_CTX *making = EVP_PKEY_CTX_new_id(EVP_PKEY_X25519, NULL);
    unsigned char shared[32];
    EVP_PKEY *mine = NULL;
    EVP_PKEY *theirs = NULL;
    uint64_t begin_ns;

    if (EVP_PKEY_keygen_init(making) <= 0 || EVP_PKEY_keygen(making, &theirs) <= 0)
        die("X25519");
    begin_ns = cpu_ns();
    for (int i = 0; i < HANDSHAKES / 4; i++) {
        size_t bytes = sizeof(shared);
        EVP_PKEY_CTX *deriving;

        EVP_PKEY_free(mine);
        mine = NULL;
        if (EVP_PKEY_keygen(making, &mine) <= 0)
            die("X25519");
        deriving = EVP_PKEY_CTX_new(mine, NULL);
        if (EVP_PKEY_derive_init(deriving) <= 0 ||
            EVP_PKEY_derive_set_peer(deriving, theirs) <= 0 ||
            EVP_PKEY_derive(deriving, shared, &bytes) <= 0)
            die("X25519");
        EVP_PKEY_CTX_free(deriving);
    }
    begin_ns = cpu_ns() - begin_ns;
    EVP_PKEY_free(mine);
    EVP_PKEY_free(theirs);
    EVP_PKEY_CTX_free(making);
    return (double)begin_ns / (HANDSHAKES / 4) / 1e3;
}

static void handshakes(void)
{
    static struct client clients[CLIENTS];
    struct addresses addresses;
    struct rusage usage;
    uint64_t begin_ns;
    double user_us;
    double system_us;
    double seconds;
    int fds[2];

    if (pipe(fds) < 0)
        die("pipe");
    fflush(stdout);
    if (fork() == 0) {
        handshakes_child(fds[1]);
        _exit(0);
    }
    if (read(fds[0], &addresses, sizeof(addresses)) != sizeof(addresses))
        die("the daemon says nothing");
    begin_ns = now_ns();
    for (uint32_t i = 0; i < HANDSHAKES + CLIENTS; i++) {
        struct client *client = &clients[i % CLIENTS];
        if (i >= CLIENTS)
            client_finish(client, 2 + i - CLIENTS);
        if (i < HANDSHAKES)
            client_open(client, &addresses.items[0], 2 + i);
    }
    seconds = (double)(now_ns() - begin_ns) / 1e9;
    if (read(fds[0], &usage, sizeof(usage)) != sizeof(usage))
        die("the daemon says nothing");
    user_us = us_each(usage.ru_utime);
    system_us = us_each(usage.ru_stime);
    printf("handshakes\t%.0f/s by the clock\t%.0f/s of the daemon's CPU time (bar 5000)\n",
           HANDSHAKES / seconds, 1e6 / (user_us + system_us));
    printf("handshake\t%.0f us user\t%.0f us system\t%.0f us of it X25519\n", user_us, system_us,
           x25519_us());
    (void)wait(NULL);
    close(fds[0]);
    close(fds[1]);
}

/* ---- Two processes with a link and a bare connection ---- */

static void run_pair(void (*child)(void), void (*parent)(void))
{
    struct sockaddr_in system = {.sin_family = AF_INET};
    socklen_t bytes = sizeof(system);
    struct addresses addresses;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int fds[2];
    int fd;

    system.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&system, bytes) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&system, &bytes) < 0 || pipe(fds) < 0)
        die("listen");
    fflush(stdout);
    if (fork() == 0) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&system, bytes) < 0)
            die("connect");
        open_bare(fd);
        open_place(2, &addresses);
        peer = 1;
        if (write(fds[1], &addresses, sizeof(addresses)) < 0)
            die("write");
        loop_run(loop); /* until the link is up */
        child();
        close_place();
        _exit(0);
    }
    open_bare(accept(listener, NULL, NULL));
    if (read(fds[0], &addresses, sizeof(addresses)) != sizeof(addresses))
        die("the child says nothing");
    peer = 2;
    open_place(1, &(struct addresses){0});
    link_set_ops()->connect(links, 2, &addresses);
    loop_run(loop);
    parent();
    close_place();
    (void)wait(NULL);
    close(bare_fd);
    close(epoll_fd);
    close(listener);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : "";

    (void)signal(SIGPIPE, SIG_IGN);
    if (only[0] == '\0' || strcmp(only, "ping") == 0)
        run_pair(ping_child, ping_parent);
    if (only[0] == '\0' || strcmp(only, "frames") == 0)
        run_pair(frames_child, frames_parent);
    if (only[0] == '\0' || strcmp(only, "bandwidth") == 0)
        run_pair(bandwidth_child, bandwidth_parent);
    if (only[0] == '\0' || strcmp(only, "handshakes") == 0)
        handshakes();
    return 0;
}
