/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/doctor_print.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "launch/cli/option/json_text.h"
#include "launch/proto/report_line.h"

#define NODES_WIDTH_MAX 32
#define ROOT_NAME       "(here)" /* place 0: where the user is */

static const char *const level_names[DOCTOR_LEVEL_COUNT] =
    {[DOCTOR_PROBLEM] = "problem", [DOCTOR_NOTE] = "note", [DOCTOR_FACT] = "fact"};

/* "n[1-3,7]", preceded by place 0. */
static void print_places(const struct ranges *places, const struct hostlist *names,
                         struct buffer *out)
{
    struct hostlist *list = hostlist_create();
    int has_root = ranges_contains(places, 0);

    if (has_root)
        buffer_append_string(out, ROOT_NAME);
    hostlist_append_places(list, names, places);
    if (has_root && hostlist_count(list) > 0)
        buffer_append_string(out, ",");
    hostlist_print(list, out);
    hostlist_destroy(list);
}

/* The name of the first place of a finding. */
static void first_name(const struct ranges *places, const struct hostlist *names,
                       char name[HOST_NAME_BYTES_MAX + 1])
{
    uint32_t first = places->count > 0 ? places->items[0].first : 0;

    assert(places->count == 0 || places->items[0].first <= places->items[0].last);
    if (first == 0 || first > hostlist_count(names))
        snprintf(name, HOST_NAME_BYTES_MAX + 1, "%s", ROOT_NAME);
    else
        hostlist_name(names, first - 1, name);
}

/* Text and remedy with the name filled in where the report has a placeholder. */
static void name_texts(const struct doctor_finding *finding, const struct hostlist *names,
                       struct buffer *text, struct buffer *remedy)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    first_name(&finding->places, names, name);
    report_line_print(finding->text, name, ranges_count(&finding->places), text);
    report_line_print(finding->remedy, name, 1, remedy);
}

/* Of the findings of the levels before end; 0 if there are none. */
static size_t nodes_width(const struct doctor_report *report, const struct hostlist *names,
                          enum doctor_level end)
{
    size_t width = 0;

    for (uint32_t i = 0; i < report->count; i++) {
        struct buffer text = {0};

        if (report->items[i].level >= end)
            continue;
        if (width < strlen("NODES"))
            width = strlen("NODES");
        print_places(&report->items[i].places, names, &text);
        if (text.length_bytes > width)
            width = text.length_bytes;
        buffer_fini(&text);
    }
    return width < NODES_WIDTH_MAX ? width : NODES_WIDTH_MAX;
}

static void print_row(struct buffer *out, size_t width, const char *topic, const char *mark,
                      const char *nodes, const char *text)
{
    buffer_printf(out, "%-9s %s %-*s  %s\n", topic, mark, (int)width, nodes, text);
}

static void print_summary(const struct doctor_report *report, const struct hostlist *names,
                          struct buffer *out)
{
    struct ranges ill = {0};
    uint32_t problems = 0;

    for (uint32_t i = 0; i < report->count; i++)
        problems += report->items[i].level == DOCTOR_PROBLEM;
    doctor_report_ill(report, &ill);
    if (problems == 0) {
        buffer_printf(out, "No problems found on %u node%s.\n", hostlist_count(names),
                      hostlist_count(names) == 1 ? "" : "s");
    } else {
        buffer_printf(out, "%u problem%s (!): ", problems, problems == 1 ? "" : "s");
        print_places(&ill, names, out);
        buffer_append_string(out, "\n");
    }
    ranges_fini(&ill);
}

static void print_finding(struct buffer *out, size_t width, const char *topic,
                          const struct doctor_finding *finding, const struct hostlist *names)
{
    static const char *const marks[DOCTOR_LEVEL_COUNT] = {
        [DOCTOR_PROBLEM] = "!", [DOCTOR_NOTE] = "-", [DOCTOR_FACT] = " "};
    struct buffer nodes = {0}, text = {0}, remedy = {0};

    print_places(&finding->places, names, &nodes);
    name_texts(finding, names, &text, &remedy);
    print_row(out, width, topic, marks[finding->level], buffer_string(&nodes),
              buffer_string(&text));
    if (remedy.length_bytes > 0)
        buffer_printf(out, "%*s  -> %s\n", (int)width + 12, "", buffer_string(&remedy));
    buffer_fini(&nodes);
    buffer_fini(&text);
    buffer_fini(&remedy);
}

/* The findings of one level, by topic; each topic is named once. */
static void print_level(struct buffer *out, size_t width, enum doctor_level level,
                        const struct doctor_report *report, const struct hostlist *names)
{
    enum doctor_topic last = DOCTOR_TOPIC_COUNT;

    for (uint32_t i = 0; i < report->count; i++) {
        const struct doctor_finding *finding = &report->items[i];

        if (finding->level != level)
            continue;
        print_finding(out, width,
                      finding->topic != last ? doctor_report_topic_name(finding->topic) : "",
                      finding, names);
        last = finding->topic;
    }
}

void doctor_print_table(const struct doctor_report *report, const struct hostlist *names,
                        int has_facts, struct buffer *out)
{
    enum doctor_level end = has_facts ? DOCTOR_LEVEL_COUNT : DOCTOR_FACT;
    size_t width = nodes_width(report, names, end);

    if (width > 0) {
        print_row(out, width, "CHECK", " ", "NODES", "FINDING");
        for (enum doctor_level level = DOCTOR_PROBLEM; level < end; level++)
            print_level(out, width, level, report, names);
        buffer_append_string(out, "\n");
    }
    print_summary(report, names, out);
}

static json_t *json_finding(const struct doctor_finding *finding, const struct hostlist *names)
{
    json_t *object = json_object();
    struct buffer nodes = {0}, text = {0}, remedy = {0};

    print_places(&finding->places, names, &nodes);
    name_texts(finding, names, &text, &remedy);
    json_object_set_new(object, "check", json_string(doctor_report_topic_name(finding->topic)));
    json_object_set_new(object, "level", json_string(level_names[finding->level]));
    json_object_set_new(object, "nodes", json_text(buffer_string(&nodes)));
    json_object_set_new(object, "count", json_integer((json_int_t)ranges_count(&finding->places)));
    json_object_set_new(object, "text", json_text(buffer_string(&text)));
    if (remedy.length_bytes > 0)
        json_object_set_new(object, "remedy", json_text(buffer_string(&remedy)));
    buffer_fini(&nodes);
    buffer_fini(&text);
    buffer_fini(&remedy);
    return object;
}

int doctor_print_json(const struct doctor_report *report, const struct hostlist *names,
                      struct buffer *out)
{
    json_t *document = json_object();
    json_t *findings = json_array();
    char *text;

    json_object_set_new(document, "banyan", json_string(PACKAGE_VERSION));
    json_object_set_new(document, "nodes", json_integer(hostlist_count(names)));
    json_object_set_new(document, "well", json_boolean(doctor_report_is_well(report)));
    for (uint32_t i = 0; i < report->count; i++)
        json_array_append_new(findings, json_finding(&report->items[i], names));
    json_object_set_new(document, "findings", findings);
    text = json_dumps(document, JSON_INDENT(2));
    json_decref(document);
    if (text == NULL)
        return -ENOMEM;
    buffer_printf(out, "%s\n", text);
    free(text);
    return 0;
}
