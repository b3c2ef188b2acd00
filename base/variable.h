/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of an environment, in the order in which they are made.  They are applied where the process is
 * started, since only there all of its variables are known.
 */
#ifndef BASE_VARIABLE_H
#define BASE_VARIABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"

enum variable_edit_kind {
    VARIABLE_EDIT_SET,
    VARIABLE_EDIT_ADD, /* unless it is set, also if empty */
    VARIABLE_EDIT_UNSET,
    VARIABLE_EDIT_PREPEND, /* likewise the next two: one that is empty or not set gets the value alone */
    VARIABLE_EDIT_APPEND,
    VARIABLE_EDIT_FIRST, /* prepended, and taken away wherever it was among the elements */
    VARIABLE_EDIT_KIND_COUNT
};

struct variable_edit {
    enum variable_edit_kind kind;
    char separator; /* between elements; NUL: none */
    char *name;     /* not empty, without "=" */
    char *value;
};

/* Owns its strings; all zero is empty. */
struct variable_edits {
    struct variable_edit *items;
    uint32_t count;
};

/* 1 if name can be that of a variable: not NULL, not empty, without "=". */
int variable_name_is_valid(const char *name);
void variable_edits_add(struct variable_edits *edits, enum variable_edit_kind kind,
                        const char *name, const char *value, char separator);
void variable_edits_add_all(struct variable_edits *edits, const struct variable_edits *more);
void variable_edits_fini(struct variable_edits *edits);
void variable_edits_encode(const struct variable_edits *edits, struct buffer *out);
/* Fails the reader if it is invalid; the caller frees ret_edits in any case. */
void variable_edits_decode(struct wire_reader *reader, struct variable_edits *ret_edits);
/* "NAME=value" as it is afterwards, the caller's to free; NULL: it is not set then.  old: its value, NULL
 * if it is not set. */
char *variable_edit_apply(const struct variable_edit *edit, const char *old);

#endif
