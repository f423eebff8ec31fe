// Memory access of kernels: positions become addresses; loads, gathers and
// stores run under the mask of the existing lanes.
#include "codegen/kernels/ElementEmitter.h"

#include "frontend/nn/support/ElementBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace shardc::kernels {

// The type of an element in memory, where booleans take a byte.
static Type memoryType(Type element) {
  return element.isInteger(1) ? Type(IntegerType::get(element.getContext(), 8))
                              : heldType(element);
}

static Value elementPointer(OpBuilder &builder, Location loc, Value base,
                            Type element, Value index) {
  Type pointer = base.getType();
  if (auto vector = dyn_cast<VectorType>(index.getType()))
    pointer = VectorType::get(vector.getShape(), pointer);
  return LLVM::GEPOp::create(builder, loc, pointer, element, base,
                             ArrayRef<LLVM::GEPArg>{index});
}

/// The number of bytes at whose multiples an access begins.
unsigned ElementEmitter::alignmentOf(const IndexForm &where,
                                     Type element) const {
  constexpr int64_t argumentAlignment = 16;
  int64_t bytes = nn::elementBytes(element);
  if (!vectors.aligned())
    return bytes;
  return bytes * where.alignment(argumentAlignment / bytes,
                                 vectors.alignedLanes(), extents);
}

Value ElementEmitter::load(Location loc, Value pointer, const IndexForm &where,
                           Type element) {
  Type memory = memoryType(element);
  unsigned align = nn::elementBytes(element);
  std::optional<int64_t> stride =
      where.laneStride(extents, vectors.alignedLanes());
  bool perLane = lanes != 1 && where.dependsOn(Loop::Lane) && stride != 0;
  Value value;
  if (!perLane) {
    Value address = elementPointer(builder, loc, pointer, memory,
                                   emitIndex(loc, where, false));
    value = LLVM::LoadOp::create(builder, loc, memory, address, align);
  } else if (stride == 1) {
    Value address = elementPointer(builder, loc, pointer, memory,
                                   emitIndex(loc, where, false));
    Type type = vectors.vectorType(memory);
    align = alignmentOf(where, element);
    if (position.mask) {
      Value zero =
          arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
      value = LLVM::MaskedLoadOp::create(builder, loc, type, address,
                                         position.mask, zero, align);
    } else {
      value = LLVM::LoadOp::create(builder, loc, type, address, align);
    }
  } else {
    Value addresses = elementPointer(builder, loc, pointer, memory,
                                     emitIndex(loc, where, true));
    Type type = vectors.vectorType(memory);
    Value mask = position.mask;
    if (!mask)
      mask = vectors.broadcast(
          loc,
          arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    value = LLVM::masked_gather::create(builder, loc, type, addresses, mask,
                                        ValueRange{zero},
                                        builder.getI32IntegerAttr(align));
  }
  if (!element.isInteger(1))
    return value;
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                               zero);
}

void ElementEmitter::store(Location loc, Value value, Value pointer,
                           const IndexForm &where, Type element) {
  Type memory = memoryType(element);
  unsigned align = nn::elementBytes(element);
  if (element.isInteger(1)) {
    Type type = vectors.isVector(value) ? vectors.vectorType(memory) : memory;
    value = arith::ExtUIOp::create(builder, loc, type, value);
  }
  Value address = elementPointer(builder, loc, pointer, memory,
                                 emitIndex(loc, where, false));
  if (where.dependsOn(Loop::Lane) || position.mask) {
    value = vectors.broadcast(loc, value);
    align = alignmentOf(where, element);
    if (Value mask = position.mask) {
      // LLVM 22 joins a truncation with the masked store behind it, and where
      // it knows that the mask has one lane, it stores the element untruncated:
      // over its neighbours. So it must not know.
      if (allLanes && isa<IntegerType>(memory))
        mask = arith::AndIOp::create(builder, loc, mask, allLanes);
      LLVM::MaskedStoreOp::create(builder, loc, value, address, mask, align);
      return;
    }
  }
  LLVM::StoreOp::create(builder, loc, value, address, align);
}

std::optional<Value> ElementEmitter::loadStored(const Element &element) {
  auto found = stored.find(element.tensor);
  if (found == stored.end())
    return std::nullopt;
  IndexForm where = linearize(element.index, shapeOf(element.tensor), extents);
  IndexForm rowStart =
      IndexForm::loop(Loop::Item, extents).times(extents.lanes);
  IndexForm inRow = where.plus(rowStart.times(-1), extents);
  if (inRow.dependsOn(Loop::Item) || inRow.dependsOn(Loop::Step))
    return std::nullopt;
  Type type = getElementTypeOrSelf(element.tensor.getType());
  return load(element.tensor.getLoc(), found->second.pointer,
              found->second.isRowBuffer ? inRow : where, type);
}

Value ElementEmitter::emitIndex(Location loc, const IndexForm &form,
                                bool perLane) {
  perLane &= lanes != 1;
  auto spread = [&](Value value) {
    return perLane ? vectors.broadcast(loc, value) : value;
  };
  auto number = [&](int64_t value) {
    return spread(vectors.constant(loc, value));
  };
  auto multiply = [&](Value value, int64_t factor) {
    return factor == 1 ? value
                       : Value(arith::MulIOp::create(builder, loc, value,
                                                     number(factor)));
  };
  Value sum;
  auto add = [&](Value value) {
    sum = sum ? Value(arith::AddIOp::create(builder, loc, sum, value)) : value;
  };
  for (const IndexForm::Term &term : form.terms()) {
    Value value = term.loop == Loop::Item   ? position.item
                  : term.loop == Loop::Step ? position.step
                                            : position.lane;
    value = spread(value);
    if (term.loop == Loop::Lane && perLane)
      value =
          arith::AddIOp::create(builder, loc, value, vectors.laneNumbers(loc));
    if (term.divisor != 1)
      value = arith::DivUIOp::create(builder, loc, value, number(term.divisor));
    if (term.divisor * term.modulus < extents.extent(term.loop))
      value = arith::RemUIOp::create(builder, loc, value, number(term.modulus));
    add(multiply(value, term.coefficient));
  }
  for (const IndexForm::OpaqueTerm &term : form.opaqueTerms()) {
    const OpaqueIndex &index = *term.index;
    Value value;
    if (index.kind == OpaqueIndex::Kind::Value) {
      value = spread(index.value);
    } else {
      value = emitIndex(loc, index.operand, perLane);
      auto range = index.operand.range(extents);
      Value by = number(index.by);
      bool divides = index.kind == OpaqueIndex::Kind::FloorDivide;
      if (range && range->first >= 0) {
        value = divides
                    ? Value(arith::DivUIOp::create(builder, loc, value, by))
                    : Value(arith::RemUIOp::create(builder, loc, value, by));
      } else {
        // This is the floor division of what may be negative: the remainder
        // takes the divisor's sign.
        Value remainder = arith::RemSIOp::create(builder, loc, value, by);
        Value negative = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::slt, remainder, number(0));
        Value raised = arith::AddIOp::create(builder, loc, remainder, by);
        remainder =
            arith::SelectOp::create(builder, loc, negative, raised, remainder);
        Value whole = arith::SubIOp::create(builder, loc, value, remainder);
        value = divides ? Value(arith::DivSIOp::create(builder, loc, whole, by))
                        : remainder;
      }
    }
    add(multiply(value, term.coefficient));
  }
  if (!sum || form.constant() != 0)
    add(number(form.constant()));
  return sum;
}

Value ElementEmitter::emitBound(Location loc, const IndexBound &bound) {
  IndexForm form = bound.form.restricted(extents);
  bool perLane = !bound.sameInVector(extents, vectors.alignedLanes());
  auto spread = [&](int64_t value) {
    Value constant = vectors.constant(loc, value);
    return perLane ? vectors.broadcast(loc, constant) : constant;
  };
  // low <= i < high is emitted as one unsigned comparison.
  Value index = emitIndex(
      loc, form.plus(IndexForm::constant(-bound.low), extents), perLane);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, index,
                               spread(bound.high - bound.low));
}

} // namespace shardc::kernels
