/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/join_daemon.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric/file_read.h"
#include "fabric/link_guest.h"
#include "fabric/secret.h"
#include "launch/daemon/daemon_internal.h"
#include "launch/proto/exit_status.h"
#include "launch/start/join_roster.h"
#include "launch/start/join_token.h"

#define PATIENCE_MS 20000

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP};

#define END_SIGNALS (sizeof(end_signals) / sizeof(end_signals[0]))

/* ---- Signals ---- */

/* Until the boot record has arrived, only this process must end; its helper ends with it. */
static void end_at_once(int number)
{
    static const char text[] = "banyand: interrupted before joining\n";

    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(EXIT_STATUS_SIGNAL + number);
}

/* A handler also works in the first process of a container, where default actions have no effect. */
static void catch_signals(void (*handler)(int number))
{
    struct sigaction action = {.sa_handler = handler};

    for (size_t i = 0; i < END_SIGNALS; i++)
        (void)sigaction(end_signals[i], &action, NULL);
}

static struct {
    struct daemon *daemon;
    struct loop_signal *watches[END_SIGNALS];
} watched; /* one per process, as signals are */

static void end_in_order(int number)
{
    struct daemon *daemon = watched.daemon;
    char why[64];

    assert(daemon != NULL && daemon->is_joiner);
    daemon_check(daemon);
    snprintf(why, sizeof(why), "it received %s", strsignal(number));
    fprintf(stderr, "banyand: %s: leaving the instance and killing its processes\n", why);
    daemon_end(daemon, ENDPOINT_END_ORPHAN, why);
    daemon->exit_status = EXIT_STATUS_SIGNAL + number;
}

static void on_interrupt(void *context)
{
    end_in_order(SIGINT);
}

static void on_terminate(void *context)
{
    end_in_order(SIGTERM);
}

static void on_hang_up(void *context)
{
    end_in_order(SIGHUP);
}

void join_daemon_watch_signals(struct daemon *daemon)
{
    static loop_function *const functions[END_SIGNALS] = {on_interrupt, on_terminate, on_hang_up};

    assert(watched.daemon == NULL && daemon->is_joiner);
    watched.daemon = daemon;
    for (size_t i = 0; i < END_SIGNALS; i++)
        watched.watches[i] = loop_signal_create(daemon->loop, end_signals[i], functions[i], daemon);
}

/* ---- The token ---- */

static int read_text(const char *path, struct buffer *ret_text, struct error *error)
{
    int is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int rc = fd < 0 ? -errno : file_read_fd(fd, JOIN_FILE_BYTES_MAX, ret_text);

    if (fd >= 0 && !is_stdin)
        close(fd);
    if (rc < 0)
        error_set(error, rc, "cannot read the token from %s: %s", name,
                  rc == -EFBIG ? "it is not a token file" : strerror(-rc));
    return rc;
}

static int read_token(const struct join_request *request, struct join_token *ret_token,
                      struct error *error)
{
    char host_name[HOST_NAME_BYTES_MAX + 1] = "";
    struct buffer text = {0};
    int rc = read_text(request->path, &text, error);

    (void)gethostname(host_name, sizeof(host_name) - 1);
    if (rc == 0) {
        rc = join_token_find((const char *)text.data, text.length_bytes,
                             request->node_name != NULL ? request->node_name : host_name, ret_token,
                             error);
        if (rc < 0)
            error_prefix(error, "%s",
                         strcmp(request->path, "-") == 0 ? "standard input" : request->path);
    }
    if (text.length_bytes > 0)
        explicit_bzero(text.data, text.length_bytes);
    buffer_fini(&text);
    return rc;
}

/* ---- The visit ---- */

static int ask_root(const struct join_token *token, struct message **ret_answer,
                    struct error *error)
{
    char identity[JOIN_IDENTITY_BYTES];
    unsigned char key[SECRET_BYTES];
    struct link_guest guest = {.addresses = &token->addresses,
                               .identity = identity,
                               .key = key,
                               .place = token->place,
                               .patience_ms = PATIENCE_MS};
    int rc;

    join_token_identity_print(identity, token->session, token->place);
    rc = join_roster_derive_key(token->secret, identity, key);
    if (rc < 0)
        error_set(error, rc, "cannot derive a key");
    else
        rc = link_guest_visit(&guest, ret_answer, error);
    explicit_bzero(key, sizeof(key));
    if (rc < 0)
        error_prefix(error, "cannot join session %s", token->session);
    return rc;
}

static int decode_answer(const struct message *answer, const struct join_token *token,
                         struct boot_record *record, struct error *error)
{
    struct wire_reader reader;

    wire_reader_init(&reader, answer->data, answer->length_bytes);
    if (boot_record_decode(record, &reader) < 0 || wire_finish(&reader) < 0 ||
        record->place != token->place)
        return error_set(error, -EBADMSG, "cannot decode the boot record from the root");
    return 0;
}

int join_daemon_fetch(const struct join_request *request, struct boot_record *record,
                      struct error *error)
{
    struct message *answer = NULL;
    struct join_token token;
    int rc;

    assert(request->path != NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    catch_signals(end_at_once);
    rc = read_token(request, &token, error);
    if (rc == 0)
        rc = ask_root(&token, &answer, error);
    if (rc == 0) {
        rc = decode_answer(answer, &token, record, error);
        secret_clear(answer->data, answer->length_bytes);
        message_release(answer);
    }
    explicit_bzero(&token, sizeof(token));
    secret_clear_stack();
    return rc;
}
