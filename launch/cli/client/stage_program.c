/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/stage_program.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/exec/library_list.h"

static const char *find_variable(char *const *environment, const char *name)
{
    size_t bytes = strlen(name);
    const char *value = NULL;

    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, bytes) == 0 && (*environment)[bytes] == '=')
            value = *environment + bytes + 1;
    return value;
}

/* Parts of glibc, which only fit each other and its loader. */
static int is_of_libc(const char *name)
{
    static const char *const parts[] = {
        "libc.so",       "libm.so",   "libpthread.so", "libdl.so",   "librt.so", "libutil.so",
        "libresolv.so",  "libnsl.so", "libanl.so",     "libmvec.so", "libnss_",  "ld-linux",
        "libthread_db.", "ld64.so",   "linux-vdso.",   "linux-gate."};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strncmp(name, parts[i], strlen(parts[i])) == 0)
            return 1;
    return 0;
}

/* "	libx.so.1 => /usr/lib/libx.so.1 (0x...)" */
static int add_library(struct stage_files *files, char *line, struct error *error)
{
    char *arrow = strstr(line, " => ");
    char path[PATH_MAX];
    char *name, *source;

    line += strspn(line, " \t");
    if (arrow == NULL || arrow[4] != '/')
        return 0;
    *arrow = '\0';
    source = arrow + 4;
    if (strrchr(source, '(') != NULL)
        *strrchr(source, '(') = '\0';
    while (source[0] != '\0' && source[strlen(source) - 1] == ' ')
        source[strlen(source) - 1] = '\0';
    name = strrchr(line, '/') != NULL ? strrchr(line, '/') + 1 : line;
    if (is_of_libc(name))
        return 0;
    snprintf(path, sizeof(path), "lib/%.255s", name);
    return stage_files_add_as(files, source, path, error);
}

static int add_libraries(struct stage_files *files, const struct app_spec *app, const char *program,
                         const char *loader, struct error *error)
{
    struct buffer list = {0}, missing = {0};
    int status = library_list_run(loader, program, app->set, app->directory, &list);
    int rc = 0;
    char *lines, *rest, *line;

    library_list_missing(&list, &missing);
    if (missing.length_bytes > 0)
        rc = error_set(error, -ELIBACC, "cannot stage %.200s: missing shared libraries: %.400s",
                       program, buffer_string(&missing));
    else if (status != 0)
        rc = error_set(error, -ELIBBAD, "cannot stage %.200s: its loader rejects it: %.*s", program,
                       (int)strcspn(buffer_string(&list), "\n"), buffer_string(&list));
    lines = rest = memory_copy_string(buffer_string(&list));
    while (rc == 0 && (line = strsep(&rest, "\n")) != NULL)
        rc = add_library(files, line, error);
    free(lines);
    buffer_fini(&list);
    buffer_fini(&missing);
    return rc;
}

int stage_program_add(struct stage_files *files, struct app_spec *app, struct error *error)
{
    char path[PATH_MAX], loader[PATH_MAX], staged[PATH_MAX];
    const char *name = strrchr(app->argv[0], '/');
    int rc;

    assert(app->argv != NULL && app->argv[0] != NULL);
    if (!library_list_find(app->argv[0], app->directory, find_variable(app->set, "PATH"), path))
        return error_set(error, -ENOENT,
                         "cannot stage %.300s: it does not exist or is not executable",
                         app->argv[0]);
    snprintf(staged, sizeof(staged), "bin/%.255s", name != NULL ? name + 1 : app->argv[0]);
    rc = stage_files_add_as(files, path, staged, error);
    if (rc == 0 && library_list_loader(path, loader))
        rc = add_libraries(files, app, path, loader, error);
    if (rc < 0)
        return rc;
    free(app->argv[0]);
    app->argv[0] = memory_copy_string(staged);
    return 0;
}

void stage_program_check(struct stage_files *files, const struct app_spec *app, bool is_staged)
{
    const char *path = find_variable(app->set, "PATH");
    const char *libraries = find_variable(app->set, "LD_LIBRARY_PATH");
    struct stage_check check = {
        .is_staged = is_staged,
        .program = memory_copy_string(app->argv[0]),
        .directory = memory_copy_string(app->directory != NULL ? app->directory : "/"),
        .path = memory_copy_string(path != NULL ? path : "/bin:/usr/bin"),
        .library_path = memory_copy_string(libraries != NULL ? libraries : ""),
    };

    stage_files_add_check(files, &check);
}
