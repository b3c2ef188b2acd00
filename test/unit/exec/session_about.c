/* SPDX-License-Identifier: BSD-3-Clause */
/* What an instance says of itself to those who look for one: launch/exec/session_about.c. */
#include "config.h"

#include "launch/exec/session_about.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/support/tap.h"

static void test_text(void)
{
    struct session_about about = {.version = "1.0 (control 7)", .job = "slurm 4711"}, back;
    char long_name[2 * SESSION_ABOUT_BYTES];
    struct buffer text = {0};
    char line[2 * SESSION_ABOUT_BYTES];

    session_about_set(about.name, "my\njob\x1b");
    session_about_print(&about, &text);
    is_string(buffer_string(&text), "version 1.0 (control 7)\njob slurm 4711\nname my job \n",
              "a line for each");
    is_int(session_about_parse(buffer_string(&text), &back), 0, "are read");
    is_string(back.version, about.version, "version");
    is_string(back.job, about.job, "job");
    is_string(back.name, "my job ", "name");
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    session_about_set(about.name, long_name);
    is_uint(strlen(about.name), SESSION_ABOUT_BYTES - 1, "a long name is cut");
    session_about_set(about.name, NULL);
    is_string(about.name, "", "none");
    buffer_fini(&text);
    is_int(session_about_parse("version 2\nweather fine\njo\nversio", &back), 0,
           "what nobody knows is ignored");
    is_string(back.version, "2", "the rest counts");
    is_string(back.job, "", "no job");
    is_int(session_about_parse("job slurm 1\n", &back), -EBADMSG, "no version: it says nothing");
    is_int(session_about_parse("", &back), -EBADMSG, "likewise an empty file");
    is_string(back.version, "2", "which changes nothing");
    snprintf(line, sizeof(line), "version %0*d\n", SESSION_ABOUT_BYTES, 0);
    is_int(session_about_parse(line, &back), -EBADMSG, "what is too long is not a version");
    ok(strstr(session_about_version(), PACKAGE_VERSION " (control ") == session_about_version(),
       "a version names the release and the protocol");
}

static void test_file(void)
{
    struct session_about about = {.version = "3"}, back;
    char directory[] = "/tmp/about.XXXXXX", path[64];
    struct error error;
    struct stat status;

    if (mkdtemp(directory) == NULL)
        exit(1);
    snprintf(path, sizeof(path), "%s/" SESSION_ABOUT_FILE, directory);
    is_int(session_about_read(directory, &back), -ENOENT, "nothing is said");
    is_int(session_about_write(directory, &about, &error), 0, "it is said");
    is_int(session_about_read(directory, &back), 0, "and read");
    is_string(back.version, "3", "the same");
    ok(stat(path, &status) == 0 && (status.st_mode & 077) == 0, "by nobody else");
    about.version[0] = '4';
    is_int(session_about_write(directory, &about, &error), 0, "it is said again");
    is_int(session_about_read(directory, &back), 0, "and read");
    is_string(back.version, "4", "the last counts");
    unlink(path);
    rmdir(directory);
    is_int(session_about_write(directory, &about, &error), -ENOENT, "there is no directory");
    ok(strncmp(error.text, "cannot write /tmp/about.", 24) == 0, "which is named");
}

int main(void)
{
    test_text();
    test_file();
    return done_testing();
}
