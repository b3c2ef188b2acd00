/* SPDX-License-Identifier: BSD-3-Clause */
/* Also launch/cli/option/personality_rules.c, the tables. */
#include "config.h"

#include "launch/cli/option/personality.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/request/request_settings.h"
#include "test/support/tap.h"

#define WORDS_MAX 32

/* Splits line at blanks; its first word is the launcher.  The words of banyan run, the caller's, or NULL. */
static char *translate(const char *line, struct error *error)
{
    char text[512], *argv[WORDS_MAX], *rest = text;
    struct personality_words words;
    struct option_list list;
    char *joined;
    int argc = 0;

    strcpy(text, line);
    for (char *word; (word = strsep(&rest, " ")) != NULL && argc < WORDS_MAX - 1;)
        argv[argc++] = word;
    argv[argc] = NULL;
    *error = ERROR_NONE;
    if (personality_translate(personality_find(argv[0]), run_rules, argc, argv, &words, error) < 0)
        return NULL;
    list =
        (struct option_list){.items = (const char **)words.items, .count = (uint32_t)words.count};
    joined = options_list_join(&list, " ");
    personality_words_fini(&words);
    return joined;
}

static void becomes(const char *line, const char *expected)
{
    struct error error;
    char *words = translate(line, &error);

    is_string(words, expected, "%s", line);
    if (words == NULL)
        diag("%s", error.text);
    free(words);
}

static void refuses(const char *line, const char *why)
{
    struct error error;
    char *words = translate(line, &error);

    ok(words == NULL, "%s is refused", line);
    has_string(error.text, why, "because %s", why);
    free(words);
}

static void test_mpiexec(void)
{
    becomes("mpiexec -n 4 ./a -n 5 b", "run --np 4 ./a -n 5 b");
    becomes("mpiexec -n=4 --ppn 2 a", "run --np 4 --per-node 2 a");
    becomes("mpiexec -genv A 1 -env B 2 -hosts x,y -l a",
            "run --env A=1 --env B=2 --host x,y --label a");
    becomes("mpiexec -bind-to socket -map-by numa:socket a",
            "run --bind-to package --map-by numa:package a");
    becomes("mpiexec -launcher slurm -usize 3 -genvall -path /x a",
            "run --starter srun --prepend PATH=/x a");
    becomes("mpiexec -n 1 a : -n 2 -env C 3 b : c", "run --np 1 a : --np 2 --env C=3 b : c");
    becomes("mpiexec -n 1 -- a : -n 2", "run --np 1 -- a : -n 2");
    becomes("mpiexec", "run");
    refuses("mpiexec -genv A", "option '-genv' needs a name and a value");
    refuses("mpiexec -n", "option '-n' needs a value");
    refuses("mpiexec -genvall=1 a", "option '-genvall=1' takes no value");
}

static void test_mpirun(void)
{
    becomes("mpirun --allow-run-as-root -np 4 --npernode 2 a", "run --np 4 --per-node 2 a");
    becomes("mpirun --mca btl self,tcp --map-by ppr:2:socket:pe=2 a",
            "run --env OMPI_MCA_btl=self,tcp --map-by ppr:2:package:pe=2 a");
    becomes("mpirun -x A -x B=1 --bynode --bind-to none --app f",
            "run --env A --env B=1 --map-by node --bind-to none --app-file f");
    /* Those of banyan run pass, with their values, and those that it will refuse. */
    becomes("mpirun --timeout 3 -vv --rlimit core=0 --oversubscribe --none 3 a",
            "run --timeout 3 -vv --rlimit core=0 --oversubscribe --none 3 a");
}

static void test_srun(void)
{
    becomes("srun -n4 -c 2 a", "run --np 4 --cpus-per-rank 2 a");
    becomes("srun -lN2 a", "run --label --host +n0,+n1 --per-node 1 a");
    becomes("srun -N 2 -n 5 a", "run --np 5 --host +n0,+n1 --per-node 3 a");
    becomes("srun --nodes=1 --ntasks-per-node=4 a", "run --per-node 4 --host +n0 a");
    becomes("srun -N2 -w x,y -x z a", "run --host x,y --host ^z --per-node 1 a");
    becomes("srun --export=ALL,A=1,B -D /d a", "run --env A=1 --env B --wdir /d a");
    becomes("srun --cpu-bind=verbose,cores --mem-bind=v,local a",
            "run --bind-to core --bind-memory local a");
    becomes("srun --mpi=pmix_v4 -m cyclic:block -O a",
            "run --mpi pmix --map-by node --oversubscribe a");
    becomes("srun -m block a", "run a");
    becomes("srun -K --kill-on-bad-exit=1 a", "run a");
    becomes("srun --kill-on-bad-exit=0 a", "run --on-failure continue a");
    becomes("srun -t 3 a", "run --timeout 180 a");
    becomes("srun -t 3:05 a", "run --timeout 185 a");
    becomes("srun -t 1:00:05 a", "run --timeout 3605 a");
    becomes("srun --time=1-2 a", "run --timeout 93600 a");
    becomes("srun -t 0 a", "run a");
    becomes("srun -i all a", "run --stdin all a");
    becomes("srun --pty a", "run --pty a");
    becomes("srun -i none -J name -uQ a", "run --stdin none a");
    becomes("srun -n x a", "run --np x a"); /* for the parser of banyan run */
    refuses("srun -t 1:2:3:4 a", "option '-t': '1:2:3:4' is not a time");
    refuses("srun -t x a", "is not a time");
    refuses("srun -t 1- a", "is not a time");
    refuses("srun -t -1 a", "is not a time");
    refuses("srun -N 1-4 a", "'1-4' is not a number of nodes");
    refuses("srun -N 0 a", "'0' is not a number of nodes");
    refuses("srun --export=NONE a", "'env -i srun ...' starts with none");
    refuses("srun -m arbitrary a", "begins with neither block nor cyclic");
    refuses("srun -H a", "unknown option '-H': give it to salloc or sbatch");
    refuses("srun --nice=3 a", "unknown option '--nice=3'");
    refuses("srun -p debug a", "unknown option '-p': an option of the scheduler");
    refuses("srun -@ a", "unknown option '-@': srun --help lists the options");
}

/* Every word that a table makes of an option is one of banyan run, and every name is there once. */
static void test_tables(void)
{
    for (size_t i = 0; i < personalities_count; i++) {
        const struct personality_rule *rule = personalities[i].rules;
        struct buffer text = {0};

        for (; rule->names != NULL; rule++) {
            char native[64], *rest = native;
            int words = 0;

            if (rule->kind == PERSONALITY_REFUSE)
                continue;
            snprintf(native, sizeof(native), "%s", rule->native);
            for (char *word; (word = strsep(&rest, " ")) != NULL;)
                words += word[0] == '-' ? options_words(run_rules, word) : 1;
            ok(words > 0, "%s: '%s' is made of '%s'", personalities[i].name, rule->native,
               rule->names);
        }
        personality_help(&personalities[i], &text);
        has_string(buffer_string(&text), personalities[i].name, "help names the launcher");
        buffer_fini(&text);
    }
    ok(personality_find("banyan") == NULL && personality_find("") == NULL,
       "banyan is none of them");
}

int main(void)
{
    test_mpiexec();
    test_mpirun();
    test_srun();
    test_tables();
    return done_testing();
}
