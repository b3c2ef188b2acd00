/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_entry.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "pmix/host_internal.h"
#include "pmix/host_job.h"

#define BACKLOG         1024
#define DESCRIPTORS_MAX 65536
#define REPLY_BYTES     512 /* libpmix sends 8 */
#define REFUSALS        16  /* handled at a time */

/* A client being handed over. */
struct entry {
    struct list_link node;
    uint64_t id;
    int client;
    int ours; /* our end of the connection that announces it */
    /* Its address, by which the other end is found. */
    struct sockaddr_un name;
    socklen_t name_bytes;
    struct host_process process; /* namespace "": a tool */
};

static struct {
    pthread_mutex_t mutex; /* guards entries and all in them */
    struct list entries;   /* in the order in which libpmix sees them */
    uint64_t last_id;
    int refusals; /* epoll: connections of ours that libpmix has closed; -1: not open */
    struct sockaddr_un address;
} door = {.mutex = PTHREAD_MUTEX_INITIALIZER, .refusals = -1};

int host_entry_descriptor(void)
{
    return door.refusals;
}

int host_entry_watch(int fd, struct error *error)
{
    struct epoll_event event = {.events = EPOLLIN}; /* id 0: no entry has it */

    if (epoll_ctl(door.refusals, EPOLL_CTL_ADD, fd, &event) < 0)
        return error_set(error, -errno, "cannot start the PMIx server: epoll: %s", strerror(errno));
    return 0;
}

void host_entry_watch_output(int fd)
{
    struct epoll_event event = {.events = EPOLLOUT | EPOLLRDHUP | EPOLLONESHOT};

    assert(fd >= 0 && door.refusals >= 0);
    if (epoll_ctl(door.refusals, EPOLL_CTL_ADD, fd, &event) < 0 && errno == EEXIST)
        (void)epoll_ctl(door.refusals, EPOLL_CTL_MOD, fd, &event);
}

/* The directory's name may be too long for an address: it is referred to by a descriptor, which
 * stays open. */
static int address_make(const char *directory)
{
    int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    door.address.sun_family = AF_UNIX;
    snprintf(door.address.sun_path, sizeof(door.address.sun_path), "/proc/self/fd/%d/pmix-door",
             fd);
    return 0;
}

static int listen_there(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc = 0;

    if (fd < 0)
        return -errno;
    (void)unlink(door.address.sun_path);
    if (bind(fd, (const struct sockaddr *)&door.address, sizeof(door.address)) < 0 ||
        chmod(door.address.sun_path, 0600) < 0 || listen(fd, BACKLOG) < 0)
        rc = -errno;
    if (rc < 0)
        close(fd);
    return rc < 0 ? rc : fd;
}

/* libpmix may be asleep in a select() on its old socket.  When woken, it polls the new one, and if
 * that is not readable, it goes on waiting for the old one.  So a connection without data is made
 * to it. */
static int connect_without_data(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc = 0;

    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&door.address, sizeof(door.address)) < 0)
        rc = -errno;
    close(fd);
    return rc;
}

int host_entry_listen(const char *directory, struct error *error)
{
    int rc = address_make(directory), fd = -1;

    if (rc == 0 && door.refusals < 0) {
        list_init(&door.entries);
        door.refusals = epoll_create1(EPOLL_CLOEXEC);
        rc = door.refusals < 0 ? -errno : 0;
    }
    if (rc == 0)
        rc = fd = listen_there();
    if (rc >= 0)
        rc = connect_without_data();
    if (rc < 0 && fd >= 0)
        close(fd);
    if (rc < 0)
        return error_set(error, rc, "cannot start the PMIx server: a socket in %s: %s", directory,
                         strerror(-rc));
    return fd;
}

/* Its name is assigned by the kernel and unique. */
static int announce_open(struct entry *entry)
{
    struct sockaddr_un any = {.sun_family = AF_UNIX};

    assert(entry->ours < 0 && entry->id > 0);
    entry->ours = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    entry->name_bytes = sizeof(entry->name);
    if (entry->ours < 0 ||
        bind(entry->ours, (struct sockaddr *)&any, offsetof(struct sockaddr_un, sun_path)) < 0 ||
        getsockname(entry->ours, (struct sockaddr *)&entry->name, &entry->name_bytes) < 0)
        return -errno;
    return 0;
}

/* The socket buffer is far larger than a first message. */
static int announce_entry(const struct entry *entry, const void *message, size_t message_bytes)
{
    struct epoll_event event = {.events = EPOLLRDHUP, .data.u64 = entry->id};
    ssize_t sent;

    if (connect(entry->ours, (const struct sockaddr *)&door.address, sizeof(door.address)) < 0)
        return -errno;
    sent = send(entry->ours, message, message_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != (ssize_t)message_bytes)
        return sent < 0 ? -errno : -ENOBUFS;
    return epoll_ctl(door.refusals, EPOLL_CTL_ADD, entry->ours, &event) < 0 ? -errno : 0;
}

static void entry_free(struct entry *entry)
{
    assert(entry->client >= 0);
    close(entry->client);
    if (entry->ours >= 0)
        close(entry->ours);
    free(entry);
}

/* The lock is held while the client is announced, so that the upcall finds the entry complete. */
void host_entry_admit(struct host *host, int fd, const struct pmi_process *process,
                      const void *message, size_t message_bytes)
{
    struct entry *entry = memory_allocate_zeroed(sizeof(*entry));
    int rc;

    assert(fd >= 0 && message_bytes > 0);
    entry->client = fd;
    entry->ours = -1;
    if (process->job != PMI_JOB_NONE && host_job_process(host, process, &entry->process) < 0) {
        entry_free(entry);
        return;
    }
    pthread_mutex_lock(&door.mutex);
    entry->id = ++door.last_id;
    rc = announce_open(entry);
    if (rc == 0)
        rc = announce_entry(entry, message, message_bytes);
    if (rc == 0)
        list_append(&door.entries, &entry->node);
    pthread_mutex_unlock(&door.mutex);
    if (rc < 0)
        entry_free(entry);
}

/* libpmix's end of the announcing connection, or -1. */
static int find_theirs(const struct entry *entry)
{
    struct sockaddr_un name;

    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
        socklen_t bytes = sizeof(name);

        if (getpeername(fd, (struct sockaddr *)&name, &bytes) == 0 && bytes == entry->name_bytes &&
            memcmp(&name, &entry->name, bytes) == 0)
            return fd;
    }
    return -1;
}

/* Forwards libpmix's output so far.  It fits: it is the first thing the client gets. */
static void reply_pass_on(const struct entry *entry)
{
    char reply[REPLY_BYTES];
    ssize_t got = recv(entry->ours, reply, sizeof(reply), MSG_DONTWAIT);

    if (got > 0)
        (void)!send(entry->client, reply, (size_t)got, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Several processes may connect as one rank, and tools all have the same name here; libpmix takes them in order. */
static int entry_connected(const struct host_process *process)
{
    struct list_link *node, *spare;
    int rc = -ENOENT;

    pthread_mutex_lock(&door.mutex);
    list_for_each(&door.entries, node, spare)
    {
        struct entry *entry = list_entry(node, struct entry, node);
        int theirs = host_process_is(&entry->process, process) ? find_theirs(entry) : -1;

        if (theirs < 0)
            continue;
        reply_pass_on(entry);
        (void)dup3(entry->client, theirs, O_CLOEXEC);
        list_remove(&entry->node);
        entry_free(entry);
        rc = 0;
        break;
    }
    pthread_mutex_unlock(&door.mutex);
    return rc;
}

void host_entry_connected(const struct host_process *process)
{
    (void)entry_connected(process);
}

int host_entry_tool_connected(void)
{
    struct host_process tool = {.namespace = ""};

    return entry_connected(&tool);
}

static struct entry *entry_take(uint64_t id)
{
    struct list_link *node, *spare;

    list_for_each(&door.entries, node, spare)
    {
        struct entry *entry = list_entry(node, struct entry, node);

        if (entry->id != id)
            continue;
        list_remove(&entry->node);
        return entry;
    }
    return NULL;
}

void host_entry_refused(struct host *host)
{
    struct epoll_event events[REFUSALS];
    int count = epoll_wait(door.refusals, events, REFUSALS, 0);

    assert(door.refusals >= 0);
    for (int i = 0; i < count; i++) {
        struct pmi_process process;
        struct entry *entry;

        pthread_mutex_lock(&door.mutex);
        entry = entry_take(events[i].data.u64);
        pthread_mutex_unlock(&door.mutex);
        if (entry == NULL)
            continue;
        if (entry->process.namespace[0] != 0) {
            host_job_spoiled(host, &entry->process);
            process = host_job_pmi(host, &entry->process);
            host->ops.rejected(host->ops.context, &process);
        }
        reply_pass_on(entry);
        entry_free(entry);
    }
}
