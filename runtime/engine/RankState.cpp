// A rank's pools are allocated here, and its buffers and slices found in them.
#include "runtime/engine/RankState.h"
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/PoolNames.h"
#include "runtime/base/SplitMaster.h"
#include "runtime/engine/CommunicatedPools.h"
#include "runtime/engine/Executor.h"

#include <algorithm>
#include <map>

namespace shardc::runtime {

RankState::RankState(const plan::Plan &plan, std::unique_ptr<Device> device,
                     Communicator &communicator, const RankOptions &options)
    : plan(plan), communicator(communicator),
      parameterNumbers(options.parameterNumbers),
      accumulates(options.accumulates), device(std::move(device)) {
  if (plan.mesh().ranks() != communicator.size())
    fail("the plan is for ", plan.mesh().ranks(), " ranks, the run has ",
         communicator.size());
  size_t parameters = plan.parameters_size();
  if (!parameterNumbers.empty() && parameterNumbers.size() != parameters)
    fail("the run has numbers for ", parameterNumbers.size(),
         " parameters, the plan ", parameters, " parameters");
  parameterNumbers.resize(parameters);
  bindMesh();
  checkUnits();
  shared = options.shareSlices ? SharedSlices::of(plan, ranksPerProcess())
                               : SharedSlices::none(plan);
  makeBlocks();
  common = options.shareSlices
               ? CommonGathers::of(plan, shared, communicator.rank(),
                                   ranksPerProcess())
               : CommonGathers::none(plan, shared);
  allocate();
  writeConstants();
}

/// Returns the rank's coordinates in `dims` as one number, outermost first.
/// There must be `shards` such numbers, as the plan says.
static int64_t indexIn(const plan::Mesh &mesh, int rank,
                       const google::protobuf::RepeatedField<int64_t> &dims,
                       int64_t shards, const char *name) {
  int64_t index = 0, count = 1;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= mesh.dims_size())
      fail("the mesh has ", mesh.dims_size(), " dims, its ", name, " name dim ",
           dim);
    int64_t stride = 1;
    for (int64_t inner = dim + 1; inner < mesh.dims_size(); ++inner)
      stride *= mesh.dims(int(inner));
    index = index * mesh.dims(int(dim)) + rank / stride % mesh.dims(int(dim));
    count *= mesh.dims(int(dim));
  }
  if (count != shards)
    fail("the mesh's ", name, " have ", count, " coordinates, the plan says ",
         shards);
  return index;
}

void RankState::bindMesh() {
  const plan::Mesh &mesh = plan.mesh();
  int64_t ranks = 1;
  for (int64_t size : mesh.dims())
    ranks *= size;
  if (ranks != mesh.ranks())
    fail("the dims of the mesh make ", ranks, " ranks, the plan says ",
         mesh.ranks());
  int rank = communicator.rank();
  shardIndex =
      indexIn(mesh, rank, mesh.shard_dims(), mesh.shards(), "shard_dims");
  optimizerShardIndex = indexIn(mesh, rank, mesh.optimizer_dims(),
                                mesh.optimizer_shards(), "optimizer_dims");
  if (mesh.optimizer_dims_size() < mesh.shard_dims_size() ||
      !std::equal(mesh.shard_dims().begin(), mesh.shard_dims().end(),
                  mesh.optimizer_dims().begin()))
    fail("the mesh's optimizer_dims do not begin with its shard_dims");

  for (const plan::Group &group : plan.groups())
    groups.push_back(&communicator.group(group.stride(), group.size()));
}

void RankState::checkUnits() const {
  const plan::Mesh &mesh = plan.mesh();
  for (const plan::Unit &unit : plan.units()) {
    if (unit.shards() != 1 && unit.shards() != mesh.shards())
      fail("unit ", unit.name(), " is cut into ", unit.shards(),
           " slices, the mesh has ", mesh.shards());
    int64_t slices = unit.optimizer_shards();
    if (slices != 0 && slices != unit.shards() &&
        slices != mesh.optimizer_shards())
      fail("unit ", unit.name(), " is optimized in ", slices,
           " slices, the mesh has ", mesh.optimizer_shards());
    int64_t finest = std::max(slices, unit.shards());
    if (slices > 0 && slices < unit.shards())
      fail("unit ", unit.name(), " is optimized in ", slices,
           " slices, fewer than its parameters' ", unit.shards());
    if (unit.elements() % finest != 0)
      fail("unit ", unit.name(), " of ", unit.elements(),
           " elements does not fall into ", finest, " equal slices");
  }
}

int64_t RankState::ranksPerProcess() const {
  HostRanks *ranks = communicator.hostRanks();
  return ranks ? ranks->localMembers().count : 1;
}

/// Makes one block for each group, with its units' slices unit by unit.
void RankState::makeBlocks() {
  blockOf.resize(plan.units_size());
  for (size_t group = 0; group < groups.size(); ++group) {
    int64_t bytes = 0;
    std::vector<int64_t> begins(plan.units_size());
    auto size = [&](int unit) {
      return plan.units(unit).elements() *
             int64_t(elementSize(plan.units(unit).dtype()));
    };
    for (int unit = 0; unit < plan.units_size(); ++unit)
      if (shared.groups[unit] == int64_t(group)) {
        begins[unit] = bytes;
        bytes += alignedBytes(size(unit));
      }
    if (bytes == 0)
      continue;
    std::byte *block =
        device->allocateShared(*groups[group], "shared parameters", bytes);
    if (!block) {
      shared.drop(int64_t(group));
      continue;
    }
    for (int unit = 0; unit < plan.units_size(); ++unit)
      if (shared.groups[unit] == int64_t(group)) {
        blockOf[unit] = block + begins[unit];
        int64_t slice = size(unit) / groups[group]->size();
        device->touch(blockOf[unit] + groups[group]->rank() * slice, slice);
      }
  }
}

/// Returns memory that this rank has in common with others; null: none.
std::byte *RankState::allocateCommon(int pool) {
  const CommonGathers::Pool &of = common.pools[pool];
  if (of.group < 0 || of.commonBytes == 0)
    return nullptr;
  Communicator &group = *groups[of.group];
  std::byte *memory =
      device->allocateShared(group, plan.pools(pool).name(), of.commonBytes);
  if (!memory) {
    common.drop(plan, shared, pool);
    return nullptr;
  }
  LocalMembers here = group.hostRanks()->localMembers();
  int64_t part = alignedBytes(of.commonBytes / here.count);
  int64_t begin = std::min(of.commonBytes, part * (group.rank() - here.first));
  device->touch(memory + begin, std::min(part, of.commonBytes - begin));
  return memory;
}

void RankState::allocate() {
  // What lies in a block leaves its pool; the rest of the pool moves together.
  std::vector<std::byte *> inBlock(plan.buffers_size()), pools, inCommon;
  std::vector<std::map<int64_t, int64_t>> left(plan.pools_size());
  std::vector<bool> isCommunicated = communicatedPools(plan);
  allocatedBytes.resize(plan.pools_size());
  for (int i = 0; i < plan.units_size(); ++i) {
    if (!blockOf[i])
      continue;
    uint32_t index = plan.units(i).parameter_buffer();
    const plan::Buffer &buffer = plan.buffers(int(index));
    inBlock[index] =
        blockOf[i] + groups[shared.groups[i]]->rank() * buffer.bytes();
    if (buffer.pool() < left.size())
      left[buffer.pool()][buffer.offset()] = alignedBytes(buffer.bytes());
  }
  for (int i = 0; i < plan.pools_size(); ++i) {
    const plan::Pool &pool = plan.pools(i);
    bool unused = isPoolUnused(pool.name(), accumulates);
    inCommon.push_back(allocateCommon(i));
    allocatedBytes[i] = unused ? 0 : common.poolBytes(i);
    int64_t bytes = unused ? 0 : common.pools[i].ownBytes;
    for (auto [offset, buffer] : left[i])
      bytes -= buffer;
    bytes = std::max<int64_t>(0, bytes);
    bool isHost = isHostPool(pool.name());
    pools.push_back(isHost ? device->allocateHost(pool.name(), bytes)
                    : isCommunicated[i]
                        ? device->allocateCommunicated(pool.name(), bytes)
                        : device->allocate(pool.name(), bytes));
    if (isHost)
      hostPool = {pools.back(), static_cast<size_t>(bytes)};
    // Each now says what has left the pool up to there.
    int64_t sum = 0;
    for (auto &[offset, buffer] : left[i])
      sum = buffer += sum;
  }

  for (int i = 0; i < plan.buffers_size(); ++i) {
    const plan::Buffer &buffer = plan.buffers(i);
    if (buffer.pool() >= pools.size())
      fail("buffer ", buffer.name(), " lies in pool ", buffer.pool(), " of ",
           pools.size());
    int64_t bytes = plan.pools(int(buffer.pool())).bytes();
    if (buffer.offset() < 0 || buffer.bytes() < 0 ||
        buffer.offset() > bytes - buffer.bytes() || buffer.offset() % 64 != 0)
      fail("buffer ", buffer.name(), " at ", buffer.offset(), " of ",
           buffer.bytes(), " bytes does not lie in its pool of ", bytes,
           " bytes at a multiple of 64");
    std::byte *begin = pools[buffer.pool()];
    int64_t offset = common.ownOffsets[i];
    const std::map<int64_t, int64_t> &gone = left[buffer.pool()];
    if (auto next = gone.lower_bound(buffer.offset()); next != gone.begin())
      offset -= std::prev(next)->second;
    if (inBlock[i])
      buffers.push_back(inBlock[i]);
    else if (shared.gathered[i] >= 0)
      buffers.push_back(blockOf[shared.gathered[i]]);
    else if (common.ownOffsets[i] < 0)
      buffers.push_back(inCommon[buffer.pool()] + buffer.offset());
    else
      buffers.push_back(begin ? begin + offset : nullptr);
  }
}

void RankState::writeConstants() {
  for (const plan::Constant &constant : plan.constants()) {
    if (constant.buffer() >= buffers.size())
      fail("constant in buffer ", constant.buffer(), " of ", buffers.size());
    int64_t bytes = plan.buffers(int(constant.buffer())).bytes();
    const std::string &data = constant.data();
    int64_t size = static_cast<int64_t>(data.size());
    bool fits =
        constant.splat() ? size > 0 && bytes % size == 0 : size <= bytes;
    if (!fits)
      fail("constant of ", size, " bytes does not fit buffer ",
           constant.buffer(), " of ", bytes);
    std::byte *buffer = buffers[constant.buffer()];
    if (!constant.splat()) {
      device->upload(buffer, data.data(), size);
      continue;
    }
    std::string all;
    for (all.reserve(bytes); std::ssize(all) < bytes;)
      all += data;
    device->upload(buffer, all.data(), bytes);
  }
}

int64_t RankState::sliceElements(const plan::Unit &unit) const {
  return unit.elements() / unit.shards();
}
int64_t RankState::sliceBegin(const plan::Unit &unit) const {
  return unit.shards() == 1 ? 0 : shardIndex * sliceElements(unit);
}
Tensor RankState::parameterSlice(const plan::Unit &unit) const {
  return vectorOf(unit.parameter_buffer(), sliceElements(unit), unit.dtype(),
                  "parameter_buffer");
}

int64_t RankState::optimizerElements(const plan::Unit &unit) const {
  return unit.optimizer_shards() ? unit.elements() / unit.optimizer_shards()
                                 : 0;
}
int64_t RankState::optimizerIndex(const plan::Unit &unit) const {
  if (unit.optimizer_shards() <= 1)
    return 0;
  return unit.optimizer_shards() == plan.mesh().optimizer_shards()
             ? optimizerShardIndex
             : shardIndex;
}
int64_t RankState::optimizerShardOf(int64_t rank) const {
  const plan::Mesh &mesh = plan.mesh();
  return indexIn(mesh, int(rank), mesh.optimizer_dims(),
                 mesh.optimizer_shards(), "optimizer_dims");
}
Holders RankState::holders(const plan::Unit &unit) const {
  const plan::Mesh &mesh = plan.mesh();
  std::vector<bool> isCut(mesh.dims_size());
  if (unit.optimizer_shards() > 1)
    for (int64_t dim : unit.optimizer_shards() == mesh.optimizer_shards()
                           ? mesh.optimizer_dims()
                           : mesh.shard_dims())
      isCut[dim] = true;
  // Ranks that differ in the other dims alone hold equal slices.
  Holders holders;
  int64_t rest = communicator.rank();
  for (int dim = mesh.dims_size(); dim-- > 0; rest /= mesh.dims(dim)) {
    if (isCut[dim])
      continue;
    holders.own += rest % mesh.dims(dim) * holders.count;
    holders.count *= mesh.dims(dim);
  }
  return holders;
}
int64_t RankState::optimizerBegin(const plan::Unit &unit) const {
  return optimizerIndex(unit) * optimizerElements(unit);
}
Tensor RankState::ownParameters(const plan::Unit &unit) const {
  Tensor own = parameterSlice(unit);
  own.data += (optimizerBegin(unit) - sliceBegin(unit)) *
              int64_t(elementSize(unit.dtype()));
  own.shape = {optimizerElements(unit)};
  return own;
}
Tensor RankState::masterSlice(const plan::Unit &unit) const {
  if (unit.master_dtype() == unit.dtype() || unit.has_remainder_buffer())
    return ownParameters(unit);
  return vectorOf(unit.master_buffer(), optimizerElements(unit),
                  unit.master_dtype(), "master_buffer");
}

Tensor RankState::remainder(const plan::Unit &unit) const {
  if (!unit.has_remainder_buffer())
    return {};
  if (unit.dtype() != plan::BFLOAT16 || unit.master_dtype() != plan::FLOAT32)
    fail("expects split masters of float32 in unit ", unit.name(),
         " of bfloat16, got ", dtypeName(unit.master_dtype()), " in ",
         dtypeName(unit.dtype()));
  return vectorOf(unit.remainder_buffer(), splitBytes(optimizerElements(unit)),
                  plan::UINT8, "remainder_buffer");
}

bool RankState::isOnHost(const std::byte *address) const {
  return !hostPool.empty() && address >= hostPool.data() &&
         address < hostPool.data() + hostPool.size();
}

const plan::Unit &RankState::unit(uint32_t index) const {
  if (index >= static_cast<uint32_t>(plan.units_size()))
    fail("unit ", index, " of ", plan.units_size());
  return plan.units(index);
}

Communicator &RankState::group(uint32_t index) const {
  if (index >= groups.size())
    fail("group ", index, " of ", groups.size());
  return *groups[index];
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
  if (!buffers[tensor.buffer()] && buffer.bytes() > 0)
    fail(name, " lies in the pool ", plan.pools(int(buffer.pool())).name(),
         ", which a run with one micro-batch per step does not have");
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
