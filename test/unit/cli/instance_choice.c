/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To which instance a run goes whose user names none: sockets that listen stand for roots.
 * launch/cli/client/instance_choice.c.
 */
#include "config.h"

#include "launch/cli/client/instance_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "launch/exec/session.h"
#include "launch/exec/session_about.h"
#include "launch/proto/control.h"
#include "test/support/tap.h"

static char parent[64];
static char note[256];

/* A root, with what it says; version NULL: nothing.  Returns what listens. */
static int make_root(const char *name, const char *version, const char *job)
{
    struct session_about about = {.version = ""};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char directory[80];
    struct error error;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(directory, sizeof(directory), "%s/%s", parent, name);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/" CONTROL_SOCKET, directory);
    if (fd < 0 || mkdir(directory, 0700) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 8) < 0)
        exit(1);
    snprintf(about.version, sizeof(about.version), "%s", version != NULL ? version : "");
    snprintf(about.job, sizeof(about.job), "%s", job);
    if (version != NULL && session_about_write(directory, &about, &error) < 0)
        exit(1);
    return fd;
}

/* name: NULL: none is chosen. */
static void chooses(const char *job, const char *name, const char *note_part, const char *what)
{
    char *directory = instance_choice_find(job, note, sizeof(note));

    is_string(directory != NULL ? strrchr(directory, '/') + 1 : "-", name != NULL ? name : "-",
              "%s", what);
    ok(strstr(note, note_part) != NULL && (note_part[0] != '\0' || note[0] == '\0'),
       "the note: \"%s\"", note);
    free(directory);
}

int main(void)
{
    const char *own = session_about_version();
    char base[] = "/tmp/choice.XXXXXX";
    int old, first, of_job, second;

    if (mkdtemp(base) == NULL)
        exit(1);
    setenv("TMPDIR", base, 1);
    snprintf(parent, sizeof(parent), "%s/banyan-%u", base, (unsigned int)geteuid());
    chooses("", NULL, "", "no directory");
    if (mkdir(parent, 0700) < 0)
        exit(1);
    chooses("", NULL, "", "no instance");
    old = make_root("a.0", NULL, "");
    chooses("", NULL, "it is of banyan an older version", "one that does not say what it is");
    first = make_root("b.0", own, "");
    chooses("", "b.0", "the only one of yours", "the only one");
    chooses("slurm 7", NULL, "a.0: it is of banyan", "but not in a scheduler's job");
    of_job = make_root("c.0", own, "slurm 7");
    chooses("slurm 7", "c.0", "the only one of this job", "to which one of its own belongs");
    chooses("slurm 8", NULL, "a.0", "and to no other job");
    chooses("", "b.0", "the only one of yours", "nor to a run outside");
    second = make_root("d.0", own, "");
    chooses("", NULL, "2 instances of yours run here", "none of several");
    close(second);
    chooses("", "b.0", "the only one of yours", "what a dead root has left does not count");
    close(first);
    first = make_root("e.0", "0.0 (control 1)", "");
    close(old);
    chooses("", NULL, "it is of banyan 0.0 (control 1)", "one of another version");
    close(first);
    chooses("", NULL, "its root has died; 'banyan clean' removes", "none but dead ones");
    if (chmod(parent, 0777) < 0)
        exit(1);
    chooses("slurm 7", NULL, "", "a directory that others can write to says nothing");
    close(of_job);
    session_remove_tree(base);
    return done_testing();
}
