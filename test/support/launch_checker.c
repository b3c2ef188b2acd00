/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/launch_checker.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/time.h"
#include "base/wire.h"
#include "test/support/tap.h"

/* What the report may take after the user's wish, if nobody dies: the grace, and some hops. */
#define REPORT_MS 4000
/* The same after a death: it must be noticed (a lease at most, and once more for each heir that does
 * not come), told, and the rest be ended. */
#define REPORT_AFTER_DEATH_MS 40000
/* What failed so long before a wish of the user must have been reported instead; after a death. */
#define NEWS_MS             1000
#define NEWS_AFTER_DEATH_MS 20000
/* From the report to the root's end, after a death: what leaving may take. */
#define LEAVE_MS             200
#define LEAVE_AFTER_DEATH_MS 5001
/* What is told to all and answered by all, with what goes before it. */
#define HOPS 40

static void wrong(struct checker *checker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void wrong(struct checker *checker, const char *format, ...)
{
    va_list arguments;

    if (checker->wrong[0])
        return;
    va_start(arguments, format);
    vsnprintf(checker->wrong, sizeof checker->wrong, format, arguments);
    va_end(arguments);
}

static uint32_t places_of(const struct sim_machine_config *config)
{
    return allocation_nodes(config->allocation) + 1;
}

/* ---- watching ---- */

static void add_failure(struct checker *checker, const struct sim_process_fact *fact)
{
    checker->failures =
        memory_resize(checker->failures, (checker->failures_count + 1) * sizeof *checker->failures);
    checker->failures[checker->failures_count++] =
        (struct checker_failure){.time_ns = fact->now_ns,
                                 .place = fact->place,
                                 .index = fact->index,
                                 .fate = fact->fate,
                                 .number = fact->number,
                                 .abnormal = fact->abnormal,
                                 .text = fact->text};
}

static void tell(const struct checker *checker, uint64_t now_ns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void tell(const struct checker *checker, uint64_t now_ns, const char *format, ...)
{
    char text[1200];
    va_list arguments;

    if (!checker->verbose)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    diag("%9.3f ms: %s", (double)now_ns / NS_PER_MS, text);
}

static void tell_process(const struct checker *checker, const struct sim_process_fact *fact)
{
    static const char *const names[SIM_FATE_COUNT] = {[SIM_FATE_STARTED] = "starts",
                                                      [SIM_FATE_CANNOT_START] = "cannot start",
                                                      [SIM_FATE_ABORTED] = "aborts",
                                                      [SIM_FATE_ENDED] = "ends",
                                                      [SIM_FATE_VANISHED] = "vanishes"};

    tell(checker, fact->now_ns, "n%u process %u %s, %d%s%s", fact->place, fact->index,
         names[fact->fate], fact->number, fact->by_us ? ", by us" : "",
         fact->abnormal ? ", abnormal" : "");
}

static void on_process(void *context, const struct sim_process_fact *fact)
{
    struct checker *checker = context;

    tell_process(checker, fact);
    switch (fact->fate) {
    case SIM_FATE_STARTED:
        checker->processes_started++;
        checker->starts[fact->place]++;
        checker->living[fact->place]++;
        break;
    case SIM_FATE_CANNOT_START:
        checker->starts[fact->place]++;
        add_failure(checker, fact);
        break;
    case SIM_FATE_ABORTED:
        add_failure(checker, fact);
        break;
    case SIM_FATE_ENDED:
        checker->living[fact->place]--;
        if (fact->by_us && !fact->lease_ended)
            break;
        if (fact->number != 0 || fact->abnormal)
            add_failure(checker, fact);
        else
            checker->processes_well++;
        if (checker->process_ended)
            checker->process_ended(checker, fact->place);
        break;
    default:
        checker->living[fact->place]--;
    }
    if (checker->root_ended_ns != UINT64_MAX && fact->fate == SIM_FATE_STARTED &&
        !ranges_contains(&checker->killed, fact->place))
        wrong(checker, "a process is started on place %u after the end", fact->place);
}

/* All places of the job, in their order. */
static void on_fence(void *context, uint32_t job, uint32_t place, uint32_t generation, int status,
                     const struct message *result)
{
    struct checker *checker = context;
    struct ranges members = {0};
    struct wire_reader reader;
    uint32_t before = 0;

    tell(checker, sim_machine_now_ns(checker->machine), "n%u has fence %u: %d", place, generation,
         status);
    if (status < 0) {
        if (ranges_is_empty(&checker->killed))
            wrong(checker, "a fence failed at place %u although nobody died", place);
        return;
    }
    placement_map_places(&checker->map, &members);
    wire_reader_init(&reader, result->data, result->length_bytes);
    for (uint64_t i = 0; i < ranges_count(&members); i++) {
        uint32_t member = wire_get_u32(&reader);

        if (!ranges_contains(&members, member) || member <= before)
            wrong(checker, "a fence brought %u after %u to place %u", member, before, place);
        before = member;
    }
    if (wire_finish(&reader) < 0)
        wrong(checker, "a fence brought too much or too little to place %u", place);
    ranges_fini(&members);
}

static void on_started(void *context, uint64_t now_ns, uint32_t job,
                       const struct control_started *started)
{
    struct checker *checker = context;

    tell(checker, now_ns, "the job runs, %u processes", started->processes);
    checker->started++;
    checker->started_processes = started->processes;
    if (checker->reports > 0)
        wrong(checker, "the job is started after its report");
}

static void on_report(void *context, uint64_t now_ns, uint32_t job,
                      const struct control_job_end *end)
{
    struct checker *checker = context;

    tell(checker, now_ns, "report %u: %s", end->status, end->text);
    checker->reports++;
    checker->report_ns = now_ns;
    checker->report = *end;
    checker->output_at_report_bytes = sim_machine_output(checker->machine).received_bytes;
}

static void on_ended(void *context, uint64_t now_ns, uint32_t place, enum endpoint_end end)
{
    struct checker *checker = context;

    tell(checker, now_ns, "the daemon of place %u ends, %d", place, (int)end);
    if (place != 0)
        return;
    checker->root_ended_ns = now_ns;
    for (uint32_t i = 1; i < places_of(checker->config); i++)
        if (!ranges_contains(&checker->killed, i) && !ranges_contains(&checker->lost, i))
            checker->living_at_end += checker->living[i];
}

/* Once processes run, only the dead may count as dead, or who was cut off by one that is stopped. */
static void on_lost(void *context, uint64_t now_ns, const struct ranges *places)
{
    struct checker *checker = context;
    struct buffer text = {0};

    ranges_print(places, &text);
    tell(checker, now_ns, "lost %s", buffer_string(&text));
    if (!checker->stopped && checker->processes_started > 0 && checker->reports == 0 &&
        !ranges_contains_all(&checker->killed, places))
        wrong(checker, "places %s are given up, not all are dead", buffer_string(&text));
    ranges_add_all(&checker->lost, places);
    buffer_fini(&text);
}

const struct sim_watch checker_watch = {
    .process = on_process,
    .fence = on_fence,
    .started = on_started,
    .report = on_report,
    .lost = on_lost,
    .ended = on_ended,
};

/* ---- judging ---- */

static int somebody_died(const struct checker *checker)
{
    return !ranges_is_empty(&checker->killed);
}

uint32_t checker_failure_status(const struct checker_failure *failure)
{
    switch (failure->fate) {
    case SIM_FATE_CANNOT_START:
        if (strcmp(failure->text, "exec") != 0)
            return 125;
        return failure->number == -ENOENT ? 127 : 126;
    case SIM_FATE_ABORTED:
        return (uint32_t)failure->number;
    default:
        if (WIFSIGNALED(failure->number))
            return 128 + (uint32_t)WTERMSIG(failure->number);
        return failure->number ? (uint32_t)WEXITSTATUS(failure->number) : 1;
    }
}

void checker_failure_text(const struct placement_map *map, const struct checker_failure *failure,
                          char *text, size_t text_bytes)
{
    uint32_t rank = placement_map_rank(map, failure->place - 1, failure->index);
    uint32_t node = failure->place;
    const char *why = failure->number < 0 ? strerror(-failure->number) : "";

    if (failure->fate == SIM_FATE_ABORTED)
        snprintf(text, text_bytes, "rank %u on n%u called abort with status %d", rank, node,
                 failure->number);
    else if (failure->fate == SIM_FATE_CANNOT_START && strcmp(failure->text, "exec") == 0)
        snprintf(text, text_bytes, "cannot run app on n%u (rank %u): %s", node, rank, why);
    else if (failure->fate == SIM_FATE_CANNOT_START && strcmp(failure->text, "chdir") == 0)
        snprintf(text, text_bytes,
                 "cannot change to the working directory of the program on n%u (rank %u): "
                 "%s; give another with --wdir",
                 node, rank, why);
    else if (failure->fate == SIM_FATE_CANNOT_START)
        snprintf(text, text_bytes, "cannot start app on n%u (rank %u): %s: %s", node, rank,
                 failure->text, why);
    else if (WIFSIGNALED(failure->number))
        snprintf(text, text_bytes, "rank %u on n%u was killed by signal %d (%s)", rank, node,
                 WTERMSIG(failure->number), strsignal(WTERMSIG(failure->number)));
    else if (failure->number == 0)
        snprintf(text, text_bytes,
                 "rank %u on n%u exited with status 0 but without MPI_Finalize or PMIx_Finalize",
                 rank, node);
    else
        snprintf(text, text_bytes, "rank %u on n%u exited with status %d", rank, node,
                 WEXITSTATUS(failure->number));
}

int checker_failure_weight(const struct checker_failure *failure)
{
    return failure->fate == SIM_FATE_CANNOT_START ? 2 : failure->fate == SIM_FATE_ABORTED;
}

static int heaviest(const struct checker *checker)
{
    int most = 0;

    for (uint32_t i = 0; i < checker->failures_count; i++)
        if (checker_failure_weight(&checker->failures[i]) > most)
            most = checker_failure_weight(&checker->failures[i]);
    return most;
}

static uint32_t highest_status(const struct checker *checker)
{
    uint32_t highest = 0;

    for (uint32_t i = 0; i < checker->failures_count; i++)
        if (checker_failure_weight(&checker->failures[i]) < 2 &&
            checker_failure_status(&checker->failures[i]) > highest)
            highest = checker_failure_status(&checker->failures[i]);
    return highest;
}

/* Without deaths everything comes to the root, so it is certain what must be said. */
static void judge_failure(struct checker *checker, const struct checker_failure *failure)
{
    uint32_t own = checker_failure_status(failure), highest = highest_status(checker);
    uint32_t status = checker->report.status;
    int certain = !somebody_died(checker);

    if (certain && checker_failure_weight(failure) < heaviest(checker))
        wrong(checker, "what caused it is not reported but: %s", checker->report.text);
    else if (checker_failure_weight(failure) > 0 && status != own)
        wrong(checker, "status %u instead of %u: %s", status, own, checker->report.text);
    else if (checker_failure_weight(failure) == 0 && (status < own || status > highest))
        wrong(checker, "status %u is not in %u..%u: %s", status, own, highest,
              checker->report.text);
    else if (certain && checker_failure_weight(failure) == 0 && status != highest)
        wrong(checker, "status %u is not the highest, %u: %s", status, highest,
              checker->report.text);
}

/* What can be done about it may follow. */
static int says(const char *line, const char *text)
{
    size_t length = strlen(text);

    return strncmp(line, text, length) == 0 && (line[length] == '\0' || line[length] == ';');
}

static const struct checker_failure *failure_reported(const struct checker *checker)
{
    char text[512];

    for (uint32_t i = 0; i < checker->failures_count; i++) {
        checker_failure_text(&checker->map, &checker->failures[i], text, sizeof text);
        if (checker->failures[i].time_ns <= checker->report_ns && says(checker->report.text, text))
            return &checker->failures[i];
    }
    return NULL;
}

static void judge_well(struct checker *checker)
{
    uint32_t processes = checker->config->rule.processes;

    if (checker->report.text[0])
        wrong(checker, "status 0, but: %s", checker->report.text);
    if (checker->processes_well != processes || checker->processes_started != processes)
        wrong(checker, "status 0, but %llu of %u processes ended well",
              (unsigned long long)checker->processes_well, processes);
    if (checker->started != 1 && !somebody_died(checker))
        wrong(checker, "a good job, but %u times told that it runs", checker->started);
}

static int member_died(const struct checker *checker)
{
    struct ranges members = {0};
    int died;

    placement_map_places(&checker->map, &members);
    died = ranges_overlap_set(&members, &checker->killed);
    ranges_fini(&members);
    return died;
}

static void judge_wish(struct checker *checker)
{
    uint64_t news_ms =
        checker->paused_ms + (somebody_died(checker) ? NEWS_AFTER_DEATH_MS : NEWS_MS);

    if (checker->end_ns > checker->report_ns)
        wrong(checker, "reported as ended by the user before he said so");
    for (uint32_t i = 0; i < checker->failures_count; i++)
        if (checker->failures[i].time_ns + news_ms * NS_PER_MS < checker->end_ns)
            wrong(checker, "a failure at %llu ms was not told before the user's wish",
                  (unsigned long long)(checker->failures[i].time_ns / NS_PER_MS));
}

/* Where cores matter, all nodes with slots are asked about theirs before anybody can say who is needed. */
static int is_asked(const struct checker *checker, uint32_t place)
{
    return placement_wants_topology(&checker->placement) && checker->processes_started == 0 &&
           allocation_slots_of(checker->config->allocation, place - 1) > 0;
}

/* "lost node nX: ..." */
static void judge_loss(struct checker *checker, const char *name)
{
    uint32_t place = (uint32_t)strtoul(name, NULL, 10);

    if (!ranges_contains(&checker->lost, place))
        wrong(checker, "n%u has not died, but: %s", place, checker->report.text);
    if (checker->starts[place] == 0 && placement_map_count(&checker->map, place - 1) == 0 &&
        !is_asked(checker, place))
        wrong(checker, "n%u has nothing to do with the job: %s", place, checker->report.text);
}

static void judge_start(struct checker *checker)
{
    if (checker->processes_started > 0)
        wrong(checker, "processes ran, but: %s", checker->report.text);
    if (checker->config->daemon_fails <= 0 && checker->config->daemon_silent <= 0 &&
        !somebody_died(checker))
        wrong(checker, "all daemons could start, but: %s", checker->report.text);
}

/* The user's; and, where ranks had waited for others by then, for whom. */
static int gives_reason(const char *text, const char *reason)
{
    size_t length = strlen(reason);

    return strncmp(text, reason, length) == 0 &&
           (text[length] == '\0' || strncmp(text + length, "; barrier ", 10) == 0);
}

static void judge_report(struct checker *checker)
{
    const struct control_job_end *report = &checker->report;
    const struct checker_failure *failure = failure_reported(checker);

    if (failure)
        judge_failure(checker, failure);
    else if (report->status == 0)
        judge_well(checker);
    else if (report->status == checker->end.status &&
             gives_reason(report->text, checker->end.reason))
        judge_wish(checker);
    else if (report->status == 125 && strncmp(report->text, "lost node n", 11) == 0)
        judge_loss(checker, report->text + 11);
    else if (report->status == 125 &&
             (strncmp(report->text, "cannot start ", 13) == 0 ||
              strncmp(report->text, "no daemon has joined from ", 26) == 0))
        judge_start(checker);
    else
        wrong(checker, "for this there is no reason: status %u: %s", report->status, report->text);
}

/* A job that does not end by itself, with nobody who knows that his node is lost. */
static int may_wait_for_user(const struct checker *checker)
{
    return checker->stopped || (checker->config->program.endless > 0 && !member_died(checker) &&
                                checker->report.status == checker->end.status);
}

static void judge_time(struct checker *checker)
{
    uint64_t way_ms = HOPS * (checker->config->latency_ns + checker->config->jitter_ns) / NS_PER_MS;
    uint64_t limit_ms = way_ms + (somebody_died(checker) ? REPORT_AFTER_DEATH_MS : REPORT_MS);
    uint64_t leave_ms =
        way_ms + checker->paused_ms + (somebody_died(checker) ? LEAVE_AFTER_DEATH_MS : LEAVE_MS);

    if (checker->reports != 1)
        wrong(checker, "%u reports", checker->reports);
    else if (checker->report_ns > checker->disturbed_ns + limit_ms * NS_PER_MS)
        wrong(checker, "the report came at %llu ms, %llu ms after all was clear",
              (unsigned long long)(checker->report_ns / NS_PER_MS),
              (unsigned long long)((checker->report_ns - checker->disturbed_ns) / NS_PER_MS));
    else if (checker->report_ns >= checker->patience_ns && !may_wait_for_user(checker))
        wrong(checker, "the job was still there when the user lost his patience");
    else if (checker->root_ended_ns > checker->report_ns + leave_ms * NS_PER_MS)
        wrong(checker, "the root ended %llu ms after the report",
              (unsigned long long)((checker->root_ended_ns - checker->report_ns) / NS_PER_MS));
}

static void judge_remains(struct checker *checker, int all_gone)
{
    struct sim_output output = sim_machine_output(checker->machine);
    int by_user = checker->end_ns <= checker->report_ns;

    if (checker->living_at_end > 0)
        wrong(checker, "%llu processes live when the root has ended",
              (unsigned long long)checker->living_at_end);
    if (!all_gone)
        wrong(checker, "%u daemons have not ended", sim_machine_daemons(checker->machine));
    if (!somebody_died(checker) && !by_user &&
        checker->output_at_report_bytes != output.written_bytes)
        wrong(checker, "%llu of %llu bytes of output came",
              (unsigned long long)checker->output_at_report_bytes,
              (unsigned long long)output.written_bytes);
    if (output.given_up_bytes > 0 && !by_user)
        wrong(checker, "output was given up though the user did not say so");
}

/* Each node has its share and nothing else: by slot, nodes are filled in order. */
static void judge_placement(struct checker *checker)
{
    const struct sim_machine_config *config = checker->config;
    uint32_t left = config->rule.processes;

    for (uint32_t place = 1; place < places_of(config); place++) {
        uint32_t slots = allocation_slots_of(config->allocation, place - 1);
        uint32_t share = left < slots ? left : slots;

        if (checker->starts[place] > slots && config->rule.policy != PLACEMENT_PER_OBJECT)
            wrong(checker, "n%u has %u slots and %u processes", place, slots,
                  checker->starts[place]);
        if (config->rule.policy == PLACEMENT_BY_SLOT && config->rule.pe == 0 &&
            !config->rule.span && checker->starts[place] > share)
            wrong(checker, "n%u has %u processes instead of %u", place, checker->starts[place],
                  share);
        left -= share;
    }
}

int checker_judge(struct checker *checker, int all_gone)
{
    judge_time(checker);
    if (checker->reports == 1)
        judge_report(checker);
    judge_remains(checker, all_gone);
    judge_placement(checker);
    return !checker->wrong[0];
}

void checker_init(struct checker *checker, const struct sim_machine_config *config)
{
    *checker =
        (struct checker){.config = config, .end_ns = UINT64_MAX, .root_ended_ns = UINT64_MAX};
    placement_add(&checker->placement, &config->rule);
    if (placement_wants_topology(&checker->placement)) {
        for (uint32_t place = 1; place < places_of(config); place++)
            sim_machine_add(config->machine_sorts, place, &checker->placement.machines);
    }
    if (placement_map_make(&checker->map, &checker->placement, config->allocation, NULL) < 0)
        bail_out("the rule of the job cannot be placed");
    checker->living = memory_allocate_zeroed(places_of(config) * sizeof *checker->living);
    checker->starts = memory_allocate_zeroed(places_of(config) * sizeof *checker->starts);
}

void checker_fini(struct checker *checker)
{
    placement_map_fini(&checker->map);
    placement_fini(&checker->placement);
    ranges_fini(&checker->killed);
    ranges_fini(&checker->lost);
    free(checker->living);
    free(checker->starts);
    free(checker->failures);
}
