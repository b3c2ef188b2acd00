/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tasks of `banyan run --tasks`: text in, tasks out, or what is wrong with which line.  A line is the
 * words of a command, or a JSON object, or, where a command is given, an argument of that.  The number
 * of a task is that of its line, from 1; blank lines and comments have none.
 *
 * A task may wait for tasks of earlier lines only, so there are no circles, and a list can be read as it
 * comes.  Memory: O(the text); nothing is ever dropped, since a later line may name any earlier one.
 */
#ifndef LAUNCH_CLI_REQUEST_TASK_LIST_H
#define LAUNCH_CLI_REQUEST_TASK_LIST_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash_map.h"

#define TASK_LINE_BYTES_MAX (256u * 1024)
#define TASK_LIST_MAX       (1u << 26)

struct task {
    uint32_t number;     /* of its line */
    uint32_t slots;      /* of one node */
    char *command;       /* as --joblog has it */
    struct buffer order; /* TASK_FRAME_RUN */
    uint32_t *after;     /* indexes of tasks that must succeed before */
    uint32_t after_count;
    int is_done; /* it has succeeded in a run before this one */
};

struct task_list {
    const char *source;   /* the file's name, for messages; the caller's */
    char *const *command; /* NULL: the lines are commands; the caller's */
    uint32_t slots_max;   /* of any node; 0: not known */
    struct task **items;
    uint32_t count;
    uint32_t capacity;
    uint32_t line;              /* the last that has been read */
    struct hash_map *names;     /* name -> index + 1 */
    struct hash_map *numbers;   /* number -> index + 1 */
    struct hash_map *succeeded; /* number -> command, of --resume; owned */
    struct buffer partial;      /* of a line that has not ended */
};

void task_list_init(struct task_list *list);
void task_list_fini(struct task_list *list);
/* The next bytes of the text, cut anywhere; bytes 0: its end. */
int task_list_read(struct task_list *list, const void *data, size_t bytes, struct error *error);
/* The next argument of the command, as if it were a line. */
int task_list_argument(struct task_list *list, const char *argument, struct error *error);
/* What a --joblog says: tasks whose last entry there is a success are done.  Before the list is read; a
 * task there that has another command now is an error then. */
int task_list_resume(struct task_list *list, const char *path, const struct buffer *joblog,
                     struct error *error);

/* task_list_json.c: an object's fields. */
struct task_fields {
    char **argv;
    char **set;
    char *directory;
    char *name;
    uint32_t slots;
    char **after; /* names, and numbers as text */
};
int task_list_json(const char *text, struct task_fields *ret_fields, struct error *error);
void task_list_fields_fini(struct task_fields *fields);

#endif
