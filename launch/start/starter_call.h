/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of one call of a starter that starts all daemons at once: srun, aprun, flux.
 */
#ifndef LAUNCH_START_STARTER_CALL_H
#define LAUNCH_START_STARTER_CALL_H

#include "launch/start/starter_method.h"

#define STARTER_CALL_WORDS_MAX 32

/* A zeroed struct is empty. */
struct starter_call {
    char *items[STARTER_CALL_WORDS_MAX];
    size_t count;
};

/* Takes the word, which is on the heap. */
void starter_call_add(struct starter_call *call, char *word);
/* Copies words up to a NULL. */
void starter_call_add_words(struct starter_call *call, const char *const *words);
/* OPTION=names, or -O names, joined by commas, if the system accepts a word of that length: a longer list can only be that
 * of the whole job.  As old and simple readers have it: nothing follows a bracket, and without
 * has_brackets there is none. */
void starter_call_add_nodes(struct starter_call *call, const char *option,
                            const struct hostlist *nodes, int has_brackets);
/* `banyand` as one of those that the starter of this name has started. */
void starter_call_add_daemon(struct starter_call *call, const struct instance_spec *instance,
                             const char *starter);
/* `banyand --clean` of a place. */
void starter_call_add_clean(struct starter_call *call, const struct instance_spec *instance,
                            uint32_t place, const char *node_name);
/* Runs it as process id of the helper, and frees the words. */
void starter_call_make(struct starter_call *call, struct helper *helper, uint32_t id,
                       char *const *environment, const struct helper_fd *fds, uint32_t fds_count);
/* For starters with one call for all nodes: select of starter_method.h. */
int starter_call_select_all(uint32_t index, const struct hostlist *names,
                            struct hostlist *ret_selected);

/* Two pipes, of which the ends that stay here, input[1] and output[0], must not block the loop; the others are the
 * started process's business. */
int starter_call_pipes(int input[2], int output[2]);

#endif
