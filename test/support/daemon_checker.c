/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/daemon_checker.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/time.h"
#include "test/support/daemon_checker_internal.h"
#include "test/support/tap.h"

/* What a rank did so shortly before a line about it may not be in that. */
#define LINE_MS 2500u
/* When so long over, a job has given its slots back. */
#define SLOTS_MS 1000u

void checker_wrong(struct checker *checker, const struct checker_job *job, const char *format, ...)
{
    size_t length = 0;
    va_list arguments;

    if (checker->wrong[0] != '\0')
        return;
    if (job != NULL)
        length = (size_t)snprintf(checker->wrong, sizeof(checker->wrong), "%.3f ms: job %u (%u.): ",
                                  (double)sim_machine_now_ns(checker->machine) / NS_PER_MS,
                                  job->number, (uint32_t)(job - checker->jobs) + 1);
    va_start(arguments, format);
    vsnprintf(checker->wrong + length, sizeof(checker->wrong) - length, format, arguments);
    va_end(arguments);
}

static void tell(const struct checker *checker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void tell(const struct checker *checker, const char *format, ...)
{
    char text[1200];
    va_list arguments;

    if (!checker->verbose)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    diag("%9.3f ms: %s", (double)sim_machine_now_ns(checker->machine) / NS_PER_MS, text);
}

static struct checker_job *job_of(struct checker *checker, uint32_t number)
{
    for (uint32_t i = 0; i < checker->jobs_count; i++)
        if (checker->jobs[i].number == number && number > 0)
            return &checker->jobs[i];
    checker_wrong(checker, NULL, "job %u is spoken of and was never accepted", number);
    return NULL;
}

/* ---- why a job may end ---- */

static bool has_left(const struct checker *checker, const struct checker_job *job, uint64_t now_ns)
{
    return checker->gone_ns[job->client] <= now_ns &&
           job->detach_ns >= checker->gone_ns[job->client];
}

bool checker_is_over(const struct checker *checker, uint64_t now_ns)
{
    uint64_t gone_ns = checker->gone_ns[1];

    return checker->leave_ns <= now_ns ||
           (gone_ns <= now_ns && checker->instance_detach_ns >= gone_ns);
}

/* Its own node was hurt, or a node that may have been its own before it had started everywhere. */
static bool is_hurt(const struct checker *checker, const struct checker_job *job, uint64_t now_ns)
{
    for (uint32_t place = 0; place < checker->places; place++)
        if (checker->hurt_ns[place] <= now_ns &&
            (ranges_contains(&job->places, place) || job->tried < job->processes))
            return true;
    return false;
}

uint64_t checker_reason_ns(const struct checker *checker, const struct checker_job *job)
{
    uint64_t now_ns = sim_machine_now_ns(checker->machine), first_ns = CHECKER_NEVER;

    for (uint32_t i = 0; i < job->failures_count; i++)
        if (job->failures[i].time_ns < first_ns)
            first_ns = job->failures[i].time_ns;
    if (job->wish_ns < first_ns)
        first_ns = job->wish_ns;
    if (has_left(checker, job, now_ns) && checker->gone_ns[job->client] < first_ns)
        first_ns = checker->gone_ns[job->client];
    for (uint32_t place = 0; place < checker->places; place++)
        if (checker->hurt_ns[place] < first_ns && is_hurt(checker, job, checker->hurt_ns[place]))
            first_ns = checker->hurt_ns[place];
    if (checker_is_over(checker, now_ns)) {
        uint64_t over_ns = checker->leave_ns;

        if (checker->instance_detach_ns >= checker->gone_ns[1] && checker->gone_ns[1] < over_ns)
            over_ns = checker->gone_ns[1];
        if (over_ns < first_ns)
            first_ns = over_ns;
    }
    return first_ns <= now_ns ? first_ns : CHECKER_NEVER;
}

static bool has_reason(const struct checker *checker, const struct checker_job *job)
{
    return checker_reason_ns(checker, job) != CHECKER_NEVER;
}

bool checker_is_heard(const struct checker *checker, const struct checker_job *job, uint64_t now_ns)
{
    return checker->gone_ns[job->client] > now_ns && job->detach_ns > now_ns;
}

/* ---- processes ---- */

static struct checker_calls *calls_of(struct checker_job *job, uint32_t place, uint32_t index)
{
    for (uint32_t i = 0; i < job->calls_count; i++)
        if (job->calls[i].place == place && job->calls[i].index == index)
            return &job->calls[i];
    job->calls = memory_resize(job->calls, (job->calls_count + 1) * sizeof(*job->calls));
    job->calls[job->calls_count] = (struct checker_calls){.place = place, .index = index};
    return &job->calls[job->calls_count++];
}

static uint32_t status_of(const struct sim_process_fact *fact)
{
    if (fact->fate == SIM_FATE_CANNOT_START && strcmp(fact->text, "exec") != 0)
        return 125;
    if (fact->fate == SIM_FATE_CANNOT_START)
        return fact->number == -ENOENT ? 127 : 126;
    if (fact->fate == SIM_FATE_ABORTED)
        return (uint32_t)fact->number;
    if (WIFSIGNALED(fact->number))
        return 128 + (uint32_t)WTERMSIG(fact->number);
    return fact->number != 0 ? (uint32_t)WEXITSTATUS(fact->number) : 1;
}

static void add_failure(struct checker *checker, struct checker_job *job,
                        const struct sim_process_fact *fact)
{
    uint8_t weight = fact->fate == SIM_FATE_CANNOT_START ? 2 : fact->fate == SIM_FATE_ABORTED;

    if (job->harmless && job->signal_ns > fact->now_ns && !has_reason(checker, job))
        checker_wrong(checker, job, "a process on place %u fails and has no reason", fact->place);
    if (job->failures_count == CHECKER_FAILURES_MAX)
        return;
    job->failures[job->failures_count++] = (struct checker_failure){
        .time_ns = fact->now_ns, .place = fact->place, .status = status_of(fact), .weight = weight};
}

static void process_starts(struct checker *checker, struct checker_job *job,
                           const struct sim_process_fact *fact)
{
    uint32_t slots = fact->place <= allocation_nodes(checker->allocation)
                         ? allocation_slots_of(checker->allocation, fact->place - 1)
                         : checker->added_slots;

    job->tried++;
    if (fact->fate == SIM_FATE_STARTED) {
        job->running++;
        job->living++;
        checker->living[fact->place]++;
        (void)calls_of(job, fact->place, fact->index);
    }
    ranges_add(&job->places, fact->place, fact->place);
    if (checker->living[fact->place] > slots)
        checker_wrong(checker, job, "%u processes live on place %u, which has %u slots",
                      checker->living[fact->place], fact->place, slots);
    if (job->tried > job->processes)
        checker_wrong(checker, job, "%u processes are started, %u were asked for", job->tried,
                      job->processes);
    if (job->reports > 0 && !is_hurt(checker, job, fact->now_ns))
        checker_wrong(checker, job, "a process is started on place %u after the report",
                      fact->place);
}

/* It ran when its user signalled it, and long after that. */
static bool has_missed_signal(const struct checker *checker, const struct checker_job *job,
                              uint64_t now_ns)
{
    return job->started > 0 && job->started_ns < job->signal_ns &&
           job->signal_ns + CHECKER_NEWS_MS * NS_PER_MS < now_ns && !job->stubborn &&
           !checker->is_hurt && checker->gone_ns[1] > job->signal_ns &&
           checker_reason_ns(checker, job) >= job->signal_ns;
}

static void process_ends(struct checker *checker, struct checker_job *job,
                         const struct sim_process_fact *fact)
{
    int is_by_us = fact->by_us && !fact->lease_ended;

    job->living--;
    checker->living[fact->place]--;
    if (is_by_us && !has_reason(checker, job))
        checker_wrong(checker, job, "a process on place %u is ended for no reason", fact->place);
    if (fact->lease_ended && !is_hurt(checker, job, fact->now_ns))
        checker_wrong(checker, job, "a process on place %u is ended by the lease", fact->place);
    if (has_missed_signal(checker, job, fact->now_ns))
        checker_wrong(checker, job, "a process on place %u was never signalled", fact->place);
    if (is_by_us)
        return;
    if (WIFSIGNALED(fact->number) && WTERMSIG(fact->number) == SIGUSR1 &&
        job->signal_ns > fact->now_ns)
        checker_wrong(checker, job, "a process on place %u is signalled, and nobody has said so",
                      fact->place);
    if (fact->number == 0 && !fact->abnormal)
        job->well++;
    else
        add_failure(checker, job, fact);
}

static void process_vanishes(struct checker *checker, struct checker_job *job,
                             const struct sim_process_fact *fact)
{
    job->living--;
    job->vanished++;
    checker->living[fact->place]--;
    if (checker->hurt_ns[fact->place] > fact->now_ns && !checker->is_hurt &&
        !checker_is_over(checker, fact->now_ns))
        checker_wrong(checker, job, "a process on place %u vanishes, whose daemon was not touched",
                      fact->place);
}

static void on_process(void *context, const struct sim_process_fact *fact)
{
    static const char *const names[SIM_FATE_COUNT] = {"starts", "cannot start", "aborts", "ends",
                                                      "vanishes"};
    struct checker *checker = context;
    struct checker_job *job = job_of(checker, fact->job);

    if (job == NULL)
        return;
    tell(checker, "job %u: n%u process %u %s, %d%s", fact->job, fact->place, fact->index,
         names[fact->fate], fact->number, fact->by_us ? ", by us" : "");
    job->last_ns = fact->now_ns;
    switch (fact->fate) {
    case SIM_FATE_CANNOT_START:
        add_failure(checker, job, fact);
        process_starts(checker, job, fact);
        break;
    case SIM_FATE_STARTED:
        process_starts(checker, job, fact);
        break;
    case SIM_FATE_ABORTED:
        add_failure(checker, job, fact);
        break;
    case SIM_FATE_ENDED:
        process_ends(checker, job, fact);
        break;
    default:
        process_vanishes(checker, job, fact);
    }
}

static void on_wrote(void *context, uint32_t number, uint32_t place, uint64_t bytes)
{
    struct checker_job *job = job_of(context, number);

    (void)place;
    if (job != NULL)
        job->written_bytes += bytes;
}

/* ---- fences ---- */

static void on_called(void *context, uint32_t number, uint32_t place, uint32_t index,
                      uint32_t generation)
{
    struct checker *checker = context;
    struct checker_job *job = job_of(checker, number);
    struct checker_calls *calls = job != NULL ? calls_of(job, place, index) : NULL;

    if (job == NULL)
        return;
    if (generation != calls->generation + 1)
        checker_wrong(checker, job, "process %u of place %u calls fence %u after fence %u", index,
                      place, generation, calls->generation);
    tell(checker, "job %u: n%u process %u calls fence %u", number, place, index, generation);
    calls->generation = generation;
    calls->time_ns = sim_machine_now_ns(checker->machine);
}

bool checker_all_called(const struct checker_job *job, uint32_t generation)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < job->calls_count; i++)
        count += job->calls[i].generation >= generation;
    return count == job->processes;
}

static void on_fence(void *context, uint32_t number, uint32_t place, uint32_t generation,
                     int status, const struct message *result)
{
    struct checker *checker = context;
    struct checker_job *job = job_of(checker, number);
    struct ranges members = {0};
    struct wire_reader reader;
    uint32_t count = 0;

    if (job == NULL)
        return;
    tell(checker, "job %u: n%u has fence %u: %d", number, place, generation, status);
    if (status < 0) {
        if (!has_reason(checker, job))
            checker_wrong(checker, job, "fence %u fails at place %u for no reason", generation,
                          place);
        return;
    }
    if (!checker_all_called(job, generation))
        checker_wrong(checker, job, "fence %u is over at place %u and not all have called it",
                      generation, place);
    wire_reader_init(&reader, result->data, result->length_bytes);
    for (; wire_left(&reader) > 0; count++) {
        uint32_t member = wire_get_u32(&reader);

        ranges_add(&members, member, member);
    }
    if (!ranges_equal(&members, &job->places) || count != ranges_count(&members))
        checker_wrong(checker, job, "fence %u brings place %u not what the members gave",
                      generation, place);
    ranges_fini(&members);
}

/* ---- what clients are told ---- */

static struct checker_job *told_of(struct checker *checker, uint32_t client,
                                   struct wire_reader *reader, const char *what)
{
    struct checker_job *job = job_of(checker, wire_get_u32(reader));

    if (job == NULL)
        return NULL;
    if (job->client != client)
        checker_wrong(checker, job, "client %u gets its %s, it is client %u's", client, what,
                      job->client);
    if (job->reports > 0)
        checker_wrong(checker, job, "its client gets %s after the report", what);
    if (job->detach_ns + CHECKER_NEWS_MS * NS_PER_MS < sim_machine_now_ns(checker->machine))
        checker_wrong(checker, job, "its client gets %s and has detached", what);
    return job;
}

static void told_accepted(struct checker *checker, uint32_t client, struct wire_reader *reader)
{
    uint32_t request = wire_get_u32(reader);
    struct checker_job *job = &checker->jobs[request];

    if (request >= checker->jobs_count || job->client != client || job->number > 0 ||
        job->asked_ns > sim_machine_now_ns(checker->machine)) {
        checker_wrong(checker, NULL, "a request that client %u has not made is accepted", client);
        return;
    }
    job->number = wire_get_u32(reader);
    tell(checker, "job %u accepted of client %u, %u processes", job->number, client,
         job->processes);
    if (checker->accepted != NULL)
        checker->accepted(checker, job);
}

static void told_started(struct checker *checker, struct checker_job *job,
                         struct wire_reader *reader)
{
    struct control_started started;

    if (control_started_decode(&started, reader) < 0)
        checker_wrong(checker, job, "STARTED cannot be read");
    else if (started.processes != job->processes || job->tried != job->processes ||
             started.nodes != ranges_count(&job->places))
        checker_wrong(checker, job,
                      "said to run %u processes on %u nodes; %u have been started on %llu",
                      started.processes, started.nodes, job->tried,
                      (unsigned long long)ranges_count(&job->places));
    job->started_ns = sim_machine_now_ns(checker->machine);
    if (job->started++ > 0)
        checker_wrong(checker, job, "is said to run twice");
}

static void told_output(struct checker *checker, struct checker_job *job,
                        struct wire_reader *reader)
{
    struct control_output output;

    if (control_output_decode(&output, reader) < 0)
        checker_wrong(checker, job, "OUTPUT cannot be read");
    else
        job->output_bytes += output.bytes.length_bytes;
    if (job->output_bytes > job->written_bytes)
        checker_wrong(checker, job, "its client got %llu bytes, %llu were written",
                      (unsigned long long)job->output_bytes,
                      (unsigned long long)job->written_bytes);
}

/* ---- lines about who is waited for ---- */

static void judge_waiting(struct checker *checker, struct checker_job *job, uint32_t generation,
                          uint32_t rank)
{
    const struct placement_map *map =
        instance_job_map(sim_machine_instance(checker->machine, 0), job->number);
    uint64_t now_ns = sim_machine_now_ns(checker->machine);
    uint32_t node, index;

    if (rank >= job->processes || map == NULL) {
        checker_wrong(checker, job, "rank %u is waited for and there is none", rank);
        return;
    }
    placement_map_find(map, rank, &node, &index);
    for (uint32_t i = 0; i < job->calls_count; i++) {
        const struct checker_calls *calls = &job->calls[i];

        if (calls->place == node + 1 && calls->index == index && calls->generation >= generation &&
            calls->time_ns + LINE_MS * NS_PER_MS < now_ns)
            checker_wrong(checker, job, "rank %u is said to be waited for and has called fence %u",
                          rank, generation);
    }
}

/* "fence 2 of job 1: waiting for ranks 1-3,7 on n2 (alive), rank 9 on n4 (...); 5 arrived" */
static void judge_stall(struct checker *checker, struct checker_job *job, const char *line)
{
    uint32_t generation = (uint32_t)strtoul(line + strcspn(line, "0123456789"), NULL, 10);
    const char *at = line;

    job->stall_lines++;
    while ((at = strstr(at, "rank")) != NULL) {
        at += strcspn(at, " ");
        do {
            uint32_t first = (uint32_t)strtoul(at + 1, (char **)&at, 10), last = first;

            if (*at == '-')
                last = (uint32_t)strtoul(at + 1, (char **)&at, 10);
            for (uint32_t rank = first; rank <= last; rank++)
                judge_waiting(checker, job, generation, rank);
        } while (*at == ',' && at[1] != ' ');
    }
}

static void told_text(struct checker *checker, uint32_t client, struct wire_reader *reader)
{
    struct wire_reader start = *reader;
    uint32_t number = wire_get_u32(&start);
    struct control_text message;
    struct checker_job *job;
    char *text;

    if (number == 0 || (job = told_of(checker, client, reader, "text")) == NULL)
        return;
    if (control_text_decode(&message, reader) < 0) {
        checker_wrong(checker, job, "TEXT cannot be read");
        return;
    }
    text = memory_printf("%.*s", (int)message.text.length_bytes, (const char *)message.text.data);
    tell(checker, "job %u: %s", number, text);
    if (strstr(text, ": waiting for ") != NULL)
        judge_stall(checker, job, text);
    free(text);
}

/* ---- reports ---- */

static bool says_node(const struct checker *checker, const char *text, uint32_t place)
{
    uint32_t nodes = allocation_nodes(checker->allocation);
    char name[16];
    const char *found;

    if (place <= nodes)
        snprintf(name, sizeof(name), "n%u", place);
    else
        snprintf(name, sizeof(name), "new%u", place - nodes); /* sim_machine_add_nodes */
    for (found = text; (found = strstr(found, name)) != NULL; found++)
        if (strchr("0123456789", found[strlen(name)]) == NULL || found[strlen(name)] == '\0')
            return true;
    return false;
}

/* Without deaths all comes to the root, so what must be said is certain. */
static bool is_own_failure(struct checker *checker, struct checker_job *job)
{
    static const char *const words[] = {"rank ", "called abort", "cannot "};
    const struct control_job_end *report = &job->report;
    uint32_t weight = 0, highest = 0;
    bool found = false;

    for (uint32_t i = 0; i < job->failures_count; i++) {
        const struct checker_failure *failure = &job->failures[i];

        if (failure->weight > weight)
            weight = failure->weight;
        if (failure->weight < 2 && failure->status > highest)
            highest = failure->status;
        found = found || (failure->status == report->status &&
                          says_node(checker, report->text, failure->place));
    }
    if (!found || checker->is_hurt)
        return found;
    for (uint32_t i = 0; i < job->failures_count; i++)
        if (job->failures[i].weight == weight && job->failures[i].status == report->status)
            return (weight > 0 || report->status == highest) &&
                   strstr(report->text, words[weight]) != NULL;
    return false;
}

static bool is_loss(const struct checker *checker, const struct checker_job *job)
{
    uint64_t now_ns = sim_machine_now_ns(checker->machine);
    uint32_t place;

    if (job->report.status != 125 || sscanf(job->report.text, "lost node n%u", &place) != 1 ||
        place >= checker->places)
        return false;
    return checker->hurt_ns[place] <= now_ns &&
           (ranges_contains(&job->places, place) || job->tried < job->processes);
}

static bool is_wish(const struct checker_job *job, uint64_t now_ns)
{
    return job->wish_ns <= now_ns && job->report.status == job->wish.status &&
           strncmp(job->report.text, job->wish.reason, strlen(job->wish.reason)) == 0;
}

/* Others had the slots; those of a job are free soon after its report. */
static bool is_refusal(const struct checker *checker, const struct checker_job *job)
{
    uint64_t now_ns = sim_machine_now_ns(checker->machine);
    int64_t free_slots = (int64_t)allocation_slots(checker->allocation);

    if (job->report.status != 125 || job->tried > 0 || strstr(job->report.text, "slot") == NULL)
        return false;
    for (uint32_t i = 0; i < checker->jobs_count; i++) {
        const struct checker_job *other = &checker->jobs[i];
        bool is_free = other->number == 0 || (other->reports > 0 && other->tried == 0) ||
                       (other->reports > 0 && other->report_ns + SLOTS_MS * NS_PER_MS < now_ns);

        free_slots -= other != job && !is_free ? other->processes : 0;
    }
    return checker->is_hurt || (int64_t)job->processes > free_slots;
}

/* All other jobs were over, and with them the instance. */
static bool is_too_late(const struct checker *checker, const struct checker_job *job)
{
    for (uint32_t i = 0; i < checker->jobs_count; i++) {
        const struct checker_job *other = &checker->jobs[i];

        if (other != job && other->number > 0 && other->number < job->number &&
            (other->living > 0 || (other->tried == 0 && other->reports == 0)))
            return false;
    }
    return checker->policy == INSTANCE_LEAVES_WITH_JOB && job->number > 1 && job->tried == 0 &&
           strcmp(job->report.text, "the instance is ending") == 0;
}

static void judge_well(struct checker *checker, struct checker_job *job)
{
    uint64_t now_ns = sim_machine_now_ns(checker->machine);

    if (job->report.text[0] != '\0')
        checker_wrong(checker, job, "status 0, but: %s", job->report.text);
    if (job->well != job->processes || job->running != job->processes)
        checker_wrong(checker, job, "status 0, but %u of %u processes ended well", job->well,
                      job->processes);
    if (job->started != 1)
        checker_wrong(checker, job, "a good job was told to run %u times", job->started);
    /* Who ends a job, or the instance, does not wait for output. */
    if (job->output_bytes != job->written_bytes && !checker->is_hurt && job->wish_ns > now_ns &&
        !checker_is_over(checker, now_ns))
        checker_wrong(checker, job, "%llu of %llu bytes of output came",
                      (unsigned long long)job->output_bytes,
                      (unsigned long long)job->written_bytes);
}

static void judge_report(struct checker *checker, struct checker_job *job)
{
    const struct control_job_end *report = &job->report;
    uint64_t now_ns = sim_machine_now_ns(checker->machine);

    if (job->living > 0 && !is_hurt(checker, job, now_ns))
        checker_wrong(checker, job, "reported and %u processes live: %s", job->living,
                      report->text);
    if (report->processes > 0 && report->processes != job->processes)
        checker_wrong(checker, job, "reported with %u processes", report->processes);
    if (report->status == 0)
        judge_well(checker, job);
    else if (!is_wish(job, now_ns) && !is_loss(checker, job) && !is_refusal(checker, job) &&
             !is_own_failure(checker, job) && !checker_is_over(checker, now_ns) &&
             !is_too_late(checker, job))
        checker_wrong(checker, job, "for this there is no reason: status %u: %s", report->status,
                      report->text);
}

static void told_report(struct checker *checker, struct checker_job *job,
                        struct wire_reader *reader)
{
    if (control_job_end_decode(&job->report, reader) < 0) {
        checker_wrong(checker, job, "JOB_END cannot be read");
        return;
    }
    tell(checker, "job %u: report %u: %s", job->number, job->report.status, job->report.text);
    judge_report(checker, job);
    job->report_ns = sim_machine_now_ns(checker->machine);
    job->reports++;
}

static void on_told(void *context, uint64_t now_ns, uint32_t client, uint8_t type, const void *data,
                    size_t bytes)
{
    static const char *const names[CONTROL_MESSAGE_COUNT] = {
        [CONTROL_STARTED] = "start", [CONTROL_OUTPUT] = "output", [CONTROL_JOB_END] = "report"};
    struct checker *checker = context;
    struct checker_job *job = NULL;
    struct wire_reader reader;

    (void)now_ns;
    wire_reader_init(&reader, data, bytes);
    if (type == CONTROL_ACCEPTED)
        told_accepted(checker, client, &reader);
    else if (type == CONTROL_TEXT)
        told_text(checker, client, &reader);
    else if (names[type] != NULL)
        job = told_of(checker, client, &reader, names[type]);
    if (job != NULL && type == CONTROL_STARTED)
        told_started(checker, job, &reader);
    else if (job != NULL && type == CONTROL_OUTPUT)
        told_output(checker, job, &reader);
    else if (job != NULL)
        told_report(checker, job, &reader);
}

static void on_lost(void *context, uint64_t now_ns, const struct ranges *places)
{
    struct checker *checker = context;
    uint32_t place = 0;

    for (; ranges_next(places, place, &place); place++)
        if (checker->hurt_ns[place] > now_ns && !checker_is_over(checker, now_ns))
            checker_wrong(checker, NULL, "place %u is given up, and nothing happened to it", place);
}

static void on_ended(void *context, uint64_t now_ns, uint32_t place, enum endpoint_end end)
{
    struct checker *checker = context;

    tell(checker, "the daemon of place %u ends, %d", place, (int)end);
    if (place > 0 || checker->policy == INSTANCE_LEAVES_WITH_JOB)
        return;
    if (!checker_is_over(checker, now_ns))
        checker_wrong(checker, NULL, "the root ends for no reason");
}

const struct sim_watch checker_watch = {
    .process = on_process,
    .wrote = on_wrote,
    .called = on_called,
    .fence = on_fence,
    .told = on_told,
    .lost = on_lost,
    .ended = on_ended,
};

/* ---- plans ---- */

void checker_init(struct checker *checker, const struct allocation *allocation, uint32_t more,
                  enum instance_policy policy)
{
    memset(checker, 0, sizeof(*checker));
    checker->allocation = allocation;
    checker->policy = policy;
    checker->places = allocation_nodes(allocation) + 1 + more;
    checker->living = memory_allocate_zeroed(checker->places * sizeof(*checker->living));
    checker->hurt_ns = memory_allocate(checker->places * sizeof(*checker->hurt_ns));
    for (uint32_t place = 0; place < checker->places; place++)
        checker->hurt_ns[place] = CHECKER_NEVER;
    for (uint32_t client = 0; client <= CHECKER_CLIENTS_MAX; client++)
        checker->gone_ns[client] = CHECKER_NEVER;
    checker->instance_detach_ns = checker->leave_ns = CHECKER_NEVER;
}

void checker_fini(struct checker *checker)
{
    for (uint32_t i = 0; i < checker->jobs_count; i++) {
        ranges_fini(&checker->jobs[i].places);
        free(checker->jobs[i].calls);
    }
    free(checker->living);
    free(checker->hurt_ns);
}

struct checker_job *checker_run(struct checker *checker, uint64_t time_ns, uint32_t client,
                                const struct placement_rule *rule,
                                const struct sim_program *program)
{
    struct checker_job *job = &checker->jobs[checker->jobs_count++];

    if (checker->jobs_count > CHECKER_JOBS_MAX || client > CHECKER_CLIENTS_MAX)
        bail_out("too many jobs or clients");
    job->client = client;
    job->processes = rule->processes;
    job->endless = program->endless > 0;
    job->stubborn = program->stubborn > 0;
    job->harmless = program->fails <= 0 && program->cannot_start <= 0;
    job->asked_ns = time_ns;
    job->wish_ns = job->signal_ns = job->detach_ns = CHECKER_NEVER;
    sim_machine_run_job_as(checker->machine, time_ns, client, rule, program);
    return job;
}

void checker_hurt(struct checker *checker, uint64_t time_ns, uint32_t place)
{
    checker->is_hurt = true;
    if (time_ns < checker->hurt_ns[place])
        checker->hurt_ns[place] = time_ns;
    if (checker->verbose)
        diag("place %u is killed or leaves at %.3f ms", place, (double)time_ns / NS_PER_MS);
}

void checker_hang_up(struct checker *checker, uint64_t time_ns, uint32_t client)
{
    if (time_ns < checker->gone_ns[client])
        checker->gone_ns[client] = time_ns;
    sim_machine_hang_up_at(checker->machine, time_ns, client);
    if (checker->verbose)
        diag("client %u hangs up at %.3f ms", client, (double)time_ns / NS_PER_MS);
}
