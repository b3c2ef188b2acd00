/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/library_list.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/file_read.h"
#include "launch/proto/exit_status.h"

#define LIST_BYTES_MAX (1024u * 1024)
#define HEADERS_MAX    256u

int library_list_command(char *const *argv, char *const *environment, const char *directory,
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

int library_list_is_program(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

int library_list_find(const char *word, const char *directory, const char *search,
                      char path[PATH_MAX])
{
    if (word[0] == '/')
        return snprintf(path, PATH_MAX, "%s", word) < PATH_MAX && library_list_is_program(path);
    if (strchr(word, '/') != NULL)
        return snprintf(path, PATH_MAX, "%s/%s", directory != NULL ? directory : ".", word) <
                   PATH_MAX &&
               library_list_is_program(path);
    for (search = search != NULL ? search : "/bin:/usr/bin"; *search != '\0';) {
        size_t bytes = strcspn(search, ":");

        if (snprintf(path, PATH_MAX, "%.*s/%s", (int)bytes, search, word) < PATH_MAX &&
            library_list_is_program(path))
            return 1;
        search += bytes + (search[bytes] == ':');
    }
    return 0;
}

int library_list_loader(const char *path, char loader[PATH_MAX])
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

int library_list_run(const char *loader, const char *path, char *const *environment,
                     const char *directory, struct buffer *out)
{
    char option[] = "--list";
    char *argv[] = {memory_copy_string(loader), option, memory_copy_string(path), NULL};
    int status = library_list_command(argv, environment, directory, out);

    free(argv[0]);
    free(argv[2]);
    return status;
}

/* "libx.so => not found" and "error while loading shared libraries: libx.so: cannot open ..." */
void library_list_missing(struct buffer *list, struct buffer *ret_missing)
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
