/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/site.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/allocation.h"
#include "alloc/cell.h"
#include "alloc/host_name.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/node_facts.h"

#define SHOWN_BYTES 80
#define NEAR_MAX    64

static const struct {
    const char *name;
    const char *fact; /* its name in a text of facts; NULL: it has none */
    int is_of_kinds;  /* kinds of nodes have it, too */
} keys[SITE_KEY_COUNT] = {
    [SITE_NODES] = {"nodes", NULL, 1},
    [SITE_SLOTS] = {"slots", NULL, 1},
    [SITE_ADDRESS] = {"address", NULL, 0},
    [SITE_SCHEDULER] = {"scheduler", NULL, 0},
    [SITE_SCHEDULER_OPTIONS] = {"scheduler-options", NULL, 1},
    [SITE_LOGIN] = {"login", NULL, 0},
    [SITE_STARTER] = {"starter", NULL, 0},
    [SITE_STARTER_COMMAND] = {"starter-command", NULL, 0},
    [SITE_STARTER_OPTIONS] = {"starter-options", NULL, 0},
    [SITE_TMPDIR] = {"tmpdir", NULL, 1},
    [SITE_MEMORY] = {"memory", "mem", 1},
    [SITE_ARCHITECTURE] = {"arch", "arch", 1},
    [SITE_SYSTEM] = {"os", "os", 1},
    [SITE_FEATURES] = {"features", "feature", 1},
    [SITE_GPUS] = {"gpus", "gpus", 1},
};

/* What the values of some keys must be. */
static const struct {
    enum site_key key;
    const char *words[8];
} choices[] = {
    {SITE_SCHEDULER, {"slurm", "pbs", "lsf", NULL}},
    {SITE_STARTER, {"ssh", "srun", "pals", "flux", "join", "local", NULL}},
};

const char *site_key_name(enum site_key key)
{
    assert(key < SITE_KEY_COUNT);
    return keys[key].name;
}

int site_key_find(const char *name, int is_kind, enum site_key *ret_key, struct error *error)
{
    const char *names[SITE_KEY_COUNT];
    const char *nearest;
    size_t count = 0;

    for (int i = 0; i < SITE_KEY_COUNT; i++) {
        if (is_kind && !keys[i].is_of_kinds) {
            if (strcmp(keys[i].name, name) == 0)
                return error_set(error, -EINVAL,
                                 "%s belongs to the section of the cluster, not of a kind of nodes",
                                 name);
            continue;
        }
        if (strcmp(keys[i].name, name) == 0) {
            *ret_key = (enum site_key)i;
            return 0;
        }
        names[count++] = keys[i].name;
    }
    nearest = nearest_word(name, names, count);
    return error_set(error, -EINVAL, "a cluster has no '%.*s'%s%s%s", SHOWN_BYTES, name,
                     nearest != NULL ? ": did you mean '" : "; banyan(1) lists what it has",
                     nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

/* ---- Sections ---- */

void site_fini(struct site *site)
{
    for (uint32_t i = 0; i < site->count; i++) {
        struct site_section *section = &site->sections[i];

        free(section->cluster);
        free(section->kind);
        for (int k = 0; k < SITE_KEY_COUNT; k++) {
            free(section->values[k]);
            free(section->origins[k]);
        }
    }
    free(site->sections);
    *site = (struct site){.count = 0};
}

/* Names of clusters and kinds begin with a letter: 512+100 cannot be one. */
static int check_name(const char *name, struct error *error)
{
    size_t bytes = strlen(name);
    char first = name[0];

    if (bytes == 0 || bytes > CELL_BYTES_MAX)
        return error_set(error, -EINVAL, "a name of a cluster or kind has 1 to %d bytes",
                         CELL_BYTES_MAX);
    if (!((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z')))
        return error_set(error, -EINVAL, "'%.*s' does not begin with a letter", SHOWN_BYTES, name);
    for (size_t i = 0; i < bytes; i++)
        if (!host_name_has_byte(name[i]))
            return error_set(error, -EINVAL, "'%c' is not allowed in the name of a cluster",
                             name[i]);
    return 0;
}

static int is_section(const struct site_section *section, const char *cluster, const char *kind)
{
    return strcmp(section->cluster, cluster) == 0 && (section->kind == NULL) == (kind == NULL) &&
           (kind == NULL || strcmp(section->kind, kind) == 0);
}

const struct site_section *site_find(const struct site *site, const char *cluster, const char *kind)
{
    for (uint32_t i = 0; i < site->count; i++)
        if (is_section(&site->sections[i], cluster, kind))
            return &site->sections[i];
    return NULL;
}

int site_open(struct site *site, const char *cluster, const char *kind, uint32_t *ret_section,
              struct error *error)
{
    int rc = check_name(cluster, error);

    if (rc == 0 && kind != NULL)
        rc = check_name(kind, error);
    if (rc == 0 && kind != NULL && site_find(site, cluster, NULL) == NULL)
        rc = site_open(site, cluster, NULL, ret_section, error); /* also if it has no values */
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < site->count; i++) {
        if (is_section(&site->sections[i], cluster, kind)) {
            *ret_section = i;
            return 0;
        }
    }
    site->sections = memory_resize(site->sections, (site->count + 1) * sizeof(*site->sections));
    site->sections[site->count] =
        (struct site_section){.cluster = memory_copy_string(cluster),
                              .kind = kind != NULL ? memory_copy_string(kind) : NULL};
    *ret_section = site->count++;
    return 0;
}

/* ---- Values ---- */

static int check_choice(enum site_key key, const char *text, struct error *error)
{
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        struct buffer words = {0};
        const char *nearest;
        size_t count = 0;
        int is_known = 0;

        if (choices[i].key != key)
            continue;
        for (; choices[i].words[count] != NULL; count++) {
            is_known |= strcmp(choices[i].words[count], text) == 0;
            buffer_printf(&words, "%s%s", count > 0 ? ", " : "", choices[i].words[count]);
        }
        nearest = nearest_word(text, choices[i].words, count);
        if (!is_known && nearest != NULL)
            error_set(error, -EINVAL, "%s: unknown '%.*s': did you mean '%s'?", keys[key].name,
                      SHOWN_BYTES, text, nearest);
        else if (!is_known)
            error_set(error, -EINVAL, "%s: unknown '%.*s'; there are %s", keys[key].name,
                      SHOWN_BYTES, text, buffer_string(&words));
        buffer_fini(&words);
        return is_known ? 0 : -EINVAL;
    }
    return 0;
}

static int check_names(const char *text, struct error *error)
{
    struct hostlist *names = hostlist_create();
    char name[HOST_NAME_BYTES_MAX + 1];
    size_t offset;
    int rc = hostlist_parse(names, text, error);

    if (rc == 0 && hostlist_count(names) == 0)
        rc = error_set(error, -EINVAL, "no node is named");
    for (uint32_t i = 0; rc == 0 && i < hostlist_runs(names); i++) {
        struct host_run run = hostlist_run(names, i);

        hostlist_run_name(&run, 0, name);
        rc = host_name_check(name, strlen(name), &offset, error);
    }
    hostlist_destroy(names);
    return rc;
}

static int check_slots(const char *text, struct error *error)
{
    char *end;
    unsigned long slots = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || slots < 1 || slots > ALLOCATION_SLOTS_MAX)
        return error_set(error, -EINVAL, "'%.*s' is not a number from 1 to %u", SHOWN_BYTES, text,
                         ALLOCATION_SLOTS_MAX);
    return 0;
}

static int check_facts(enum site_key key, const char *text, struct error *error)
{
    struct node_facts facts = {.known = 0};
    char *line = memory_printf("%s=%s", keys[key].fact, text);
    int rc = strchr(text, ',') != NULL
                 ? error_set(error, -EINVAL, "'%.*s': write features as A|B", SHOWN_BYTES, text)
                 : node_facts_parse(line, &facts, error);

    node_facts_fini(&facts);
    free(line);
    return rc;
}

static int check_value(enum site_key key, const char *text, struct error *error)
{
    int rc = 0;

    if (text[0] == '\0')
        return error_set(error, -EINVAL, "%s has no value", keys[key].name);
    if (key == SITE_SCHEDULER || key == SITE_STARTER)
        return check_choice(key, text, error);
    if (key == SITE_NODES)
        rc = check_names(text, error);
    else if (key == SITE_SLOTS)
        rc = check_slots(text, error);
    else if (key == SITE_ADDRESS)
        rc = cell_template_check(text, error);
    else if (key == SITE_LOGIN && (text[0] == '-' || strpbrk(text, " \t") != NULL))
        rc = error_set(error, -EINVAL, "'%.*s' is not the name of a machine", SHOWN_BYTES, text);
    else if (key == SITE_TMPDIR && text[0] != '/')
        rc = error_set(error, -EINVAL, "'%.*s' is not an absolute path", SHOWN_BYTES, text);
    else if (key == SITE_TMPDIR && strchr(text, ';') != NULL)
        rc = error_set(error, -EINVAL, "'%.*s' is not one directory: it has a ';'", SHOWN_BYTES,
                       text);
    else if (keys[key].fact != NULL)
        rc = check_facts(key, text, error);
    if (rc < 0)
        error_prefix(error, "%s", keys[key].name);
    return rc;
}

int site_set(struct site *site, uint32_t section, enum site_key key, const char *text,
             const char *origin, struct error *error)
{
    struct site_section *at = &site->sections[section];
    int rc = check_value(key, text, error);

    assert(section < site->count && key < SITE_KEY_COUNT);
    if (rc < 0)
        return rc;
    free(at->values[key]);
    free(at->origins[key]);
    at->values[key] = memory_copy_string(text);
    at->origins[key] = memory_copy_string(origin);
    return 0;
}

const char *site_value(const struct site *site, const struct site_section *section,
                       enum site_key key)
{
    const struct site_section *cluster;

    assert(key < SITE_KEY_COUNT);
    if (section->values[key] != NULL || section->kind == NULL || key == SITE_NODES)
        return section->values[key];
    cluster = site_find(site, section->cluster, NULL);
    return cluster != NULL ? cluster->values[key] : NULL;
}

void site_facts(const struct site *site, const struct site_section *section, struct buffer *out)
{
    for (int i = 0; i < SITE_KEY_COUNT; i++) {
        const char *value =
            keys[i].fact != NULL ? site_value(site, section, (enum site_key)i) : NULL;

        if (value != NULL)
            buffer_printf(out, "%s%s=%s", out->length_bytes > 0 ? "," : "", keys[i].fact, value);
    }
}

/* ---- Finding ---- */

/* Of a cluster, or of a kind in it if `cluster` is given. */
static const char *nearest_section(const struct site *site, const char *cluster, const char *word)
{
    const char *names[NEAR_MAX];
    size_t count = 0;

    for (uint32_t i = 0; i < site->count && count < NEAR_MAX; i++) {
        const struct site_section *section = &site->sections[i];

        if (cluster == NULL && section->kind == NULL)
            names[count++] = section->cluster;
        else if (cluster != NULL && section->kind != NULL && strcmp(section->cluster, cluster) == 0)
            names[count++] = section->kind;
    }
    return nearest_word(word, names, count);
}

/* "; there are west, east", or that there are none. */
static void list_clusters(const struct site *site, struct buffer *out)
{
    const char *before = "; there are ";

    for (uint32_t i = 0; i < site->count; i++) {
        if (site->sections[i].kind != NULL)
            continue;
        buffer_printf(out, "%s%s", before, site->sections[i].cluster);
        before = ", ";
    }
    if (site->count == 0)
        buffer_append_string(out, ": the configuration describes none (banyan(1))");
}

static void refuse_cluster(const struct site *site, const char *word, struct error *error)
{
    const char *nearest = nearest_section(site, NULL, word);
    struct buffer list = {0};

    if (nearest == NULL)
        list_clusters(site, &list);
    if (nearest != NULL)
        error_set(error, -ENOENT, "unknown cluster '%.*s': did you mean '%s'?", SHOWN_BYTES, word,
                  nearest);
    else
        error_set(error, -ENOENT, "unknown cluster '%.*s'%s", SHOWN_BYTES, word,
                  buffer_string(&list));
    buffer_fini(&list);
}

const struct site_section *site_find_word(const struct site *site, const char *word,
                                          struct error *error)
{
    char *cluster = memory_copy_string(word);
    char *slash = strchr(cluster, '/');
    const char *kind = slash != NULL ? slash + 1 : NULL;
    const struct site_section *section;
    const char *nearest;

    if (slash != NULL)
        *slash = '\0';
    section = site_find(site, cluster, NULL);
    if (section == NULL) {
        refuse_cluster(site, cluster, error);
    } else if (kind != NULL) {
        section = site_find(site, cluster, kind);
        nearest = section == NULL ? nearest_section(site, cluster, kind) : NULL;
        if (section == NULL)
            error_set(error, -ENOENT, "cluster %s has no kind of nodes '%.*s'%s%s%s", cluster,
                      SHOWN_BYTES, kind, nearest != NULL ? ": did you mean '" : "",
                      nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    }
    free(cluster);
    return section;
}
