// The definitions of tensor and linalg ops, element by element.
#include "codegen/kernels/TensorDefinition.h"

#include "codegen/step/View.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc::kernels {

bool isReduction(linalg::GenericOp generic) {
  return generic.getNumReductionLoops() != 0;
}

std::optional<bool> IndexBound::holds(const LoopExtents &extents) const {
  auto range = form.restricted(extents).range(extents);
  if (!range)
    return std::nullopt;
  if (range->first >= low && range->second < high)
    return true;
  if (range->second < low || range->first >= high)
    return false;
  return std::nullopt;
}

bool IndexBound::sameInVector(const LoopExtents &extents,
                              int64_t vectorLanes) const {
  IndexForm index =
      form.restricted(extents).plus(IndexForm::constant(-low), extents);
  std::optional<int64_t> stride = index.laneStride(extents, vectorLanes);
  if (!index.dependsOn(Loop::Lane) || stride == 0)
    return true;
  return vectorLanes > 1 && stride == 1 && (high - low) % vectorLanes == 0 &&
         index.alignment(vectorLanes, vectorLanes, extents) == vectorLanes;
}

IndexForms iterationOf(linalg::GenericOp generic, unsigned result,
                       ArrayRef<IndexForm> index, const LoopExtents &extents) {
  IndexForms iteration(generic.getNumLoops());
  AffineMap map =
      generic.getIndexingMapMatchingResult(generic->getResult(result));
  for (auto [expression, form] : llvm::zip_equal(map.getResults(), index))
    if (auto dim = dyn_cast<AffineDimExpr>(expression))
      iteration[dim.getPosition()] = form;
  return iteration;
}

Element operandElement(OpOperand &operand, ArrayRef<IndexForm> iteration,
                       const LoopExtents &extents) {
  auto generic = cast<linalg::GenericOp>(operand.getOwner());
  Element element{operand.get(), {}};
  for (AffineExpr expression :
       generic.getMatchingIndexingMap(&operand).getResults())
    element.index.push_back(apply(expression, iteration, extents));
  return element;
}

static Definition view(Value source, IndexForms index) {
  Definition definition;
  definition.kind = Definition::Kind::View;
  definition.choices.push_back({{}, {source, std::move(index)}, {}});
  return definition;
}

static Definition reshape(const Element &element, Value source,
                          const LoopExtents &extents) {
  IndexForm position =
      linearize(element.index, shapeOf(element.tensor), extents);
  return view(source, delinearize(position, shapeOf(source), extents));
}

static Definition defineConcat(tensor::ConcatOp concat, const Element &element,
                               const LoopExtents &extents) {
  Definition definition;
  definition.kind = Definition::Kind::Choices;
  int64_t dim = concat.getDim(), offset = 0;
  for (Value input : concat.getInputs()) {
    Choice choice;
    int64_t size = shapeOf(input)[dim];
    choice.bounds.push_back({element.index[dim], offset, offset + size});
    choice.source = {input, element.index};
    choice.source.index[dim] =
        element.index[dim].plus(IndexForm::constant(-offset), extents);
    definition.choices.push_back(std::move(choice));
    offset += size;
  }
  return definition;
}

static Definition definePad(tensor::PadOp pad, const Element &element,
                            const LoopExtents &extents) {
  Value padding = pad.getConstantPaddingValue();
  if (!padding)
    return {};
  Definition definition;
  definition.kind = Definition::Kind::Choices;
  Choice inside, outside;
  inside.source = {pad.getSource(), element.index};
  for (auto [dim, low] : llvm::enumerate(pad.getStaticLow())) {
    int64_t size = shapeOf(pad.getSource())[dim];
    inside.bounds.push_back({element.index[dim], low, low + size});
    inside.source.index[dim] =
        element.index[dim].plus(IndexForm::constant(-low), extents);
  }
  outside.scalar = padding;
  definition.choices = {std::move(inside), std::move(outside)};
  return definition;
}

static Definition defineInsert(tensor::InsertSliceOp insert,
                               const Element &element,
                               const LoopExtents &extents) {
  if (shapeOf(insert.getSource()).size() != element.index.size())
    return {};
  Definition definition;
  definition.kind = Definition::Kind::Choices;
  Choice inside, outside;
  inside.source = {insert.getSource(), element.index};
  for (size_t dim = 0; dim < element.index.size(); ++dim) {
    int64_t offset = insert.getStaticOffsets()[dim],
            size = insert.getStaticSizes()[dim],
            stride = insert.getStaticStrides()[dim];
    IndexForm shifted =
        element.index[dim].plus(IndexForm::constant(-offset), extents);
    inside.bounds.push_back(
        {element.index[dim], offset, offset + (size - 1) * stride + 1});
    if (stride != 1)
      inside.bounds.push_back({shifted.modulo(stride, extents), 0, 1});
    inside.source.index[dim] = shifted.floorDivide(stride, extents);
  }
  outside.source = {insert.getDest(), element.index};
  definition.choices = {std::move(inside), std::move(outside)};
  return definition;
}

static Definition defineExtract(tensor::ExtractSliceOp slice,
                                const Element &element,
                                const LoopExtents &extents) {
  if (shapeOf(slice.getSource()).size() != element.index.size())
    return {};
  IndexForms index;
  for (size_t dim = 0; dim < element.index.size(); ++dim)
    index.push_back(
        element.index[dim]
            .times(slice.getStaticStrides()[dim])
            .plus(IndexForm::constant(slice.getStaticOffsets()[dim]), extents));
  return view(slice.getSource(), std::move(index));
}

Definition define(const Element &element, const LoopExtents &extents) {
  Definition definition;
  auto result = dyn_cast<OpResult>(element.tensor);
  if (!result) {
    definition.kind = Definition::Kind::Argument;
    return definition;
  }
  return llvm::TypeSwitch<Operation *, Definition>(result.getOwner())
      .Case([&](linalg::GenericOp generic) {
        definition.generic = generic;
        definition.kind = isReduction(generic) ? Definition::Kind::Reduce
                                               : Definition::Kind::Compute;
        definition.iteration = iterationOf(generic, result.getResultNumber(),
                                           element.index, extents);
        return definition;
      })
      .Case([&](linalg::FillOp fill) {
        definition.kind = Definition::Kind::Scalar;
        definition.scalar = fill.getInputs()[0];
        return definition;
      })
      .Case([&](tensor::SplatOp splat) {
        definition.kind = Definition::Kind::Scalar;
        definition.scalar = splat.getInput();
        return definition;
      })
      .Case([&](arith::ConstantOp constant) {
        auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
        definition.kind =
            splat ? Definition::Kind::Constant : Definition::Kind::Unknown;
        if (splat)
          definition.attribute = splat.getSplatValue<TypedAttr>();
        return definition;
      })
      .Case([&](tensor::EmptyOp) {
        definition.kind = Definition::Kind::Undefined;
        return definition;
      })
      .Case([&](tensor::CollapseShapeOp op) {
        return reshape(element, op.getSrc(), extents);
      })
      .Case([&](tensor::ExpandShapeOp op) {
        return reshape(element, op.getSrc(), extents);
      })
      .Case([&](tensor::ReshapeOp op) {
        return reshape(element, op.getSource(), extents);
      })
      .Case([&](tensor::CastOp op) {
        return view(op.getSource(), element.index);
      })
      .Case([&](tensor::ExtractSliceOp op) {
        return defineExtract(op, element, extents);
      })
      .Case([&](tensor::InsertSliceOp op) {
        return defineInsert(op, element, extents);
      })
      .Case([&](tensor::ConcatOp op) {
        return defineConcat(op, element, extents);
      })
      .Case([&](tensor::PadOp op) { return definePad(op, element, extents); })
      .Default([&](Operation *) { return definition; });
}

DenseI64ArrayAttr stridesOf(Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto kernel = argument
                    ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                    : func::FuncOp();
  return kernel ? step::stridesOfInput(kernel, argument.getArgNumber())
                : DenseI64ArrayAttr();
}

IndexForm placeOf(const Element &element, const LoopExtents &extents) {
  DenseI64ArrayAttr strides = stridesOf(element.tensor);
  if (!strides)
    return linearize(element.index, shapeOf(element.tensor), extents);
  IndexForm place;
  for (auto [form, stride] :
       llvm::zip_equal(element.index, strides.asArrayRef()))
    place = place.plus(form.times(stride), extents);
  return place;
}

std::optional<IndexForm> symbolicIndex(Value value,
                                       ArrayRef<IndexForm> iteration,
                                       const LoopExtents &extents) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  IntegerAttr constant;
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op);
      constantOp && (constant = dyn_cast<IntegerAttr>(constantOp.getValue())))
    return IndexForm::constant(constant.getInt());
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return iteration[index.getDim()];
  if (isa<arith::IndexCastOp>(op))
    return symbolicIndex(op->getOperand(0), iteration, extents);
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  auto lhs = symbolicIndex(op->getOperand(0), iteration, extents);
  auto rhs = symbolicIndex(op->getOperand(1), iteration, extents);
  if (!lhs || !rhs)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return lhs->plus(*rhs, extents);
  if (isa<arith::SubIOp>(op))
    return lhs->plus(rhs->times(-1), extents);
  if (rhs->isConstant())
    return lhs->times(rhs->constant());
  if (lhs->isConstant())
    return rhs->times(lhs->constant());
  return std::nullopt;
}

} // namespace shardc::kernels
