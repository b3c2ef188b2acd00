/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connecting: a race of candidates, one for each address, most often just one.  They start in
 * order, each when the one before has failed or has not answered for NEXT_ADDRESS_MS (RFC 8305, 5:
 * 250 ms); the first that is connected gives the sock its descriptor and ends the race.  Events of
 * others that epoll has already returned find their descriptors closed: a race is freed only when
 * its end is handed out, when no batch of events is being processed.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/time.h"
#include "fabric/address.h"
#include "fabric/sock_private.h"

#define NEXT_ADDRESS_MS 250

struct candidate {
    struct watch watch;
    int fd; /* -1 before and after */
    int rc; /* what ended it */
    struct address address;
};

struct race {
    struct watch timer;
    int timer_fd; /* -1 if there is none */
    struct banyan_sock_ports ports;
    int next; /* the first that has not started */
    int live; /* under way */
    int count;
    struct candidate candidates[];
};

/* ---- The end ---- */

static void close_watched(struct banyan_sock_set *set, int *fd)
{
    if (*fd < 0)
        return;
    /* A forked child may hold the same file: closing alone would leave it registered. */
    epoll_ctl(set->epoll_fd, EPOLL_CTL_DEL, *fd, NULL);
    close(*fd);
    *fd = -1;
}

void sock_race_stop(struct banyan_sock *sock)
{
    struct race *race = sock->race;

    if (race == NULL)
        return;
    for (int i = 0; i < race->next; i++)
        close_watched(sock->set, &race->candidates[i].fd);
    close_watched(sock->set, &race->timer_fd);
    race->next = race->count;
    race->live = 0;
}

void sock_race_free(struct banyan_sock *sock)
{
    free(sock->race);
    sock->race = NULL;
}

/* Of a connect EADDRNOTAVAIL is the lack of a port to connect from. */
static enum banyan_sock_status connect_status(int system_error)
{
    return system_error == EADDRNOTAVAIL ? BANYAN_SOCK_NO_PORTS
                                         : banyan_sock_status_of(system_error);
}

static int has_reached(const struct candidate *candidate)
{
    return connect_status(-candidate->rc) != BANYAN_SOCK_UNREACHABLE;
}

/* All have failed: reports the first that was not merely unreachable. */
static void lose_race(struct banyan_sock *sock)
{
    struct race *race = sock->race;
    const struct candidate *told = &race->candidates[0];
    struct buffer text = {0};

    assert(race->live == 0 && race->next == race->count);
    for (int i = 1; i < race->count && !has_reached(told); i++)
        if (has_reached(&race->candidates[i]))
            told = &race->candidates[i];
    for (int i = 0; race->count > 1 && i < race->count; i++) {
        char address[ADDRESS_TEXT_BYTES];
        buffer_printf(&text, "%s%s: %s", i > 0 ? "; " : "",
                      address_print(&race->candidates[i].address, address),
                      strerror(-race->candidates[i].rc));
    }
    if (race->count > 1)
        sock->failures = memory_copy(buffer_string(&text), text.length_bytes + 1);
    buffer_fini(&text);
    sock->peer = told->address;
    sock_race_stop(sock);
    sock_complete(&sock->output, connect_status(-told->rc), -told->rc);
}

static void win_race(struct banyan_sock *sock, struct candidate *candidate)
{
    struct banyan_sock_set *set = sock->set;
    int fd = candidate->fd;

    assert(fd >= 0 && !sock->connected);
    candidate->fd = -1;
    sock_race_stop(sock);
    if (sock_watch(set, EPOLL_CTL_MOD, fd, &sock->watch, SOCK_WATCHED) < 0) {
        candidate->fd = fd;
        candidate->rc = -errno;
        close_watched(set, &candidate->fd);
        sock_complete(&sock->output, connect_status(-candidate->rc), -candidate->rc);
        return;
    }
    sock->fd = fd;
    sock->peer = candidate->address;
    sock->connected = 1;
    sock_complete(&sock->output, BANYAN_SOCK_OK, 0);
}

/* ---- One candidate ---- */

/* TCP connects a port to itself if nobody listens there and it is also the one to connect from. */
static int is_own_end(const struct candidate *candidate)
{
    struct address own;

    sock_read_local_address(candidate->fd, &own);
    return address_equal(&own, &candidate->address);
}

static int bind_port(int fd, int family, uint16_t port)
{
    struct sockaddr_storage own = {.ss_family = (sa_family_t)family};
    socklen_t bytes = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

    sock_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    sock_set_system_port(&own, port);
    return bind(fd, (struct sockaddr *)&own, bytes) < 0 ? -errno : 0;
}

/* A descriptor that connects, from this port if it is not 0; *ret_rc is the state of the
 * connect. */
static int connect_from(const struct banyan_sock *sock, const struct sockaddr_storage *peer,
                        socklen_t bytes, uint16_t port, int *ret_rc)
{
    int fd = sock_open_stream(peer->ss_family);
    int rc = fd < 0 ? fd : sock_apply_settings(fd, &sock->settings);

    if (rc == 0 && port != 0)
        rc = bind_port(fd, peer->ss_family, port);
    if (rc == 0 && connect(fd, (const struct sockaddr *)peer, bytes) < 0)
        rc = -errno;
    *ret_rc = rc;
    if (rc == 0 || rc == -EINPROGRESS)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* From the first port of the range that is free towards this peer: one port may serve several
 * connections, as long as their other ends differ. */
static int connect_in(const struct banyan_sock *sock, const struct sockaddr_storage *peer,
                      socklen_t bytes, int *ret_rc)
{
    struct banyan_sock_ports ports = sock->race->ports;

    for (unsigned int port = ports.first; port <= ports.last; port++) {
        int fd = connect_from(sock, peer, bytes, (uint16_t)port, ret_rc);
        int taken = *ret_rc == -EADDRINUSE || *ret_rc == -EADDRNOTAVAIL || *ret_rc == -EACCES;
        if (!taken || port == 0)
            return fd;
    }
    *ret_rc = -EADDRINUSE;
    return -1;
}

/* 1 if it has won. */
static int start_candidate(struct banyan_sock *sock, struct candidate *candidate)
{
    struct sockaddr_storage system;
    socklen_t bytes;

    candidate->rc = address_to_system(&candidate->address, &system, &bytes);
    if (candidate->rc == 0)
        candidate->fd = connect_in(sock, &system, bytes, &candidate->rc);
    if (candidate->fd < 0)
        return 0;
    if (sock_watch(sock->set, EPOLL_CTL_ADD, candidate->fd, &candidate->watch, EPOLLOUT | EPOLLET) <
        0) {
        candidate->rc = -errno;
        close(candidate->fd);
        candidate->fd = -1;
        return 0;
    }
    if (candidate->rc == 0 && !is_own_end(candidate))
        return 1;
    sock->race->live++;
    return 0;
}

/* ---- The race ---- */

/* Without a timer (no descriptor left), the next one starts when this one has failed. */
static void arm_timer(struct banyan_sock *sock)
{
    struct race *race = sock->race;
    struct itimerspec time = {.it_value = {.tv_nsec = NEXT_ADDRESS_MS * NS_PER_MS}};

    if (race->timer_fd < 0) {
        race->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        if (race->timer_fd >= 0 && sock_watch(sock->set, EPOLL_CTL_ADD, race->timer_fd,
                                              &race->timer, EPOLLIN | EPOLLET) < 0) {
            close(race->timer_fd);
            race->timer_fd = -1;
        }
    }
    if (race->timer_fd >= 0)
        timerfd_settime(race->timer_fd, 0, &time, NULL);
}

/* Starts the next one, and those after it for as long as none is under way. */
static void start_next_candidate(struct banyan_sock *sock)
{
    struct race *race = sock->race;

    assert(race->live >= 0);
    do {
        assert(race->next < race->count);
        struct candidate *candidate = &race->candidates[race->next++];
        if (start_candidate(sock, candidate)) {
            win_race(sock, candidate);
            return;
        }
    } while (race->live == 0 && race->next < race->count);
    if (race->live == 0)
        lose_race(sock);
    else if (race->next < race->count)
        arm_timer(sock);
}

static void candidate_event(struct candidate *candidate)
{
    struct banyan_sock *sock = candidate->watch.sock;
    struct race *race = sock->race;
    int system_error = 0;
    socklen_t bytes = sizeof(system_error);

    if (candidate->fd < 0)
        return;
    if (getsockopt(candidate->fd, SOL_SOCKET, SO_ERROR, &system_error, &bytes) < 0)
        system_error = errno;
    if (system_error == 0 && is_own_end(candidate))
        system_error = ECONNREFUSED;
    if (system_error == 0) {
        win_race(sock, candidate);
        return;
    }
    candidate->rc = -system_error;
    close_watched(sock->set, &candidate->fd);
    assert(race->live > 0);
    race->live--;
    if (race->next < race->count)
        start_next_candidate(sock);
    else if (race->live == 0)
        lose_race(sock);
}

void sock_race_event(struct watch *watch)
{
    struct race *race = watch->sock->race;

    if (watch->kind == WATCH_CANDIDATE)
        candidate_event((struct candidate *)watch);
    else if (race->timer_fd >= 0 && race->next < race->count)
        start_next_candidate(watch->sock);
}

int sock_race_apply_settings(struct banyan_sock *sock)
{
    struct race *race = sock->race;
    int rc = 0;

    for (int i = 0; race != NULL && rc == 0 && i < race->next; i++)
        if (race->candidates[i].fd >= 0)
            rc = sock_apply_settings(race->candidates[i].fd, &sock->settings);
    return rc;
}

/* ---- Calls ---- */

static struct race *create_race(const struct address *addresses, int count,
                                struct banyan_sock_ports ports)
{
    struct race *race =
        memory_allocate_zeroed(sizeof(*race) + (size_t)count * sizeof(race->candidates[0]));

    assert(count >= 1 && count <= BANYAN_SOCK_ADDRESSES_MAX);
    race->timer.kind = WATCH_TIMER;
    race->timer_fd = -1;
    race->ports = ports;
    race->count = count;
    for (int i = 0; i < count; i++) {
        race->candidates[i].watch.kind = WATCH_CANDIDATE;
        race->candidates[i].fd = -1;
        race->candidates[i].address = addresses[i];
    }
    return race;
}

static int connect_to(struct banyan_sock_set *set, const struct address *addresses, int count,
                      struct banyan_sock_ports ports, void *user, struct banyan_sock **ret_sock,
                      struct error *error)
{
    struct race *race;
    struct banyan_sock *sock;
    int rc = sock_check_ports(ports, 0, error);

    if (rc < 0)
        return rc;
    race = create_race(addresses, count, ports);
    pthread_mutex_lock(&set->lock);
    sock = sock_create(set, -1, 0, user);
    race->timer.sock = sock;
    for (int i = 0; i < count; i++)
        race->candidates[i].watch.sock = sock;
    sock->race = race;
    sock->peer = addresses[0];
    sock->output.kind = BANYAN_SOCK_CONNECT;
    sock->output.state = POSTED;
    start_next_candidate(sock);
    pthread_mutex_unlock(&set->lock);
    *ret_sock = sock;
    return 0;
}

int banyan_sock_connect(struct banyan_sock_set *set, const struct address *address,
                        struct banyan_sock_ports ports, void *user, struct banyan_sock **ret_sock,
                        struct error *error)
{
    struct sockaddr_storage system;
    socklen_t bytes;
    int rc = address_to_system(address, &system, &bytes);

    if (rc < 0)
        return sock_fail(error, address, ports, rc, "cannot connect");
    return connect_to(set, address, 1, ports, user, ret_sock, error);
}

/* The number of addresses in a description, or negative errno.  Its first word may be a name. */
static int parse_description(const char *description, uint16_t port, struct address *ret_addresses,
                             struct error *error)
{
    const char *blanks = " \t\n";
    const char *word = description + strspn(description, blanks);
    int count = 0;

    for (int i = 0; *word != '\0'; i++) {
        char text[ADDRESS_TEXT_BYTES];
        struct address address;
        size_t bytes = strcspn(word, blanks);
        int is_text = bytes < sizeof(text);
        if (is_text) {
            memcpy(text, word, bytes);
            text[bytes] = '\0';
        }
        if (is_text && address_parse(text, &address, NULL) == 0) {
            if (count == BANYAN_SOCK_ADDRESSES_MAX)
                return error_set(error, -E2BIG, "\"%.80s...\" has more than %d addresses",
                                 description, BANYAN_SOCK_ADDRESSES_MAX);
            if (address_port(&address) == 0)
                address_set_port(&address, port);
            if (address_port(&address) == 0)
                return error_set(error, -EINVAL, "no port is given for %s", text);
            ret_addresses[count++] = address;
        } else if (i > 0) {
            return error_set(error, -EINVAL, "\"%.*s\" is not a numeric address",
                             bytes < 80 ? (int)bytes : 80, word);
        }
        word += bytes;
        word += strspn(word, blanks);
    }
    if (count == 0)
        return error_set(error, -EINVAL, "\"%.80s\" has no numeric address", description);
    return count;
}

int banyan_sock_connect_host(struct banyan_sock_set *set, const char *description, uint16_t port,
                             struct banyan_sock_ports ports, void *user,
                             struct banyan_sock **ret_sock, struct error *error)
{
    struct address *addresses = memory_allocate(BANYAN_SOCK_ADDRESSES_MAX * sizeof(*addresses));
    int rc = parse_description(description, port, addresses, error);

    if (rc > 0)
        rc = connect_to(set, addresses, rc, ports, user, ret_sock, error);
    free(addresses);
    return rc;
}
