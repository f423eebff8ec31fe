// Traffic, arithmetic and launches of ops that run again.
#include "passes/analyses/RecomputationTime.h"

#include "frontend/nn/support/ElementBytes.h"
#include "passes/analyses/SavedValues.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace shardc {

int64_t elementBytesOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIntOrFloat() ? nn::elementBytes(element) : 8;
}

int64_t bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getNumElements() * elementBytesOf(type) : 0;
}

const RecomputationTime::Readers &RecomputationTime::readersOf(Operation *op) {
  auto [entry, isNew] = known.try_emplace(op);
  Readers &readers = entry->second;
  if (!isNew)
    return readers;
  SmallVector<Value> looks(op->getResults());
  while (!looks.empty())
    for (Operation *user : looks.pop_back_val().getUsers()) {
      if (user->getNumResults() == 1 &&
          storageOf(user->getResult(0)) != user->getResult(0))
        looks.push_back(user->getResult(0));
      else if (ops.contains(user) && isa<nn::KernelBody>(user))
        ++readers.again;
      else if (ops.contains(user))
        readers.libraryCalls = true;
      else if (!lastForward->isBeforeInBlock(user))
        continue; // forward has the value itself
      else if (isa<nn::KernelBody>(user))
        ++readers.backward;
      else
        readers.libraryCalls = true;
    }
  return readers;
}

bool RecomputationTime::isInlined(Operation *op) {
  const Readers &readers = readersOf(op);
  return op->hasTrait<OpTrait::Elementwise>() && !readers.libraryCalls &&
         (op->getNumOperands() == 1 || readers.again + readers.backward <= 1);
}

double RecomputationTime::of(Operation *op) {
  double read = 0, written = 0;
  // A slice is a part of what it is taken of; what is broadcast is read once.
  llvm::SmallSetVector<Value, 4> operands(op->operand_begin(),
                                          op->operand_end());
  llvm::SmallMapVector<Value, int64_t, 4> reads;
  for (Value operand : operands)
    reads[storageOf(operand)] += bytesOf(operand);
  for (auto [storage, bytes] : reads) {
    Operation *producer = storage.getDefiningOp();
    // What an inlined op reads is counted with that op.
    if (!ops.contains(producer) || !isInlined(producer))
      read += static_cast<double>(std::min(bytes, bytesOf(storage)));
  }
  for (Value result : op->getResults())
    written += static_cast<double>(bytesOf(result));
  auto cost = dyn_cast<nn::CostModel>(op);
  double flops = cost ? static_cast<double>(cost.flops()) : 0;
  // A library's products read and write while they compute.
  if (!isa<nn::KernelBody>(op))
    return costs.cluster.insideNode.latency +
           std::max(
               (read + written) / costs.cluster.memoryBandwidth,
               costs.compute(
                   flops, std::max<int64_t>(
                              2, elementBytesOf(op->getResult(0).getType()))));
  double arithmetic = costs.compute(flops, 4);

  if (!isInlined(op))
    return costs.cluster.insideNode.latency +
           (read + written) / costs.cluster.memoryBandwidth + arithmetic;
  // A kernel of the backward pass reads the operands in place of the result.
  const Readers &readers = readersOf(op);
  double bytes =
      static_cast<double>(readers.again) * read +
      static_cast<double>(readers.backward) * std::max(0.0, read - written);
  return bytes / costs.cluster.memoryBandwidth +
         static_cast<double>(readers.again + readers.backward) * arithmetic;
}

double RecomputationTime::ofAll() {
  double seconds = 0;
  for (Operation *op : ops)
    seconds += of(op);
  return seconds;
}

} // namespace shardc
