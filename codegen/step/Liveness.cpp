// When the buffers of a program are alive.
#include "codegen/step/Liveness.h"

#include "codegen/step/View.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace shardc::step {

bool isEntry(Operation *op) { return isa<EntryOpInterface>(op); }

/// View::spanBytes of the view that a memref shows.
static int64_t spanBytes(ViewOp view) {
  MemRefType type = view.getType();
  if (type.getLayout().isIdentity())
    return nn::bytesOf(type);
  return View::of(view).spanBytes();
}

SmallVector<Access> accesses(Operation *entry) {
  SmallVector<Access> result;
  auto effectful = dyn_cast<MemoryEffectOpInterface>(entry);
  if (!effectful)
    return result;
  SmallVector<MemoryEffects::EffectInstance> effects;
  effectful.getEffects(effects);
  result.reserve(entry->getNumOperands());
  // Entries of n operands have as many effects.
  SmallVector<std::pair<bool, bool>> ofOperand(entry->getNumOperands());
  for (const MemoryEffects::EffectInstance &effect : effects)
    if (auto *operand = effect.getEffectValue<OpOperand *>()) {
      auto &[reads, writes] = ofOperand[operand->getOperandNumber()];
      reads |= isa<MemoryEffects::Read>(effect.getEffect());
      writes |= isa<MemoryEffects::Write>(effect.getEffect());
    }
  for (OpOperand &operand : entry->getOpOperands()) {
    Access access;
    if (auto view = operand.get().getDefiningOp<ViewOp>()) {
      access.buffer = view.getBuffer().getDefiningOp<BufferOp>();
      access.begin = view.getOffset();
      access.end = access.begin + spanBytes(view);
    } else if (auto buffer = operand.get().getDefiningOp<BufferOp>()) {
      access.buffer = buffer;
      access.end = buffer.getBytes();
    } else {
      continue;
    }
    std::tie(access.isRead, access.isWritten) =
        ofOperand[operand.getOperandNumber()];
    result.push_back(access);
  }
  return result;
}

int64_t persistentBytes(PlanOp plan) {
  int64_t bytes = 0;
  for (auto buffer : plan.getBody().front().getOps<BufferOp>())
    if (poolOf(buffer.getKind()) == Pool::persistent)
      bytes += llvm::alignTo(int64_t(buffer.getBytes()),
                             int64_t(plan.getBufferAlignment()));
  return bytes;
}

WaitOp waitOf(Operation *entry) {
  for (Value result : entry->getResults())
    if (isa<TokenType>(result.getType()))
      for (Operation *user : result.getUsers())
        if (auto wait = dyn_cast<WaitOp>(user))
          return wait;
  return {};
}

llvm::MapVector<Operation *, Lifetime> lifetimes(ProgramOp program) {
  llvm::DenseMap<Operation *, int64_t> position;
  for (Operation &op : program.getBody().front())
    if (isEntry(&op))
      position[&op] = position.size();

  llvm::MapVector<Operation *, Lifetime> result;
  for (auto buffer : program.getBody().front().getOps<BufferOp>())
    result[buffer].bytes = buffer.getBytes();
  for (Operation &op : program.getBody().front()) {
    if (!isEntry(&op))
      continue;
    int64_t first = position[&op], last = first;
    if (WaitOp wait = waitOf(&op))
      last = position[wait];
    for (const Access &access : accesses(&op)) {
      auto found = result.find(access.buffer);
      if (found == result.end())
        continue; // outlives the program
      Lifetime &lifetime = found->second;
      if (lifetime.last < lifetime.first)
        lifetime.first = first;
      lifetime.last = std::max(lifetime.last, last);
    }
  }
  for (auto start : program.getBody().front().getOps<AllGatherStartOp>())
    if (start->hasAttr(firstAttr)) {
      Lifetime &lifetime = result[start.getGathered().getDefiningOp()];
      lifetime.first = 0;
      lifetime.last = static_cast<int64_t>(position.size()) - 1;
    }
  result.remove_if(
      [](auto &entry) { return entry.second.last < entry.second.first; });
  return result;
}

} // namespace shardc::step
