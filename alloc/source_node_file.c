/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedulers that leave a file with one node a line: PBS, Cobalt, OAR, PJM, LoadLeveler.
 */
#include "config.h"

#include "alloc/source_internal.h"

#define PROCESSES_PER_NODE_MAX 100000u

/* PBS Pro and OpenPBS write a node for each process of a chunk, Torque for each of its ppn. */
int source_read_pbs(struct source_reading *reading)
{
    static const char *const variables[] = {"PBS_NODEFILE", NULL};
    const char *name;
    int rc = source_reading_add_node_file(reading, variables, 1, &name);

    return rc < 0 ? rc : source_reading_finish(reading, name);
}

/* Each node once, however many cores it has. */
int source_read_cobalt(struct source_reading *reading)
{
    static const char *const variables[] = {"COBALT_NODEFILE", NULL};
    const char *name;
    int rc = source_reading_add_node_file(reading, variables, 1, &name);

    return rc < 0 ? rc : source_reading_finish(reading, NULL);
}

/* A node for each reserved core. */
int source_read_oar(struct source_reading *reading)
{
    static const char *const variables[] = {"OAR_NODEFILE", "OAR_NODE_FILE", "OAR_FILE_NODES",
                                            NULL};
    const char *name;
    int rc = source_reading_add_node_file(reading, variables, 1, &name);

    return rc < 0 ? rc : source_reading_finish(reading, name);
}

/* An address for each (virtual) node; how many processes each gets stands elsewhere, or nowhere. */
int source_read_pjm(struct source_reading *reading)
{
    static const char *const variables[] = {"PJM_O_NODEINF", NULL};
    const char *name;
    uint32_t slots = 0;
    int rc = source_reading_number(reading, "PJM_PROC_BY_NODE", 1, PROCESSES_PER_NODE_MAX, &slots);

    if (rc == 0)
        rc = source_reading_add_node_file(reading, variables, slots > 0 ? slots : 1, &name);
    return rc < 0 ? rc : source_reading_finish(reading, slots > 0 ? "PJM_PROC_BY_NODE" : NULL);
}

/* A node for each task, in a file, or in a variable that is empty beyond 128 of them. */
int source_read_loadleveler(struct source_reading *reading)
{
    static const char *const variables[] = {"LOADL_HOSTFILE", "LOADL_PROCESSOR_LIST", NULL};
    struct source_text text;
    const char *name, *value;
    int rc = source_reading_require(reading, variables, &name, &value);

    if (rc == 0 && name == variables[0]) {
        rc = source_reading_add_node_file(reading, variables, 1, &name);
    } else if (rc == 0) {
        source_text_variable(&text, name, value, reading->error);
        rc = source_reading_add_repeated(reading, &text, source_text_word, 1);
    }
    return rc < 0 ? rc : source_reading_finish(reading, name);
}
