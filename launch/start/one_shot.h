/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A starter that starts all daemons with one call (srun) cannot give each a separate boot record:
 * all get the root's.  Each then finds its place by the name that the scheduler has for its node,
 * which is the name in the allocation; numbers of tasks follow an order of the scheduler's own.
 * Its one known ancestor is the root, who sends it on to its parent (overlay/join.c).
 */
#ifndef LAUNCH_START_ONE_SHOT_H
#define LAUNCH_START_ONE_SHOT_H

#include "base/error.h"
#include "launch/proto/boot.h"

/* What the daemon's error line says in front of its text: "@NAME ". */
#define ONE_SHOT_NAME_MARK '@'

struct one_shot {
    const char *starter; /* as the starter says it: banyand --started-by NAME */
    /* What the scheduler calls this node; NULL with an error if that is unknown. */
    const char *(*node_name)(char name[HOST_NAME_BYTES_MAX + 1], struct error *error);
    int is_everywhere; /* it also starts on nodes outside the instance */
};

/* NULL with an error if there is no such starter. */
const struct one_shot *one_shot_find(const char *starter, struct error *error);
/* The record that all get: parent's, with the root's addresses.  ret_record need not be initialised. */
void one_shot_record(const struct boot_record *root, const struct addresses *root_addresses,
                     struct boot_record *ret_record);
/* The same for places that are added to a living instance: names are those of range. */
void one_shot_record_added(const struct boot_record *root, const struct addresses *root_addresses,
                           struct range range, const struct hostlist *names,
                           struct boot_record *ret_record);
/* Makes the record that all got the one of the node of that name, or of the only one that is called
 * so up to the first dot: -ENOENT if it has no place. */
int one_shot_take_place(struct boot_record *record, const char *node_name, struct error *error);
/* The names wanted whose places among names, the first of which has place first, were not given before;
 * these are added to both. */
struct hostlist *one_shot_take_nodes(const struct hostlist *names, uint32_t first,
                                     const struct hostlist *wanted, struct ranges *given,
                                     struct ranges *ret_places);

/* "7: text" is of a daemon; else the one-shot starter speaks itself, and not only of errors. */
int one_shot_is_line(const char *line);

/* The place of the daemon that says "@NAME text", names beginning with place first, and the text; 0: no
 * such name. */
uint32_t one_shot_place_of(const struct hostlist *names, uint32_t first, const char *message,
                           const char **ret_text);

#endif
