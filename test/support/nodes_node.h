/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One node of test/support/nodes.h, and the messages between it and the middle of the star: one packet
 * each, a struct node_message and data.
 */
#ifndef TEST_SUPPORT_NODES_NODE_H
#define TEST_SUPPORT_NODES_NODE_H

#include <stddef.h>
#include <stdint.h>

#include "pmix/host.h"
#include "test/support/nodes.h"

#define NODE_PACKET_BYTES (160 * 1024)

enum node_message_type {
    NODE_FENCE,        /* up: data = participants (pmi_process), then the contribution */
    NODE_FENCE_RESULT, /* down */
    NODE_TIMED_OUT,    /* up: the fence is over here, and so for all */
    NODE_MODEX,        /* up: process wanted */
    NODE_FETCH,        /* down, to its node */
    NODE_FETCHED,      /* up */
    NODE_MODEX_RESULT, /* down */
    NODE_TEXT,         /* up */
    NODE_ABORT,        /* up */
    NODE_KILL,         /* down */
    NODE_ENDED,        /* up: all clients of the job have ended here; the node serves on */
    NODE_NEXT,         /* down: they have everywhere */
    NODE_DONE,         /* up: no more jobs; data = struct nodes_result */
};

struct node_message {
    uint64_t id;
    enum node_message_type type;
    int status;
    uint32_t participants;
    struct pmi_process process;
};

/* Returns 0 if the other side has closed. */
size_t node_receive(int fd, struct node_message *ret_message, void *data, size_t data_bytes);
void node_send(int fd, const struct node_message *message, const void *data, size_t data_bytes);

/* The life of a node; does not return. */
__attribute__((noreturn)) void node_main(const struct nodes_case *it, uint32_t index, int hub);

#endif
