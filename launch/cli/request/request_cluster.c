/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_cluster.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/cell.h"
#include "base/memory.h"

#define STARTER_DEFAULT "ssh"

char *request_cluster_agent(const struct site *site, const struct site_section *section)
{
    const char *command = site_value(site, section, SITE_STARTER_COMMAND);
    const char *options = site_value(site, section, SITE_STARTER_OPTIONS);

    if (command == NULL && options == NULL)
        return NULL;
    return memory_printf("%s%s%s", command != NULL ? command : STARTER_DEFAULT,
                         options != NULL ? " " : "", options != NULL ? options : "");
}

/* What one cluster wants of its starter. */
struct wanted {
    const struct site_section *section;
    const char *starter;
    char *agent;
};

static struct wanted wanted_of(const struct site *site, const struct site_section *section)
{
    const char *starter = site_value(site, section, SITE_STARTER);

    return (struct wanted){.section = section,
                           .starter = starter != NULL ? starter : STARTER_DEFAULT,
                           .agent = request_cluster_agent(site, section)};
}

static int is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static int check_same(const struct wanted *first, const struct wanted *other, struct error *error)
{
    if (strcmp(first->starter, other->starter) == 0 && is_same_text(first->agent, other->agent))
        return 0;
    return error_set(error, -EINVAL,
                     "the clusters %s and %s are started differently (%s and %s): give --starter "
                     "and --ssh-agent for all nodes",
                     first->section->cluster, other->section->cluster,
                     first->agent != NULL ? first->agent : first->starter,
                     other->agent != NULL ? other->agent : other->starter);
}

/* Of the first cluster; all others want the same.  section NULL: no node has a cluster. */
static int find_wanted(const struct site *site, const struct allocation *allocation,
                       struct wanted *ret_wanted, struct error *error)
{
    struct wanted first = {.section = NULL};
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < hostlist_runs(allocation->names); i++) {
        struct host_run run = hostlist_run(allocation->names, i);
        const struct site_section *section;
        char name[HOST_NAME_BYTES_MAX + 1];
        struct wanted wanted;

        hostlist_run_name(&run, 0, name);
        name[cell_bytes(name)] = '\0';
        section = name[0] != '\0' ? site_find(site, name, NULL) : NULL;
        if (section == NULL || section == first.section)
            continue;
        wanted = wanted_of(site, section);
        if (first.section == NULL) {
            first = wanted;
            continue;
        }
        rc = check_same(&first, &wanted, error);
        free(wanted.agent);
    }
    if (rc < 0)
        free(first.agent);
    else
        *ret_wanted = first;
    return rc;
}

static int has_clusters(const struct allocation *allocation)
{
    for (uint32_t i = 0; i < hostlist_runs(allocation->names); i++) {
        struct host_run run = hostlist_run(allocation->names, i);

        if (memchr(run.prefix, '/', run.prefix_bytes) != NULL)
            return 1;
    }
    return 0;
}

/* The others know nodes by the names of their scheduler. */
static int check_starter(const char *starter, struct error *error)
{
    if (strcmp(starter, "ssh") == 0 || strcmp(starter, "join") == 0 ||
        strcmp(starter, "local") == 0)
        return 0;
    return error_set(error, -EINVAL,
                     "the starter %s cannot reach nodes that are named by their cluster: give "
                     "--starter ssh, or request the nodes with --alloc",
                     starter);
}

int request_cluster_starter(const struct site *site, const struct allocation *allocation,
                            struct request_settings *settings, char **ret_agent,
                            struct error *error)
{
    struct wanted wanted = {.section = NULL};
    int rc = 0;

    *ret_agent = NULL;
    if (site == NULL || !has_clusters(allocation))
        return 0;
    if (settings->starter == NULL && settings->agent == NULL)
        rc = find_wanted(site, allocation, &wanted, error);
    if (rc == 0 && wanted.section != NULL) {
        settings->starter = wanted.starter;
        if (strcmp(wanted.starter, STARTER_DEFAULT) == 0 && wanted.agent != NULL)
            settings->agent = wanted.agent;
        *ret_agent = wanted.agent;
    }
    if (rc == 0 && settings->starter != NULL)
        rc = check_starter(settings->starter, error);
    if (rc < 0) {
        free(*ret_agent);
        *ret_agent = NULL;
    }
    return rc;
}

/* ---- Directories ---- */

static int has_cluster(const struct allocation *allocation, const char *cluster)
{
    size_t bytes = strlen(cluster);

    assert(bytes > 0);
    for (uint32_t i = 0; i < hostlist_runs(allocation->names); i++) {
        struct host_run run = hostlist_run(allocation->names, i);

        if (run.prefix_bytes > bytes && memcmp(run.prefix, cluster, bytes) == 0 &&
            run.prefix[bytes] == '/')
            return 1;
    }
    return 0;
}

/* "west/=/local", "west/q[512-519]=/nvme". */
static void put_tmpdir(const struct site *site, const struct site_section *section,
                       struct buffer *out)
{
    struct hostlist *names = hostlist_create(), *whole = hostlist_create();

    assert(section->cluster != NULL && section->values[SITE_TMPDIR] != NULL);
    site_names(site, section, names);
    if (section->kind == NULL ||
        (hostlist_count(names) > 0 && cell_add_names(section->cluster, names, whole, NULL) == 0)) {
        if (out->length_bytes > 0)
            buffer_append_string(out, ";");
        if (section->kind == NULL)
            buffer_printf(out, "%s/", section->cluster);
        else
            hostlist_print(whole, out);
        buffer_printf(out, "=%s", section->values[SITE_TMPDIR]);
    }
    hostlist_destroy(names);
    hostlist_destroy(whole);
}

char *request_cluster_tmpdir(const struct site *site, const struct allocation *allocation,
                             const char *given)
{
    struct buffer text = {0};
    char *made;

    for (uint32_t i = 0; site != NULL && i < site->count; i++) {
        const struct site_section *section = &site->sections[i];

        if (section->values[SITE_TMPDIR] != NULL && has_cluster(allocation, section->cluster))
            put_tmpdir(site, section, &text);
    }
    if (given != NULL)
        buffer_printf(&text, "%s%s", text.length_bytes > 0 ? ";" : "", given);
    made = text.length_bytes > 0 ? memory_copy_string(buffer_string(&text)) : NULL;
    buffer_fini(&text);
    return made;
}
