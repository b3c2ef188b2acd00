/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a scheduler asks of the network: the interface of libbanyan-fabric, described in
 * banyan_fabric(3).  A source reads what describes a fabric.  A fabric that is registered with it has
 * a vertex for each NIC of one network plane, numbered from 0, and the cost of communication from any
 * vertex to any other.  When the description changes the source announces an update, waits until all
 * handlers of a fabric have returned, replaces the fabric's data and announces that it may be used
 * again.
 *
 * The data of a registered fabric (its fields, commcost, and what the get_ routines answer) is
 * replaced at two times only: after its handlers have returned from BANYAN_FABRIC_UPDATE_PENDING, and
 * in banyan_fabric_update.  It takes no lock to read: who reads in one thread must have stopped
 * before the handlers return or banyan_fabric_update is called in another.  Everything else may be
 * called by any thread at any time, unless the routine says otherwise.
 *
 * Routines that return int return 0 or more on success and a negative errno on failure, in which case
 * results are unchanged.  Memory: about 160 bytes for each NIC and, where commcost is filled, two
 * bytes for each pair; both twice while an update is prepared.
 */
#ifndef FABRIC_BANYAN_FABRIC_H
#define FABRIC_BANYAN_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Costs have no dimension: 1 is one link of an unloaded fabric, unless the description has costs. */
#define BANYAN_FABRIC_COST_SAME_NODE 1u     /* from one NIC of a node to another */
#define BANYAN_FABRIC_COST_MAX       65534u /* larger sums are this */
#define BANYAN_FABRIC_COST_NO_WAY    65535u /* no switch is above both vertices */

#define BANYAN_FABRIC_NAME_BYTES       256 /* of a NIC, a node, a switch or a plane, with the NUL */
#define BANYAN_FABRIC_MATRIX_VERTICES  16384 /* up to which commcost is filled by default: 512 MiB */
#define BANYAN_FABRIC_ERROR_TEXT_BYTES 1024  /* of struct banyan_fabric_error */

struct banyan_fabric_source;

/* A registered fabric.  Zero it, or use BANYAN_FABRIC_NONE, before it is registered, and let it stay
 * where it is until it is deregistered: the source writes to it. */
struct banyan_fabric {
    const char *name;    /* the caller's, NULL or letters, digits and "._:-"; never changed */
    size_t index;        /* of its network plane, 0 has the highest priority; SIZE_MAX: removed */
    uint16_t **commcost; /* [from][to], nverts times nverts; NULL if it is not filled */
    uint32_t nverts;     /* vertices, 0 if the plane has been removed */
    void *module;        /* the source's; NULL: not registered */
};

#define BANYAN_FABRIC_NONE     \
    {                          \
        NULL, 0, NULL, 0, NULL \
    }

/* Inside banyan this one has the name of base/. */
#ifndef banyan_fabric_error
/* An error as text.  May be NULL wherever a routine takes one; filled when the routine fails. */
struct banyan_fabric_error {
    int code; /* negative errno, the same that the routine returned */
    char text[BANYAN_FABRIC_ERROR_TEXT_BYTES]; /* one line without newline */
};
#endif

/* What the calling program is.  Only a scheduler may see the whole fabric. */
enum banyan_fabric_role {
    BANYAN_FABRIC_ROLE_NONE, /* planes, registration: -EPERM */
    BANYAN_FABRIC_ROLE_SCHEDULER,
    BANYAN_FABRIC_ROLE_COUNT
};

/* Which thread calls handlers, beside those that call banyan_fabric_update. */
enum banyan_fabric_mode {
    BANYAN_FABRIC_MODE_THREAD, /* one of the source, with all signals blocked */
    BANYAN_FABRIC_MODE_POLLED, /* the one that calls banyan_fabric_dispatch; the source has no thread */
    BANYAN_FABRIC_MODE_COUNT
};

enum banyan_fabric_event {
    BANYAN_FABRIC_UPDATE_PENDING, /* stop reading the data, then return */
    BANYAN_FABRIC_UPDATED,        /* the data may be used again; indexes may have other vertices */
    BANYAN_FABRIC_EVENT_COUNT
};

/* Called for each event of its fabric.  It may deregister its fabric, register others, and read the
 * data; banyan_fabric_update and banyan_fabric_dispatch return -EDEADLK.  Handlers of a source run one
 * at a time, those of a fabric in the order in which they were added. */
typedef void banyan_fabric_handler(void *user, enum banyan_fabric_event event,
                                   struct banyan_fabric *fabric);

/* Called with a line without newline, by any thread of the source or by one in
 * banyan_fabric_dispatch: a description that cannot be read, a handler that does not return.  It must
 * not call this library. */
typedef void banyan_fabric_report(void *user, const char *line);

/* Zero what is not set: 0 and NULL are the defaults. */
struct banyan_fabric_settings {
    /* A file, or a shape: Slurm's topology.conf, its nodes' addresses, the output of ibnetdiscover(8), JSON,
     * "fat-tree:16x8x4" or "dragonfly:4x8x16"; see banyan-fabric(1).  Must be set. */
    const char *topology;
    enum banyan_fabric_role role;
    enum banyan_fabric_mode mode;
    /* How often the file is looked at, 2,000 by default.  It is read when it has changed and has then
     * been the same for one interval. */
    uint32_t interval_ms;
    /* After how long a handler that has not returned is reported, and other calls that wait for it
     * give up; 10,000 by default. */
    uint32_t stall_ms;
    banyan_fabric_report *report; /* NULL: nobody is */
    void *report_user;
};

/* ---- Sources ---- */

/* Reads the description, and starts the thread in BANYAN_FABRIC_MODE_THREAD.  Fails with what the
 * system says of the file, -EINVAL and others for what the file says.  Takes three descriptors, all
 * close-on-exec.  The strings of settings are copied. */
int banyan_fabric_open(const struct banyan_fabric_settings *settings,
                       struct banyan_fabric_source **ret_source, struct banyan_fabric_error *error);
/* Ends the thread and frees the source.  -EBUSY while fabrics are registered, -EDEADLK in a report;
 * no other thread may be using the source.  NULL is fine. */
int banyan_fabric_close(struct banyan_fabric_source *source);
/* The name of plane i as a string that the caller frees with free(); "" if planes have no names.
 * Planes are numbered from 0, by falling priority, which is the order in which the description has
 * them.  -ENOENT from the number of planes on, -EPERM in any role but the scheduler's. */
int banyan_fabric_get_plane(struct banyan_fabric_source *source, uint32_t i, char **ret_name);
/* BANYAN_FABRIC_MODE_POLLED: a descriptor that is readable, for poll(2) or any event library, when
 * banyan_fabric_dispatch has something to do: once each interval, and after changes.  -EINVAL in the
 * other mode.  Do not read it or close it. */
int banyan_fabric_fd(const struct banyan_fabric_source *source);
/* BANYAN_FABRIC_MODE_POLLED: looks at the file, if it has changed reads it, and updates all fabrics
 * that have handlers, which are called before and after.  Returns the number of fabrics updated, 0
 * also if another thread is updating; -EINVAL in the other mode, -EDEADLK in a handler. */
int banyan_fabric_dispatch(struct banyan_fabric_source *source);

/* ---- Fabrics ---- */

enum banyan_fabric_matrix {
    BANYAN_FABRIC_MATRIX_WITHIN_LIMIT, /* commcost is filled for up to matrix_vertices vertices */
    BANYAN_FABRIC_MATRIX_REQUIRED,     /* likewise; with more the fabric is refused: -E2BIG */
    BANYAN_FABRIC_MATRIX_NONE,         /* commcost is NULL: banyan_fabric_get_cost answers */
    BANYAN_FABRIC_MATRIX_COUNT
};

/* Zero what is not set. */
struct banyan_fabric_directives {
    const char *plane; /* NULL: the one of the highest priority, whichever that is */
    enum banyan_fabric_matrix matrix;
    uint32_t matrix_vertices; /* 0: BANYAN_FABRIC_MATRIX_VERTICES */
};

/* Fills index, commcost, nverts and module.  directives may be NULL.  -EPERM in any role but the
 * scheduler's, -EALREADY if the fabric is registered, -EINVAL if its name has other characters than
 * it may have, -ENOENT if there is no such plane, -E2BIG, -ENOMEM if commcost does not fit.  All
 * other routines that take a fabric return -EBADF if it is not registered.  A fabric may be
 * registered in a handler.  O(vertices), or O(vertices^2) where commcost is filled: 10^8 pairs take
 * 0.2 s. */
int banyan_fabric_register(struct banyan_fabric_source *source, struct banyan_fabric *fabric,
                           const struct banyan_fabric_directives *directives,
                           struct banyan_fabric_error *error);
/* Frees the fabric's data and its handlers, and clears all fields but the name.  During an update of
 * this fabric it waits until the running handler has returned; no other handler is called, there is
 * no BANYAN_FABRIC_UPDATED, and if that handler does not return for stall_ms: -EBUSY, and the fabric
 * stays registered.  In a handler of this fabric it does not wait: the fabric is deregistered at
 * once, but the old costs may be read until the handler returns.  -EALREADY if another thread is in
 * this routine with the same fabric. */
int banyan_fabric_deregister(struct banyan_fabric *fabric, struct banyan_fabric_error *error);
/* Adds a handler.  From then on, updates of this fabric no longer wait for banyan_fabric_update. */
int banyan_fabric_add_handler(struct banyan_fabric *fabric, banyan_fabric_handler *handler,
                              void *user);
/* Reads the file now if it has changed, and replaces the fabric's data if it is not that of the
 * file: returns 1 then, else 0.  Handlers of this fabric are called, in this thread; other fabrics
 * follow as usual.  Fails, and the data stays, with what is wrong with the file; -EBUSY if another
 * thread is updating and does not end within stall_ms; -EDEADLK in a handler. */
int banyan_fabric_update(struct banyan_fabric *fabric, struct banyan_fabric_error *error);

/* ---- Vertices and costs; all read the fabric's data ---- */

struct banyan_fabric_vertex {
    char nic[BANYAN_FABRIC_NAME_BYTES];    /* unique in the source */
    char plane[BANYAN_FABRIC_NAME_BYTES];  /* "" if planes have no names */
    char parent[BANYAN_FABRIC_NAME_BYTES]; /* the switch that it is connected to */
    uint16_t up;                           /* what the link to that switch costs */
    uint16_t down;                         /* and from it */
};

/* Vertex i, and the name of its node as a string that the caller frees with free().  -EINVAL if i is
 * not below nverts. */
int banyan_fabric_get_vertex_info(const struct banyan_fabric *fabric, uint32_t i,
                                  struct banyan_fabric_vertex *ret_vertex, char **ret_node);
/* The index of a vertex, found by its nic; the other fields are not used.  -ENOENT if this fabric
 * does not have it, -EINVAL if nic is empty or has no NUL.  O(log nverts). */
int banyan_fabric_get_index(const struct banyan_fabric *fabric,
                            const struct banyan_fabric_vertex *vertex, uint32_t *ret_i);
/* The cost from one vertex to another, 0 to itself, with or without commcost: 0 to 65535, or -EINVAL
 * if one is not below nverts.  O(levels of switches), no lock, no system call. */
int banyan_fabric_get_cost(const struct banyan_fabric *fabric, uint32_t from, uint32_t to);
/* Rows first to first + count - 1 of what commcost is or would be: count times nverts costs, to
 * ret_costs.  -EINVAL if there are no such rows. */
int banyan_fabric_get_rows(const struct banyan_fabric *fabric, uint32_t first, uint32_t count,
                           uint16_t *ret_costs);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
