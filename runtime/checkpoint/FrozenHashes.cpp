// Blocks of values, each hashed by whichever thread comes to it.
#include "runtime/checkpoint/FrozenHashes.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace shardc::runtime {

namespace {

/// Elements that are read at a time, and that have a hash of their own.
constexpr int64_t blockElements = 1 << 20;

struct Block {
  int parameter;
  int64_t begin, end;
};

} // namespace

static uint64_t hashOfBlock(const plan::Plan &plan,
                            const ParameterSource &values, const Block &block,
                            std::vector<std::byte> &buffer) {
  plan::DType dtype = plan.parameters(block.parameter).dtype();
  if (isConvertible(plan::FLOAT32, dtype))
    dtype = plan::FLOAT32;
  buffer.resize((block.end - block.begin) * elementSize(dtype));
  values.read(block.parameter, block.begin, block.end, dtype, buffer.data());
  uint64_t place[] = {hashOf(buffer.data(), buffer.size()),
                      uint64_t(block.begin)};
  return hashOf(place, sizeof(place));
}

FrozenHashes frozenHashes(const plan::Plan &plan, const ParameterSource &values,
                          const StoredCheckpoint *resumed, int threads) {
  FrozenHashes hashes;
  std::vector<Block> blocks;
  for (int i = 0; i < plan.parameters_size(); ++i) {
    const plan::Parameter &parameter = plan.parameters(i);
    if (parameter.trainable() || (resumed && resumed->has(parameter)))
      continue;
    hashes[parameter.name()] = 0;
    int64_t elements = elementCount(parameter);
    for (int64_t begin = 0; begin < elements; begin += blockElements)
      blocks.push_back({i, begin, std::min(begin + blockElements, elements)});
  }
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  auto work = [&] {
    std::vector<std::byte> buffer;
    try {
      for (size_t at; (at = next++) < blocks.size();) {
        uint64_t hash = hashOfBlock(plan, values, blocks[at], buffer);
        std::lock_guard lock(mutex);
        hashes[plan.parameters(blocks[at].parameter).name()] += hash;
      }
    } catch (...) { // may not leave the thread
      std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < std::min<int64_t>(threads, std::ssize(blocks)); ++i)
      others.emplace_back(work);
    work();
  }
  if (failure)
    std::rethrow_exception(failure);
  return hashes;
}

std::vector<std::string> checkFrozen(const plan::Plan &plan,
                                     const FrozenHashes &now,
                                     const StoredCheckpoint &resumed) {
  const Manifest &manifest = resumed.manifest();
  std::vector<std::string> warnings;
  for (const plan::Parameter &parameter : plan.parameters()) {
    auto own = now.find(parameter.name());
    auto saved = manifest.frozen.find(parameter.name());
    if (own == now.end() || saved == manifest.frozen.end() ||
        own->second == saved->second)
      continue;
    std::string differs =
        concat(parameter.name(),
               " is not trained, and has other values than in the run that "
               "wrote ",
               resumed.where(), ", where they were ", manifest.initialValues);
    if (parameter.frozen())
      fail(differs, "; give the same --weights, --init and --seed");
    warnings.push_back(differs);
  }
  return warnings;
}

} // namespace shardc::runtime
