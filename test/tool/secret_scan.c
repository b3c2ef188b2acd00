/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * secret_scan RECORD PID...: reads the secret of a session out of a boot record, as a starter wrote
 * it, and looks for it in everything that can be read of the processes: their memory, arguments and
 * environment.  Prints one line for each place that would be in a core dump, and a last one with the
 * number of pages that hold it and would not.  Exit status 0, or 2 if something cannot be read.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET_BYTES 32
#define PIECE_BYTES  ((size_t)1024 * 1024)

static unsigned char secret[SECRET_BYTES];
static int hidden;

/* The secret is the end of the record. */
static int find_secret(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
    int is_there =
        end > SECRET_BYTES && pread(fd, secret, SECRET_BYTES, end - SECRET_BYTES) == SECRET_BYTES;

    if (fd >= 0)
        close(fd);
    if (!is_there)
        fprintf(stderr, "secret_scan: %s is no boot record\n", path);
    return is_there ? 0 : -ENOENT;
}

static int count_in(const unsigned char *data, size_t bytes)
{
    int count = 0;

    for (const unsigned char *at = data;
         (at = memmem(at, bytes - (size_t)(at - data), secret, SECRET_BYTES)) != NULL; at++)
        count++;
    return count;
}

/* In the memory of a process; what cannot be read (vsyscall, device memory) is left out. */
static int count_in_memory(int fd, unsigned long first, unsigned long end)
{
    unsigned char *piece = malloc(PIECE_BYTES + SECRET_BYTES);
    int count = 0;

    while (first < end) {
        size_t bytes =
            end - first < PIECE_BYTES + SECRET_BYTES ? end - first : PIECE_BYTES + SECRET_BYTES;
        ssize_t got = pread(fd, piece, bytes, (off_t)first);
        if (got > 0)
            count += count_in(piece, (size_t)got);
        first += PIECE_BYTES;
    }
    explicit_bzero(piece, PIECE_BYTES + SECRET_BYTES);
    free(piece);
    return count;
}

static void scan_file(const char *pid, const char *name)
{
    unsigned char data[65536];
    char path[64];
    ssize_t bytes;
    int fd;

    snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    bytes = fd >= 0 ? read(fd, data, sizeof(data)) : 0;
    if (bytes > 0 && count_in(data, (size_t)bytes) > 0)
        printf("%s: in its %s\n", pid, name);
    if (fd >= 0)
        close(fd);
}

/* Goes through smaps: a mapping begins with its addresses and ends with its flags. */
static int scan_memory(const char *pid)
{
    unsigned long first = 0;
    unsigned long end = 0;
    char line[512];
    char name[512] = "";
    char path[64];
    FILE *maps;
    int fd;

    snprintf(path, sizeof(path), "/proc/%s/smaps", pid);
    maps = fopen(path, "r");
    snprintf(path, sizeof(path), "/proc/%s/mem", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (maps == NULL || fd < 0) {
        fprintf(stderr, "secret_scan: cannot read process %s: %s\n", pid, strerror(errno));
        return -errno;
    }
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long from;
        unsigned long to;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %511s", &from, &to, name) >= 2) {
            first = from;
            end = to;
            continue;
        }
        if (strncmp(line, "VmFlags:", 8) == 0) {
            int count = count_in_memory(fd, first, end);
            if (count > 0 && strstr(line, " dd") != NULL)
                hidden += count;
            else if (count > 0)
                printf("%s: %d times in %lx-%lx %s\n", pid, count, first, end, name);
        }
    }
    fclose(maps);
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    int status = 0;

    if (argc < 3 || find_secret(argv[1]) < 0)
        return 2;
    for (int i = 2; i < argc; i++) {
        scan_file(argv[i], "cmdline");
        scan_file(argv[i], "environ");
        if (scan_memory(argv[i]) < 0)
            status = 2;
    }
    printf("hidden: %d\n", hidden);
    return status;
}
