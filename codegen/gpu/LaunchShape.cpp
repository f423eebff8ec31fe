// A kernel's vector width, threads and blocks are chosen here.
#include "codegen/gpu/LaunchShape.h"

#include "codegen/step/View.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shardc::kernels;

namespace shardc::gpu {

// No load or store is wider than these bytes, and no more elements than these
// are worth their registers.
constexpr int64_t widestAccess = 16, mostLanes = 8;
constexpr int64_t loopBlock = 256, rowBlock = 128, columnBlock = 512;
// A row that one warp can hold in these registers of each thread is left to
// one warp; longer ones get threads until each has half as many.
constexpr int64_t mostRegisterBytes = 128;
// A large GPU has as many streaming multiprocessors: fewer blocks leave some
// idle.
constexpr int64_t wantedBlocks = 132;
// A warp should read this much side by side; memory delivers no less than a
// sector.
constexpr int64_t columnBytes = 128, sectorBytes = 32;

namespace {
/// A kernel reads and writes these elements.
struct Elements {
  int64_t narrowest = 8, widestComputed = 4, mostElements = 0;

  explicit Elements(func::FuncOp kernel) {
    auto visit = [&](Type type, bool inMemory) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        return;
      int64_t bytes = nn::elementBytes(tensor.getElementType());
      widestComputed = std::max(widestComputed, bytes);
      mostElements = std::max(mostElements, tensor.getNumElements());
      // Masks of a byte follow what they mask.
      if (inMemory && bytes > 1)
        narrowest = std::min(narrowest, bytes);
    };
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
      Type type = kernel.getArgumentTypes()[i];
      visit(type, true);
      step::View view = step::viewOfInput(kernel, i);
      mostElements = std::max(
          mostElements, view.spanBytes() / nn::elementBytes(view.elementType));
    }
    for (Type type : kernel.getFunctionType().getResults())
      visit(type, true);
    kernel.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        visit(type, false);
    });
  }
};
} // namespace

/// Returns the widest vector that divides the lanes, and within which every
/// access runs along memory or stays in place.
static int64_t vectorFor(const LoopNest &nest, const Elements &elements) {
  for (int64_t lanes = std::min(mostLanes, widestAccess / elements.narrowest);
       lanes > 1; lanes /= 2) {
    bool fits = nest.extents.lanes % lanes == 0;
    auto argument = [&](const IndexForm &position) {
      auto stride = position.laneStride(nest.extents, lanes);
      fits &= stride && (*stride == 0 || *stride == 1);
    };
    auto bound = [&](const IndexBound &bound) {
      fits &= bound.sameInVector(nest.extents, lanes);
    };
    if (fits)
      visitAccesses(nest, argument, bound);
    if (fits)
      return lanes;
  }
  return 1;
}

static void shapeLoop(const LoopNest &nest, LaunchShape &shape) {
  int64_t vectors = nest.extents.items * nest.extents.lanes / shape.vector;
  shape.block = std::min(loopBlock, int64_t(llvm::alignTo(vectors, warpSize)));
  shape.grid = llvm::divideCeil(vectors, shape.block);
}

static void shapeRows(const LoopNest &nest, const Elements &elements,
                      LaunchShape &shape) {
  int64_t vectors = nest.extents.lanes / shape.vector;
  int64_t rowBytes = nest.extents.lanes * elements.widestComputed;
  if (rowBytes <= warpSize * mostRegisterBytes)
    shape.rowThreads = std::min<int64_t>(warpSize, llvm::PowerOf2Ceil(vectors));
  else
    shape.rowThreads = std::clamp<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(rowBytes, mostRegisterBytes / 2)),
        2 * warpSize, 1024);
  shape.vectorsPerThread = llvm::divideCeil(vectors, shape.rowThreads);
  int64_t held =
      shape.vectorsPerThread * shape.vector * elements.widestComputed;
  shape.keepsRow = held <= (shape.rowThreads == 1024 ? mostRegisterBytes / 2
                                                     : mostRegisterBytes);
  // A few rows take no more warps than they need.
  if (shape.rowThreads <= warpSize)
    shape.block = std::min<int64_t>(
        rowBlock,
        llvm::alignTo(nest.extents.items * shape.rowThreads, warpSize));
  else
    shape.block = shape.rowThreads;
  shape.grid =
      llvm::divideCeil(nest.extents.items * shape.rowThreads, shape.block);
}

static void shapeColumns(const LoopNest &nest, const Elements &elements,
                         LaunchShape &shape) {
  int64_t columns = nest.extents.items * nest.extents.lanes / shape.vector;
  int64_t vectorBytes = shape.vector * elements.narrowest;
  auto side = [&](int64_t bytes) {
    return std::clamp<int64_t>(bytes / vectorBytes, 1, warpSize);
  };
  int64_t width = columnBytes;
  while (width > sectorBytes &&
         int64_t(llvm::divideCeil(columns, side(width))) < wantedBlocks)
    width /= 2;
  shape.columnThreads =
      std::min<int64_t>(side(width), llvm::PowerOf2Ceil(columns));
  shape.stepThreads = std::clamp<int64_t>(
      llvm::PowerOf2Ceil(nest.extents.steps), warpSize / shape.columnThreads,
      columnBlock / shape.columnThreads);
  shape.block = shape.columnThreads * shape.stepThreads;
  shape.grid = llvm::divideCeil(columns, shape.columnThreads);
}

LaunchShape shapeOf(func::FuncOp kernel, const LoopNest &nest) {
  Elements elements(kernel);
  LaunchShape shape;
  shape.vector = vectorFor(nest, elements);
  switch (nest.kind) {
  case LoopNest::Kind::Elements:
    shapeLoop(nest, shape);
    break;
  case LoopNest::Kind::Rows:
    shapeRows(nest, elements, shape);
    break;
  case LoopNest::Kind::Columns:
    shapeColumns(nest, elements, shape);
    break;
  }
  // Threads behind the last vector have positions as well, and unsigned
  // comparisons need the sign bit.
  int64_t most =
      std::max(elements.mostElements, shape.grid * shape.block * shape.vector);
  shape.smallIndices = most < (int64_t(1) << 30);
  return shape;
}

} // namespace shardc::gpu
