/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of nodes by a site's description.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/cell.h"
#include "alloc/host_name.h"
#include "alloc/name_index.h"
#include "alloc/node_pool.h"
#include "alloc/site.h"
#include "base/memory.h"

static void add_names(const struct site_section *section, struct hostlist *names)
{
    /* It has been checked when it was set. */
    if (section->values[SITE_NODES] != NULL)
        (void)hostlist_parse(names, section->values[SITE_NODES], NULL);
}

void site_names(const struct site *site, const struct site_section *section,
                struct hostlist *ret_names)
{
    add_names(section, ret_names);
    if (section->kind != NULL || section->values[SITE_NODES] != NULL)
        return;
    for (uint32_t i = 0; i < site->count; i++)
        if (site->sections[i].kind != NULL &&
            strcmp(site->sections[i].cluster, section->cluster) == 0)
            add_names(&site->sections[i], ret_names);
}

static int has_name(const struct site_section *section, const char *name)
{
    struct hostlist *names = hostlist_create();
    int has;

    add_names(section, names);
    has = hostlist_find(names, name, 0) >= 0;
    hostlist_destroy(names);
    return has;
}

const struct site_section *site_section_of(const struct site *site, const char *name)
{
    size_t bytes = cell_bytes(name);
    const struct site_section *found = NULL;

    for (uint32_t i = 0; bytes > 0 && i < site->count; i++) {
        const struct site_section *section = &site->sections[i];

        if (strlen(section->cluster) != bytes || memcmp(section->cluster, name, bytes) != 0)
            continue;
        if (section->kind == NULL ? found == NULL : has_name(section, cell_node(name)))
            found = section;
    }
    return found;
}

int site_gives_slots(const struct site *site)
{
    for (uint32_t i = 0; i < site->count; i++)
        if (site->sections[i].values[SITE_SLOTS] != NULL)
            return 1;
    return 0;
}

uint32_t site_slots(const struct site *site, const char *name, uint32_t otherwise)
{
    const struct site_section *section = site_section_of(site, name);
    const char *slots = section != NULL ? site_value(site, section, SITE_SLOTS) : NULL;

    return slots != NULL ? (uint32_t)strtoul(slots, NULL, 10) : otherwise;
}

void site_addresses(const struct site *site, struct buffer *out)
{
    for (uint32_t i = 0; i < site->count; i++) {
        const struct site_section *section = &site->sections[i];

        if (section->values[SITE_ADDRESS] != NULL)
            buffer_printf(out, "%s %s\n", section->cluster, section->values[SITE_ADDRESS]);
    }
}

/* ---- Text that names nodes ---- */

int site_is_text(const char *text, size_t text_bytes)
{
    return memchr(text, '/', text_bytes) != NULL;
}

/* "512+100": 1 if it is that. */
static int read_cut(const char *text, uint64_t *ret_number, uint32_t *ret_count)
{
    char *end;
    unsigned long long count;

    if (*text < '0' || *text > '9')
        return 0;
    *ret_number = strtoull(text, &end, 10);
    if (*end != '+' || end[1] < '0' || end[1] > '9')
        return 0;
    count = strtoull(end + 1, &end, 10);
    *ret_count = count > HOSTLIST_HOSTS_MAX ? HOSTLIST_HOSTS_MAX + 1 : (uint32_t)count;
    return *end == '\0';
}

/* Those that the text names; all of them are among `known`, if that is not empty. */
static int take_list(const char *text, const struct hostlist *known, const char *cluster,
                     struct hostlist *names, size_t *ret_offset, struct error *error)
{
    struct name_index *index = name_index_of(known);
    char name[HOST_NAME_BYTES_MAX + 1];
    size_t offset;
    int rc = hostlist_parse_bytes(names, text, strlen(text), ret_offset, error);

    for (uint32_t i = 0; rc == 0 && i < hostlist_count(names); i++) {
        hostlist_name(names, i, name);
        rc = host_name_check(name, strlen(name), &offset, error);
        if (rc == 0 && hostlist_count(known) > 0 && name_index_find(index, name, strlen(name)) < 0)
            rc = error_set(error, -ENOENT, "%s has no node %s", cluster, name);
    }
    name_index_destroy(index);
    return rc;
}

static int take_names(const struct site *site, const struct site_section *section, const char *text,
                      struct hostlist *names, size_t *ret_offset, struct error *error)
{
    struct hostlist *known = hostlist_create();
    uint64_t number = 0;
    uint32_t count = 0;
    int rc = 0;

    site_names(site, section, known);
    if (text[0] != '\0' && !read_cut(text, &number, &count)) {
        rc = take_list(text, known, section->cluster, names, ret_offset, error);
    } else if (hostlist_count(known) == 0) {
        rc = error_set(error, -ENOENT, "the configuration does not say which nodes %s%s%s has",
                       section->cluster, section->kind != NULL ? "/" : "",
                       section->kind != NULL ? section->kind : "");
    } else if (text[0] == '\0') {
        hostlist_append_slice(names, known, 0, hostlist_count(known));
    } else {
        rc = node_pool_derive_names(known, number, count, names, error);
    }
    hostlist_destroy(known);
    return rc;
}

int site_expand(const struct site *site, const char *text, size_t text_bytes,
                struct hostlist *ret_names, size_t *ret_offset, struct error *error)
{
    char *word = memory_printf("%.*s", (int)text_bytes, text);
    char *last = strrchr(word, '/');
    const struct site_section *section;
    struct hostlist *names;
    size_t offset = 0;
    int rc = -ENOENT;

    assert(last != NULL);
    *last = '\0';
    *ret_offset = 0;
    names = hostlist_create();
    section = site_find_word(site, word, error);
    if (section != NULL) {
        rc = take_names(site, section, last + 1, names, &offset, error);
        *ret_offset = (size_t)(last + 1 - word) + offset;
    }
    if (rc == 0)
        rc = cell_add_names(section->cluster, names, ret_names, error);
    hostlist_destroy(names);
    free(word);
    return rc;
}
