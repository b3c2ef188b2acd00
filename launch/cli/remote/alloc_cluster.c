/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/remote/alloc_cluster.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/same_node.h"
#include "launch/cli/remote/alloc_request.h"
#include "launch/cli/request/request_cluster.h"
#include "launch/cli/request/request_settings.h"
#include "launch/cli/request/request_words.h"

#define LABEL_COLUMNS 10

static void add_word(struct alloc_cluster_words *words, char *word)
{
    assert(word != NULL);
    words->words = memory_resize(words->words, ((size_t)words->count + 2) * sizeof(*words->words));
    words->words[words->count++] = word;
    words->words[words->count] = NULL;
}

/* Takes value; NULL: the option is not needed. */
static void add_option(struct alloc_cluster_words *words, const char *option, char *value)
{
    if (value == NULL)
        return;
    add_word(words, memory_copy_string(option));
    add_word(words, value);
}

void alloc_cluster_words_fini(struct alloc_cluster_words *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->words[i]);
    free(words->words);
    *words = (struct alloc_cluster_words){.count = 0};
}

int alloc_cluster_may_be(const char *text)
{
    return !alloc_request_is_scheduler(text);
}

static char *copy_or_null(const char *text)
{
    return text != NULL ? memory_copy_string(text) : NULL;
}

/* ---- What a section says ---- */

/* NULL: none, or this machine. */
static const char *login_of(const struct site *site, const struct site_section *section,
                            const char *host_name)
{
    const char *login = site_value(site, section, SITE_LOGIN);
    const char *machine = login != NULL ? strrchr(login, '@') : NULL;

    if (login == NULL || same_node_is_here(machine != NULL ? machine + 1 : login, host_name))
        return NULL;
    return login;
}

/* "slurm: -p gpu -N4"; -EINVAL. */
static int make_request(const struct site *site, const struct site_section *section,
                        const char *given, char **ret_text, struct error *error)
{
    const char *scheduler = site_value(site, section, SITE_SCHEDULER);
    const char *options = site_value(site, section, SITE_SCHEDULER_OPTIONS);

    if (scheduler == NULL)
        return error_set(error, -EINVAL,
                         "cluster %s has no scheduler in the configuration; name its nodes, as "
                         "--host %s/, or add scheduler = slurm, pbs or lsf",
                         section->cluster, section->cluster);
    *ret_text = memory_printf("%s:%s%s%s%s", scheduler, options != NULL ? " " : "",
                              options != NULL ? options : "", given[0] != '\0' ? " " : "", given);
    return 0;
}

static void put_tmpdir(const struct site *site, const struct site_section *section,
                       struct buffer *out)
{
    struct hostlist *names = hostlist_create();

    if (section->values[SITE_TMPDIR] == NULL) {
        hostlist_destroy(names);
        return;
    }
    site_names(site, section, names);
    if (out->length_bytes > 0)
        buffer_append_string(out, ";");
    if (hostlist_count(names) > 0) {
        hostlist_print(names, out);
        buffer_append_string(out, "=");
    }
    buffer_append_string(out, section->values[SITE_TMPDIR]);
    hostlist_destroy(names);
}

/* Of the cluster and its kinds of nodes, which their scheduler calls by their own names; NULL: none. */
static char *make_tmpdir(const struct site *site, const char *cluster)
{
    struct buffer text = {0};
    char *made;

    for (uint32_t i = 0; i < site->count; i++) {
        const struct site_section *section = &site->sections[i];

        /* Without its nodes a kind cannot be distinguished from the others. */
        if (strcmp(section->cluster, cluster) == 0 &&
            (section->kind == NULL || section->values[SITE_NODES] != NULL))
            put_tmpdir(site, section, &text);
    }
    made = text.length_bytes > 0 ? memory_copy_string(buffer_string(&text)) : NULL;
    buffer_fini(&text);
    return made;
}

/* ---- The words ---- */

int alloc_cluster_expand(const struct site *site, const char *host_name, int argc,
                         char *const *argv, struct alloc_cluster_words *ret_words,
                         struct error *error)
{
    const char *text = alloc_request_wanted(argc, argv);
    struct alloc_cluster_words words = {.count = 0};
    const struct site_section *section;
    char *name, *request, **rest;
    const char *given;
    int count, rc;

    *ret_words = words;
    if (text == NULL || site->count == 0 || !alloc_cluster_may_be(text))
        return 0;
    name = memory_printf("%.*s", (int)strcspn(text, ":"), text);
    given = text[strlen(name)] == ':' ? text + strlen(name) + 1 : "";
    given += strspn(given, " \t");
    section = site_find_word(site, name, error);
    free(name);
    rc = section == NULL ? -ENOENT : make_request(site, section, given, &request, error);
    if (rc < 0) {
        error_prefix(error, "option --alloc");
        return rc;
    }
    add_word(&words, memory_copy_string(argv[0]));
    add_option(&words, "--on", copy_or_null(login_of(site, section, host_name)));
    add_option(&words, "--alloc", request);
    add_option(&words, "--starter", copy_or_null(site_value(site, section, SITE_STARTER)));
    add_option(&words, "--ssh-agent", request_cluster_agent(site, section));
    add_option(&words, "--tmpdir", make_tmpdir(site, section->cluster));
    rest = request_words_without(argc, argv, offsetof(struct request_settings, alloc), &count);
    for (int i = 1; i < count; i++)
        add_word(&words, memory_copy_string(rest[i]));
    free(rest);
    *ret_words = words;
    return 0;
}

/* ---- What is shown ---- */

static void show_line(const char *label, const char *value, struct buffer *out)
{
    if (value != NULL)
        buffer_printf(out, "%-*s %s\n", LABEL_COLUMNS, label, value);
}

static void show_nodes(const struct site *site, const struct site_section *section,
                       struct buffer *out)
{
    struct hostlist *names = hostlist_create();

    site_names(site, section, names);
    buffer_printf(out, "%-*s ", LABEL_COLUMNS, section->kind != NULL ? section->kind : "nodes");
    if (hostlist_count(names) == 0)
        buffer_append_string(out, "not described");
    else
        buffer_printf(out, "%u: ", hostlist_count(names));
    hostlist_print(names, out);
    buffer_append_string(out, "\n");
    hostlist_destroy(names);
}

int alloc_cluster_show(const struct site *site, const char *host_name, const char *name,
                       struct buffer *out, struct error *error)
{
    const struct site_section *section = site_find_word(site, name, error);
    struct buffer facts = {0};
    char *request = NULL, *agent, *tmpdir;
    const char *starter;

    if (section == NULL)
        return error->code;
    buffer_printf(out, "%-*s %s\n", LABEL_COLUMNS, "cluster", name);
    show_nodes(site, section, out);
    for (uint32_t i = 0; section->kind == NULL && i < site->count; i++)
        if (site->sections[i].kind != NULL &&
            strcmp(site->sections[i].cluster, section->cluster) == 0)
            show_nodes(site, &site->sections[i], out);
    (void)make_request(site, section, "", &request, NULL);
    agent = request_cluster_agent(site, section);
    tmpdir = make_tmpdir(site, section->cluster);
    starter = site_value(site, section, SITE_STARTER);
    site_facts(site, section, &facts);
    show_line("on", login_of(site, section, host_name), out);
    show_line("--alloc", request, out);
    show_line("slots", site_value(site, section, SITE_SLOTS), out);
    show_line("address", site_value(site, section, SITE_ADDRESS), out);
    show_line("starter", agent != NULL ? agent : starter, out);
    show_line("tmpdir", tmpdir, out);
    show_line("facts", facts.length_bytes > 0 ? buffer_string(&facts) : NULL, out);
    buffer_fini(&facts);
    free(request);
    free(agent);
    free(tmpdir);
    return 0;
}
