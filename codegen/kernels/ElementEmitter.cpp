// Tensor elements become loads, arithmetic and branches. Memory access is in
// ElementAccess.cpp.
#include "codegen/kernels/ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <utility>

using namespace mlir;

namespace shardc::kernels {

enum ScopeIndex : size_t { ItemScope, StepScope, LaneScope };

void ElementEmitter::enterItem(Value item) {
  scopes.clear();
  scopes.resize(3);
  stored.clear();
  reduced.clear();
  position = {};
  position.item = item;
}

void ElementEmitter::enterStep(Operation *loop, Value step) {
  scopes[ItemScope].hoistBefore = loop;
  scopes[StepScope] = {};
  position.step = step;
}

void ElementEmitter::leaveStep() {
  scopes[ItemScope].hoistBefore = nullptr;
  scopes[StepScope] = {};
}

void ElementEmitter::enterLanes(Operation *loop) {
  scopes[StepScope].hoistBefore = loop;
  if (!scopes[ItemScope].hoistBefore)
    scopes[ItemScope].hoistBefore = loop;
}

void ElementEmitter::leaveLanes() {
  if (scopes[ItemScope].hoistBefore == scopes[StepScope].hoistBefore)
    scopes[ItemScope].hoistBefore = nullptr;
  scopes[StepScope].hoistBefore = nullptr;
  scopes[LaneScope] = {};
}

void ElementEmitter::setLanes(int64_t begin, int64_t end, Value lane,
                              Value mask) {
  extents.laneBegin = begin;
  extents.laneEnd = end;
  position.lane = lane;
  position.mask = mask;
  scopes[LaneScope] = {};
}

ElementEmitter::LaneValues ElementEmitter::takeLaneValues() {
  return std::exchange(scopes[LaneScope], {});
}

void ElementEmitter::restoreLaneValues(LaneValues values) {
  scopes[LaneScope] = std::move(values);
}

size_t ElementEmitter::scopeOf(ArrayRef<IndexForm> index) const {
  size_t scope = ItemScope;
  for (const IndexForm &form : index)
    scope = std::max<size_t>(scope, form.dependsOn(Loop::Lane)   ? LaneScope
                                    : form.dependsOn(Loop::Step) ? StepScope
                                                                 : ItemScope);
  return scope;
}

template <typename Emit> auto ElementEmitter::inScope(size_t scope, Emit emit) {
  OpBuilder::InsertionGuard guard(builder);
  // Values that stand in a branch may not be valid outside of it.
  bool inBranch = scopes.size() > 3;
  if (!inBranch && scopes[scope].hoistBefore)
    builder.setInsertionPoint(scopes[scope].hoistBefore);
  return emit(inBranch ? scopes.size() - 1 : scope);
}

Value *ElementEmitter::findValue(StringRef key) {
  for (Scope &scope : scopes)
    if (auto found = scope.values.find(key); found != scope.values.end())
      return &found->second;
  return nullptr;
}

static std::string keyOf(const void *pointer, ArrayRef<IndexForm> index) {
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(pointer));
  for (const IndexForm &form : index)
    key += "," + form.str();
  return key;
}

FailureOr<Value> ElementEmitter::emit(Element element) {
  for (IndexForm &form : element.index)
    form = form.restricted(extents);
  std::string key = keyOf(element.tensor.getAsOpaquePointer(), element.index);
  if (Value *known = findValue(key))
    return *known;
  return inScope(scopeOf(element.index), [&](size_t scope) -> FailureOr<Value> {
    FailureOr<Value> value = emitUncached(element);
    if (succeeded(value))
      scopes[scope].values[key] = *value;
    return value;
  });
}

FailureOr<Value> ElementEmitter::emitUncached(const Element &element) {
  Location loc = element.tensor.getLoc();
  Type type = getElementTypeOrSelf(element.tensor.getType());
  if (std::optional<Value> value = loadStored(element))
    return *value;
  Definition definition = define(element, extents);
  switch (definition.kind) {
  case Definition::Kind::Unknown:
    return failure();
  case Definition::Kind::Undefined:
    return Value(arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(heldType(type))));
  case Definition::Kind::Argument:
    return load(loc, pointers.lookup(element.tensor), placeOf(element, extents),
                type);
  case Definition::Kind::Constant:
    return Value(arith::ConstantOp::create(builder, loc,
                                           heldConstant(definition.attribute)));
  case Definition::Kind::Scalar:
    return emitScalarOutside(definition.scalar);
  case Definition::Kind::View:
    return emit(definition.choices[0].source);
  case Definition::Kind::Choices: {
    bool perLane = scopeOf(element.index) == LaneScope;
    return emitChoices(perLane ? vectors.vectorType(type) : heldType(type),
                       definition, 0);
  }
  case Definition::Kind::Compute:
    return emitCompute(cast<OpResult>(element.tensor), definition);
  case Definition::Kind::Reduce:
    if (Value value = reduced.lookup(element.tensor))
      return value;
    return failure();
  }
  return failure();
}

Value ElementEmitter::emitScalarOutside(Value scalar) {
  Operation *op = scalar.getDefiningOp();
  if (!op)
    return {};
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Element element{extract.getTensor(), {}};
    for (Value index : extract.getIndices()) {
      auto form = symbolicIndex(index, {}, extents);
      if (!form)
        return {};
      element.index.push_back(*form);
    }
    FailureOr<Value> value = emit(element);
    return succeeded(value) ? *value : Value();
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(emitScalarOutside(operand));
    if (!operands.back())
      return {};
  }
  return vectors.clone(op, operands);
}

FailureOr<Value> ElementEmitter::emitChoice(Type type, const Choice &choice) {
  FailureOr<Value> value =
      choice.source.tensor ? emit(choice.source)
                           : FailureOr<Value>(emitScalarOutside(choice.scalar));
  if (failed(value) || !*value)
    return failure();
  return isa<VectorType>(type) ? vectors.broadcast(value->getLoc(), *value)
                               : *value;
}

FailureOr<Value> ElementEmitter::emitChoices(Type type,
                                             const Definition &definition,
                                             size_t first) {
  SmallVector<const IndexBound *> open;
  for (;; ++first) {
    if (first == definition.choices.size())
      return failure();
    bool never = false;
    open.clear();
    for (const IndexBound &bound : definition.choices[first].bounds) {
      std::optional<bool> holds = bound.holds(extents);
      never |= holds == false;
      if (!holds)
        open.push_back(&bound);
    }
    if (!never)
      break;
  }
  const Choice &choice = definition.choices[first];
  // The last source is taken where no other was: its bounds hold by
  // construction.
  if (open.empty() || first + 1 == definition.choices.size())
    return emitChoice(type, choice);

  Location loc = builder.getUnknownLoc();
  Value condition;
  for (const IndexBound *bound : open) {
    Value holds = emitBound(loc, *bound);
    if (condition && (vectors.isVector(condition) || vectors.isVector(holds)))
      condition =
          arith::AndIOp::create(builder, loc, vectors.broadcast(loc, condition),
                                vectors.broadcast(loc, holds));
    else
      condition =
          condition
              ? Value(arith::AndIOp::create(builder, loc, condition, holds))
              : holds;
  }
  auto inBranch = [&](auto emit) {
    scopes.emplace_back();
    FailureOr<Value> value = emit();
    scopes.pop_back();
    return value;
  };
  if (!vectors.isVector(condition)) {
    auto branch = scf::IfOp::create(builder, loc, TypeRange{type}, condition,
                                    /*withElseRegion=*/true);
    auto fill = [&](Region &region, auto emit) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&region.front());
      FailureOr<Value> value = inBranch(emit);
      if (succeeded(value))
        scf::YieldOp::create(builder, loc, *value);
      return success(succeeded(value));
    };
    if (failed(fill(branch.getThenRegion(),
                    [&] { return emitChoice(type, choice); })) ||
        failed(fill(branch.getElseRegion(),
                    [&] { return emitChoices(type, definition, first + 1); })))
      return failure();
    return branch.getResult(0);
  }
  // Where lanes differ, every source is read under the mask of its own lanes.
  Value outer = position.mask;
  auto masked = [&](Value lanes, auto emit) {
    position.mask =
        outer ? Value(arith::AndIOp::create(builder, loc, outer, lanes))
              : lanes;
    FailureOr<Value> value = inBranch(emit);
    position.mask = outer;
    return value;
  };
  Value allTrue = vectors.broadcast(
      loc, arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
  Value otherwise = arith::XOrIOp::create(builder, loc, condition, allTrue);
  FailureOr<Value> taken =
      masked(condition, [&] { return emitChoice(type, choice); });
  FailureOr<Value> rest = masked(
      otherwise, [&] { return emitChoices(type, definition, first + 1); });
  if (failed(taken) || failed(rest))
    return failure();
  return Value(arith::SelectOp::create(builder, loc, condition, *taken, *rest));
}

FailureOr<Value> ElementEmitter::emitCompute(OpResult result,
                                             const Definition &definition) {
  linalg::GenericOp generic = definition.generic;
  std::string key = keyOf(generic.getOperation(), definition.iteration);
  Value yielded =
      generic.getBody()->getTerminator()->getOperand(result.getResultNumber());
  for (Scope &scope : scopes)
    if (auto found = scope.bodies.find(key); found != scope.bodies.end())
      return found->second.lookup(yielded);
  FailureOr<IRMapping> body = emitBody(generic, definition.iteration);
  if (failed(body) || !body->contains(yielded))
    return failure();
  size_t scope =
      scopes.size() > 3 ? scopes.size() - 1 : scopeOf(definition.iteration);
  scopes[scope].bodies[key] = *body;
  return body->lookup(yielded);
}

/// Returns a product x * y that is used once, by an addition of the same body.
/// This is the one place where a multiplication and an addition are rounded
/// together, so that results do not depend on which ops share a kernel.
static arith::MulFOp fusableProduct(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  Type type = value.getType();
  return product && value.hasOneUse() && !isHalfFloat(type) ? product
                                                            : arith::MulFOp();
}

LogicalResult ElementEmitter::mapArguments(linalg::GenericOp generic,
                                           ArrayRef<IndexForm> iteration,
                                           IRMapping &map) {
  for (auto [operand, argument] : llvm::zip_equal(
           generic->getOpOperands(), generic.getBody()->getArguments())) {
    if (argument.use_empty() ||
        (isReduction(generic) && generic.isDpsInit(&operand)))
      continue;
    FailureOr<Value> value =
        isa<RankedTensorType>(operand.get().getType())
            ? emit(operandElement(operand, iteration, extents))
            : FailureOr<Value>(emitScalarOutside(operand.get()));
    if (failed(value) || !*value)
      return failure();
    map.map(argument, *value);
  }
  return success();
}

Value ElementEmitter::castIndex(Location loc, Value value, Type type) {
  return arith::IndexCastOp::create(
      builder, loc, vectors.isVector(value) ? vectors.vectorType(type) : type,
      value);
}

Value ElementEmitter::emitPosition(linalg::IndexOp index,
                                   ArrayRef<IndexForm> iteration) {
  const IndexForm &form = iteration[index.getDim()];
  Value position = emitIndex(index.getLoc(), form, form.dependsOn(Loop::Lane));
  return castIndex(index.getLoc(), position, builder.getIndexType());
}

FailureOr<Value> ElementEmitter::emitExtract(tensor::ExtractOp extract,
                                             ArrayRef<Value> operands,
                                             ArrayRef<IndexForm> iteration) {
  Element element{extract.getTensor(), {}};
  for (auto [number, index] : llvm::enumerate(extract.getIndices())) {
    auto form = symbolicIndex(index, iteration, extents);
    if (!form) {
      Value value = operands[number + 1];
      if (!value)
        return failure();
      OpaqueIndex opaque;
      opaque.value = castIndex(extract.getLoc(), value, vectors.indexType());
      opaque.perLane = scopeOf(iteration) == LaneScope;
      form = IndexForm::opaque(opaque);
    }
    element.index.push_back(*form);
  }
  return emit(element);
}

Value ElementEmitter::emitArithmetic(Operation &op, ArrayRef<Value> operands,
                                     const IRMapping &map) {
  Location loc = op.getLoc();
  const bool fuses = vectors.fusesMultiplyAdd();
  auto product = [&](unsigned operand) {
    return fuses ? fusableProduct(op.getOperand(operand)) : arith::MulFOp();
  };
  auto mapped = [&](Value value) {
    return map.lookupOrNull(value) ? map.lookup(value)
                                   : emitScalarOutside(value);
  };
  auto negated = [&](Value value) {
    return Value(arith::NegFOp::create(builder, loc, value));
  };
  arith::MulFOp mul;
  if (isa<arith::AddFOp>(op) && ((mul = product(0)) || (mul = product(1))))
    return vectors.multiplyAdd(
        loc, mapped(mul.getLhs()), mapped(mul.getRhs()),
        operands[mul.getResult() == op.getOperand(0) ? 1 : 0]);
  if (isa<arith::SubFOp>(op) && (mul = product(0)))
    return vectors.multiplyAdd(loc, mapped(mul.getLhs()), mapped(mul.getRhs()),
                               negated(operands[1]));
  if (isa<arith::SubFOp>(op) && (mul = product(1)))
    return vectors.multiplyAdd(loc, negated(mapped(mul.getLhs())),
                               mapped(mul.getRhs()), operands[0]);
  return vectors.clone(&op, operands);
}

FailureOr<IRMapping> ElementEmitter::emitBody(linalg::GenericOp generic,
                                              ArrayRef<IndexForm> iteration) {
  IRMapping map;
  if (failed(mapArguments(generic, iteration, map)))
    return failure();
  Block *body = generic.getBody();
  for (Operation &op : body->without_terminator()) {
    SmallVector<Value> operands;
    bool unmapped = false;
    for (Value operand : op.getOperands()) {
      Value value = map.lookupOrNull(operand);
      if (!value && operand.getParentBlock() != body &&
          !isa<RankedTensorType>(operand.getType()))
        value = emitScalarOutside(operand);
      unmapped |= !value;
      operands.push_back(value);
    }
    FailureOr<Value> result;
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      result = emitPosition(index, iteration);
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      result = emitExtract(extract, operands, iteration);
    } else if (unmapped) {
      // Only what a reduction does with its accumulator is left to the caller.
      if (!isReduction(generic))
        return failure();
      continue;
    } else {
      result = emitArithmetic(op, operands, map);
    }
    if (failed(result) || !*result)
      return failure();
    map.map(op.getResult(0), *result);
  }
  // A body may pass on an argument, or a constant from outside.
  for (Value yielded : body->getTerminator()->getOperands())
    if (!map.contains(yielded) && yielded.getParentBlock() != body)
      if (Value value = emitScalarOutside(yielded))
        map.map(yielded, value);
  return map;
}

} // namespace shardc::kernels
