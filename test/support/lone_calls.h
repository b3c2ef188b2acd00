/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests of what a lone core (lone_core.h) asks others and answers: the tree, the clock, a timer and a client, which
 * write down as text what they are told.
 */
#ifndef TEST_SUPPORT_LONE_CALLS_H
#define TEST_SUPPORT_LONE_CALLS_H

#include "test/support/lone_core.h"

struct lone_calls {
    struct buffer text;
    uint32_t last_id; /* of a request to another place */
    uint64_t now_ns;
    uint64_t due_ns; /* of the timer */
    enum daemon_timer timer;
    void (*print_answer)(const void *data, size_t bytes); /* into text */
    void (*print_request)(uint32_t place, const struct message *message);
};

extern struct lone_calls lone_calls; /* the test sets the last three members */

extern const struct daemon_tree_ops lone_calls_tree;
/* Operations of the daemon and of its clients. */
uint64_t lone_calls_now_ns(void *context);
void lone_calls_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns);
void lone_calls_client_send(void *context, uint32_t client, uint8_t type, const void *data,
                            size_t bytes);

/* "PLACE is asked about PLACES within N ms" */
void lone_calls_print_request(uint32_t place, const struct ranges *places, uint32_t patience_ms);
/* A root with all nodes, which a client has greeted, and has_job: with a job on all of them.  Nothing is written down. */
struct daemon_core *lone_calls_root(const struct daemon_ops *ops, uint32_t client, bool has_job);
/* The timer is due. */
void lone_calls_wait(struct daemon_core *core, enum daemon_timer timer);
/* Checks of a root that is asked and whose client then goes away, or that ends itself. */
void lone_calls_test_gone(const struct daemon_ops *ops, uint32_t client, bool has_job,
                          enum daemon_timer timer, void (*ask)(struct daemon_core *core));
/* Is this what has been written down since the last call? */
void lone_calls_heard(const char *expected, const char *name);

#endif
