/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/facts_read.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define KIB_IN_MIB 1024u

static void read_names(struct node_facts *facts)
{
    struct utsname names;

    if (uname(&names) < 0)
        return;
    snprintf(facts->architecture, sizeof(facts->architecture), "%.*s", FACTS_WORD_BYTES - 1,
             names.machine);
    for (size_t i = 0; names.sysname[i] != '\0' && i < FACTS_WORD_BYTES - 1; i++)
        facts->system[i] = (char)tolower((unsigned char)names.sysname[i]);
    facts->known |= 1u << FACT_ARCHITECTURE | 1u << FACT_SYSTEM;
}

static void read_memory(struct node_facts *facts)
{
    FILE *file = fopen("/proc/meminfo", "re");
    unsigned long long kib;
    char line[256];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "MemTotal: %llu kB", &kib) != 1)
            continue;
        facts->memory_mib = kib / KIB_IN_MIB;
        facts->known |= 1u << FACT_MEMORY;
        break;
    }
    if (file != NULL)
        fclose(file);
}

/* "flags : fpu vme ..." of x86, "Features : fp asimd ..." of Arm; the first processor's. */
static void read_features(struct node_facts *facts)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char *line = NULL;
    size_t room = 0;

    while (file != NULL && getline(&line, &room, file) > 0) {
        char *at = strchr(line, ':');

        if (at == NULL || (strncmp(line, "flags", 5) != 0 && strncmp(line, "Features", 8) != 0))
            continue;
        for (char *word = strtok(at + 1, " \t\n"); word != NULL; word = strtok(NULL, " \t\n"))
            (void)node_facts_add_feature(facts, word, strlen(word));
        break;
    }
    free(line);
    if (file != NULL)
        fclose(file);
    facts->known |= 1u << FACT_FEATURES;
}

void facts_read(struct node_facts *facts)
{
    read_names(facts);
    read_memory(facts);
    read_features(facts);
}
