/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/node_text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/cell.h"
#include "alloc/hostlist.h"
#include "base/memory.h"

#define SHOWN_BYTES 80

/* The names before the '=' of an entry, with the value after it; NULL: it holds for all nodes. */
static char *take_names(char *entry, char **ret_value)
{
    char *equals = entry[0] != '/' ? strchr(entry, '=') : NULL;

    *ret_value = equals != NULL ? equals + 1 : entry;
    if (equals == NULL)
        return NULL;
    *equals = '\0';
    return entry;
}

static int is_cell(const char *names)
{
    const char *slash = strchr(names, '/');

    return slash != NULL && slash > names && slash[1] == '\0';
}

static int check_entry(char *entry, struct error *error)
{
    struct hostlist *list = hostlist_create();
    char *value;
    char *names = take_names(entry, &value);
    int rc = 0;

    if (value[0] != '/')
        rc = error_set(error, -EINVAL, "'%.*s' is not an absolute path", SHOWN_BYTES, value);
    if (rc == 0 && names != NULL && !is_cell(names)) {
        rc = hostlist_parse(list, names, error);
        if (rc == 0 && hostlist_count(list) == 0)
            rc = error_set(error, -EINVAL, "no node is named before '=%.*s'", SHOWN_BYTES, value);
    }
    hostlist_destroy(list);
    return rc;
}

int node_text_check(const char *text, struct error *error)
{
    char *copy = memory_copy_string(text), *rest = copy, *entry;
    int rc = 0;

    while (rc == 0 && (entry = strsep(&rest, ";")) != NULL)
        rc = check_entry(entry, error);
    free(copy);
    return rc;
}

static int holds_for(const char *names, const char *name)
{
    struct hostlist *list;
    int holds;

    if (names == NULL)
        return 1;
    if (is_cell(names))
        return cell_bytes(name) == strlen(names) - 1 && strncmp(names, name, strlen(names)) == 0;
    list = hostlist_create();
    holds = name[0] != '\0' && hostlist_parse(list, names, NULL) == 0 &&
            hostlist_find(list, name, 0) >= 0;
    hostlist_destroy(list);
    return holds;
}

char *node_text_of(const char *text, const char *name)
{
    char *copy, *rest, *entry, *found = NULL;

    assert(name != NULL);
    if (text == NULL)
        return NULL;
    copy = rest = memory_copy_string(text);
    while ((entry = strsep(&rest, ";")) != NULL) {
        char *value;
        char *names = take_names(entry, &value);

        if (holds_for(names, name))
            found = value;
    }
    found = found != NULL ? memory_copy_string(found) : NULL;
    free(copy);
    return found;
}
