// One copy after the other, in their order.
#include "runtime/cpu/Transfers.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"

#include <cstring>

namespace shardc::runtime::cpu {

static constexpr uintptr_t fileBegin = uintptr_t(1) << 63;

static int64_t placeOf(const std::byte *address) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) - fileBegin);
}

bool Transfers::isInFile(const std::byte *address) {
  return reinterpret_cast<uintptr_t>(address) >= fileBegin;
}

Transfers::~Transfers() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

std::byte *Transfers::allocate(const std::string &name, int64_t bytes) {
  if (bytes == 0)
    return nullptr;
  if (folder.empty())
    fail("the pool ", name, " of ", bytes,
         " bytes lies in a file; give --offload-dir DIR, a folder for it");
  if (file)
    fail("expects one pool in a file, got ", name, " as well");
  file = std::make_unique<OffloadFile>(folder, bytes);
  return reinterpret_cast<std::byte *>(fileBegin);
}

void Transfers::copy(std::byte *to, const std::byte *from, int64_t bytes) {
  if (isInFile(from) && isInFile(to))
    fail("expects to copy between memory and the file, got two places of it");
  if (isInFile(from))
    file->read(placeOf(from), to, bytes);
  else if (isInFile(to))
    file->write(placeOf(to), from, bytes);
  else if (bytes > 0)
    std::memcpy(to, from, static_cast<size_t>(bytes));
}

void Transfers::start(uint32_t id, const Tensor &source,
                      const Tensor &destination) {
  int64_t bytes =
      source.elements() * static_cast<int64_t>(elementSize(source.dtype));
  {
    std::lock_guard lock(mutex);
    if (!states.try_emplace(id).second)
      fail("transfer ", id, " is started again before its wait");
    queue.push_back({id, source.data, destination.data, bytes});
    if (!thread.joinable())
      thread = std::thread([this] { work(); });
  }
  changed.notify_all();
}

void Transfers::wait(uint32_t id) {
  std::unique_lock lock(mutex);
  auto found = states.find(id);
  if (found == states.end())
    fail("transfer ", id, " is waited for before its start");
  changed.wait(lock, [&] { return found->second.isDone; });
  std::exception_ptr error = found->second.error;
  states.erase(found);
  if (error)
    std::rethrow_exception(error);
}

void Transfers::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ending || !queue.empty(); });
    // What was started is not given up: its memory is there until then.
    if (queue.empty())
      return;
    Copy next = queue.front();
    queue.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      copy(next.to, next.from, next.bytes);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    states[next.id] = {true, error};
    changed.notify_all();
  }
}

} // namespace shardc::runtime::cpu
