/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hello [SIZE]: the least that a launcher must get right. Start, barrier, a ring with data, a sum,
 * the communicator of the own node, end. Each rank prints one line when all of it held:
 *
 *     rank 5 of 64 on v2, 4 here
 *
 * With SIZE, a world of any other size is a failure: a program that its launcher does not serve
 * becomes a world of one. Compiled by every mpicc that there is, at test time.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static void expect(int held, const char *what)
{
    if (held)
        return;
    fprintf(stderr, "rank %d of %d: %s\n", rank, size, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* A token that grows by each rank's number comes back to rank 0 as the sum of all. */
static void pass_ring(void)
{
    int next = (rank + 1) % size;
    int previous = (rank + size - 1) % size;
    int token = 0;

    if (size == 1)
        return;
    if (rank == 0) {
        MPI_Send(&token, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, previous, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(token == size * (size - 1) / 2, "the ring lost something");
        return;
    }
    MPI_Recv(&token, 1, MPI_INT, previous, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token += rank;
    MPI_Send(&token, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
}

static void sum_all(void)
{
    int one[2] = {1, rank};
    int sum[2] = {0, 0};

    MPI_Allreduce(one, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum[0] == size, "Allreduce counts other ranks than Comm_size");
    expect(sum[1] == size * (size - 1) / 2, "Allreduce has a wrong sum");
}

/* How many ranks share memory with this one. */
static int count_here(void)
{
    MPI_Comm here;
    int count;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &count);
    MPI_Comm_free(&here);
    return count;
}

int main(int argc, char **argv)
{
    char host[MPI_MAX_PROCESSOR_NAME];
    int length, here;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        expect(size == atoi(argv[1]), "the world has another size than expected");
    MPI_Barrier(MPI_COMM_WORLD);
    pass_ring();
    sum_all();
    here = count_here();
    MPI_Get_processor_name(host, &length);
    printf("rank %d of %d on %s, %d here\n", rank, size, host, here);
    MPI_Finalize();
    return 0;
}
