/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for secrets: pages of their own, left out of core dumps, cleared when given back.
 */
#ifndef FABRIC_SECRET_H
#define FABRIC_SECRET_H

#include <stddef.h>

/* Zeroed.  Fail-stop if there is no memory. */
unsigned char *secret_create(size_t bytes);
/* What is forked from now on finds zeros there. */
void secret_keep_from_children(unsigned char *secret, size_t bytes);
void secret_destroy(unsigned char *secret, size_t bytes); /* NULL is fine */
/* Fills with random bytes of the system: a new key. */
void secret_fill_random(unsigned char *secret, size_t bytes);
/* Clears what calls that have returned left on the stack: copies of theirs, and vector registers, with
 * the secret that was copied through them, that the dynamic linker saved there. */
void secret_clear_stack(void);
/* Clears memory so that the compiler cannot leave it out. */
void secret_clear(void *memory, size_t bytes);

#endif
