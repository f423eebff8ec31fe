// Views: analysis of chains of view ops, and the shortest chain for a given
// arrangement of dims.
#include "frontend/raise/View.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

bool raise::isViewOp(Operation *op) {
  return isa_and_nonnull<nn::ReshapeOp, nn::TransposeOp, nn::BroadcastOp>(op);
}

std::optional<SmallVector<int64_t>>
raise::commonRefinement(ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
  SmallVector<int64_t> l(llvm::reverse(left)), r(llvm::reverse(right)), refined;
  while (!l.empty() || !r.empty()) {
    if (!l.empty() && l.back() == 1) {
      l.pop_back();
      continue;
    }
    if (!r.empty() && r.back() == 1) {
      r.pop_back();
      continue;
    }
    if (l.empty() || r.empty())
      return std::nullopt;
    int64_t a = l.pop_back_val(), b = r.pop_back_val();
    int64_t piece = std::min(a, b);
    if (piece == 0 || std::max(a, b) % piece)
      return std::nullopt;
    refined.push_back(piece);
    if (a > piece)
      l.push_back(a / piece);
    if (b > piece)
      r.push_back(b / piece);
  }
  return refined;
}

View View::identity(Value value) {
  View view;
  view.baseValue = value;
  for (int64_t size : cast<RankedTensorType>(value.getType()).getShape()) {
    Dim dim;
    if (size != 1) {
      dim.push_back(view.atoms.size());
      view.atoms.push_back({size, false});
    }
    view.sourceDims.push_back(dim);
  }
  view.resultDims = view.sourceDims;
  return view;
}

View View::of(Value value, LookThrough lookThrough,
              SmallVectorImpl<Operation *> *passed) {
  SmallVector<Operation *> chain;
  SmallVector<Operation *> seen;
  while (Operation *op = value.getDefiningOp()) {
    if (isViewOp(op)) {
      chain.push_back(op);
      value = op->getOperand(0);
      continue;
    }
    Value behind = lookThrough ? lookThrough(op) : Value();
    if (!behind)
      break;
    chain.push_back(op);
    value = behind;
  }
  View view = identity(value);
  for (Operation *op : llvm::reverse(chain)) {
    if (!isViewOp(op)) {
      seen.push_back(op);
    } else if (!view.apply(op)) {
      view = identity(op->getResult(0));
      seen.clear();
    }
  }
  if (passed)
    passed->append(seen);
  return view;
}

bool View::apply(Operation *op) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  if (isa<nn::ReshapeOp>(op))
    return reshape(shape);
  if (isa<nn::BroadcastOp>(op))
    return broadcast(shape);
  if (auto transposeOp = dyn_cast<nn::TransposeOp>(op)) {
    transpose(transposeOp.getPermutation());
    return true;
  }
  return false;
}

unsigned View::split(unsigned atom, int64_t outerSize) {
  unsigned inner = atoms.size();
  atoms.push_back({atoms[atom].size / outerSize, atoms[atom].broadcast});
  atoms[atom].size = outerSize;
  for (Dims *dims : {&sourceDims, &resultDims})
    for (Dim &dim : *dims)
      if (auto *it = llvm::find(dim, atom); it != dim.end())
        dim.insert(it + 1, inner);
  return inner;
}

bool View::refine(Dim list, ArrayRef<int64_t> target) {
  auto refined = commonRefinement(sizes(list), target);
  if (!refined)
    return false;
  auto next = refined->begin();
  for (unsigned atom : list)
    while (atoms[atom].size != 1) {
      int64_t piece = *next++;
      if (piece == atoms[atom].size)
        break;
      atom = split(atom, piece);
    }
  return true;
}

bool View::refineDims(unsigned begin, unsigned end, ArrayRef<int64_t> target) {
  return refine(flat(begin, end), target);
}

bool View::reshape(ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0))
    return false;
  View copy = *this;
  if (!copy.refine(flat(0, resultDims.size()), shape))
    return false;
  Dim list = copy.flat(0, resultDims.size());
  Dims regrouped;
  auto *next = list.begin();
  for (int64_t size : shape) {
    Dim &dim = regrouped.emplace_back();
    for (int64_t left = size; left > 1; left /= copy.atoms[dim.back()].size)
      dim.push_back(*next++);
  }
  copy.resultDims = std::move(regrouped);
  *this = std::move(copy);
  return true;
}

void View::transpose(ArrayRef<int64_t> permutation) {
  Dims permuted;
  for (int64_t source : permutation)
    permuted.push_back(resultDims[source]);
  resultDims = std::move(permuted);
}

bool View::broadcast(ArrayRef<int64_t> shape) {
  for (auto [dim, size] : llvm::zip_equal(resultDims, shape))
    if (size == 0)
      return false;
  for (auto [dim, size] : llvm::zip_equal(resultDims, shape))
    if (dim.empty() && size != 1) {
      dim.push_back(atoms.size());
      atoms.push_back({size, true});
    }
  return true;
}

View::Dim View::flat(unsigned begin, unsigned end) const {
  Dim list;
  for (unsigned i = begin; i < end; ++i)
    list.append(resultDims[i]);
  return list;
}

View::Dim View::flatBase() const {
  Dim list;
  for (const Dim &dim : sourceDims)
    list.append(dim);
  return list;
}

SmallVector<int64_t> View::sizes(ArrayRef<unsigned> list) const {
  return llvm::map_to_vector(list,
                             [&](unsigned atom) { return atoms[atom].size; });
}

int64_t View::product(ArrayRef<unsigned> list) const {
  int64_t result = 1;
  for (unsigned atom : list)
    result *= atoms[atom].size;
  return result;
}

bool View::isAllBroadcast(ArrayRef<unsigned> list) const {
  return llvm::all_of(list,
                      [&](unsigned atom) { return atoms[atom].broadcast; });
}

bool View::hasBroadcast() const {
  return llvm::any_of(atoms, [](const Atom &atom) { return atom.broadcast; });
}

// One op of the chain that `emit` builds.
struct View::Step {
  enum Kind { Reshape, Transpose, Broadcast } kind;
  SmallVector<int64_t> shape;       // of the result
  SmallVector<int64_t> permutation; // of a transpose
};

namespace {
// Positions of `order`'s elements that each group covers, if the group is a run
// of it in the same order.
bool isRun(ArrayRef<unsigned> group, ArrayRef<unsigned> order) {
  const auto *first = llvm::find(order, group.front());
  return static_cast<size_t>(order.end() - first) >= group.size() &&
         ArrayRef<unsigned>(first, group.size()) == group;
}
} // namespace

// Steps that arrange the base's own atoms into `groups`, each the list of one
// dim.
void View::planArrangement(const Dims &groups,
                           SmallVectorImpl<Step> &steps) const {
  SmallVector<int64_t> current(
      cast<RankedTensorType>(baseValue.getType()).getShape());
  SmallVector<int64_t> wanted =
      llvm::map_to_vector(groups, [&](const Dim &dim) { return product(dim); });
  Dim order = flatBase(), placed;
  for (const Dim &group : groups)
    placed.append(group);
  auto reshapeTo = [&](ArrayRef<int64_t> shape) {
    if (ArrayRef(current) != shape)
      steps.push_back({Step::Reshape, SmallVector<int64_t>(shape), {}});
    current.assign(shape.begin(), shape.end());
  };
  // Transposes dims given as lists of atoms; the result's dims are `to`, a
  // permutation of `from` by position.
  auto transposeTo = [&](const Dims &from, const Dims &to) {
    SmallVector<int64_t> permutation, shape;
    SmallVector<bool> taken(from.size(), false);
    for (const Dim &dim : to)
      for (unsigned i = 0; i < from.size(); ++i)
        if (!taken[i] && from[i] == dim) {
          taken[i] = true;
          permutation.push_back(i);
          shape.push_back(product(dim));
          break;
        }
    steps.push_back({Step::Transpose, shape, permutation});
    current = shape;
  };
  if (order == placed)
    return reshapeTo(wanted);

  auto position = [&](unsigned atom) {
    return llvm::find(order, atom) - order.begin();
  };
  // The target's dims exist side by side in the base: [reshape,] transpose.
  if (llvm::all_of(groups, [&](const Dim &group) {
        return group.empty() || isRun(group, order);
      })) {
    auto isUnit = [](const Dim &dim) { return dim.empty(); };
    bool sameDims =
        llvm::count_if(groups, isUnit) == llvm::count_if(sourceDims, isUnit) &&
        llvm::all_of(groups, [&](const Dim &group) {
          return llvm::is_contained(sourceDims, group);
        });
    Dims from = sourceDims;
    if (!sameDims) {
      from = groups;
      llvm::stable_sort(from, [&](const Dim &a, const Dim &b) {
        if (a.empty() || b.empty())
          return a.empty() && !b.empty();
        return position(a.front()) < position(b.front());
      });
      reshapeTo(llvm::map_to_vector(
          from, [&](const Dim &dim) { return product(dim); }));
    }
    return transposeTo(from, groups);
  }
  // The base's dims stay whole: transpose, reshape.
  if (llvm::all_of(sourceDims, [&](const Dim &dim) {
        return dim.empty() || isRun(dim, placed);
      })) {
    Dims to = sourceDims;
    auto placedAt = [&](const Dim &dim) {
      return dim.empty() ? -1
                         : llvm::find(placed, dim.front()) - placed.begin();
    };
    llvm::stable_sort(to, [&](const Dim &a, const Dim &b) {
      return placedAt(a) < placedAt(b);
    });
    transposeTo(sourceDims, to);
    return reshapeTo(wanted);
  }
  // Neither: reshape to the runs that move together, transpose, reshape.
  Dims pieces;
  for (unsigned atom : placed) {
    if (!pieces.empty() && position(atom) == position(pieces.back().back()) + 1)
      pieces.back().push_back(atom);
    else
      pieces.push_back({atom});
  }
  Dims from = pieces;
  llvm::sort(from, [&](const Dim &a, const Dim &b) {
    return position(a.front()) < position(b.front());
  });
  reshapeTo(
      llvm::map_to_vector(from, [&](const Dim &dim) { return product(dim); }));
  transposeTo(from, pieces);
  reshapeTo(wanted);
}

SmallVector<View::Step, 4> View::plan(const Dims &target) const {
  SmallVector<Step, 4> steps;
  // Runs of broadcast and of real atoms are dims of their own until the
  // broadcast is done.
  Dims groups;
  SmallVector<int64_t> narrow, wide, wanted;
  bool broadcasts = false;
  for (const Dim &dim : target) {
    wanted.push_back(product(dim));
    if (dim.empty()) {
      groups.emplace_back();
      narrow.push_back(1);
      wide.push_back(1);
    }
    for (unsigned i = 0; i < dim.size();) {
      bool broadcastRun = atoms[dim[i]].broadcast;
      Dim run;
      for (; i < dim.size() && atoms[dim[i]].broadcast == broadcastRun; ++i)
        run.push_back(dim[i]);
      narrow.push_back(broadcastRun ? 1 : product(run));
      wide.push_back(product(run));
      groups.push_back(broadcastRun ? Dim() : run);
      broadcasts |= broadcastRun;
    }
  }
  planArrangement(groups, steps);
  if (broadcasts)
    steps.push_back({Step::Broadcast, wide, {}});
  if (wide != wanted)
    steps.push_back({Step::Reshape, wanted, {}});
  return steps;
}

Value View::emit(OpBuilder &builder, Location location,
                 const Dims &target) const {
  Value value = baseValue;
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  for (const Step &step : plan(target)) {
    auto type = RankedTensorType::get(step.shape, element);
    if (step.kind == Step::Reshape)
      value = nn::ReshapeOp::create(builder, location, type, value);
    else if (step.kind == Step::Broadcast)
      value = nn::BroadcastOp::create(builder, location, type, value);
    else
      value = nn::TransposeOp::create(builder, location, type, value,
                                      step.permutation);
  }
  return value;
}

unsigned View::emitCost(const Dims &target) const {
  return plan(target).size();
}

bool View::needsTranspose(const Dims &target) const {
  return llvm::any_of(plan(target), [](const Step &step) {
    return step.kind == Step::Transpose;
  });
}
