/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The front end against a root that is played here: root_fork below takes the place of the real one.
 * Each case runs the front end in a process of its own, with pipes for stdin, stdout and stderr.
 */
#include "config.h"

#include "base/time.h"
#include "launch/cli/client/front_end.h"
#include "test/support/tap.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "fabric/loop.h"
#include "launch/proto/activity.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "launch/daemon/root.h"

#define LARGE_BYTES (1024u * 1024)
#define PIPE_BYTES  65536 /* pipe(7) */
#define JOB         7u    /* the number that the root gives the job */

/* ---- the root's side: blocking, on its own ---- */

struct played {
    int fd;
    struct buffer payload; /* of the last message */
};

typedef void play_function(struct played *root);

static play_function *play;

static void say(struct played *root, uint8_t type, struct buffer *payload)
{
    struct buffer message = {0};

    int is_of_job = type >= CONTROL_STARTED && type <= CONTROL_JOB_END;

    wire_put_u32(&message, (uint32_t)payload->length_bytes + (is_of_job ? 4 : 0));
    wire_put_u8(&message, type);
    if (is_of_job)
        wire_put_u32(&message, JOB);
    buffer_append(&message, payload->data, payload->length_bytes);
    for (size_t sent = 0; sent < message.length_bytes;) {
        ssize_t rc = send(root->fd, message.data + sent, message.length_bytes - sent, MSG_NOSIGNAL);
        if (rc <= 0)
            break;
        sent += (size_t)rc;
    }
    buffer_fini(&message);
    buffer_clear(payload);
}

static void say_output(struct played *root, uint32_t rank, const char *text)
{
    struct buffer payload = {0};

    control_output_encode(&(struct control_output){.rank = rank,
                                                   .stream = 1,
                                                   .bytes = {.data = (const unsigned char *)text,
                                                             .length_bytes = strlen(text)}},
                          &payload);
    say(root, CONTROL_OUTPUT, &payload);
    buffer_fini(&payload);
}

static void say_started(struct played *root)
{
    struct control_started started = {.processes = 2, .nodes = 1};
    struct buffer payload = {0};

    control_started_encode(&started, &payload);
    say(root, CONTROL_STARTED, &payload);
    buffer_fini(&payload);
}

static void say_end(struct played *root, uint32_t status, const char *text)
{
    struct control_job_end end = {.status = status, .processes_ended = 2};
    struct buffer payload = {0};

    snprintf(end.text, sizeof(end.text), "%s", text);
    control_job_end_encode(&end, &payload);
    say(root, CONTROL_JOB_END, &payload);
    buffer_fini(&payload);
}

/* The next message of the front end, of the types that are not skipped; -1 at its end. */
static int hear(struct played *root)
{
    unsigned char header[5];
    uint32_t bytes, job;

    if (recv(root->fd, header, sizeof(header), MSG_WAITALL) != sizeof(header))
        return -1;
    memcpy(&bytes, header, sizeof(bytes));
    buffer_clear(&root->payload);
    if (bytes > 0 &&
        recv(root->fd, buffer_reserve(&root->payload, bytes), bytes, MSG_WAITALL) != (ssize_t)bytes)
        return -1;
    buffer_commit(&root->payload, bytes);
    if (header[4] >= CONTROL_SIGNAL && header[4] <= CONTROL_DETACH) {
        memcpy(&job, root->payload.data, sizeof(job));
        buffer_consume(&root->payload, sizeof(job));
        assert(job == JOB);
    }
    return header[4];
}

static int hear_type(struct played *root, int type)
{
    int heard;

    while ((heard = hear(root)) != type && heard >= 0)
        continue;
    return heard == type;
}

static struct control_end hear_end(struct played *root)
{
    struct control_end end = {0};
    struct wire_reader reader;

    if (hear_type(root, CONTROL_END)) {
        wire_reader_init(&reader, root->payload.data, root->payload.length_bytes);
        (void)control_end_decode(&end, &reader);
    }
    return end;
}

static void accept_job(struct played *root)
{
    struct buffer payload = {0};

    wire_put_u32(&payload, 1);
    wire_put_u32(&payload, JOB);
    say(root, CONTROL_ACCEPTED, &payload);
    buffer_fini(&payload);
}

int root_fork(struct instance_spec *spec, const struct allocation *allocation,
              enum instance_policy policy, pid_t *ret_pid, int *ret_channel_fd, struct error *error)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return error_set(error, -errno, "socketpair: %s", strerror(errno));
    *ret_pid = fork();
    if (*ret_pid == 0) {
        struct played root = {.fd = fds[1]};
        close(fds[0]);
        if (hear(&root) == CONTROL_HELLO && hear(&root) == CONTROL_RUN) {
            accept_job(&root);
            play(&root);
        }
        _exit(0);
    }
    close(fds[1]);
    *ret_channel_fd = fds[0];
    return 0;
}

/* ---- the user's side ---- */

struct user {
    pid_t pid;
    int in;
    int out;
    int err;
    struct buffer said_out;
    struct buffer said_err;
    int status; /* of waitpid */
};

static const char *const words[8] = {"run", "prog"};
static struct run_request request;

static void run_child(int in, int out, int err)
{
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    _exit(front_end_run(&request, loop_now_ns()));
}

static void user_start(struct user *user, play_function *function)
{
    int in[2], out[2], err[2];

    play = function;
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
        bail_out("pipe: %s", strerror(errno));
    *user = (struct user){.in = in[1], .out = out[0], .err = err[0]};
    fflush(stdout);
    user->pid = fork();
    if (user->pid == 0)
        run_child(in[0], out[1], err[1]);
    close(in[0]);
    close(out[1]);
    close(err[1]);
}

static void read_rest(int fd, struct buffer *said)
{
    ssize_t got;

    while ((got = read(fd, buffer_reserve(said, 4096), 4096)) > 0)
        buffer_commit(said, (size_t)got);
}

/* Waits for a text on stdout, from which the test goes on. */
static int user_sees(struct user *user, const char *text)
{
    ssize_t got = 1;

    while (strstr(buffer_string(&user->said_out), text) == NULL && got > 0) {
        got = read(user->out, buffer_reserve(&user->said_out, 4096), 4096);
        buffer_commit(&user->said_out, got > 0 ? (size_t)got : 0);
    }
    return got > 0;
}

/* Reads what is left and waits for the end. */
static int user_finish(struct user *user)
{
    if (user->out >= 0)
        read_rest(user->out, &user->said_out);
    read_rest(user->err, &user->said_err);
    waitpid(user->pid, &user->status, 0);
    close(user->in);
    close(user->out);
    close(user->err);
    return WIFEXITED(user->status) ? WEXITSTATUS(user->status) : -1;
}

static void user_fini(struct user *user)
{
    buffer_fini(&user->said_out);
    buffer_fini(&user->said_err);
}

static const char *said(struct user *user)
{
    return buffer_string(&user->said_out);
}

static const char *complained(struct user *user)
{
    return buffer_string(&user->said_err);
}

/* ---- cases ---- */

static void play_plain(struct played *root)
{
    say_started(root);
    say_output(root, 0, "hello\n");
    say_output(root, 1, "tail");
    say_end(root, 3, "rank 1 on n1 exited with status 3");
}

static void test_plain(void)
{
    struct user user;

    user_start(&user, play_plain);
    is_int(user_finish(&user), 3, "the exit status is the root's");
    is_string(said(&user), "hello\ntail", "stdout has the output");
    is_string(complained(&user), "banyan: rank 1 on n1 exited with status 3\n",
              "stderr the last words");
    user_fini(&user);
}

/* Sends back as output what comes as input. */
static void play_echo(struct played *root)
{
    struct buffer payload = {0};

    say_started(root);
    while (hear_type(root, CONTROL_STDIN) && root->payload.length_bytes > 0) {
        wire_put_u32(&payload, (uint32_t)root->payload.length_bytes);
        say(root, CONTROL_STDIN_ACK, &payload);
        buffer_append(&root->payload, "", 1);
        say_output(root, 0, (char *)root->payload.data);
    }
    say_end(root, 0, "");
    buffer_fini(&payload);
}

static void test_input(void)
{
    struct user user;
    char *text = memory_allocate(LARGE_BYTES + 1);
    pid_t writer;

    memset(text, 'i', LARGE_BYTES);
    text[LARGE_BYTES] = '\0';
    user_start(&user, play_echo);
    fflush(stdout);
    writer = fork();
    if (writer == 0)
        _exit(write(user.in, text, LARGE_BYTES) == (ssize_t)LARGE_BYTES ? 0 : 1);
    close(user.in);
    user.in = -1;
    is_int(user_finish(&user), 0, "input goes to the root, more than a window of it");
    is_bytes(user.said_out.data, user.said_out.length_bytes, text, LARGE_BYTES, "all and in order");
    is_string(complained(&user), "", "nothing is complained of");
    waitpid(writer, NULL, 0);
    user_fini(&user);
    free(text);
}

static void play_interrupt(struct played *root)
{
    struct control_end end;

    say_started(root);
    say_output(root, 0, "ready\n");
    end = hear_end(root);
    say_end(root, end.at_once ? 99 : end.status, end.reason);
}

static void test_end_signals(void)
{
    static const struct {
        int number;
        int status;
        const char *text;
    } cases[] = {{SIGINT, 130, "banyan: interrupted\n"},
                 {SIGTERM, 143, "banyan: terminated\n"},
                 {SIGHUP, 129, "banyan: hung up\n"}};
    struct user user;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        user_start(&user, play_interrupt);
        ok(user_sees(&user, "ready\n"), "the job runs");
        kill(user.pid, cases[i].number);
        is_int(user_finish(&user), cases[i].status, "signal %d ends it", cases[i].number);
        is_string(complained(&user), cases[i].text, "and is told");
        user_fini(&user);
    }
}

static void play_stubborn(struct played *root)
{
    struct control_end end;

    say_started(root);
    say_output(root, 0, "ready\n");
    end = hear_end(root);
    say_output(root, 0, end.at_once ? "too early\n" : "first\n");
    end = hear_end(root);
    say_output(root, 0, end.at_once ? "at once\n" : "too late\n");
    say_end(root, end.status, end.reason);
}

static void test_second_signal(void)
{
    struct user user;

    user_start(&user, play_stubborn);
    user_sees(&user, "ready\n");
    kill(user.pid, SIGINT);
    ok(user_sees(&user, "first\n"), "the first Ctrl-C asks");
    kill(user.pid, SIGINT);
    is_int(user_finish(&user), 130, "the second one ends at once");
    user_fini(&user);
}

static void play_signals(struct played *root)
{
    uint32_t number = 0;

    say_started(root);
    say_output(root, 0, "ready\n");
    while (hear_type(root, CONTROL_SIGNAL)) {
        char text[32];
        memcpy(&number, root->payload.data, sizeof(number));
        snprintf(text, sizeof(text), "signal %u\n", number);
        say_output(root, 0, text);
        if (number == SIGCONT)
            break;
    }
    say_end(root, 0, "");
}

static void test_forwarded_signals(void)
{
    struct user user;
    char expected[64];
    int status;

    user_start(&user, play_signals);
    user_sees(&user, "ready\n");
    kill(user.pid, SIGUSR1);
    snprintf(expected, sizeof(expected), "signal %d\n", SIGUSR1);
    ok(user_sees(&user, expected), "SIGUSR1 is forwarded");
    kill(user.pid, SIGTSTP);
    ok(waitpid(user.pid, &status, WUNTRACED) == user.pid && WIFSTOPPED(status),
       "SIGTSTP stops the front end");
    kill(user.pid, SIGCONT);
    snprintf(expected, sizeof(expected), "signal %d\nsignal %d\n", SIGSTOP, SIGCONT);
    ok(user_sees(&user, expected), "after it has stopped the ranks, which go on with it");
    is_int(user_finish(&user), 0, "nothing else happens");
    user_fini(&user);
}

static void play_death(struct played *root)
{
    say_started(root);
    say_output(root, 0, "before\n");
    kill(getpid(), SIGKILL);
}

static void test_root_death(void)
{
    struct user user;

    user_start(&user, play_death);
    is_int(user_finish(&user), 125, "a root that dies is banyan's failure");
    is_string(said(&user), "before\n", "what it had sent is written");
    has_string(complained(&user), "banyan: the root of this run was killed by signal 9 (Killed);",
               "its death is told");
    user_fini(&user);
}

static void play_hang(struct played *root)
{
    say_started(root);
    say_end(root, 0, "");
    say_output(root, 0, "late\n");
    close(root->fd);
    root->fd = -1;
}

static void test_late_output(void)
{
    struct user user;

    user_start(&user, play_hang);
    is_int(user_finish(&user), 0, "output after the end's message");
    is_string(said(&user), "late\n", "is still written");
    user_fini(&user);
}

static void test_reader_gone(void)
{
    struct user user;

    user_start(&user, play_interrupt);
    close(user.out);
    user.out = -1;
    is_int(user_finish(&user), 141, "a reader that is gone ends the job like SIGPIPE");
    is_string(complained(&user), "", "without a word");
    user_fini(&user);
}

/* More output than a pipe takes, then the wish to end. */
static void play_flood(struct played *root)
{
    static char text[200 * 1024];
    struct control_end end;

    memset(text, 'f', sizeof(text) - 1);
    text[sizeof(text) - 2] = '\n';
    say_started(root);
    say_output(root, 0, text);
    end = hear_end(root);
    say_end(root, end.status, end.reason);
}

static void test_stuck_reader(void)
{
    struct user user;
    struct pollfd readable;
    uint64_t start_ns;

    user_start(&user, play_flood);
    readable = (struct pollfd){.fd = user.out, .events = POLLIN};
    poll(&readable, 1, -1);
    start_ns = loop_now_ns();
    kill(user.pid, SIGINT);
    read_rest(user.err, &user.said_err);
    ok(loop_now_ns() - start_ns < 3000ull * NS_PER_MS,
       "a reader that stands still holds nobody up");
    is_int(user_finish(&user), 130, "after Ctrl-C");
    is_string(complained(&user), "banyan: interrupted\n", "which is told");
    user_fini(&user);
}

/* A pipe full of errors, and half a second after the first look at the reader the end, whose reason has
 * to wait for him. */
static void play_full_pipe(struct played *root)
{
    static char text[PIPE_BYTES + 1];
    struct buffer payload = {0};
    struct control_end end;

    memset(text, 'f', PIPE_BYTES);
    text[PIPE_BYTES - 1] = '\n';
    say_started(root);
    control_output_encode(&(struct control_output){.stream = 2,
                                                   .bytes = {.data = (const unsigned char *)text,
                                                             .length_bytes = PIPE_BYTES}},
                          &payload);
    say(root, CONTROL_OUTPUT, &payload);
    buffer_fini(&payload);
    end = hear_end(root);
    usleep(1500 * 1000);
    say_end(root, end.status, end.reason);
}

/* The reader is looked at every second after Ctrl-C: at the second look the reason has waited for half
 * of one, and he goes on before the third. */
static void test_slow_reader(void)
{
    struct user user;
    int piped = 0;

    user_start(&user, play_full_pipe);
    while (ioctl(user.err, FIONREAD, &piped) == 0 && piped < PIPE_BYTES)
        usleep(1000);
    kill(user.pid, SIGINT);
    usleep(2500 * 1000);
    read_rest(user.err, &user.said_err);
    is_int(user_finish(&user), 130, "a reader that pauses after Ctrl-C");
    ok(strstr(complained(&user), "f\nbanyan: interrupted\n") != NULL,
       "gets what was queued during the pause");
    user_fini(&user);
}

static void play_slow_start(struct played *root)
{
    struct control_end end = hear_end(root);

    say_end(root, end.status, end.reason);
}

/* Answers what the ranks are doing, or that it cannot, before it ends the job. */
static void answer_activity(struct played *root, int status)
{
    static const struct activity_rank sleeps = {
        .state = 'S', .pmi = ACTIVITY_PMI_WAITS, .channel = "pipe_read"};
    struct control_answer answer = {.status = status};
    struct control_request asked = {.request = 0};
    struct activity activity = {0};
    struct buffer data = {0}, payload = {0};
    struct wire_reader reader;

    if (!hear_type(root, CONTROL_REQUEST))
        return;
    wire_reader_init(&reader, root->payload.data, root->payload.length_bytes);
    if (control_request_decode(&asked, &reader) < 0 || asked.kind != JOB_MESSAGE_ACTIVITY)
        return;
    for (uint32_t rank = 0; rank < 4; rank++)
        activity_add(&activity, &sleeps, rank, 1);
    for (uint32_t rank = 4; rank < 30; rank++)
        activity_add(&activity,
                     &(struct activity_rank){.state = 'R', .channel = {(char)('a' + rank - 4)}},
                     rank, 1);
    ranges_add(&activity.silent, 1, 1);
    activity_encode(&activity, &data);
    answer.request = asked.request;
    if (status == 0)
        answer.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    control_answer_encode(&answer, &payload);
    say(root, CONTROL_ANSWER, &payload);
    buffer_fini(&data);
    buffer_fini(&payload);
    activity_fini(&activity);
}

static void play_activity(struct played *root)
{
    answer_activity(root, 0);
    play_slow_start(root);
}

static void play_ignorant(struct played *root)
{
    answer_activity(root, -ENOENT);
    play_slow_start(root);
}

static void test_timeout(void)
{
    struct user user;
    const char *text;

    request.timeout_s = 1;
    user_start(&user, play_ignorant);
    is_int(user_finish(&user), 124, "a time-out has its status");
    is_string(complained(&user), "banyan: timed out after 1 s\n", "and its words");
    user_fini(&user);
    user_start(&user, play_activity);
    is_int(user_finish(&user), 124, "likewise");
    text = complained(&user);
    ok(strncmp(text, "banyan: ranks 0-3 on ", 21) == 0, "the largest group is first");
    has_string(text,
               ": sleeping (S) in pipe_read, waiting in a fence or barrier\nbanyan: rank 4 on ",
               "and what its ranks do, then the others");
    has_string(text,
               "\nbanyan: and 9 more ranks, in other states\nbanyan: no answer within 2.5 s from ",
               "but no more than 20 lines");
    ok(strstr(text, "rank 20 ") != NULL && strstr(text, "rank 21 ") == NULL,
       "of which 18 are groups");
    request.timeout_s = 0;
    user_fini(&user);
}

static void play_text(struct played *root)
{
    struct buffer payload = {0};

    control_text_encode(LOG_LEVEL_WARNING, "one\ntwo\n", &payload);
    say(root, CONTROL_TEXT, &payload);
    say(root, CONTROL_MESSAGE_COUNT, &payload);
    (void)hear_end(root);
    say_end(root, 0, "");
    buffer_fini(&payload);
}

static void test_texts(void)
{
    struct user user;

    user_start(&user, play_text);
    is_int(user_finish(&user), 125, "a message that cannot be read is banyan's failure");
    is_string(
        complained(&user),
        "banyan: one\nbanyan: two\nbanyan: cannot decode a message from the root; this is a bug in banyan\n",
        "each line of a text is one of ours");
    user_fini(&user);
}

static int cores(struct error *error)
{
    return 2;
}

int main(void)
{
    static const char *const variables[] = {"PATH=/bin", NULL};
    struct request_ops world = {.environment = (char *const *)variables,
                                .directory = "/",
                                .host_name = "here",
                                .banyand = "/banyand",
                                .cores = cores};
    struct error error;

    signal(SIGPIPE, SIG_IGN);
    if (request_parse_run(&request, 2, (char *const *)words, &world, &error) < 0)
        bail_out("%s", error.text);
    test_plain();
    test_input();
    test_end_signals();
    test_second_signal();
    test_forwarded_signals();
    test_root_death();
    test_late_output();
    test_reader_gone();
    test_stuck_reader();
    test_slow_reader();
    test_timeout();
    test_texts();
    request_fini(&request);
    return done_testing();
}
