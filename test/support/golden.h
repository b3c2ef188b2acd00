/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden traces: what happened, one line each, against test/trace/NAME.txt, and against a document
 * of doc/ that quotes it.  GOLDEN_WRITE=1 writes them anew; look at the difference before you commit.
 */
#ifndef TEST_SUPPORT_GOLDEN_H
#define TEST_SUPPORT_GOLDEN_H

#include "base/buffer.h"

void golden_compare(const char *name, struct buffer *trace);
/* The document quotes a trace line by line, indented by four blanks. */
void golden_check_quoted(const char *name, const char *document, struct buffer *trace);

#endif
