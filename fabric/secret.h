/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for secrets: separate pages, excluded from core dumps, cleared when freed.
 */
#ifndef FABRIC_SECRET_H
#define FABRIC_SECRET_H

#include <stddef.h>

/* Zeroed.  Fail-stop if there is no memory. */
unsigned char *secret_create(size_t bytes);
/* Children forked from now on find zeros there. */
void secret_keep_from_children(unsigned char *secret, size_t bytes);
void secret_destroy(unsigned char *secret, size_t bytes); /* NULL is fine */
/* Fills with random bytes of the system: a new key. */
void secret_fill_random(unsigned char *secret, size_t bytes);
/* Clears what earlier calls left on the stack: copies of the secret, and vector registers holding
 * parts of it that the dynamic linker saved there. */
void secret_clear_stack(void);
/* Clears memory; the compiler cannot optimise it away. */
void secret_clear(void *memory, size_t bytes);

#endif
