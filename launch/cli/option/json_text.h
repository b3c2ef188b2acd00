/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Texts of the system and of programs in JSON, which is UTF-8: in a text that is not, each byte beyond
 * ASCII becomes a question mark.
 */
#ifndef LAUNCH_CLI_OPTION_JSON_TEXT_H
#define LAUNCH_CLI_OPTION_JSON_TEXT_H

#include <stdio.h>

#include <jansson.h>

json_t *json_text(const char *text);
/* Quoted, without what JSON does not take or nobody can read: for files that are written piece by piece. */
void json_text_write(FILE *file, const char *text);

#endif
