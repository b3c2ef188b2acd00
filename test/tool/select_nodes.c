/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * select_nodes PLUGIN TOPOLOGY: the scheduler of contrib/scheduler/node_selector.h, as small as can be.
 * Each line of standard input is "COUNT NODE...", all of them free; the answer is a line of the chosen ones,
 * or "error: ...".
 */
#include "config.h"

#include <dlfcn.h>
#include <node_selector.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 4096

static char error[512];

static void answer(const struct node_selector *selector, void *state, char *line)
{
    static const char *nodes[NODES_MAX];
    static size_t chosen[NODES_MAX];
    size_t nodes_count = 0, count;
    char *next = NULL, *word = strtok_r(line, " \n", &next);

    count = word != NULL ? strtoul(word, NULL, 10) : 0;
    while (nodes_count < NODES_MAX && (word = strtok_r(NULL, " \n", &next)) != NULL)
        nodes[nodes_count++] = word;
    if (selector->choose(state, nodes, nodes_count, count, chosen, error, sizeof(error)) < 0) {
        printf("error: %s\n", error);
    } else {
        for (size_t i = 0; i < count; i++)
            printf("%s%s", i > 0 ? " " : "", nodes[chosen[i]]);
        printf("\n");
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const struct node_selector *selector = NULL;
    void *plugin = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *state = NULL;
    char *line = NULL;
    size_t room = 0;

    if (plugin != NULL)
        selector = dlsym(plugin, "node_selector");
    if (selector == NULL) {
        fprintf(stderr, "select_nodes: %s\n", argc == 3 ? dlerror() : "PLUGIN TOPOLOGY expected");
        return 2;
    }
    if (selector->open(argv[2], &state, error, sizeof(error)) < 0) {
        fprintf(stderr, "%s: %s\n", selector->name, error);
        return 1;
    }
    while (getline(&line, &room, stdin) > 0)
        answer(selector, state, line);
    selector->close(state);
    free(line);
    dlclose(plugin);
    return 0;
}
