/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/top_verb.h"

#include <stdlib.h>

#include "launch/cli/verb/instance_verb.h"
#include "launch/cli/verb/top_report.h"
#include "launch/cli/verb/top_screen.h"
#include "launch/cli/verb/verb_output.h"

#define INTERVAL_S     2u
#define INTERVAL_S_MAX 3600u

static const struct option_rule top_rules[] = {
    {.kind = OPTION_HEADING, .help = "When"},
    {.kind = OPTION_FLAG,
     .name = "once",
     INSTANCE_FIELD(once),
     .help = "one page, of everything (default where stdout is not a terminal)"},
    {.kind = OPTION_NUMBER,
     .letter = 'd',
     .name = "interval",
     .value = "SECONDS",
     INSTANCE_FIELD(interval_s),
     .minimum = 1,
     .maximum = INTERVAL_S_MAX,
     .help = "between two pages (default 2)"},
    OPTION_ROW_INSTANCE,
    {.kind = OPTION_HEADING, .help = "Output"},
    {.kind = OPTION_FLAG, .name = "json", INSTANCE_FIELD(json), .help = "print one page as JSON"},
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

const struct option_rule *top_verb_rules(void)
{
    return top_rules;
}

void top_verb_help(struct buffer *out)
{
    buffer_append_string(out,
                         "Usage: banyan top [OPTIONS]\n\n"
                         "Shows what the jobs and nodes of an instance use, those that use the "
                         "most CPU first, every\n2 s until q or Ctrl-C. CPU% is of one CPU.\n");
    options_help(top_rules, out);
    buffer_append_string(out, "\nMore in banyan-top(1).\n");
}

struct page {
    struct pmi_instance_facts facts;
    struct node_list list;
    struct load load;
};

static void page_fini(struct page *page)
{
    pmi_instance_facts_fini(&page->facts);
    node_list_fini(&page->list);
    load_fini(&page->load);
}

static int page_ask(struct instance_client *client, uint32_t rows, struct page *ret_page,
                    struct error *error)
{
    static char all[] = "";
    const struct node_list_request nodes = {.order = NODE_LIST_SHOW, .names = all};
    struct page page;
    int rc = instance_client_load(client, rows, &page.load, error);

    if (rc < 0)
        return rc;
    rc = instance_client_nodes(client, &nodes, &page.list, error);
    if (rc < 0) {
        load_fini(&page.load);
        return rc;
    }
    rc = instance_client_jobs(client, &page.facts, error);
    if (rc < 0) {
        load_fini(&page.load);
        node_list_fini(&page.list);
        return rc;
    }
    *ret_page = page;
    return 0;
}

static void page_print(const struct instance_client *client, const struct page *page,
                       struct top_report *report, int as_json, struct buffer *out)
{
    const struct instance_report instance = {.directory = client->directory,
                                             .root = (uint32_t)client->root,
                                             .roster = &client->roster,
                                             .facts = &page->facts,
                                             .list = &page->list};

    report->instance = &instance;
    report->load = &page->load;
    if (as_json)
        top_report_json(report, out);
    else
        top_report_text(report, out);
}

static int show_once(struct instance_client *client, int as_json, struct error *error)
{
    struct top_report report = {.lines = 0};
    struct buffer text = {0};
    struct page page;
    int rc = page_ask(client, LOAD_ROWS_MAX, &page, error);

    if (rc < 0)
        return rc;
    page_print(client, &page, &report, as_json, &text);
    page_fini(&page);
    return verb_output_print(&text, EXIT_SUCCESS);
}

/* Shows what is known until something must be asked again. */
static enum top_screen_event show_page(const struct instance_client *client,
                                       const struct page *page, uint32_t interval_s)
{
    enum top_screen_event event;

    do {
        struct top_report report;
        struct buffer text = {0};

        top_screen_size(&report.lines, &report.columns);
        page_print(client, page, &report, 0, &text);
        top_screen_show(&text);
        buffer_fini(&text);
        event = top_screen_wait(interval_s * 1000);
    } while (event == TOP_SCREEN_RESIZED);
    return event;
}

static int show_live(struct instance_client *client, uint32_t interval_s, struct error *error)
{
    enum top_screen_event event;
    int rc;

    top_screen_open();
    do {
        struct page page;

        rc = page_ask(client, LOAD_ROWS_MAX, &page, error);
        if (rc < 0)
            break;
        event = show_page(client, &page, interval_s);
        page_fini(&page);
    } while (event != TOP_SCREEN_QUIT);
    top_screen_close();
    return rc;
}

static int show(struct instance_client *client, const struct instance_settings *settings,
                char *const *words, struct error *error)
{
    (void)words;
    if (settings->once > 0 || settings->json > 0 || !top_screen_is_possible())
        return show_once(client, settings->json, error);
    return show_live(client, settings->interval_s > 0 ? settings->interval_s : INTERVAL_S, error);
}

int top_verb(int argc, char **argv)
{
    static const struct instance_verb verb = {
        .rules = top_rules, .help = top_verb_help, .usage = "top [OPTIONS]", .carry_out = show};

    return instance_verb_run(&verb, argc, argv);
}
