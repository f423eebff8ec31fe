// A rank's pool host, which is a file, and the thread that copies between it
// and memory.
#ifndef SHARDC_RUNTIME_CPU_TRANSFERS_H
#define SHARDC_RUNTIME_CPU_TRANSFERS_H

#include "runtime/base/Tensor.h"
#include "runtime/files/OffloadFile.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace shardc::runtime::cpu {

/// Places in the file have addresses, which are no memory: they are those of
/// the upper half of the address space, where no process has any, so that
/// whoever reads or writes there is ended.
class Transfers {
public:
  /// `folder`: for the file; it is asked for when there is something to put
  /// there.
  explicit Transfers(std::string folder) : folder(std::move(folder)) {}
  ~Transfers();
  Transfers(const Transfers &) = delete;
  Transfers &operator=(const Transfers &) = delete;

  /// Makes the file, once. Throws an Error where there is no folder, or the
  /// file cannot be made.
  std::byte *allocate(const std::string &name, int64_t bytes);
  static bool isInFile(const std::byte *address);

  /// Copies at once; one of the two may be in the file.
  void copy(std::byte *to, const std::byte *from, int64_t bytes);
  /// Begins to copy a contiguous tensor, behind what was begun before.
  void start(uint32_t id, const Tensor &source, const Tensor &destination);
  /// Returns when it is there. Throws what went wrong.
  void wait(uint32_t id);

private:
  struct Copy {
    uint32_t id;
    const std::byte *from;
    std::byte *to;
    int64_t bytes;
  };
  void work();

  std::string folder;
  std::unique_ptr<OffloadFile> file;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Copy> queue;
  /// Of those that were started and not waited for: whether they are done, and
  /// what went wrong.
  struct State {
    bool isDone = false;
    std::exception_ptr error;
  };
  std::map<uint32_t, State> states;
  bool ending = false;
  std::thread thread; // from the first start on
};

} // namespace shardc::runtime::cpu

#endif
