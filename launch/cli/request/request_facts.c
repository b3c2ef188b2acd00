/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_facts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/name_index.h"
#include "alloc/site.h"

#define SINFO_FIELDS        4
#define SINFO_NAMES_MAX     (100u * 1024) /* too long for an argument: then all nodes are queried */
#define SINFO_NO_MEMORY_MIB 1             /* the default of slurm.conf */

/* ---- Names ---- */

/* The nodes of a hostlist; *ret_missing is the index of an unknown one, or its count. */
static void find_nodes(const struct name_index *index, const struct hostlist *list,
                       struct ranges *ret_nodes, uint32_t *ret_missing)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    *ret_missing = hostlist_count(list);
    for (uint32_t i = 0; i < hostlist_count(list); i++) {
        int64_t node;

        hostlist_name(list, i, name);
        node = name_index_find(index, name, strlen(name));
        if (node >= 0)
            ranges_add(ret_nodes, (uint32_t)node, (uint32_t)node);
        else
            *ret_missing = i;
    }
}

/* ---- --facts ---- */

static int add_given(const char *text, const struct name_index *index, struct facts_table *table,
                     struct error *error)
{
    const char *colon =
        strrchr(text, ']') != NULL ? strchr(strrchr(text, ']'), ':') : strchr(text, ':');
    struct hostlist *list = hostlist_create();
    struct node_facts facts = {.known = 0};
    struct ranges nodes = {0};
    char name[HOST_NAME_BYTES_MAX + 1];
    uint32_t missing;
    size_t offset;
    int rc;

    if (colon == NULL) {
        rc = error_set(error, -EINVAL, "'%.80s' is not NODES:FACTS, as n[1-4]:feature=ib", text);
    } else {
        rc = hostlist_parse_bytes(list, text, (size_t)(colon - text), &offset, error);
        if (rc < 0)
            error_prefix(error, "column %zu", offset + 1);
    }
    if (rc == 0)
        rc = node_facts_parse(colon + 1, &facts, error);
    if (rc == 0) {
        find_nodes(index, list, &nodes, &missing);
        if (missing < hostlist_count(list)) {
            hostlist_name(list, missing, name);
            rc = error_set(error, -ENOENT, "no such node: %s", name);
        }
    }
    if (rc == 0)
        facts_table_add(table, &facts, &nodes);
    hostlist_destroy(list);
    node_facts_fini(&facts);
    ranges_fini(&nodes);
    return rc;
}

int request_facts_given(const struct option_list *given, const struct allocation *allocation,
                        struct facts_table *table, struct error *error)
{
    struct name_index *index;
    int rc = 0;

    if (given->count == 0)
        return 0;
    index = name_index_of(allocation->names);
    for (uint32_t i = 0; rc == 0 && i < given->count; i++)
        rc = add_given(given->items[i], index, table, error);
    if (rc < 0)
        error_prefix(error, "option --facts");
    name_index_destroy(index);
    return rc;
}

/* ---- Clusters ---- */

/* The facts of the section, for those nodes of which it is the section that counts. */
static void add_section(const struct site *site, const struct site_section *section,
                        const struct site_section *const *sections, uint32_t count,
                        struct facts_table *table)
{
    struct node_facts facts = {.known = 0};
    struct ranges nodes = {0};
    struct buffer text = {0};

    site_facts(site, section, &text);
    for (uint32_t i = 0; text.length_bytes > 0 && i < count; i++)
        if (sections[i] == section)
            ranges_add(&nodes, i, i);
    /* The values have been checked when they were set. */
    if (!ranges_is_empty(&nodes) && node_facts_parse(buffer_string(&text), &facts, NULL) == 0)
        facts_table_add(table, &facts, &nodes);
    buffer_fini(&text);
    ranges_fini(&nodes);
    node_facts_fini(&facts);
}

void request_facts_clusters(const struct site *site, const struct allocation *allocation,
                            struct facts_table *table)
{
    uint32_t count = allocation_nodes(allocation);
    const struct site_section **sections;
    char name[HOST_NAME_BYTES_MAX + 1];

    if (site == NULL || site->count == 0)
        return;
    sections = memory_allocate_zeroed((size_t)count * sizeof(struct site_section *));
    for (uint32_t i = 0; i < count; i++) {
        hostlist_name(allocation->names, i, name);
        sections[i] = site_section_of(site, name);
    }
    for (uint32_t i = 0; i < site->count; i++)
        add_section(site, &site->sections[i], sections, count, table);
    free(sections);
}

/* ---- Slurm ---- */

/* "gpu:2", "gpu:tesla:4(S:0-1),shard:8", "(null)"; unknown if it has no gpu. */
static void read_gres(const char *text, struct node_facts *facts)
{
    unsigned long count = 0;
    int found = 0;

    for (const char *at = text; *at != '\0'; at += *at == ',') {
        size_t bytes = strcspn(at, ",(");

        if (strncmp(at, "gpu:", 4) == 0) {
            const char *last = at + bytes;

            while (last[-1] >= '0' && last[-1] <= '9')
                last--;
            count += last[-1] == ':' ? strtoul(last, NULL, 10) : 1;
            found = 1;
        }
        at += bytes;
        if (*at == '(')
            at += strcspn(at, ")");
        at += strcspn(at, ",");
    }
    if (!found || count > FACTS_GPUS_MAX)
        return;
    facts->gpus = (uint32_t)count;
    facts->known |= 1u << FACT_GPUS;
}

static void read_features(const char *text, struct node_facts *facts)
{
    if (strcmp(text, "(null)") == 0)
        return;
    while (*text != '\0') {
        size_t bytes = strcspn(text, ",");

        (void)node_facts_add_feature(facts, text, bytes);
        text += bytes;
        text += *text == ',';
    }
}

static int read_sinfo_line(char *line, const struct name_index *index, struct facts_table *table,
                           struct error *error)
{
    char *fields[SINFO_FIELDS];
    struct hostlist *list = hostlist_create();
    struct node_facts facts = {.known = 0};
    struct ranges nodes = {0};
    uint32_t missing;
    int rc = 0;

    for (int i = 0; i < SINFO_FIELDS; i++) {
        fields[i] = strsep(&line, "|");
        if (fields[i] == NULL)
            rc = error_set(error, -EINVAL,
                           "unexpected output from sinfo: not NAMES|FEATURES|"
                           "MEMORY|GRES");
    }
    if (rc == 0)
        rc = hostlist_parse(list, fields[0], error);
    if (rc == 0) {
        find_nodes(index, list, &nodes, &missing);
        read_features(fields[1], &facts);
        facts.memory_mib = strtoull(fields[2], NULL, 10);
        if (facts.memory_mib > SINFO_NO_MEMORY_MIB && facts.memory_mib <= FACTS_MEMORY_MIB_MAX)
            facts.known |= 1u << FACT_MEMORY;
        else
            facts.memory_mib = 0;
        read_gres(fields[3], &facts);
        facts_table_add(table, &facts, &nodes);
    }
    hostlist_destroy(list);
    node_facts_fini(&facts);
    ranges_fini(&nodes);
    return rc;
}

int request_facts_parse_sinfo(const char *text, const struct allocation *allocation,
                              struct facts_table *table, struct error *error)
{
    struct name_index *index = name_index_of(allocation->names);
    char *copy = memory_copy_string(text), *rest = copy;
    int rc = 0;

    for (char *line; rc == 0 && (line = strsep(&rest, "\n")) != NULL;)
        rc = line[0] != '\0' ? read_sinfo_line(line, index, table, error) : 0;
    name_index_destroy(index);
    free(copy);
    return rc;
}

int request_facts_ask(const struct request_ops *ops, const struct source *source,
                      const struct allocation *allocation, struct facts_table *table,
                      struct error *error)
{
    struct buffer names = {0}, text = {0};
    const char *argv[] = {"sinfo", "-h", "-o", "%N|%b|%m|%G", NULL, NULL, NULL};
    int rc;

    if (source == NULL || strcmp(source->name, "slurm") != 0 || ops->command == NULL ||
        !ops->has_program(ops->environment, argv[0]))
        return 0;
    hostlist_print(allocation->names, &names);
    if (names.length_bytes < SINFO_NAMES_MAX) {
        argv[4] = "-n";
        argv[5] = buffer_string(&names);
    }
    rc = ops->command(argv, &text, error);
    if (rc == 0)
        rc = request_facts_parse_sinfo(buffer_string(&text), allocation, table, error);
    if (rc < 0)
        error_prefix(error, "cannot query Slurm for node features");
    buffer_fini(&names);
    buffer_fini(&text);
    return rc;
}

int request_facts_find(const struct request_apps *apps, const struct request_ops *ops,
                       const struct source *source, const struct allocation *allocation,
                       struct facts_table *table, struct error *error)
{
    int rc = request_facts_given(&apps->items[0].settings.facts, allocation, table, error);
    int is_asked = 0;

    assert(apps->count > 0);
    if (rc == 0)
        request_facts_clusters(ops->configured != NULL ? &ops->configured->site : NULL, allocation,
                               table);
    for (uint32_t i = 0; i < apps->count; i++)
        is_asked |= apps->items[i].settings.require.count > 0;
    return rc < 0 || !is_asked ? rc : request_facts_ask(ops, source, allocation, table, error);
}
