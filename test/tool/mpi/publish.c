/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 opens a port and publishes its name; all look it up, until it is removed.  Each rank prints what it finds. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "none", found[MPI_MAX_PORT_NAME] = "other";
    char again[MPI_MAX_PORT_NAME];
    int rank, before, after;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name("ocean", MPI_INFO_NULL, port);
    }
    MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    before = MPI_Lookup_name("ocean", MPI_INFO_NULL, found);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Unpublish_name("ocean", MPI_INFO_NULL, port);
    MPI_Barrier(MPI_COMM_WORLD);
    after = MPI_Lookup_name("ocean", MPI_INFO_NULL, again);
    printf("%s, then %s\n",
           before == MPI_SUCCESS && strcmp(port, found) == 0 ? "the port" : "something else",
           after == MPI_SUCCESS ? "still there" : "nothing");
    MPI_Finalize();
    return 0;
}
