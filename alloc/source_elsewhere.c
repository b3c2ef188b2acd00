/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outside of batch systems proper: HTCondor's parallel universe, AWS Batch's multi-node jobs, and
 * the MPI operator of Kubernetes.
 */
#include "config.h"

#include "alloc/source_internal.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define NODES_MAX         1000000u
#define CPUS_PER_NODE_MAX 1000000u

/* ---- HTCondor ---- */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* What follows "name =" in the current line of a job's ClassAd, or NULL. */
static const char *attribute_value(const struct source_text *text, const char *name)
{
    size_t bytes = strlen(name);
    const char *at = text->at;

    if ((size_t)(text->line_end - at) < bytes || strncasecmp(at, name, bytes) != 0)
        return NULL;
    at += bytes;
    while (at < text->line_end && is_blank(*at))
        at++;
    if (at == text->line_end || *at != '=')
        return NULL;
    at++;
    while (at < text->line_end && is_blank(*at))
        at++;
    return at;
}

/* Goes to the line of an attribute: 1 and *ret_word, all of its value, or 0. */
static int attribute_find(const struct source_text *ad, const char *name,
                          struct source_text *ret_text, struct source_word *ret_word)
{
    int rc;

    *ret_text = *ad;
    while ((rc = source_text_line(ret_text)) > 0) {
        const char *value = attribute_value(ret_text, name);

        if (value != NULL) {
            ret_text->at = value;
            *ret_word = (struct source_word){value, (size_t)(ret_text->line_end - value)};
            while (ret_word->bytes > 0 && is_blank(value[ret_word->bytes - 1]))
                ret_word->bytes--;
            return 1;
        }
    }
    return rc;
}

/* "slot1@n1,slot2@n1,slot1@n2" in quotes. */
static int remote_hosts_add(struct source_reading *reading, struct source_text *text,
                            const struct source_word *value, uint32_t slots)
{
    const char *at = value->text + 1;
    const char *end = value->text + value->bytes - 1;

    if (value->bytes < 2 || value->text[0] != '"' || *end != '"')
        return source_text_fail(text, value->text, "AllRemoteHosts must be a string in quotes");
    while (at <= end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma != NULL ? comma : end;
        const char *sign = memchr(at, '@', (size_t)(stop - at));
        struct source_word node = {sign != NULL ? sign + 1 : at, 0};
        int rc;

        node.bytes = (size_t)(stop - node.text);
        if (node.bytes == 0)
            return source_text_fail(text, node.text, "the name of a node is missing");
        rc = source_reading_add(reading, text, &node, slots);
        if (rc < 0)
            return rc;
        at = stop + 1;
    }
    return 0;
}

static int ad_read(struct source_reading *reading, const struct source_text *ad, bool by_number,
                   uint32_t *ret_cpus)
{
    struct source_text text;
    struct source_word value;
    int rc = attribute_find(ad, "RequestCpus", &text, &value);

    if (rc > 0)
        rc = source_word_number(&text, &value, "RequestCpus", 1, CPUS_PER_NODE_MAX, ret_cpus);
    if (rc < 0 || by_number)
        return rc;
    rc = attribute_find(ad, "AllRemoteHosts", &text, &value);
    if (rc == 0)
        return error_set(reading->error, -EINVAL, "%s: there is no AllRemoteHosts", ad->name);
    return rc < 0 ? rc : remote_hosts_add(reading, &text, &value, *ret_cpus > 0 ? *ret_cpus : 1);
}

/* Under condor_ssh the names of the nodes are their numbers. */
static int numbers_add(struct source_reading *reading, uint32_t slots)
{
    static const char *const names[] = {"_CONDOR_NPROCS", NULL};
    struct host_run run = {.prefix = "", .suffix = "", .width = 1};
    const char *name, *value;
    int rc = source_reading_require(reading, names, &name, &value);

    if (rc == 0)
        rc = source_reading_number(reading, name, 1, NODES_MAX, &run.count);
    if (rc < 0)
        return rc;
    return allocation_builder_add(&reading->builder, &run, slots, reading->error);
}

int source_read_condor(struct source_reading *reading)
{
    static const char *const names[] = {"_CONDOR_JOB_AD", NULL};
    const char *contact = source_reading_variable(reading, "CONDOR_CONTACT_FILE");
    bool by_number = contact != NULL && contact[0] != '\0';
    struct buffer bytes = {0};
    struct source_text ad;
    const char *name, *path;
    uint32_t cpus = 0;
    int rc = source_reading_require(reading, names, &name, &path);

    if (rc < 0)
        return rc;
    rc = source_reading_file(reading, name, path, &bytes);
    if (rc == 0) {
        source_text_file(&ad, path, bytes.data, bytes.length_bytes, reading->error);
        rc = ad_read(reading, &ad, by_number, &cpus);
        if (rc < 0)
            error_prefix(reading->error, "%s", name);
    }
    if (rc == 0 && by_number)
        rc = numbers_add(reading, cpus > 0 ? cpus : 1);
    buffer_fini(&bytes);
    return rc < 0 ? rc : source_reading_finish(reading, cpus > 0 ? "RequestCpus" : NULL);
}

/* ---- AWS Batch ---- */

/* There is no list of nodes: they must report to the main one, whose address they know. */
int source_read_aws_batch(struct source_reading *reading)
{
    uint32_t nodes = 0, index = 0, main_index = 0;
    struct host_run run = {.prefix = "localhost", .suffix = "", .count = 1};
    int rc = source_reading_number(reading, "AWS_BATCH_JOB_NUM_NODES", 1, NODES_MAX, &nodes);

    if (rc == 0)
        rc = source_reading_number(reading, "AWS_BATCH_JOB_NODE_INDEX", 0, NODES_MAX, &index);
    if (rc == 0)
        rc = source_reading_number(reading, "AWS_BATCH_JOB_MAIN_NODE_INDEX", 0, NODES_MAX,
                                   &main_index);
    if (rc < 0)
        return rc;
    if (nodes == 0)
        return error_set(reading->error, -EINVAL, "AWS_BATCH_JOB_NUM_NODES is not set");
    if (index != main_index)
        return error_set(reading->error, -ENOTSUP,
                         "this is node %u of %u: only the main node, %u, can start a run", index,
                         nodes, main_index);
    if (nodes > 1)
        return error_set(
            reading->error, -ENOTSUP,
            "it does not provide the addresses of its %u nodes: have each node report its address to the main node, and give them there with --host or --hostfile",
            nodes);
    run.prefix_bytes = (uint8_t)strlen(run.prefix);
    rc = allocation_builder_add(&reading->builder, &run, 1, reading->error);
    return rc < 0 ? rc : source_reading_finish(reading, NULL);
}

/* ---- Kubernetes ---- */

/* A host file in Open MPI's form, Intel's or hydra's; each of them has its own variable. */
int source_read_mpi_operator(struct source_reading *reading)
{
    static const char *const names[] = {"OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE",
                                        "HYDRA_HOST_FILE", NULL};
    const char *path = reading->result->source->present_file;
    const char *variable = "its host file";
    struct buffer bytes = {0};
    int rc = 0;

    for (const char *const *name = names; *name != NULL; name++) {
        const char *value = source_reading_variable(reading, *name);

        if (value != NULL && value[0] != '\0') {
            variable = *name;
            path = value;
            break;
        }
    }
    rc = source_reading_file(reading, variable, path, &bytes);
    if (rc == 0)
        rc = allocation_parse_hostfile(&reading->result->allocation, path,
                                       bytes.length_bytes > 0 ? (const char *)bytes.data : "",
                                       bytes.length_bytes, reading->error);
    buffer_fini(&bytes);
    reading->result->slots_given = true;
    return rc;
}
