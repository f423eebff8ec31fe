// Fibers of the threads of a block. Switching is a few instructions, and stacks
// stay from one launch to the next.
#include "BlocksImpl.h"

#include <cstdio>
#include <cstdlib>

namespace shardc::test::ptx {

void Blocks::Impl::start(Fiber &fiber) {
  auto *impl = static_cast<Impl *>(fiber.impl);
  auto **top = reinterpret_cast<void **>(fiber.stack + impl->stackBytes);
  *--top = nullptr; // keeps the stack at multiples of 16
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(shardcStartFiber);
  *--top = nullptr;                                // rbp
  *--top = nullptr;                                // rbx
  *--top = &fiber;                                 // r12
  *--top = reinterpret_cast<void *>(&Impl::enter); // r13
  *--top = nullptr;                                // r14
  *--top = nullptr;                                // r15
  fiber.at = top;
}

void Blocks::Impl::enter(Fiber *fiber) {
  auto *impl = static_cast<Impl *>(fiber->impl);
  for (;;) {
    if (impl->grid.waits) {
      impl->kernel(impl->parameters, fiber, nullptr);
      fiber->copies.clear();
    } else
      impl->oneByOne(*fiber);
    wait(*fiber, State::Ended);
  }
}

void Blocks::Impl::begin(Fiber &fiber) {
  std::copy_n(grid.blocks, 3, fiber.nctaid);
  std::copy_n(grid.threads, 3, fiber.ntid);
  fiber.services = &services;
  fiber.tag = grid.tag;
  fiber.checksShared = grid.checksShared;
  fiber.user = user;
  fiber.shared = shared;
  fiber.dynamicShared = shared + (grid.sharedBytes + 127) / 128 * 128;
}

void Blocks::Impl::place(Fiber &fiber, size_t block) {
  fiber.ctaid[0] = uint32_t(block % grid.blocks[0]);
  fiber.ctaid[1] = uint32_t(block / grid.blocks[0] % grid.blocks[1]);
  fiber.ctaid[2] = uint32_t(block / grid.blocks[0] / grid.blocks[1]);
  fiber.group = 0;
  fiber.time.block = latest;
  fiber.time.warp = 0;
}

void Blocks::Impl::oneByOne(Fiber &fiber) {
  begin(fiber);
  for (size_t block = firstBlock; block < endBlock; ++block) {
    clearShared();
    place(fiber, block);
    for (size_t i = 0; i < threads; ++i) {
      number(fiber, grid.backwards ? threads - 1 - i : i);
      kernel(parameters, &fiber, nullptr);
      fiber.copies.clear();
    }
  }
}

void Blocks::Impl::prepare(size_t count, size_t localBytes) {
  size_t needed = 64 * 1024;
  while (needed < 16 * 1024 + 4 * localBytes)
    needed *= 2;
  if (needed > stackBytes || stale) {
    unmap();
    stackBytes = std::max(stackBytes, needed);
    stale = false;
  }
  size_t more = count > fibers.size() ? count - fibers.size() : 0;
  if (more == 0)
    return;
  size_t stride = stackBytes + stackGap;
  void *map = mmap(nullptr, more * stride, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    std::perror("stacks of an emulated GPU's threads");
    std::abort();
  }
  maps.emplace_back(map, more * stride);
  for (size_t i = 0; i < more; ++i) {
    auto fiber = std::make_unique<Fiber>();
    fiber->impl = this;
    fiber->stack = static_cast<char *>(map) + i * stride;
    start(*fiber);
    fibers.push_back(std::move(fiber));
  }
}

void Blocks::Impl::runWaiting(size_t block) {
  clearShared();
  for (size_t i = 0; i < threads; ++i) {
    place(*fibers[i], block);
    fibers[i]->state = State::Ready;
  }
  size_t warps = (threads + warpSize - 1) / warpSize;
  for (;;) {
    bool any = false;
    for (size_t i = 0; i < warps && problem.empty(); ++i)
      any |= runWarp(grid.backwards ? warps - 1 - i : i);
    any |= problem.empty() && releaseBarriers();
    if (!problem.empty())
      return;
    if (any)
      continue;
    if (std::any_of(fibers.begin(), fibers.begin() + ptrdiff_t(threads),
                    [](auto &each) { return each->state != State::Ended; }))
      explain();
    return;
  }
}

bool Blocks::Impl::runWarp(size_t warp) {
  size_t begin = warp * warpSize, end = std::min(begin + warpSize, threads);
  bool any = false;
  for (;;) {
    Fiber *first = fibers[grid.backwards ? end - 1 : begin].get();
    while (first && first->state != State::Ready)
      first = first->next;
    if (first)
      resume(*first);
    if (!problem.empty())
      return true;
    bool ran = first || meet(begin, end);
    if (!ran || !problem.empty())
      return any;
    any = true;
  }
}

bool Blocks::Impl::meet(size_t begin, size_t end) {
  uint32_t present = end - begin == warpSize ? ~0u : (1u << (end - begin)) - 1;
  bool any = false;
  for (size_t i = begin; i < end; ++i) {
    Fiber &first = *fibers[i];
    if (first.state != State::Warp)
      continue;
    const uint32_t *in[warpSize] = {};
    uint32_t *out[warpSize] = {};
    uint32_t mask = first.mask & present;
    if (!(mask >> (i - begin) & 1)) {
      problem =
          "a thread is not in its own mask: " + std::string(first.statement);
      return true;
    }
    bool all = true;
    for (size_t lane = 0; lane < end - begin; ++lane) {
      Fiber &fiber = *fibers[begin + lane];
      if (!(mask >> lane & 1))
        continue;
      all &= fiber.state == State::Warp && fiber.mask == first.mask &&
             fiber.statement == first.statement;
      in[lane] = fiber.in;
      out[lane] = fiber.out;
    }
    if (!all)
      continue;
    if (std::string wrong = warpResult(first.op, mask, in, out);
        !wrong.empty()) {
      problem = wrong + ": " + first.statement;
      return true;
    }
    uint32_t time = 0;
    for (size_t lane = 0; lane < end - begin; ++lane)
      if (mask >> lane & 1) {
        fibers[begin + lane]->state = State::Ready;
        time = std::max(time, fibers[begin + lane]->time.warp + 1);
      }
    for (size_t lane = 0; lane < end - begin; ++lane)
      if (mask >> lane & 1 && first.op == WarpOp::Meet)
        fibers[begin + lane]->time.warp = time;
    // Lanes bring the addresses of rows.
    if (first.op == WarpOp::LoadMatrix)
      for (size_t lane = 0; lane < 8 * in[0][0]; ++lane)
        if (std::string wrong =
                checks.touch(fibers[begin + lane]->time,
                             in[lane][2] | uint64_t(in[lane][3]) << 32, 16,
                             true, false, first.statement);
            !wrong.empty()) {
          problem = wrong;
          return true;
        }
    any = true;
  }
  return any;
}

bool Blocks::Impl::releaseBarriers() {
  size_t counts[16] = {}, wanted[16] = {};
  for (size_t i = 0; i < threads; ++i)
    if (Fiber &fiber = *fibers[i]; fiber.state == State::Barrier) {
      ++counts[fiber.barrier];
      wanted[fiber.barrier] =
          fiber.barrierThreads ? fiber.barrierThreads : threads;
    }
  bool any = false;
  for (size_t number = 0; number < 16; ++number)
    if (counts[number] && counts[number] == wanted[number]) {
      any = true;
      uint32_t time = 0;
      auto isThere = [&](const Fiber &fiber) {
        return fiber.state == State::Barrier && fiber.barrier == number;
      };
      for (size_t i = 0; i < threads; ++i)
        if (isThere(*fibers[i]))
          time = std::max(time, fibers[i]->time.block + 1);
      latest = std::max(latest, time);
      for (size_t i = 0; i < threads; ++i)
        if (isThere(*fibers[i])) {
          fibers[i]->state = State::Ready;
          fibers[i]->time.block = time, fibers[i]->time.warp = 0;
        }
    }
  return any;
}

void Blocks::Impl::explain() {
  auto waits = [](auto &each) { return each->state != State::Ended; };
  auto end = fibers.begin() + ptrdiff_t(threads);
  auto first = std::find_if(fibers.begin(), end, waits);
  auto other = std::find_if(fibers.begin(), end, [&](auto &each) {
    return each->state != (*first)->state ||
           each->statement != (*first)->statement;
  });
  if (other == end)
    problem = "all threads wait, for more than there are: " +
              std::string((*first)->statement);
  else
    problem = "thread " + std::to_string(other - fibers.begin()) +
              " does not wait where thread " +
              std::to_string(first - fibers.begin()) +
              " does: " + (*first)->statement;
}

std::string Blocks::Impl::run(Kernel function, const void *given,
                              const Grid &shape, size_t first, size_t end,
                              Access access, void *userData) {
  kernel = function;
  parameters = given;
  grid = shape;
  user = userData;
  services = {access,      barrierOf,  warpOf, copyLater, commitCopies,
              awaitCopies, misaligned, trap,   sharedOf};
  threads = size_t(grid.threads[0]) * grid.threads[1] * grid.threads[2];
  firstBlock = first;
  endBlock = end;
  problem.clear();
  size_t needed =
      (grid.sharedBytes + 127) / 128 * 128 + grid.dynamicSharedBytes;
  sharedMemory.resize(needed + 128);
  auto address = reinterpret_cast<uintptr_t>(sharedMemory.data());
  shared = sharedMemory.data() + (128 - address % 128);
  prepare(grid.waits ? threads : 1, grid.localBytes);
  if (grid.waits) {
    for (size_t i = 0; i < threads; ++i) {
      begin(*fibers[i]);
      number(*fibers[i], i);
      // The last of a warp to run has none.
      size_t next = grid.backwards ? i - 1 : i + 1;
      bool isThere = next < threads && next / warpSize == i / warpSize;
      fibers[i]->next = isThere ? fibers[next].get() : nullptr;
    }
    for (size_t block = first; block < end && problem.empty(); ++block)
      runWaiting(block);
  } else {
    fibers[0]->next = nullptr;
    resume(*fibers[0]);
  }
  stale = !problem.empty();
  return problem;
}

Blocks::Blocks() : impl(std::make_unique<Impl>()) {}
Blocks::~Blocks() = default;

std::string Blocks::run(Kernel kernel, const void *parameters, const Grid &grid,
                        Access access, void *user) {
  size_t blocks = size_t(grid.blocks[0]) * grid.blocks[1] * grid.blocks[2];
  return impl->run(kernel, parameters, grid, 0, blocks, access, user);
}

std::string Blocks::runBlock(Kernel kernel, const void *parameters,
                             const Grid &grid, size_t block, Access access,
                             void *user) {
  return impl->run(kernel, parameters, grid, block, block + 1, access, user);
}

bool Blocks::isOwn(Thread *thread, uint64_t address, size_t bytes) {
  Fiber &fiber = Impl::of(thread);
  auto *impl = static_cast<Impl *>(fiber.impl);
  auto isIn = [&](const char *begin, size_t size) {
    uint64_t offset = address - reinterpret_cast<uint64_t>(begin);
    return offset < size && bytes <= size - offset;
  };
  return isIn(fiber.stack, impl->stackBytes) ||
         isIn(impl->shared, impl->sharedMemory.size());
}

void Blocks::end(Thread *thread, const std::string &problem) {
  Fiber &fiber = Impl::of(thread);
  static_cast<Impl *>(fiber.impl)->problem = problem;
  Impl::wait(fiber, State::Ended);
  std::abort(); // it does not come back
}

} // namespace shardc::test::ptx
