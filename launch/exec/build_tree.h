/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that was built but not installed finds its shared objects beside itself, where libtool
 * leaves them: DIRECTORY/.libs/NAME.so, with DIRECTORY/NAME.la next to the program.  An installed
 * program has no such neighbours.
 */
#ifndef LAUNCH_EXEC_BUILD_TREE_H
#define LAUNCH_EXEC_BUILD_TREE_H

/* The path of a shared object in the build tree of the program at `program`; NULL if that is no build
 * tree.  Files and directories count only if they belong to the owner of the program and others cannot
 * write to them: a copy of the program in /tmp loads nothing from there.  free() it. */
char *build_tree_object_of(const char *program, const char *name);
/* Finds out where the running program is; at the beginning of main.  Later it may be in other namespaces,
 * where the kernel calls it by another name: in a chroot by that of the system around it. */
void build_tree_init(void);
/* The same for the running program; NULL before build_tree_init. */
char *build_tree_object(const char *name);

#endif
