// Ops are grouped greedily in program order: an op joins the groups of its
// producers while they are open.
#include "codegen/kernels/KernelGroups.h"

#include "frontend/nn/NN.h"
#include "frontend/nn/support/Describe.h"
#include "passes/fsdp/FSDP.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace shardc::kernels {

// A group that waits across more library calls than this would keep its inputs
// alive for too long.
constexpr int64_t mostCallsAcross = 4;
// Kernels stay small enough to compile fast.
constexpr size_t mostOps = 16;
// A group that is recomputed for every row that reads it has only a few ops.
constexpr size_t mostRecomputedOps = 4;

std::optional<KernelSpace> KernelSpaces::of(Operation *op) {
  KernelSpace space;
  space.elements = op->getNumResults() ? elementsOf(op->getResult(0)) : 0;
  if (op->hasTrait<OpTrait::Elementwise>()) {
    space.elementwise = true;
    return space;
  }
  GroupSignature signature;
  llvm::raw_string_ostream key(signature.key);
  writeUnique(key, op->getName());
  writeUnique(key, op->getAttrDictionary());
  for (Type type : op->getOperandTypes())
    writeUnique(key, type);
  auto [entry, isNew] = known.try_emplace(signature.key, std::nullopt);
  if (!isNew)
    return entry->second;
  llvm::append_range(signature.outputs, op->getResults());
  llvm::SetVector<Value> inputs(op->operand_begin(), op->operand_end());
  signature.inputs = inputs.takeVector();
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(op->getLoc());
  FailureOr<func::FuncOp> function =
      buildKernelFunction({op}, signature, *scratch, "kernel");
  std::string why;
  std::optional<LoopNest> nest =
      succeeded(function) ? findLoopNest(*function, why) : std::nullopt;
  if (!nest)
    return std::nullopt;
  space.kind = nest->kind;
  space.items = nest->extents.items;
  space.steps = nest->extents.steps;
  space.lanes = nest->extents.lanes;
  if (space.kind != LoopNest::Kind::Elements)
    space.elements = space.items * space.steps * space.lanes;
  entry->second = space;
  return space;
}

namespace {

struct Group {
  OpGroup ops;
  /// The op at whose place it runs: its last op so far, or an earlier one that
  /// a hoisted op joined.
  Operation *place = nullptr;
  KernelSpace space;
  bool open = true;
  /// The number of library calls before its last op.
  int64_t calls = 0;
};

class Grouper {
public:
  Grouper(Block &block, KernelSpaces &spaces)
      : block(block), spaces(spaces),
        explains(block.getParentOp()->getContext()->getRemarkEngine()) {}

  SmallVector<KernelGroup> run(bool fuse);

private:
  Group *groupOf(Value value);
  Group *alone(Operation *op);
  /// Closes the groups that an op which is not generated needs, or whose
  /// parameters it releases.
  void passBy(Operation *op);
  void placeOp(Operation *op);
  /// Returns why an op cannot go into the group of a producer whatever their
  /// shapes are; null where nothing hinders it.
  const char *obstacle(Operation *op, Group *producer,
                       const std::optional<KernelSpace> &space);
  static std::string whyNotJoined(const Group &group, const KernelSpace &space);
  static void explain(Operation *op, const Group &producer, StringRef why);
  static bool isRecomputed(Operation *op) {
    return op->hasAttr(nn::recomputedAttr);
  }

  /// A recomputed op does not run where it did in forward: its result would be
  /// kept after all.
  static bool isTooEarly(Operation *op, const Group &group) {
    return isRecomputed(op) && llvm::none_of(group.ops, isRecomputed);
  }

  /// Puts an op into a group that can no longer wait for it, where all else
  /// that the op reads is available already: a gradient is added where it is
  /// computed.
  bool hoist(Operation *op, const llvm::SetVector<Group *> &producers,
             const KernelSpace &space);
  void absorbGroup(Group *home, Group *other);
  /// Returns whether all that leaves the group is read by `op` and by the group
  /// itself.
  bool onlyFeeds(const Group &group, Operation *op);
  /// Returns whether another row would be needed than the work item computes.
  bool crossesTranspose(Operation *op, Group *producer);
  /// Returns the group's space with `op` in it, if they fit.
  std::optional<KernelSpace> join(const Group &group, Operation *op,
                                  const KernelSpace &space);
  /// Returns the space of two producers of `op` in one kernel with it.
  std::optional<KernelSpace> merge(const Group &home, const Group &other,
                                   Operation *op, const KernelSpace &space);
  /// Returns an open group just before `op` that reads one of its tensors, or,
  /// for an op that is recomputed for what follows, has its shape.
  Group *neighbour(Operation *op, const KernelSpace &space);

  static constexpr auto Elements = LoopNest::Kind::Elements;
  static constexpr auto Rows = LoopNest::Kind::Rows;
  static constexpr auto Columns = LoopNest::Kind::Columns;

  Block &block;
  KernelSpaces &spaces;
  bool explains;
  std::vector<std::unique_ptr<Group>> groups;
  llvm::DenseMap<Operation *, Group *> groupOfOp;
  int64_t calls = 0;
};

} // namespace

SmallVector<KernelGroup> Grouper::run(bool fuse) {
  for (Operation &op : block) {
    if (isGenerated(&op) && !fuse)
      alone(&op);
    else if (isGenerated(&op))
      placeOp(&op);
    else if (!isAbsorbed(&op))
      passBy(&op);
  }
  SmallVector<KernelGroup> result;
  for (auto &group : groups)
    if (!group->ops.empty())
      result.push_back({std::move(group->ops), group->place});
  llvm::sort(result, [](const KernelGroup &a, const KernelGroup &b) {
    return a.place->isBeforeInBlock(b.place);
  });
  return result;
}

Group *Grouper::groupOf(Value value) {
  Operation *op = throughAbsorbed(value).getDefiningOp();
  return op ? groupOfOp.lookup(op) : nullptr;
}

Group *Grouper::alone(Operation *op) {
  Group &group = *groups.emplace_back(std::make_unique<Group>());
  group.ops.push_back(op);
  group.place = op;
  group.calls = calls;
  groupOfOp[op] = &group;
  return &group;
}

void Grouper::passBy(Operation *op) {
  for (Value operand : op->getOperands())
    if (Group *group = groupOf(operand))
      group->open = false;
  // What reads parameters as they were is no part of a kernel behind that.
  if (isa<fsdp::OptimizerStepOp>(op))
    for (auto &group : groups)
      group->open = false;
  if (auto release = dyn_cast<fsdp::ReleaseOp>(op)) {
    for (Value parameter : release.getParameters())
      forEachUser(parameter, [&](Operation *user) {
        if (Group *group = groupOfOp.lookup(user))
          group->open = false;
        return true;
      });
  }
  if (isa<nn::LibraryCall>(op))
    ++calls;
}

void Grouper::placeOp(Operation *op) {
  std::optional<KernelSpace> space = spaces.of(op);
  llvm::SetVector<Group *> producers;
  for (Value operand : op->getOperands())
    if (Group *group = groupOf(operand))
      producers.insert(group);
  Group *home = nullptr;
  /// For remarks: what does not come together, and why.
  SmallVector<std::pair<Group *, std::string>> apart;
  for (Group *producer : producers) {
    if (const char *why = obstacle(op, producer, space)) {
      if (explains)
        apart.push_back({producer, why});
      continue;
    }
    std::optional<KernelSpace> joined = join(*producer, op, *space);
    if (!joined) {
      if (explains)
        apart.push_back({producer, whyNotJoined(*producer, *space)});
      continue;
    }
    if (!home) {
      home = producer;
      home->space = *joined;
    } else if (auto merged = merge(*home, *producer, op, *space)) {
      home->space = *merged;
      absorbGroup(home, producer);
    } else if (explains) {
      apart.push_back({producer, "that and the kernel which it joins, of " +
                                     described(home->ops.back()) +
                                     ", are not one"});
    }
  }
  if (!home && space && space->elementwise)
    if ((home = neighbour(op, *space)))
      home->space = *join(*home, op, *space);
  if (!home && space && space->elementwise && !isRecomputed(op) &&
      hoist(op, producers, *space))
    return;
  for (auto &[producer, why] : apart)
    explain(op, *producer, why);
  if (!home) {
    home = alone(op);
    if (space)
      home->space = *space;
    else
      home->open = false;
  } else {
    home->ops.push_back(op);
    home->place = op;
    home->calls = calls;
    groupOfOp[op] = home;
  }
  // The results that another group reads must be computed when that one runs.
  for (Group *producer : producers)
    if (producer != home)
      producer->open = false;
}

const char *Grouper::obstacle(Operation *op, Group *producer,
                              const std::optional<KernelSpace> &space) {
  if (!space)
    return "alone it is no kernel";
  if (!producer->open)
    return "something else needs what that makes before this runs";
  if (isTooEarly(op, *producer))
    return "this is computed again in backward, and that is not";
  if (calls - producer->calls > mostCallsAcross)
    return "more than 4 library calls lie between the two";
  static_assert(mostCallsAcross == 4);
  if (crossesTranspose(op, producer))
    return "a transpose or a slice lies between the two, so that a work item "
           "of this needs several of that";
  return nullptr;
}

static std::string text(const KernelSpace &space) {
  switch (space.kind) {
  case LoopNest::Kind::Elements:
    return std::to_string(space.elements) + " elements";
  case LoopNest::Kind::Rows:
    return llvm::formatv("{0} rows of {1}", space.items,
                         space.steps * space.lanes);
  case LoopNest::Kind::Columns:
    return llvm::formatv("{0} columns of {1}", space.items * space.lanes,
                         space.steps);
  }
  llvm_unreachable("a kind of kernel that is not known");
}

std::string Grouper::whyNotJoined(const Group &group,
                                  const KernelSpace &space) {
  if (group.ops.size() >= mostOps)
    return "that has " + std::to_string(mostOps) + " ops, the most there are";
  return "this goes over " + text(space) + ", that over " + text(group.space) +
         (group.space.kind == Elements ? ", and others read it too" : "");
}

void Grouper::explain(Operation *op, const Group &producer, StringRef why) {
  // An empty one has become part of this op's.
  if (producer.ops.empty())
    return;
  remark::missed(op->getLoc(), remark::RemarkOpts::name("apart").category(
                                   "step-outline-kernels"))
      << (op->getName().getStringRef() + " is in another kernel than " +
          described(producer.ops.back()) + ": " + why)
             .str();
}

bool Grouper::hoist(Operation *op, const llvm::SetVector<Group *> &producers,
                    const KernelSpace &space) {
  for (Group *home : producers) {
    auto isAvailable = [&](Value operand) {
      Operation *definition = throughAbsorbed(operand).getDefiningOp();
      Group *group = definition ? groupOfOp.lookup(definition) : nullptr;
      return !definition || group == home ||
             (group ? group->place : definition)->isBeforeInBlock(home->place);
    };
    if (home->ops.empty() || calls - home->calls > mostCallsAcross ||
        crossesTranspose(op, home) ||
        !llvm::all_of(op->getOperands(), isAvailable))
      continue;
    std::optional<KernelSpace> joined = join(*home, op, space);
    if (!joined)
      continue;
    home->space = *joined;
    home->ops.push_back(op);
    groupOfOp[op] = home;
    for (Group *producer : producers)
      producer->open = false;
    return true;
  }
  return false;
}

void Grouper::absorbGroup(Group *home, Group *other) {
  for (Operation *op : other->ops) {
    home->ops.push_back(op);
    groupOfOp[op] = home;
  }
  llvm::sort(home->ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  other->ops.clear();
  other->open = false;
}

bool Grouper::onlyFeeds(const Group &group, Operation *op) {
  return llvm::all_of(group.ops, [&](Operation *member) {
    return llvm::all_of(member->getResults(), [&](Value result) {
      return forEachUser(result, [&](Operation *user) {
        return user == op || groupOfOp.lookup(user) == &group;
      });
    });
  });
}

bool Grouper::crossesTranspose(Operation *op, Group *producer) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    bool transposed = false;
    for (Operation *def = operand.getDefiningOp();
         isAbsorbed(def) && def->getNumOperands();
         def = def->getOperand(0).getDefiningOp())
      transposed |= isa<nn::TransposeOp>(def) ||
                    (isa<nn::SliceOp>(def) && producer->space.kind != Elements);
    return transposed && groupOf(operand) == producer;
  });
}

std::optional<KernelSpace> Grouper::join(const Group &group, Operation *op,
                                         const KernelSpace &space) {
  const KernelSpace &mine = group.space;
  if (group.ops.size() >= mostOps)
    return std::nullopt;
  auto same = [&] {
    return mine.kind == space.kind && mine.items == space.items &&
           mine.steps == space.steps && mine.lanes == space.lanes;
  };
  if (mine.kind == Elements && space.kind == Elements) {
    if (!space.elementwise)
      return onlyFeeds(group, op) && group.ops.size() <= mostRecomputedOps
                 ? std::optional(space)
                 : std::nullopt;
    if (mine.elements == space.elements)
      return mine;
    bool inlined = mine.elements < space.elements &&
                   group.ops.size() <= mostRecomputedOps &&
                   onlyFeeds(group, op);
    return inlined ? std::optional(space) : std::nullopt;
  }
  if (mine.kind == Elements && space.kind == Rows) {
    bool isRow =
        mine.elements == space.elements || mine.elements == space.items;
    bool inlined =
        group.ops.size() <= mostRecomputedOps && onlyFeeds(group, op);
    return isRow || inlined ? std::optional(space) : std::nullopt;
  }
  if (mine.kind == Elements)
    return onlyFeeds(group, op) ? std::optional(space) : std::nullopt;
  if (space.kind != Elements)
    return same() ? std::optional(mine) : std::nullopt;
  if (mine.steps != 1 || mine.kind == Columns)
    return space.elementwise &&
                   space.elements ==
                       mine.items * (mine.kind == Columns ? mine.lanes : 1)
               ? std::optional(mine)
               : std::nullopt;
  return space.elementwise && (space.elements == mine.elements ||
                               space.elements == mine.items)
             ? std::optional(mine)
             : std::nullopt;
}

std::optional<KernelSpace> Grouper::merge(const Group &home, const Group &other,
                                          Operation *op,
                                          const KernelSpace &space) {
  if (home.ops.size() + other.ops.size() >= mostOps)
    return std::nullopt;
  std::optional<KernelSpace> a = join(home, op, space),
                             b = join(other, op, space);
  if (!a || !b)
    return std::nullopt;
  if (a->kind == Elements)
    return a->elements == b->elements ? b : std::nullopt;
  if (b->kind == Elements)
    return b->elements == a->elements || b->elements == a->items ? a
                                                                 : std::nullopt;
  bool same = a->kind == b->kind && a->items == b->items &&
              a->steps == b->steps && a->lanes == b->lanes;
  return same ? a : std::nullopt;
}

Group *Grouper::neighbour(Operation *op, const KernelSpace &space) {
  Group *last = groups.empty() ? nullptr : groups.back().get();
  if (!last || last->ops.empty() || !last->open || last->calls != calls ||
      last->space.elements != space.elements)
    return nullptr;
  if (isRecomputed(op))
    return join(*last, op, space) ? last : nullptr;
  for (Operation *member : last->ops)
    for (Value theirs : member->getOperands())
      for (Value mine : op->getOperands())
        if (theirs == mine && elementsOf(mine) >= space.elements)
          return join(*last, op, space) ? last : nullptr;
  return nullptr;
}

SmallVector<KernelGroup> groupKernels(Block &block, KernelSpaces &spaces,
                                      bool fuse) {
  return Grouper(block, spaces).run(fuse);
}

} // namespace shardc::kernels
