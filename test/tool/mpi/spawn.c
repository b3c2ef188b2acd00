/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI programs that start others: spawn N [TIMES]. The ranks spawn N processes of the same program TIMES
 * times, one after the other, and then twice N of them as two commands; each time parents and children
 * merge, and sum their ranks up, and the children say what they are. Prints one line for each job.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both sides: the sum of all ranks of the merged communicator, which must be that of its size. */
static int sum_is_right(MPI_Comm inter, int is_child, int *ret_size)
{
    MPI_Comm all;
    int rank, size, sum = 0;

    MPI_Intercomm_merge(inter, is_child, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_free(&all);
    *ret_size = size;
    return sum == size * (size - 1) / 2;
}

static int be_child(MPI_Comm parent, const char *name)
{
    int rank, size, remote, merged, *number, found, right;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_remote_size(parent, &remote);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
    right = sum_is_right(parent, 1, &merged);
    if (rank == 0)
        printf("%s: %d children of %d parents, %d together, %s\n", name, size, remote, merged,
               right ? "right" : "WRONG");
    fflush(stdout);
    MPI_Comm_disconnect(&parent);
    return right ? 0 : 1;
}

static int meet(MPI_Comm inter, int rank, int errors)
{
    int merged, right = sum_is_right(inter, 0, &merged);

    if (rank == 0)
        printf("parents: %d together, %s\n", merged, right && !errors ? "right" : "WRONG");
    fflush(stdout);
    MPI_Comm_disconnect(&inter);
    return right && !errors;
}

static int count_errors(const int *codes, int count)
{
    int errors = 0;

    for (int i = 0; i < count; i++)
        errors += codes[i] != MPI_SUCCESS;
    return errors;
}

int main(int argc, char **argv)
{
    char one[] = "one", two[] = "two", *args_one[] = {one, NULL}, *args_two[] = {two, NULL};
    char *commands[] = {argv[0], argv[0]}, **args[] = {args_one, args_two};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm parent, inter;
    int rank, ok = 1, count, times;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        ok = be_child(parent, argc > 1 ? argv[1] : "none") == 0;
        MPI_Finalize();
        return ok ? 0 : 1;
    }
    count = argc > 1 ? atoi(argv[1]) : 1;
    times = argc > 2 ? atoi(argv[2]) : 1;
    for (int i = 0; i < times; i++) {
        int *codes = calloc((size_t)count, sizeof(*codes));

        MPI_Comm_spawn(argv[0], args_one, count, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
        ok &= meet(inter, rank, count_errors(codes, count));
        free(codes);
    }
    {
        int counts[] = {count, count}, *codes = calloc((size_t)(2 * count), sizeof(*codes));

        MPI_Comm_spawn_multiple(2, commands, args, counts, infos, 0, MPI_COMM_WORLD, &inter, codes);
        ok &= meet(inter, rank, count_errors(codes, 2 * count));
        free(codes);
    }
    MPI_Finalize();
    return ok ? 0 : 1;
}
