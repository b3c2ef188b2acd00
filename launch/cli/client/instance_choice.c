/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/instance_choice.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "launch/cli/client/instance_search.h"
#include "launch/exec/session_about.h"

struct choice {
    const char *job;
    char *directory; /* the first */
    unsigned int count;
    char *dead;    /* the first whose root is, or NULL */
    char *foreign; /* the first of another version, which is */
    char version[SESSION_ABOUT_BYTES];
};

static void look_at(void *context, const char *directory, int is_dead)
{
    struct choice *choice = context;
    struct session_about about = {.version = "an older version"};

    if (is_dead) {
        if (choice->dead == NULL)
            choice->dead = memory_copy_string(directory);
        return;
    }
    if (session_about_read(directory, &about) < 0 ||
        strcmp(about.version, session_about_version()) != 0) {
        if (choice->foreign != NULL)
            return;
        choice->foreign = memory_copy_string(directory);
        snprintf(choice->version, sizeof(choice->version), "%s", about.version);
        return;
    }
    if (strcmp(about.job, choice->job) != 0)
        return;
    choice->count++;
    if (choice->directory == NULL)
        choice->directory = memory_copy_string(directory);
}

char *instance_choice_find(const char *job, char *note, size_t note_bytes)
{
    struct choice choice = {.job = job};
    const char *whose = job[0] != '\0' ? "of this job" : "of yours";

    note[0] = '\0';
    instance_search_each(NULL, look_at, &choice);
    assert((choice.count > 0) == (choice.directory != NULL));
    if (choice.count > 1)
        snprintf(
            note, note_bytes,
            "%u instances %s run here: making another for this run; --instance DIR chooses one",
            choice.count, whose);
    else if (choice.count == 1)
        snprintf(note, note_bytes,
                 "in the instance %.100s, the only one %s (--instance none: not there)",
                 choice.directory, whose);
    else if (choice.foreign != NULL)
        snprintf(note, note_bytes,
                 "not in the instance %.100s: it is of banyan %.60s, this is %.60s", choice.foreign,
                 choice.version, session_about_version());
    else if (choice.dead != NULL)
        snprintf(
            note, note_bytes,
            "not in the instance %.120s: its root has died; 'banyan clean' removes what it left",
            choice.dead);
    free(choice.dead);
    free(choice.foreign);
    if (choice.count == 1)
        return choice.directory;
    free(choice.directory);
    return NULL;
}
