// Whole matrices: directions, and their way to the owners and back. What is
// made of them in between is lowered as anything else.
#include "codegen/lower/ProgramLowering.h"

using namespace mlir;

namespace shardc {

void ProgramLowering::emitEntries(fsdp::MatrixDirectionOp op) {
  Value gradient = ref(contiguous(op.getGradient()));
  Value norm = ref(contiguous(op.getNorm()));
  View direction = allocate(op->getResult(0));
  plan.setUnit(direction.buffer, op.getUnit());
  emit<step::MatrixDirectionOp>(op.getUnitAttr(), gradient, norm,
                                op.getKindAttr(), ref(direction));
}

// Returns the ranks that have a matrix as this tensor, ascending.
static SmallVector<int64_t> ownersOf(fsdp::GatherMatricesStartOp start,
                                     int64_t slot) {
  SmallVector<int64_t> ranks;
  for (auto [owner, at] : llvm::zip(start.getOwners(), start.getSlots()))
    if (at == slot)
      ranks.push_back(owner);
  llvm::sort(ranks);
  return ranks;
}

void ProgramLowering::emitEntries(fsdp::GatherMatricesStartOp op) {
  auto wait = cast<fsdp::GatherMatricesWaitOp>(*op.getToken().user_begin());
  Collective collective;
  SmallVector<Value> slices, matrices;
  for (Value slice : op.getSlices())
    slices.push_back(ref(view(slice)));
  for (OpResult matrix : wait->getResults()) {
    View place = allocate(matrix);
    matrices.push_back(ref(place));
    collective.values.push_back(place);
    SmallVector<int64_t> owners = ownersOf(op, matrix.getResultNumber());
    if (int64_t(owners.size()) != plan.ranks())
      runsOn[matrix] = builder.getDenseI64ArrayAttr(owners);
  }
  auto start = emit<step::GatherMatricesStartOp>(
      tokenType(), slices, matrices, op.getUnits(), op.getUnitOf(),
      op.getOffsets(), op.getOwners(), op.getSlots());
  collective.token = start.getToken();
  collectives[op.getToken()] = collective;
}

void ProgramLowering::emitEntries(fsdp::ScatterMatricesStartOp op) {
  Collective collective;
  SmallVector<Value> slices, matrices;
  for (Value matrix : op.getMatrices())
    matrices.push_back(ref(contiguous(matrix)));
  for (Value slice : op.getSlices()) {
    collective.values.push_back(view(slice));
    slices.push_back(ref(view(slice)));
  }
  auto start = emit<step::ScatterMatricesStartOp>(
      tokenType(), matrices, slices, op.getUnits(), op.getUnitOf(),
      op.getOffsets(), op.getOwners(), op.getSlots());
  collective.token = start.getToken();
  collectives[op.getToken()] = collective;
}

DenseI64ArrayAttr ProgramLowering::ranksOf(Operation *op) {
  // Collectives run on all ranks.
  if (isa<fsdp::FSDPDialect>(op->getDialect()))
    return {};
  for (Value operand : op->getOperands())
    if (auto found = runsOn.find(operand); found != runsOn.end()) {
      DenseI64ArrayAttr ranks = found->second;
      for (Value result : op->getResults())
        runsOn[result] = ranks;
      return ranks;
    }
  return {};
}

} // namespace shardc
