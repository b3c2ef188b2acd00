/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The networks of a node, and whether it reaches its neighbours in the tree: it connects to every
 * address of each, all at the same time.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fabric/address.h"
#include "launch/doctor/doctor_internal.h"

#define CONNECT_MS 3000

static unsigned int count_bits(const unsigned char *mask, size_t bytes)
{
    unsigned int bits = 0;

    for (size_t i = 0; i < bytes; i++)
        bits += (unsigned int)__builtin_popcount(mask[i]);
    return bits;
}

static unsigned int prefix_bits(const struct sockaddr *mask)
{
    if (mask != NULL && mask->sa_family == AF_INET)
        return count_bits((const void *)&((const struct sockaddr_in *)mask)->sin_addr, 4);
    if (mask != NULL && mask->sa_family == AF_INET6)
        return count_bits((const void *)&((const struct sockaddr_in6 *)mask)->sin6_addr, 16);
    return 0;
}

/* Appends the network: the address with zeros after the prefix, which is the same on all its nodes. */
static void print_network(struct buffer *out, const struct ifaddrs *entry)
{
    struct sockaddr_storage network = {0};
    unsigned int bits = prefix_bits(entry->ifa_netmask);
    int is_v6 = entry->ifa_addr->sa_family == AF_INET6;
    unsigned char *ip;
    struct address address;
    char text[ADDRESS_TEXT_BYTES];

    assert(entry->ifa_addr != NULL && (is_v6 || entry->ifa_addr->sa_family == AF_INET));
    memcpy(&network, entry->ifa_addr,
           is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    ip = is_v6 ? (unsigned char *)&((struct sockaddr_in6 *)&network)->sin6_addr
               : (unsigned char *)&((struct sockaddr_in *)&network)->sin_addr;
    for (unsigned int bit = bits; bit < (is_v6 ? 128u : 32u); bit++)
        ip[bit / 8] &= (unsigned char)~(0x80u >> bit % 8);
    if (address_from_system((struct sockaddr *)&network, &address) < 0)
        return;
    address_set_port(&address, 0);
    buffer_printf(out, "%s%s %s/%u", out->length_bytes > 0 ? ", " : "", entry->ifa_name,
                  address_print(&address, text), bits);
}

static int listens_on(const struct doctor_request *request, const struct ifaddrs *entry)
{
    struct address address;

    if (entry->ifa_addr == NULL || address_from_system(entry->ifa_addr, &address) < 0)
        return 0;
    for (uint8_t i = 0; i < request->own.count; i++) {
        struct address own = request->own.items[i];
        address_set_port(&own, 0);
        address_set_port(&address, 0);
        if (address_equal(&own, &address))
            return 1;
    }
    return 0;
}

void doctor_check_network(const struct doctor_request *request)
{
    struct ifaddrs *list = NULL;
    struct buffer text = {0};

    if (getifaddrs(&list) < 0) {
        doctor_tell(DOCTOR_NETWORK, DOCTOR_PROBLEM, NULL, "cannot list network interfaces: %s",
                    strerror(errno));
        return;
    }
    for (struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next)
        if (listens_on(request, entry))
            print_network(&text, entry);
    freeifaddrs(list);
    if (text.length_bytes == 0) /* no interface has a virtual node's 127.1.0.k */
        buffer_append_string(&text, "loopback");
    doctor_tell(DOCTOR_NETWORK, DOCTOR_FACT, NULL, "listens on %s", buffer_string(&text));
    buffer_fini(&text);
}

/* ---- Whom it reaches ---- */

struct probe {
    const struct doctor_peer *peer;
    const struct address *address;
    int fd;
    int code; /* errno; 0: connected */
};

static void probe_start(struct probe *probe)
{
    struct sockaddr_storage system;
    socklen_t bytes;

    probe->fd = -1;
    probe->code = EINVAL;
    if (address_to_system(probe->address, &system, &bytes) < 0)
        return;
    probe->fd = socket(system.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe->fd < 0)
        probe->code = errno;
    else
        probe->code = connect(probe->fd, (struct sockaddr *)&system, bytes) == 0 ? 0 : errno;
}

static void probe_end(struct probe *probe)
{
    socklen_t bytes = sizeof(probe->code);

    assert(probe->fd >= 0);
    if (getsockopt(probe->fd, SOL_SOCKET, SO_ERROR, &probe->code, &bytes) < 0)
        probe->code = errno;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void probe_all(struct probe *probes, uint32_t count)
{
    struct pollfd *fds = memory_allocate_zeroed((count + 1) * sizeof(*fds));
    int64_t deadline_ms = now_ms() + CONNECT_MS;

    for (uint32_t i = 0; i < count; i++)
        probe_start(&probes[i]);
    for (;;) {
        int64_t left_ms = deadline_ms - now_ms();
        uint32_t waiting = 0;
        for (uint32_t i = 0; i < count; i++) {
            int waits = probes[i].code == EINPROGRESS;
            fds[i] = (struct pollfd){.fd = waits ? probes[i].fd : -1, .events = POLLOUT};
            waiting += (uint32_t)waits;
        }
        if (waiting == 0 || left_ms <= 0 || poll(fds, count, (int)left_ms) < 0)
            break;
        for (uint32_t i = 0; i < count; i++)
            if (fds[i].revents != 0)
                probe_end(&probes[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (probes[i].code == EINPROGRESS)
            probes[i].code = ETIMEDOUT;
        if (probes[i].fd >= 0)
            close(probes[i].fd);
    }
    free(fds);
}

/* Reports which addresses of a peer are not reached; they are the count probes from `first` on. */
static void tell_peer(const struct doctor_request *request, const struct probe *first,
                      uint32_t count)
{
    const struct doctor_peer *peer = first->peer;
    int is_parent = request->has_parent && peer == &request->peers[0];
    char name[HOST_NAME_BYTES_MAX + 32];
    struct buffer text = {0};
    uint32_t reached = 0;

    assert(count > 0 && peer != NULL);
    snprintf(name, sizeof(name), "%s%s%s", is_parent ? "its parent" : "its child",
             peer->name[0] != '\0' ? " " : "", peer->name);
    for (uint32_t i = 0; i < count; i++) {
        char address[ADDRESS_TEXT_BYTES];
        reached += first[i].code == 0;
        if (first[i].code != 0)
            buffer_printf(&text, "%s%s: %s", text.length_bytes > 0 ? "; " : "",
                          address_print(first[i].address, address), strerror(first[i].code));
    }
    assert(reached <= count);
    if (reached == 0)
        doctor_tell(
            DOCTOR_TREE, DOCTOR_PROBLEM,
            "choose a network that works in both directions with --net, or open ports with --port-range",
            "cannot reach %s: %s", name, buffer_string(&text));
    else if (reached < count)
        doctor_tell(DOCTOR_TREE, DOCTOR_NOTE, "use --net to exclude networks that lead nowhere",
                    "reaches %s, but not at every address: %s", name, buffer_string(&text));
    buffer_fini(&text);
}

void doctor_check_tree(const struct doctor_request *request)
{
    uint32_t count = 0, failed = 0;
    struct probe *probes =
        memory_allocate_zeroed((request->peers_count * ADDRESSES_MAX + 1) * sizeof(*probes));

    for (uint32_t i = 0; i < request->peers_count; i++)
        for (uint8_t j = 0; j < request->peers[i].addresses.count; j++)
            probes[count++] = (struct probe){.peer = &request->peers[i],
                                             .address = &request->peers[i].addresses.items[j]};
    assert(count <= request->peers_count * ADDRESSES_MAX);
    probe_all(probes, count);
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && probes[next].peer == probes[i].peer; next++)
            failed += probes[next].code != 0;
        tell_peer(request, &probes[i], next - i);
    }
    if (failed == 0)
        doctor_tell(DOCTOR_TREE, DOCTOR_FACT, NULL, "reaches its parent and its children");
    free(probes);
}
