/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "pmix/host_allocation.h"
#include "pmix/host_client.h"
#include "pmix/host_control.h"
#include "pmix/host_credential.h"
#include "pmix/host_delta.h"
#include "pmix/host_entry.h"
#include "pmix/host_event.h"
#include "pmix/host_fabric.h"
#include "pmix/host_fence.h"
#include "pmix/host_group.h"
#include "pmix/host_internal.h"
#include "pmix/host_job.h"
#include "pmix/host_listener.h"
#include "pmix/host_loop.h"
#include "pmix/host_modex.h"
#include "pmix/host_query.h"
#include "pmix/host_names.h"
#include "pmix/host_pull.h"
#include "pmix/host_push.h"
#include "pmix/host_request.h"
#include "pmix/host_spawn.h"
#include "pmix/host_status.h"
#include "pmix/host_thread.h"
#include "pmix/host_tool.h"
#include "pmix/host_environment.h"

#include <pmix.h>

/* Settings that libpmix and hwloc read while they start.  They are in the environment only for that
 * time; an existing one takes precedence, unless it is forced.
 *
 * gds: how job data reaches clients is the library's choice (version 4 has ds21 and hash, version 5
 * shmem2 and hash), except ds12 of version 4, which serves only clients of version 2 and prints an
 * error when the listener is replaced. hwloc: reading every PCI device and looking for plugins
 * (X11, OpenCL) takes 10 of the 13 ms of PMIx_server_init on a 2-core machine; without them the
 * topology has no I/O devices.  iof_cache: libpmix would keep a million pieces of output without a reader. */
static const struct {
    const char *name;
    const char *value;
    int forced;
    int without_devices;
} settings[] = {
    {"PMIX_MCA_gds", "^ds12", 1, 0},
    {"PMIX_MCA_pmix_max_iof_cache", "1", 1, 0},
    {"HWLOC_COMPONENTS", "-linux:pci", 0, 1},
    {"HWLOC_PLUGINS_PATH", "/nonexistent", 0, 1},
};

#define SETTINGS_COUNT (sizeof(settings) / sizeof(settings[0]))

/* libpmix itself refuses a missing upcall with NOT_SUPPORTED. */
static pmix_server_module_t module = {
    .client_connected2 = host_client_connected,
    .client_finalized = host_client_finalized,
    .abort = host_client_abort,
    .fence_nb = host_fence_upcall,
    .direct_modex = host_modex_upcall,
    .connect = host_connect_upcall,
    .disconnect = host_disconnect_upcall,
    .group = host_group_upcall,
    .publish = host_names_publish,
    .lookup = host_names_lookup,
    .unpublish = host_names_unpublish,
    .log = host_client_log,
    .query = host_query,
    .spawn = host_spawn_upcall,
    .register_events = host_event_register,
    .deregister_events = host_event_deregister,
    .notify_event = host_event_upcall,
    .allocate = host_allocation_upcall,
    .job_control = host_control,
    .get_credential = host_credential_get,
    .validate_credential = host_credential_validate,
    .iof_pull = host_pull_upcall,
    .push_stdin = host_push_upcall,
    .tool_connected = host_tool_connected,
    .fabric = host_fabric_upcall,
};

/* Sets the settings; set[i] records which of them must be undone. */
static void settings_apply(int with_devices, char **saved, int *set)
{
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const char *old = getenv(settings[i].name);

        set[i] =
            (old == NULL || settings[i].forced) && !(with_devices && settings[i].without_devices);
        saved[i] = old == NULL ? NULL : memory_copy_string(old);
        if (set[i])
            setenv(settings[i].name, settings[i].value, 1);
    }
}

static void settings_restore(char **saved, const int *set)
{
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        if (set[i] && saved[i] != NULL)
            setenv(settings[i].name, saved[i], 1);
        else if (set[i])
            unsetenv(settings[i].name);
        free(saved[i]);
    }
}

/* libpmix's output to the daemon's standard error, mostly about clients that died, goes to a file
 * next to its others; the descriptor stays open as long as libpmix runs. */
static void output_redirect(const char *directory)
{
    char *path = memory_printf("%s/libpmix.log", directory), text[16];
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    free(path);
    if (fd < 0)
        return;
    snprintf(text, sizeof(text), "%d", fd);
    setenv("PMIX_OUTPUT_STDERR_FD", text, 1);
}

static pmix_status_t server_start(const struct host_config *config)
{
    char *saved[SETTINGS_COUNT];
    int set[SETTINGS_COUNT];
    sigset_t all, old;
    pmix_info_t info[7];
    pmix_rank_t rank = config->server_rank;
    bool no = false;
    pmix_status_t status;

    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, config->directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, config->directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_SERVER_NSPACE, config->server_namespace, PMIX_STRING);
    PMIX_INFO_LOAD(&info[3], PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&info[4], PMIX_HOSTNAME, config->node_name, PMIX_STRING);
    PMIX_INFO_LOAD(&info[5], PMIX_SERVER_SHARE_TOPOLOGY, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[6], PMIX_IOF_LOCAL_OUTPUT, &no, PMIX_BOOL);
    output_redirect(config->directory);
    settings_apply(config->topology_devices, saved, set);
    /* Its threads inherit the mask: they get no signals of the daemon, and no SIGPIPE when they
     * write to a client that has exited. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    status = PMIx_server_init(&module, info, sizeof(info) / sizeof(info[0]));
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    settings_restore(saved, set);
    unsetenv("PMIX_OUTPUT_STDERR_FD");
    for (size_t i = 0; i < sizeof(info) / sizeof(info[0]); i++)
        PMIX_INFO_DESTRUCT(&info[i]);
    return status;
}

/* An enclosing launcher's PMIX_* variables would be taken for settings of our server. */
static void environment_clean(void)
{
    char **entry = environ;

    /* unsetenv moves the rest of the array down by one. */
    while (entry != NULL && *entry != NULL) {
        char *name = memory_printf("%.*s", (int)strcspn(*entry, "="), *entry);

        if (host_environment_is_foreign(name))
            unsetenv(name);
        else
            entry++;
        free(name);
    }
}

/* Makes libpmix listen where only this user can connect. */
static int server_listen(struct host_listener *listener, const char *directory, struct error *error)
{
    int fd = host_entry_listen(directory, error), rc;

    if (fd < 0)
        return fd;
    rc = host_listener_hand_over(listener, fd, error);
    close(fd);
    return rc;
}

static int library_start(const struct host_config *config, struct error *error)
{
    struct host_listener listener;
    pmix_status_t status;
    int rc = host_listener_prepare(&listener, error);

    if (rc < 0)
        return rc;
    environment_clean();
    status = server_start(config);
    if (status != PMIX_SUCCESS)
        return error_set(error, host_status_to_errno(status), "libpmix cannot start its server: %s",
                         PMIx_Error_string(status));
    host_event_open();
    return server_listen(&listener, config->directory, error);
}

/* A failed creation is not retried. */
static struct host *host_create(const struct host_config *config, struct error *error)
{
    struct host *host;

    if (host_thread_open(error) < 0)
        return NULL;
    host = host_state_create(config);
    host_pull_open();
    host_push_open();
    if (library_start(config, error) < 0 || host_entry_watch(host_thread_descriptor(), error) < 0)
        return NULL;
    return host;
}

static void host_process(struct host *host)
{
    host_entry_refused(host);
    host_thread_run(host);
    host_pull_run(host);
}

static int host_descriptor(const struct host *host)
{
    return host_entry_descriptor();
}

static int host_wait(struct host *host, int fd)
{
    return host_loop_wait(fd, host_entry_descriptor());
}

/* Open requests are answered before libpmix forgets the job, since it handles calls in order. */
static void job_close(struct host *host, uint32_t number)
{
    struct pmi_process everyone = {.job = number, .rank = PMI_RANK_ALL};
    struct host_process named;

    if (host_job_process(host, &everyone, &named) < 0)
        return;
    host_fence_fail(host, named.namespace, -ECANCELED);
    host_modex_fail(host, named.namespace, -ESRCH);
    host_client_fail(host, named.namespace, 0);
    host_request_fail(host, named.namespace, -ECANCELED);
    host_credential_fail(host, named.namespace, -ECANCELED);
    host_job_close(host, number);
    host_delta_close(named.namespace);
}

/* pmi_events.done: ids are unique among all requests. */
static void host_done(void *speaker, uint64_t id, int status, const void *data, size_t data_bytes)
{
    struct host *host = speaker;

    if (!host_fence_done(host, id, status, data, data_bytes) &&
        !host_modex_done(host, id, status, data, data_bytes) &&
        !host_request_done(host, id, status, data, data_bytes))
        host_client_abort_done(host, id, status);
}

static void host_provide(void *speaker, uint64_t id, const struct pmi_process *process,
                         const char *key)
{
    host_modex_provide(speaker, id, process, key);
}

static void host_gone(void *speaker, const struct pmi_process *process)
{
    struct host_process named;

    if (host_job_process(speaker, process, &named) < 0)
        return;
    host_job_process_gone(speaker, &named);
    host_modex_process_gone(speaker, &named);
}

static void host_notice(void *speaker, enum pmi_notice_kind kind, const struct pmi_process *process,
                        const void *data, size_t data_bytes)
{
    assert(kind < PMI_NOTICE_KIND_COUNT);
    if (kind == PMI_NOTICE_EVENT)
        host_event_deliver(speaker, data, data_bytes);
    else
        host_pull_output(speaker, process,
                         kind == PMI_NOTICE_OUTPUT_END ? 0 : (kind == PMI_NOTICE_STDOUT ? 1 : 2),
                         data, data_bytes);
}

struct check {
    uint64_t id;
    host_checked_function *answered;
    void *context;
};

static void on_check_done(pmix_status_t status, void *context)
{
    struct check *check = context;

    check->answered(check->context, check->id);
    free(check);
}

/* To forget a client that there is not costs libpmix nothing, but it takes its turn. */
static void host_check(struct host *host, uint64_t id, host_checked_function *answered,
                       void *context)
{
    struct check *check = memory_allocate_zeroed(sizeof(*check));
    pmix_proc_t nobody;

    check->id = id;
    check->answered = answered;
    check->context = context;
    PMIX_LOAD_PROCID(&nobody, "nobody", 0);
    PMIx_server_deregister_client(&nobody, on_check_done, check);
}

__attribute__((visibility("default"))) const struct host_table host_table = {
    .abi = HOST_ABI,
    .create = host_create,
    .descriptor = host_descriptor,
    .process = host_process,
    .wait = host_wait,
    .job_open = host_job_open,
    .job_close = job_close,
    .admit = host_entry_admit,
    .check = host_check,
    .events = {.done = host_done,
               .provide = host_provide,
               .gone = host_gone,
               .notice = host_notice},
};
