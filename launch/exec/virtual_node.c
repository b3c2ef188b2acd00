/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/virtual_node.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

/* 127.1.0.0/16 and what follows up to 127.255.255.254: out of the way of 127.0.0.1, 127.0.1.1 and
 * 127.0.0.53. */
#define VIRTUAL_ADDRESS_BASE 0x7f010000u
#define VIRTUAL_NUMBER_MAX   (0x7fffffffu - 1 - VIRTUAL_ADDRESS_BASE)

static int isolated;

/* The k of "vk" without leading zeros, or 0. */
static uint32_t virtual_number(const char *name)
{
    const char *digits = name + strlen(VIRTUAL_NODE_PREFIX);
    unsigned long number;
    char *end;

    if (strncmp(name, VIRTUAL_NODE_PREFIX, strlen(VIRTUAL_NODE_PREFIX)) != 0 || digits[0] < '1' ||
        digits[0] > '9')
        return 0;
    errno = 0;
    number = strtoul(digits, &end, 10);
    if (*end != '\0' || errno != 0 || number > VIRTUAL_NUMBER_MAX)
        return 0;
    return (uint32_t)number;
}

void virtual_node_address(const char *name, char text[VIRTUAL_NODE_TEXT_BYTES])
{
    uint32_t number = name != NULL ? virtual_number(name) : 0;
    uint32_t address = number > 0 ? VIRTUAL_ADDRESS_BASE + number : 0x7f000001u;

    snprintf(text, VIRTUAL_NODE_TEXT_BYTES, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
             address >> 8 & 255, address & 255);
}

/* In one write, as the files of /proc want it. */
static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t length = strlen(text);
    ssize_t written;

    if (fd < 0)
        return -errno;
    written = write(fd, text, length);
    close(fd);
    return written == (ssize_t)length ? 0 : -EIO;
}

static int map_same(const char *path, unsigned int id)
{
    char text[64];

    snprintf(text, sizeof(text), "%u %u 1", id, id);
    return write_file(path, text);
}

static int enter_namespaces(void)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWUTS | CLONE_NEWNS) == 0)
        return 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWUTS | CLONE_NEWNS) < 0)
        return -errno;
    if (write_file("/proc/self/setgroups", "deny") < 0 || map_same("/proc/self/uid_map", uid) < 0 ||
        map_same("/proc/self/gid_map", gid) < 0)
        return -EPERM;
    return 0;
}

/* Only /dev/shm is cut off from the system's mounts: cutting off all costs more the more there are. */
static int mount_shared_memory(void)
{
    if (mount(NULL, "/dev/shm", NULL, MS_PRIVATE, NULL) < 0 &&
        mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) < 0)
        return -errno;
    if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
        return -errno;
    return 0;
}

static void isolate_node(const char *name)
{
    int rc = enter_namespaces();

    if (rc == 0 && sethostname(name, strlen(name)) < 0)
        rc = -errno;
    if (rc == 0)
        rc = mount_shared_memory();
    isolated = rc == 0;
    if (rc < 0)
        log_info("virtual node %s shares the machine's host name or /dev/shm: %s", name,
                 strerror(-rc));
}

int virtual_node_enter(const char *name, const char *base, struct error *error)
{
    char path[4096];

    isolate_node(name);
    if (base == NULL)
        return 0;
    if (snprintf(path, sizeof(path), "%s/%s", base, name) >= (int)sizeof(path))
        return error_set(error, -ENAMETOOLONG,
                         "the path of the directory for virtual nodes is too long");
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_set(error, -errno, "cannot create %s: %s", path, strerror(errno));
    setenv("TMPDIR", path, 1);
    return 0;
}

int virtual_node_is_isolated(void)
{
    return isolated;
}
