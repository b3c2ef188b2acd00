/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/doctor_print.h"

#include "test/support/tap.h"

static void add(struct doctor_report *report, enum doctor_topic topic, enum doctor_level level,
                uint32_t first, uint32_t last, const char *text, const char *remedy)
{
    struct ranges places = {0};

    ranges_add(&places, first, last);
    doctor_report_add(report, topic, level, &places, text, remedy);
    ranges_fini(&places);
}

static void is_table(const struct doctor_report *report, int has_facts, const char *expected,
                     const char *name)
{
    struct hostlist *names = hostlist_create();
    struct buffer text = {0};

    hostlist_parse(names, "n[1-9]", NULL);
    doctor_print_table(report, names, has_facts, &text);
    is_string(buffer_string(&text), expected, "%s", name);
    buffer_fini(&text);
    hostlist_destroy(names);
}

static void test_table(void)
{
    struct doctor_report report = {0};

    is_table(&report, 1, "No problems found on 9 nodes.\n", "nothing is well");
    add(&report, DOCTOR_SPACE, DOCTOR_FACT, 0, 4, "room", NULL);
    add(&report, DOCTOR_SPACE, DOCTOR_FACT, 6, 9, "room", NULL);
    is_table(&report, 0, "No problems found on 9 nodes.\n", "facts are left out");
    is_table(&report, 1,
             "CHECK       NODES              FINDING\n"
             "space       (here),n[1-4,6-9]  room\n"
             "\nNo problems found on 9 nodes.\n",
             "unless they are asked for");
    add(&report, DOCTOR_SPACE, DOCTOR_PROBLEM, 5, 5, "none\n", "make some");
    add(&report, DOCTOR_NAME, DOCTOR_NOTE, 2, 2, "odd", NULL);
    ok(!doctor_report_is_well(&report), "a problem is not well");
    is_table(&report, 1,
             "CHECK       NODES              FINDING\n"
             "space     ! n5                 none \n"
             "                               -> make some\n"
             "name      - n2                 odd\n"
             "space       (here),n[1-4,6-9]  room\n"
             "\n1 problem (!): n5\n",
             "problems first, then notes, then facts; equal ones together");
    is_table(&report, 0,
             "CHECK       NODES  FINDING\n"
             "space     ! n5     none \n"
             "                   -> make some\n"
             "name      - n2     odd\n"
             "\n1 problem (!): n5\n",
             "without facts the column is as wide as what it shows");
    doctor_report_fini(&report);
}

static void test_json(void)
{
    struct hostlist *names = hostlist_create();
    struct doctor_report report = {0};
    struct buffer text = {0};

    hostlist_parse(names, "n[1-9]", NULL);
    add(&report, DOCTOR_SPACE, DOCTOR_PROBLEM, 5, 6, "bytes \xff", "make \"some\"");
    is_int(doctor_print_json(&report, names, &text), 0, "JSON");
    has_string(buffer_string(&text), "\"well\": false", "says how it is");
    has_string(buffer_string(&text), "\"nodes\": \"n[5-6]\"", "where");
    has_string(buffer_string(&text), "\"text\": \"bytes ?\"", "what, as UTF-8");
    has_string(buffer_string(&text), "\"remedy\": \"make \\\"some\\\"\"", "and what to do");
    buffer_fini(&text);
    doctor_report_fini(&report);
    hostlist_destroy(names);
}

int main(void)
{
    test_table();
    test_json();
    return done_testing();
}
