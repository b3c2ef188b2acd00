/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fakessh: an ssh that stays on this machine, and gives every host its own virtual node.
 *
 *     fakessh [ssh options] [user@]HOST COMMAND [ARGUMENT...]
 *
 * The options are dropped (-n is obeyed: no input), the name of the host is not looked up, and the
 * command replaces this process, which is then "on HOST":
 *
 * - Its host name is HOST (UTS namespace) and /dev/shm is its own (mount namespace, tmpfs). Root
 *   may do that; others get it through a user namespace; where the system allows neither, or with
 *   FAKESSH_ISOLATE=no, the command runs without.
 * - With FAKESSH_BASE=DIR, TMPDIR is DIR/HOST, made if absent (DIR too); else TMPDIR is not set.
 * - As with ssh: its working directory is $HOME, no descriptor above 2 stays open, and nothing of
 *   the environment is forwarded but PATH, HOME, USER, LOGNAME, SHELL, LANG, LD_LIBRARY_PATH, the
 *   options of the sanitizers (ASAN_OPTIONS, LSAN_OPTIONS, TSAN_OPTIONS, UBSAN_OPTIONS), every
 *   FAKESSH_*, and the names in FAKESSH_KEEP=NAME,NAME... FAKESSH_HOST=HOST is added.
 * - As with ssh: the arguments are joined with blanks and the result is a shell command. Words and
 *   quotes are split here; /bin/sh is started only if the command holds anything else that a shell
 *   would act on, or if the first word is no program (a builtin, or the shell's own complaint).
 *
 * A failure of its own exits 255, as ssh's do. Usable as
 *
 *     banyan run --ssh-agent PATH --host v[1-64] ...
 *     mpiexec.hydra -launcher ssh -launcher-exec PATH -iface lo -hosts v1,v2 ...
 *     orterun -mca plm_rsh_agent PATH -host v1,v2 ...
 *
 * It is one static program and about ten system calls; contrib/testbed/README.rst has the cost.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void complain(const char *format, ...)
{
    va_list arguments;
    char text[512];

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "fakessh: %s\n", text);
    _exit(255);
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);

    if (memory == NULL)
        complain("out of memory");
    return memory;
}

/* ---- Command line ---- */

struct request {
    const char *host;
    char **words; /* of the command; NULL at the end */
    bool no_input;
};

/* Skips options from argv[at]; returns the index of the first word that is none. */
static int skip_options(char **argv, int at, bool *no_input)
{
    static const char with_value[] = "BbcDEeFIiJLlmOopQRSWw";

    for (; argv[at] != NULL && argv[at][0] == '-' && argv[at][1] != '\0'; at++) {
        if (strcmp(argv[at], "--") == 0)
            return at + 1;
        for (const char *letter = argv[at] + 1; *letter != '\0'; letter++) {
            if (*letter == 'n')
                *no_input = true;
            if (strchr(with_value, *letter) == NULL)
                continue;
            if (letter[1] == '\0' && argv[at + 1] != NULL)
                at++;
            break;
        }
    }
    return at;
}

/* As ssh, takes options before and after the host. */
static struct request parse(char **argv)
{
    struct request request = {.no_input = false};
    int at = skip_options(argv, 1, &request.no_input);
    const char *user_end;

    if (argv[at] == NULL)
        complain("usage: fakessh [options] HOST COMMAND [ARGUMENT...]");
    user_end = strrchr(argv[at], '@');
    request.host = user_end != NULL ? user_end + 1 : argv[at];
    at = skip_options(argv, at + 1, &request.no_input);
    request.words = argv + at;
    if (request.host[0] == '\0' || request.host[0] == '.' || strchr(request.host, '/') != NULL)
        complain("bad host name \"%s\"", request.host);
    if (argv[at] == NULL)
        complain("%s: a command is needed, there is no terminal session here", request.host);
    return request;
}

/* ---- The virtual node ---- */

static void write_file(const char *path, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void write_file(const char *path, const char *format, ...)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    va_list arguments;

    if (fd < 0)
        return;
    va_start(arguments, format);
    vdprintf(fd, format, arguments);
    va_end(arguments);
    close(fd);
}

/* False if the system does not let us have namespaces. */
static bool enter_namespaces(void)
{
    uid_t uid = getuid();
    gid_t gid = getgid();

    if (unshare(CLONE_NEWUTS | CLONE_NEWNS) == 0)
        return true;
    if (unshare(CLONE_NEWUSER | CLONE_NEWUTS | CLONE_NEWNS) != 0)
        return false;
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "%u %u 1", uid, uid);
    write_file("/proc/self/gid_map", "%u %u 1", gid, gid);
    return true;
}

/* Only /dev/shm is cut off from the mounts of the system: to do so with all of them costs more the
 * more there are. */
static void isolate(const char *host)
{
    if (!enter_namespaces())
        return;
    (void)!sethostname(host, strlen(host));
    if (mount(NULL, "/dev/shm", NULL, MS_PRIVATE, NULL) != 0)
        mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL);
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
}

/* The node's TMPDIR under the base, or NULL if that is not wanted. */
static char *make_tmpdir(const char *base, const char *host)
{
    size_t bytes;
    char *path;

    if (base == NULL || base[0] == '\0')
        return NULL;
    bytes = strlen(base) + strlen(host) + 2;
    path = allocate(bytes);
    snprintf(path, bytes, "%s/%s", base, host);
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return path;
    if (errno == ENOENT && (mkdir(base, 0700) == 0 || errno == EEXIST) &&
        (mkdir(path, 0700) == 0 || errno == EEXIST))
        return path;
    complain("cannot make %s: %s", path, strerror(errno));
}

/* ---- Environment ---- */

/* Does the comma-separated list hold the name at the start of `setting`, which has `count` bytes? */
static bool listed(const char *list, const char *setting, size_t count)
{
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ",");

        if (length == count && memcmp(list, setting, count) == 0)
            return true;
        list += length;
        list += *list == ',';
    }
    return false;
}

static bool is_kept(const char *setting)
{
    static const char kept[] = "PATH,HOME,USER,LOGNAME,SHELL,LANG,LD_LIBRARY_PATH,"
                               "ASAN_OPTIONS,LSAN_OPTIONS,TSAN_OPTIONS,UBSAN_OPTIONS";
    size_t count = strcspn(setting, "=");

    if (strncmp(setting, "FAKESSH_", 8) == 0)
        return !listed("FAKESSH_HOST", setting, count);
    return listed(kept, setting, count) || listed(getenv("FAKESSH_KEEP"), setting, count);
}

static char *new_setting(const char *name, const char *value)
{
    size_t bytes = strlen(name) + strlen(value) + 2;
    char *setting = allocate(bytes);

    snprintf(setting, bytes, "%s=%s", name, value);
    return setting;
}

static char **new_environment(const char *host, const char *tmpdir)
{
    size_t count = 0;
    size_t used = 0;
    char **environment;

    while (environ[count] != NULL)
        count++;
    environment = allocate((count + 3) * sizeof *environment);
    for (size_t i = 0; i < count; i++) {
        if (is_kept(environ[i]))
            environment[used++] = environ[i];
    }
    environment[used++] = new_setting("FAKESSH_HOST", host);
    if (tmpdir != NULL)
        environment[used++] = new_setting("TMPDIR", tmpdir);
    environment[used] = NULL;
    return environment;
}

/* ---- The command ---- */

static char *join(char **words)
{
    size_t bytes = 0;
    char *command, *end;

    for (char **word = words; *word != NULL; word++)
        bytes += strlen(*word) + 1;
    command = allocate(bytes);
    end = command;
    for (char **word = words; *word != NULL; word++) {
        end = stpcpy(end, *word);
        *end++ = ' ';
    }
    end[-1] = '\0';
    return command;
}

/* Copies one quoted piece, `*from` on its opening quote; false if it needs a shell. */
static bool copy_quoted(const char **from, char **to)
{
    char quote = *(*from)++;

    for (; **from != quote; (*from)++) {
        if (**from == '\0' || (quote == '"' && strchr("$`\\", **from) != NULL))
            return false;
        *(*to)++ = **from;
    }
    (*from)++;
    return true;
}

/* Copies one word without its quotes; false if it needs a shell. */
static bool copy_word(const char **from, char **to)
{
    while (**from != ' ' && **from != '\0') {
        if (**from == '\'' || **from == '"') {
            if (!copy_quoted(from, to))
                return false;
            continue;
        }
        if (**from == '\\')
            (*from)++;
        else if (strchr("$`;&|<>(){}*?[]!#~^\t\n", **from) != NULL)
            return false;
        if (**from == '\0' || **from == '\n')
            return false;
        *(*to)++ = *(*from)++;
    }
    *(*to)++ = '\0';
    return true;
}

/* Splits the command as a shell would; NULL if only a shell can. */
static char **split(const char *command)
{
    size_t length = strlen(command);
    char **words = allocate((length / 2 + 2) * sizeof *words);
    char *to = allocate(length + 2);
    size_t count = 0;

    for (;;) {
        while (*command == ' ')
            command++;
        if (*command == '\0')
            break;
        words[count++] = to;
        if (!copy_word(&command, &to))
            return NULL;
        /* `exec` is what we do anyway. */
        if (count == 1 && strcmp(words[0], "exec") == 0)
            count = 0;
    }
    words[count] = NULL;
    return count > 0 && strchr(words[0], '=') == NULL ? words : NULL;
}

/* Replaces this process, or returns. */
static void request_words(char **words, char **environment)
{
    if (words == NULL)
        return;
    execvpe(words[0], words, environment);
}

int main(int argc, char **argv)
{
    struct request request = parse(argv);
    const char *isolated = getenv("FAKESSH_ISOLATE");
    const char *home = getenv("HOME");
    char *tmpdir = make_tmpdir(getenv("FAKESSH_BASE"), request.host);
    char **environment = new_environment(request.host, tmpdir);
    char *command = join(request.words);

    (void)argc;
    if (isolated == NULL || strcmp(isolated, "no") != 0)
        isolate(request.host);
    if (request.no_input) {
        close(STDIN_FILENO);
        (void)!open("/dev/null", O_RDONLY);
    }
    if (home != NULL)
        (void)!chdir(home);
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
    request_words(split(command), environment);
    execle("/bin/sh", "sh", "-c", command, (char *)NULL, environment);
    complain("%s: cannot start /bin/sh: %s", request.host, strerror(errno));
}
