// Which ranks a strategy's collectives run over: what mesh and strategy say,
// as the groups that the module has.
#include "passes/shard/Groups.h"

using namespace mlir;
using namespace shardc::fsdp;

Groups shardc::fsdp::groupsOf(ModuleOp module, MeshOp mesh) {
  auto find = [&](int64_t stride, int64_t size) {
    for (auto group : module.getOps<GroupOp>())
      if (static_cast<int64_t>(group.getStride()) == stride &&
          static_cast<int64_t>(group.getSize()) == size)
        return group;
    return GroupOp();
  };
  Groups groups;
  ArrayRef<int64_t> dims = mesh.getDims();
  ArrayRef<int64_t> ofParameters = mesh.getShardDims(),
                    ofOptimizer = mesh.getOptimizerDims();
  int64_t ranks = mesh.getRanks();
  GroupOp world = find(1, ranks);
  SmallVector<GroupOp> ofDim(dims.size());
  for (int64_t dim = dims.size() - 1, stride = 1; dim >= 0; --dim) {
    ofDim[dim] = find(stride, dims[dim]);
    stride *= dims[dim];
    groups.ofDims.push_back({ofDim[dim], llvm::is_contained(ofOptimizer, dim)});
  }
  auto over = [&](ArrayRef<int64_t> list) {
    return list.size() == dims.size() ? world
           : list.size() == 1         ? ofDim[list[0]]
                                      : GroupOp();
  };
  groups.parameters = over(ofParameters);
  if (ofOptimizer.empty()) {
    groups.gradients = world;
    return groups;
  }
  bool isHybrid = ofParameters.size() == 1 && dims.size() == 2;
  groups.scattersGradients = true;
  groups.gradients = isHybrid ? groups.parameters : over(ofOptimizer);
  if (isHybrid) {
    groups.across = ofDim[1 - ofParameters[0]];
    groups.scattersAcross = ofOptimizer.size() > 1;
  }
  if (ofOptimizer.size() > ofParameters.size())
    groups.updates = isHybrid ? groups.across : over(ofOptimizer);
  return groups;
}
