/* SPDX-License-Identifier: BSD-3-Clause */
/* Where tools connect, launch/rank/tool_door.c: the files that name the address, and who is let in there. */
#include "config.h"

#include "launch/rank/tool_door.h"
#include "test/support/tap.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/time.h"

#define TRIES      20000
#define BODY_BYTES 64
#define KIND_NONE  3
#define KIND_NAMED 4

static struct loop *loop;
static struct loop_timer *tick;
static char directory[] = "/tmp/tool_door.XXXXXX";
static unsigned int admitted;
static char last_name[PMI_NAMESPACE_BYTES];

static void on_tool(void *context, int fd, const struct hello *hello, const void *message,
                    size_t message_bytes)
{
    admitted++;
    memcpy(last_name, hello->namespace, sizeof(last_name));
    close(fd);
}

static void on_tick(void *context)
{
    loop_stop(loop);
}

/* The names of the files, sorted, without what all begin with; removes them if asked to. */
static char *list_files(int remove_them)
{
    struct buffer text = {0};
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, alphasort);
    size_t bytes;

    for (int i = 0; i < count; i++) {
        const char *name = strstr(entries[i]->d_name, ".tool.");
        char *path = memory_printf("%s/%s", directory, entries[i]->d_name);

        if (name != NULL)
            buffer_printf(&text, "%s ", name + 6);
        if (name != NULL && remove_them)
            (void)unlink(path);
        free(path);
        free(entries[i]);
    }
    free(entries);
    (void)buffer_string(&text);
    return buffer_take(&text, &bytes);
}

static void has_files(const char *expected, const char *name)
{
    char *files = list_files(0);

    is_string(files, expected, "%s", name);
    free(files);
}

/* The port in the file of that name. */
static unsigned int port_of(const char *name)
{
    char host[256] = "", line[256] = "", *path;
    unsigned int port = 0, mode = 0;
    struct stat facts;
    FILE *file;

    (void)gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = 0;
    path = memory_printf("%s/pmix.%s.tool.%s", directory, host, name);
    file = fopen(path, "r");
    if (file != NULL && stat(path, &facts) == 0)
        mode = facts.st_mode & 0777;
    is_uint(mode, 0600, "%s is only for its user", name);
    if (file != NULL && fgets(line, sizeof(line), file) != NULL)
        (void)sscanf(line, "server.3;tcp4://127.0.0.1:%u\n", &port);
    if (file != NULL)
        fclose(file);
    free(path);
    return port;
}

/* A first message; returns what the door answers to it, 0: the connection is closed. */
static int32_t knock(unsigned int port, uint8_t kind, const char *name)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    char message[HELLO_HEADER_BYTES + BODY_BYTES] = {0}, *at = message + HELLO_HEADER_BYTES;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint32_t bytes, answer = 0;
    ssize_t got = -1;

    at = stpcpy(at, "native") + 1 + 4; /* no credential */
    *at++ = (char)kind;
    if (kind != 0)
        at += 8; /* its user and group */
    if (kind != KIND_NONE)
        at = stpcpy(at, name) + 1 + 4;
    at = stpcpy(at, "4.2.2") + 1;
    bytes = (uint32_t)(at - message - HELLO_HEADER_BYTES);
    memcpy(message + 8, &bytes, sizeof(bytes));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        send(fd, message, (size_t)(at - message), 0) != at - message)
        bail_out("a tool cannot connect: %s", strerror(errno));
    for (int i = 0; i < TRIES && got < 0; i++) {
        loop_timer_set(tick, loop_now_ns() + NS_PER_MS);
        (void)loop_run(loop);
        got = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
    }
    close(fd);
    return got == sizeof(answer) ? (int32_t)ntohl(answer) : 0;
}

static void test_files(struct tool_door *door)
{
    unsigned int port = port_of("77");

    has_files("77 server ", "a server has two names");
    tool_door_add_job(door, 1, "job-1");
    tool_door_add_job(door, 2, "job-2");
    has_files("77 job-1 job-2 server ", "and those of its jobs");
    ok(port > 0 && port_of("job-1") == port && port_of("server") == port, "all of one address");
    tool_door_remove_job(door, 1);
    has_files("77 job-2 server ", "until they end");
}

static void test_tools(unsigned int port)
{
    is_int(knock(port, KIND_NONE, NULL), 0, "a tool without a name");
    is_uint(admitted, 1, "is let in");
    is_string(last_name, "", "as such");
    is_int(knock(port, KIND_NAMED, "my.tool"), 0, "one with a name");
    is_uint(admitted, 2, "is, too");
    is_string(last_name, "my.tool", "by its name");
    is_int(knock(port, KIND_NAMED, "banyan-x-1"), PMI_DOOR_NOT_PERMITTED,
           "one that calls itself like a job is not");
    is_int(knock(port, 0, "banyan-x-1"), PMI_DOOR_NOT_SUPPORTED, "nor is a process of a job");
    is_int(knock(port, 5, "x"), PMI_DOOR_NOT_SUPPORTED, "nor a tool that a server has started");
    is_uint(admitted, 2, "nobody else is");
}

int main(void)
{
    struct error error = ERROR_NONE;
    struct tool_door_config config = {
        .namespace = "server", .rank = 3, .pid = 77, .admit = on_tool, .directory = directory};
    struct tool_door *door;
    char *files;

    loop = config.loop = loop_create(&error);
    if (loop == NULL || mkdtemp(directory) == NULL)
        bail_out("%s %s", error.text, strerror(errno));
    tick = loop_timer_create(loop, on_tick, NULL);
    door = tool_door_open(&config);
    if (door == NULL)
        bail_out("no door");
    test_files(door);
    test_tools(port_of("server"));
    tool_door_close(door);
    tool_door_close(NULL);
    tool_door_add_job(NULL, 1, "x");
    tool_door_remove_job(NULL, 1);
    files = list_files(1);
    free(files);
    (void)rmdir(directory);
    loop_timer_destroy(tick);
    loop_destroy(loop);
    return done_testing();
}
