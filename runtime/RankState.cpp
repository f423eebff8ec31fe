// Pools, buffers and slices of a rank.
#include "runtime/RankState.h"
#include "runtime/DType.h"
#include "runtime/Error.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

static int workersOf(const plan::Plan &plan, const RankOptions &options) {
  int64_t most = plan.workers() > 0 ? plan.workers() : options.workers;
  return static_cast<int>(
      std::max<int64_t>(1, std::min<int64_t>(options.workers, most)));
}

/// Pages are touched by the threads that will work on them.
static void touch(Memory &memory, ThreadPool &pool) {
  constexpr int64_t page = int64_t(2) << 20;
  pool.forRanges((memory.size() + page - 1) / page, 1,
                 [&](int64_t begin, int64_t end, int) {
                   memory.touch(begin * page,
                                std::min(memory.size(), end * page));
                 });
}

static void writeConstant(const plan::Constant &constant, std::byte *buffer,
                          int64_t bytes) {
  const std::string &data = constant.data();
  int64_t size = static_cast<int64_t>(data.size());
  bool fits = constant.splat() ? size > 0 && bytes % size == 0 : size <= bytes;
  if (!fits)
    fail("constant of ", size, " bytes does not fit buffer ", constant.buffer(),
         " of ", bytes);
  if (!constant.splat())
    std::memcpy(buffer, data.data(), data.size());
  else
    for (int64_t at = 0; at < bytes; at += size)
      std::memcpy(buffer + at, data.data(), data.size());
}

RankState::RankState(const plan::Plan &plan, const KernelLibrary &library,
                     Communicator &communicator, const RankOptions &options)
    : plan(plan), library(library), communicator(communicator),
      pool(workersOf(plan, options), options.spin),
      gradients(plan.units_size()), openGathers(plan.units_size()) {
  if (plan.mesh().ranks() != communicator.size())
    fail("the plan is for ", plan.mesh().ranks(), " ranks, the run has ",
         communicator.size());
  if (static_cast<size_t>(plan.kernels_size()) != library.size())
    fail("the plan has ", plan.kernels_size(), " kernels, the kernel library ",
         library.size());
  for (const plan::Unit &unit : plan.units())
    if (unit.shards() != 1 && unit.shards() != communicator.size())
      fail("unit ", unit.name(), " is sharded over ", unit.shards(), " of ",
           communicator.size(),
           " ranks: this runtime shards over all ranks or none");
  for (const plan::Pool &pool : plan.pools()) {
    pools.push_back(Memory::allocate(pool.name(), pool.bytes()));
    touch(pools.back(), this->pool);
  }
  for (const plan::Buffer &buffer : plan.buffers()) {
    if (buffer.pool() >= pools.size())
      fail("buffer ", buffer.name(), " lies in pool ", buffer.pool(), " of ",
           pools.size());
    const Memory &memory = pools[buffer.pool()];
    if (buffer.offset() < 0 || buffer.bytes() < 0 ||
        buffer.offset() > memory.size() - buffer.bytes() ||
        buffer.offset() % 64 != 0)
      fail("buffer ", buffer.name(), " at ", buffer.offset(), " of ",
           buffer.bytes(), " bytes does not lie in its pool of ", memory.size(),
           " bytes at a multiple of 64");
    buffers.push_back(memory.data() + buffer.offset());
  }
  for (const plan::Constant &constant : plan.constants()) {
    if (constant.buffer() >= buffers.size())
      fail("constant in buffer ", constant.buffer(), " of ", buffers.size());
    writeConstant(constant, buffers[constant.buffer()],
                  plan.buffers(constant.buffer()).bytes());
  }
}

RankState::~RankState() { communicator.leave(); }

int64_t RankState::sliceElements(const plan::Unit &unit) const {
  return unit.elements() / unit.shards();
}
int64_t RankState::sliceBegin(const plan::Unit &unit) const {
  return unit.shards() == 1 ? 0 : communicator.rank() * sliceElements(unit);
}

const plan::Unit &RankState::unit(uint32_t index) const {
  if (index >= static_cast<uint32_t>(plan.units_size()))
    fail("unit ", index, " of ", plan.units_size());
  return plan.units(index);
}

void RankState::finishGathers(uint32_t unit) {
  for (Communicator::Ticket ticket : openGathers[unit])
    communicator.finish(ticket, pool);
  openGathers[unit].clear();
}
void RankState::finishAllGathers() {
  for (size_t unit = 0; unit < openGathers.size(); ++unit)
    finishGathers(unit);
}

Tensor RankState::resolve(const plan::Tensor &tensor, const char *name) const {
  if (tensor.buffer() >= buffers.size())
    fail(name, " lies in buffer ", tensor.buffer(), " of ", buffers.size());
  const plan::Buffer &buffer = plan.buffers(tensor.buffer());
  Tensor resolved;
  resolved.dtype = tensor.dtype();
  resolved.shape = {tensor.shape().begin(), tensor.shape().end()};
  resolved.strides = {tensor.strides().begin(), tensor.strides().end()};
  if (resolved.strides.empty())
    resolved.strides = rowMajorStrides(resolved.shape);
  int64_t element = elementSize(tensor.dtype());
  if (element == 0 || resolved.strides.size() != resolved.shape.size())
    fail(name, " has dtype ", dtypeName(tensor.dtype()), ", ",
         resolved.shape.size(), " dims and ", resolved.strides.size(),
         " strides");
  int64_t last = 0;
  for (size_t dim = 0; dim < resolved.shape.size(); ++dim) {
    if (resolved.shape[dim] < 0 || resolved.strides[dim] < 0)
      fail(name, " has size ", resolved.shape[dim], " and stride ",
           resolved.strides[dim], " in dim ", dim);
    last += (resolved.shape[dim] - 1) * resolved.strides[dim];
  }
  int64_t end =
      tensor.offset() + (resolved.elements() ? (last + 1) * element : 0);
  if (tensor.offset() < 0 || tensor.offset() % element != 0 ||
      end > buffer.bytes())
    fail(name, " ", resolved.describe(), " at byte ", tensor.offset(),
         " does not lie in buffer ", buffer.name(), " of ", buffer.bytes(),
         " bytes");
  resolved.data = buffers[tensor.buffer()] + tensor.offset();
  return resolved;
}

Tensor RankState::vectorOf(uint32_t buffer, int64_t elements, plan::DType dtype,
                           const char *name) const {
  plan::Tensor tensor;
  tensor.set_buffer(buffer);
  tensor.set_dtype(dtype);
  tensor.add_shape(elements);
  return resolve(tensor, name);
}

} // namespace shardc::runtime
