/* SPDX-License-Identifier: BSD-3-Clause */
/* A task as a JSON object: argv, and where they matter slots, env, wdir, after and name. */
#include "config.h"

#include "launch/cli/request/task_list.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

#include <jansson.h>

#include "alloc/allocation.h"
#include "launch/cli/option/options.h"
#include "launch/cli/request/task_words.h"

void task_list_fields_fini(struct task_fields *fields)
{
    task_words_free(fields->argv);
    task_words_free(fields->set);
    task_words_free(fields->after);
    free(fields->directory);
    free(fields->name);
    *fields = (struct task_fields){.slots = 0};
}

/* jansson takes no text with a NUL in it by default, so lengths need no care. */
static int take_argv(const json_t *value, struct task_fields *fields, struct error *error)
{
    size_t count = json_array_size(value);

    if (count == 0)
        return error_set(error, -EINVAL, "argv: expected a list of strings, at least one");
    fields->argv = memory_allocate_zeroed((count + 1) * sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        const char *word = json_string_value(json_array_get(value, i));

        if (word == NULL)
            return error_set(error, -EINVAL, "argv: expected a list of strings, at least one");
        fields->argv[i] = memory_copy_string(word);
    }
    return 0;
}

static int take_slots(const json_t *value, struct task_fields *fields, struct error *error)
{
    json_int_t slots = json_integer_value(value);

    if (!json_is_integer(value) || slots < 1 || slots > ALLOCATION_SLOTS_MAX)
        return error_set(error, -EINVAL, "slots: expected a number from 1 to %u",
                         ALLOCATION_SLOTS_MAX);
    fields->slots = (uint32_t)slots;
    return 0;
}

static int take_env(const json_t *value, struct task_fields *fields, struct error *error)
{
    json_t *object = (json_t *)(uintptr_t)value; /* it is only read */
    size_t count = 0;

    if (!json_is_object(value))
        return error_set(error, -EINVAL, "env: expected an object of names and strings");
    fields->set = memory_allocate_zeroed((json_object_size(value) + 1) * sizeof(char *));
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const char *name = json_object_iter_key(at);
        const char *text = json_string_value(json_object_iter_value(at));

        if (text == NULL || *name == '\0' || strchr(name, '=') != NULL)
            return error_set(error, -EINVAL, "env: expected an object of names and strings");
        fields->set[count++] = memory_printf("%s=%s", name, text);
    }
    return 0;
}

static int take_wdir(const json_t *value, struct task_fields *fields, struct error *error)
{
    const char *text = json_string_value(value);

    if (text == NULL || *text == '\0')
        return error_set(error, -EINVAL, "wdir: expected a directory");
    fields->directory = memory_copy_string(text);
    return 0;
}

static int take_name(const json_t *value, struct task_fields *fields, struct error *error)
{
    const char *text = json_string_value(value);

    if (text == NULL || *text == '\0')
        return error_set(error, -EINVAL, "name: expected a string");
    fields->name = memory_copy_string(text);
    return 0;
}

static char *after_word(const json_t *value)
{
    if (json_is_string(value))
        return memory_copy_string(json_string_value(value));
    if (json_is_integer(value) && json_integer_value(value) > 0)
        return memory_printf("%lld", (long long)json_integer_value(value));
    return NULL;
}

static int take_after_words(const json_t *value, struct task_fields *fields, struct error *error)
{
    size_t count = json_is_array(value) ? json_array_size(value) : 1;

    fields->after = memory_allocate_zeroed((count + 1) * sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        fields->after[i] = after_word(json_is_array(value) ? json_array_get(value, i) : value);
        if (fields->after[i] == NULL)
            return error_set(error, -EINVAL, "after: expected a name, a line, or a list of these");
    }
    return 0;
}

static const struct {
    const char *name;
    int (*take)(const json_t *value, struct task_fields *fields, struct error *error);
} field_rules[] = {
    {"argv", take_argv}, {"slots", take_slots},       {"env", take_env},
    {"wdir", take_wdir}, {"after", take_after_words}, {"name", take_name},
};

#define FIELDS_COUNT (sizeof(field_rules) / sizeof(field_rules[0]))

static int take_field(const char *name, const json_t *value, struct task_fields *fields,
                      struct error *error)
{
    const char *names[FIELDS_COUNT];
    const char *nearest;

    for (size_t i = 0; i < FIELDS_COUNT; i++) {
        names[i] = field_rules[i].name;
        if (strcmp(name, names[i]) == 0)
            return field_rules[i].take(value, fields, error);
    }
    nearest = nearest_word(name, names, FIELDS_COUNT);
    if (nearest != NULL)
        return error_set(error, -EINVAL, "unknown field '%.80s': did you mean '%s'?", name,
                         nearest);
    return error_set(error, -EINVAL,
                     "unknown field '%.80s': expected argv, slots, env, wdir, after or name", name);
}

int task_list_json(const char *text, struct task_fields *ret_fields, struct error *error)
{
    struct task_fields fields = {.slots = 1};
    json_error_t why;
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    int rc = 0;

    assert(*text == '{');
    if (object == NULL)
        return error_set(error, -EINVAL, "no JSON object: %s", why.text);
    for (void *at = json_object_iter(object); rc == 0 && at != NULL;
         at = json_object_iter_next(object, at))
        rc = take_field(json_object_iter_key(at), json_object_iter_value(at), &fields, error);
    if (rc == 0 && fields.argv == NULL)
        rc = error_set(error, -EINVAL, "no argv");
    json_decref(object);
    if (rc < 0)
        task_list_fields_fini(&fields);
    else
        *ret_fields = fields;
    return rc;
}
