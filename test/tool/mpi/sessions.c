/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Without MPI_Init: each process opens a session, and those of mpi://WORLD make a communicator, twice under one name and
 * then of the even and of the odd ones at once.  Each rank prints the sums over them; "no sessions" if MPI has none.
 */
#include <mpi.h>
#include <stdio.h>

/* Open MPI 5 has them, and calls itself 3.1. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
static MPI_Comm communicator(MPI_Group group, const char *tag)
{
    MPI_Comm made;

    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    return made;
}

static int sum(MPI_Comm all, int value)
{
    int result = 0;

    MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, all);
    return result;
}

static int sum_of_group(MPI_Group group, const char *tag, int value)
{
    MPI_Comm made = communicator(group, tag);
    int result = sum(made, value);

    MPI_Comm_free(&made);
    return result;
}

static int sum_of_half(MPI_Group world, int rank, int size)
{
    int range[1][3] = {{rank % 2, size - 1, 2}}, result;
    MPI_Group half;

    MPI_Group_range_incl(world, 1, range, &half);
    result = sum_of_group(half, rank % 2 == 0 ? "even" : "odd", rank);
    MPI_Group_free(&half);
    return result;
}

int main(void)
{
    int rank, size, first, second;
    MPI_Session session;
    MPI_Group world;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_rank(world, &rank);
    MPI_Group_size(world, &size);
    first = sum_of_group(world, "ocean", rank);
    second = sum_of_group(world, "ocean", 1);
    printf("sums %d %d, %s %d\n", first, second, rank % 2 == 0 ? "even" : "odd",
           sum_of_half(world, rank, size));
    MPI_Group_free(&world);
    MPI_Session_finalize(&session);
    return 0;
}
#else
int main(void)
{
    puts("no sessions");
    return 0;
}
#endif
