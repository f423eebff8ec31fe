/* What a trainer asks of an MPI library, as a table of functions. MPI has no
   binary interface that all libraries share: Adapter.c is compiled against the
   header of each, and the one that fits is loaded when the library is known
   (MpiLibrary.h). */
#ifndef SHARDC_RUNTIME_COMM_MPI_ADAPTER_H
#define SHARDC_RUNTIME_COMM_MPI_ADAPTER_H

#ifdef __cplusplus
extern "C" {
#endif

/* A message that has ended. */
typedef struct {
  int index; /* of its request, among those that were asked about */
  int bytes; /* of one that was received */
  int error; /* 0, ShardcMpiTooLong, or one of MPI's */
} ShardcMpiEnd;

enum {
  ShardcMpiTooLong = -1,   /* longer than the memory that it was to go to */
  ShardcMpiNoThreads = -2, /* begin() has no library for several threads */
  ShardcMpiMostAsked = 64  /* requests at once */
};

/* Functions return 0, or an error of MPI's. */
typedef struct {
  int requestBytes; /* what a request takes */
  /* For threads that call one at a time; then errors are returned. */
  int (*begin)(int *process, int *processes);
  /* Makes what messages are sent through from now on, apart from all others.
     All processes call it. */
  int (*join)(void);
  int (*allGather)(const void *mine, int bytes, void *all);
  int (*send)(const void *data, int bytes, int to, int tag, void *request);
  int (*receive)(void *data, int bytes, int from, int tag, void *request);
  /* Of `count` requests in a row those that have ended. */
  int (*test)(void *requests, int count, ShardcMpiEnd *ends, int *ended);
  /* One that is received: it has ended when this returns. */
  int (*cancel)(void *request);
  int (*finish)(void);
  /* What people read: of the library, of an error. */
  void (*version)(char *text, int bytes);
  void (*errorText)(int error, char *text, int bytes);
} ShardcMpi;

/* The one name that a loaded adapter is asked for. */
const ShardcMpi *shardcMpi(void);

#ifdef __cplusplus
}
#endif

#endif
