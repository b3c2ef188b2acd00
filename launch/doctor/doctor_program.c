/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Libraries, for `banyan doctor`: which libpmix and which MPI a node has, and whether the loader finds
 * all libraries of a program.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/doctor/doctor_internal.h"
#include "launch/exec/library_list.h"
#include "launch/exec/plugin.h"

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
            (void)library_list_command(argv, environ, NULL, &list);
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

static void check_libraries(const struct app_spec *app, const char *path, const char *loader)
{
    struct buffer list = {0}, missing = {0}, mpi = {0};
    int status = library_list_run(loader, path, app->set, app->directory, &list);

    library_list_missing(&list, &missing);
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
    if (!library_list_find(app->argv[0], app->directory, find_variable(app->set, "PATH"), path))
        doctor_tell(DOCTOR_PROGRAM, DOCTOR_PROBLEM,
                    "give a path that exists on every node, or add its directory to PATH",
                    "%s does not exist or is not executable", app->argv[0]);
    else if (library_list_loader(path, loader))
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
