// Preloaded into a trainer: lets one of the calls fail that write, sync and
// rename files below a folder. Environment:
//   FAULT_FOLDER  what a path must contain
//   FAULT_CALL    which of the calls fails, counted from 1 on
//   FAULT_KIND    ENOSPC, EIO, or short: a write of half of the bytes
//   FAULT_LOG     a file that gets the name of the call that failed, and of what
//   FAULT_ONLY    names of calls, between spaces: others are not counted
//   FAULT_NO_RENAMEAT2  there is none, as on file systems that lack its flags
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int calls;

static int isWatched(const char *path) {
  const char *folder = getenv("FAULT_FOLDER");
  return folder && strstr(path, folder) != NULL;
}

static int isCounted(const char *call) {
  const char *only = getenv("FAULT_ONLY");
  char word[64];
  snprintf(word, sizeof(word), " %s ", call);
  return !only || strstr(only, word) != NULL;
}

/// Whether this call is the one; then it is in the log.
static int fails(const char *call, const char *path) {
  if (!isWatched(path) || !isCounted(call))
    return 0;
  if (atomic_fetch_add(&calls, 1) + 1 != atoi(getenv("FAULT_CALL")))
    return 0;
  FILE *log = fopen(getenv("FAULT_LOG"), "w");
  if (log) {
    fprintf(log, "%s %s\n", call, path);
    fclose(log);
  }
  errno = strcmp(getenv("FAULT_KIND"), "EIO") == 0 ? EIO : ENOSPC;
  return 1;
}
static int failsOn(const char *call, int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof(path) - 1);
  if (length < 0)
    return 0;
  path[length] = 0;
  return fails(call, path);
}
static int isShort(void) { return strcmp(getenv("FAULT_KIND"), "short") == 0; }

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) {
  if (failsOn("write", fd)) {
    if (!isShort())
      return -1;
    size = (size + 1) / 2;
  }
  return NEXT(write)(fd, data, size);
}
int fsync(int fd) {
  if (failsOn("fsync", fd) && !isShort())
    return -1;
  return NEXT(fsync)(fd);
}
int sync_file_range(int fd, off64_t begin, off64_t size, unsigned flags) {
  if (failsOn("sync_file_range", fd) && !isShort())
    return -1;
  return NEXT(sync_file_range)(fd, begin, size, flags);
}
int symlink(const char *target, const char *path) {
  if (fails("symlink", path) && !isShort())
    return -1;
  return NEXT(symlink)(target, path);
}
int mkdir(const char *path, mode_t mode) {
  if (fails("mkdir", path) && !isShort())
    return -1;
  return NEXT(mkdir)(path, mode);
}
int rename(const char *from, const char *to) {
  if (fails("rename", to) && !isShort())
    return -1;
  return NEXT(rename)(from, to);
}
int renameat2(int fromFolder, const char *from, int toFolder, const char *to,
              unsigned flags) {
  if (getenv("FAULT_NO_RENAMEAT2")) {
    errno = EINVAL;
    return -1;
  }
  if (fails("renameat2", to) && !isShort())
    return -1;
  return NEXT(renameat2)(fromFolder, from, toFolder, to, flags);
}
int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (flags & O_CREAT && fails("open", path) && !isShort())
    return -1;
  return NEXT(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (flags & O_CREAT && fails("open", path) && !isShort())
    return -1;
  return NEXT(open64)(path, flags, mode);
}
