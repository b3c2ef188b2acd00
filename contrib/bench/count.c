/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count FILE [FIFO|MILLISECONDS]: `true` that can be counted: appends one byte to FILE and succeeds.
 * With FIFO it first waits until somebody has opened that for writing and closed it again: so all of a
 * job can be held while its daemons are looked at; with a number it waits for so long.
 */
#include "config.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int fd;
    char byte = '.';

    if (argc < 2 || (fd = open(argv[1], O_WRONLY | O_APPEND)) < 0 || write(fd, &byte, 1) != 1)
        return 9;
    if (argc > 2 && isdigit((unsigned char)argv[2][0])) {
        usleep((useconds_t)atoi(argv[2]) * 1000);
    } else if (argc > 2) {
        fd = open(argv[2], O_RDONLY);
        if (fd < 0 || read(fd, &byte, 1) != 0)
            return 9;
    }
    return 0;
}
