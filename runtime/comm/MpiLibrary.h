// The MPI library that a launcher's processes share, found at run time.
#ifndef SHARDC_RUNTIME_COMM_MPILIBRARY_H
#define SHARDC_RUNTIME_COMM_MPILIBRARY_H

#include "runtime/base/Error.h"
#include "runtime/comm/mpi/Adapter.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// There is none that fits.
class MpiMissing : public Error {
public:
  using Error::Error;
};

/// Threads use it one at a time. One in a process: MPI begins once.
class MpiLibrary {
public:
  /// Those that share a binary interface.
  enum class Kind { OpenMpi, Mpich };
  /// Names under which the system may have one, the kind's own first: of Open
  /// MPI 4 and 5; of MPICH, Intel MPI, Cray MPICH and MVAPICH; of Debian's MPICH.
  static std::vector<std::string> usualNames(Kind kind);

  /// Opens a library of the first of these kinds of which there is one. Throws
  /// MpiMissing, with the names that were looked for.
  static std::shared_ptr<MpiLibrary>
  find(const std::vector<Kind> &kinds,
       const std::function<std::vector<std::string>(Kind)> &names = usualNames);

  /// All processes call it, and wait for each other. MPI itself ends a process
  /// where this fails, and says why.
  void begin();
  /// "Open MPI v4.1.4"
  std::string name() const;
  int process() const { return ownProcess; }
  int processes() const { return count; }
  /// Tells all processes `mine`, and returns what each has told, by process.
  std::vector<std::string> exchange(const std::string &mine);
  /// The last thing that all processes do, when all went well: it waits for
  /// them. A process that fails ends without it, and its launcher ends the
  /// others. On the thread that called begin().
  void finish();

  const ShardcMpi &calls() const { return *table; }
  /// Throws an Error for one of MPI's.
  void require(int error, const char *what) const;
  std::string errorText(int error) const;

private:
  explicit MpiLibrary(const ShardcMpi *table) : table(table) {}

  const ShardcMpi *table;
  int ownProcess = 0, count = 1;
};

} // namespace shardc::runtime

#endif
