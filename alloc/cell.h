/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of nodes with the cell (cluster) that they are of: "west/n1" is node n1 of the cell west, and is a
 * different node from "east/n1" and from "n1".  Everything but what calls a node by its name takes such a name as a whole.
 *
 * A table of addresses has a line "CELL TEMPLATE" for each cell whose nodes are not reached by their name
 * alone; in a template %n is the name: "west %n.west.example".
 */
#ifndef ALLOC_CELL_H
#define ALLOC_CELL_H

#include <stddef.h>

#include "alloc/hostlist.h"
#include "base/buffer.h"
#include "base/error.h"

#define CELL_BYTES_MAX     64
#define CELL_TEMPLATE_MARK "%n"

/* Length of the cell before the '/'; 0: the name has none. */
size_t cell_bytes(const char *name);
/* The name within its cell: "n1" of "west/n1" and of "n1". */
const char *cell_node(const char *name);
/* Adds the names of a list to another, as names of that cell: "west/n[1-4]". -E2BIG if one would be too
 * long; ret_names is unchanged then. */
int cell_add_names(const char *cell, const struct hostlist *names, struct hostlist *ret_names,
                   struct error *error);
/* What a template may be: one %n, and else bytes of names. -EINVAL. */
int cell_template_check(const char *text, struct error *error);
/* How the node of that name is called by who starts something there.  table may be NULL.  A result that
 * would be too long is cut off. */
void cell_address(const char *table, const char *name, char ret_address[HOST_NAME_BYTES_MAX + 1]);
/* Appends the name as part of a file's: "west-n1". */
void cell_put_file_name(const char *name, struct buffer *out);

#endif
