// Whole matrices: which rank sends what to whom follows from how the mesh cuts
// the optimizer's slices.
#include "runtime/base/DType.h"
#include "runtime/base/EntryKind.h"
#include "runtime/engine/Checks.h"
#include "runtime/engine/Program.h"
#include "runtime/engine/Resolve.h"
#include "runtime/engine/TrainedParts.h"

#include <algorithm>

namespace shardc::runtime {

entry::MatrixDirection resolve(const RankState &state,
                               const plan::MatrixDirection &entry) {
  const plan::Unit &unit = state.unit(entry.unit());
  const Optimizer *optimizer = findOptimizer(entry.kind());
  if (!optimizer || !optimizer->takesMatrices() ||
      entry.kind() != state.plan.optimizer().kind())
    fail("expects the plan's optimizer ", state.plan.optimizer().kind(),
         ", which has to take whole matrices, got ", entry.kind());
  if (unit.optimizer_shards() == 0 || unit.state_buffers_size() == 0)
    fail("unit ", unit.name(), " is not trained, but has a direction");
  entry::MatrixDirection made;
  made.kind = optimizer->kind;
  made.gradient = state.resolve(entry.gradient(), "gradient");
  made.state = stateVector(state, unit, 0);
  made.norm = state.resolve(entry.norm(), "norm");
  requireDtype(made.norm, plan::FLOAT64, "norm");
  requireScalar(made.norm, "norm");
  made.direction = state.resolve(entry.direction(), "direction");
  requireDtype(made.gradient, unit.gradient_dtype(), "gradient");
  requireFloat(made.gradient, "gradient");
  requireDtype(made.direction, directionType(unit), "direction");
  int64_t elements = state.optimizerElements(unit);
  for (const auto &[tensor, name] : {std::pair(&made.gradient, "gradient"),
                                     std::pair(&made.direction, "direction")}) {
    requireContiguous(*tensor, name);
    if (tensor->elements() != elements)
      fail("expects a ", name, " of ", elements, " elements, got ",
           tensor->describe());
  }
  for (const TrainedPart &part : trainedParts(state, unit))
    if (part.isMatrix)
      made.ranges.push_back(
          {part.begin, part.end, state.parameterNumbers[part.parameter], true});
  return made;
}

plan::DType directionType(const plan::Unit &unit) {
  return unit.master_dtype() == plan::FLOAT64 ? plan::FLOAT64 : plan::FLOAT32;
}

namespace {

/// The routes of an all-to-all between slices and matrices, for one rank. Both
/// ends list them by matrix, and rows of a matrix by slice.
template <typename Entry> class MatrixRoutes {
public:
  MatrixRoutes(const RankState &state, const Entry &entry);
  /// Calls visit(holder, slice, owner, matrix), with the place of the elements
  /// in both as Routes without a peer, for everything that `rank` sends or gets.
  /// Of the ranks that hold one slice, `all` has each, and else the one is
  /// meant that is nearest behind the owner.
  template <typename Visit> void forEach(bool all, Visit visit) const;

  std::vector<Tensor> slices, matrices;

private:
  void check(int index) const;

  const RankState &state;
  const Entry &entry;
  std::vector<std::vector<int64_t>> holders; // by slice, ascending
};

template <typename Entry>
MatrixRoutes<Entry>::MatrixRoutes(const RankState &state, const Entry &entry)
    : state(state), entry(entry) {
  if (entry.units_size() != entry.slices_size())
    fail("expects a slice for each of ", entry.units_size(), " units, got ",
         entry.slices_size());
  plan::DType dtype = plan::INVALID;
  for (int i = 0; i < entry.units_size(); ++i) {
    const plan::Unit &unit = state.unit(entry.units(i));
    if (unit.optimizer_shards() != state.plan.mesh().optimizer_shards() ||
        unit.elements() == 0)
      fail("unit ", unit.name(), " has matrices, and is optimized in ",
           unit.optimizer_shards(), " slices, the mesh has ",
           state.plan.mesh().optimizer_shards());
    slices.push_back(state.resolve(entry.slices(i), "slice"));
    dtype = directionType(unit);
    requireDtype(slices.back(), dtype, "slice");
    requireContiguous(slices.back(), "slice");
    if (slices.back().elements() != state.optimizerElements(unit))
      fail("expects a slice of ", state.optimizerElements(unit),
           " elements of unit ", unit.name(), ", got ",
           slices.back().describe());
  }
  for (const plan::Tensor &matrix : entry.matrices()) {
    matrices.push_back(state.resolve(matrix, "matrix"));
    requireDtype(matrices.back(), dtype, "matrix");
    requireContiguous(matrices.back(), "matrix");
  }
  int matrixCount = entry.offsets_size();
  if (entry.unit_of_size() != matrixCount ||
      entry.owners_size() != matrixCount || entry.slots_size() != matrixCount)
    fail("expects a unit, an owner and a slot for each of ", matrixCount,
         " matrices");
  for (int i = 0; i < matrixCount; ++i)
    check(i);
  holders.resize(state.plan.mesh().optimizer_shards());
  for (int64_t rank = 0; rank < state.plan.mesh().ranks(); ++rank)
    holders[state.optimizerShardOf(rank)].push_back(rank);
}

template <typename Entry> void MatrixRoutes<Entry>::check(int index) const {
  auto inside = [](int64_t value, int64_t size, const char *what) {
    if (value < 0 || value >= size)
      fail("names ", what, " ", value, " of ", size);
  };
  inside(entry.unit_of(index), entry.units_size(), "unit");
  inside(entry.slots(index), std::ssize(matrices), "matrix");
  inside(entry.owners(index), state.plan.mesh().ranks(), "rank");
  const plan::Unit &unit = state.unit(entry.units(int(entry.unit_of(index))));
  int64_t elements = matrices[entry.slots(index)].elements();
  if (entry.offsets(index) < 0 ||
      entry.offsets(index) > unit.elements() - elements)
    fail("has a matrix of ", elements, " elements at ", entry.offsets(index),
         " of unit ", unit.name(), " of ", unit.elements());
}

template <typename Entry>
template <typename Visit>
void MatrixRoutes<Entry>::forEach(bool all, Visit visit) const {
  int64_t own = state.communicator.rank();
  for (int i = 0; i < entry.offsets_size(); ++i) {
    auto j = static_cast<size_t>(entry.unit_of(i));
    auto slot = static_cast<size_t>(entry.slots(i));
    const plan::Unit &unit = state.unit(entry.units(int(j)));
    int64_t owner = entry.owners(i), slice = state.optimizerElements(unit);
    int64_t begin = entry.offsets(i), end = begin + matrices[slot].elements();
    for (int64_t piece = begin / slice; piece * slice < end; ++piece) {
      int64_t from = std::max(begin, piece * slice),
              to = std::min(end, (piece + 1) * slice);
      if (from == to)
        continue;
      entry::Route inSlice{0, j, from - piece * slice, to - from},
          inMatrix{0, slot, from - begin, to - from};
      const std::vector<int64_t> &having = holders[piece];
      auto near = std::ranges::lower_bound(having, owner);
      int64_t nearest = near == having.end() ? having.front() : *near;
      for (int64_t holder : having)
        if ((all || holder == nearest) && (holder == own || owner == own))
          visit(holder, inSlice, owner, inMatrix);
    }
  }
}

/// Notes what one rank sends to another, from the point of view of `own`.
void addRoute(entry::StartAllToAll &start, int64_t own, int64_t sender,
              entry::Route sent, int64_t receiver, entry::Route got) {
  if (sender == own) {
    sent.peer = int(receiver);
    start.sends.push_back(sent);
  }
  if (receiver == own) {
    got.peer = int(sender);
    start.receives.push_back(got);
  }
}

} // namespace

void Program::addCollective(int index, const plan::GatherMatricesStart &entry) {
  MatrixRoutes routes(state, entry);
  entry::StartAllToAll start{entry.token(),
                             &state.communicator,
                             routes.slices,
                             routes.matrices,
                             {},
                             {}};
  int64_t own = state.communicator.rank();
  routes.forEach(false, [&](int64_t holder, entry::Route slice, int64_t owner,
                            entry::Route matrix) {
    addRoute(start, own, holder, slice, owner, matrix);
  });
  push(index, std::move(start), runsOnlyAtEnd(program.entries(index)));
}

void Program::addCollective(int index,
                            const plan::ScatterMatricesStart &entry) {
  MatrixRoutes routes(state, entry);
  entry::StartAllToAll start{entry.token(),
                             &state.communicator,
                             routes.matrices,
                             routes.slices,
                             {},
                             {}};
  int64_t own = state.communicator.rank();
  routes.forEach(true, [&](int64_t holder, entry::Route slice, int64_t owner,
                           entry::Route matrix) {
    addRoute(start, own, owner, matrix, holder, slice);
  });
  push(index, std::move(start), runsOnlyAtEnd(program.entries(index)));
}

} // namespace shardc::runtime
