/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What entries of a host file or --host say beside names: "+n3" the fourth of the nodes there are,
 * "+e" those without a process, "^name" not that one, and "user@".  Exclusions count at the end, for
 * all entries; who only excludes begins with all nodes there are.
 */
#ifndef ALLOC_HOST_CHOICE_H
#define ALLOC_HOST_CHOICE_H

#include "alloc/allocation_builder.h"
#include "base/error.h"

struct host_choice {
    const struct allocation_base *base; /* may be NULL: nothing to be relative to */
    struct hostlist *excluded;
    char user[ALLOCATION_USER_BYTES]; /* "": none is given */
    int has_names;                    /* an entry adds nodes */
};

void host_choice_init(struct host_choice *choice, const struct allocation_base *base);
void host_choice_fini(struct host_choice *choice);
/* Adds the nodes of a relative entry, a text that begins with '+': +n3, +n3:2 (slots), +e, +e:2 (the
 * first two of them).  The error has no place. */
int host_choice_relative(struct host_choice *choice, struct allocation_builder *builder,
                         const char *text, size_t text_bytes, struct error *error);
/* The user of an entry; all must agree. */
int host_choice_user(struct host_choice *choice, const char *user, size_t user_bytes,
                     struct error *error);
/* Ends a parse: what was only excluded from is added to the builder... */
int host_choice_complete(struct host_choice *choice, struct allocation_builder *builder,
                         struct error *error);
/* ... and what is excluded is taken out of what was built.  O(excluded names x runs) at most. */
int host_choice_exclude(const struct host_choice *choice, struct allocation *allocation,
                        struct error *error);

#endif
