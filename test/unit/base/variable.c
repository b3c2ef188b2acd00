/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/variable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "test/support/tap.h"

struct example {
    enum variable_edit_kind kind;
    const char *old;
    const char *value;
    const char *expected;
};

static const struct example examples[] = {
    {VARIABLE_EDIT_SET, NULL, "a", "V=a"},
    {VARIABLE_EDIT_SET, "b", "a", "V=a"},
    {VARIABLE_EDIT_ADD, NULL, "a", "V=a"},
    {VARIABLE_EDIT_ADD, "b", "a", "V=b"},
    {VARIABLE_EDIT_ADD, "", "a", "V="},
    {VARIABLE_EDIT_UNSET, "b", "", NULL},
    {VARIABLE_EDIT_UNSET, NULL, "", NULL},
    {VARIABLE_EDIT_PREPEND, "b:c", "a", "V=a:b:c"},
    {VARIABLE_EDIT_PREPEND, "b:a", "a", "V=a:b:a"},
    {VARIABLE_EDIT_PREPEND, NULL, "a", "V=a"},
    {VARIABLE_EDIT_PREPEND, "", "a", "V=a"},
    {VARIABLE_EDIT_PREPEND, "b", "", "V=b"},
    {VARIABLE_EDIT_APPEND, "b:c", "a", "V=b:c:a"},
    {VARIABLE_EDIT_APPEND, NULL, "a", "V=a"},
    {VARIABLE_EDIT_APPEND, "", "a", "V=a"},
    {VARIABLE_EDIT_FIRST, NULL, "a", "V=a"},
    {VARIABLE_EDIT_FIRST, "a", "a", "V=a"},
    {VARIABLE_EDIT_FIRST, "a:b", "a", "V=a:b"},
    {VARIABLE_EDIT_FIRST, "b:a:c:a", "a", "V=a:b:c"},
    {VARIABLE_EDIT_FIRST, "ba:ab", "a", "V=a:ba:ab"},
    {VARIABLE_EDIT_FIRST, "b::c", "a", "V=a:b::c"},
};

static const char *const verbs[VARIABLE_EDIT_KIND_COUNT] = {
    [VARIABLE_EDIT_SET] = "set",       [VARIABLE_EDIT_ADD] = "add",
    [VARIABLE_EDIT_UNSET] = "unset",   [VARIABLE_EDIT_PREPEND] = "prepend",
    [VARIABLE_EDIT_APPEND] = "append", [VARIABLE_EDIT_FIRST] = "first",
};

static char *apply(const struct example *example, char separator)
{
    struct variable_edits edits = {0};
    char *variable;

    variable_edits_add(&edits, example->kind, "V", example->value, separator);
    variable = variable_edit_apply(&edits.items[0], example->old);
    variable_edits_fini(&edits);
    return variable;
}

static void test_apply(void)
{
    static const struct example joined = {VARIABLE_EDIT_APPEND, "b", "a", "V=ba"};
    static const struct example whole = {VARIABLE_EDIT_FIRST, "a", "a", "V=a"};
    char *variable;

    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const struct example *example = &examples[i];

        variable = apply(example, ':');
        is_string(variable, example->expected, "%s %s of %s", verbs[example->kind], example->value,
                  example->old != NULL ? example->old : "nothing");
        free(variable);
    }
    variable = apply(&joined, '\0');
    is_string(variable, joined.expected, "without a separator they are joined");
    free(variable);
    variable = apply(&whole, '\0');
    is_string(variable, whole.expected, "or are one element");
    free(variable);
}

static void test_names(void)
{
    ok(variable_name_is_valid("PATH"), "a name");
    ok(!variable_name_is_valid("") && !variable_name_is_valid(NULL), "none");
    ok(!variable_name_is_valid("A=B"), "one with an equals sign is none");
}

static int decode(const struct buffer *bytes, size_t length, struct variable_edits *ret_edits)
{
    struct wire_reader reader;

    wire_reader_init(&reader, bytes->data, length);
    variable_edits_decode(&reader, ret_edits);
    return wire_finish(&reader);
}

static void test_wire(void)
{
    struct variable_edits edits = {0}, read;
    struct buffer bytes = {0}, again = {0};
    int taken = 0;

    variable_edits_add(&edits, VARIABLE_EDIT_PREPEND, "PATH", "/a", ':');
    variable_edits_add(&edits, VARIABLE_EDIT_UNSET, "B", "", '\0');
    variable_edits_add_all(&edits, &(struct variable_edits){&edits.items[0], 1});
    variable_edits_encode(&edits, &bytes);
    is_int(decode(&bytes, bytes.length_bytes, &read), 0, "they are read again");
    variable_edits_encode(&read, &again);
    is_bytes(again.data, again.length_bytes, bytes.data, bytes.length_bytes, "as they were");
    is_string(read.items[2].name, "PATH", "in their order, also the copies");
    variable_edits_fini(&read);
    for (size_t length = 0; length < bytes.length_bytes; length++) {
        taken += decode(&bytes, length, &read) == 0;
        variable_edits_fini(&read);
    }
    is_int(taken, 0, "a part of them is refused");
    bytes.data[1] = VARIABLE_EDIT_KIND_COUNT;
    is_int(decode(&bytes, bytes.length_bytes, &read), -EBADMSG, "and so is an unknown kind");
    variable_edits_fini(&read);
    bytes.data[1] = VARIABLE_EDIT_SET;
    bytes.data[4] = '=';
    is_int(decode(&bytes, bytes.length_bytes, &read), -EBADMSG, "and a name that is none");
    variable_edits_fini(&read);
    variable_edits_fini(&edits);
    buffer_fini(&bytes);
    buffer_fini(&again);
}

int main(void)
{
    test_apply();
    test_names();
    test_wire();
    return done_testing();
}
