/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's log: up the tree like any other text, as far as the user wants it (-v), and with --log, all of it, to a
 * file on its node (launch/exec/log_file.h), from which the root quotes if the daemon dies, if the directory is shared.
 */
#include "config.h"

#include "launch/daemon/daemon_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "alloc/cell.h"
#include "base/log.h"
#include "launch/exec/log_file.h"

/* Of the daemons that one event is about, and of the log of each. */
#define QUOTED_DAEMONS_MAX 3u
#define QUOTED_LINES_MAX   5u

static uint64_t utc_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* What is logged while a line is sent goes to stderr. */
static void log_line(void *context, enum log_level level, const char *line)
{
    struct daemon *daemon = context;
    char *text;

    if (daemon->log_file != NULL)
        log_file_write(daemon->log_file, utc_ns(), level, line);
    if (level > daemon->record.instance.log_level)
        return;
    if (daemon->logging || daemon->core == NULL) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    daemon->logging = 1;
    text = memory_printf("%s: %s", daemon->record.place ? daemon->record.name : "root", line);
    daemon_core_text(daemon->core, 0, (uint8_t)level, text);
    free(text);
    daemon->logging = 0;
}

/* Names are used again by nodes that are added later, places are not. */
static char *path_of(const struct daemon *daemon, uint32_t place, const char *name)
{
    const struct instance_spec *instance = &daemon->record.instance;
    struct buffer text = {0};
    char *path;

    cell_put_file_name(name, &text);
    if (place >= instance->places)
        buffer_printf(&text, ".%u", place);
    path = log_file_path(instance->log, instance->session, buffer_string(&text));
    buffer_fini(&text);
    return path;
}

int daemon_log_open(struct daemon *daemon, struct error *error)
{
    const struct instance_spec *instance = &daemon->record.instance;
    char root[32] = "root"; /* one that is recovered has another file */
    char *path;

    assert(daemon->log_file == NULL);
    if (instance->log == NULL) {
        log_set_sink(log_line, daemon, instance->log_level);
        return 0;
    }
    log_set_sink(log_line, daemon, LOG_LEVEL_DEBUG);
    if (daemon->replay != NULL)
        snprintf(root, sizeof(root), "root-%d", (int)getpid());
    path = path_of(daemon, daemon->record.place,
                   daemon->record.place > 0 ? daemon->record.name : root);
    daemon->log_file = log_file_open(path, error);
    free(path);
    if (daemon->log_file == NULL)
        return error->code;
    log_debug("banyand " PACKAGE_VERSION ", process %d, place %u of %u", (int)getpid(),
              daemon->record.place, instance->places);
    return 0;
}

void daemon_log_close(struct daemon *daemon)
{
    log_set_sink(NULL, NULL, LOG_LEVEL_ERROR);
    if (daemon->log_file != NULL)
        log_file_write(daemon->log_file, utc_ns(), LOG_LEVEL_DEBUG, "this daemon exits");
    log_file_close(daemon->log_file);
    daemon->log_file = NULL;
}

static void quote_line(struct daemon *daemon, const char *name, const char *line)
{
    char *text = memory_printf("log of %s: %s", name, line);

    daemon_core_text(daemon->core, 0, LOG_LEVEL_WARNING, text);
    free(text);
}

static void quote(struct daemon *daemon, uint32_t place, const char *name)
{
    char *path = path_of(daemon, place, name);
    struct buffer text = {0};
    char *why, *line, *next;
    int rc = log_file_tail(path, QUOTED_LINES_MAX, &text);

    if (rc < 0) {
        why = memory_printf("%s cannot be read here: %s; look on that node", path, strerror(-rc));
        quote_line(daemon, name, why);
        free(why);
    }
    for (line = (char *)buffer_string(&text); (next = strchr(line, '\n')) != NULL;
         line = next + 1) {
        *next = '\0';
        quote_line(daemon, name, line);
    }
    buffer_fini(&text);
    free(path);
}

void daemon_log_lost(void *context, const struct ranges *places)
{
    struct daemon *daemon = context;
    const struct allocation *roster = instance_roster(daemon_core_instance(daemon->core));
    uint32_t place = 1, quoted = 0;
    char name[HOST_NAME_BYTES_MAX + 1];

    assert(roster != NULL);
    if (daemon->record.instance.log == NULL)
        return;
    for (; ranges_next(places, place, &place) && quoted < QUOTED_DAEMONS_MAX; place++, quoted++) {
        if (place > allocation_nodes(roster))
            return;
        hostlist_name(roster->names, place - 1, name);
        quote(daemon, place, name);
    }
}
