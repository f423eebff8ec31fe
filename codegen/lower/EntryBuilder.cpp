// Tensors are views of buffers; what an entry cannot take as a view is copied.
#include "codegen/lower/EntryBuilder.h"

using namespace mlir;

namespace shardc {

EntryBuilder::EntryBuilder(PlanBuilder &plan, Location location)
    : plan(plan), builder(location.getContext()), location(location) {}

// Returns a readable name for what an op makes: the ONNX node's, or the op's
// own.
static std::string nameOf(OpResult result) {
  Operation *op = result.getOwner();
  std::string name;
  if (auto loc = op->getLoc()->findInstanceOf<NameLoc>())
    name = loc.getName().str();
  else if (auto call = dyn_cast<step::CallOp>(op))
    name = call.getKernel().getLeafReference().str();
  else
    name = op->getName().stripDialect().str();
  if (op->getNumResults() > 1)
    name += "#" + std::to_string(result.getResultNumber());
  return name;
}

Value EntryBuilder::newBuffer(step::Kind kind, int64_t bytes, StringRef name) {
  return emit<step::BufferOp>(kind, bytes, name);
}

EntryBuilder::View EntryBuilder::allocate(OpResult result) {
  auto place = places.find(result);
  // A kernel cannot write to a gradient's place that is not aligned: the
  // gradient is copied there later.
  if (place != places.end() && plan.isAligned(place->second)) {
    set(result, place->second);
    return place->second;
  }
  auto type = cast<RankedTensorType>(result.getType());
  View fresh = View::contiguous({}, 0, type);
  fresh.buffer =
      newBuffer(step::Kind::activation, fresh.spanBytes(), nameOf(result));
  set(result, fresh);
  return fresh;
}

EntryBuilder::View EntryBuilder::newWorkspace(int64_t bytes) {
  auto type = MemRefType::get(
      {bytes}, IntegerType::get(builder.getContext(), 8,
                                IntegerType::SignednessSemantics::Unsigned));
  return View::contiguous(newBuffer(step::Kind::workspace, bytes, "workspace"),
                          0, type);
}

EntryBuilder::View EntryBuilder::copied(const View &source) {
  View copy = View::contiguous(
      {}, 0, RankedTensorType::get(source.shape, source.elementType));
  copy.buffer = newBuffer(step::Kind::activation, copy.spanBytes(), "copy");
  emit<step::CopyOp>(ref(source), ref(copy));
  return copy;
}

EntryBuilder::View EntryBuilder::contiguous(Value tensor) {
  View source = view(tensor);
  if (source.isContiguous() && plan.isAligned(source))
    return source;
  View &copy = copies[tensor];
  if (!copy.buffer)
    copy = copied(source);
  return copy;
}

// What replaces a value needs memory that nothing else reads.
EntryBuilder::View EntryBuilder::changeable(Value value) {
  View own = view(value);
  Operation *producer = value.getDefiningOp();
  bool isOwn = producer && value.hasOneUse() && own.isContiguous() &&
               !producer->hasTrait<nn::IsView>() &&
               !producer->hasTrait<OpTrait::ConstantLike>() &&
               !isa<nn::GetParameterOp>(producer) &&
               !isa<fsdp::ResidentOp, fsdp::AllGatherWaitOp>(producer);
  return isOwn ? own : copied(own);
}

EntryBuilder::View EntryBuilder::heads(Value tensor) {
  View source = view(tensor);
  int64_t width = source.shape[3];
  bool unitRows = width == 1 || source.strides[3] == 1;
  // What a broadcast repeats, or a slice reverses, is no matrix of the GEMM
  // library: it takes the distance of two rows for a row's length at least.
  bool apart = source.shape[1] <= 1 || source.strides[1] >= width;
  return unitRows && apart ? source : contiguous(tensor);
}

static bool hasGemmRows(const step::View &view) {
  int64_t rank = view.rank();
  return (view.shape[rank - 1] == 1 || view.strides[rank - 1] == 1) &&
         (view.shape[rank - 2] == 1 ||
          view.strides[rank - 2] >= view.shape[rank - 1]);
}

EntryBuilder::View EntryBuilder::matrix(Value tensor, ArrayRef<int64_t> shape,
                                        bool &transposed) {
  if (std::optional<View> reshaped = view(tensor).reshape(shape)) {
    if (hasGemmRows(*reshaped))
      return *reshaped;
    auto swap = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    std::swap(swap[shape.size() - 1], swap[shape.size() - 2]);
    View flipped = reshaped->transpose(swap);
    if (hasGemmRows(flipped)) {
      transposed = !transposed;
      return flipped;
    }
  }
  return *contiguous(tensor).reshape(shape);
}

Value EntryBuilder::ref(const View &view) {
  return emit<step::ViewOp>(view.memrefType(), view.buffer, view.offset);
}

Value EntryBuilder::ref(std::optional<View> view) {
  return view ? ref(*view) : Value();
}

} // namespace shardc
