// MixedRadix of meshes and groups.
#include "passes/verify/MixedRadix.h"

using namespace mlir;

namespace shardc {

static void append(MixedRadix &digits, int64_t stride, int64_t size) {
  if (size == 1)
    return;
  if (!digits.empty() && digits.back().first == stride * size)
    digits.back() = {stride, digits.back().second * size};
  else
    digits.push_back({stride, size});
}

void append(MixedRadix &digits, fsdp::GroupOp group) {
  append(digits, group.getStride(), group.getSize());
}

MixedRadix mixedRadixOf(fsdp::MeshOp mesh, ArrayRef<int64_t> over) {
  MixedRadix digits;
  for (int64_t dim : over) {
    int64_t stride = 1;
    for (int64_t inner : mesh.getDims().drop_front(dim + 1))
      stride *= inner;
    append(digits, stride, mesh.getDims()[dim]);
  }
  return digits;
}

MixedRadix mixedRadixOf(fsdp::GroupOp group) {
  MixedRadix digits;
  append(digits, group);
  return digits;
}

bool overlap(fsdp::GroupOp a, fsdp::GroupOp b) {
  return a.getStride() < b.getStride() * b.getSize() &&
         b.getStride() < a.getStride() * a.getSize();
}

} // namespace shardc
