/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/remote/alloc_require.h"

#include <errno.h>
#include <string.h>

#include "launch/cli/remote/alloc_request.h"
#include "test/support/tap.h"

static struct error error;

static void asks(const char *scheduler, const char *terms, const char *option, const char *chunk,
                 const char *left, const char *kept)
{
    struct alloc_require made;
    struct require require;

    is_int(placement_require_parse(terms, &require, &error), 0, "%s: %s", scheduler, terms);
    alloc_require_make(scheduler, &require, &made);
    is_string(buffer_string(&made.option), option, "its option");
    is_string(buffer_string(&made.chunk), chunk, "its resources of chunks");
    is_string(buffer_string(&made.left), left, "what it cannot be asked for");
    is_string(buffer_string(&made.kept), kept, "what the run checks");
    alloc_require_fini(&made);
}

static void test_terms(void)
{
    asks("slurm", "mem>=64G,gpus>=2,feature=ib,feature=a|b",
         "--mem=65536M\n--gpus-per-node=2\n--constraint=ib&(a|b)\n", "", "",
         "mem>=64G,gpus>=2,feature=ib,feature=a|b");
    asks("slurm", "arch=x86_64,feature!=old,mem<=1T,gpus=0", "", "",
         "arch=x86_64,feature!=old,mem<=1T,gpus=0", "arch=x86_64,feature!=old,mem<=1T,gpus=0");
    asks("lsf", "mem>=64G,gpus=2,feature=ib,feature!=a|b,os=linux",
         "select[maxmem>=65536 && ngpus==2 && ib && !(a || b)]", "", "os=linux", "os=linux");
    asks("lsf", "mem<64G,gpus>0", "select[maxmem<=65535 && ngpus>=1]", "", "", "");
    asks("pbs", "mem>=1G,gpus>1,feature=ib,feature!=old,feature=a|b,arch=x86_64", "",
         ":mem=1024mb:ngpus=2:ib=true:old=false", "feature=a|b,arch=x86_64",
         "feature=a|b,arch=x86_64");
    asks("pbs", "os=linux", "", "", "os=linux", "os=linux");
    /* What means something else there is not asked for. */
    asks("pbs", "feature=a+2:ncpus", "", "", "feature=a+2:ncpus", "feature=a+2:ncpus");
    asks("", "mem>=1G,feature=ib", "", "", "mem>=1G,feature=ib", "mem>=1G,feature=ib");
}

static void chunk_is(const char *value, const char *expected)
{
    struct buffer out = {0};
    int is_select = alloc_require_add_chunk(value, ":mem=1mb", &out);

    is_string(is_select ? buffer_string(&out) : "no select", expected, "-l %s", value);
    buffer_fini(&out);
}

static void test_chunks(void)
{
    chunk_is("select=2", "select=2:mem=1mb");
    chunk_is("select=2:ncpus=4+1:ncpus=8", "select=2:ncpus=4:mem=1mb+1:ncpus=8:mem=1mb");
    chunk_is("walltime=1:00,select=1+1,place=free",
             "walltime=1:00,select=1:mem=1mb+1:mem=1mb,place=free");
    chunk_is("walltime=1:00", "no select");
    chunk_is("preselect=1", "no select");
}

/* The words of the command that a run's words become, or the error. */
static void becomes(const char *request, const char *terms, const char *expected, const char *left)
{
    const struct alloc_request_ops ops = {.banyan = "banyan", .directory = "/d", .has_terminal = 1};
    const char *argv[] = {"run", "--alloc", request, "--require", terms, "-n", "2", "true", NULL};
    struct alloc_request_command command = {.count = 0};
    struct buffer out = {0};
    int rc = alloc_request_command_make(&command, request, 8, (char *const *)argv, &ops, &error);

    for (size_t i = 0; rc == 0 && i < command.count; i++)
        if (strcmp(command.words[0], "salloc") != 0 || strchr(command.words[i], '&') == NULL ||
            command.words[i][0] == '-')
            buffer_printf(&out, "%s%s", i > 0 ? " " : "", command.words[i]);
    is_string(rc == 0 ? buffer_string(&out) : error.text, expected, "%s, %s", request, terms);
    is_string(rc == 0 ? command.left : NULL, left, "what cannot be asked for");
    buffer_fini(&out);
    alloc_request_command_fini(&command);
}

static void test_commands(void)
{
    becomes("slurm: -N2", "mem>=1G,feature=ib",
            "salloc --mem=1024M --constraint=ib -N2 /bin/sh -c sh banyan run --require "
            "mem>=1G,feature=ib -n 2 true",
            NULL);
    becomes("lsf: -n 2", "gpus>=1,os=linux",
            "bsub -I -R select[ngpus>=1] -n 2 banyan run --require os=linux -n 2 true", "os=linux");
    becomes("lsf:", "gpus>=1", "bsub -I -R select[ngpus>=1] banyan run -n 2 true", NULL);
    becomes("pbs: -l select=2 -q q", "mem>=1G",
            "qsub -I -V -x -l select=2:mem=1024mb -q q -- banyan run --wdir /d -n 2 true", NULL);
    becomes("pbs: -lselect=2", "mem>=1G",
            "qsub -I -V -x -lselect=2:mem=1024mb -- banyan run --wdir /d -n 2 true", NULL);
    becomes("pbs: -l nodes=2:ppn=4", "mem>=1G",
            "qsub -I -V -x -l nodes=2:ppn=4 -- banyan run --wdir /d --require mem>=1G -n 2 true",
            "mem>=1G");
    becomes("pbs:", "gpus>=1,arch=arm|x",
            "qsub -I -V -x -l select=1:ngpus=1 -- banyan run --wdir /d --require arch=arm|x -n 2 "
            "true",
            "arch=arm|x");
    becomes("pbs:", "none", "qsub -I -V -x -- banyan run --wdir /d --require none -n 2 true", NULL);
    becomes("lsf:", "colour=red",
            "option --require: column 1: 'colour=red' does not begin with mem, arch, os, feature "
            "or gpus",
            NULL);
    becomes("lsf: 'a", "mem>=1G", "option --alloc: unterminated quote in ' 'a'", NULL);
}

static void test_programs(void)
{
    const struct alloc_request_ops ops = {.banyan = "banyan"};
    const char *argv[] = {"run",     "--alloc", "lsf:", "--require=mem>=1G", "a", ":", "--require",
                          "mem>=2G", "b",       NULL};
    struct alloc_request_command command;

    is_int(alloc_request_command_make(&command, "lsf:", 9, (char *const *)argv, &ops, &error), 0,
           "programs with different requirements");
    is_string(command.words[2], "banyan", "are no part of the request");
    is_string(command.words[4], "--require=mem>=1G", "and are all checked by the run");
    alloc_request_command_fini(&command);
}

int main(void)
{
    test_terms();
    test_chunks();
    test_commands();
    test_programs();
    return done_testing();
}
