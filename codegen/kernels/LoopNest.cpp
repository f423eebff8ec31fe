// Chooses the loop nest of a kernel by reading it back from its results, once
// per candidate.
#include "codegen/kernels/LoopNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

#include <functional>

using namespace mlir;

namespace shardc::kernels {

// A row longer than this is not one work item of an elementwise kernel: it
// could not be shared by threads.
constexpr int64_t longestElementwiseRow = 8192;
// A shorter lane loop would leave most of a vector idle.
constexpr int64_t shortestElementwiseRow = 8;
// More splits than this would blow the code up; choices are then made lane by
// lane.
constexpr size_t mostLaneSplits = 8;

IndexForm LoopNest::position() const {
  IndexForm lane = IndexForm::loop(Loop::Lane, extents);
  return IndexForm::loop(Loop::Item, extents)
      .times(extents.lanes)
      .plus(lane, extents);
}

IndexForms LoopNest::outputIndex(Value tensor, bool perRow) const {
  IndexForm where = perRow ? IndexForm::loop(Loop::Item, extents) : position();
  return delinearize(where, shapeOf(tensor), extents);
}

/// How many of the innermost reduction loops lie behind every kept loop of more
/// than one element.
static unsigned trailingReductionLoops(linalg::GenericOp generic) {
  SmallVector<int64_t> ranges = generic.getStaticLoopRanges();
  auto iterators = generic.getIteratorTypesArray();
  unsigned count = 0;
  for (size_t dim = ranges.size(); dim-- > 0;) {
    if (iterators[dim] == utils::IteratorType::reduction)
      ++count;
    else if (ranges[dim] != 1)
      break;
  }
  return count;
}

static SmallVector<unsigned> reductionLoops(linalg::GenericOp generic) {
  SmallVector<unsigned> dims;
  generic.getReductionDims(dims);
  return dims;
}

static int64_t product(linalg::GenericOp generic, ArrayRef<unsigned> dims) {
  SmallVector<int64_t> ranges = generic.getStaticLoopRanges();
  int64_t elements = 1;
  for (unsigned dim : dims)
    elements *= ranges[dim];
  return elements;
}

IndexForms LoopNest::reductionIteration(linalg::GenericOp reduction) const {
  IndexForms iteration = iterationOf(
      reduction, 0, outputIndex(reduction->getResult(0), kind == Kind::Rows),
      extents);
  SmallVector<unsigned> dims = reductionLoops(reduction);
  SmallVector<int64_t> ranges = reduction.getStaticLoopRanges();
  size_t onLanes = kind == Kind::Rows ? trailingReductionLoops(reduction) : 0;
  auto assign = [&](ArrayRef<unsigned> some, Loop loop) {
    SmallVector<int64_t> shape;
    for (unsigned dim : some)
      shape.push_back(ranges[dim]);
    for (auto [dim, form] : llvm::zip_equal(
             some, delinearize(IndexForm::loop(loop, extents), shape, extents)))
      iteration[dim] = form;
  };
  assign(ArrayRef(dims).drop_back(onLanes), Loop::Step);
  assign(ArrayRef(dims).take_back(onLanes), Loop::Lane);
  return iteration;
}

namespace {

/// Follows elements from the results to the arguments, as emission will.
class Reader {
public:
  Reader(const LoopNest &nest, LoopExtents extents)
      : nest(nest), extents(extents) {}

  std::function<void(Value, const IndexForm &)> onArgument =
      [](Value, const IndexForm &) {};
  std::function<void(const IndexBound &)> onBound = [](const IndexBound &) {};
  std::string why;

  bool readAll() {
    for (auto [output, perRow] :
         llvm::zip_equal(nest.outputs, nest.outputPerRow))
      if (!read({output, nest.outputIndex(output, perRow)}))
        return false;
    for (linalg::GenericOp reduction : nest.reductions)
      if (!readOperands(reduction, nest.reductionIteration(reduction)))
        return false;
    return true;
  }

private:
  bool fail(Value tensor, StringRef reason) {
    llvm::raw_string_ostream os(why);
    os << reason;
    if (Operation *op = tensor.getDefiningOp())
      os << " (" << op->getName() << ")";
    return false;
  }

  bool read(Element element) {
    std::string key = std::to_string(
        reinterpret_cast<uintptr_t>(element.tensor.getAsOpaquePointer()));
    for (IndexForm &form : element.index) {
      form = form.restricted(extents);
      key += "," + form.str();
    }
    if (!seen.insert(key).second)
      return true;
    Definition definition = define(element, extents);
    switch (definition.kind) {
    case Definition::Kind::Unknown:
      return fail(element.tensor, "a kernel cannot hold this op");
    case Definition::Kind::Undefined:
    case Definition::Kind::Constant:
    case Definition::Kind::Scalar:
      return true;
    case Definition::Kind::Argument:
      onArgument(element.tensor, placeOf(element, extents).restricted(extents));
      return true;
    case Definition::Kind::View:
      return read(definition.choices[0].source);
    case Definition::Kind::Choices:
      return readChoices(definition);
    case Definition::Kind::Compute:
      return readOperands(definition.generic, definition.iteration);
    case Definition::Kind::Reduce: {
      // A work item has only its own sums.
      bool perRow = nest.kind == LoopNest::Kind::Rows;
      IndexForm mine =
          perRow ? IndexForm::loop(Loop::Item, nest.extents) : nest.position();
      IndexForm asked =
          linearize(element.index, shapeOf(element.tensor), extents);
      return asked.restricted(extents) == mine.restricted(extents) ||
             fail(element.tensor,
                  "a work item would need another one's reduction");
    }
    }
    return false;
  }

  bool readChoices(const Definition &definition) {
    for (const Choice &choice : definition.choices) {
      bool never = false, always = true;
      for (const IndexBound &bound : choice.bounds) {
        std::optional<bool> holds = bound.holds(extents);
        never |= holds == false;
        always &= holds == true;
      }
      if (never)
        continue;
      for (const IndexBound &bound : choice.bounds)
        if (!bound.holds(extents))
          onBound(bound);
      if (choice.source.tensor && !read(choice.source))
        return false;
      if (always)
        return true;
    }
    return true;
  }

  bool readOperands(linalg::GenericOp generic, ArrayRef<IndexForm> iteration) {
    for (OpOperand &operand : generic->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()) &&
          generic.payloadUsesValueFromOperand(&operand) &&
          !(isReduction(generic) && generic.isDpsInit(&operand)) &&
          !read(operandElement(operand, iteration, extents)))
        return false;
    for (auto extract : generic.getBody()->getOps<tensor::ExtractOp>()) {
      Element element{extract.getTensor(), {}};
      for (Value index : extract.getIndices())
        element.index.push_back(symbolicIndex(index, iteration, extents)
                                    .value_or(IndexForm::opaque({})));
      if (!read(element))
        return false;
    }
    return true;
  }

  const LoopNest &nest;
  LoopExtents extents;
  llvm::StringSet<> seen;
};

} // namespace

/// Returns whether the nest can be emitted, and finds the lane splits. `smooth`
/// says whether every access runs along the lanes.
static bool complete(LoopNest &nest, std::string &why, bool &smooth) {
  LoopExtents &extents = nest.extents;
  extents.laneBegin = 0;
  extents.laneEnd = extents.lanes;
  nest.laneSplits = {0, extents.lanes};
  auto split = [&](const IndexBound &bound) {
    if (bound.form.laneStride(extents) != 1 ||
        !bound.form.opaqueTerms().empty() || bound.form.terms().size() != 1)
      return;
    for (int64_t edge : {bound.low, bound.high})
      if (int64_t lane = edge - bound.form.constant();
          lane > 0 && lane < extents.lanes)
        nest.laneSplits.push_back(lane);
  };
  Reader reader(nest, extents);
  reader.onBound = split;
  if (!reader.readAll()) {
    why = reader.why;
    return false;
  }
  llvm::sort(nest.laneSplits);
  nest.laneSplits.erase(llvm::unique(nest.laneSplits), nest.laneSplits.end());
  if (nest.laneSplits.size() > mostLaneSplits + 1)
    nest.laneSplits = {0, extents.lanes};

  smooth = true;
  for (size_t i = 0; i + 1 < nest.laneSplits.size(); ++i) {
    LoopExtents segment = extents;
    segment.laneBegin = nest.laneSplits[i];
    segment.laneEnd = nest.laneSplits[i + 1];
    auto checkArgument = [&](Value, const IndexForm &position) {
      auto stride = position.laneStride(segment);
      smooth &= stride && (*stride == 0 || *stride == 1);
    };
    auto checkBound = [&](const IndexBound &bound) {
      smooth &= !bound.form.dependsOn(Loop::Lane);
    };
    Reader check(nest, segment);
    check.onArgument = checkArgument;
    check.onBound = checkBound;
    if (!check.readAll()) {
      why = check.why;
      return false;
    }
  }
  return true;
}

static bool nestElements(LoopNest &nest, std::string &why) {
  nest.kind = LoopNest::Kind::Elements;
  int64_t elements = elementsOf(nest.outputs.front());
  for (Value output : nest.outputs)
    if (elementsOf(output) != elements) {
      why = "results of an elementwise kernel differ in size";
      return false;
    }
  auto attempt = [&](int64_t lanes, bool flat) {
    nest.flat = flat;
    nest.extents.items = elements / lanes;
    nest.extents.lanes = lanes;
    bool smooth = false;
    return complete(nest, why, smooth) && smooth;
  };
  if (attempt(elements, true) && nest.laneSplits.size() == 2)
    return true;
  int64_t lanes = 1;
  SmallVector<int64_t> candidates;
  for (int64_t size : llvm::reverse(shapeOf(nest.outputs.front()))) {
    lanes *= size;
    if (size != 1 && lanes <= longestElementwiseRow)
      candidates.push_back(lanes);
  }
  for (int64_t candidate : llvm::reverse(candidates))
    if (candidate >= shortestElementwiseRow && attempt(candidate, false))
      return true;
  // No access runs along memory: elements are gathered. Long inner dims keep
  // their rows, so that positions stay cheap.
  bool smooth = false;
  int64_t innermost = candidates.empty() ? 1 : candidates.front();
  nest.flat = innermost < shortestElementwiseRow;
  nest.extents.lanes = nest.flat ? elements : innermost;
  nest.extents.items = elements / nest.extents.lanes;
  if (!complete(nest, why, smooth))
    return false;
  if (nest.flat)
    nest.laneSplits = {0, nest.extents.lanes};
  return true;
}

/// Cuts reductions as rows, or as columns of which `columnLanes` neighbouring
/// results are one block of lanes.
static bool nestReductions(LoopNest &nest, LoopNest::Kind kind,
                           int64_t columnLanes, std::string &why,
                           bool &smooth) {
  nest.kind = kind;
  LoopExtents &extents = nest.extents;
  for (linalg::GenericOp reduction : nest.reductions) {
    SmallVector<unsigned> dims = reductionLoops(reduction);
    size_t trailing = trailingReductionLoops(reduction);
    LoopExtents mine;
    if (kind == LoopNest::Kind::Rows) {
      mine.items = elementsOf(reduction->getResult(0));
      mine.steps = product(reduction, ArrayRef(dims).drop_back(trailing));
      mine.lanes = product(reduction, ArrayRef(dims).take_back(trailing));
    } else {
      mine.steps = product(reduction, dims);
      mine.lanes = columnLanes;
      mine.items = elementsOf(reduction->getResult(0)) / mine.lanes;
    }
    bool first = reduction == nest.reductions.front();
    if (!first && std::tuple(mine.items, mine.steps, mine.lanes) !=
                      std::tuple(extents.items, extents.steps, extents.lanes)) {
      why = "reductions over different dims";
      return false;
    }
    extents = mine;
    if (kind == LoopNest::Kind::Rows && mine.steps != 1 &&
        nest.levelOf(reduction->getResult(0)) != 1) {
      why = "a reduction over separate dims waits for another";
      return false;
    }
  }
  nest.outputPerRow.clear();
  for (Value output : nest.outputs) {
    int64_t size = elementsOf(output);
    bool perRow = kind == LoopNest::Kind::Rows && size == extents.items &&
                  (extents.lanes != 1 || extents.steps != 1);
    bool perLane = size == extents.items * extents.lanes &&
                   (kind == LoopNest::Kind::Columns || extents.steps == 1);
    if (!perRow && !perLane) {
      why = "a result has neither an element per row nor one per lane";
      return false;
    }
    nest.outputPerRow.push_back(perRow);
  }
  return complete(nest, why, smooth);
}

static bool findLevels(func::FuncOp kernel, LoopNest &nest, std::string &why) {
  for (Operation &op : kernel.getBody().front()) {
    int64_t level = 0;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        level = std::max(level, nest.levelOf(operand));
    });
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (isReduction(generic)) {
        ++level;
        nest.reductions.push_back(generic);
      }
      if (!generic.hasPureTensorSemantics() || generic.hasDynamicShape()) {
        why = "a kernel works on tensors of static shape";
        return false;
      }
    }
    for (Value result : op.getResults())
      nest.levels[result] = level;
  }
  return true;
}

std::optional<LoopNest> findLoopNest(func::FuncOp kernel, std::string &why) {
  LoopNest nest;
  if (!llvm::hasSingleElement(kernel.getBody())) {
    why = "a kernel has one block";
    return std::nullopt;
  }
  if (!findLevels(kernel, nest, why))
    return std::nullopt;
  llvm::append_range(nest.outputs,
                     kernel.getBody().front().getTerminator()->getOperands());
  nest.outputPerRow.assign(nest.outputs.size(), false);
  if (nest.outputs.empty()) {
    why = "a kernel has results";
    return std::nullopt;
  }
  if (nest.reductions.empty())
    return nestElements(nest, why) ? std::optional(nest) : std::nullopt;
  using Kind = LoopNest::Kind;
  SmallVector<std::pair<Kind, int64_t>> candidates;
  int64_t lanes = 1;
  for (int64_t size : llvm::reverse(shapeOf(nest.reductions[0]->getResult(0))))
    if (candidates.empty() || size != 1)
      candidates.insert(candidates.begin(), {Kind::Columns, lanes *= size});
  // The loop that is innermost in memory decides where the lanes run.
  bool innermostIsReduced =
      llvm::all_of(nest.reductions, [](linalg::GenericOp generic) {
        SmallVector<unsigned> dims = reductionLoops(generic);
        size_t trailing = trailingReductionLoops(generic);
        return product(generic, ArrayRef(dims).take_back(trailing)) != 1;
      });
  candidates.insert(innermostIsReduced ? candidates.begin() : candidates.end(),
                    {Kind::Rows, 0});
  for (bool onlySmooth : {true, false}) {
    for (auto [kind, columnLanes] : candidates) {
      bool smooth = false;
      if (nestReductions(nest, kind, columnLanes, why, smooth) &&
          (!onlySmooth ||
           (smooth && nest.extents.lanes >= shortestElementwiseRow)))
        return nest;
    }
  }
  return std::nullopt;
}

int64_t LoopNest::lastLevel() const {
  int64_t last = 0;
  for (Value output : outputs)
    last = std::max(last, levelOf(output));
  return last;
}

KernelPass LoopNest::passOf(int64_t level) const {
  KernelPass pass;
  for (auto [number, reduction] : llvm::enumerate(reductions))
    if (levelOf(reduction->getResult(0)) == level + 1)
      pass.reductions.push_back(number);
  for (auto [number, output] : llvm::enumerate(outputs))
    if (!outputPerRow[number] && levelOf(output) == level)
      pass.outputs.push_back(number);
  return pass;
}

void visitAccesses(const LoopNest &nest,
                   llvm::function_ref<void(const IndexForm &)> argument,
                   llvm::function_ref<void(const IndexBound &)> bound) {
  Reader reader(nest, nest.extents);
  reader.onArgument = [&](Value, const IndexForm &position) {
    argument(position);
  };
  reader.onBound = bound;
  (void)reader.readAll();
}

bool mayLieInPlace(const LoopNest &nest, Value argument, unsigned output) {
  using Kind = LoopNest::Kind;
  Value result = nest.outputs[output];
  // What has strides lies among elements that are not its own.
  if (stridesOf(argument))
    return false;
  if (nest.kind == Kind::Columns || nest.extents.steps != 1 ||
      nest.outputPerRow[output] || nest.laneSplits.size() != 2 ||
      argument.getType() != result.getType())
    return false;
  // Passes after this output's would read it where they expect the argument.
  for (linalg::GenericOp reduction : nest.reductions)
    if (nest.levelOf(reduction->getResult(0)) > nest.levelOf(result))
      return false;
  for (Value other : nest.outputs)
    if (nest.levelOf(other) > nest.levelOf(result))
      return false;
  LoopExtents extents = nest.extents;
  extents.laneBegin = 0;
  extents.laneEnd = extents.lanes;
  IndexForm own = nest.position().restricted(extents);
  bool isOwn = true;
  Reader reader(nest, extents);
  reader.onArgument = [&](Value tensor, const IndexForm &position) {
    isOwn &= tensor != argument || position == own;
  };
  return reader.readAll() && isOwn;
}

} // namespace shardc::kernels
