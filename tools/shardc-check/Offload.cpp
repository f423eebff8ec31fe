// Masters and states in the pool host: each element is brought, updated once,
// and brought back to its place.
#include "tools/shardc-check/Run.h"

namespace shardc::check {

bool Run::isOnHost(uint32_t buffer) const {
  return check::isOnHost(plan, buffer);
}

/// What a unit keeps from step to step: parameters that lie on the host, and
/// what an optimizer has besides.
std::vector<Run::Kept> Run::keptOf(uint32_t u) const {
  std::vector<Kept> all;
  const plan::Unit &of = unit(u);
  bool hasMaster = of.master_dtype() != of.dtype();
  if (isOnHost(of.parameter_buffer()))
    all.push_back({of.parameter_buffer(), concat("parameters of ", of.name()),
                   of.elements() / of.shards(), of.dtype(),
                   of.optimizer_shards() && !hasMaster ? Kept::Master
                                                       : Kept::Parameters});
  if (!of.optimizer_shards())
    return all;
  int64_t own = of.elements() / of.optimizer_shards();
  if (hasMaster && !of.has_remainder_buffer())
    all.push_back({of.master_buffer(), concat("master of ", of.name()), own,
                   of.master_dtype(), Kept::Master});
  for (int i = 0; i < of.state_buffers_size(); ++i)
    all.push_back({of.state_buffers(i), concat("state ", i, " of ", of.name()),
                   own, of.master_dtype(), Kept::State});
  return all;
}

/// The elements of a rank's slice before an update, or behind it.
Value Run::keptValue(const Kept &kept, bool isUpdated) {
  return values.leaf(isUpdated ? "updated" : "kept over steps", kept.name,
                     kept.elements);
}

bool Run::areSlices(uint32_t u, const Value &value) {
  for (const Kept &kept : keptOf(u))
    if (kept.buffer == unit(u).parameter_buffer())
      return value == keptValue(kept, false);
  return false;
}

void Run::fillHost() {
  for (int u = 0; u < plan.units_size(); ++u)
    for (const Kept &kept : keptOf(u))
      if (isOnHost(kept.buffer)) {
        int64_t bytes = bytesOf(kept.dtype);
        Value value = keptValue(kept, false);
        memory.write("the run", kept.buffer,
                     {View{0, {{value.view.count(), bytes}}}, bytes, value,
                      "the run", "", false, false});
      }
}

void Run::transfer(const plan::Entry &entry, Flight &flight) {
  const plan::TransferStart &start = entry.transfer_start();
  const std::string &where = entry.name();
  if (isOnHost(start.source().buffer()) ==
          isOnHost(start.destination().buffer()) ||
      start.source().dtype() != start.destination().dtype() ||
      product(start.source().shape()) != product(start.destination().shape()) ||
      !isContiguous(start.source()) || !isContiguous(start.destination()))
    findings.add(where, "does not move elements in a row between the pool host "
                        "and another one");
  flight.land = [this, where, &start,
                 value = memory.read(where, start.source())] {
    memory.write(where, start.destination(), value);
  };
}

std::optional<plan::Tensor> Run::wholeGradient(const plan::Entry &entry) {
  const plan::OptimizerStep &step = entry.optimizer_step();
  const plan::Unit &of = unit(step.unit());
  const std::string &where = entry.name();
  UnitState &state = units[step.unit()];
  // Parts follow each other.
  if (!of.optimizer_shards() || step.begin() != state.elements)
    findings.add(where, "updates unit ", of.name(), ", which ",
                 state.updated.empty() ? "is not trained, or from element "
                                       : state.updated + " has updated before "
                                                         "to element ",
                 state.elements);
  int64_t count = product(step.gradient().shape());
  int64_t slice = of.elements() / std::max<int64_t>(of.optimizer_shards(), 1);
  plan::Tensor all = step.gradient();
  all.set_offset(all.offset() - step.begin() * bytesOf(all.dtype()));
  if (step.begin() > 0 || count < slice) {
    all.clear_shape();
    all.clear_strides();
    all.add_shape(slice);
  }
  if (step.begin() < 0 || count > slice - step.begin() || all.offset() < 0 ||
      placesOf(all).offset + slice * bytesOf(all.dtype()) >
          plan.buffers(int(all.buffer())).bytes()) {
    findings.add(where, "takes ", count, " elements from ", step.begin(),
                 " on, its slice has ", slice);
    return std::nullopt;
  }
  state.elements = step.begin() + count;
  return all;
}

void Run::updateStaged(const plan::Entry &entry) {
  const plan::OptimizerStep &step = entry.optimizer_step();
  const std::string &where = entry.name();
  int64_t count = product(step.gradient().shape());
  int next = 0;
  auto update = [&](const Kept &kept, const plan::Tensor &staged) {
    if (memory.read(where, staged) !=
        values.slice(keptValue(kept, false), step.begin(), count))
      findings.add(where, "updates something else for the ", kept.name);
    memory.write(where, staged,
                 values.slice(keptValue(kept, true), step.begin(), count));
  };
  bool needsMaster = false, needsParameters = false;
  for (const Kept &kept : keptOf(step.unit())) {
    needsMaster |= kept.operand == Kept::Master;
    needsParameters |= kept.operand == Kept::Parameters;
    bool isMaster = kept.operand == Kept::Master;
    bool isState = kept.operand == Kept::State;
    bool isStaged = isMaster  ? step.has_master()
                    : isState ? next < step.states_size()
                              : step.has_parameters();
    if (isStaged != isOnHost(kept.buffer))
      findings.add(where, "finds the ", kept.name,
                   isStaged ? " twice" : " nowhere");
    else if (isStaged)
      update(kept, isMaster  ? step.master()
                   : isState ? step.states(next++)
                             : step.parameters());
  }
  if ((step.has_master() && !needsMaster) ||
      (step.has_parameters() && !needsParameters))
    findings.add(where, "updates a master or parameters that its unit has not "
                        "in the pool host");
  if (next != step.states_size())
    findings.add(where, "updates states that its unit lacks");
}

void Run::checkHost() {
  for (int u = 0; u < plan.units_size(); ++u)
    for (const Kept &kept : keptOf(u)) {
      if (!isOnHost(kept.buffer))
        continue;
      Value updated = keptValue(kept, unit(u).optimizer_shards() != 0);
      int64_t bytes = bytesOf(kept.dtype), covered = 0;
      for (const Record &record : memory.records(kept.buffer)) {
        int64_t elements = record.place.count();
        if (record.bytes == bytes && record.place.offset % bytes == 0 &&
            record.value ==
                values.slice(updated, record.place.offset / bytes, elements))
          covered += elements;
        else
          findings.add(record.writer, "leaves something else for the ",
                       kept.name);
      }
      if (covered != updated.view.count())
        findings.add("unit " + unit(u).name(), "has ", covered, " of ",
                     updated.view.count(), " elements of the ", kept.name,
                     " in the pool host");
    }
}

} // namespace shardc::check
