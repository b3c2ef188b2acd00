/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

#define ITEMS_MAX 4

static const char *const variables[] = {
    "PATH=/bin",   "TMPDIR=/var/tmp", "PWD=/somewhere", "SSH_AUTH_SOCK=/s", "SSH_TTY=/t",
    "PMIX_RANK=3", "BANYAN_RANK=7",   "OMP_A=1",        "OMP_B=2",          "RANK=9",
    NULL};

static int read_file(const char *path, struct buffer *out, struct error *error)
{
    if (strcmp(path, "good") == 0)
        buffer_append_string(out, "# comment\n\n  A=1  \nexport B=\"two words\"\nC='x\r\nPATH\n"
                                  "D=\nE=a=b\nF='\n");
    else if (strcmp(path, "bad") == 0)
        buffer_append_string(out, "A=1\nB C=2\n");
    else if (strcmp(path, "nameless") == 0)
        buffer_append_string(out, "=1");
    else if (strcmp(path, "binary") == 0)
        buffer_append(out, "A=1\0B", 5);
    else
        return error_set(error, -ENOENT, "cannot read %s: %s", path, strerror(ENOENT));
    return 0;
}

static struct request_ops world = {.environment = (char *const *)variables,
                                   .directory = "/home/100%",
                                   .read_file = read_file};

static struct app_spec app;

/* A list of the words in a text; they stay valid until the next call for that list. */
static struct option_list list_of(char *text, size_t text_bytes, const char **items,
                                  const char *words)
{
    struct option_list list = {.items = items};
    char *rest = text;

    snprintf(text, text_bytes, "%s", words);
    for (char *word; words[0] != '\0' && (word = strsep(&rest, " ")) != NULL;)
        items[list.count++] = word;
    return list;
}

#define LIST(words) list_of((char[200]){0}, 200, (const char *[ITEMS_MAX]){NULL}, words)

static void forget_app(void)
{
    struct job_spec spec;

    job_spec_init(&spec);
    spec.apps = memory_copy(&app, sizeof(app));
    spec.apps_count = 1;
    job_spec_fini(&spec);
    app = (struct app_spec){.argv = NULL};
}

static int make(const struct request_settings *settings, uint32_t mpi, struct error *error)
{
    forget_app();
    *error = ERROR_NONE;
    return request_process_make(settings, &world, mpi, &app, error);
}

static void makes(const struct request_settings *settings, const char *what)
{
    struct error error;

    if (!ok(make(settings, 0, &error) == 0, "%s", what))
        diag("%s", error.text);
}

static void refuses(const struct request_settings *settings, const char *why)
{
    struct error error;

    ok(make(settings, 0, &error) < 0, "it is refused: %s", why);
    has_string(error.text, why, "and says so");
}

/* The last of that name, as it counts in a process; NULL if there is none. */
static const char *value_of(const char *name)
{
    size_t bytes = strlen(name);
    const char *value = NULL;

    for (char **variable = app.set; *variable != NULL; variable++)
        if (strncmp(*variable, name, bytes) == 0 && (*variable)[bytes] == '=')
            value = *variable + bytes + 1;
    return value;
}

static void test_patterns(void)
{
    struct error error;

    makes(&(struct request_settings){.set = LIST("X=*")}, "no pattern, but a value with a star");
    is_string(value_of("X"), "*", "is set");
    is_string(value_of("SSH_TTY"), NULL, "what belongs to the login is not exported");
    makes(&(struct request_settings){.set = LIST("SSH_* OMP_[A] NONE_*")}, "patterns");
    is_string(value_of("SSH_TTY"), "/t", "export what they match");
    is_string(value_of("SSH_AUTH_SOCK"), "/s", "all of it");
    makes(&(struct request_settings){.set = LIST("*")}, "everything");
    is_string(value_of("SSH_TTY"), "/t", "is what belongs to the login");
    is_string(value_of("TMPDIR"), NULL, "but not what each node has of its own");
    is_string(value_of("PWD"), NULL, "or each process");
    is_string(value_of("BANYAN_RANK"), NULL, "or banyan");
    is_string(value_of("PMIX_RANK"), NULL, "or another launcher");
    is_string(value_of("RANK"), "9", "RANK is the user's");
    is_int(make(&(struct request_settings){.set = LIST("R*")}, JOB_MPI_TORCH, &error), 0,
           "unless torch is to have its own");
    is_string(value_of("RANK"), NULL, "which a pattern does not replace");
    makes(&(struct request_settings){.set = LIST("TMPDIR")}, "a name");
    is_string(value_of("TMPDIR"), "/var/tmp", "exports anything");
    refuses(&(struct request_settings){.set = LIST("NONE")}, "option -x: 'NONE' is not set here");
}

static void test_files(void)
{
    makes(&(struct request_settings){.env_files = LIST("good"), .set = LIST("A=2")}, "a file");
    is_string(value_of("A"), "2", "-x has precedence");
    is_string(value_of("B"), "two words", "quotes are removed");
    is_string(value_of("C"), "'x", "at both ends or not at all");
    is_string(value_of("PATH"), "/bin", "a name alone is exported");
    is_string(value_of("D"), "", "an empty value");
    is_string(value_of("E"), "a=b", "a value with an equals sign");
    is_string(value_of("F"), "'", "one quote is a value");
    refuses(&(struct request_settings){.env_files = LIST("none")},
            "option --env-file: cannot read none");
    refuses(&(struct request_settings){.env_files = LIST("good bad")},
            "bad:2: 'B C=2' is not NAME=VALUE or NAME");
    refuses(&(struct request_settings){.env_files = LIST("nameless")}, "nameless:1: '=1'");
    refuses(&(struct request_settings){.env_files = LIST("binary")}, "contains a NUL byte");
}

static void edit_is(uint32_t index, enum variable_edit_kind kind, const char *name,
                    const char *value, char separator)
{
    const struct variable_edit *edit = &app.edits.items[index];

    if (!ok(index < app.edits.count, "there is a change %u", index))
        return;
    is_int(edit->kind, kind, "of its kind");
    is_string(edit->name, name, "of %s", name);
    is_string(edit->value, value, "with its value");
    is_int(edit->separator, separator, "and separator");
}

static void test_edits(void)
{
    makes(&(struct request_settings){.unset = LIST("FOO OMP_*"),
                                     .append = LIST("PATH=/a:/b F=-g:, G=x:"),
                                     .prepend = LIST("H=::")},
          "changes");
    is_string(value_of("OMP_A"), NULL, "what a pattern removes");
    is_string(value_of("OMP_B"), NULL, "is not exported");
    is_string(value_of("PATH"), "/bin", "the rest is");
    edit_is(0, VARIABLE_EDIT_UNSET, "FOO", "", '\0');
    edit_is(1, VARIABLE_EDIT_PREPEND, "H", "::", ':');
    edit_is(2, VARIABLE_EDIT_APPEND, "PATH", "/a:/b", ':');
    edit_is(3, VARIABLE_EDIT_APPEND, "F", "-g", ',');
    edit_is(4, VARIABLE_EDIT_APPEND, "G", "x:", ':');
    is_uint(app.edits.count, 5, "and no more");
    refuses(&(struct request_settings){.unset = LIST("A=1")},
            "option --unset: 'A=1' is not a name or a pattern");
    refuses(&(struct request_settings){.append = LIST("A")}, "option --append: 'A' is not NAME=");
    refuses(&(struct request_settings){.append = LIST("A=")}, "option --append: 'A=' is not NAME=");
    refuses(&(struct request_settings){.prepend = LIST("=x")}, "option --prepend: '=x' is not");
}

static void test_directories(void)
{
    makes(&(struct request_settings){.directory = NULL}, "no directory");
    is_string(app.directory, "/home/100%", "is the current one");
    ok(!app.directory_is_template, "as it is");
    makes(&(struct request_settings){.directory = "d%r"}, "a template below the current one");
    is_string(app.directory, "/home/100%%/d%r", "whose name is not a part of it");
    ok(app.directory_is_template, "is one");
    makes(&(struct request_settings){.directory = "/x/%h"}, "an absolute one");
    is_string(app.directory, "/x/%h", "is as given");
    refuses(&(struct request_settings){.directory = "/x/%q"},
            "option --wdir: '%q' is not %r (rank), %h (node), %j (job) or %% in '/x/%q'");
    refuses(&(struct request_settings){.directory = "/x/%"}, "option --wdir: '%'");
    makes(&(struct request_settings){.limits = LIST("nofile=7"), .umask = "2", .nice = "1"},
          "limits");
    is_uint(app.limits.items[PROCESS_LIMIT_NOFILE].soft, 7, "are the application's");
    world.directory = NULL;
    refuses(&(struct request_settings){.directory = "d"},
            "the current directory no longer exists: give --wdir an absolute path");
}

int main(void)
{
    test_patterns();
    test_files();
    test_edits();
    test_directories();
    forget_app();
    return done_testing();
}
