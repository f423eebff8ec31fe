/* Compiled once per MPI library's header; links none of them. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "Adapter.h"

#include <mpi.h>
#include <stdio.h>
#include <time.h>

static int begin(int *process, int *processes) {
  int level, error, isBegun;
  error = MPI_Initialized(&isBegun);
  if (!error && !isBegun)
    error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
  if (!error && !isBegun && level < MPI_THREAD_SERIALIZED)
    error = ShardcMpiNoThreads;
  if (!error)
    error = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (!error)
    error = MPI_Comm_rank(MPI_COMM_WORLD, process);
  if (!error)
    error = MPI_Comm_size(MPI_COMM_WORLD, processes);
  return error;
}

static MPI_Comm messages;

/* MPI's own waits take a processor each, which the others may need. */
static int await(MPI_Request *request) {
  struct timespec pause = {0, 1000};
  int error = MPI_SUCCESS, isDone = 0;
  while (!error && !isDone) {
    error = MPI_Test(request, &isDone, MPI_STATUS_IGNORE);
    if (isDone)
      break;
    nanosleep(&pause, NULL);
    if (pause.tv_nsec < 100000)
      pause.tv_nsec *= 2;
  }
  return error;
}

/* It is never freed: a message that nobody took stays in it, and MPICH would
   give its identifier, and with that the message, to the next one. */
static int join(void) {
  MPI_Request request;
  int error = MPI_Comm_idup(MPI_COMM_WORLD, &messages, &request);
  return error ? error : await(&request);
}

static int allGather(const void *mine, int bytes, void *all) {
  MPI_Request request;
  int error = MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE,
                             MPI_COMM_WORLD, &request);
  return error ? error : await(&request);
}

static int send(const void *data, int bytes, int to, int tag, void *request) {
  return MPI_Isend(data, bytes, MPI_BYTE, to, tag, messages, request);
}

static int receive(void *data, int bytes, int from, int tag, void *request) {
  return MPI_Irecv(data, bytes, MPI_BYTE, from, tag, messages, request);
}

static int classOf(int error) {
  int class = MPI_ERR_UNKNOWN;
  MPI_Error_class(error, &class);
  return class;
}

static int test(void *requests, int count, ShardcMpiEnd *ends, int *ended) {
  MPI_Status statuses[ShardcMpiMostAsked];
  int indices[ShardcMpiMostAsked], i;
  int error = MPI_Testsome(count, requests, ended, indices, statuses);
  int isInStatus = error && classOf(error) == MPI_ERR_IN_STATUS;
  if (error && !isInStatus)
    return error;
  if (*ended == MPI_UNDEFINED)
    *ended = 0;
  for (i = 0; i < *ended; ++i) {
    ends[i].index = indices[i];
    ends[i].error = isInStatus ? statuses[i].MPI_ERROR : MPI_SUCCESS;
    ends[i].bytes = 0;
    if (ends[i].error == MPI_SUCCESS)
      MPI_Get_count(&statuses[i], MPI_BYTE, &ends[i].bytes);
    else if (classOf(ends[i].error) == MPI_ERR_TRUNCATE)
      ends[i].error = ShardcMpiTooLong;
  }
  return MPI_SUCCESS;
}

static int cancel(void *request) {
  int error = MPI_Cancel(request);
  return error ? error : MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int finish(void) { return MPI_Finalize(); }

static void version(char *text, int bytes) {
  char whole[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length;
  MPI_Get_library_version(whole, &length);
  snprintf(text, bytes, "%s", whole);
}

static void errorText(int error, char *text, int bytes) {
  char whole[MPI_MAX_ERROR_STRING] = "";
  int length;
  MPI_Error_string(error, whole, &length);
  snprintf(text, bytes, "%s", whole);
}

__attribute__((visibility("default"))) const ShardcMpi *shardcMpi(void) {
  static const ShardcMpi table = {
      .requestBytes = sizeof(MPI_Request),
      .begin = begin,
      .join = join,
      .allGather = allGather,
      .send = send,
      .receive = receive,
      .test = test,
      .cancel = cancel,
      .finish = finish,
      .version = version,
      .errorText = errorText,
  };
  return &table;
}
