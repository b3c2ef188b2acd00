/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which instance a run goes to: the one that its user names (--instance, $BANYAN_INSTANCE), else one that is found, of
 * the same scheduler's job or the only one of the user, else a new one.  "none" is a new one.  Nor does a run
 * look for one that is itself a process of an instance: it would wait for slots that its own job has.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_INSTANCE_H
#define LAUNCH_CLI_REQUEST_REQUEST_INSTANCE_H

#include "launch/cli/request/request.h"
#include "launch/cli/request/request_nodes.h"
#include "launch/cli/request/request_settings.h"

#define REQUEST_INSTANCE_NONE "none"

/* 1 if it names no instance, or asks for a new one. */
int request_instance_is_none(const char *name);
/* -EINVAL if options are given that need the client which --detach does without. */
int request_instance_check(const struct request_settings *settings, struct error *error);
/* -ENOENT: --detach, and there is no instance. */
int request_instance_missing(struct error *error);
/* The user names none: joins the one that is found, if any: 1, and sets nodes->allocation and
 * request->instance_fd.  The line for --verbose goes to request->notice. */
int request_instance_join(const struct request_settings *settings, const struct request_ops *ops,
                          struct request_nodes *nodes, struct run_request *request);

#endif
