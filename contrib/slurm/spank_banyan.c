/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plugin of Slurm (SPANK): `sbatch --banyan` and `salloc --banyan` start an instance over the nodes of the job before
 * its script or command, and stop it after.  `banyan run` finds the instance.  See contrib/slurm/README.rst.
 *
 * It is loaded into sbatch, salloc and slurmstepd and calls the program banyan as the job's user, with the job's
 * environment: once to start, once to stop.  sbatch: in the process that becomes the script, before it does, so that
 * what banyan says is in the job's output; slurmstepd gets the directory of the instance by a pipe and stops it when
 * the script has ended.  salloc has no call between the grant and its command: the command's fork is that moment.
 */
#include "config.h"

#include <slurm/spank.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

SPANK_PLUGIN(banyan, 1)

#define ARGUMENTS_MAX   8
#define RADIX_MIN       2
#define RADIX_MAX       1024
#define INSTANCE        "BANYAN_INSTANCE"
#define PROGRAM_DEFAULT BANYAN_BINDIR "/banyan"

enum option { OPTION_BANYAN, OPTION_RADIX, OPTION_FABRIC };

/* One job per process. */
static struct {
    int is_wanted;
    char program[PATH_MAX];
    char radix[16];           /* "": banyan's default */
    char fabric[64];          /* likewise */
    char directory[PATH_MAX]; /* of the instance; "": none */
    int directory_fds[2];     /* slurmstepd: from the task */
    char outer[16];           /* salloc: the job in which it was called, or "" */
    int is_begun;             /* salloc: the start */
    int has_failed;           /* likewise */
} job = {.program = PROGRAM_DEFAULT, .directory_fds = {-1, -1}};

/* ---- Calls of banyan ---- */

struct user {
    uid_t uid;
    gid_t gid;
};

/* In a child.  Slurm's plugins run with all of slurmstepd's rights when a task has ended. */
static void become(const struct user *user)
{
    const struct passwd *entry = geteuid() == 0 && user->uid != 0 ? getpwuid(user->uid) : NULL;

    if (geteuid() == user->uid)
        return;
    if (entry == NULL || initgroups(entry->pw_name, user->gid) < 0 || setgid(user->gid) < 0 ||
        setuid(user->uid) < 0)
        _exit(126);
}

/* In a child: what slurmstepd and salloc have done to signals is not banyan's. */
static void reset_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++)
        if (number != SIGKILL && number != SIGSTOP)
            (void)signal(number, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void run_child(const struct user *user, char *const *arguments, char *const *environment,
                      int out_fd, int is_quiet)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    become(user);
    reset_signals();
    if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(out_fd < 0 ? null_fd : out_fd, 1) < 0 ||
        (is_quiet && dup2(null_fd, 2) < 0))
        _exit(126);
    execve(arguments[0], arguments, environment);
    dprintf(2, "banyan: %s: %s; plugstack.conf names it by banyan=PATH\n", arguments[0],
            strerror(errno));
    _exit(127);
}

/* Reads to the end; what does not fit is a failure. */
static int read_line(int fd, char *line, size_t line_bytes)
{
    size_t length = 0;
    ssize_t got;

    while ((got = read(fd, line + length, line_bytes - 1 - length)) > 0 ||
           (got < 0 && errno == EINTR))
        length += got > 0 ? (size_t)got : 0;
    line[length] = '\0';
    if (strchr(line, '\n') == NULL)
        return -1;
    *strchr(line, '\n') = '\0';
    return 0;
}

/* ret_line: the first line that it prints, or NULL: it prints nothing that anybody reads.  0 or -1. */
static int call(const struct user *user, char *const *arguments, char *const *environment,
                char *ret_line, size_t line_bytes)
{
    int fds[2] = {-1, -1};
    int status = 0, rc = 0;
    pid_t pid;

    assert(arguments[0] != NULL);
    if (ret_line != NULL && pipe2(fds, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0)
        run_child(user, arguments, environment, fds[1], ret_line == NULL);
    if (fds[1] >= 0)
        close(fds[1]);
    if (pid > 0 && ret_line != NULL)
        rc = read_line(fds[0], ret_line, line_bytes);
    if (fds[0] >= 0)
        close(fds[0]);
    if (pid < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return rc; /* slurmstepd has waited for it */
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? rc : -1;
}

static int start(const struct user *user, char *const *environment)
{
    char *arguments[ARGUMENTS_MAX] = {job.program, "start", "--daemonize"};
    int count = 3;

    if (job.radix[0] != '\0') {
        arguments[count++] = "--radix";
        arguments[count++] = job.radix;
    }
    if (job.fabric[0] != '\0') {
        arguments[count++] = "--fabric";
        arguments[count++] = job.fabric;
    }
    assert(count < ARGUMENTS_MAX);
    if (call(user, arguments, environment, job.directory, sizeof(job.directory)) == 0)
        return 0;
    job.directory[0] = '\0';
    return -1;
}

/* It may have ended with the job's nodes. */
static void stop(const struct user *user, char *const *environment)
{
    char *const arguments[] = {job.program, "stop", "--now", "--instance", job.directory, NULL};

    if (job.directory[0] != '\0')
        (void)call(user, arguments, environment, NULL, 0);
    job.directory[0] = '\0';
}

/* ---- Options ---- */

static int take_option(int option, const char *text, int is_remote)
{
    char *end;
    long radix;

    (void)is_remote;
    job.is_wanted = 1;
    if (option == OPTION_BANYAN)
        return 0;
    if (option == OPTION_FABRIC) {
        if (text[0] != '\0' &&
            (size_t)snprintf(job.fabric, sizeof(job.fabric), "%s", text) < sizeof(job.fabric))
            return 0;
        slurm_error("--banyan-fabric: expected tcp, ofi, ofi:PROVIDER or auto");
        return -1;
    }
    assert(option == OPTION_RADIX);
    radix = strtol(text, &end, 10);
    if (end == text || *end != '\0' || radix < RADIX_MIN || radix > RADIX_MAX) {
        slurm_error("--banyan-radix: expected a number from %d to %d: %s", RADIX_MIN, RADIX_MAX,
                    text);
        return -1;
    }
    snprintf(job.radix, sizeof(job.radix), "%ld", radix);
    return 0;
}

static struct spank_option options[] = {
    {"banyan", NULL, "start a banyan instance on the nodes of the job, and stop it after", 0,
     OPTION_BANYAN, take_option},
    {"banyan-radix", "R", "children of each node in its tree (implies --banyan)", 1, OPTION_RADIX,
     take_option},
    {"banyan-fabric", "FABRIC", "tcp, ofi, ofi:PROVIDER or auto (implies --banyan)", 1,
     OPTION_FABRIC, take_option},
};

/* The arguments of plugstack.conf: banyan=PATH. */
static int take_arguments(int count, char **words)
{
    const char *name = "banyan=";

    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], name, strlen(name)) != 0 || words[i][strlen(name)] != '/' ||
            (size_t)snprintf(job.program, sizeof(job.program), "%s", words[i] + strlen(name)) >=
                sizeof(job.program)) {
            slurm_error("banyan: plugstack.conf: expected banyan=PATH, an absolute one: %s",
                        words[i]);
            return -1;
        }
    }
    return 0;
}

int slurm_spank_init(spank_t spank, int count, char **words)
{
    spank_context_t context = spank_context();

    if (context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE)
        return 0;
    if (take_arguments(count, words) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS)
            return -1;
    return 0;
}

/* ---- salloc ---- */

static struct user self(void)
{
    return (struct user){.uid = geteuid(), .gid = getegid()};
}

/* The job's variables are in the environment from the grant on.  start() forks, too. */
static void before_fork(void)
{
    const char *number = getenv("SLURM_JOB_ID");
    struct user user = self();

    if (job.is_begun || number == NULL || strcmp(number, job.outer) == 0)
        return;
    job.is_begun = 1;
    job.has_failed = start(&user, environ) < 0;
    if (!job.has_failed)
        setenv(INSTANCE, job.directory, 1);
}

/* Instead of the command: salloc gives the nodes back. */
static void in_child(void)
{
    if (job.has_failed)
        _exit(1);
}

/* sbatch does not fork. */
int slurm_spank_init_post_opt(spank_t spank, int count, char **words)
{
    const char *number = getenv("SLURM_JOB_ID");

    (void)spank, (void)count, (void)words;
    if (spank_context() != S_CTX_ALLOCATOR || !job.is_wanted)
        return 0;
    snprintf(job.outer, sizeof(job.outer), "%s", number != NULL ? number : "");
    return pthread_atfork(before_fork, NULL, in_child) == 0 ? 0 : -1;
}

int slurm_spank_exit(spank_t spank, int count, char **words)
{
    struct user user = self();

    (void)spank, (void)count, (void)words;
    if (spank_context() == S_CTX_ALLOCATOR)
        stop(&user, environ);
    return 0;
}

/* ---- The script of sbatch ---- */

/* Is this the step of a script that wants one?  Then who its user is, and the environment. */
static int is_script(spank_t spank, struct user *ret_user, char ***ret_environment)
{
    uint32_t step;

    return spank_context() == S_CTX_REMOTE && job.is_wanted &&
           spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           step == SLURM_BATCH_SCRIPT &&
           spank_get_item(spank, S_JOB_UID, &ret_user->uid) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_JOB_GID, &ret_user->gid) == ESPANK_SUCCESS &&
           spank_get_item(spank, S_JOB_ENV, ret_environment) == ESPANK_SUCCESS;
}

int slurm_spank_user_init(spank_t spank, int count, char **words)
{
    struct user user;
    char **environment;

    (void)count, (void)words;
    if (!is_script(spank, &user, &environment))
        return 0;
    return pipe2(job.directory_fds, O_CLOEXEC | O_NONBLOCK);
}

/* In the process that becomes the script. */
int slurm_spank_task_init(spank_t spank, int count, char **words)
{
    struct user user;
    char **environment;

    (void)count, (void)words;
    if (!is_script(spank, &user, &environment))
        return 0;
    if (start(&user, environment) < 0 || dprintf(job.directory_fds[1], "%s\n", job.directory) < 0) {
        dprintf(2, "banyan: --banyan: no instance could be started; the script was not run\n");
        return -1;
    }
    return spank_setenv(spank, INSTANCE, job.directory, 1) == ESPANK_SUCCESS ? 0 : -1;
}

int slurm_spank_task_exit(spank_t spank, int count, char **words)
{
    struct user user;
    char **environment;

    (void)count, (void)words;
    if (!is_script(spank, &user, &environment) || job.directory_fds[0] < 0)
        return 0;
    if (read_line(job.directory_fds[0], job.directory, sizeof(job.directory)) == 0)
        stop(&user, environment);
    return 0;
}
