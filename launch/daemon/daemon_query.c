/* SPDX-License-Identifier: BSD-3-Clause */
/* What this daemon knows of the processes that it runs, for those that ask (launch/rank/rank_query.h). */
#include "config.h"

#include <assert.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch/daemon/daemon_internal.h"
#include "launch/daemon/root_fabric.h"
#include "launch/exec/machine_load.h"
#include "launch/exec/process_stat.h"
#include "launch/rank/rank_query.h"

static void describe_end(int wait_status, struct pmi_process_facts *process)
{
    if (WIFSIGNALED(wait_status)) {
        process->state = PMI_PROCESS_KILLED;
        process->code = (uint32_t)WTERMSIG(wait_status);
    } else {
        process->state = PMI_PROCESS_EXITED;
        process->code = (uint32_t)WEXITSTATUS(wait_status);
    }
}

/* A process may have connected before the helper reports its start. */
static void describe_living(const struct daemon_job *job, uint32_t index, int with_memory,
                            struct pmi_process_facts *process)
{
    process->pid = (uint32_t)job->pids[index];
    if (job->rank_pmi != NULL && rank_pmi_is_connected(job->rank_pmi, index))
        process->state = PMI_PROCESS_CONNECTED;
    else if (process->pid > 0)
        process->state = PMI_PROCESS_RUNNING;
    if (with_memory)
        process->memory_kib = process_stat_memory_kib(job->pids[index]);
}

static void describe_process(void *context, uint32_t number, uint32_t index, int with_memory,
                             struct pmi_process_facts *process)
{
    const struct daemon *daemon = context;
    const struct daemon_job *job = daemon_job_find(daemon, number);
    int has_ended = instance_part_has_ended(daemon_core_instance(daemon->core), number, index);

    process->state = PMI_PROCESS_STARTING;
    if (job == NULL)
        return;
    assert(index < job->local->count);
    if (has_ended && job->pids[index] == 0) {
        process->state = PMI_PROCESS_FAILED;
    } else if (has_ended) {
        describe_end(job->ends[index], process);
    } else {
        describe_living(job, index, with_memory, process);
    }
}

static uint64_t own_memory_kib(void *context)
{
    (void)context;
    return process_stat_memory_kib(getpid());
}

static const struct fabric_model *root_fabric(void *context)
{
    return root_fabric_model(context);
}

int daemon_query(struct daemon *daemon, const void *data, size_t bytes, struct buffer *answer)
{
    struct rank_query_place place = {
        .instance = daemon_core_instance(daemon->core),
        .jobs_name = daemon->jobs_name,
        .node_name = daemon->record.name,
        .context = daemon,
        .daemon_kib = own_memory_kib,
        .process = describe_process,
        .fabric = root_fabric,
    };

    daemon_check(daemon);
    return rank_query_answer(&place, data, bytes, answer);
}

void daemon_query_activity(void *context, uint32_t number, uint32_t index,
                           struct activity_rank *ret_rank)
{
    const struct daemon *daemon = context;
    const struct daemon_job *job = daemon_job_find(daemon, number);

    if (job == NULL)
        return;
    assert(index < job->local->count);
    if (!instance_part_has_ended(daemon_core_instance(daemon->core), number, index)) {
        ret_rank->state = process_stat_state(job->pids[index]);
        process_stat_channel(job->pids[index], ret_rank->channel, sizeof(ret_rank->channel));
    }
    if (job->rank_pmi != NULL)
        ret_rank->pmi = (uint8_t)rank_pmi_activity(job->rank_pmi, index);
}

bool daemon_query_process_load(void *context, uint32_t number, uint32_t index, uint64_t *ret_cpu_ns,
                               uint64_t *ret_kib)
{
    const struct daemon *daemon = context;
    const struct daemon_job *job = daemon_job_find(daemon, number);

    if (job == NULL || instance_part_has_ended(daemon_core_instance(daemon->core), number, index))
        return false;
    assert(index < job->local->count);
    *ret_kib = process_stat_memory_kib(job->pids[index]);
    return process_stat_cpu_ns(job->pids[index], ret_cpu_ns) == 0;
}

void daemon_query_load(void *context, struct daemon_load *ret_load)
{
    const struct daemon *daemon = context;
    struct endpoint_traffic traffic = endpoint_traffic_now(daemon->endpoint);
    struct machine_load machine = machine_load_now();

    *ret_load = (struct daemon_load){.cpus = machine.cpus,
                                     .busy_ticks = machine.busy_ticks,
                                     .idle_ticks = machine.idle_ticks,
                                     .memory_kib = machine.memory_kib,
                                     .used_kib = machine.used_kib,
                                     .daemon_kib = process_stat_memory_kib(getpid()),
                                     .messages = traffic.messages,
                                     .messages_bytes = traffic.bytes};
    (void)process_stat_cpu_ns(getpid(), &ret_load->daemon_cpu_ns);
}
