/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket layer on a network of its own: what a connect says when no port to connect from is left,
 * and how a machine that vanishes is noticed (rows K6, K8; banyan_sock(3), "Silent peers").  The other
 * machine is a child in a network name space of its own, the cable between them a veth.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/support/sock_world.h"
#include "test/support/tap.h"

#define OWN     "192.0.2.1"
#define THEIRS  "192.0.2.2"
#define PORTS   2 /* to connect from */
#define IDLE_S  1
#define PROBES  2
#define USER_MS 3000u
#define PORT    7000
/* A busy machine has the time to notice it: all it would take without the settings is 15 minutes. */
#define AT_MOST_MS 60000

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- No port to connect from ---- */

/* The listener has its own port by then. */
static void test_no_ports(int range_fd)
{
    struct banyan_sock *socks[PORTS + 1];
    struct banyan_sock_event event;

    world_open();
    is_int(pwrite(range_fd, "20000 20001", 11, 0), 11, "there are two ports to connect from");
    for (int i = 0; i <= PORTS; i++) {
        if (banyan_sock_connect(set, &listening, any_port, NULL, &socks[i], NULL) < 0)
            bail_out("no connect");
        do
            event = next_event();
        while (event.operation != BANYAN_SOCK_CONNECT);
        if (i < PORTS)
            is_int(event.status, BANYAN_SOCK_OK, "K6: a connect while there are ports");
    }
    is_int(event.status, BANYAN_SOCK_NO_PORTS, "K6: and when all are used up: its class");
    is_int(event.system_error, EADDRNOTAVAIL, "K6: and the system's number");
    for (int i = 0; i <= PORTS; i++)
        close_one(socks[i]);
    while (banyan_sock_accept(listener, set, NULL, &far, NULL) == 0)
        close_one(far);
    far = NULL;
    world_close();
}

/* ---- A machine that vanishes ---- */

static pid_t machine;

/* The child: takes connections, and says nothing. */
static void be_machine(int ready_fd, int go_fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char byte = 0;

    close(fd);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (unshare(CLONE_NEWNET) < 0 || write(ready_fd, &byte, 1) != 1 || read(go_fd, &byte, 1) != 1)
        _exit(1);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, THEIRS, &address.sin_addr);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 16) < 0 ||
        write(ready_fd, &byte, 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* 1 if the machine is there, connected by a cable of which near is ours and far its end. */
static int start_machine(void)
{
    int ready[2], go[2];
    char command[256];
    char byte = 0;
    int is_up;

    if (pipe(ready) < 0 || pipe(go) < 0)
        bail_out("no pipes");
    machine = fork();
    if (machine == 0)
        be_machine(ready[1], go[0]);
    close(ready[1]);
    is_up = read(ready[0], &byte, 1) == 1;
    snprintf(command, sizeof(command),
             "ip link add near type veth peer name far netns %d && ip addr add " OWN
             "/24 dev near && ip link set near up && nsenter -t %d -n sh -c 'ip addr add " THEIRS
             "/24 dev far && ip link set far up'",
             (int)machine, (int)machine);
    is_up = is_up && system(command) == 0 && write(go[1], &byte, 1) == 1 &&
            read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    close(go[0]);
    close(go[1]);
    return is_up;
}

static struct banyan_sock *connect_to_machine(void)
{
    struct banyan_sock_event event;
    struct banyan_sock *sock = NULL;

    if (banyan_sock_connect_host(set, THEIRS, PORT, any_port, NULL, &sock, NULL) < 0)
        bail_out("no connect");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_CONNECT, BANYAN_SOCK_OK, sock), "a connection stands");
    return sock;
}

static int is_of_silence(const struct banyan_sock_event *event)
{
    return event->status == BANYAN_SOCK_TIMED_OUT || event->status == BANYAN_SOCK_UNREACHABLE;
}

/* Two that read only, one of which asks for silent peers, and one that writes. */
static void test_vanished(void)
{
    struct banyan_sock *asking, *plain, *writing;
    char bytes[3][8];
    char command[128];
    int64_t began_ms, noticed_ms = 0, written_ms = 0;
    struct banyan_sock_event event;

    world_open();
    asking = connect_to_machine();
    plain = connect_to_machine();
    writing = connect_to_machine();
    is_int(banyan_sock_set_keep_alive(asking, IDLE_S, IDLE_S, PROBES), 0, "keep-alive");
    is_int(banyan_sock_set_user_timeout(asking, USER_MS), 0, "and a user time-out");
    is_int(banyan_sock_set_user_timeout(writing, USER_MS), 0, "only that for one that writes");
    (void)banyan_sock_post_read(asking, bytes[0], 1, sizeof(bytes[0]), NULL);
    (void)banyan_sock_post_read(plain, bytes[1], 1, sizeof(bytes[1]), NULL);
    snprintf(command, sizeof(command), "nsenter -t %d -n ip link set far down", (int)machine);
    is_int(system(command), 0, "the machine's cable is pulled");
    began_ms = now_ms();
    (void)banyan_sock_post_read(writing, bytes[2], 1, sizeof(bytes[2]), NULL);
    (void)banyan_sock_post_write(writing, "a word", 6, 6, NULL);
    while ((noticed_ms == 0 || written_ms == 0) && now_ms() - began_ms < AT_MOST_MS) {
        if (banyan_sock_set_wait(set, 100, &event) != 1 || event.operation != BANYAN_SOCK_READ)
            continue;
        ok(event.sock != plain && is_of_silence(&event), "a read ends with %s",
           banyan_sock_status_text(event.status));
        if (event.sock == asking)
            noticed_ms = now_ms() - began_ms;
        if (event.sock == writing)
            written_ms = now_ms() - began_ms;
    }
    ok(noticed_ms > 0, "K8: a machine that vanished is noticed by who only reads (%lld ms)",
       (long long)noticed_ms);
    ok(written_ms > 0, "K8: and by who writes (%lld ms)", (long long)written_ms);
    is_int(banyan_sock_set_wait(set, 0, &event), 0, "by default it is not");
    close_one(asking);
    close_one(plain);
    close_one(writing);
    world_close();
}

int main(void)
{
    int fd;

    if (unshare(CLONE_NEWNET) < 0 || system("ip link set lo up") != 0)
        skip_all("no network of its own");
    fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        skip_all("the ports to connect from cannot be set");
    test_no_ports(fd);
    is_int(pwrite(fd, "20000 30000", 11, 0), 11, "enough ports again");
    close(fd);
    if (start_machine())
        test_vanished();
    else
        skip(1, "no veth");
    kill(machine, SIGKILL);
    waitpid(machine, NULL, 0);
    return done_testing();
}
