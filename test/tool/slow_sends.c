/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For LD_PRELOAD: what a process sends to the addresses of SLOW_ADDRESSES, "127.1.0.7=20,127.1.0.9=5", is sent that many
 * milliseconds later, and everything that is sent at one of them, which is that of MPICH_INTERFACE_HOSTNAME.
 */
#include "config.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The delay of an address, in ms. */
static long delay_of(const char *address)
{
    const char *list = getenv("SLOW_ADDRESSES"), *found;
    size_t bytes = strlen(address);

    for (found = list; found != NULL && (found = strstr(found, address)) != NULL; found += bytes) {
        if (found[bytes] == '=')
            return strtol(found + bytes + 1, NULL, 10);
    }
    return 0;
}

static long delay_of_peer(int fd)
{
    struct sockaddr_in peer;
    socklen_t bytes = sizeof(peer);
    char text[INET_ADDRSTRLEN];

    if (getpeername(fd, (struct sockaddr *)&peer, &bytes) < 0 || peer.sin_family != AF_INET ||
        inet_ntop(AF_INET, &peer.sin_addr, text, sizeof(text)) == NULL)
        return 0;
    return delay_of(text);
}

ssize_t send(int fd, const void *data, size_t bytes, int flags)
{
    static ssize_t (*real)(int, const void *, size_t, int);
    const char *own = getenv("MPICH_INTERFACE_HOSTNAME");
    long delay = own != NULL ? delay_of(own) : 0, peers = delay_of_peer(fd);

    if (real == NULL)
        real = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    delay = peers > delay ? peers : delay;
    if (delay > 0)
        usleep((useconds_t)(1000 * delay));
    return real(fd, data, bytes, flags);
}
