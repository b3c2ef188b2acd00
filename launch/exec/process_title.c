/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/process_title.h"

#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buffer.h"

struct area {
    char *start;
    size_t bytes;
};

/* Of the whole process, as the stack is: where the system put the strings. */
static struct area title_area;
static struct area mark_area;
static int environment_copied;

/* The strings from first on, as long as each follows the one before it. */
static struct area area_of(char **strings)
{
    struct area area = {strings[0], 0};

    for (; *strings != NULL && *strings == area.start + area.bytes; strings++)
        area.bytes += strlen(*strings) + 1;
    return area;
}

void process_title_init(int argc, char **argv)
{
    if (argc < 1 || title_area.start != NULL)
        return;
    title_area = area_of(argv);
    if (environ != NULL && environ[0] != NULL)
        mark_area = area_of(environ);
}

static void copy_environment(void)
{
    size_t count = 0;
    char **copy;

    while (environ != NULL && environ[count] != NULL)
        count++;
    copy = memory_allocate((count + 1) * sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = memory_copy_string(environ[i]);
    copy[count] = NULL;
    environ = copy;
    environment_copied = 1;
}

static void write_over(struct area area, const char *text)
{
    size_t length = strnlen(text, area.bytes - 1);

    memset(area.start, 0, area.bytes);
    memcpy(area.start, text, length);
}

void process_title_set(const char *name, const char *mark)
{
    prctl(PR_SET_NAME, name, 0, 0, 0);
    if (title_area.bytes > 0)
        write_over(title_area, name);
    if (mark == NULL || mark_area.bytes == 0)
        return;
    if (!environment_copied)
        copy_environment();
    write_over(mark_area, mark);
}
