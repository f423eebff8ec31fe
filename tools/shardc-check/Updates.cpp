// The end of a step: norms, directions of whole matrices, updates.
#include "tools/shardc-check/Run.h"

#include <algorithm>

namespace shardc::check {

void Run::gradientNorm(const plan::Entry &entry) {
  const plan::GradientNorm &norm = entry.gradient_norm();
  const std::string &where = entry.name();
  if (norm.units_size() != norm.gradients_size())
    return findings.add(where, "has ", norm.gradients_size(), " gradients of ",
                        norm.units_size(), " units");
  Norm all;
  if (norm.has_previous()) {
    Value previous = memory.read(where, norm.previous());
    auto found = norms.find(previous.expr);
    if (found == norms.end())
      findings.add(where, "adds to something else than a norm");
    else
      all = found->second;
  }
  for (int i = 0; i < norm.units_size(); ++i) {
    uint32_t u = norm.units(i);
    if (!all.units.insert(u).second || !unit(u).optimizer_shards())
      findings.add(where, "has unit ", unit(u).name(),
                   ", which is not trained, or twice");
    Value value = memory.read(where, norm.gradients(i));
    std::vector<Link> scattered = chainOf(value);
    std::erase_if(scattered, [](const Link &link) { return !link.scatters; });
    Ranks::Reach reached = ranks.reach(scattered).value_or(Ranks::Reach());
    if (all.cut && *all.cut != reached)
      findings.add(where, "has slices that are cut over other ranks than unit ",
                   unit(u).name());
    all.cut = reached;
    for (uint32_t p : unit(u).parameters())
      all.gradients[plan.parameters(int(p)).name()] =
          gradientOf(where, value, plan.parameters(int(p)));
  }
  std::vector<Operand> operands;
  for (const auto &[name, value] : all.gradients)
    operands.push_back({value, {}, {}});
  Value result =
      operation("gradient_norm", "", operands, product(norm.result().shape()));
  norms[result.expr] = std::move(all);
  memory.write(where, norm.result(), result);
}

void Run::roundSum(const plan::Entry &entry) {
  const plan::RoundSum &round = entry.round_sum();
  const std::string &where = entry.name();
  Value value = memory.read(where, round.sum());
  if (value.expr < 0)
    return memory.write(where, round.value(), {});
  std::vector<Link> chain = chainOf(value);
  std::vector<Value> terms = termsOf(value);
  if (round.norm()) {
    std::optional<Ranks::Reach> reached = ranks.reach(chain);
    auto norm = terms.size() == 1 ? norms.find(terms[0].expr) : norms.end();
    if (norm == norms.end()) {
      findings.add(where, "rounds a sum that is no norm");
    } else {
      if (reached != norm->second.cut.value_or(Ranks::Reach()))
        findings.add(where, "rounds a norm over other ranks than those whose "
                            "slices make the gradients");
      for (int u = 0; u < plan.units_size(); ++u)
        if (unit(u).optimizer_shards() && !norm->second.units.contains(u))
          findings.add(where, "lacks the gradients of unit ", unit(u).name());
    }
  } else if (std::string wrong = ranks.sumsAll(chain); !wrong.empty()) {
    findings.add(where, "rounds a sum that is not over all ranks: ", wrong);
  }
  memory.write(
      where, round.value(),
      operation("RoundSum", round.norm() ? "norm" : "",
                {{sum(terms, {}, product(round.sum().shape())), {}, {}}}, 1));
}

std::pair<Value, Value> Run::gradientAndNorm(const std::string &where,
                                             const plan::Unit &of,
                                             const std::string &kind,
                                             const plan::Tensor &gradient,
                                             const plan::Tensor *norm) {
  if (kind != plan.optimizer().kind())
    findings.add(where, "is of kind ", kind, ", the plan's is ",
                 plan.optimizer().kind());
  if (product(gradient.shape()) * of.optimizer_shards() != of.elements() ||
      gradient.dtype() != of.gradient_dtype())
    findings.add(where, "takes ", product(gradient.shape()),
                 " elements, its slice has ",
                 of.elements() / std::max<int64_t>(of.optimizer_shards(), 1));
  Value own = memory.read(where, gradient), all;
  if (norm)
    all = memory.read(where, *norm);
  if (all.expr >= 0 && (values[all.expr].op != "RoundSum" ||
                        values[all.expr].attributes != "norm"))
    findings.add(where, "takes something else for the norm of the gradients");
  return {own, all};
}

void Run::optimizerStep(const plan::Entry &entry) {
  const plan::OptimizerStep &step = entry.optimizer_step();
  const plan::Unit &of = unit(step.unit());
  const std::string &where = entry.name();
  demandUnitName(entry, step.unit());
  UnitState &state = units[step.unit()];
  std::optional<plan::Tensor> whole = wholeGradient(entry);
  if (!whole)
    return;
  auto [gradient, norm] = gradientAndNorm(
      where, of, step.kind(), *whole, step.has_norm() ? &step.norm() : nullptr);
  if (takeNorms.value_or(step.has_norm()) != step.has_norm())
    findings.add(where, step.has_norm() ? "takes" : "lacks",
                 " the norm of the gradients, other updates do not");
  takeNorms = step.has_norm();
  if (!step.has_norm() && !isLossKnown)
    findings.add(where,
                 "updates before the loss is known, by which alone it is "
                 "left out where that is not finite");
  if (step.begin() > 0 && gradient != state.gradient)
    findings.add(where, "takes another gradient than the part before");
  state.gradient = gradient;
  updateStaged(entry);
  std::set<int> directions = directionsOf(entry);
  for (uint32_t p : of.parameters()) {
    const plan::Parameter &own = plan.parameters(int(p));
    std::vector<Operand> operands = {
        {gradientOf(where, gradient, own), {}, {}}};
    if (step.has_norm())
      operands.push_back({norm, {}, {}});
    if (isWholeMatrix(plan, own)) {
      operands.push_back({matrices.result(p), {}, {}});
      if (step.has_direction() &&
          !directions.contains(operands.back().value.expr))
        findings.add(where, "takes a direction for ", own.name(),
                     " that has not been brought back to it");
    }
    results["update of " + own.name()] = operation(
        "update", own.optimizer().empty() ? step.kind() : own.optimizer(),
        operands, product(own.shape()));
  }
  state.updated = where;
  state.isPartial = of.optimizer_shards() > of.shards();
  // What was gathered before is not what the parameters are now.
  for (uint32_t gathered : state.gathered)
    for (Record &record : memory.records(gathered))
      record.spoiled = concat("gathered before ", where, " updates its unit");
  if (of.shards() == 1)
    for (Record &record : memory.records(of.parameter_buffer()))
      record.spoiled = concat("which ", where, " has updated");
}

void Run::gatherUpdates(const plan::Entry &entry, Flight &flight) {
  const plan::AllGatherUpdatesStart &start = entry.all_gather_updates_start();
  const plan::Unit &of = unit(start.unit());
  demandUnitName(entry, start.unit());
  UnitState &state = units[start.unit()];
  if (state.updated.empty() || !state.isPartial)
    findings.add(entry.name(), "gathers updates of unit ", of.name(),
                 state.updated.empty() ? " before there are any"
                                       : ", which are there");
  std::string wrong = ranks.gathersUpdates(
      start.group(), of.shards(), std::max<int64_t>(of.optimizer_shards(), 1));
  if (!wrong.empty())
    findings.add(entry.name(), "gathers updates of unit ", of.name(), ": ",
                 wrong);
  flight.land = [&state] { state.isPartial = false; };
}

std::set<int> Run::directionsOf(const plan::Entry &entry) {
  const plan::OptimizerStep &step = entry.optimizer_step();
  const plan::Unit &of = unit(step.unit());
  const std::string &where = entry.name();
  bool isNeeded = !wholeMatricesOf(plan, of).empty();
  if (step.has_direction() != isNeeded)
    findings.add(where,
                 isNeeded ? "lacks its direction: unit "
                          : "takes a direction: unit ",
                 of.name(), " has ", isNeeded ? "" : "no ", "whole matrices");
  if (!step.has_direction())
    return {};
  if (product(step.direction().shape()) != directionElements(of) ||
      step.direction().dtype() != directionType(of))
    findings.add(where, "takes ", product(step.direction().shape()),
                 " elements of directions, its slice has ",
                 directionElements(of));
  Value value = memory.read(where, step.direction());
  std::set<int> all;
  if (value.expr >= 0 && values[value.expr].op == "brought back" &&
      values[value.expr].attributes == of.name())
    for (const Operand &operand : values[value.expr].operands)
      all.insert(operand.value.expr);
  return all;
}

void Run::matrixDirection(const plan::Entry &entry) {
  const plan::MatrixDirection &step = entry.matrix_direction();
  const plan::Unit &of = unit(step.unit());
  const std::string &where = entry.name();
  demandUnitName(entry, step.unit());
  if (!step.has_direction())
    return findings.add(where, "lacks its direction");
  if (!step.has_norm())
    return findings.add(where, "lacks its norm");
  UnitState &state = units[step.unit()];
  std::vector<uint32_t> own = wholeMatricesOf(plan, of);
  if (own.empty() || of.state_buffers().empty())
    findings.add(where, "makes directions of unit ", of.name(),
                 ", which has no whole matrices");
  // Its state would be moved on twice, or behind the update.
  for (const std::string &before : {state.directed, state.updated})
    if (!before.empty())
      findings.add(where, "makes directions of unit ", of.name(),
                   ", whose state ", before, " has updated before");
  state.directed = where;
  if (product(step.direction().shape()) != directionElements(of) ||
      step.direction().dtype() != directionType(of))
    findings.add(where, "makes ", product(step.direction().shape()),
                 " elements of directions, its slice has ",
                 directionElements(of));
  auto [gradient, norm] =
      gradientAndNorm(where, of, step.kind(), step.gradient(), &step.norm());
  Expr all{"directions",          of.name(), {},         0,
           directionElements(of), {},        values.now, {}};
  for (uint32_t p : own) {
    const plan::Parameter &parameter = plan.parameters(int(p));
    all.operands.push_back(
        {operation(
             "MatrixDirection", step.kind(),
             {{gradientOf(where, gradient, parameter), {}, {}}, {norm, {}, {}}},
             product(parameter.shape())),
         {},
         {}});
  }
  memory.write(where, step.direction(),
               values.whole(values.intern(std::move(all))));
}

void Run::gatherMatrices(const plan::Entry &entry, Flight &flight) {
  Exchange exchange = *exchangeOf(plan, entry);
  const std::string &where = entry.name();
  std::map<uint32_t, Value> directions; // by parameter
  for (size_t j = 0; j < exchange.units.size(); ++j) {
    const plan::Unit &of = unit(exchange.units[j]);
    Value value = memory.read(where, *exchange.slices[j]);
    if (value.expr < 0)
      continue;
    if (values[value.expr].op != "directions" ||
        values[value.expr].attributes != of.name()) {
      findings.add(where, "takes something else for the directions of unit ",
                   of.name());
      continue;
    }
    std::vector<uint32_t> own = wholeMatricesOf(plan, of);
    for (size_t i = 0; i < own.size(); ++i)
      directions[own[i]] = values[value.expr].operands[i].value;
  }
  std::map<int64_t, Value> slots;
  for (const Exchange::Part &part : exchange.parts) {
    int64_t count = product(exchange.matrices[size_t(part.slot)]->shape());
    Value slot = matrices.slot(where, part.slot, count);
    matrices.hold(slot, part.owner, part.parameter, directions[part.parameter]);
    if (followed.has[size_t(part.owner)])
      slots[part.slot] = slot;
  }
  flight.land = [this, where, slots, to = exchange.matrices] {
    for (const auto &[slot, value] : slots)
      memory.write(where, *to[size_t(slot)], value);
  };
}

void Run::scatterMatrices(const plan::Entry &entry, Flight &flight) {
  Exchange exchange = *exchangeOf(plan, entry);
  const std::string &where = entry.name();
  std::map<int64_t, Value> slots;
  std::vector<Expr> backs;
  for (uint32_t u : exchange.units)
    backs.push_back({"brought back",
                     unit(u).name(),
                     {},
                     0,
                     directionElements(unit(u)),
                     {},
                     values.now,
                     {}});
  for (const Exchange::Part &part : exchange.parts) {
    backs[size_t(part.unitOf)].operands.push_back(
        {matrices.result(part.parameter), {}, {}});
    if (!followed.has[size_t(part.owner)])
      continue;
    auto [made, isNew] = slots.try_emplace(part.slot);
    if (isNew)
      made->second = memory.read(where, *exchange.matrices[size_t(part.slot)]);
    matrices.make(where, part.parameter, part.owner, made->second);
  }
  flight.land = [this, where, backs, to = exchange.slices] {
    for (size_t j = 0; j < backs.size(); ++j)
      memory.write(where, *to[j], values.whole(values.intern(backs[j])));
  };
}

} // namespace shardc::check
