// What a step computes, as expressions that exist once: equal expressions are
// one number, in whatever buffers, order and kernels they were computed.
#ifndef SHARDC_TOOLS_SHARDC_CHECK_VALUES_H
#define SHARDC_TOOLS_SHARDC_CHECK_VALUES_H

#include "tools/shardc-check/View.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shardc::check {

/// Elements of an expression, in the order of the view.
struct Value {
  int expr = -1; // none: nothing that is known
  View view;
  bool operator==(const Value &) const = default;
};

/// A collective that a sum went through.
struct Link {
  bool scatters; // each rank of the group has its slice of the sum
  uint32_t group;
  bool operator==(const Link &) const = default;
};

struct Operand {
  Value value;
  std::vector<int64_t> shape; // as the op sees it
  View place;                 // of `assemble`: where these elements stand
};

struct Expr {
  std::string op, attributes;
  std::vector<Operand> operands;
  int result = 0; // which one of the op's
  int64_t count = 0;
  std::vector<Link> chain; // of `sum`
  int place = -1;          // the entry that computed it first; not part of it
  std::pair<uint64_t, uint64_t> hash;
};

struct Piece {
  View place;
  Value value;
};

class Values {
public:
  /// Returns the number of the expression, an older one where it is known.
  int intern(Expr expr);
  const Expr &operator[](int expr) const { return exprs[expr]; }
  int size() const { return int(exprs.size()); }

  Value whole(int expr) const {
    return {expr, View{0, {{exprs[expr].count, 1}}}.canonical()};
  }
  Value leaf(const std::string &op, const std::string &name, int64_t count) {
    return whole(intern({op, name, {}, 0, count, {}, now, {}}));
  }
  /// One number, `count` times.
  Value splat(const std::string &number, int64_t count);
  /// The elements of `value` that `view` names by their number in it.
  Value look(const Value &value, const View &view);
  /// The elements where `view` says, of pieces that do not overlap. Nothing
  /// where some are in no piece. `unit`: the distance of neighbours.
  std::optional<Value> resolve(const std::vector<Piece> &pieces,
                               const View &view, int64_t unit);
  /// Elements [begin, begin + count) of a value.
  Value slice(const Value &value, int64_t begin, int64_t count);
  /// `under` with `over` in place of the elements that `place` numbers.
  Value overlay(const Value &under, const Value &over, const View &place);

  /// The value with others in place of some expressions; `met`: of which there
  /// were any.
  Value replace(const Value &value, const std::map<int, Value> &by,
                std::set<int> *met = nullptr);

  std::pair<uint64_t, uint64_t> hash(const Value &value) const;

  /// The entry that computes what is new from here on.
  int now = -1;

private:
  Value assemble(std::vector<Piece> pieces, int64_t count);

  std::vector<Expr> exprs;
  std::map<std::pair<uint64_t, uint64_t>, int> known;
};

/// Where a value differs from what it should be: the deepest entry whose own
/// operands or operation differ. `what`: in words.
struct Difference {
  int place = -1;
  std::string what;
};
class Differ {
public:
  Differ(const Values &values, const Values &reference);
  /// Nothing where they are one expression.
  std::optional<Difference> find(const Value &value, const Value &reference);

private:
  Difference descend(int expr, int reference);
  std::string words(const Values &of, const Value &value) const;

  const Values &values, &reference;
  std::map<std::pair<uint64_t, uint64_t>, bool> inReference;
};

} // namespace shardc::check

#endif
