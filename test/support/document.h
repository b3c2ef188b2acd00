/* SPDX-License-Identifier: BSD-3-Clause */
/* The repository's own texts, which tests hold to what happens. */
#ifndef TEST_SUPPORT_DOCUMENT_H
#define TEST_SUPPORT_DOCUMENT_H

#include "base/buffer.h"

/* Appends the file of that name below the top of the sources; nothing if there is none. */
void document_read(const char *name, struct buffer *text);

#endif
