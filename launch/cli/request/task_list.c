/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/task_list.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/option/options.h"
#include "launch/cli/request/task_words.h"
#include "launch/proto/task_frame.h"

#define JOBLOG_COLUMNS 9

void task_list_init(struct task_list *list)
{
    *list = (struct task_list){.names = hash_map_create(), .numbers = hash_map_create()};
}

static void task_free(struct task *task)
{
    free(task->command);
    free(task->after);
    buffer_fini(&task->order);
    free(task);
}

void task_list_fini(struct task_list *list)
{
    void *before;

    for (uint32_t i = 0; i < list->count; i++)
        task_free(list->items[i]);
    free(list->items);
    hash_map_destroy(list->names);
    hash_map_destroy(list->numbers);
    for (size_t cursor = 0;
         list->succeeded != NULL && (before = hash_map_next(list->succeeded, &cursor)) != NULL;)
        free(before);
    hash_map_destroy(list->succeeded);
    buffer_fini(&list->partial);
    *list = (struct task_list){.count = 0};
}

/* ---- one task ---- */

/* A number is that of an earlier line; anything else a name. */
static int find_before(const struct task_list *list, const char *word, uint32_t *ret_index,
                       struct error *error)
{
    uintptr_t position = (uintptr_t)hash_map_get(list->names, word, strlen(word));
    uint32_t number;

    if (position == 0 && options_number(word, 1, UINT32_MAX, &number) == 0)
        position = (uintptr_t)hash_map_get_u64(list->numbers, number);
    if (position == 0)
        return error_set(error, -EINVAL, "after: no earlier line has or is '%.80s'", word);
    *ret_index = (uint32_t)position - 1;
    return 0;
}

static int take_after(const struct task_list *list, char *const *words, struct task *task,
                      struct error *error)
{
    uint32_t count = 0;
    int rc = 0;

    while (words != NULL && words[count] != NULL)
        count++;
    task->after = memory_allocate_zeroed((count + 1) * sizeof(*task->after));
    for (; rc == 0 && task->after_count < count; task->after_count++)
        rc = find_before(list, words[task->after_count], &task->after[task->after_count], error);
    return rc;
}

/* What a worker takes at once: an argument may have been put in many times. */
static size_t order_bytes(const struct task_fields *fields)
{
    size_t bytes = 64 + (fields->directory != NULL ? strlen(fields->directory) : 0);

    for (char *const *word = fields->argv; *word != NULL; word++)
        bytes += strlen(*word) + 1;
    for (char *const *word = fields->set; word != NULL && *word != NULL; word++)
        bytes += strlen(*word) + 1;
    return bytes;
}

static int check_fields(const struct task_list *list, const struct task_fields *fields,
                        struct error *error)
{
    if (fields->argv[0] == NULL || fields->argv[0][0] == '\0')
        return error_set(error, -EINVAL, "the name of the program is empty");
    if (list->slots_max > 0 && fields->slots > list->slots_max)
        return error_set(error, -EINVAL, "%u slots, but no node has more than %u", fields->slots,
                         list->slots_max);
    if (fields->name != NULL &&
        hash_map_get(list->names, fields->name, strlen(fields->name)) != NULL)
        return error_set(error, -EINVAL, "an earlier line has the name '%.80s'", fields->name);
    if (order_bytes(fields) > TASK_FRAME_BYTES_MAX)
        return error_set(error, -E2BIG, "words and variables of more than %u bytes",
                         TASK_FRAME_BYTES_MAX);
    if (list->count == TASK_LIST_MAX)
        return error_set(error, -E2BIG, "too many tasks: at most %u", TASK_LIST_MAX);
    return 0;
}

/* A list that has changed is not the one that was interrupted. */
static int look_whether_done(const struct task_list *list, struct task *task, struct error *error)
{
    const char *before =
        list->succeeded != NULL ? hash_map_get_u64(list->succeeded, task->number) : NULL;

    if (before == NULL)
        return 0;
    if (strcmp(before, task->command) != 0)
        return error_set(error, -EINVAL, "--resume: the joblog has another command there: %.200s",
                         before);
    task->is_done = 1;
    return 0;
}

static void list_append_task(struct task_list *list, struct task *task, const char *name)
{
    assert(task->number > 0 && (task->after_count == 0 || list->count > 0));
    if (list->count == list->capacity) {
        list->capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        list->items = memory_resize(list->items, list->capacity * sizeof(*list->items));
    }
    list->items[list->count++] = task;
    (void)hash_map_put_u64(list->numbers, task->number, (void *)(uintptr_t)list->count);
    if (name != NULL)
        (void)hash_map_put(list->names, name, strlen(name), (void *)(uintptr_t)list->count);
}

static int add_task(struct task_list *list, const struct task_fields *fields, struct error *error)
{
    struct task *task = memory_allocate_zeroed(sizeof(*task));
    struct task_order order = {.task = list->line,
                               .directory = fields->directory,
                               .argv = fields->argv,
                               .set = fields->set};
    struct buffer command = {0};
    int rc = check_fields(list, fields, error);

    task->number = list->line;
    task->slots = fields->slots;
    if (rc == 0)
        rc = take_after(list, fields->after, task, error);
    if (rc == 0) {
        task_words_print(fields->argv, &command);
        task->command = memory_copy_string(buffer_string(&command));
        buffer_fini(&command);
        task_frame_put_order(&order, &task->order);
        rc = look_whether_done(list, task, error);
    }
    if (rc < 0)
        task_free(task);
    else
        list_append_task(list, task, fields->name);
    return rc;
}

/* ---- lines ---- */

static int read_line(struct task_list *list, const char *text, struct error *error)
{
    struct task_fields fields = {.slots = 1};
    const char *begin = text + strspn(text, " \t\r");
    uint32_t count = 1;
    int rc = 0;

    if (list->command != NULL)
        fields.argv = *text != '\0' ? task_words_replace(list->command, text, list->line) : NULL;
    else if (*begin == '{')
        rc = task_list_json(begin, &fields, error);
    else
        rc = task_words_split(text, &fields.argv, &count, error);
    if (rc == 0 && fields.argv != NULL && count > 0)
        rc = add_task(list, &fields, error);
    task_list_fields_fini(&fields);
    return rc;
}

static int take_line(struct task_list *list, const char *text, size_t bytes, struct error *error)
{
    int rc;

    list->line++;
    if (strlen(text) != bytes)
        rc = error_set(error, -EINVAL, "a NUL byte in the line");
    else if (bytes > TASK_LINE_BYTES_MAX)
        rc = error_set(error, -E2BIG, "longer than %u bytes", TASK_LINE_BYTES_MAX);
    else
        rc = read_line(list, text, error);
    if (rc < 0)
        error_prefix(error, "%.200s, line %u", list->source, list->line);
    return rc;
}

int task_list_argument(struct task_list *list, const char *argument, struct error *error)
{
    assert(list->command != NULL);
    return take_line(list, argument, strlen(argument), error);
}

/* What follows the last newline. */
static int take_partial(struct task_list *list, struct error *error)
{
    size_t length = list->partial.length_bytes;
    int rc = length > 0 ? take_line(list, buffer_string(&list->partial), length, error) : 0;

    buffer_clear(&list->partial);
    return rc;
}

int task_list_read(struct task_list *list, const void *data, size_t bytes, struct error *error)
{
    const char *at = data;
    const char *end;
    int rc = 0;

    if (bytes == 0) /* the end; there may be no data then */
        return take_partial(list, error);
    end = at + bytes;
    while (rc == 0 && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;

        buffer_append(&list->partial, at, (size_t)(stop - at));
        at = stop + (newline != NULL);
        if (newline == NULL && list->partial.length_bytes <= TASK_LINE_BYTES_MAX)
            break;
        rc = take_line(list, buffer_string(&list->partial), list->partial.length_bytes, error);
        buffer_clear(&list->partial);
    }
    return rc;
}

/* ---- an earlier run ---- */

/* Seq Host Starttime JobRuntime Send Receive Exitval Signal Command; the last entry of a task counts. */
static int take_entry(struct task_list *list, char *line)
{
    char *columns[JOBLOG_COLUMNS] = {line};
    uint32_t number, status, signal_number;
    uint32_t count = 1;

    for (char *tab; count < JOBLOG_COLUMNS && (tab = strchr(columns[count - 1], '\t')) != NULL;) {
        *tab = '\0';
        columns[count++] = tab + 1;
    }
    if (count < JOBLOG_COLUMNS || options_number(columns[0], 1, UINT32_MAX, &number) < 0)
        return -EINVAL;
    free(hash_map_remove_u64(list->succeeded, number));
    if (options_number(columns[6], 0, UINT32_MAX, &status) == 0 && status == 0 &&
        options_number(columns[7], 0, UINT32_MAX, &signal_number) == 0 && signal_number == 0)
        (void)hash_map_put_u64(list->succeeded, number,
                               memory_copy_string(columns[JOBLOG_COLUMNS - 1]));
    return 0;
}

/* A last line without its end is of a run that was killed while it wrote. */
int task_list_resume(struct task_list *list, const char *path, const struct buffer *joblog,
                     struct error *error)
{
    const char *at = (const char *)joblog->data;
    const char *end;
    uint32_t line = 0;
    int rc = 0;

    assert(list->count == 0 && list->succeeded == NULL);
    list->succeeded = hash_map_create();
    if (joblog->length_bytes == 0)
        return 0;
    end = at + joblog->length_bytes;
    while (rc == 0 && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        char *copy;

        if (newline == NULL)
            break;
        copy = memory_printf("%.*s", (int)(newline - at), at);
        at = newline + 1;
        if (++line > 1 || strncmp(copy, "Seq\t", 4) != 0)
            rc = take_entry(list, copy);
        free(copy);
    }
    if (rc < 0)
        return error_set(error, rc, "%.200s, line %u: no entry of a joblog", path, line);
    return 0;
}
