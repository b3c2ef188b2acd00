/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/node_add.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/file_read.h"
#include "launch/cli/verb/node_scheduler.h"
#include "launch/proto/exit_status.h"

#define FILE_BYTES_MAX (256u * 1024 * 1024)

static int take_words(char *const *words, struct allocation *nodes, struct error *error)
{
    struct buffer hosts = {0};
    int rc;

    assert(words[0] != NULL);
    for (size_t i = 0; words[i] != NULL; i++)
        buffer_printf(&hosts, "%s%s", i > 0 ? "," : "", words[i]);
    rc = allocation_parse_hosts(nodes, buffer_string(&hosts), error);
    if (rc < 0)
        error_prefix(error, "list of nodes");
    buffer_fini(&hosts);
    return rc;
}

static int take_file(const char *path, struct allocation *nodes, struct error *error)
{
    struct buffer text = {0};
    int rc = file_read(path, FILE_BYTES_MAX, &text);

    assert(allocation_nodes(nodes) == 0);
    if (rc < 0)
        error_set(error, rc, "option --hostfile: cannot read %s: %s", path, strerror(-rc));
    else
        rc = allocation_parse_hostfile(nodes, path, buffer_string(&text), text.length_bytes, error);
    buffer_fini(&text);
    return rc;
}

int node_add_check(const struct instance_settings *settings, char *const *words,
                   struct error *error)
{
    int sources =
        (words[0] != NULL) + (settings->hostfile != NULL) + (settings->from_scheduler > 0);

    if (sources > 1)
        return error_set(error, -EINVAL,
                         "give nodes, --hostfile or --from-scheduler, not more than one of them");
    if (sources == 0)
        return error_set(error, -EINVAL,
                         "expected: banyan node add [OPTIONS] NODES..., --hostfile FILE or "
                         "--from-scheduler; see 'banyan help node'");
    return 0;
}

int node_add_find(const char *file, char *const *words, struct allocation *ret_nodes,
                  struct error *error)
{
    int rc;

    assert(allocation_nodes(ret_nodes) == 0 && (file != NULL || words[0] != NULL));
    rc = file == NULL ? take_words(words, ret_nodes, error) : take_file(file, ret_nodes, error);
    if (rc == 0 && ret_nodes->user[0] != '\0')
        rc = error_set(error, -EINVAL,
                       "%.80s@: new nodes have the user that the instance was started with",
                       ret_nodes->user);
    return rc;
}

/* A line for each reason. */
static void print_lines(const char *lines)
{
    const char *line = lines, *end;

    while (*line != '\0') {
        end = strchrnul(line, '\n');
        fprintf(stderr, "banyan: %.*s\n", (int)(end - line), line);
        line = *end != '\0' ? end + 1 : end;
    }
}

/* Of the nodes of the scheduler's job those that the instance has not. */
static int find_new(struct instance_client *client, struct allocation *nodes, struct error *error)
{
    char none[] = "";
    struct node_list_request request = {.order = NODE_LIST_SHOW, .names = none};
    char name[HOST_NAME_BYTES_MAX + 1];
    struct allocation all;
    struct node_list list;
    int rc;

    allocation_init(&all);
    rc = node_scheduler_read(&all, error);
    if (rc == 0)
        rc = instance_client_nodes(client, &request, &list, error);
    for (uint32_t i = 0; rc == 0 && i < allocation_nodes(&all); i++) {
        hostlist_name(all.names, i, name);
        if (hostlist_find(list.names, name, 0) < 0)
            allocation_add(nodes, name, allocation_slots_of(&all, i));
    }
    if (rc == 0)
        node_list_fini(&list);
    allocation_fini(&all);
    return rc;
}

int node_add(struct instance_client *client, const struct instance_settings *settings,
             char *const *words, struct error *error)
{
    char why[NODE_LIST_WHY_BYTES] = "";
    struct allocation nodes;
    int rc;

    assert(client != NULL && words != NULL);
    allocation_init(&nodes);
    rc = settings->from_scheduler > 0 ? find_new(client, &nodes, error)
                                      : node_add_find(settings->hostfile, words, &nodes, error);
    if (rc == 0 && allocation_nodes(&nodes) == 0)
        fprintf(stderr, "banyan: the instance has all nodes of the scheduler's job\n");
    else if (rc == 0)
        rc = instance_client_add(client, &nodes, why, error);
    allocation_fini(&nodes);
    if (rc < 0)
        return rc;
    print_lines(why);
    return why[0] == '\0' ? EXIT_SUCCESS : EXIT_STATUS_FAILED;
}
