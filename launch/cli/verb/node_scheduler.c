/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/node_scheduler.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/ranges.h"
#include "launch/start/command_output.h"

#define CPUS_MAX 65536u

/* "0-3,8": how many; 0 if it is no such list. */
static uint32_t count_cpus(const char *text, size_t bytes)
{
    const char *end = text + bytes;
    struct ranges cpus = {0};
    uint64_t count;

    while (text < end) {
        char *next;
        unsigned long first = strtoul(text, &next, 10), last = first;

        if (next == text || next > end)
            break;
        if (*next == '-')
            last = strtoul(next + 1, &next, 10);
        if (first > last || last >= CPUS_MAX)
            break;
        ranges_add(&cpus, (uint32_t)first, (uint32_t)last);
        text = *next == ',' ? next + 1 : end;
    }
    count = ranges_count(&cpus);
    ranges_fini(&cpus);
    return (uint32_t)count;
}

static int add_nodes(struct allocation *nodes, const char *list, size_t bytes, uint32_t slots,
                     struct error *error)
{
    struct hostlist *names = hostlist_create();
    char *copy = memory_printf("%.*s", (int)bytes, list);
    char name[HOST_NAME_BYTES_MAX + 1];
    int rc = hostlist_parse(names, copy, error);

    if (rc < 0)
        error_prefix(error, "nodes of scontrol");
    for (uint32_t i = 0; rc == 0 && i < hostlist_count(names); i++) {
        hostlist_name(names, i, name);
        if (nodes->names == NULL || hostlist_find(nodes->names, name, 0) < 0)
            allocation_add(nodes, name, slots);
    }
    free(copy);
    hostlist_destroy(names);
    return rc;
}

static int starts_with(const char *word, const char *prefix)
{
    return strncmp(word, prefix, strlen(prefix)) == 0;
}

/* One pass: lines "Nodes=LIST CPU_IDs=LIST ...", or "NodeList=LIST" for all. */
static int parse_words(const char *text, const char *key, uint32_t cpus_per_slot,
                       struct allocation *nodes, struct error *error)
{
    static const char blanks[] = " \t\n";
    int rc = 0;

    for (text += strspn(text, blanks); rc == 0 && *text != '\0'; text += strspn(text, blanks)) {
        size_t bytes = strcspn(text, blanks), key_bytes = strlen(key);
        const char *next = text + bytes + strspn(text + bytes, blanks);
        uint32_t cpus = 1;

        if (starts_with(next, "CPU_IDs="))
            cpus = count_cpus(next + 8, strcspn(next + 8, blanks));
        if (starts_with(text, key) && bytes > key_bytes && text[key_bytes] != '(')
            rc = add_nodes(nodes, text + key_bytes, bytes - key_bytes,
                           cpus >= cpus_per_slot ? cpus / cpus_per_slot : 1, error);
        text += bytes;
    }
    return rc;
}

int node_scheduler_parse(const char *text, uint32_t cpus_per_slot, struct allocation *nodes,
                         struct error *error)
{
    int rc;

    assert(cpus_per_slot > 0 && allocation_nodes(nodes) == 0);
    rc = parse_words(text, "Nodes=", cpus_per_slot, nodes, error);
    if (rc == 0 && allocation_nodes(nodes) == 0)
        rc = parse_words(text, "NodeList=", cpus_per_slot, nodes, error);
    if (rc == 0 && allocation_nodes(nodes) == 0)
        rc = error_set(error, -EBADMSG, "scontrol names no node of this job: is it running?");
    return rc;
}

int node_scheduler_read(struct allocation *nodes, struct error *error)
{
    const char *job = getenv("SLURM_JOB_ID");
    const char *per_task = getenv("SLURM_CPUS_PER_TASK");
    const char *argv[] = {"scontrol", "--details", "show", "job", job, NULL};
    unsigned long cpus = per_task != NULL ? strtoul(per_task, NULL, 10) : 1;
    struct buffer text = {0};
    int rc;

    if (job == NULL || job[0] == '\0')
        return error_set(error, -EINVAL,
                         "option --from-scheduler asks Slurm for the nodes of its job, and "
                         "SLURM_JOB_ID is not set here; name the nodes");
    rc = command_output(argv, &text, error);
    if (rc == 0)
        rc = node_scheduler_parse(buffer_string(&text),
                                  cpus > 0 && cpus < CPUS_MAX ? (uint32_t)cpus : 1, nodes, error);
    if (rc < 0)
        error_prefix(error, "option --from-scheduler");
    buffer_fini(&text);
    return rc;
}
