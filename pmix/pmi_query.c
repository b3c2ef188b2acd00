/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_query.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pmi_query_fini(struct pmi_query *query)
{
    ranges_fini(&query->places);
    pmi_fabric_query_fini(&query->fabric);
}

struct pmi_job_facts *pmi_instance_facts_add(struct pmi_instance_facts *facts, uint32_t number)
{
    struct pmi_job_facts *job;

    facts->jobs = memory_resize(facts->jobs, (facts->jobs_count + 1) * sizeof(*facts->jobs));
    job = &facts->jobs[facts->jobs_count++];
    *job = (struct pmi_job_facts){.number = number};
    return job;
}

static char *join_arguments(char *const *argv)
{
    struct buffer text = {0};
    size_t bytes;

    for (uint32_t i = 0; argv[i] != NULL && text.length_bytes < PMI_QUERY_STRING_MAX; i++)
        buffer_printf(&text, "%s%s", i > 0 ? " " : "", argv[i]);
    if (text.length_bytes > PMI_QUERY_STRING_MAX)
        text.length_bytes = PMI_QUERY_STRING_MAX;
    (void)buffer_string(&text);
    return buffer_take(&text, &bytes);
}

void pmi_job_facts_add(struct pmi_job_facts *job, uint32_t first_rank, uint32_t size,
                       char *const *argv)
{
    struct pmi_app_facts *app;

    assert(argv[0] != NULL);
    job->apps = memory_resize(job->apps, (job->apps_count + 1) * sizeof(*job->apps));
    app = &job->apps[job->apps_count++];
    *app =
        (struct pmi_app_facts){.first_rank = first_rank,
                               .size = size,
                               .program = memory_printf("%.*s", (int)PMI_QUERY_STRING_MAX, argv[0]),
                               .command = join_arguments(argv)};
}

const struct pmi_job_facts *pmi_instance_facts_find(const struct pmi_instance_facts *facts,
                                                    uint32_t number)
{
    for (uint32_t i = 0; i < facts->jobs_count; i++) {
        if (facts->jobs[i].number == number)
            return &facts->jobs[i];
    }
    return NULL;
}

void pmi_instance_facts_fini(struct pmi_instance_facts *facts)
{
    for (uint32_t i = 0; i < facts->jobs_count; i++) {
        for (uint32_t app = 0; app < facts->jobs[i].apps_count; app++) {
            free(facts->jobs[i].apps[app].program);
            free(facts->jobs[i].apps[app].command);
        }
        free(facts->jobs[i].apps);
        ranges_fini(&facts->jobs[i].places);
    }
    free(facts->jobs);
    free(facts->name);
    memset(facts, 0, sizeof(*facts));
}

void pmi_node_facts_add(struct pmi_node_facts *facts, const struct pmi_process_facts *process)
{
    /* Doubled at powers of two. */
    if ((facts->processes_count & (facts->processes_count - 1)) == 0)
        facts->processes = memory_resize(facts->processes, (2ull * facts->processes_count + 1) *
                                                               sizeof(*facts->processes));
    facts->processes[facts->processes_count++] = *process;
}

void pmi_node_facts_fini(struct pmi_node_facts *facts)
{
    free(facts->name);
    free(facts->processes);
    memset(facts, 0, sizeof(*facts));
}

void pmi_query_namespace(const char *name, uint32_t number, char text[PMI_NAMESPACE_BYTES])
{
    snprintf(text, PMI_NAMESPACE_BYTES, "%s-%u", name, number);
}

uint32_t pmi_query_job(const char *name, const char *namespace)
{
    size_t bytes = strlen(name);
    const char *digits = namespace + bytes + 1;
    unsigned long number;
    char *end;

    if (strncmp(namespace, name, bytes) != 0 || namespace[bytes] != '-' || digits[0] < '1' ||
        digits[0] > '9' || strlen(digits) > 10)
        return 0;
    number = strtoul(digits, &end, 10);
    return *end == 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}
