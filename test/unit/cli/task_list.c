/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of tasks (launch/cli/request/task_list.c, task_list_json.c): what lines mean, and which are refused. */
#include "config.h"

#include "launch/cli/request/task_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/proto/task_frame.h"
#include "test/support/tap.h"

static struct task_list list;

static void begin(char *const *command)
{
    task_list_init(&list);
    list.source = "tasks.txt";
    list.command = command;
}

static int read_all(const char *text, struct error *error)
{
    int rc = task_list_read(&list, text, strlen(text), error);

    return rc == 0 ? task_list_read(&list, NULL, 0, error) : rc;
}

/* All tasks, one line each. */
static void has(const char *expected, const char *name)
{
    struct buffer seen = {0};

    for (uint32_t i = 0; i < list.count; i++) {
        const struct task *task = list.items[i];

        buffer_printf(&seen, "%u: %s", task->number, task->command);
        for (uint32_t j = 0; j < task->after_count; j++)
            buffer_printf(&seen, " after %u", list.items[task->after[j]]->number);
        if (task->slots > 1)
            buffer_printf(&seen, " slots %u", task->slots);
        buffer_printf(&seen, "%s\n", task->is_done ? " done" : "");
    }
    is_string(buffer_string(&seen), expected, "%s", name);
    buffer_fini(&seen);
    task_list_fini(&list);
}

static void refuses(const char *text, const char *why)
{
    struct error error = ERROR_NONE;

    begin(NULL);
    ok(read_all(text, &error) < 0, "refused: %s", why);
    has_string(error.text, why, "with where and why");
    task_list_fini(&list);
}

static void test_lines(void)
{
    static const char text[] =
        "echo a\n\n# nothing\n  'b c' d\n"
        "{\"argv\": [\"x\", \"y z\"], \"name\": \"n\", \"slots\": 2, \"after\": 1}\n"
        "{\"argv\": [\"w\"], \"after\": [\"n\", 4, \"1\", 1]}";

    begin(NULL);
    is_int(read_all(text, NULL), 0, "a list is read");
    has("1: echo a\n4: 'b c' d\n5: x 'y z' after 1 slots 2\n6: w after 5 after 4 after 1 after 1\n",
        "numbers are those of lines");
    for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
        begin(NULL);
        if (task_list_read(&list, text, cut, NULL) != 0 || read_all(text + cut, NULL) != 0 ||
            list.count != 4)
            fail("cut at %zu it is another", cut);
        task_list_fini(&list);
    }
}

static void test_order(void)
{
    struct task_frame frame;
    struct task_order order;

    begin(NULL);
    is_int(
        read_all("{\"argv\":[\"a\",\"\"],\"env\":{\"X\":\"1\",\"Y\":\"\"},\"wdir\":\"/d\"}", NULL),
        0, "an object");
    is_int(task_frame_next(list.items[0]->order.data, list.items[0]->order.length_bytes, &frame),
           (long)list.items[0]->order.length_bytes, "becomes an order");
    is_int(task_frame_get_order(&frame, &order), 0, "for a worker");
    ok(order.task == 1 && strcmp(order.argv[0], "a") == 0 && order.argv[1][0] == '\0' &&
           order.argv[2] == NULL,
       "with its words");
    ok(strcmp(order.set[0], "X=1") == 0 && strcmp(order.set[1], "Y=") == 0 && order.set[2] == NULL,
       "its variables");
    is_string(order.directory, "/d", "and its directory");
    free(order.block);
    task_list_fini(&list);
}

static void test_arguments(void)
{
    char *command[] = {(char *)"wc", (char *)"-{#}", (char *)"{}", NULL};

    begin(command);
    is_int(read_all("a b\n\n{\"c\n", NULL), 0, "lines as arguments");
    has("1: wc -1 'a b'\n3: wc -3 '{\"c'\n", "as they stand, without the empty one");
    begin(command);
    is_int(task_list_argument(&list, "x", NULL), 0, "an argument");
    is_int(task_list_argument(&list, "y", NULL), 0, "another");
    has("1: wc -1 x\n2: wc -2 y\n", "each is a task");
}

static void test_refused(void)
{
    char text[64];

    refuses("a\nb 'c\n", "tasks.txt, line 2: no closing '");
    refuses("{\"argv\": [\"x\"]\n", "line 1: no JSON object");
    refuses("{\"argv\": []}", "argv: expected a list of strings");
    refuses("{\"argv\": [\"x\", 1]}", "argv: expected a list of strings");
    refuses("{\"slots\": 1}", "no argv");
    refuses("{\"argv\": [\"\"]}", "the name of the program is empty");
    refuses("''", "the name of the program is empty");
    refuses("{\"argv\": [\"x\"], \"slots\": 0}", "slots: expected a number from 1");
    refuses("{\"argv\": [\"x\"], \"slot\": 1}", "unknown field 'slot': did you mean 'slots'?");
    refuses("{\"argv\": [\"x\"], \"priority\": 1}", "unknown field 'priority': expected argv");
    refuses("{\"argv\": [\"x\"], \"env\": {\"A=B\": \"1\"}}", "env: expected an object");
    refuses("{\"argv\": [\"x\"], \"env\": {\"A\": 1}}", "env: expected an object");
    refuses("{\"argv\": [\"x\"], \"wdir\": \"\"}", "wdir: expected a directory");
    refuses("{\"argv\": [\"x\"], \"name\": 3}", "name: expected a string");
    refuses("{\"argv\": [\"x\"], \"after\": {}}", "after: expected a name");
    refuses("{\"argv\": [\"x\"], \"after\": 1}", "line 1: after: no earlier line has or is '1'");
    refuses("a\n{\"argv\": [\"x\"], \"after\": 3}\nb", "line 2: after: no earlier line");
    refuses("{\"argv\": [\"x\"], \"name\": \"a\"}\n{\"argv\": [\"y\"], \"name\": \"a\"}",
            "line 2: an earlier line has the name 'a'");
    begin(NULL);
    memcpy(text, "a\0b\n", 4);
    ok(task_list_read(&list, text, 4, NULL) < 0, "a NUL byte");
    task_list_fini(&list);
    begin(NULL);
    list.slots_max = 4;
    ok(read_all("{\"argv\": [\"x\"], \"slots\": 5}", NULL) < 0, "more slots than any node has");
    task_list_fini(&list);
}

static void test_long(void)
{
    char *word = memory_allocate(TASK_LINE_BYTES_MAX + 2);
    char *command[] = {(char *)"x", (char *)"{}{}{}{}{}{}{}{}", NULL};

    memset(word, 'a', TASK_LINE_BYTES_MAX + 1);
    word[TASK_LINE_BYTES_MAX + 1] = '\0';
    begin(NULL);
    is_int(read_all(word, NULL), -E2BIG, "a line that is too long");
    task_list_fini(&list);
    word[TASK_LINE_BYTES_MAX] = '\0';
    begin(NULL);
    is_int(read_all(word, NULL), 0, "one that is just not");
    task_list_fini(&list);
    begin(command);
    is_int(read_all(word, NULL), -E2BIG, "or becomes it, as its argument is put in many times");
    task_list_fini(&list);
    free(word);
}

static int resume(const char *joblog, struct error *error)
{
    struct buffer text = {0};
    int rc;

    begin(NULL);
    buffer_append_string(&text, joblog);
    rc = task_list_resume(&list, "log.tsv", &text, error);
    buffer_fini(&text);
    return rc;
}

static void test_resume(void)
{
    struct error error = ERROR_NONE;

    is_int(resume("Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
                  "3\tn1\t1.0\t0.1\t0\t0\t0\t0\tc\n1\tn1\t1.0\t0.1\t0\t0\t0\t9\ta\n"
                  "2\tn1\t1.0\t0.1\t0\t0\t1\t0\tb\n2\tn2\t2.0\t0.1\t0\t0\t0\t0\tb\n"
                  "4\tn2\t2.0\t0.1\t0\t0\t0\t0\td\n4\tn2\t2.0\t0.1\t0\t0\t7\t0\td\n5\tn2\t2.",
                  NULL),
           0, "a joblog is read");
    is_int(read_all("a\nb\nc\nd\ne\n", NULL), 0, "and then the list");
    has("1: a\n2: b done\n3: c done\n4: d\n5: e\n", "the last entry of each task counts");
    is_int(resume("1\tn1\t1.0\t0.1\t0\t0\t0\t0\ta b\n", NULL), 0, "one without titles");
    ok(read_all("a c\n", &error) < 0, "another command there");
    has_string(error.text, "line 1: --resume: the joblog has another command there: a b",
               "is refused");
    task_list_fini(&list);
    is_int(resume("1\t2\n", &error), -EINVAL, "no joblog");
    has_string(error.text, "log.tsv, line 1: no entry of a joblog", "is named");
    task_list_fini(&list);
}

int main(void)
{
    test_lines();
    test_order();
    test_arguments();
    test_refused();
    test_long();
    test_resume();
    return done_testing();
}
