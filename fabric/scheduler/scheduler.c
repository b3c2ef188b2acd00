/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sources: their file, their descriptors and their thread.  The file is looked at by a timer, as a
 * notification of its folder does not come for changes that another machine makes.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/time.h"
#include "fabric/file_read.h"
#include "fabric/scheduler/scheduler_private.h"
#include "fabric/topology/fabric_read.h"

#define FILE_BYTES_MAX      (256u * 1024 * 1024)
#define INTERVAL_MS_DEFAULT 2000u
#define STALL_MS_DEFAULT    10000u

/* ---- The file ---- */

static int same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int same_state(const struct file_state *a, const struct file_state *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

static int cannot_read(const char *path, int code, struct error *error)
{
    assert(code < 0);
    return error_set(error, code, "cannot read %s: %s", path, strerror(-code));
}

/* The state of the file that stat or fstat has answered for. */
static int state_of(const char *path, const struct stat *info, struct file_state *ret_state,
                    struct error *error)
{
    if (!S_ISREG(info->st_mode))
        return error_set(error, -EINVAL, "cannot read %s: not a regular file", path);
    *ret_state = (struct file_state){info->st_dev, info->st_ino, info->st_size, info->st_mtim,
                                     info->st_ctim};
    return 0;
}

/* Changes within one tick of the system's clock, and of the same size, do not show. */
static int is_young(const struct file_state *state)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - state->modified.tv_sec < 2 || now.tv_sec - state->changed.tv_sec < 2;
}

static int parse(const struct banyan_fabric_source *source, struct buffer *text,
                 struct snapshot *snapshot, struct error *error)
{
    int rc;

    if (source->is_shape)
        return fabric_read_generate(&snapshot->model, source->topology, error);
    rc = fabric_read_text(&snapshot->model, buffer_string(text), text->length_bytes, error);
    if (rc < 0)
        error_prefix(error, "%s", source->topology);
    return rc;
}

/* Makes a snapshot of the text the current one. */
static int take_text(struct banyan_fabric_source *source, struct buffer *text, struct error *error)
{
    struct snapshot *snapshot = memory_allocate_zeroed(sizeof(*snapshot));
    struct snapshot *old;
    int rc = parse(source, text, snapshot, error);

    if (rc < 0) {
        fabric_model_fini(&snapshot->model);
        free(snapshot);
        return rc;
    }
    pthread_mutex_lock(&source->lock);
    old = source->current;
    snapshot->users = 1;
    snapshot->number = old != NULL ? old->number + 1 : 1;
    source->current = snapshot;
    if (old != NULL)
        scheduler_snapshot_release(old);
    pthread_mutex_unlock(&source->lock);
    return 1;
}

static int read_open_file(struct banyan_fabric_source *source, int fd, struct file_state *ret_state,
                          struct error *error)
{
    struct buffer text = {.data = NULL};
    struct stat info;
    uint64_t hash;
    int rc = fstat(fd, &info) < 0 ? cannot_read(source->topology, -errno, error)
                                  : state_of(source->topology, &info, ret_state, error);

    if (rc == 0) {
        rc = file_read_fd(fd, FILE_BYTES_MAX, &text);
        if (rc < 0)
            cannot_read(source->topology, rc, error);
    }
    if (rc == 0) {
        hash = hash_bytes(text.data, text.length_bytes, text.length_bytes);
        if (source->current == NULL || hash != source->text_hash)
            rc = take_text(source, &text, error);
        if (rc >= 0)
            source->text_hash = hash;
    }
    buffer_fini(&text);
    return rc;
}

static int read_file(struct banyan_fabric_source *source, struct file_state *ret_state,
                     struct error *error)
{
    int fd = open(source->topology, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int rc;

    if (fd < 0)
        return cannot_read(source->topology, -errno, error);
    rc = read_open_file(source, fd, ret_state, error);
    close(fd);
    return rc;
}

int scheduler_load(struct banyan_fabric_source *source, int is_forced, struct error *error)
{
    struct file_state state = {.bytes = 0};
    struct stat info;
    int rc;

    if (source->is_shape)
        return source->current == NULL ? take_text(source, NULL, error) : 0;
    rc = stat(source->topology, &info) < 0 ? cannot_read(source->topology, -errno, error)
                                           : state_of(source->topology, &info, &state, error);
    if (rc == 0 && source->has_loaded && same_state(&state, &source->loaded))
        return 0;
    if (!is_forced && source->has_refused && same_state(&state, &source->refused))
        return 0;
    if (!is_forced && !same_state(&state, &source->seen)) {
        source->seen = state;
        return 0;
    }
    if (rc == 0)
        rc = read_file(source, &state, error);
    source->has_refused = rc < 0;
    source->has_loaded = rc >= 0 && !is_young(&state);
    if (rc < 0)
        source->refused = state;
    else
        source->loaded = state;
    return rc;
}

/* ---- Waking, reports, threads ---- */

void scheduler_wake(const struct banyan_fabric_source *source)
{
    static const uint64_t one = 1;

    /* It fails only when the counter is full, and then there is a wake-up already. */
    if (write(source->wake_fd, &one, sizeof(one)) < 0)
        assert(errno == EAGAIN);
}

void scheduler_report(const struct banyan_fabric_source *source, const char *line)
{
    if (source->report != NULL)
        source->report(source->report_user, line);
}

int scheduler_thread_start(pthread_t *ret_thread, void *(*main)(void *), void *context)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(ret_thread, NULL, main, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -rc;
}

/* ---- Dispatching ---- */

static void drain(int fd)
{
    uint64_t count;

    if (read(fd, &count, sizeof(count)) < 0)
        assert(errno == EAGAIN || errno == EINTR);
}

/* The thread that has the turn wakes us if it leaves work. */
static int try_turn(struct banyan_fabric_source *source)
{
    int rc = 0;

    pthread_mutex_lock(&source->lock);
    if (scheduler_turn_is_mine(source)) {
        rc = -EDEADLK;
    } else if (!source->has_turn) {
        scheduler_turn_begin(source);
        rc = 1;
    }
    pthread_mutex_unlock(&source->lock);
    return rc;
}

static int dispatch(struct banyan_fabric_source *source)
{
    struct error error = ERROR_NONE;
    int rc = try_turn(source);

    if (rc == -EDEADLK)
        return rc;
    drain(source->timer_fd);
    drain(source->wake_fd);
    if (rc == 0)
        return 0;
    if (scheduler_load(source, 0, &error) < 0) {
        error_prefix(&error, "the fabric stays as it was");
        scheduler_report(source, error.text);
    }
    pthread_mutex_lock(&source->lock);
    rc = scheduler_update_all(source);
    scheduler_turn_end(source);
    pthread_mutex_unlock(&source->lock);
    return rc;
}

int banyan_fabric_dispatch(struct banyan_fabric_source *source)
{
    return source->mode == BANYAN_FABRIC_MODE_POLLED ? dispatch(source) : -EINVAL;
}

int banyan_fabric_fd(const struct banyan_fabric_source *source)
{
    return source->mode == BANYAN_FABRIC_MODE_POLLED ? source->epoll_fd : -EINVAL;
}

static int is_closing(struct banyan_fabric_source *source)
{
    int answer;

    pthread_mutex_lock(&source->lock);
    answer = source->is_closing;
    pthread_mutex_unlock(&source->lock);
    return answer;
}

static void *source_main(void *context)
{
    struct banyan_fabric_source *source = context;
    struct epoll_event event;

    while (!is_closing(source)) {
        if (epoll_wait(source->epoll_fd, &event, 1, -1) > 0)
            (void)dispatch(source);
    }
    return NULL;
}

/* ---- Opening and closing ---- */

static int check_settings(const struct banyan_fabric_settings *settings, struct error *error)
{
    if (settings == NULL || settings->topology == NULL || settings->topology[0] == '\0')
        return error_set(error, -EINVAL, "the settings name no topology: a file or a shape");
    if (settings->role >= BANYAN_FABRIC_ROLE_COUNT)
        return error_set(error, -EINVAL, "%u is not a role", (unsigned int)settings->role);
    if (settings->mode >= BANYAN_FABRIC_MODE_COUNT)
        return error_set(error, -EINVAL, "%u is not a mode", (unsigned int)settings->mode);
    return 0;
}

static struct banyan_fabric_source *source_create(const struct banyan_fabric_settings *settings)
{
    struct banyan_fabric_source *source = memory_allocate_zeroed(sizeof(*source));
    pthread_condattr_t attributes;

    source->topology = memory_copy_string(settings->topology);
    source->is_shape = fabric_read_is_generated(settings->topology) != 0;
    source->role = settings->role;
    source->mode = settings->mode;
    source->stall_ms = settings->stall_ms > 0 ? settings->stall_ms : STALL_MS_DEFAULT;
    source->report = settings->report;
    source->report_user = settings->report_user;
    source->epoll_fd = source->timer_fd = source->wake_fd = -1;
    list_init(&source->registrations);
    pthread_mutex_init(&source->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&source->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return source;
}

static void source_destroy(struct banyan_fabric_source *source)
{
    const int fds[] = {source->epoll_fd, source->timer_fd, source->wake_fd};

    assert(list_is_empty(&source->registrations));
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    if (source->current != NULL)
        scheduler_snapshot_release(source->current);
    pthread_cond_destroy(&source->changed);
    pthread_mutex_destroy(&source->lock);
    free(source->topology);
    free(source);
}

static int open_descriptors(struct banyan_fabric_source *source, uint32_t interval_ms)
{
    uint64_t interval_ns = (interval_ms > 0 ? interval_ms : INTERVAL_MS_DEFAULT) * NS_PER_MS;
    struct itimerspec timer = {.it_value = {0, 0}};
    struct epoll_event event = {.events = EPOLLIN};

    source->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    source->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    source->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (source->epoll_fd < 0 || source->timer_fd < 0 || source->wake_fd < 0)
        return -errno;
    if (!source->is_shape) {
        timer.it_interval.tv_sec = (time_t)(interval_ns / NS_PER_S);
        timer.it_interval.tv_nsec = (long)(interval_ns % NS_PER_S);
        timer.it_value = timer.it_interval;
    }
    if (timerfd_settime(source->timer_fd, 0, &timer, NULL) < 0 ||
        epoll_ctl(source->epoll_fd, EPOLL_CTL_ADD, source->timer_fd, &event) < 0 ||
        epoll_ctl(source->epoll_fd, EPOLL_CTL_ADD, source->wake_fd, &event) < 0)
        return -errno;
    return 0;
}

static int start(struct banyan_fabric_source *source, uint32_t interval_ms, struct error *error)
{
    int rc = scheduler_load(source, 1, error);

    if (rc < 0)
        return rc;
    assert(source->current != NULL);
    rc = open_descriptors(source, interval_ms);
    if (rc == 0 && source->mode == BANYAN_FABRIC_MODE_THREAD)
        rc = scheduler_thread_start(&source->thread, source_main, source);
    if (rc < 0)
        return error_set(error, rc, "cannot watch %s: %s", source->topology, strerror(-rc));
    return 0;
}

int banyan_fabric_open(const struct banyan_fabric_settings *settings,
                       struct banyan_fabric_source **ret_source, struct banyan_fabric_error *error)
{
    struct banyan_fabric_source *source;
    int rc = check_settings(settings, error);

    if (rc < 0)
        return rc;
    source = source_create(settings);
    rc = start(source, settings->interval_ms, error);
    if (rc < 0)
        source_destroy(source);
    else
        *ret_source = source;
    return rc;
}

int banyan_fabric_close(struct banyan_fabric_source *source)
{
    int rc = 0, is_threaded;

    if (source == NULL)
        return 0;
    is_threaded = source->mode == BANYAN_FABRIC_MODE_THREAD;
    if (is_threaded && pthread_equal(source->thread, pthread_self()))
        rc = -EDEADLK;
    pthread_mutex_lock(&source->lock);
    if (scheduler_turn_is_mine(source))
        rc = -EDEADLK;
    else if (rc == 0 && !list_is_empty(&source->registrations))
        rc = -EBUSY;
    source->is_closing = rc == 0;
    pthread_mutex_unlock(&source->lock);
    if (rc < 0)
        return rc;
    if (is_threaded) {
        scheduler_wake(source);
        pthread_join(source->thread, NULL);
    }
    source_destroy(source);
    return 0;
}

int banyan_fabric_get_plane(struct banyan_fabric_source *source, uint32_t i, char **ret_name)
{
    const struct fabric_model *model;
    int rc = 0;

    if (source->role != BANYAN_FABRIC_ROLE_SCHEDULER)
        return -EPERM;
    pthread_mutex_lock(&source->lock);
    model = &source->current->model;
    if (i < model->planes_count)
        *ret_name = memory_copy_string(fabric_model_name(model, model->planes[i]));
    else
        rc = -ENOENT;
    pthread_mutex_unlock(&source->lock);
    return rc;
}
