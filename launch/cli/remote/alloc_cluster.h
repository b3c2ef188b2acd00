/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --alloc CLUSTER, of a cluster that the configuration describes (alloc/site.h): --alloc "west: -N4", or
 * "west/gpu" for a kind of its nodes, becomes what the description says: --on its login, --alloc of its
 * scheduler with its options before those given, --starter, --ssh-agent and --tmpdir.  They stand before the
 * words of the command line, which so have precedence.  Pure.
 */
#ifndef LAUNCH_CLI_REMOTE_ALLOC_CLUSTER_H
#define LAUNCH_CLI_REMOTE_ALLOC_CLUSTER_H

#include "alloc/site.h"
#include "base/buffer.h"
#include "base/error.h"

struct alloc_cluster_words {
    char **words; /* NULL at the end; owned; NULL: the words stay as they are */
    int count;
};

/* 1 if a value of --alloc may be of a cluster: it names no scheduler. */
int alloc_cluster_may_be(const char *text);
/* argv is the whole of `run ...`.  host_name: of this machine, which needs no --on to itself.  -ENOENT with
 * the nearest cluster; -EINVAL if it has no scheduler.  Without any cluster the words stay as they are. */
int alloc_cluster_expand(const struct site *site, const char *host_name, int argc,
                         char *const *argv, struct alloc_cluster_words *ret_words,
                         struct error *error);
void alloc_cluster_words_fini(struct alloc_cluster_words *words);
/* What `banyan alloc CLUSTER` shows, appended. -ENOENT. */
int alloc_cluster_show(const struct site *site, const char *host_name, const char *name,
                       struct buffer *out, struct error *error);

#endif
