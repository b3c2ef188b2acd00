/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugin's host on one thread: from the first host_table.wait on the libpmix of this machine has no
 * progress thread, and what it is told to do happens all the same.
 */
#include "config.h"

#include "pmix/host.h"
#include "test/support/tap.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define HANG_S 60
#define JOB    7

static const struct host_table *table;
static int opened_status, provided_status, other_threads;

static unsigned int threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned int count = 0;

    while (tasks != NULL && readdir(tasks) != NULL)
        count++;
    closedir(tasks);
    return count - 2;
}

static pthread_t self;

static void note_thread(void)
{
    other_threads += !pthread_equal(self, pthread_self());
}

static void on_opened(void *context, uint32_t job, int status, const char *why, int32_t pid)
{
    note_thread();
    opened_status = status;
}

static void on_provided(void *context, uint32_t job, uint64_t id, int status, const void *data,
                        size_t data_bytes)
{
    note_thread();
    provided_status = status;
}

static struct host *host_new(const char *directory)
{
    static const struct pmi_ops ops = {.opened = on_opened, .provided = on_provided};
    struct host_config config = {
        .directory = directory, .node_name = "n1", .server_namespace = "banyan-test", .ops = &ops};
    struct error error = ERROR_NONE;
    struct host *host = table->create(&config, &error);

    if (host == NULL)
        diag("%s", error.text);
    return host;
}

static void open_job(struct host *host)
{
    static const uint32_t ranks[] = {0, 1}, apps[] = {0, 0};
    struct pmi_job job = {
        .number = JOB,
        .namespace = "space.7",
        .size = 2,
        .universe_size = 2,
        .apps_count = 1,
        .job_id = "test",
        .node_names = "n1",
        .ranks_by_node = "0,1",
        .directory = "/nonexistent",
        .uid = getuid(),
        .gid = getgid(),
        .local_ranks = ranks,
        .local_apps = apps,
        .local_count = 2,
    };

    opened_status = 1;
    table->job_open(host, &job);
}

static void test_job(struct host *host, int fd)
{
    struct pmi_process first = {JOB, 0};
    int came = 0;

    open_job(host);
    is_int(opened_status, 0, "a job is registered without it");
    provided_status = 1;
    table->events.provide(host, 1, &first, "");
    table->events.gone(host, &first);
    while (provided_status > 0) {
        came = table->wait(host, fd);
        if (came & HOST_OWN)
            table->process(host);
    }
    ok(came & HOST_OWN, "what libpmix posts is seen by wait");
    is_int(provided_status, -ESRCH, "it answers that a process is gone");
    is_int(other_threads, 0, "and everything is told on the one thread");
    table->job_close(host, JOB);
}

int main(void)
{
    const char *objects = getenv("BANYAN_PKGLIBDIR");
    char directory[] = "/tmp/host_loop.XXXXXX", text[512];
    void *plugin;
    int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    unsigned int before;
    struct host *host;
    uint64_t count;
    int status;

    snprintf(text, sizeof(text), "%s/pmix_host.so", objects != NULL ? objects : ".libs");
    plugin = dlopen(text, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        skip_all("%s", dlerror());
    alarm(HANG_S);
    self = pthread_self();
    table = dlsym(plugin, "host_table");
    host = mkdtemp(directory) != NULL ? host_new(directory) : NULL;
    ok(host != NULL, "the host starts");
    if (host == NULL)
        return done_testing();
    before = threads();
    is_int(table->wait(host, fd), HOST_FD, "wait sees the caller's descriptor");
    is_uint(threads(), before - 1, "and libpmix has a thread less than it had");
    ok(read(fd, &count, sizeof(count)) == sizeof(count), "it is read");
    test_job(host, fd);
    snprintf(text, sizeof(text), "rm -r %s", directory);
    is_int(system(text), 0, "its files are removed"); /* the host lives on: it needs none of them */
    status = done_testing();
    fflush(stdout);
    _exit(status); /* as its process does: libpmix gives nothing back at the end */
}
