/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs that ask an instance, from the search for it to their exit status, against a process that plays its root: it
 * has job 3, which ends with status 7 when somebody waits for it.
 */
#include "config.h"

#include "launch/cli/client/instance_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/file_read.h"
#include "launch/cli/client/instance_dial.h"
#include "launch/cli/client/instance_search.h"
#include "launch/cli/request/request.h"
#include "launch/cli/client/instance_message.h"
#include "launch/cli/verb/instance_verb.h"
#include "launch/cli/verb/kill_verb.h"
#include "launch/cli/verb/node_verb.h"
#include "launch/cli/verb/ps_verb.h"
#include "launch/cli/verb/stop_verb.h"
#include "launch/cli/verb/top_verb.h"
#include "launch/cli/verb/verb_output.h"
#include "launch/cli/verb/wait_verb.h"
#include "launch/exec/session.h"
#include "launch/exec/session_about.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "test/support/tap.h"

#define JOB       3u
#define SLURM_JOB "slurm 4711"

static char base[] = "/tmp/bt.XXXXXX";
static char *parent;

/* ---- The root ---- */

static void send_payload(int fd, uint8_t type, struct buffer *payload)
{
    (void)instance_message_send(fd, type, payload);
    buffer_fini(payload);
}

static void welcome(int fd)
{
    struct control_welcome message = {
        .version = CONTROL_VERSION, .session = "0123456789abcdef", .has_roster = 1};
    struct buffer payload = {0};

    allocation_init(&message.roster);
    allocation_generate(&message.roster, "n", 4, 2);
    control_welcome_encode(&message, &payload);
    allocation_fini(&message.roster);
    send_payload(fd, CONTROL_WELCOME, &payload);
}

static void put_jobs(struct buffer *out)
{
    char *argv[] = {(char *)"./app", NULL};
    struct pmi_instance_facts facts = {
        .name = memory_copy_string("banyan-1"), .nodes = 4, .slots = 8};
    struct pmi_job_facts *job = pmi_instance_facts_add(&facts, JOB);

    job->phase = PMI_JOB_RUNNING;
    job->size = 2;
    ranges_add(&job->places, 2, 2);
    pmi_job_facts_add(job, 0, 2, argv);
    pmi_instance_facts_encode(&facts, out);
    pmi_instance_facts_fini(&facts);
}

static void put_processes(struct buffer *out)
{
    struct pmi_node_facts node = {.name = memory_copy_string("n2")};

    for (uint32_t rank = 0; rank < 2; rank++) {
        const struct pmi_process_facts process = {
            .job = JOB, .rank = rank, .pid = 100 + rank, .state = PMI_PROCESS_RUNNING};

        pmi_node_facts_add(&node, &process);
    }
    pmi_node_facts_encode(&node, out);
    pmi_node_facts_fini(&node);
}

/* Of all nodes n2 is drained and used by the job; any other name than that is not known. */
static void put_nodes(struct wire_reader *reader, struct buffer *out)
{
    struct node_list_request request;
    struct node_list list;

    if (node_list_request_decode(&request, reader) < 0)
        return;
    node_list_init(&list);
    if (request.names[0] != '\0' && strcmp(request.names, "n2,n2") != 0 &&
        request.when != NODE_LIST_FORCE) {
        snprintf(list.why, sizeof(list.why), "no such node: %.80s", request.names);
    } else {
        struct node_list_group *group = node_list_add(&list, 1);

        hostlist_append(list.names, "n2");
        group->state = NODE_LIST_DRAINING;
        group->used = 2;
        ranges_add(&group->jobs, JOB, JOB);
    }
    node_list_encode(&list, out);
    node_list_fini(&list);
    free(request.names);
}

static void put_load(struct buffer *out)
{
    struct load_row row = {.place = 2, .figures = {[LOAD_PROCESSES] = 2}};
    struct load load = {.rows = NULL};

    load_add(&load, &row, LOAD_ROWS_MAX);
    load_add_job(&load, &(struct load_job){.number = JOB, .cpu = 1250});
    load_encode(&load, out);
    load_fini(&load);
}

/* Another's answer comes before the right one, and so does a text. */
static void answer(int fd, struct wire_reader *reader)
{
    struct control_answer message = {.status = 0};
    struct control_request request;
    struct job_control control;
    struct buffer data = {0}, payload = {0};
    struct wire_reader inner;

    if (control_request_decode(&request, reader) < 0)
        return;
    wire_reader_init(&inner, request.data.data, request.data.length_bytes);
    if (request.kind == JOB_MESSAGE_CONTROL && job_control_decode(&control, &inner) == 0) {
        message.status = control.number == JOB ? 0 : -ENOENT;
        ranges_fini(&control.ranks);
    } else if (request.kind == JOB_MESSAGE_NODES) {
        put_nodes(&inner, &data);
    } else if (request.kind == JOB_MESSAGE_LOAD) {
        put_load(&data);
    } else if (ranges_is_empty(&request.places)) {
        put_jobs(&data);
    } else {
        put_processes(&data);
    }
    message.request = request.request;
    message.data = (struct wire_bytes){data.data, data.length_bytes};
    control_put_job(0, &payload);
    control_text_encode(1, "a line for others", &payload);
    send_payload(fd, CONTROL_TEXT, &payload);
    control_answer_encode(&message, &payload);
    send_payload(fd, CONTROL_ANSWER, &payload);
    buffer_fini(&data);
    ranges_fini(&request.places);
}

static void subscribed(int fd, struct wire_reader *reader)
{
    const struct control_job_end end = {.status = 7, .text = "rank 1 on n2 exited with status 7"};
    uint32_t job = control_get_job(reader);
    struct buffer payload = {0};

    if (job != JOB) {
        control_refused_encode(job, "no such job", &payload);
        send_payload(fd, CONTROL_REFUSED, &payload);
        return;
    }
    control_put_job(job, &payload);
    control_output_encode(
        &(struct control_output){
            .stream = 1, .bytes = {.data = (const unsigned char *)"hello\n", .length_bytes = 6}},
        &payload);
    send_payload(fd, CONTROL_OUTPUT, &payload);
    control_put_job(job, &payload);
    control_job_end_encode(&end, &payload);
    send_payload(fd, CONTROL_JOB_END, &payload);
}

/* 0 if the instance is to end. */
static int serve(int fd)
{
    int rc, stays = 1;

    do {
        struct buffer payload = {0};
        struct wire_reader reader;
        uint8_t type = 0;

        rc = instance_message_read(fd, -1, &type, &payload);
        wire_reader_init(&reader, payload.data, payload.length_bytes);
        if (rc == 0 && type == CONTROL_HELLO)
            welcome(fd);
        else if (rc == 0 && type == CONTROL_REQUEST)
            answer(fd, &reader);
        else if (rc == 0 && type == CONTROL_SUBSCRIBE)
            subscribed(fd, &reader);
        else if (rc == 0 && type == CONTROL_LEAVE)
            stays = 0;
        buffer_fini(&payload);
    } while (rc == 0 && stays);
    close(fd);
    return stays;
}

/* In the directory of that name; the caller ends it.  Who listens is who the kernel says it is. */
static pid_t root_begin(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *directory = memory_printf("%s/%s", parent, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int listens[2];
    char byte;
    pid_t pid;

    (void)mkdir(directory, 0700);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/" CONTROL_SOCKET, directory);
    free(directory);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || pipe(listens) < 0)
        bail_out("socket");
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        (void)listen(fd, 8);
        (void)!write(listens[1], "x", 1);
        while (serve(accept(fd, NULL, NULL)))
            continue;
        _exit(0);
    }
    (void)!read(listens[0], &byte, 1);
    close(listens[0]);
    close(listens[1]);
    close(fd);
    return pid;
}

static void root_end(pid_t pid, const char *name)
{
    char *path = memory_printf("%s/%s", parent, name);

    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    session_remove_tree(path);
    free(path);
}

/* ---- Its user ---- */

/* Its status; *ret_text: what it has printed on both, the caller's. */
static int call(int (*verb)(int argc, char **argv), const char *line, char **ret_text)
{
    char *words = memory_copy_string(line), *rest = words, *argv[8];
    char path[] = "/tmp/bt.XXXXXX";
    struct buffer text = {0};
    int fd = mkstemp(path), out = dup(1), err = dup(2), argc = 0, status;

    while ((argv[argc] = strsep(&rest, " ")) != NULL)
        argc++;
    fflush(NULL);
    (void)dup2(fd, 1);
    (void)dup2(fd, 2);
    status = verb(argc, argv);
    fflush(NULL);
    (void)dup2(out, 1);
    (void)dup2(err, 2);
    (void)file_read(path, 65536, &text);
    *ret_text = memory_copy_string(buffer_string(&text));
    buffer_fini(&text);
    unlink(path);
    close(fd);
    close(out);
    close(err);
    free(words);
    return status;
}

static void says(int (*verb)(int argc, char **argv), const char *line, int status, const char *part)
{
    char *text;

    is_int(call(verb, line, &text), status, "%s: status", line);
    if (!ok(strstr(text, part) != NULL, "%s: %s", line, part))
        diag("%s", text);
    free(text);
}

static void test_verbs(void)
{
    says(ps_verb, "ps", 0, "    3  running           2  n2                ./app\n");
    says(ps_verb, "ps 3:1 --json", 0, "\"pid\": 101");
    says(ps_verb, "ps 4", 125, "no job 4 is running");
    says(ps_verb, "ps 3:2", 125, "no job 3 is running that has these ranks");
    says(ps_verb, "ps --help", 0, "Usage: banyan ps");
    says(ps_verb, "ps --version", 0, "banyan " PACKAGE_VERSION);
    says(ps_verb, "ps --jsn", 125, "--json");
    says(ps_verb_status, "status", 0, "nodes     1: n2, 1 draining");
    says(top_verb, "top", 0, "    3  running           2    125.0       0 KiB  n2");
    says(top_verb, "top --json", 0, "\"processes\": 2");
    says(top_verb, "top --once --interval 0", 125, "--interval");
    says(top_verb, "top --help", 0, "Usage: banyan top");
    says(top_verb, "top 3", 125, "expected: banyan top [OPTIONS]");
    says(ps_verb_status, "status 3", 125, "expected: banyan status [OPTIONS]");
    says(kill_verb, "kill 3 3:0-1", 0, "");
    says(kill_verb, "kill 4", 125, "no job 4 is running");
    says(kill_verb_signal, "signal HUP 3", 0, "");
    says(kill_verb_signal, "signal HUP", 125, "expected: banyan signal");
    says(node_verb, "node", 0, "      1  draining       0       2  n2                3\n");
    says(node_verb, "node list --json", 0, "\"slots_in_use\": 2");
    says(node_verb, "node drain n2 n2", 0,
         "banyan: n2 still has processes of job 3, which may end normally\n");
    says(node_verb, "node resume n7", 125, "banyan: no such node: n7\n");
    says(node_verb, "node remove --wait n2 n2", 0, "banyan: n2 still has processes of job 3");
    says(node_verb, "node remove --force n7", 0, "");
    says(node_verb, "node remove n7", 125, "banyan: no such node: n7\n");
    says(node_verb, "node remove --wait --force n2", 125, "cannot be used together");
    says(node_verb, "node drain", 125, "expected: banyan node drain [OPTIONS] NODES...");
    says(node_verb, "node resune n1", 125, "did you mean 'node resume'?");
    says(node_verb, "node drain --help", 0, "Usage: banyan node list");
    says(wait_verb, "wait 3", 7, "banyan: job 3: rank 1 on n2 exited with status 7");
    says(wait_verb, "wait 4", 125, "no such job");
    says(wait_verb, "wait 4 3", 125,
         "no such job\nbanyan: job 3: rank 1 on n2 exited with status 7");
    says(wait_verb, "wait 3:1", 125, "ranks cannot be waited for");
    says(wait_verb_attach, "attach 3", 7, "hello\n");
}

/* What the root of name says of the job in which it was started. */
static void about_job(const char *name, const char *job)
{
    struct session_about about = {.version = "1"};
    char *directory = memory_printf("%s/%s", parent, name);
    struct error error = ERROR_NONE;

    snprintf(about.job, sizeof(about.job), "%s", job);
    is_int(session_about_write(directory, &about, &error), 0, "%s is of %s", name, job);
    free(directory);
}

static void finds(const char *given, const char *expected, int status, const char *name)
{
    struct error error = ERROR_NONE;
    char *directory = NULL;

    is_int(instance_search(given, SLURM_JOB, base, &directory, &error), status, "%s: %s", name,
           error.text);
    if (expected != NULL)
        ok(directory != NULL &&
               strcmp(directory + strlen(directory) - strlen(expected), expected) == 0,
           "%s: which", name);
    free(directory);
}

/* One whose root is dead, and what is no root's, count for nothing. */
static void test_find(void)
{
    pid_t first, second;

    finds(NULL, NULL, -ENOENT, "no instance");
    root_end(root_begin("dead.0"), "none");
    first = root_begin("first.0");
    second = root_begin("node.1");
    finds(NULL, "/first.0", 0, "the only one");
    finds("given", "given", 0, "a given one");
    setenv(REQUEST_INSTANCE_VARIABLE, "variable", 1);
    finds(NULL, "variable", 0, "that of the variable");
    setenv(REQUEST_INSTANCE_VARIABLE, "", 1);
    finds(NULL, "/first.0", 0, "an empty variable is none");
    unsetenv(REQUEST_INSTANCE_VARIABLE);
    (void)chmod(parent, 0755);
    finds(NULL, NULL, -ENOENT, "a directory that others can enter");
    (void)chmod(parent, 0700);
    root_end(second, "node.1");
    second = root_begin("second.0");
    finds(NULL, NULL, -ENOTUNIQ, "two");
    about_job("first.0", "slurm 12");
    about_job("second.0", SLURM_JOB);
    finds(NULL, "/second.0", 0, "that of the scheduler's job");
    finds("given", "given", 0, "a given one all the same");
    about_job("first.0", SLURM_JOB);
    finds(NULL, NULL, -ENOTUNIQ, "two of the job");
    root_end(second, "second.0");
    root_end(first, "first.0");
}

/* A root that has gone, or says what nobody can read. */
static void test_message(void)
{
    struct buffer payload = {0};
    uint8_t type;
    int pair[2];

    (void)socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    is_int(instance_message_read(pair[0], 1, &type, &payload), -ETIMEDOUT, "nothing is said");
    (void)!write(pair[1],
                 "\x03\0\0\0\x09"
                 "abc\xff\xff\xff\xff\x09",
                 13);
    is_int(instance_message_read(pair[0], 1, &type, &payload), 0, "a message");
    is_bytes(payload.data, payload.length_bytes, "abc", 3, "with its payload");
    is_int(instance_message_read(pair[0], 1, &type, &payload), -EBADMSG, "one that is too long");
    close(pair[1]);
    is_int(instance_message_read(pair[0], 1, &type, &payload), -EPIPE, "the end");
    is_int(instance_message_send(pair[0], 1, &payload), -EPIPE, "and nobody hears");
    close(pair[0]);
    buffer_fini(&payload);
}

int main(void)
{
    pid_t root;

    if (mkdtemp(base) == NULL)
        bail_out("mkdtemp");
    setenv("TMPDIR", base, 1);
    unsetenv(REQUEST_INSTANCE_VARIABLE);
    parent = memory_printf("%s/banyan-%u", base, (unsigned int)geteuid());
    (void)mkdir(parent, 0700);
    test_message();
    test_find();
    root = root_begin("one.0");
    test_verbs();
    says(stop_verb, "stop", 0, "");
    ok(waitpid(root, NULL, WNOHANG) == root, "it has ended when `banyan stop` returns");
    says(stop_verb, "stop", 125, "no instance of yours runs");
    session_remove_tree(base);
    free(parent);
    return done_testing();
}
