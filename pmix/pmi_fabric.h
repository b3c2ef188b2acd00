/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI_QUERY_FABRIC (pmi_query.h): what a process may ask about the network between the nodes of its instance.  The
 * root alone has a model of it; an answer is about one network plane, and has what was asked for: nothing beside
 * the numbers, some rows of the matrix of costs, or some devices (NICs).  Devices of a plane are numbered from 0.
 *
 * Cost: two bytes for each cost, and the names and what else is known of each device.
 */
#ifndef PMIX_PMI_FABRIC_H
#define PMIX_PMI_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/nic.h"
#include "base/wire.h"

#define PMI_FABRIC_ALL         UINT32_MAX /* every device of the plane */
#define PMI_FABRIC_NAME_MAX    255u
#define PMI_FABRIC_DIMS_MAX    64u
#define PMI_FABRIC_PLANES_MAX  4096u  /* more are not named */
#define PMI_FABRIC_MATRIX_MAX  1024u  /* devices of which all rows are given at once: 2 MiB */
#define PMI_FABRIC_DEVICES_MAX 32768u /* likewise described */

/* Parts of an answer. */
enum { PMI_FABRIC_COSTS = 1, PMI_FABRIC_DEVICES = 2 };

/* Owns its strings. */
struct pmi_fabric_query {
    uint8_t parts;        /* PMI_FABRIC_COSTS, PMI_FABRIC_DEVICES */
    char *plane;          /* NULL: the one of the number */
    uint32_t plane_index; /* 0 has the highest priority */
    /* Of which devices, all of these at once. */
    uint32_t device;   /* or PMI_FABRIC_ALL */
    char *device_name; /* NULL: any */
    char *node;        /* NULL: of any node */
};

/* Owns what it points to. */
struct pmi_fabric_device {
    uint32_t index;
    uint32_t *
        place; /* `dims` numbers: of the switches from the top down to its own, each among those with the same
                        parent, then zeros; the last is its own number on its switch */
    char *name;
    char *node;
    char *switch_name; /* it is connected to */
    uint16_t up;       /* cost of the link to that, and from it */
    uint16_t down;
    struct nic_facts *facts; /* what is known of it; NULL: nothing */
};

/* Owns all that it points to. */
struct pmi_fabric_facts {
    char **planes; /* names of all, by falling priority; "": they have none */
    uint32_t planes_count;
    uint32_t plane;   /* what follows is about this one */
    uint32_t devices; /* its number of them */
    uint32_t dims;    /* of places: the levels of switches, in all planes, and one */
    uint8_t
        is_cut; /* more was asked for than is given at once: the list of devices or the matrix is empty */
    struct pmi_fabric_device *list;
    uint32_t list_count;
    uint32_t *rows; /* the numbers of the rows in costs */
    uint32_t rows_count;
    uint16_t *costs; /* rows_count * devices */
};

void pmi_fabric_query_fini(struct pmi_fabric_query *query);
void pmi_fabric_query_encode(const struct pmi_fabric_query *query, struct buffer *out);
/* From a message; the reader fails if it is not one. */
void pmi_fabric_query_decode(struct wire_reader *reader, struct pmi_fabric_query *query);

void pmi_fabric_facts_fini(struct pmi_fabric_facts *facts);
void pmi_fabric_facts_encode(const struct pmi_fabric_facts *facts, struct buffer *out);
/* -EBADMSG; ret_facts is untouched then. */
int pmi_fabric_facts_decode(struct pmi_fabric_facts *ret_facts, const void *data, size_t bytes);

#endif
