// nn-stack-linears: linears of one input become one product.
#include "passes/Passes.h"

#include "frontend/nn/support/Verification.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace shardc {
#define GEN_PASS_DEF_NNSTACKLINEARS
#include "passes/Passes.h.inc"

namespace {

/// The elements of the last dim from `begin` to `end`.
Value sliced(OpBuilder &builder, Location loc, Value from, int64_t begin,
             int64_t end) {
  auto type = cast<RankedTensorType>(from.getType());
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()),
      strides(type.getRank(), 1);
  starts.back() = begin, limits.back() = end;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = end - begin;
  return nn::SliceOp::create(builder, loc, type.clone(shape), from, starts,
                             limits, strides);
}

/// Linears of one function that are one product.
class Stack {
public:
  explicit Stack(ArrayRef<nn::LinearOp> linears) : linears(linears) {}

  /// Puts the product in the place of the first.
  void replace();

private:
  /// The rotation that is all that reads a linear's heads, or null.
  static nn::RopeOp ropeOf(nn::LinearOp linear);
  /// The last to be made of a product and the angles of a rotation.
  static Operation *lastOf(nn::RopeOp rope, Value product);
  /// What one rotation of the first parts' heads stands for: those whose
  /// angles are the first one's.
  SmallVector<nn::RopeOp> findRopes();
  /// Rotates the heads of the first parts of `product`: a tensor of its shape.
  Value rotate(OpBuilder &builder, Value product, ArrayRef<nn::RopeOp> ropes);

  SmallVector<nn::LinearOp> linears;
};

nn::RopeOp Stack::ropeOf(nn::LinearOp linear) {
  if (!linear->hasOneUse())
    return {};
  auto heads = dyn_cast<nn::ReshapeOp>(*linear->user_begin());
  if (!heads || !heads->hasOneUse() || nn::shapeOf(heads).size() != 4 ||
      nn::shapeOf(linear).size() != 3 ||
      nn::shapeOf(heads).take_front(2) != nn::shapeOf(linear).take_front(2))
    return {};
  auto rope = dyn_cast<nn::RopeOp>(*heads->user_begin());
  return rope && rope.getInput() == heads ? rope : nn::RopeOp();
}

Operation *Stack::lastOf(nn::RopeOp rope, Value product) {
  Operation *last = product.getDefiningOp();
  for (Value angles : {rope.getCos(), rope.getSin()})
    if (Operation *made = angles.getDefiningOp();
        made && last->isBeforeInBlock(made))
      last = made;
  return last;
}

SmallVector<nn::RopeOp> Stack::findRopes() {
  SmallVector<nn::RopeOp> ropes;
  auto isLikeFirst = [&](nn::RopeOp rope) {
    nn::RopeOp first = ropes.front();
    return rope.getCos() == first.getCos() && rope.getSin() == first.getSin() &&
           rope->getAttrDictionary() == first->getAttrDictionary() &&
           nn::shapeOf(rope).back() == nn::shapeOf(first).back();
  };
  SmallVector<nn::LinearOp> rotated, others;
  for (nn::LinearOp linear : linears) {
    nn::RopeOp rope = ropeOf(linear);
    if (rope && (ropes.empty() || isLikeFirst(rope))) {
      ropes.push_back(rope);
      rotated.push_back(linear);
    } else {
      others.push_back(linear);
    }
  }
  if (ropes.empty())
    return ropes;
  // All columns are heads of one size, and nothing reads them before they can be
  // turned.
  int64_t size = nn::shapeOf(ropes.front()).back();
  Operation *last = lastOf(ropes.front(), linears.front().getResult());
  if (llvm::any_of(linears, [&](nn::LinearOp linear) {
        return nn::shapeOf(linear).back() % size != 0 ||
               llvm::any_of(linear->getUsers(), [&](Operation *user) {
                 return user->isBeforeInBlock(last);
               });
      }))
    return {};
  rotated.append(others);
  linears = std::move(rotated);
  return ropes;
}

Value Stack::rotate(OpBuilder &builder, Value product,
                    ArrayRef<nn::RopeOp> ropes) {
  nn::RopeOp first = ropes.front();
  auto type = cast<RankedTensorType>(product.getType());
  int64_t size = nn::shapeOf(first).back(),
          heads = type.getShape().back() / size;
  int64_t turned = 0;
  SmallVector<Location> locations;
  for (nn::RopeOp rope : ropes) {
    turned += nn::shapeOf(rope)[2];
    locations.push_back(rope.getLoc());
  }
  Location loc = builder.getFusedLoc(locations);
  SmallVector<int64_t> shape(type.getShape().drop_back());
  shape.append({heads, size});
  Value whole = nn::ReshapeOp::create(builder, loc, type.clone(shape), product);
  Value result =
      nn::RopeOp::create(builder, loc, whole.getType(), whole, first.getCos(),
                         first.getSin(), first.getInterleaved(),
                         first.getTransposed(), turned < heads ? turned : 0);
  return nn::ReshapeOp::create(builder, loc, type, result);
}

void Stack::replace() {
  nn::LinearOp first = linears.front();
  SmallVector<nn::RopeOp> ropes = findRopes();
  SmallVector<Value> weights, biases;
  SmallVector<Location> locations;
  int64_t columns = 0;
  for (nn::LinearOp linear : linears) {
    weights.push_back(linear.getWeight());
    if (linear.getBias())
      biases.push_back(linear.getBias());
    columns += nn::shapeOf(linear).back();
    locations.push_back(linear.getLoc());
  }
  // Parameters and angles have no operands that are made behind the first.
  for (ValueRange values : {ValueRange(weights), ValueRange(biases)})
    for (Value value : values)
      value.getDefiningOp()->moveBefore(first);
  OpBuilder builder(first);
  Location loc = builder.getFusedLoc(locations);
  auto type = cast<RankedTensorType>(first.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = columns;
  Value product = nn::StackedLinearOp::create(builder, loc, type.clone(shape),
                                              first.getInput(), weights, biases,
                                              /*transpose_weight=*/true);
  if (!ropes.empty())
    builder.setInsertionPointAfter(lastOf(ropes.front(), product));
  Value rotated = ropes.empty() ? product : rotate(builder, product, ropes);
  int64_t begin = 0;
  SmallVector<Operation *> replaced; // each behind what reads it
  for (auto [index, linear] : llvm::enumerate(linears)) {
    int64_t end = begin + nn::shapeOf(linear).back();
    Value part = sliced(builder, linear.getLoc(), rotated, begin, end);
    begin = end;
    if (index < ropes.size()) {
      nn::RopeOp rope = ropes[index];
      rope.replaceAllUsesWith(Value(
          nn::ReshapeOp::create(builder, rope.getLoc(), rope.getType(), part)));
      replaced.push_back(rope);
      replaced.push_back(rope.getInput().getDefiningOp());
    } else {
      linear.replaceAllUsesWith(part);
    }
    replaced.push_back(linear);
  }
  for (Operation *op : replaced)
    op->erase();
}

struct NNStackLinears : impl::NNStackLinearsBase<NNStackLinears> {
  using NNStackLinearsBase::NNStackLinearsBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    auto model = symbols.lookup<func::FuncOp>("model");
    if (!model)
      return;
    llvm::DenseMap<StringAttr, int64_t> reads; // of parameters
    model.walk([&](nn::GetParameterOp get) {
      reads[get.getParameterAttr().getAttr()] +=
          std::distance(get->use_begin(), get->use_end());
    });
    auto kindOf = [&](Value value) -> Attribute {
      auto get = value.getDefiningOp<nn::GetParameterOp>();
      if (!get || reads.lookup(get.getParameterAttr().getAttr()) != 1)
        return {};
      auto parameter = symbols.lookup<nn::ParameterOp>(get.getParameter());
      auto unit = parameter->getAttrOfType<StringAttr>(nn::parameterUnitAttr);
      auto elements = cast<RankedTensorType>(get.getType()).getNumElements();
      if (!unit || elements == 0 || elements % align)
        return {};
      // Those that differ in one of these do not lie in one flat buffer.
      Builder builder(&getContext());
      return builder.getArrayAttr(
          {unit, builder.getBoolAttr(parameter.getFrozen()),
           builder.getBoolAttr(parameter.getTrainable()),
           TypeAttr::get(getElementTypeOrSelf(get.getType()))});
    };
    using Key = std::pair<Value, Attribute>; // input, of weight and bias
    llvm::MapVector<Key, SmallVector<nn::LinearOp>> alike;
    for (auto linear : model.front().getOps<nn::LinearOp>()) {
      Attribute weight = kindOf(linear.getWeight());
      Attribute bias = linear.getBias() ? kindOf(linear.getBias()) : weight;
      if (!weight || !bias || !linear.getTransposeWeight() ||
          linear.getResidual())
        continue;
      Attribute key = ArrayAttr::get(
          &getContext(),
          {weight, bias, BoolAttr::get(&getContext(), bool(linear.getBias()))});
      alike[{linear.getInput(), key}].push_back(linear);
    }
    for (auto &[key, linears] : alike)
      if (linears.size() > 1)
        Stack(linears).replace();
  }
};

} // namespace
} // namespace shardc
