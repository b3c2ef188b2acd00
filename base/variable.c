/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/variable.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define EDITS_MAX        (1024u * 1024)
#define STRING_BYTES_MAX (4u * 1024 * 1024) /* of a name or a value */

int variable_name_is_valid(const char *name)
{
    return name != NULL && name[0] != '\0' && strchr(name, '=') == NULL;
}

void variable_edits_add(struct variable_edits *edits, enum variable_edit_kind kind,
                        const char *name, const char *value, char separator)
{
    assert(variable_name_is_valid(name) && value != NULL && kind < VARIABLE_EDIT_KIND_COUNT);
    edits->items = memory_resize(edits->items, (edits->count + 1) * sizeof(*edits->items));
    edits->items[edits->count++] = (struct variable_edit){.kind = kind,
                                                          .separator = separator,
                                                          .name = memory_copy_string(name),
                                                          .value = memory_copy_string(value)};
}

void variable_edits_add_all(struct variable_edits *edits, const struct variable_edits *more)
{
    for (uint32_t i = 0; i < more->count; i++) {
        const struct variable_edit *edit = &more->items[i];

        variable_edits_add(edits, edit->kind, edit->name, edit->value, edit->separator);
    }
}

void variable_edits_fini(struct variable_edits *edits)
{
    for (uint32_t i = 0; i < edits->count; i++) {
        free(edits->items[i].name);
        free(edits->items[i].value);
    }
    free(edits->items);
    *edits = (struct variable_edits){.items = NULL};
}

/* ---- as bytes ---- */

void variable_edits_encode(const struct variable_edits *edits, struct buffer *out)
{
    wire_put_varint(out, edits->count);
    for (uint32_t i = 0; i < edits->count; i++) {
        const struct variable_edit *edit = &edits->items[i];

        wire_put_varint(out, edit->kind);
        wire_put_u8(out, (uint8_t)edit->separator);
        wire_put_string(out, edit->name);
        wire_put_string(out, edit->value);
    }
}

void variable_edits_decode(struct wire_reader *reader, struct variable_edits *ret_edits)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, EDITS_MAX);

    *ret_edits = (struct variable_edits){.items = NULL};
    if (count > wire_left(reader)) /* each takes more than a byte */
        wire_fail(reader);
    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++) {
        uint64_t kind = wire_get_varint_max(reader, VARIABLE_EDIT_KIND_COUNT - 1);
        char separator = (char)wire_get_u8(reader);
        char *name = wire_get_string(reader, STRING_BYTES_MAX);
        char *value = wire_get_string(reader, STRING_BYTES_MAX);

        if (wire_status(reader) == 0 && variable_name_is_valid(name))
            variable_edits_add(ret_edits, (enum variable_edit_kind)kind, name, value, separator);
        else
            wire_fail(reader);
        free(name);
        free(value);
    }
}

/* ---- as they are made ---- */

static char *join(const struct variable_edit *edit, const char *before, const char *after)
{
    char separator[2] = {edit->separator, '\0'};

    if (before[0] == '\0' || after[0] == '\0')
        separator[0] = '\0';
    return memory_printf("%s=%s%s%s", edit->name, before, separator, after);
}

/* The elements of old that are not the value itself. */
static char *without_value(const struct variable_edit *edit, const char *old)
{
    size_t value_bytes = strlen(edit->value);
    struct buffer rest = {0};
    int is_first = 1;

    for (const char *element = old;; element++) {
        size_t bytes = strcspn(element, (char[]){edit->separator, '\0'});

        if (bytes != value_bytes || memcmp(element, edit->value, bytes) != 0) {
            buffer_append(&rest, &edit->separator, is_first ? 0 : 1);
            buffer_append(&rest, element, bytes);
            is_first = 0;
        }
        element += bytes;
        if (*element == '\0')
            break;
    }
    buffer_append(&rest, "", 1);
    return (char *)rest.data;
}

static char *put_first(const struct variable_edit *edit, const char *old)
{
    char *rest = without_value(edit, old);
    char *variable = join(edit, edit->value, rest);

    free(rest);
    return variable;
}

char *variable_edit_apply(const struct variable_edit *edit, const char *old)
{
    switch (edit->kind) {
    case VARIABLE_EDIT_ADD:
        return memory_printf("%s=%s", edit->name, old != NULL ? old : edit->value);
    case VARIABLE_EDIT_UNSET:
        return NULL;
    case VARIABLE_EDIT_PREPEND:
        return join(edit, edit->value, old != NULL ? old : "");
    case VARIABLE_EDIT_APPEND:
        return join(edit, old != NULL ? old : "", edit->value);
    case VARIABLE_EDIT_FIRST:
        return put_first(edit, old != NULL ? old : "");
    case VARIABLE_EDIT_SET:
    default:
        return memory_printf("%s=%s", edit->name, edit->value);
    }
}
