// A step of one rank, or of ranks that do the same, run on expressions in place of numbers.
#ifndef SHARDC_TOOLS_SHARDC_CHECK_RUN_H
#define SHARDC_TOOLS_SHARDC_CHECK_RUN_H

#include "tools/shardc-check/Kernels.h"
#include "tools/shardc-check/Matrices.h"
#include "tools/shardc-check/Memory.h"
#include "tools/shardc-check/Ranks.h"

namespace shardc::check {

/// What came of a run: metrics, outputs, and each parameter's update, by names
/// that every plan of the model has.
using Results = std::map<std::string, Value>;

/// Runs a program for each of `microBatches`. Reports what is read before it is
/// written or after it is overwritten, what is touched while a collective works
/// on it, waits and starts that do not belong together, sums that are not over
/// all ranks, and parameters that are not updated exactly once.
class Run {
public:
  /// `followed`: the ranks whose entries are run, and whose matrices are worked
  /// on.
  Run(const plan::Plan &plan, Ranks &ranks, const RankClass &followed,
      Matrices &matrices, Values &values, Findings &findings);

  /// `isTrain`: every trained parameter has to be updated at the end.
  Results run(const plan::Program &program, bool isTrain, int microBatches);

private:
  /// An access to bytes of a buffer, while a collective may be in flight.
  struct Touch {
    uint32_t buffer;
    View place;
    int64_t bytes;
    bool writes;
  };
  struct Flight {
    std::string starter;
    bool isLast;
    std::vector<Touch> touches;
    std::function<void()> land; // writes what the collective brings
  };
  struct UnitState {
    std::string updated;    // by which entry
    std::string directed;   // the same of its direction
    bool isPartial = false; // the rank has its own optimizer slice alone
    int64_t elements = 0;   // of the rank's slice that are updated
    Value gradient;         // of the slice
    std::set<uint32_t> gathered;
  };

  void begin();
  void step(const plan::Entry &entry);
  std::vector<Touch> touches(const plan::Entry &entry,
                             const std::vector<Access> &accesses);
  void checkTouches(const plan::Entry &entry, const std::vector<Access> &all,
                    const std::vector<Touch> &touches);
  bool mayCoincide(const plan::Entry &entry, const Access &a, const Access &b);
  void compute(const plan::Entry &entry, const std::vector<Access> &accesses);
  void launch(const plan::Entry &entry);
  void gemm(const plan::Entry &entry, const std::vector<Value> &operands);
  void allGather(const plan::Entry &entry, Flight &flight);
  /// The table of a unit that is nothing else, in slices of whole rows over the
  /// group; null, with a finding, where it is something else.
  const plan::Parameter *tableOf(const plan::Entry &entry, uint32_t u,
                                 uint32_t group);
  void gatherRows(const plan::Entry &entry, Flight &flight);
  /// The flat gradient that rows add up to.
  Value rowGradient(const plan::Entry &entry);
  void keep(const plan::Entry &entry);
  void reduce(const plan::Entry &entry, Flight &flight);
  void accumulate(const plan::Entry &entry);
  void wait(const plan::Entry &entry);
  void gradientNorm(const plan::Entry &entry);
  void roundSum(const plan::Entry &entry);
  void optimizerStep(const plan::Entry &entry);
  /// A buffer that a unit keeps from step to step, and with what an update finds
  /// it where it lies in the pool host.
  struct Kept {
    uint32_t buffer;
    std::string name;
    int64_t elements;
    plan::DType dtype;
    enum Operand { Master, State, Parameters } operand;
  };
  bool isOnHost(uint32_t buffer) const;
  std::vector<Kept> keptOf(uint32_t u) const;
  Value keptValue(const Kept &kept, bool isUpdated);
  /// Whether what is gathered are the unit's slices, from the pool host.
  bool areSlices(uint32_t u, const Value &value);
  void fillHost();
  void transfer(const plan::Entry &entry, Flight &flight);
  /// The gradient of the rank's slice, of which an optimizer step takes a part;
  /// none where that lies outside.
  std::optional<plan::Tensor> wholeGradient(const plan::Entry &entry);
  void updateStaged(const plan::Entry &entry);
  void checkHost();
  void gatherUpdates(const plan::Entry &entry, Flight &flight);
  /// What an OptimizerStep's direction has of matrices: leaves of Matrices.
  std::set<int> directionsOf(const plan::Entry &entry);
  void matrixDirection(const plan::Entry &entry);
  void gatherMatrices(const plan::Entry &entry, Flight &flight);
  void scatterMatrices(const plan::Entry &entry, Flight &flight);
  void end(bool isTrain);

  const plan::Unit &unit(uint32_t u) const { return plan.units(int(u)); }
  /// The parameter's part of the sum of a unit's gradients, over all ranks and
  /// micro-batches; `where` is told what is missing.
  Value gradientOf(const std::string &where, const Value &value,
                   const plan::Parameter &parameter);
  std::pair<Value, Value> gradientAndNorm(const std::string &where,
                                          const plan::Unit &of,
                                          const std::string &kind,
                                          const plan::Tensor &gradient,
                                          const plan::Tensor *norm);
  Value sum(const std::vector<Value> &terms, std::vector<Link> chain,
            int64_t count);
  std::vector<Value> termsOf(const Value &value) const;
  std::vector<Link> chainOf(const Value &value) const;
  Value added(const Value &before, const Value &value);
  Value operation(const std::string &op, const std::string &attributes,
                  const std::vector<Operand> &operands, int64_t count);
  void demandUnitName(const plan::Entry &entry, uint32_t u);

  const plan::Plan &plan;
  Ranks &ranks;
  const RankClass &followed;
  Matrices &matrices;
  Values &values;
  Findings &findings;
  Memory memory;
  Results results;
  std::map<uint32_t, Flight> flights;
  std::set<uint32_t> started;
  std::vector<UnitState> units;
  /// What a norm is of: units, gradients by the names of their parameters, and
  /// the ranks over which these are cut.
  struct Norm {
    std::set<uint32_t> units;
    std::map<std::string, Value> gradients;
    std::optional<Ranks::Reach> cut;
  };
  std::map<int, Norm> norms;     // by expression
  std::optional<bool> takeNorms; // updates, which all do or none
  bool isLossKnown = false;      // in this micro-batch
  int microBatch = 0, microBatches = 1;
};

/// The name of the entry that Values::now stood for.
std::string placeName(const plan::Plan &plan, int place);

/// Checks one plan by itself and returns what it computes with one micro-batch
/// and with three: "name" and "name, of 3 micro-batches".
Results checkPlan(const plan::Plan &plan, Values &values, Findings &findings);

} // namespace shardc::check

#endif
