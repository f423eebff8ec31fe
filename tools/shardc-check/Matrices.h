// Optimizers of whole matrices: which rank makes what of which matrix, and
// whether each comes back as what was made of it.
#ifndef SHARDC_TOOLS_SHARDC_CHECK_MATRICES_H
#define SHARDC_TOOLS_SHARDC_CHECK_MATRICES_H

#include "tools/shardc-check/Plans.h"
#include "tools/shardc-check/Values.h"

#include <map>

namespace shardc::check {

/// Whether the plan's optimizer updates matrices as a whole.
bool takesMatrices(const plan::Plan &plan);
/// Whether it does so with this parameter: trained, and not left to another
/// optimizer.
bool isWholeMatrix(const plan::Plan &plan, const plan::Parameter &parameter);
std::vector<uint32_t> wholeMatricesOf(const plan::Plan &plan,
                                      const plan::Unit &unit);

/// What GatherMatricesStart and ScatterMatricesStart say alike.
struct Exchange {
  struct Part {
    int64_t unitOf, offset, owner, slot;
    uint32_t parameter; // that lies there, where checkMatrices finds nothing
  };
  std::vector<const plan::Tensor *> slices, matrices;
  std::vector<uint32_t> units;
  std::vector<Part> parts;
  bool isEven; // each table has as many entries as the others
};
/// Nothing for an entry of another kind.
std::optional<Exchange> exchangeOf(const plan::Plan &plan,
                                   const plan::Entry &entry);

/// Elements of a unit's direction on a rank, and their type.
int64_t directionElements(const plan::Unit &unit);
plan::DType directionType(const plan::Unit &unit);

/// Tables of all-to-alls and lists of ranks: every number in range, every slot
/// for one matrix per rank, every whole matrix sent to one owner and back once
/// a step. Runs need this to hold.
bool checkMatrices(const plan::Plan &plan, Findings &findings);

/// Ranks that run the same entries and have matrices in the same slots: one of
/// them is followed for all.
struct RankClass {
  int64_t rank = 0; // the first of them
  std::vector<bool> has;
};
std::vector<RankClass> classesOf(const plan::Plan &plan,
                                 const plan::Program &program);

/// What owners make of their matrices. The ranks of a class have different ones
/// in a slot: there a leaf stands for all of them, and another one for what
/// comes back of a matrix, whoever made it. When all classes have run, each
/// leaf's value is known.
class Matrices {
public:
  Matrices(const plan::Plan &plan, Values &values, Findings &findings)
      : plan(plan), values(values), findings(findings) {}

  /// What is in the slot of a gather, on each rank that has a matrix there.
  Value slot(const std::string &gather, int64_t slot, int64_t count);
  /// `direction` of a parameter is in the slot of a rank.
  void hold(const Value &slot, int64_t rank, uint32_t parameter,
            const Value &direction);
  /// What comes back of a parameter's matrix.
  Value result(uint32_t parameter);
  /// `made`, in terms of slots, is what a rank sends back of it.
  void make(const std::string &where, uint32_t parameter, int64_t rank,
            const Value &made);
  /// `value` with what was made in place of the leaves.
  Value settled(const Value &value);

private:
  struct Held {
    uint32_t parameter;
    Value direction;
  };
  struct Made {
    std::string where;
    int64_t rank;
    Value value;
  };
  struct Formula {
    Value value; // in terms of any matrix
    std::string name;
  };
  void settle();
  /// Of matrices of one shape and type the same is made.
  void checkFormula(int leaf, const Made &made, const std::set<int> &met);

  const plan::Plan &plan;
  Values &values;
  Findings &findings;
  std::map<int, std::map<int64_t, Held>> slots;     // by leaf and rank
  std::map<int, Made> results;                      // by leaf
  std::map<int, uint32_t> parameters;               // by leaf of a result
  std::map<int, Value> known;                       // by leaf of a result
  std::map<std::vector<int64_t>, Formula> formulas; // by shape and type
};

} // namespace shardc::check

#endif
