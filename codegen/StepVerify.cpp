// step-verify: the invariants of a planned step that its ops cannot check
// alone.
#include "codegen/Passes.h"
#include "codegen/kernels/InPlaceRules.h"
#include "codegen/step/Liveness.h"
#include "codegen/step/View.h"
#include "passes/fsdp/FSDP.h"

#include <map>

namespace shardc {
#define GEN_PASS_DEF_STEPVERIFY
#include "codegen/Passes.h.inc"

namespace {
using namespace mlir;

LogicalResult verifyCollectives(step::ProgramOp program) {
  for (Operation &op : program.getBody().front())
    for (Value result : op.getResults()) {
      if (!isa<step::TokenType>(result.getType()))
        continue;
      auto waits = llvm::count_if(result.getUsers(), [](Operation *user) {
        return isa<step::WaitOp>(user);
      });
      if (waits != 1)
        return op.emitOpError() << "expects one wait, got " << waits;
    }
  return success();
}

// No two buffers of a pool that are alive at once share a byte: sweeps over
// time with the live buffers of each pool in order of their offsets.
LogicalResult verifyPlacement(step::PlanOp plan, step::ProgramOp program) {
  std::optional<ArrayRef<int64_t>> pools = plan.getPoolBytes();
  if (!pools || int64_t(pools->size()) != step::poolCount)
    return plan.emitOpError() << "expects the bytes of " << step::poolCount
                              << " pools; run step-plan-memory first";
  struct Event {
    int64_t time;
    bool isStart;
    int64_t offset;
    step::BufferOp buffer;
  };
  SmallVector<Event> events;
  auto lifetimes = step::lifetimes(program);
  for (auto &[op, lifetime] : lifetimes) {
    auto buffer = cast<step::BufferOp>(op);
    std::optional<int64_t> offset = buffer.getOffset();
    int64_t poolBytes = (*pools)[int64_t(step::poolOf(buffer.getKind()))];
    if (!offset)
      return buffer.emitOpError() << "has no offset";
    if (*offset % int64_t(plan.getBufferAlignment()))
      return buffer.emitOpError()
             << "expects an offset that is a multiple of "
             << plan.getBufferAlignment() << ", got " << *offset;
    if (*offset < 0 || *offset + int64_t(buffer.getBytes()) > poolBytes)
      return buffer.emitOpError()
             << "ends at byte " << *offset + int64_t(buffer.getBytes())
             << " of a pool of " << poolBytes;
    if (buffer.getBytes() == 0)
      continue;
    events.push_back({lifetime.first, true, *offset, buffer});
    events.push_back({lifetime.last + 1, false, *offset, buffer});
  }
  llvm::sort(events, [](const Event &a, const Event &b) {
    return std::tuple(a.time, a.isStart, a.offset) <
           std::tuple(b.time, b.isStart, b.offset);
  });

  std::map<std::pair<step::Pool, int64_t>, step::BufferOp> live;
  auto clash = [](step::BufferOp low, step::BufferOp high) -> LogicalResult {
    if (step::poolOf(low.getKind()) != step::poolOf(high.getKind()) ||
        int64_t(*low.getOffset() + low.getBytes()) <=
            int64_t(*high.getOffset()))
      return success();
    InFlightDiagnostic diagnostic =
        high.emitOpError() << "shares bytes with buffer \"" << low.getName()
                           << "\", which is alive at the same time";
    diagnostic.attachNote(low.getLoc()) << "the other buffer";
    return diagnostic;
  };
  for (Event &event : events) {
    auto key = std::pair(step::poolOf(event.buffer.getKind()), event.offset);
    if (!event.isStart) {
      live.erase(key);
      continue;
    }
    auto [place, isNew] = live.insert({key, event.buffer});
    if (!isNew)
      return clash(place->second, event.buffer);
    if (place != live.begin() &&
        failed(clash(std::prev(place)->second, event.buffer)))
      return failure();
    if (std::next(place) != live.end() &&
        failed(clash(event.buffer, std::next(place)->second)))
      return failure();
  }
  return success();
}

/// Byte ranges of a buffer that hold values.
class WrittenBytes {
public:
  void add(int64_t begin, int64_t end) {
    auto next = ranges.upper_bound(begin);
    if (next != ranges.begin() && std::prev(next)->second >= begin)
      --next;
    while (next != ranges.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      next = ranges.erase(next);
    }
    ranges[begin] = end;
  }
  bool contains(int64_t begin, int64_t end) const {
    auto next = ranges.upper_bound(begin);
    return begin == end ||
           (next != ranges.begin() && std::prev(next)->second >= end);
  }

private:
  std::map<int64_t, int64_t> ranges; // begin -> end, disjoint
};

// Every entry reads what entries before it wrote, and nobody touches what a
// collective is writing, or writes what it is reading.
LogicalResult verifyDataFlow(step::ProgramOp program) {
  llvm::DenseMap<Operation *, WrittenBytes> written;
  struct Flight {
    Operation *start;
    bool isWritten;
    int64_t begin, end; // bytes of the buffer
  };
  llvm::DenseMap<Operation *, SmallVector<Flight>> flights;
  for (Operation &op : program.getBody().front()) {
    if (!step::isEntry(&op))
      continue;
    if (auto wait = dyn_cast<step::WaitOp>(op)) {
      Operation *start = wait.getToken().getDefiningOp();
      for (const step::Access &access : step::accesses(start)) {
        llvm::erase_if(flights[access.buffer], [&](const Flight &flight) {
          return flight.start == start;
        });
        if (access.isWritten)
          written[access.buffer].add(access.begin, access.end);
      }
      continue;
    }
    SmallVector<step::Access> accesses = step::accesses(&op);
    for (step::Access &access : accesses) {
      for (const Flight &flight : flights[access.buffer])
        if ((flight.isWritten || access.isWritten) &&
            access.begin < flight.end && flight.begin < access.end) {
          InFlightDiagnostic diagnostic =
              op.emitOpError() << "touches buffer \"" << access.buffer.getName()
                               << "\" while a collective works on it";
          diagnostic.attachNote(flight.start->getLoc()) << "begins here";
          return diagnostic;
        }
      if (step::poolOf(access.buffer.getKind()) == step::Pool::host &&
          !isa<step::TransferStartOp>(op))
        return op.emitOpError()
               << "touches buffer \"" << access.buffer.getName()
               << "\" of the pool host, which only transfers may touch";
      // Where ranks share an address space, what is gathered is the parameters
      // themselves.
      if (access.isWritten && access.buffer.getKind() == step::Kind::gather &&
          !isa<step::AllGatherStartOp, step::KeepOp>(op))
        return op.emitOpError()
               << "writes to buffer \"" << access.buffer.getName()
               << "\", which only gathers may write to";
      bool isOwn = access.buffer->getParentOp() == program;
      if (isOwn && access.isRead &&
          !written[access.buffer].contains(access.begin, access.end))
        return op.emitOpError()
               << "reads bytes [" << access.begin << ", " << access.end
               << ") of buffer \"" << access.buffer.getName()
               << "\" before they are written";
    }
    bool starts = bool(step::waitOf(&op));
    for (const step::Access &access : accesses) {
      if (starts)
        flights[access.buffer].push_back(
            {&op, access.isWritten, access.begin, access.end});
      else if (access.isWritten)
        written[access.buffer].add(access.begin, access.end);
    }
  }
  return success();
}

// A kernel that writes where it reads must not read there again.
LogicalResult verifyInPlace(step::ProgramOp program) {
  kernels::InPlaceRules rules;
  for (auto kernel : program.getBody().front().getOps<step::LaunchOp>())
    for (auto [output, written] : llvm::enumerate(kernel.getOutputs()))
      for (auto [input, read] : llvm::enumerate(kernel.getInputs())) {
        step::View to = step::View::of(written), from = step::View::of(read);
        if (to.buffer != from.buffer ||
            to.offset >= from.offset + from.spanBytes() ||
            from.offset >= to.offset + to.spanBytes())
          continue;
        if (to.offset != from.offset ||
            !rules.allows(kernel, kernel.getKernelAttr(), input, output))
          return kernel.emitOpError()
                 << "writes output " << output << " over input " << input
                 << ", of which it reads other elements or reads them later";
      }
  return success();
}

// Kernels load several elements at once from where their arguments begin.
LogicalResult verifyAlignment(step::PlanOp plan, step::ProgramOp program) {
  int64_t alignment = plan.getArgumentAlignment();
  for (auto launch : program.getBody().front().getOps<step::LaunchOp>())
    for (Value operand : launch.getOperands())
      if (int64_t offset = step::View::of(operand).offset; offset % alignment)
        return launch.emitOpError()
               << "expects operands at multiples of " << alignment
               << " bytes, got one at byte " << offset << " of its buffer";
  return success();
}

// Parameters are kernels' arguments where they lie, in whatever type: gathered,
// their gradients, or the master weights of a rank's slice.
LogicalResult verifyUnits(step::PlanOp plan, const SymbolTable &symbols) {
  int64_t alignment = plan.getArgumentAlignment();
  for (auto storage : plan.getBody().front().getOps<step::StorageOp>()) {
    auto unit = symbols.lookup<fsdp::UnitOp>(storage.getUnit());
    for (Type type : {unit.getElementType(), unit.getMasterType(),
                      unit.getGradientType()}) {
      int64_t bytes = nn::elementBytes(type);
      for (auto [parameter, offset] :
           llvm::zip(unit.getParameters().getAsRange<FlatSymbolRefAttr>(),
                     unit.getOffsets()))
        if (offset * bytes % alignment)
          return unit.emitOpError() << "expects parameters at multiples of "
                                    << alignment << " bytes, got " << parameter
                                    << " at byte " << offset * bytes;
      for (int64_t slices : {unit.getShards(), unit.getOptimizerShards()})
        if (int64_t slice =
                slices ? int64_t(unit.getElements()) / slices * bytes : 0;
            slice % alignment)
          return unit.emitOpError() << "expects slices of a multiple of "
                                    << alignment << " bytes, got " << slice;
    }
  }
  return success();
}

// Masters and states that lie in the pool host come by transfers, and all of
// them are updated, part by part.
LogicalResult verifyOffload(step::PlanOp plan, step::ProgramOp program,
                            const SymbolTable &symbols) {
  auto isOnHost = [](Value buffer) {
    return buffer.getDefiningOp<step::BufferOp>().getKind() ==
           step::Kind::state;
  };
  llvm::StringMap<SmallVector<step::OptimizerStepOp>> stepsOf;
  for (auto step : program.getBody().front().getOps<step::OptimizerStepOp>())
    stepsOf[step.getUnit()].push_back(step);
  for (auto storage : plan.getBody().front().getOps<step::StorageOp>()) {
    bool areOut = isOnHost(storage.getParameters());
    bool hasMaster =
        storage.getMaster() ? isOnHost(storage.getMaster()) : areOut;
    bool hasStates = llvm::any_of(storage.getStates(), isOnHost);
    bool hasParameters = areOut && storage.getMaster();
    auto unit = symbols.lookup<fsdp::UnitOp>(storage.getUnit());
    if (areOut)
      for (auto start :
           program.getBody().front().getOps<step::AllGatherStartOp>())
        if (start.getUnit() == storage.getUnit() && !start.getKept())
          return start.emitOpError()
                 << "gathers slices that lie in the pool host: expects what a "
                    "transfer brought of them";
    int64_t end = 0, parts = 0;
    for (step::OptimizerStepOp step : stepsOf[storage.getUnit()]) {
      if (bool(step.getMaster()) != hasMaster ||
          bool(step.getParameters()) != hasParameters ||
          step.getStates().size() !=
              (hasStates ? storage.getStates().size() : 0))
        return step.emitOpError()
               << "expects views of what its unit has in the pool host, and of "
                  "nothing else";
      int64_t elements = step::View::of(step.getGradient()).elements();
      SmallVector<Value> all(step.getStates());
      for (Value other : {step.getMaster(), step.getParameters()})
        if (other)
          all.push_back(other);
      for (Value staged : all)
        if (step::View::of(staged).elements() != elements)
          return step.emitOpError() << "expects views of " << elements
                                    << " elements, got " << staged.getType();
      if (int64_t(step.getBegin()) != end)
        return step.emitOpError() << "begins at element " << step.getBegin()
                                  << ", the part before ended at " << end;
      end += elements;
      ++parts;
    }
    if (parts > 0 &&
        end * int64_t(unit.getOptimizerShards()) != int64_t(unit.getElements()))
      return storage.emitOpError()
             << "is updated in " << end << " elements of a slice of "
             << unit.getElements() / unit.getOptimizerShards();
  }
  return success();
}

struct StepVerify : impl::StepVerifyBase<StepVerify> {
  void runOnOperation() override {
    // Units, storages and entries grow together: each is looked at once.
    const SymbolTable symbols(getOperation());
    for (auto plan : getOperation().getOps<step::PlanOp>()) {
      if (failed(verifyUnits(plan, symbols)))
        return signalPassFailure();
      for (auto program : plan.getBody().front().getOps<step::ProgramOp>())
        if (failed(verifyCollectives(program)) ||
            failed(verifyPlacement(plan, program)) ||
            failed(verifyDataFlow(program)) || failed(verifyInPlace(program)) ||
            failed(verifyAlignment(plan, program)) ||
            failed(verifyOffload(plan, program, symbols)))
          return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace shardc
