/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ps shows of a process that was forked without exec.  The strings of main's argv (and the
 * initial environment, as /proc/PID/environ shows it) are written over; environ itself is copied
 * first.  Without process_title_init only the short name changes.
 */
#ifndef LAUNCH_EXEC_PROCESS_TITLE_H
#define LAUNCH_EXEC_PROCESS_TITLE_H

/* For the first lines of main(). */
void process_title_init(int argc, char **argv);
/* Sets the name (at most 15 bytes are shown in some places).  mark, if not NULL, becomes the whole
 * visible environment, where session_clean looks for "BANYAN_SESSION=...".  Pointers that getenv
 * returned before the first call are void after it. */
void process_title_set(const char *name, const char *mark);

#endif
