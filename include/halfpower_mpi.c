/* The few functions of MPI that Halfpower uses, so that one binary works with every MPI:
 *
 *     mpicc -shared -fPIC -O2 -o halfpower_mpi.so halfpower_mpi.c
 *
 * Put halfpower_mpi.so beside the program, or name it in HALFPOWER_MPI. All are called by one thread. They return 0, or an error
 * of MPI. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int halfpower_mpi_begin(int *rank, int *size) {
    int support, error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &support);
    if (!error)
        error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    return error ? error : MPI_Comm_size(MPI_COMM_WORLD, size);
}

/* Sends, and sleeps while the receiver is not ready: MPI_Send would use a CPU meanwhile. -1 if it is not ready in time. */
int halfpower_mpi_send(const void *bytes, int length, int to, int tag, int seconds) {
    const struct timespec pause = {0, 200000};
    const time_t end = time(NULL) + seconds;
    MPI_Request request;
    /* MPI may read it later, even if nobody waits for that any more. */
    void *copy = malloc(length ? length : 1);
    int done = 0, error;
    if (!copy)
        return MPI_ERR_OTHER;
    memcpy(copy, bytes, length);
    error = MPI_Isend(copy, length, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    while (!error && !(error = MPI_Test(&request, &done, MPI_STATUS_IGNORE)) && !done) {
        if (time(NULL) > end)
            return -1;
        nanosleep(&pause, NULL);
    }
    free(copy);
    return error;
}

/* The length of the next message, or -1 if there is none yet. */
int halfpower_mpi_probe(int from, int tag, int *length) {
    MPI_Status status;
    int there, error = MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, &status);
    *length = -1;
    return error || !there ? error : MPI_Get_count(&status, MPI_BYTE, length);
}

int halfpower_mpi_receive(void *bytes, int length, int from, int tag) {
    return MPI_Recv(bytes, length, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int halfpower_mpi_end(void) { return MPI_Finalize(); }

/* Ends all processes, where one does not answer and MPI_Finalize would wait for it. */
int halfpower_mpi_abort(int status) { return MPI_Abort(MPI_COMM_WORLD, status); }
