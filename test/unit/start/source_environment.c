/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The real world of the sources: variables, files of bounded size and of the right kind, and flux.
 */
#include "config.h"

#include "launch/start/source_environment.h"
#include "test/support/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/start/command_output.h"

static char scratch[] = "/tmp/bt-sources.XXXXXX";
static char *const variables[] = {(char *)"A=1", (char *)"FLUX_JOB_ID=f1", NULL};

static char *path_of(const char *name)
{
    return memory_printf("%s/%s", scratch, name);
}

static char *write_file(const char *name, const char *text, mode_t mode)
{
    char *path = path_of(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        bail_out("cannot write %s", path);
    close(fd);
    return path;
}

static int read_of(const struct source_ops *world, const char *path, struct buffer *text)
{
    buffer_clear(text);
    return world->file(world->context, path, text);
}

static void test_files(const struct source_ops *world)
{
    char *file = write_file("file", "n1\n", 0600);
    char *pipe_path = path_of("pipe");
    char *large = path_of("large");
    struct buffer text = {0};
    int fd = open(large, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    is_int(read_of(world, file, &text), 0, "a file is read");
    is_string(buffer_string(&text), "n1\n", "whole");
    is_int(read_of(world, "/none/such", &text), -ENOENT, "one that is not there");
    is_int(read_of(world, scratch, &text), -EISDIR, "a directory");
    is_int(read_of(world, "/dev/zero", &text), -ESPIPE, "a device");
    if (mkfifo(pipe_path, 0600) == 0)
        is_int(read_of(world, pipe_path, &text), -ESPIPE, "a pipe does not block");
    if (fd >= 0 && ftruncate(fd, (off_t)SOURCE_FILE_BYTES_MAX + 1) == 0)
        is_int(read_of(world, large, &text), -EFBIG, "one that is too large");
    close(fd);
    buffer_fini(&text);
    free(file);
    free(pipe_path);
    free(large);
}

static void decode(struct source_environment *environment, const char *text, const char *wrong)
{
    struct flux_resources resources;
    struct error error = ERROR_NONE;
    int rc = source_environment_decode_r(environment, text, strlen(text), &resources, &error);

    ok(rc < 0, "%.60s: refused", text);
    has_string(error.text, wrong, "with the reason");
}

static void test_r(struct source_environment *environment)
{
    decode(environment, "", "R: line 1, column 0: ");
    decode(environment, "{", "R: line 1, column 1: ");
    decode(environment, "[]", "R: its version is not 1");
    decode(environment, "{\"version\":2}", "R: its version is not 1");
    decode(environment, "{\"version\":1}", "R: execution.R_lite is not a list");
    decode(environment, "{\"version\":1,\"execution\":{\"R_lite\":[1]}}", "has no rank");
    decode(environment, "{\"version\":1,\"execution\":{\"R_lite\":[{\"rank\":\"0\"}]}}",
           "execution.nodelist is not a list");
    decode(environment,
           "{\"version\":1,\"execution\":{\"R_lite\":[{\"rank\":\"0\"}],\"nodelist\":[1]}}",
           "an entry that is not a string");
}

/* A `flux` in PATH that knows a job and the instance. */
static void test_flux(const struct source_ops *world)
{
    char *flux = write_file(
        "flux",
        "#!/bin/sh\n"
        "case \"$*\" in\n"
        "'job info f1 R') echo '{\"version\":1,\"execution\":{\"R_lite\":[{\"rank\":\"0-1\","
        "\"children\":{\"core\":\"0-3\"}}],\"nodelist\":[\"x[1-2]\"]}}';;\n"
        "'kvs get resource.R') echo '{\"version\":1,\"execution\":{\"R_lite\":[],\"nodelist\":[]}}';;\n"
        "*) echo 'flux-job: ERROR: unknown job id' >&2; exit 1;;\n"
        "esac\n",
        0755);
    struct flux_resources resources = {0};
    struct source_result result;
    struct error error = ERROR_NONE;

    setenv("PATH", scratch, 1);
    is_int(world->flux(world->context, NULL, &resources, &error), 0, "the instance");
    is_uint(resources.entries_count, 0, "has nothing");
    ok(world->flux(world->context, "f2", &resources, &error) < 0, "an unknown job");
    has_string(error.text, "flux exited 1: flux-job: ERROR: unknown job id", "in flux's own words");
    is_int(source_read(source_find("flux", NULL), world, &result, &error), 0, "a job is read");
    is_uint(allocation_nodes(&result.allocation), 2, "its nodes");
    is_uint(allocation_slots(&result.allocation), 8, "and its cores");
    source_result_fini(&result);
    unlink(flux);
    ok(source_read(source_find("flux", NULL), world, &result, &error) < 0, "without flux");
    has_string(error.text, "Flux job f1: flux exited 127: No such file", "it is an error");
    free(flux);
}

static void test_job(const char *variable, const char *expected)
{
    const char *const words[] = {variable, NULL};
    struct source_environment *environment = source_environment_create((char *const *)words);
    char *job = source_environment_job(source_environment_ops(environment));

    is_string(job != NULL ? job : "none", expected, "the job of %s", variable);
    free(job);
    source_environment_destroy(environment);
}

static void test_job_name(const char *const *words, const char *expected)
{
    struct source_environment *environment = source_environment_create((char *const *)words);
    char *name = source_environment_job_name(source_environment_ops(environment));

    is_string(name != NULL ? name : "none", expected, "the name of the job of %s", words[0]);
    free(name);
    source_environment_destroy(environment);
}

static void test_job_names(void)
{
    test_job_name((const char *const[]){"SLURM_JOB_ID=7", "SLURM_JOB_NAME=a b", NULL}, "a b");
    test_job_name((const char *const[]){"LSB_JOBID=7", "LSB_JOBNAME=l", NULL}, "l");
    test_job_name((const char *const[]){"PBS_JOBID=7", "PBS_JOBNAME=p", NULL}, "p");
    test_job_name((const char *const[]){"PBS_JOBID=8", "SLURM_JOB_NAME=old", NULL}, "none");
    test_job_name((const char *const[]){"SLURM_JOB_NAME=old", NULL}, "none");
}

int main(void)
{
    struct source_environment *environment = source_environment_create(variables);
    const struct source_ops *world = source_environment_ops(environment);
    char *command;

    if (mkdtemp(scratch) == NULL)
        bail_out("no scratch directory");
    is_string(world->variable(world->context, "A"), "1", "a variable");
    ok(world->variable(world->context, "B") == NULL, "one that is not set");
    test_files(world);
    test_r(environment);
    test_flux(world);
    test_job("SLURM_JOB_ID=7", "slurm 7");
    test_job("SLURM_JOBID=8", "slurm 8");
    test_job("PBS_JOBID=9.server", "pbs 9.server");
    test_job("JOB_ID=1", "none");
    test_job_names();
    source_environment_destroy(environment);
    command = memory_printf("/bin/rm -rf %s", scratch);
    is_int(system(command), 0, "the scratch directory is removed");
    free(command);
    return done_testing();
}
