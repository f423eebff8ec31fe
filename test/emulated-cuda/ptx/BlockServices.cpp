// What kernels call: a fiber says what it waits for, and others run.
#include "BlocksImpl.h"

#include <cstring>

namespace shardc::test::ptx {

void Blocks::Impl::barrierOf(Thread *thread, uint32_t number, uint32_t count,
                             const char *statement) {
  Fiber &fiber = of(thread);
  if (number > 15)
    Blocks::end(thread, std::string("there are 16 barriers: ") + statement);
  fiber.barrier = number;
  fiber.barrierThreads = count;
  fiber.statement = statement;
  wait(fiber, State::Barrier);
}

void Blocks::Impl::warpOf(Thread *thread, WarpOp op, uint32_t mask,
                          const uint32_t *in, uint32_t *out,
                          const char *statement) {
  Fiber &fiber = of(thread);
  fiber.op = op;
  fiber.mask = mask;
  fiber.in = in;
  fiber.out = out;
  fiber.statement = statement;
  wait(fiber, State::Warp);
}

void Blocks::Impl::sharedOf(Thread *thread, uint64_t address, uint32_t kind,
                            const char *statement) {
  // Billions of times in the tests: bytes are a power of two.
  uint64_t within = address & ((kind & accessBytes) - 1);
  if ((within | thread->checksShared) == 0) [[likely]]
    return;
  checkShared(thread, address, kind, statement);
}

void Blocks::Impl::checkShared(Thread *thread, uint64_t address, uint32_t kind,
                               const char *statement) {
  Fiber &fiber = of(thread);
  uint32_t bytes = kind & accessBytes;
  if (address % bytes)
    misaligned(thread, statement);
  if (!fiber.checksShared)
    return;
  auto *impl = static_cast<Impl *>(fiber.impl);
  std::string wrong =
      impl->checks.touch(fiber.time, address, bytes, kind & accessReads,
                         kind & accessWrites, statement);
  if (!wrong.empty())
    Blocks::end(thread, wrong);
}

void Blocks::Impl::awaitCopies(Thread *thread, uint32_t groups) {
  Fiber &fiber = of(thread);
  size_t done = 0;
  for (const LaterCopy &copy : fiber.copies) {
    if (copy.group + groups >= fiber.group)
      break;
    sharedOf(thread, reinterpret_cast<uint64_t>(copy.to),
             copy.bytes | accessWrites, "cp.async.wait_group");
    std::memcpy(copy.to, copy.from, copy.given);
    std::memset(static_cast<char *>(copy.to) + copy.given, 0,
                copy.bytes - copy.given);
    ++done;
  }
  fiber.copies.erase(fiber.copies.begin(),
                     fiber.copies.begin() + ptrdiff_t(done));
}

} // namespace shardc::test::ptx
