/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/pmi_process.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/exec/plugin.h"
#include "pmix/pmi_server.h"

#define READ_BYTES  (16u * 1024)
#define FDS_AT_ONCE 8 /* each comes with separate bytes, so one would do */
#define KIB         1024
/* libpmix takes and frees as much as a fence carries several times for each fence.  With the limits that
 * malloc() starts with it asks the kernel for fresh pages each time, which costs more than what is done
 * with them. */
#define KEEP_BYTES   (16 * 1024 * KIB)
#define EXIT_REFUSED 1 /* the daemon sent an invalid message */

static const struct host_table *load_host(void *context, struct error *error)
{
    (void)context;
    return plugin_pmix_host(error);
}

/* The daemon always reads; without it there are no clients to serve. */
static void write_all(void *context, const void *data, size_t bytes)
{
    const char *from = data;

    while (bytes > 0) {
        ssize_t sent = send(*(int *)context, from, bytes, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            _exit(0);
        from += sent;
        bytes -= (size_t)sent;
    }
}

/* proc(5): the second number of statm is the resident size, in pages.  Memory that malloc() only keeps is
 * returned first. */
static uint32_t memory_kib(void *context)
{
    unsigned long all = 0, resident = 0;
    FILE *file;

    (void)context;
    (void)malloc_trim(0);
    file = fopen("/proc/self/statm", "re");
    if (file != NULL && fscanf(file, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    if (file != NULL)
        fclose(file);
    return (uint32_t)(resident * (unsigned long)sysconf(_SC_PAGESIZE) / KIB);
}

static void take_fds(struct pmi_server *server, struct msghdr *header)
{
    for (struct cmsghdr *control = CMSG_FIRSTHDR(header); control != NULL;
         control = CMSG_NXTHDR(header, control)) {
        size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        for (size_t i = 0; control->cmsg_type == SCM_RIGHTS && i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(control) + i * sizeof(fd), sizeof(fd));
            pmi_server_take_fd(server, fd);
        }
    }
}

static void hear_daemon(struct pmi_server *server, int fd, int flags)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * FDS_AT_ONCE)];
        struct cmsghdr align;
    } control;
    size_t room;
    void *data = pmi_server_room(server, READ_BYTES, &room);
    struct iovec part = {data, room};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof(control.bytes)};
    ssize_t got = recvmsg(fd, &header, flags | MSG_CMSG_CLOEXEC);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0)
        _exit(0);
    take_fds(server, &header);
    if (pmi_server_came(server, (size_t)got) < 0)
        _exit(EXIT_REFUSED);
}

/* Moves it off descriptor 0, which libraries take for their input. */
static int move_socket(void)
{
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (fd < 0 || null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0)
        _exit(EXIT_REFUSED);
    close(null_fd);
    return fd;
}

int pmi_process_main(void)
{
    int fd = move_socket();
    struct pmi_server_config config = {
        .load = load_host, .write = write_all, .memory_kib = memory_kib, .context = &fd};
    struct pmi_server *server = pmi_server_create(&config);

    signal(SIGPIPE, SIG_IGN);
    (void)mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
    (void)mallopt(M_MMAP_THRESHOLD, KEEP_BYTES);
    for (;;) {
        int what = pmi_server_wait(server, fd);

        if (what < 0)
            hear_daemon(server, fd, 0); /* nobody else wants anything yet */
        if (what > 0 && (what & HOST_OWN))
            pmi_server_process(server);
        if (what > 0 && (what & HOST_FD))
            hear_daemon(server, fd, MSG_DONTWAIT);
    }
}
