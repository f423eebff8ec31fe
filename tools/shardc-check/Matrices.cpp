// Every rank runs one plan, and has other matrices in its slots: tables of who
// has which are checked for all ranks at once, formulas once per slot.
#include "tools/shardc-check/Run.h"

#include <algorithm>

namespace shardc::check {

bool takesMatrices(const plan::Plan &plan) {
  return plan.optimizer().kind() == "muon";
}

bool isWholeMatrix(const plan::Plan &plan, const plan::Parameter &parameter) {
  return takesMatrices(plan) && parameter.trainable() &&
         parameter.optimizer().empty();
}

std::vector<uint32_t> wholeMatricesOf(const plan::Plan &plan,
                                      const plan::Unit &unit) {
  std::vector<uint32_t> all;
  for (uint32_t p : unit.parameters())
    if (isWholeMatrix(plan, plan.parameters(int(p))))
      all.push_back(p);
  return all;
}

int64_t directionElements(const plan::Unit &unit) {
  return unit.elements() / std::max<int64_t>(unit.optimizer_shards(), 1);
}
plan::DType directionType(const plan::Unit &unit) {
  return unit.master_dtype() == plan::FLOAT64 ? plan::FLOAT64 : plan::FLOAT32;
}

// -- Tables ------------------------------------------------------------------

namespace {

constexpr uint32_t none = uint32_t(-1);

template <typename Start>
Exchange exchange(const plan::Plan &plan, const Start &start) {
  Exchange all;
  for (const plan::Tensor &slice : start.slices())
    all.slices.push_back(&slice);
  for (const plan::Tensor &matrix : start.matrices())
    all.matrices.push_back(&matrix);
  all.units.assign(start.units().begin(), start.units().end());
  auto [count, longest] =
      std::minmax({start.unit_of_size(), start.offsets_size(),
                   start.owners_size(), start.slots_size()});
  all.isEven = count == longest;
  for (int i = 0; i < count; ++i) {
    Exchange::Part part{start.unit_of(i), start.offsets(i), start.owners(i),
                        start.slots(i), none};
    if (part.unitOf >= 0 && part.unitOf < int64_t(all.units.size()))
      for (uint32_t p : wholeMatricesOf(
               plan, plan.units(int(all.units[size_t(part.unitOf)]))))
        if (plan.parameters(int(p)).flat_offset() == part.offset)
          part.parameter = p;
    all.parts.push_back(part);
  }
  return all;
}

/// Checks the tables of one all-to-all, and counts its matrices.
class ExchangeCheck {
public:
  ExchangeCheck(const plan::Plan &plan, const plan::Entry &entry,
                Findings &findings)
      : plan(plan), where(entry.name()), findings(findings),
        all(*exchangeOf(plan, entry)) {
    need(all.isEven, "lacks a unit, an offset, an owner or a slot of a "
                     "matrix");
  }

  void run(std::map<uint32_t, int> &counts) {
    need(all.slices.size() == all.units.size(), "has ", all.slices.size(),
         " slices of ", all.units.size(), " units");
    for (size_t j = 0; j < std::min(all.slices.size(), all.units.size()); ++j)
      slice(plan.units(int(all.units[j])), *all.slices[j]);
    for (const plan::Tensor *matrix : all.matrices)
      need(isContiguous(*matrix), "has a matrix that is scattered");
    for (const Exchange::Part &part : all.parts)
      matrix(part, counts);
  }

private:
  template <typename... Parts> bool need(bool holds, const Parts &...what) {
    if (!holds)
      findings.add(where, what...);
    return holds;
  }

  void slice(const plan::Unit &unit, const plan::Tensor &slice) {
    need(unit.optimizer_shards() == plan.mesh().optimizer_shards(),
         "has slices of unit ", unit.name(), ", which is optimized in ",
         unit.optimizer_shards(), " slices, the mesh has ",
         plan.mesh().optimizer_shards());
    need(isContiguous(slice) &&
             product(slice.shape()) == directionElements(unit) &&
             slice.dtype() == directionType(unit),
         "has ", product(slice.shape()), " elements of unit ", unit.name(),
         ", whose direction has ", directionElements(unit));
  }

  void matrix(const Exchange::Part &part, std::map<uint32_t, int> &counts) {
    auto inside = [&](int64_t number, size_t size, const char *what) {
      return need(number >= 0 && number < int64_t(size), "names ", what, " ",
                  number, " of ", size);
    };
    if (!inside(part.unitOf, all.units.size(), "unit") ||
        !inside(part.slot, all.matrices.size(), "slot") ||
        !inside(part.owner, size_t(plan.mesh().ranks()), "rank"))
      return;
    const plan::Unit &unit = plan.units(int(all.units[size_t(part.unitOf)]));
    if (!need(part.parameter != none, "has element ", part.offset, " of unit ",
              unit.name(), ", where no whole matrix begins"))
      return;
    const plan::Parameter &own = plan.parameters(int(part.parameter));
    const plan::Tensor &to = *all.matrices[size_t(part.slot)];
    need(std::ranges::equal(own.shape(), to.shape()) &&
             to.dtype() == directionType(unit),
         "has ", own.name(), " in slot ", part.slot,
         ", which is of another shape or type");
    need(taken.insert({part.owner, part.slot}).second, "has ", own.name(),
         " in slot ", part.slot, " of rank ", part.owner,
         ", where another matrix is");
    need(++counts[part.parameter] == 1, "has ", own.name(), " once more");
  }

  const plan::Plan &plan;
  const std::string &where;
  Findings &findings;
  Exchange all;
  std::set<std::pair<int64_t, int64_t>> taken;
};

void checkRanks(const plan::Plan &plan, const plan::Entry &entry,
                Findings &findings) {
  if (entry.ranks().empty())
    return;
  for (int i = 0; i < entry.ranks_size(); ++i)
    if (entry.ranks(i) < 0 || entry.ranks(i) >= plan.mesh().ranks() ||
        (i && entry.ranks(i) <= entry.ranks(i - 1)))
      findings.add(entry.name(), "is of rank ", entry.ranks(i),
                   ", which is none of ", plan.mesh().ranks(),
                   " or not in order");
  // The others would wait for ever.
  if (startedToken(entry) || entry.has_wait())
    findings.add(entry.name(), "is a collective, and ", entry.ranks_size(),
                 " of ", plan.mesh().ranks(), " ranks run it");
}

} // namespace

std::optional<Exchange> exchangeOf(const plan::Plan &plan,
                                   const plan::Entry &entry) {
  if (entry.has_gather_matrices_start())
    return exchange(plan, entry.gather_matrices_start());
  if (entry.has_scatter_matrices_start())
    return exchange(plan, entry.scatter_matrices_start());
  return std::nullopt;
}

bool checkMatrices(const plan::Plan &plan, Findings &findings) {
  size_t before = findings.all().size();
  for (const plan::Parameter &parameter : plan.parameters())
    if (isWholeMatrix(plan, parameter) && parameter.shape_size() != 2)
      findings.add("parameter " + parameter.name(), "has ",
                   parameter.shape_size(), " dims, and is updated as a matrix");
  std::map<uint32_t, int> gathered, scattered;
  for (const plan::Program *program : {&plan.train(), &plan.eval()})
    for (const plan::Entry &entry : program->entries()) {
      checkRanks(plan, entry, findings);
      if (entry.has_gather_matrices_start())
        ExchangeCheck(plan, entry, findings).run(gathered);
      if (entry.has_scatter_matrices_start())
        ExchangeCheck(plan, entry, findings).run(scattered);
    }
  for (uint32_t p = 0; p < uint32_t(plan.parameters_size()); ++p) {
    const plan::Parameter &own = plan.parameters(int(p));
    if (!plan.train().entries_size() || !isWholeMatrix(plan, own))
      continue;
    if (!gathered.contains(p))
      findings.add("parameter " + own.name(), "is updated as a matrix, and "
                                              "nothing brings it to an owner");
    if (!scattered.contains(p))
      findings.add("parameter " + own.name(), "is updated as a matrix, and "
                                              "nothing brings it back");
  }
  return findings.all().size() == before;
}

std::vector<RankClass> classesOf(const plan::Plan &plan,
                                 const plan::Program &program) {
  std::map<std::vector<int64_t>, int64_t> lists;
  int64_t ranks = plan.mesh().ranks(), next = 0;
  std::vector<std::vector<int64_t>> keys(ranks); // ascending
  for (const plan::Entry &entry : program.entries()) {
    std::vector<int64_t> list(entry.ranks().begin(), entry.ranks().end());
    if (!list.empty() && lists.try_emplace(list, next).second) {
      for (int64_t rank : list)
        keys[rank].push_back(next);
      ++next;
    }
    if (auto exchange = exchangeOf(plan, entry)) {
      std::ranges::sort(exchange->parts, {}, &Exchange::Part::slot);
      for (const Exchange::Part &part : exchange->parts)
        keys[part.owner].push_back(next + part.slot);
      next += int64_t(exchange->matrices.size());
    }
  }
  std::map<std::vector<int64_t>, size_t> found;
  std::vector<RankClass> classes;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto [place, isNew] = found.try_emplace(keys[rank], classes.size());
    if (isNew)
      classes.push_back({rank, std::vector<bool>(ranks)});
    classes[place->second].has[rank] = true;
  }
  return classes;
}

// -- Values ------------------------------------------------------------------

Value Matrices::slot(const std::string &gather, int64_t slot, int64_t count) {
  return values.leaf("matrix", concat("in slot ", slot, " of ", gather), count);
}

void Matrices::hold(const Value &slot, int64_t rank, uint32_t parameter,
                    const Value &direction) {
  slots[slot.expr].insert_or_assign(rank, Held{parameter, direction});
}

Value Matrices::result(uint32_t parameter) {
  const plan::Parameter &own = plan.parameters(int(parameter));
  Value leaf =
      values.leaf("what is made of matrix", own.name(), product(own.shape()));
  parameters[leaf.expr] = parameter;
  return leaf;
}

void Matrices::make(const std::string &where, uint32_t parameter, int64_t rank,
                    const Value &made) {
  results.insert_or_assign(result(parameter).expr, Made{where, rank, made});
  known.clear();
}

void Matrices::settle() {
  for (const auto &[leaf, made] : results) {
    const std::string &name = plan.parameters(int(parameters.at(leaf))).name();
    std::map<int, Value> own;
    for (const auto &[slot, byRank] : slots)
      if (auto held = byRank.find(made.rank); held != byRank.end())
        own[slot] = held->second.direction;
    std::set<int> met;
    known[leaf] = values.replace(made.value, own, &met);
    if (made.value.expr >= 0 && met.empty())
      findings.add(made.where, "brings back to ", name,
                   " what is not made of it");
    checkFormula(leaf, made, met);
    for (int slot : met)
      if (uint32_t of = slots[slot].at(made.rank).parameter;
          of != parameters.at(leaf))
        findings.add(made.where, "brings back to ", name, " what rank ",
                     made.rank, " makes of ", plan.parameters(int(of)).name());
  }
}

void Matrices::checkFormula(int leaf, const Made &made,
                            const std::set<int> &met) {
  const plan::Parameter &own = plan.parameters(int(parameters.at(leaf)));
  const plan::Unit &of = plan.units(int(own.unit()));
  if (met.contains(made.value.expr))
    return findings.add(made.where, "brings back to ", own.name(),
                        " the direction of which rank ", made.rank,
                        " should make something");
  std::map<int, Value> any;
  for (int slot : met)
    any[slot] = values.leaf("any matrix", "", values[slot].count);
  std::vector<int64_t> key(own.shape().begin(), own.shape().end());
  key.push_back(directionType(of));
  Formula formula{values.replace(made.value, any), own.name()};
  const Formula &first = formulas.try_emplace(key, formula).first->second;
  Differ differ(values, values);
  auto difference = differ.find(formula.value, first.value);
  auto other = differ.find(first.value, formula.value);
  if (difference && other)
    findings.add(placeName(plan, difference->place),
                 "makes what comes back to ", own.name(), " otherwise than ",
                 placeName(plan, other->place), " does for ", first.name,
                 ", of the same shape: ", difference->what);
}

Value Matrices::settled(const Value &value) {
  if (known.empty())
    settle();
  return values.replace(value, known);
}

} // namespace shardc::check
