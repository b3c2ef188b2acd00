/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the peer's machine still responds.  The system probes a connection on which nothing is
 * under way (keep-alive).  Data under way is retransmitted instead, for a quarter of an hour; the
 * progress of that is queried here.  TCP_USER_TIMEOUT, which would end that earlier, also ends
 * connections to a peer whose machine acknowledges every probe but whose daemon takes nothing (it
 * is stopped, and the window is full), and such a daemon is not dead: the overlay's patience
 * decides on it.
 *
 * Cost: one system call for each link, at most once a second, when the process is awake anyway or, if
 * it sleeps, every 7 s.  Only while something has to be sent again the process wakes up for it every
 * second.
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "fabric/address.h"
#include "fabric/link_private.h"

/* 3 s without a byte, then four probes in 4 s. */
#define KEEP_IDLE_S     3
#define KEEP_INTERVAL_S 1
#define KEEP_PROBES     4
/* The same for data under way: nothing acknowledged for this long, in spite of retransmissions. */
#define UNANSWERED_MS 7000
#define REPEATED_MIN  3

void link_keep_alive(const struct link *link)
{
    (void)banyan_sock_set_keep_alive(link->sock, KEEP_IDLE_S, KEEP_INTERVAL_S, KEEP_PROBES);
}

int link_end_if_unanswered(struct link *link, int *ret_repeats)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof(info);
    char text[ADDRESS_TEXT_BYTES];
    struct error why;

    if (getsockopt(banyan_sock_fd(link->sock), IPPROTO_TCP, TCP_INFO, &info, &bytes) < 0)
        return 0;
    *ret_repeats = info.tcpi_retransmits > 0 || info.tcpi_probes > 0;
    if (info.tcpi_last_ack_recv < UNANSWERED_MS ||
        (info.tcpi_retransmits < REPEATED_MIN && info.tcpi_probes < REPEATED_MIN))
        return 0;
    error_set(&why, -ETIMEDOUT, "%s: its machine has acknowledged nothing for %.1f s",
              address_print(banyan_sock_peer_address(link->sock), text),
              info.tcpi_last_ack_recv / 1e3);
    link_end(link, LINK_GOODBYE_COUNT, &why);
    return 1;
}
