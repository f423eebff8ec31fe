// Builds kernel functions by asking each op for its body.
#include "codegen/kernels/KernelFunction.h"

#include "codegen/step/View.h"
#include "frontend/nn/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc::kernels {

static bool isSplat(nn::ConstantOp constant) {
  return isa<SplatElementsAttr>(constant.getValue());
}

// Where a tensor has more slices than this, or a large one more places of a
// small one, each would make kernels of its own.
constexpr int64_t mostSlices = 8;
// The taps of a window of up to 3 x 3 x 3, which overlap, are not too many where a
// copy is worth avoiding: one that somebody computes with, or whose rows are a few
// vectors, which cost more than their bytes.
constexpr int64_t mostTaps = 27, shortRowBytes[] = {32, 128};
// A kernel's body is read back view by view, so that so many may follow each
// other.
constexpr int64_t mostViewsInRow = 16;
constexpr StringLiteral separate = "step.separate", inPlace = "step.in_place";
// What a slice that is read in place has side by side: whole vectors of every
// target. It begins where a GPU's arguments may.
constexpr int64_t vectorBytes = 64, argumentBytes = 16;

static bool isView(Operation *op) {
  return op && op->hasTrait<nn::IsView>() && isa<nn::KernelBody>(op);
}

/// Whether so many pieces of a tensor, or places in it, are too many. isPlaced:
/// whether they are copied to another place anyway.
static bool areTooMany(int64_t count, Type piece, Type whole, bool isPlaced) {
  auto type = cast<RankedTensorType>(piece);
  if (type.getRank() == 0)
    return count > mostSlices;
  int64_t bits = type.getShape().back() * type.getElementTypeBitWidth();
  bool hasShortRows =
           bits >= 8 * shortRowBytes[0] && bits <= 8 * shortRowBytes[1],
       areTaps = count * type.getNumElements() >
                 2 * cast<RankedTensorType>(whole).getNumElements();
  return count > ((isPlaced ? hasShortRows : areTaps) ? mostTaps : mostSlices);
}

/// Whether it goes into a concat or a pad, where a copy is to its place.
static bool isPlaced(Value piece) {
  SmallVector<Value> values{piece};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (isa<nn::ConcatOp>(user) || isa<nn::PadOp>(user))
        return true;
      if (isView(user))
        values.push_back(user->getResult(0));
    }
  return false;
}

/// How it lies in its input, which is row-major.
static step::View viewIn(nn::SliceOp slice) {
  return step::View::contiguous({}, 0, slice.getInput().getType())
      .slice(slice.getStarts(), slice.getLimits(), slice.getStrides())
      .canonical();
}

/// Whether kernels read it as fast in place as from a copy: it has gaps, and
/// what lies side by side are whole vectors.
static bool isWorthReadingInPlace(nn::SliceOp slice) {
  step::View view = viewIn(slice);
  int64_t run = 1; // elements side by side
  for (int64_t dim = view.rank() - 1; dim >= 0; --dim) {
    if (view.shape[dim] != 1 && view.strides[dim] != run)
      break;
    run *= view.shape[dim];
  }
  return !view.isContiguous() &&
         run * nn::elementBytes(view.elementType) % vectorBytes == 0 &&
         view.offset % argumentBytes == 0;
}

void separateViews(Block &block) {
  llvm::DenseMap<Value, int64_t> slices;
  llvm::DenseMap<std::pair<Type, Type>, int64_t> pads;
  auto typesOf = [](nn::PadOp pad) {
    return std::pair<Type, Type>(pad.getInput().getType(), pad.getType());
  };
  for (auto slice : block.getOps<nn::SliceOp>())
    ++slices[slice.getInput()];
  for (auto pad : block.getOps<nn::PadOp>())
    ++pads[typesOf(pad)];
  llvm::DenseMap<Operation *, int64_t> inRow;
  for (Operation &op : block) {
    if (auto pad = dyn_cast<nn::PadOp>(op);
        pad && areTooMany(pads[typesOf(pad)], pad.getInput().getType(),
                          pad.getType(), true))
      op.setDiscardableAttr(separate, UnitAttr::get(op.getContext()));
    if (!isView(&op))
      continue;
    int64_t length = inRow.lookup(op.getOperand(0).getDefiningOp()) + 1;
    Value view = op.getResult(0);
    if (auto slice = dyn_cast<nn::SliceOp>(op);
        slice && slices[slice.getInput()] > mostSlices && !isPlaced(view) &&
        isWorthReadingInPlace(slice)) {
      op.setDiscardableAttr(separate, UnitAttr::get(op.getContext()));
      op.setDiscardableAttr(inPlace, UnitAttr::get(op.getContext()));
    } else if (length > mostViewsInRow ||
               (isa<nn::SliceOp>(op) &&
                areTooMany(slices[op.getOperand(0)], view.getType(),
                           op.getOperand(0).getType(), isPlaced(view))))
      op.setDiscardableAttr(separate, UnitAttr::get(op.getContext()));
    else
      inRow[&op] = length;
  }
}

bool isReadInPlace(Operation *op) { return op && op->hasAttr(inPlace); }

bool isAbsorbed(Operation *op) {
  if (!op)
    return false;
  if (auto constant = dyn_cast<nn::ConstantOp>(op))
    return isSplat(constant);
  return isView(op) && !op->hasAttr(separate);
}

/// Whether all pieces that lie together are about a vector each: copied input by
/// input, every line of memory of the result would be written several times.
static bool joinsVectors(nn::ConcatOp concat) {
  return llvm::all_of(concat.getInputs(), [&](Value input) {
    auto type = cast<RankedTensorType>(input.getType());
    int64_t bits = type.getElementTypeBitWidth();
    for (int64_t size : type.getShape().drop_front(concat.getAxis()))
      bits *= size;
    return bits >= 256 && bits < 512;
  });
}

bool isGenerated(Operation *op) {
  if (auto concat = dyn_cast_or_null<nn::ConcatOp>(op))
    return concat.getInputs().size() <=
           (joinsVectors(concat) ? size_t(mostTaps) : mostConcatInputs);
  return op && isa<nn::KernelBody>(op) && !isView(op) && !isAbsorbed(op) &&
         !op->hasAttr(separate);
}

bool forEachUser(Value value, llvm::function_ref<bool(Operation *)> visit) {
  SmallVector<Value> values{value};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (isAbsorbed(user))
        values.push_back(user->getResult(0));
      else if (!visit(user))
        return false;
    }
  return true;
}

Value throughAbsorbed(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isAbsorbed(op) || op->getNumOperands() == 0)
      break;
    value = op->getOperand(0);
  }
  return value;
}

namespace {
/// Numbers the values of a group and writes down its ops.
class Signature {
public:
  explicit Signature(const OpGroup &group)
      : group(group), members(group.begin(), group.end()), os(signature.key) {}

  GroupSignature run() {
    for (Operation *op : group) {
      write(op, [&](Value operand) { reference(operand); });
      for (Value result : op->getResults())
        numbers[result] = next++;
    }
    for (Operation *op : group)
      for (Value result : op->getResults())
        if (!forEachUser(result, [&](Operation *user) {
              return members.contains(user);
            })) {
          signature.outputs.push_back(result);
          os << "->" << numbers[result];
        }
    return std::move(signature);
  }

private:
  void write(Operation *op, llvm::function_ref<void(Value)> operand) {
    writeUnique(os, op->getName());
    writeUnique(os, op->getAttrDictionary());
    os << "(";
    for (Value value : op->getOperands()) {
      operand(value);
      os << ",";
    }
    os << ")";
    for (Type type : op->getResultTypes())
      writeUnique(os, type);
    os << "\n";
  }
  void reference(Value value) {
    auto [entry, isNew] = numbers.try_emplace(value, next);
    if (!isNew) {
      os << "%" << entry->second;
      return;
    }
    ++next;
    if (isAbsorbed(value.getDefiningOp())) {
      os << "@";
      write(value.getDefiningOp(), [&](Value operand) { reference(operand); });
      return;
    }
    signature.inputs.push_back(value);
    os << "#";
    writeUnique(os, value.getType());
    if (Operation *op = value.getDefiningOp(); isReadInPlace(op))
      for (int64_t stride : viewIn(cast<nn::SliceOp>(op)).strides)
        os << stride << ",";
  }

  const OpGroup &group;
  llvm::SmallPtrSet<Operation *, 8> members;
  GroupSignature signature;
  llvm::raw_string_ostream os;
  llvm::DenseMap<Value, int> numbers;
  int next = 0;
};
} // namespace

GroupSignature signatureOf(const OpGroup &group) {
  return Signature(group).run();
}

static LogicalResult buildOp(OpBuilder &builder, Operation *op,
                             IRMapping &values) {
  if (auto constant = dyn_cast<nn::ConstantOp>(op);
      constant && isSplat(constant)) {
    values.map(constant.getResult(),
               arith::ConstantOp::create(builder, op->getLoc(),
                                         cast<TypedAttr>(constant.getValue())));
    return success();
  }
  SmallVector<Value> operands, results;
  for (Value operand : op->getOperands()) {
    // Absorbed ops are built where they are first read.
    if (!values.contains(operand) &&
        failed(buildOp(builder, operand.getDefiningOp(), values)))
      return failure();
    operands.push_back(values.lookup(operand));
  }
  if (failed(cast<nn::KernelBody>(op).buildKernel(builder, operands, results)))
    return failure();
  for (auto [old, built] : llvm::zip_equal(op->getResults(), results))
    values.map(old, built);
  return success();
}

FailureOr<func::FuncOp> buildKernelFunction(const OpGroup &group,
                                            const GroupSignature &signature,
                                            ModuleOp module, StringRef name) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = builder.getUnknownLoc();
  auto type = builder.getFunctionType(ValueRange(signature.inputs).getTypes(),
                                      ValueRange(signature.outputs).getTypes());
  auto function = func::FuncOp::create(builder, loc, name, type);
  for (auto [i, input] : llvm::enumerate(signature.inputs))
    if (Operation *op = input.getDefiningOp(); isReadInPlace(op))
      function.setArgAttr(
          i, step::stridesAttr,
          builder.getDenseI64ArrayAttr(viewIn(cast<nn::SliceOp>(op)).strides));
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping values;
  values.map(signature.inputs, function.getArguments());
  for (Operation *op : group) {
    if (failed(buildOp(builder, op, values))) {
      function.erase();
      return failure();
    }
  }
  SmallVector<Value> results;
  for (Value output : signature.outputs)
    results.push_back(values.lookup(output));
  func::ReturnOp::create(builder, loc, results);
  return function;
}

void generalizeNamedOps(ModuleOp kernels) {
  IRRewriter rewriter(kernels.getContext());
  kernels.walk([&](linalg::LinalgOp op) {
    if (isa<linalg::GenericOp, linalg::FillOp>(op))
      return;
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, op);
  });
}

} // namespace shardc::kernels
