/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Libraries, for `banyan doctor`: which libpmix and which MPI a node has, and whether the loader finds
 * all libraries of a program.
 */
#include "config.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/file_read.h"
#include "launch/doctor/doctor_internal.h"
#include "launch/exec/plugin.h"
#include "launch/proto/exit_status.h"

#define LIST_BYTES_MAX (1024u * 1024)
#define HEADERS_MAX    256u

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* ---- libpmix ---- */

/* The file of a library that this process has loaded. */
static int find_mapped(const char *name, char path[PATH_MAX])
{
    char line[PATH_MAX + 256];
    FILE *file = fopen("/proc/self/maps", "re");
    int found = 0;

    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        char *start = strchr(line, '/');
        if (start == NULL || strstr(start, name) == NULL)
            continue;
        start[strcspn(start, "\n")] = '\0';
        snprintf(path, PATH_MAX, "%s", start);
        found = 1;
    }
    if (file != NULL)
        fclose(file);
    return found;
}

void doctor_check_pmix(const struct doctor_request *request)
{
    struct error error = ERROR_NONE;
    char path[PATH_MAX];

    (void)request;
    if (plugin_pmix_host(&error) == NULL)
        doctor_tell(
            DOCTOR_PMIX, DOCTOR_PROBLEM,
            "install libpmix and banyan's PMIx host on every node (not needed with --mpi pmi1)",
            "%s", error.text);
    else if (find_mapped("/libpmix.so", path))
        doctor_tell(DOCTOR_PMIX, DOCTOR_FACT, NULL, "%s", path);
    else
        doctor_tell(DOCTOR_PMIX, DOCTOR_FACT, NULL, "the PMIx host can be loaded");
}

/* ---- What a command prints ---- */

/* Runs a command and collects its stdout and stderr in out.  Returns the wait status, or -errno. */
static int run_command(char *const *argv, char *const *environment, const char *directory,
                       struct buffer *out)
{
    int ends[2], status = 0;
    pid_t pid;

    assert(argv[0] != NULL);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid = fork();
    if (pid == 0) {
        if ((directory != NULL && chdir(directory) < 0) || dup2(ends[1], STDOUT_FILENO) < 0 ||
            dup2(ends[1], STDERR_FILENO) < 0)
            _exit(EXIT_STATUS_NOT_EXECUTABLE);
        execve(argv[0], argv, environment);
        _exit(EXIT_STATUS_NOT_FOUND);
    }
    close(ends[1]);
    if (pid > 0)
        (void)file_read_fd(ends[0], LIST_BYTES_MAX, out);
    close(ends[0]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -errno;
    return status;
}

/* ---- MPI ---- */

static const char *mpi_family(const char *library)
{
    if (strncmp(library, "libmpich.so.", 12) == 0 || strncmp(library, "libmpi.so.12", 12) == 0)
        return "MPICH";
    return strncmp(library, "libmpi.so.", 10) == 0 ? "Open MPI" : NULL;
}

/* Follows symbolic links: the file's name has the full version. */
static void put_library(struct buffer *out, const char *family, const char *path)
{
    char real[PATH_MAX];
    char item[PATH_MAX + 32];

    assert(family != NULL);
    if (realpath(path, real) == NULL)
        return;
    snprintf(item, sizeof(item), "%s (%s)", family, real);
    if (strstr(buffer_string(out), item) == NULL)
        buffer_printf(out, "%s%s", out->length_bytes > 0 ? ", " : "", item);
}

/* Both ldconfig and the loader print "libmpi.so.40 (libc6,x86-64) => /lib/libmpi.so.40". */
static void find_mpi(struct buffer *list, struct buffer *ret_found)
{
    char *rest = memory_copy_string(buffer_string(list));
    char *lines = rest;
    char *line;

    while ((line = strsep(&rest, "\n")) != NULL) {
        const char *family = mpi_family(line + strspn(line, " \t"));
        char *arrow = strstr(line, "=> ");
        if (family == NULL || arrow == NULL)
            continue;
        arrow += strlen("=> ");
        arrow[strcspn(arrow, " ")] = '\0';
        put_library(ret_found, family, arrow);
    }
    free(lines);
}

void doctor_check_mpi(const struct doctor_request *request)
{
    static const char *const tries[] = {"/sbin/ldconfig", "/usr/sbin/ldconfig"};
    char program[32], option[] = "-p";
    char *argv[] = {program, option, NULL};
    struct buffer list = {0}, found = {0};

    (void)request;
    for (size_t i = 0; i < 2 && list.length_bytes == 0; i++) {
        snprintf(program, sizeof(program), "%s", tries[i]);
        if (access(program, X_OK) == 0)
            (void)run_command(argv, environ, NULL, &list);
    }
    find_mpi(&list, &found);
    doctor_tell(DOCTOR_MPI, DOCTOR_FACT, NULL, "%s",
                found.length_bytes > 0 ? buffer_string(&found)
                                       : "none in the system's library path");
    buffer_fini(&list);
    buffer_fini(&found);
}

/* ---- The program ---- */

static const char *find_variable(char *const *environment, const char *name)
{
    size_t bytes = strlen(name);

    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, bytes) == 0 && (*environment)[bytes] == '=')
            return *environment + bytes + 1;
    return NULL;
}

static int is_program(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* As the helper does: a word with a slash is relative to the working directory, others are searched
 * in PATH. */
static int find_program(const struct app_spec *app, char path[PATH_MAX])
{
    const char *word = app->argv[0];
    const char *search = find_variable(app->set, "PATH");

    if (word[0] == '/')
        return snprintf(path, PATH_MAX, "%s", word) < PATH_MAX && is_program(path);
    if (strchr(word, '/') != NULL)
        return snprintf(path, PATH_MAX, "%s/%s", app->directory != NULL ? app->directory : ".",
                        word) < PATH_MAX &&
               is_program(path);
    for (search = search != NULL ? search : "/bin:/usr/bin"; *search != '\0';) {
        size_t bytes = strcspn(search, ":");
        if (snprintf(path, PATH_MAX, "%.*s/%s", (int)bytes, search, word) < PATH_MAX &&
            is_program(path))
            return 1;
        search += bytes + (search[bytes] == ':');
    }
    return 0;
}

/* The program's dynamic loader; 0 if it has none: a script, or statically linked. */
static int find_loader(const char *path, char loader[PATH_MAX])
{
    Elf64_Phdr headers[HEADERS_MAX];
    Elf64_Ehdr header;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int found = 0;

    if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(headers[0]) || header.e_phnum > HEADERS_MAX ||
        pread(fd, headers, header.e_phnum * sizeof(headers[0]), (off_t)header.e_phoff) !=
            (ssize_t)(header.e_phnum * sizeof(headers[0])))
        header.e_phnum = 0;
    for (unsigned int i = 0; i < header.e_phnum && !found; i++) {
        size_t bytes = headers[i].p_filesz;
        if (headers[i].p_type != PT_INTERP || bytes == 0 || bytes >= PATH_MAX)
            continue;
        found = pread(fd, loader, bytes, (off_t)headers[i].p_offset) == (ssize_t)bytes;
        loader[found ? bytes : 0] = '\0';
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* "libx.so => not found" and "error while loading shared libraries: libx.so: cannot open ..." */
static void find_missing(struct buffer *list, struct buffer *ret_missing)
{
    static const char loading[] = "shared libraries: ";
    char *rest = memory_copy_string(buffer_string(list));
    char *lines = rest;
    char *line;

    while ((line = strsep(&rest, "\n")) != NULL) {
        char *error = strstr(line, loading);
        line += strspn(line, " \t");
        if (error != NULL)
            line = error + strlen(loading);
        else if (strstr(line, "=> not found") == NULL)
            continue;
        line[strcspn(line, error != NULL ? ":" : " ")] = '\0';
        buffer_printf(ret_missing, "%s%s", ret_missing->length_bytes > 0 ? ", " : "", line);
    }
    free(lines);
}

static void check_libraries(const struct app_spec *app, const char *path, char *loader)
{
    char option[] = "--list";
    char *argv[] = {loader, option, memory_copy_string(path), NULL};
    struct buffer list = {0}, missing = {0}, mpi = {0};
    int status = run_command(argv, app->set, app->directory, &list);

    find_missing(&list, &missing);
    find_mpi(&list, &mpi);
    if (missing.length_bytes > 0)
        doctor_tell(DOCTOR_PROGRAM, DOCTOR_PROBLEM,
                    "install them on every node, or point -x LD_LIBRARY_PATH at them",
                    "%s: missing shared libraries: %s", path, buffer_string(&missing));
    else if (status != 0)
        doctor_tell(DOCTOR_PROGRAM, DOCTOR_PROBLEM, NULL, "%s: its loader rejects it: %.*s", path,
                    (int)strcspn(buffer_string(&list), "\n"), buffer_string(&list));
    else
        doctor_tell(DOCTOR_PROGRAM, DOCTOR_FACT, NULL, "%s: all shared libraries found%s%s", path,
                    mpi.length_bytes > 0 ? "; it uses " : "", buffer_string(&mpi));
    free(argv[2]);
    buffer_fini(&list);
    buffer_fini(&missing);
    buffer_fini(&mpi);
}

static void check_app(const struct app_spec *app)
{
    char path[PATH_MAX], loader[PATH_MAX];

    if (app->directory != NULL && access(app->directory, X_OK) < 0)
        doctor_tell(DOCTOR_PROGRAM, DOCTOR_PROBLEM,
                    "give a directory that exists on every node with --wdir",
                    "working directory %s: %s", app->directory, strerror(errno));
    if (!find_program(app, path))
        doctor_tell(DOCTOR_PROGRAM, DOCTOR_PROBLEM,
                    "give a path that exists on every node, or add its directory to PATH",
                    "%s does not exist or is not executable", app->argv[0]);
    else if (find_loader(path, loader))
        check_libraries(app, path, loader);
    else
        doctor_tell(DOCTOR_PROGRAM, DOCTOR_FACT, NULL, "%s: found; needs no shared libraries",
                    base_name(path));
}

void doctor_check_program(const struct doctor_request *request)
{
    for (uint32_t i = 0; request->has_program && i < request->program.apps_count; i++)
        check_app(&request->program.apps[i]);
}
