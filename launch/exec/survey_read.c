/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/survey_read.h"

#include <stdio.h>

#include "alloc/placement_require.h"
#include "fabric/facts_read.h"
#include "fabric/topology_read.h"
#include "launch/proto/survey.h"

static int read_topology(unsigned int want, uint32_t node, struct survey *survey,
                         struct node_facts *facts, struct error *error)
{
    struct topology topology;
    struct ranges allowed = {0};
    int rc = topology_read((want & SURVEY_DEVICES) != 0, &topology, &allowed, error);

    if (rc < 0)
        return rc;
    facts->gpus = topology_gpus(&topology, NULL);
    facts->known |= 1u << FACT_GPUS;
    if (want & SURVEY_TOPOLOGY)
        rc = placement_machines_add(&survey->machines, &topology, &allowed, node, node);
    if (rc < 0)
        error_set(error, rc, "this process may not use any processor of this machine");
    topology_fini(&topology);
    ranges_fini(&allowed);
    return rc;
}

void survey_read(unsigned int want, const char *require, uint32_t node, struct buffer *out)
{
    struct survey survey = {.why = ""};
    struct node_facts facts = {.known = 0};
    struct ranges nodes = {0};
    struct require asked = {.count = 0};
    struct error error = ERROR_NONE;
    int rc = require[0] != '\0' ? placement_require_parse(require, &asked, &error) : 0;

    ranges_add(&nodes, node, node);
    if (placement_require_asks(&asked, FACT_GPUS))
        want |= SURVEY_DEVICES;
    if (rc == 0 && want & (SURVEY_TOPOLOGY | SURVEY_DEVICES))
        rc = read_topology(want, node, &survey, &facts, &error);
    if (rc == 0 && want & SURVEY_FACTS) {
        facts_read(&facts);
        placement_require_reduce(&asked, &facts);
        facts_table_add(&survey.facts, &facts, &nodes);
    }
    if (rc < 0) {
        ranges_copy(&survey.failed, &nodes);
        snprintf(survey.why, sizeof(survey.why), "%.*s", SURVEY_WHY_BYTES - 1, error.text);
    }
    survey_encode(&survey, out);
    survey_fini(&survey);
    node_facts_fini(&facts);
    ranges_fini(&nodes);
}
