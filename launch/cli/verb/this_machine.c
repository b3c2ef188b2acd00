/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/this_machine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fabric/facts_read.h"
#include "fabric/file_read.h"
#include "fabric/own_cores.h"
#include "launch/cli/client/instance_choice.h"
#include "launch/cli/client/instance_dial.h"
#include "launch/cli/client/raw_terminal.h"
#include "launch/start/command_output.h"
#include "launch/start/run_environment.h"
#include "launch/cli/request/request_configured.h"

#define HOSTFILE_BYTES_MAX (256u * 1024 * 1024)

/* ---- Its programs ---- */

char *this_machine_banyan(void)
{
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (length <= 0)
        return memory_copy_string("banyan");
    own[length] = '\0';
    return memory_copy_string(own);
}

/* The banyand that was built or installed together with this program. */
static char *find_banyand(char *const *environment)
{
    const char *given = run_environment_get(environment, "BANYAN_DAEMON");
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    static const char *const places[] = {"banyand", "sbin/banyand"}; /* in this directory, and one
                                                                      * level up */
    char *slash;

    if (given != NULL && given[0] == '/')
        return memory_copy_string(given);
    own[length > 0 ? length : 0] = '\0';
    slash = strrchr(own, '/');
    for (size_t i = 0; slash != NULL && i < sizeof(places) / sizeof(places[0]); i++) {
        char *path = memory_printf("%.*s/%s", (int)(slash - own), own, places[i]);

        if (access(path, X_OK) == 0)
            return path;
        free(path);
        slash = memrchr(own, '/', (size_t)(slash - own));
    }
    return memory_copy_string(BANYAND_PATH);
}

/* Directories and files that are not executable do not count. */
static int has_program(char *const *environment, const char *name)
{
    const char *path = run_environment_get(environment, "PATH");
    int has = 0;

    while (path != NULL && *path != '\0' && !has) {
        size_t bytes = strcspn(path, ":");
        char *file = memory_printf("%.*s/%s", (int)bytes, path, name);
        struct stat status;

        has = bytes > 0 && access(file, X_OK) == 0 && stat(file, &status) == 0 &&
              S_ISREG(status.st_mode);
        free(file);
        path += bytes + (path[bytes] == ':');
    }
    return has;
}

/* ---- What a request asks of it ---- */

static int read_file(const char *path, struct buffer *out, struct error *error)
{
    int rc = file_read(path, HOSTFILE_BYTES_MAX, out);

    return rc < 0 ? error_set(error, rc, "cannot read %s: %s", path, strerror(-rc)) : 0;
}

int this_machine_open(struct this_machine *machine, struct error *error)
{
    *machine = (struct this_machine){.directory = getcwd(NULL, 0),
                                     .banyand = find_banyand(environ),
                                     .sources = source_environment_create(environ)};
    if (gethostname(machine->host_name, sizeof(machine->host_name) - 1) < 0 ||
        machine->host_name[0] == '\0')
        snprintf(machine->host_name, sizeof(machine->host_name), "localhost");
    machine->ops = (struct request_ops){.environment = environ,
                                        .directory = machine->directory,
                                        .host_name = machine->host_name,
                                        .banyand = machine->banyand,
                                        .cores = own_cores_count,
                                        .read_file = read_file,
                                        .has_program = has_program,
                                        .command = command_output,
                                        .instance = instance_dial,
                                        .find_instance = instance_choice_find,
                                        .window = raw_terminal_size,
                                        .facts = facts_read,
                                        .configured = &machine->configured,
                                        .sources = source_environment_ops(machine->sources)};
    if (getrandom(machine->ops.random, sizeof(machine->ops.random), 0) !=
        sizeof(machine->ops.random))
        return error_set(error, -EIO, "cannot get random bytes for the session's secret: %s",
                         strerror(errno));
    return request_configured_read(environ, read_file, &machine->configured, error);
}

void this_machine_close(struct this_machine *machine)
{
    configured_fini(&machine->configured);
    free(machine->directory);
    free(machine->banyand);
    source_environment_destroy(machine->sources);
    explicit_bzero(machine->ops.random, sizeof(machine->ops.random));
}
