// Chooses pieces and loops of a kernel by reading it back from its results,
// once per candidate.
#include "codegen/kernels/KernelPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

#include <functional>

using namespace mlir;

namespace shardc::kernels {

// A row longer than this is not one piece of an elementwise kernel: it could
// not be shared by threads.
constexpr int64_t longestElementwiseRow = 8192;
// A shorter lane loop would leave most of a vector idle.
constexpr int64_t shortestElementwiseRow = 8;
// More splits than this would blow the code up; choices are then made lane by
// lane.
constexpr size_t mostLaneSplits = 8;

static ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}
static int64_t elementsOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getNumElements();
}

IndexForm KernelPlan::position() const {
  IndexForm lane = IndexForm::loop(Loop::Lane, extents);
  return IndexForm::loop(Loop::Piece, extents)
      .times(extents.lanes)
      .plus(lane, extents);
}

IndexForms KernelPlan::outputIndex(Value tensor, bool perRow) const {
  IndexForm where = perRow ? IndexForm::loop(Loop::Piece, extents) : position();
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

IndexForms KernelPlan::reductionIteration(linalg::GenericOp reduction) const {
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
  Reader(const KernelPlan &plan, LoopExtents extents)
      : plan(plan), extents(extents) {}

  std::function<void(Value, const IndexForm &)> onArgument =
      [](Value, const IndexForm &) {};
  std::function<void(const IndexBound &)> onBound = [](const IndexBound &) {};
  std::string why;

  bool readAll() {
    for (auto [output, perRow] :
         llvm::zip_equal(plan.outputs, plan.outputPerRow))
      if (!read({output, plan.outputIndex(output, perRow)}))
        return false;
    for (linalg::GenericOp reduction : plan.reductions)
      if (!readOperands(reduction, plan.reductionIteration(reduction)))
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
      onArgument(element.tensor,
                 linearize(element.index, shapeOf(element.tensor), extents)
                     .restricted(extents));
      return true;
    case Definition::Kind::View:
      return read(definition.choices[0].source);
    case Definition::Kind::Choices:
      return readChoices(definition);
    case Definition::Kind::Compute:
      return readOperands(definition.generic, definition.iteration);
    case Definition::Kind::Reduce: {
      // A piece has only its own sums.
      bool perRow = plan.kind == KernelPlan::Kind::Rows;
      IndexForm mine =
          perRow ? IndexForm::loop(Loop::Piece, plan.extents) : plan.position();
      IndexForm asked =
          linearize(element.index, shapeOf(element.tensor), extents);
      return asked.restricted(extents) == mine.restricted(extents) ||
             fail(element.tensor,
                  "a piece would need another piece's reduction");
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

  const KernelPlan &plan;
  LoopExtents extents;
  llvm::StringSet<> seen;
};

} // namespace

/// Whether the plan can be emitted; finds the lane splits. `smooth` says
/// whether every access runs along the lanes.
static bool complete(KernelPlan &plan, std::string &why, bool &smooth) {
  LoopExtents &extents = plan.extents;
  extents.laneBegin = 0;
  extents.laneEnd = extents.lanes;
  plan.laneSplits = {0, extents.lanes};
  auto split = [&](const IndexBound &bound) {
    if (bound.form.laneStride(extents) != 1 ||
        !bound.form.opaqueTerms().empty() || bound.form.terms().size() != 1)
      return;
    for (int64_t edge : {bound.low, bound.high})
      if (int64_t lane = edge - bound.form.constant();
          lane > 0 && lane < extents.lanes)
        plan.laneSplits.push_back(lane);
  };
  Reader reader(plan, extents);
  reader.onBound = split;
  if (!reader.readAll()) {
    why = reader.why;
    return false;
  }
  llvm::sort(plan.laneSplits);
  plan.laneSplits.erase(llvm::unique(plan.laneSplits), plan.laneSplits.end());
  if (plan.laneSplits.size() > mostLaneSplits + 1)
    plan.laneSplits = {0, extents.lanes};

  smooth = true;
  for (size_t i = 0; i + 1 < plan.laneSplits.size(); ++i) {
    LoopExtents segment = extents;
    segment.laneBegin = plan.laneSplits[i];
    segment.laneEnd = plan.laneSplits[i + 1];
    auto checkArgument = [&](Value, const IndexForm &position) {
      auto stride = position.laneStride(segment);
      smooth &= stride && (*stride == 0 || *stride == 1);
    };
    auto checkBound = [&](const IndexBound &bound) {
      smooth &= !bound.form.dependsOn(Loop::Lane);
    };
    Reader check(plan, segment);
    check.onArgument = checkArgument;
    check.onBound = checkBound;
    if (!check.readAll()) {
      why = check.why;
      return false;
    }
  }
  return true;
}

static bool planElements(KernelPlan &plan, std::string &why) {
  plan.kind = KernelPlan::Kind::Elements;
  int64_t elements = elementsOf(plan.outputs.front());
  for (Value output : plan.outputs)
    if (elementsOf(output) != elements) {
      why = "results of an elementwise kernel differ in size";
      return false;
    }
  auto attempt = [&](int64_t lanes, bool flat) {
    plan.flat = flat;
    plan.extents.pieces = elements / lanes;
    plan.extents.lanes = lanes;
    bool smooth = false;
    return complete(plan, why, smooth) && smooth;
  };
  if (attempt(elements, true) && plan.laneSplits.size() == 2)
    return true;
  int64_t lanes = 1;
  SmallVector<int64_t> candidates;
  for (int64_t size : llvm::reverse(shapeOf(plan.outputs.front()))) {
    lanes *= size;
    if (size != 1 && lanes <= longestElementwiseRow)
      candidates.push_back(lanes);
  }
  for (int64_t candidate : llvm::reverse(candidates))
    if (candidate >= shortestElementwiseRow && attempt(candidate, false))
      return true;
  // Nothing runs along memory: gather. Long inner dims keep their rows, so that
  // positions stay cheap.
  bool smooth = false;
  int64_t innermost = candidates.empty() ? 1 : candidates.front();
  plan.flat = innermost < shortestElementwiseRow;
  plan.extents.lanes = plan.flat ? elements : innermost;
  plan.extents.pieces = elements / plan.extents.lanes;
  if (!complete(plan, why, smooth))
    return false;
  if (plan.flat)
    plan.laneSplits = {0, plan.extents.lanes};
  return true;
}

/// Cuts reductions as rows, or as columns of which `columnLanes` neighbouring
/// results are one block of lanes.
static bool planReductions(KernelPlan &plan, KernelPlan::Kind kind,
                           int64_t columnLanes, std::string &why,
                           bool &smooth) {
  plan.kind = kind;
  LoopExtents &extents = plan.extents;
  for (linalg::GenericOp reduction : plan.reductions) {
    SmallVector<unsigned> dims = reductionLoops(reduction);
    size_t trailing = trailingReductionLoops(reduction);
    LoopExtents mine;
    if (kind == KernelPlan::Kind::Rows) {
      mine.pieces = elementsOf(reduction->getResult(0));
      mine.steps = product(reduction, ArrayRef(dims).drop_back(trailing));
      mine.lanes = product(reduction, ArrayRef(dims).take_back(trailing));
    } else {
      mine.steps = product(reduction, dims);
      mine.lanes = columnLanes;
      mine.pieces = elementsOf(reduction->getResult(0)) / mine.lanes;
    }
    bool first = reduction == plan.reductions.front();
    if (!first &&
        std::tuple(mine.pieces, mine.steps, mine.lanes) !=
            std::tuple(extents.pieces, extents.steps, extents.lanes)) {
      why = "reductions over different dims";
      return false;
    }
    extents = mine;
    if (kind == KernelPlan::Kind::Rows && mine.steps != 1 &&
        plan.levelOf(reduction->getResult(0)) != 1) {
      why = "a reduction over separate dims waits for another";
      return false;
    }
  }
  plan.outputPerRow.clear();
  for (Value output : plan.outputs) {
    int64_t size = elementsOf(output);
    bool perRow = kind == KernelPlan::Kind::Rows && size == extents.pieces &&
                  (extents.lanes != 1 || extents.steps != 1);
    bool perLane = size == extents.pieces * extents.lanes &&
                   (kind == KernelPlan::Kind::Columns || extents.steps == 1);
    if (!perRow && !perLane) {
      why = "a result has neither an element per row nor one per lane";
      return false;
    }
    plan.outputPerRow.push_back(perRow);
  }
  return complete(plan, why, smooth);
}

static bool findLevels(func::FuncOp kernel, KernelPlan &plan,
                       std::string &why) {
  for (Operation &op : kernel.getBody().front()) {
    int64_t level = 0;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        level = std::max(level, plan.levelOf(operand));
    });
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (isReduction(generic)) {
        ++level;
        plan.reductions.push_back(generic);
      }
      if (!generic.hasPureTensorSemantics() || generic.hasDynamicShape()) {
        why = "a kernel works on tensors of static shape";
        return false;
      }
    }
    for (Value result : op.getResults())
      plan.levels[result] = level;
  }
  return true;
}

std::optional<KernelPlan> planKernel(func::FuncOp kernel, std::string &why) {
  KernelPlan plan;
  if (!llvm::hasSingleElement(kernel.getBody())) {
    why = "a kernel has one block";
    return std::nullopt;
  }
  if (!findLevels(kernel, plan, why))
    return std::nullopt;
  llvm::append_range(plan.outputs,
                     kernel.getBody().front().getTerminator()->getOperands());
  plan.outputPerRow.assign(plan.outputs.size(), false);
  if (plan.outputs.empty()) {
    why = "a kernel has results";
    return std::nullopt;
  }
  if (plan.reductions.empty())
    return planElements(plan, why) ? std::optional(plan) : std::nullopt;
  using Kind = KernelPlan::Kind;
  SmallVector<std::pair<Kind, int64_t>> candidates;
  int64_t lanes = 1;
  for (int64_t size : llvm::reverse(shapeOf(plan.reductions[0]->getResult(0))))
    if (candidates.empty() || size != 1)
      candidates.insert(candidates.begin(), {Kind::Columns, lanes *= size});
  // Which loop is innermost in memory decides where the lanes run.
  bool innermostIsReduced =
      llvm::all_of(plan.reductions, [](linalg::GenericOp generic) {
        SmallVector<unsigned> dims = reductionLoops(generic);
        size_t trailing = trailingReductionLoops(generic);
        return product(generic, ArrayRef(dims).take_back(trailing)) != 1;
      });
  candidates.insert(innermostIsReduced ? candidates.begin() : candidates.end(),
                    {Kind::Rows, 0});
  for (bool onlySmooth : {true, false}) {
    for (auto [kind, columnLanes] : candidates) {
      bool smooth = false;
      if (planReductions(plan, kind, columnLanes, why, smooth) &&
          (!onlySmooth ||
           (smooth && plan.extents.lanes >= shortestElementwiseRow)))
        return plan;
    }
  }
  return std::nullopt;
}

int64_t KernelPlan::lastLevel() const {
  int64_t last = 0;
  for (Value output : outputs)
    last = std::max(last, levelOf(output));
  return last;
}

KernelPass KernelPlan::passOf(int64_t level) const {
  KernelPass pass;
  for (auto [number, reduction] : llvm::enumerate(reductions))
    if (levelOf(reduction->getResult(0)) == level + 1)
      pass.reductions.push_back(number);
  for (auto [number, output] : llvm::enumerate(outputs))
    if (!outputPerRow[number] && levelOf(output) == level)
      pass.outputs.push_back(number);
  return pass;
}

void visitAccesses(const KernelPlan &plan,
                   llvm::function_ref<void(const IndexForm &)> argument,
                   llvm::function_ref<void(const IndexBound &)> bound) {
  Reader reader(plan, plan.extents);
  reader.onArgument = [&](Value, const IndexForm &position) {
    argument(position);
  };
  reader.onBound = bound;
  (void)reader.readAll();
}

bool mayLieInPlace(const KernelPlan &plan, Value argument, unsigned output) {
  using Kind = KernelPlan::Kind;
  Value result = plan.outputs[output];
  if (plan.kind == Kind::Columns || plan.extents.steps != 1 ||
      plan.outputPerRow[output] || plan.laneSplits.size() != 2 ||
      argument.getType() != result.getType())
    return false;
  // Passes after this output's would read it where they expect the argument.
  for (linalg::GenericOp reduction : plan.reductions)
    if (plan.levelOf(reduction->getResult(0)) > plan.levelOf(result))
      return false;
  for (Value other : plan.outputs)
    if (plan.levelOf(other) > plan.levelOf(result))
      return false;
  LoopExtents extents = plan.extents;
  extents.laneBegin = 0;
  extents.laneEnd = extents.lanes;
  IndexForm own = plan.position().restricted(extents);
  bool isOwn = true;
  Reader reader(plan, extents);
  reader.onArgument = [&](Value tensor, const IndexForm &position) {
    isOwn &= tensor != argument || position == own;
  };
  return reader.readAll() && isOwn;
}

} // namespace shardc::kernels
