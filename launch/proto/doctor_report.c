/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/doctor_report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const topic_names[DOCTOR_TOPIC_COUNT] = {
    [DOCTOR_START] = "start",         [DOCTOR_NAME] = "name",   [DOCTOR_NETWORK] = "network",
    [DOCTOR_TREE] = "tree",           [DOCTOR_CLOCK] = "clock", [DOCTOR_BANYAN] = "banyan",
    [DOCTOR_PMIX] = "pmix",           [DOCTOR_MPI] = "mpi",     [DOCTOR_PROGRAM] = "program",
    [DOCTOR_LIMITS] = "limits",       [DOCTOR_SPACE] = "space", [DOCTOR_TOPOLOGY] = "topology",
    [DOCTOR_LEFTOVERS] = "leftovers",
};

const char *doctor_report_topic_name(enum doctor_topic topic)
{
    assert(topic < DOCTOR_TOPIC_COUNT);
    return topic_names[topic];
}

static void finding_fini(struct doctor_finding *finding)
{
    free(finding->text);
    free(finding->remedy);
    ranges_fini(&finding->places);
}

void doctor_report_fini(struct doctor_report *report)
{
    for (uint32_t i = 0; i < report->count; i++)
        finding_fini(&report->items[i]);
    free(report->items);
    *report = (struct doctor_report){0};
}

static char *clean_copy(const char *text)
{
    size_t bytes = strnlen(text, DOCTOR_TEXT_BYTES_MAX);
    char *copy = memory_allocate(bytes + 1);

    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)copy[i] < ' ' || copy[i] == 0x7f)
            copy[i] = ' ';
    return copy;
}

static int compare_findings(const struct doctor_finding *a, const struct doctor_finding *b)
{
    int order;

    if (a->topic != b->topic)
        return a->topic < b->topic ? -1 : 1;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    order = strcmp(a->text, b->text);
    return order != 0 ? order : strcmp(a->remedy, b->remedy);
}

/* Where it is or belongs; 1 if it is present. */
static int find_finding(const struct doctor_report *report, const struct doctor_finding *finding,
                        uint32_t *ret_index)
{
    uint32_t low = 0, high = report->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = compare_findings(&report->items[middle], finding);
        if (order == 0) {
            *ret_index = middle;
            return 1;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_index = low;
    return 0;
}

static void insert_finding(struct doctor_report *report, uint32_t index,
                           const struct doctor_finding *finding)
{
    assert(index <= report->count && report->count <= report->capacity);
    if (report->count == report->capacity) {
        report->capacity = report->capacity > 0 ? 2 * report->capacity : 32;
        report->items = memory_resize(report->items, report->capacity * sizeof(*report->items));
    }
    memmove(&report->items[index + 1], &report->items[index],
            (report->count - index) * sizeof(*report->items));
    report->items[index] = *finding;
    report->count++;
}

/* Takes the texts; places stay the caller's. */
static void put_finding(struct doctor_report *report, struct doctor_finding *finding,
                        const struct ranges *places)
{
    uint32_t index;

    if (find_finding(report, finding, &index)) {
        ranges_add_all(&report->items[index].places, places);
        finding_fini(finding);
        return;
    }
    if (report->count >= DOCTOR_FINDINGS_MAX && finding->topic != DOCTOR_START) {
        struct doctor_finding rest = {.topic = DOCTOR_START,
                                      .level = DOCTOR_PROBLEM,
                                      .text = memory_copy_string("not all findings are shown"),
                                      .remedy = memory_copy_string("examine fewer nodes at once")};
        finding_fini(finding);
        put_finding(report, &rest, places);
        return;
    }
    ranges_copy(&finding->places, places);
    insert_finding(report, index, finding);
}

void doctor_report_add(struct doctor_report *report, enum doctor_topic topic,
                       enum doctor_level level, const struct ranges *places, const char *text,
                       const char *remedy)
{
    struct doctor_finding finding = {.topic = topic,
                                     .level = level,
                                     .text = clean_copy(text),
                                     .remedy = clean_copy(remedy != NULL ? remedy : "")};

    assert(topic < DOCTOR_TOPIC_COUNT && level < DOCTOR_LEVEL_COUNT);
    put_finding(report, &finding, places);
}

void doctor_report_merge(struct doctor_report *report, const struct doctor_report *other)
{
    assert(report != other);
    for (uint32_t i = 0; i < other->count; i++) {
        const struct doctor_finding *finding = &other->items[i];
        doctor_report_add(report, finding->topic, finding->level, &finding->places, finding->text,
                          finding->remedy);
    }
}

int doctor_report_is_well(const struct doctor_report *report)
{
    for (uint32_t i = 0; i < report->count; i++)
        if (report->items[i].level == DOCTOR_PROBLEM)
            return 0;
    return 1;
}

void doctor_report_ill(const struct doctor_report *report, struct ranges *ret_places)
{
    ranges_clear(ret_places);
    for (uint32_t i = 0; i < report->count; i++)
        if (report->items[i].level == DOCTOR_PROBLEM)
            ranges_add_all(ret_places, &report->items[i].places);
}
