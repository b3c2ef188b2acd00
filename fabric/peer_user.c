/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/peer_user.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of enum tcp_state: a connection of which both ends are open, or ours is half closed. */
#define STATE_ESTABLISHED 1
#define STATE_CLOSE_WAIT  8

struct ends {
    struct sockaddr_in theirs;
    struct sockaddr_in ours;
};

/* An end that no process holds open has no inode and no meaningful user. */
static int user_of_end(unsigned int state, unsigned long inode, uid_t user, uid_t *ret_user)
{
    if (inode == 0 || (state != STATE_ESTABLISHED && state != STATE_CLOSE_WAIT))
        return -EACCES;
    *ret_user = user;
    return 0;
}

static int ask_kernel(int netlink, const struct ends *ends, uid_t *ret_user)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
    } request = {
        .header = {.nlmsg_len = sizeof(request),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u},
    };
    union {
        struct nlmsghdr header;
        char bytes[1024];
    } answer;
    const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
    const struct nlmsgerr *refusal = NLMSG_DATA(&answer.header);
    ssize_t got;

    request.body.id.idiag_sport = ends->theirs.sin_port;
    request.body.id.idiag_dport = ends->ours.sin_port;
    request.body.id.idiag_src[0] = ends->theirs.sin_addr.s_addr;
    request.body.id.idiag_dst[0] = ends->ours.sin_addr.s_addr;
    request.body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (send(netlink, &request, sizeof(request), 0) < 0)
        return -ENOTSUP;
    got = recv(netlink, &answer, sizeof(answer), MSG_DONTWAIT); /* the kernel has answered by now */
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(*refusal)) || !NLMSG_OK(&answer.header, (size_t)got))
        return -ENOTSUP;
    if (answer.header.nlmsg_type == NLMSG_ERROR)
        return refusal->error == -ENOENT ? -EACCES : -ENOTSUP;
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(*found)))
        return -ENOTSUP;
    return user_of_end(found->idiag_state, found->idiag_inode, found->idiag_uid, ret_user);
}

static int search_proc_net(const struct ends *ends, uid_t *ret_user)
{
    FILE *file = fopen("/proc/net/tcp", "re");
    char line[512];
    int rc = -EACCES;

    if (file == NULL)
        return -ENOTSUP;
    while (rc == -EACCES && fgets(line, sizeof(line), file) != NULL) {
        unsigned int from, from_port, to, to_port, state, user;
        unsigned long inode;

        if (sscanf(line, " %*u: %X:%X %X:%X %X %*X:%*X %*X:%*X %*X %u %*u %lu", &from, &from_port,
                   &to, &to_port, &state, &user, &inode) == 7 &&
            from == ends->theirs.sin_addr.s_addr && from_port == ntohs(ends->theirs.sin_port) &&
            to == ends->ours.sin_addr.s_addr && to_port == ntohs(ends->ours.sin_port))
            rc = user_of_end(state, inode, user, ret_user);
    }
    fclose(file);
    return rc;
}

int peer_user(int fd, uid_t *ret_user)
{
    socklen_t bytes = sizeof(struct sockaddr_in);
    struct ends ends;
    int netlink, rc = -ENOTSUP;

    if (getsockname(fd, (struct sockaddr *)&ends.ours, &bytes) < 0 ||
        getpeername(fd, (struct sockaddr *)&ends.theirs, &bytes) < 0)
        return -EACCES;
    netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (netlink >= 0) {
        rc = ask_kernel(netlink, &ends, ret_user);
        close(netlink);
    }
    return rc == -ENOTSUP ? search_proc_net(&ends, ret_user) : rc;
}
