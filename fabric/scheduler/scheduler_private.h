/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of libbanyan-fabric share: scheduler.c (sources, their file and thread),
 * scheduler_view.c (the data that a fabric shows), scheduler_update.c (handlers, replacing a view),
 * scheduler_register.c (fabrics), scheduler_query.c (vertices and costs).
 *
 * One thread at a time updates: it holds the source's turn, without the lock while it reads the file,
 * prepares a view or runs a handler.  A view is replaced only by the holder of the turn, with the
 * lock.
 */
#ifndef FABRIC_SCHEDULER_SCHEDULER_PRIVATE_H
#define FABRIC_SCHEDULER_SCHEDULER_PRIVATE_H

#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/list.h"
#include "fabric/topology/fabric_model.h"

#define banyan_fabric_error error
#include "fabric/banyan/fabric.h"

_Static_assert(BANYAN_FABRIC_ERROR_TEXT_BYTES == ERROR_TEXT_BYTES &&
                   BANYAN_FABRIC_NAME_BYTES == FABRIC_NAME_BYTES_MAX + 1 &&
                   BANYAN_FABRIC_COST_MAX == FABRIC_COST_MAX &&
                   BANYAN_FABRIC_COST_NO_WAY == FABRIC_COST_NO_WAY &&
                   BANYAN_FABRIC_COST_SAME_NODE == FABRIC_COST_SAME_NODE,
               "what is installed is what is used here");

/* One reading of the description; only the count changes. */
struct snapshot {
    struct fabric_model model;
    uint64_t number; /* from 1, in the order in which they were current */
    uint32_t users;  /* the source while it is current, views, and updates; guarded by the lock */
};

/* The data of a fabric: one plane of a snapshot. */
struct view {
    struct snapshot *snapshot;
    uint32_t plane;     /* FABRIC_NONE: it has been removed */
    uint32_t *vertices; /* of the model, rising; NULL: all */
    uint32_t count;
    uint16_t **rows; /* one piece of memory with the costs; or NULL */
};

struct handler {
    banyan_fabric_handler *function;
    void *user;
};

struct registration {
    struct list_link link;
    struct banyan_fabric_source *source;
    struct banyan_fabric *fabric; /* NULL: deregistered in its handler, whose caller frees this */
    char *plane;                  /* NULL: the one of the highest priority */
    enum banyan_fabric_matrix matrix;
    uint32_t matrix_vertices;
    struct view view;
    uint64_t refused; /* the number of a snapshot of which no view could be made */
    struct handler *handlers;
    uint32_t handlers_count;
    uint8_t is_moving;  /* its view is being replaced */
    uint8_t is_leaving; /* a thread is in banyan_fabric_deregister */
};

/* What distinguishes one state of a file from another; all zero: it does not exist. */
struct file_state {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec modified;
    struct timespec changed;
};

struct banyan_fabric_source {
    /* Constant. */
    char *topology;
    uint8_t is_shape; /* not a file */
    enum banyan_fabric_role role;
    enum banyan_fabric_mode mode;
    uint32_t stall_ms;
    banyan_fabric_report *report;
    void *report_user;
    int epoll_fd, timer_fd, wake_fd;
    pthread_t thread;

    /* Of the thread that has the turn. */
    struct file_state loaded;  /* the current snapshot's, if has_loaded */
    struct file_state seen;    /* at the last look */
    struct file_state refused; /* could not be read, which has been reported, if has_refused */
    uint8_t has_loaded, has_refused;
    uint64_t text_hash;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a turn, an update or a handler has ended */
    struct list registrations;
    struct snapshot *current;
    uint8_t has_turn, is_closing;
    pthread_t turn; /* whose it is */
};

/* ---- scheduler.c ---- */

/* With the turn, without the lock.  1: there is a new snapshot; 0: the file is as it was; or what is
 * wrong with it.  With is_forced it is read however short ago it has changed, and what is wrong is
 * returned again. */
int scheduler_load(struct banyan_fabric_source *source, int is_forced, struct error *error);
/* Lets the thread, or the caller of banyan_fabric_dispatch, look for work. */
void scheduler_wake(const struct banyan_fabric_source *source);
/* Without the lock. */
void scheduler_report(const struct banyan_fabric_source *source, const char *line);
/* A thread that gets no signals: 0 or a negative errno. */
int scheduler_thread_start(pthread_t *ret_thread, void *(*main)(void *), void *context);

/* ---- scheduler_view.c ---- */

/* With the lock; the last use frees it. */
void scheduler_snapshot_release(struct snapshot *snapshot);
/* A view of the plane and with the matrix that the registration wants; takes one use of the snapshot
 * on success.  A plane that does not exist is FABRIC_NONE, without vertices. */
int scheduler_view_init(struct view *view, struct snapshot *snapshot,
                        const struct registration *registration, struct error *error);
/* With the lock. */
void scheduler_view_fini(struct view *view);

/* ---- scheduler_update.c; with the lock ---- */

void scheduler_turn_begin(struct banyan_fabric_source *source);
void scheduler_turn_end(struct banyan_fabric_source *source);
/* Has this thread the turn: is it in a handler? */
int scheduler_turn_is_mine(const struct banyan_fabric_source *source);
/* Waits for `changed`: 0, or -ETIMEDOUT at the deadline. */
int scheduler_wait(struct banyan_fabric_source *source, const struct timespec *deadline);
/* In stall_ms from now. */
struct timespec scheduler_deadline(const struct banyan_fabric_source *source);
/* With the turn: updates all fabrics that have handlers; how many.  Problems are reported. */
int scheduler_update_all(struct banyan_fabric_source *source);

/* ---- scheduler_register.c ---- */

/* NULL if it is not registered. */
struct registration *scheduler_registration(const struct banyan_fabric *fabric);
/* Writes the view to the fabric.  With the lock. */
void scheduler_registration_show(struct registration *registration);
/* Unlinks and frees.  With the lock. */
void scheduler_registration_destroy(struct registration *registration);

#endif
