/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Row S4, built with the thread sanitizer where there is one: what libbanyan-fabric does when the
 * description of a fabric changes, polled and with a thread (fabric/scheduler/scheduler_update.c).
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabric/scheduler/scheduler_private.h"
#include "test/support/tap.h"

#define SLOW_HANDLER_S 2
#define LONG_MS        600000u /* nobody waits for it to pass */
#define EVENTS_MAX     64

static char folder[] = "/tmp/bu.XXXXXX";
static char path[sizeof(folder) + 16];
static struct banyan_fabric_error why;

/* ---- The description ---- */

static void replace_file(const char *text)
{
    char other[sizeof(path) + 4];
    FILE *file;

    snprintf(other, sizeof(other), "%s.new", path);
    file = fopen(other, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0 || rename(other, path) < 0)
        bail_out("cannot write %s", path);
}

/* One switch with that many nodes, n1, n2, ... */
static void describe(unsigned int nodes)
{
    char text[64];

    snprintf(text, sizeof(text), "SwitchName=s1 Nodes=n[1-%u]\n", nodes);
    replace_file(text);
}

/* ---- Sources ---- */

/* What was reported; the last line. */
static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t reported;
static unsigned int reports;
static char report_line[512];

static void report(void *user, const char *line)
{
    pthread_mutex_lock(&report_lock);
    reports++;
    snprintf(report_line, sizeof(report_line), "%s", line);
    pthread_mutex_unlock(&report_lock);
    sem_post(user);
}

static struct banyan_fabric_source *open_source(enum banyan_fabric_mode mode, uint32_t stall_ms)
{
    struct banyan_fabric_settings settings = {.topology = path,
                                              .role = BANYAN_FABRIC_ROLE_SCHEDULER,
                                              .mode = mode,
                                              .interval_ms = 5,
                                              .stall_ms = stall_ms,
                                              .report = report,
                                              .report_user = &reported};
    struct banyan_fabric_source *source = NULL;

    reports = 0;
    sem_init(&reported, 0, 0);
    if (banyan_fabric_open(&settings, &source, &why) < 0)
        bail_out("%s", why.text);
    return source;
}

static void register_fabric(struct banyan_fabric_source *source, struct banyan_fabric *fabric,
                            const char *plane)
{
    struct banyan_fabric_directives directives = {.plane = plane};

    if (banyan_fabric_register(source, fabric, &directives, &why) < 0)
        bail_out("%s", why.text);
}

/* ---- Handlers that write down what they see ---- */

struct diary {
    struct {
        char handler;
        enum banyan_fabric_event event;
        uint32_t nverts;
    } events[EVENTS_MAX];
    unsigned int count;
};

struct writer {
    struct diary *diary;
    char letter;
};

static void note(void *user, enum banyan_fabric_event event, struct banyan_fabric *fabric)
{
    struct writer *writer = user;
    struct diary *diary = writer->diary;

    if (diary->count == EVENTS_MAX)
        bail_out("too many events");
    diary->events[diary->count].handler = writer->letter;
    diary->events[diary->count].event = event;
    diary->events[diary->count++].nverts = fabric->nverts;
}

/* "ap3 au4": handler a, pending, 3 vertices; then updated, 4. */
static const char *diary_text(const struct diary *diary)
{
    static char text[16 * EVENTS_MAX];
    size_t length = 0;

    text[0] = '\0';
    for (unsigned int i = 0; i < diary->count; i++)
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "%s%c%c%u", i > 0 ? " " : "",
                             diary->events[i].handler,
                             diary->events[i].event == BANYAN_FABRIC_UPDATE_PENDING ? 'p' : 'u',
                             diary->events[i].nverts);
    return text;
}

/* ---- By banyan_fabric_update ---- */

static void test_update(void)
{
    struct banyan_fabric_source *source;
    struct banyan_fabric one = BANYAN_FABRIC_NONE, two = BANYAN_FABRIC_NONE;
    struct diary diary = {.count = 0};
    struct writer a = {&diary, 'a'};

    describe(3);
    source = open_source(BANYAN_FABRIC_MODE_POLLED, LONG_MS);
    register_fabric(source, &one, NULL);
    register_fabric(source, &two, NULL);
    is_int(banyan_fabric_update(&one, &why), 0, "nothing has changed");
    describe(4);
    is_int(one.nverts, 3, "a change is not seen");
    is_int(banyan_fabric_update(&one, &why), 1, "until an update is asked for");
    is_int(one.nverts, 4, "which replaces the data");
    is_int(banyan_fabric_get_cost(&one, 0, 3), 2, "there are new costs");
    is_int(one.commcost[3][0], 2, "in the matrix, too");
    is_int(two.nverts, 3, "another fabric stays as it was");
    is_int(banyan_fabric_dispatch(source), 0, "without a handler also in a dispatch");
    is_int(two.commcost[2][0], 2, "with its costs");
    is_int(banyan_fabric_update(&two, &why), 1, "until it is asked, too");
    is_int(two.nverts, 4, "and has the same");
    banyan_fabric_add_handler(&one, note, &a);
    describe(2);
    is_int(banyan_fabric_update(&one, &why), 1, "with a handler");
    is_string(diary_text(&diary), "ap4 au2", "that is called before and after");
    replace_file("SwitchName=s1 Nodes=n[1-2]\n#\n");
    is_int(banyan_fabric_update(&one, &why), 1, "other text is a change");
    utimensat(AT_FDCWD, path, NULL, 0);
    is_int(banyan_fabric_update(&one, &why), 0, "another time of the file is not");
    banyan_fabric_deregister(&one, NULL);
    banyan_fabric_deregister(&two, NULL);
    is_int(banyan_fabric_close(source), 0, "closed");
}

static void test_wrong_file(void)
{
    struct banyan_fabric_source *source;
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;

    describe(3);
    source = open_source(BANYAN_FABRIC_MODE_POLLED, LONG_MS);
    register_fabric(source, &fabric, NULL);
    replace_file("SwitchName=s1 Nodes=n[1-\n");
    ok(banyan_fabric_update(&fabric, &why) < 0, "a wrong file");
    has_string(why.text, "fabric.conf: line 1: ", "is named with the line");
    is_int(fabric.nverts, 3, "the data stays");
    ok(banyan_fabric_update(&fabric, &why) < 0, "it is wrong again");
    for (int i = 0; i < 5; i++)
        banyan_fabric_dispatch(source);
    is_uint(reports, 0, "and nobody is told what is known");
    unlink(path);
    for (int i = 0; i < 5; i++)
        banyan_fabric_dispatch(source);
    is_uint(reports, 1, "a missing file is reported once");
    has_string(report_line, "the fabric stays as it was: cannot read ", "with what happens");
    is_int(banyan_fabric_update(&fabric, &why), -ENOENT, "and whenever it is asked for");
    describe(5);
    is_int(banyan_fabric_update(&fabric, &why), 1, "a right one is taken");
    is_int(fabric.nverts, 5, "with its vertices");
    banyan_fabric_deregister(&fabric, NULL);
    is_int(banyan_fabric_close(source), 0, "closed");
}

/* ---- By polling ---- */

static bool is_readable(struct banyan_fabric_source *source, int timeout_ms)
{
    struct pollfd poller = {.fd = banyan_fabric_fd(source), .events = POLLIN};

    return poll(&poller, 1, timeout_ms) == 1;
}

static void forbidden(void *user, enum banyan_fabric_event event, struct banyan_fabric *fabric)
{
    int *wrong = user;

    *wrong += banyan_fabric_update(fabric, NULL) != -EDEADLK;
    *wrong += banyan_fabric_dispatch(((struct registration *)fabric->module)->source) != -EDEADLK;
    *wrong += banyan_fabric_close(((struct registration *)fabric->module)->source) != -EDEADLK;
}

static void test_polled(void)
{
    struct banyan_fabric_source *source;
    struct banyan_fabric one = BANYAN_FABRIC_NONE, two = BANYAN_FABRIC_NONE;
    struct diary diary = {.count = 0};
    struct writer a = {&diary, 'a'}, b = {&diary, 'b'}, c = {&diary, 'c'};
    int wrong = 0;

    describe(3);
    source = open_source(BANYAN_FABRIC_MODE_POLLED, LONG_MS);
    register_fabric(source, &one, NULL);
    register_fabric(source, &two, NULL);
    banyan_fabric_add_handler(&one, note, &a);
    banyan_fabric_add_handler(&one, note, &b);
    banyan_fabric_add_handler(&two, note, &c);
    banyan_fabric_add_handler(&two, forbidden, &wrong);
    ok(is_readable(source, 60000), "the descriptor asks for a dispatch");
    is_int(banyan_fabric_dispatch(source), 0, "which has nothing to do");
    describe(4);
    is_int(banyan_fabric_dispatch(source), 0, "a file that has just changed may not be complete");
    describe(5);
    is_int(banyan_fabric_dispatch(source), 0, "nor may one that changes again");
    is_int(banyan_fabric_dispatch(source), 2, "two fabrics are updated");
    is_string(diary_text(&diary), "ap3 bp3 au5 bu5 cp3 cu5",
              "all handlers of a fabric return before its data changes, then all see it");
    is_int(wrong, 0, "what waits for a handler refuses to in one");
    is_int(banyan_fabric_dispatch(source), 0, "and that was all");
    banyan_fabric_deregister(&two, NULL);
    describe(6);
    is_int(banyan_fabric_update(&one, &why), 1, "an update at once");
    is_string(diary_text(&diary), "ap3 bp3 au5 bu5 cp3 cu5 ap5 bp5 au6 bu6", "has its events");
    banyan_fabric_deregister(&one, NULL);
    is_int(banyan_fabric_close(source), 0, "closed");
}

static void test_handler_later(void)
{
    struct banyan_fabric_source *source;
    struct banyan_fabric one = BANYAN_FABRIC_NONE, two = BANYAN_FABRIC_NONE;
    struct diary diary = {.count = 0};
    struct writer a = {&diary, 'a'};

    describe(3);
    source = open_source(BANYAN_FABRIC_MODE_POLLED, LONG_MS);
    register_fabric(source, &one, NULL);
    register_fabric(source, &two, NULL);
    describe(4);
    banyan_fabric_update(&two, &why);
    is_int(banyan_fabric_dispatch(source), 0, "an update waits for who asks");
    banyan_fabric_add_handler(&one, note, &a);
    ok(is_readable(source, 60000), "a handler is work");
    is_int(banyan_fabric_dispatch(source), 1, "or for the first handler");
    is_string(diary_text(&diary), "ap3 au4", "which is called for it");
    banyan_fabric_deregister(&one, NULL);
    banyan_fabric_deregister(&two, NULL);
    is_int(banyan_fabric_close(source), 0, "closed");
}

static void test_planes(void)
{
    static const char both[] = "{\"switches\": [{\"name\": \"s\"}, {\"name\": \"t\"}], \"nics\": ["
                               "{\"nodes\": \"n[1-3]\", \"switch\": \"s\", \"plane\": \"a\"},"
                               "{\"nodes\": \"n[1-2]\", \"switch\": \"t\", \"plane\": \"b\"}]}";
    static const char only[] = "{\"switches\": [{\"name\": \"t\"}], \"nics\": ["
                               "{\"nodes\": \"n[1-9]\", \"switch\": \"t\", \"plane\": \"b\"}]}";
    struct banyan_fabric_source *source;
    struct banyan_fabric a = BANYAN_FABRIC_NONE, b = BANYAN_FABRIC_NONE, best = BANYAN_FABRIC_NONE;
    struct banyan_fabric_vertex vertex = {.nic = "n1:a"};
    uint32_t i = 0;

    replace_file(both);
    source = open_source(BANYAN_FABRIC_MODE_POLLED, LONG_MS);
    register_fabric(source, &a, "a");
    register_fabric(source, &b, "b");
    register_fabric(source, &best, NULL);
    ok(a.nverts == 3 && b.nverts == 2 && best.nverts == 3, "two planes");
    replace_file(only);
    is_int(banyan_fabric_update(&a, &why), 1, "a plane is removed");
    ok(a.nverts == 0 && a.commcost == NULL && a.index == SIZE_MAX && a.module != NULL,
       "its fabric is empty");
    is_int(banyan_fabric_get_index(&a, &vertex, &i), -ENOENT, "without vertices");
    is_int(banyan_fabric_get_cost(&a, 0, 0), -EINVAL, "and costs");
    is_int(banyan_fabric_get_rows(&a, 0, 0, NULL), 0, "and rows");
    is_int(banyan_fabric_update(&b, &why), 1, "the other");
    ok(b.nverts == 9 && b.index == 0, "is now the first");
    is_int(banyan_fabric_update(&best, &why), 1, "and who wants the first");
    is_int(best.nverts, 9, "has it");
    replace_file(both);
    is_int(banyan_fabric_update(&a, &why), 1, "it is there again");
    ok(a.nverts == 3 && a.index == 0, "as it was");
    banyan_fabric_deregister(&a, NULL);
    banyan_fabric_deregister(&b, NULL);
    banyan_fabric_deregister(&best, NULL);
    is_int(banyan_fabric_close(source), 0, "closed");
}

/* A matrix that is required and becomes too large: the fabric stays, and is tried once. */
static void test_outgrown(void)
{
    struct banyan_fabric_directives directives = {.matrix = BANYAN_FABRIC_MATRIX_REQUIRED,
                                                  .matrix_vertices = 4};
    struct banyan_fabric_source *source;
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    struct diary diary = {.count = 0};
    struct writer a = {&diary, 'a'};

    describe(4);
    source = open_source(BANYAN_FABRIC_MODE_POLLED, LONG_MS);
    is_int(banyan_fabric_register(source, &fabric, &directives, &why), 0, "just within the limit");
    banyan_fabric_add_handler(&fabric, note, &a);
    describe(5);
    for (int i = 0; i < 5; i++)
        banyan_fabric_dispatch(source);
    is_uint(reports, 1, "more is reported once");
    has_string(report_line, "stays as it was: 5 vertices, the matrix is limited to those of 4",
               "with the numbers");
    is_int(fabric.nverts, 4, "the fabric stays as it was");
    is_int(banyan_fabric_update(&fabric, &why), -E2BIG, "which an update says, too");
    describe(3);
    is_int(banyan_fabric_update(&fabric, &why), 1, "less is fine");
    is_string(diary_text(&diary), "ap4 au3", "and all that handlers hear of");
    banyan_fabric_deregister(&fabric, NULL);
    is_int(banyan_fabric_close(source), 0, "closed");
}

/* ---- Deregistering in an update ---- */

static void leave(void *user, enum banyan_fabric_event event, struct banyan_fabric *fabric)
{
    int *rc = user;
    uint16_t **rows = fabric->commcost;

    *rc = banyan_fabric_deregister(fabric, NULL);
    if (rows[0][1] != 2 || fabric->module != NULL)
        *rc = -EFAULT;
}

static void test_leave_in_handler(void)
{
    struct banyan_fabric_source *source;
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    struct diary diary = {.count = 0};
    struct writer a = {&diary, 'a'}, c = {&diary, 'c'};
    int rc = 1;

    describe(3);
    source = open_source(BANYAN_FABRIC_MODE_POLLED, LONG_MS);
    register_fabric(source, &fabric, NULL);
    banyan_fabric_add_handler(&fabric, note, &a);
    banyan_fabric_add_handler(&fabric, leave, &rc);
    banyan_fabric_add_handler(&fabric, note, &c);
    describe(4);
    banyan_fabric_dispatch(source);
    banyan_fabric_dispatch(source);
    is_int(rc, 0, "a handler deregisters its fabric");
    is_string(diary_text(&diary), "ap3", "no other is called then, and nobody a second time");
    ok(fabric.module == NULL && fabric.nverts == 0, "it is deregistered");
    is_int(banyan_fabric_close(source), 0, "nothing keeps the source");
}

/* ---- With a thread ---- */

struct gate {
    sem_t entered;
    sem_t open;
    atomic_int pending, updated; /* handlers that have returned */
};

static void gate_init(struct gate *gate)
{
    sem_init(&gate->entered, 0, 0);
    sem_init(&gate->open, 0, 0);
    gate->pending = 0;
    gate->updated = 0;
}

static void pass_gate(void *user, enum banyan_fabric_event event, struct banyan_fabric *fabric)
{
    struct gate *gate = user;

    if (event == BANYAN_FABRIC_UPDATE_PENDING) {
        sem_post(&gate->entered);
        sem_wait(&gate->open);
        gate->pending++;
    } else {
        gate->updated++;
        sem_post(&gate->entered);
    }
}

static void test_stall(void)
{
    struct banyan_fabric_source *source;
    struct banyan_fabric one = {.name = "one"}, two = BANYAN_FABRIC_NONE;
    struct gate gate;
    int rc;

    gate_init(&gate);
    describe(3);
    source = open_source(BANYAN_FABRIC_MODE_THREAD, 30);
    is_int(banyan_fabric_fd(source), -EINVAL, "there is nothing to poll");
    is_int(banyan_fabric_dispatch(source), -EINVAL, "nor to dispatch");
    register_fabric(source, &one, NULL);
    register_fabric(source, &two, NULL);
    banyan_fabric_add_handler(&one, pass_gate, &gate);
    describe(4);
    sem_wait(&gate.entered);
    sem_wait(&reported);
    pthread_mutex_lock(&report_lock);
    has_string(report_line,
               "handler 1 of fabric one has not returned from UPDATE_PENDING for 30 ms",
               "a handler that does not return is reported");
    pthread_mutex_unlock(&report_lock);
    is_int(banyan_fabric_update(&two, &why), -EBUSY, "updates do not wait for it forever");
    has_string(why.text, "a handler may not have returned", "and say why");
    is_int(banyan_fabric_deregister(&one, &why), -EBUSY, "nor does its fabric's end");
    has_string(why.text, "it stays registered", "which says so");
    ok(one.nverts == 3 && one.commcost[0][2] == 2 && banyan_fabric_get_cost(&one, 0, 2) == 2,
       "all is as it was");
    is_int(gate.updated, 0, "nothing has been updated");
    sem_post(&gate.open);
    sem_post(&gate.open); /* the fabric may be offered the update again, as it was to be left */
    while (gate.updated == 0)
        sem_wait(&gate.entered);
    is_int(one.nverts, 4, "when it returns the update goes on");
    /* On a busy machine the end of the update may take longer than that, too. */
    do
        rc = banyan_fabric_deregister(&one, &why);
    while (rc == -EBUSY);
    is_int(rc, 0, "then it can be left");
    is_int(banyan_fabric_deregister(&two, &why), 0, "like any other");
    is_int(banyan_fabric_close(source), 0, "closed");
}

/* Holds the update until another thread waits to deregister the fabric. */
static void wait_for_leaver(void *user, enum banyan_fabric_event event,
                            struct banyan_fabric *fabric)
{
    struct gate *gate = user;
    struct registration *registration = fabric->module;
    int is_leaving = 0;

    if (event == BANYAN_FABRIC_UPDATED) {
        gate->updated++;
        return;
    }
    sem_post(&gate->entered);
    while (!is_leaving) {
        pthread_mutex_lock(&registration->source->lock);
        is_leaving = registration->is_leaving;
        pthread_mutex_unlock(&registration->source->lock);
        usleep(1000);
    }
    if (fabric->nverts == 3 && fabric->commcost[2][0] == 2)
        gate->pending++;
}

static void test_leave_meanwhile(void)
{
    struct banyan_fabric_source *source;
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    struct gate gate;

    gate_init(&gate);
    describe(3);
    source = open_source(BANYAN_FABRIC_MODE_THREAD, LONG_MS);
    register_fabric(source, &fabric, NULL);
    banyan_fabric_add_handler(&fabric, wait_for_leaver, &gate);
    describe(4);
    sem_wait(&gate.entered);
    is_int(banyan_fabric_deregister(&fabric, &why), 0, "deregistered while a handler runs");
    is_int(gate.pending, 1, "it has returned, and had its data until then");
    is_int(gate.updated, 0, "and there is no second event");
    is_int(banyan_fabric_close(source), 0, "nothing keeps the source");
}

/* Reads all costs again and again. */
struct slow {
    sem_t done;
    uint16_t **rows;
    atomic_int wrong, readings, is_over;
};

static int is_unchanged(const struct slow *slow, const struct banyan_fabric *fabric)
{
    if (fabric->commcost != slow->rows || fabric->nverts != 60)
        return 0;
    for (uint32_t i = 0; i < 60; i++) {
        for (uint32_t j = 0; j < 60; j++) {
            if (slow->rows[i][j] != (i == j ? 0 : 2) ||
                banyan_fabric_get_cost(fabric, i, j) != slow->rows[i][j])
                return 0;
        }
    }
    return 1;
}

static void read_slowly(void *user, enum banyan_fabric_event event, struct banyan_fabric *fabric)
{
    struct slow *slow = user;
    struct timespec begin, now;

    if (event == BANYAN_FABRIC_UPDATED && !slow->is_over) {
        slow->is_over = 1;
        sem_post(&slow->done);
    }
    if (slow->is_over)
        return;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        slow->wrong += !is_unchanged(slow, fabric);
        slow->readings++;
        /* What would be noticed next, if anyone looked. */
        describe(20 + (unsigned int)slow->readings % 10);
        usleep(5000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec <= SLOW_HANDLER_S);
    describe(8);
}

static void test_slow_handler(void)
{
    struct banyan_fabric_source *source;
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    struct slow slow = {.wrong = 0};

    sem_init(&slow.done, 0, 0);
    describe(60);
    source = open_source(BANYAN_FABRIC_MODE_THREAD, LONG_MS);
    register_fabric(source, &fabric, NULL);
    slow.rows = fabric.commcost;
    banyan_fabric_add_handler(&fabric, read_slowly, &slow);
    describe(59);
    sem_wait(&slow.done);
    ok(slow.readings > 1, "a handler reads all costs for 2 s (%d times)", slow.readings);
    is_int(slow.wrong, 0, "nothing moves meanwhile, though the file changes");
    ok(banyan_fabric_update(&fabric, &why) >= 0 && fabric.nverts == 8,
       "what was written last is found in the end");
    banyan_fabric_deregister(&fabric, NULL);
    is_int(banyan_fabric_close(source), 0, "closed");
}

/* ---- Readers ---- */

#define READERS 3
#define CHANGES 40

/* As a scheduler would: readers share a lock that handlers take between the two events. */
struct readers {
    struct banyan_fabric fabric;
    pthread_rwlock_t lock;
    sem_t updated;
    atomic_int is_over, wrong, readings;
};

static void pause_readers(void *user, enum banyan_fabric_event event, struct banyan_fabric *fabric)
{
    struct readers *readers = user;

    if (event == BANYAN_FABRIC_UPDATE_PENDING) {
        pthread_rwlock_wrlock(&readers->lock);
    } else {
        pthread_rwlock_unlock(&readers->lock);
        sem_post(&readers->updated);
    }
}

static int is_consistent(const struct banyan_fabric *fabric)
{
    struct banyan_fabric_vertex vertex;
    uint32_t last = fabric->nverts - 1, index = 0;
    char expected[16], *node = NULL;
    int is_right;

    snprintf(expected, sizeof(expected), "n%u", last + 1);
    if (banyan_fabric_get_vertex_info(fabric, last, &vertex, &node) < 0)
        return 0;
    is_right = strcmp(node, expected) == 0 && fabric->commcost[last][0] == (last > 0 ? 2 : 0) &&
               banyan_fabric_get_index(fabric, &vertex, &index) == 0 && index == last;
    free(node);
    return is_right;
}

static void *read_costs(void *context)
{
    struct readers *readers = context;

    while (!readers->is_over) {
        pthread_rwlock_rdlock(&readers->lock);
        readers->wrong += !is_consistent(&readers->fabric);
        readers->readings++;
        pthread_rwlock_unlock(&readers->lock);
        usleep(200);
    }
    return NULL;
}

static void test_readers(void)
{
    struct readers readers = {.fabric = BANYAN_FABRIC_NONE};
    struct banyan_fabric_source *source;
    pthread_t threads[READERS];

    sem_init(&readers.updated, 0, 0);
    pthread_rwlock_init(&readers.lock, NULL);
    describe(1);
    source = open_source(BANYAN_FABRIC_MODE_THREAD, LONG_MS);
    register_fabric(source, &readers.fabric, NULL);
    banyan_fabric_add_handler(&readers.fabric, pause_readers, &readers);
    for (int i = 0; i < READERS; i++)
        pthread_create(&threads[i], NULL, read_costs, &readers);
    for (unsigned int i = 1; i <= CHANGES; i++) {
        describe(1 + i);
        sem_wait(&readers.updated);
    }
    readers.is_over = 1;
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    ok(readers.readings > 0, "%d threads read while there are %d updates", READERS, CHANGES);
    is_int(readers.wrong, 0, "each time all of one update");
    is_int(readers.fabric.nverts, CHANGES + 1, "and no update is left out");
    banyan_fabric_deregister(&readers.fabric, NULL);
    is_int(banyan_fabric_close(source), 0, "closed");
}

int main(void)
{
    if (mkdtemp(folder) == NULL)
        bail_out("cannot make %s", folder);
    snprintf(path, sizeof(path), "%s/fabric.conf", folder);
    test_update();
    test_wrong_file();
    test_polled();
    test_handler_later();
    test_planes();
    test_outgrown();
    test_leave_in_handler();
    test_stall();
    test_leave_meanwhile();
    test_slow_handler();
    test_readers();
    unlink(path);
    rmdir(folder);
    return done_testing();
}
