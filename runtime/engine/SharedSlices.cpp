// The plan's programs say what they do with gathered buffers.
#include "runtime/engine/SharedSlices.h"

#include "runtime/base/DType.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

namespace shardc::runtime {
namespace {

/// Calls function(buffer) for every tensor in a message.
void forTensors(const google::protobuf::Message &message,
                const std::function<void(uint32_t)> &function) {
  if (message.GetDescriptor() == plan::Tensor::descriptor())
    return function(static_cast<const plan::Tensor &>(message).buffer());
  const google::protobuf::Reflection *reflection = message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor *> fields;
  reflection->ListFields(message, &fields);
  for (const auto *field : fields) {
    using Type = google::protobuf::FieldDescriptor::CppType;
    if (field->cpp_type() != Type::CPPTYPE_MESSAGE || field->is_map())
      continue;
    if (!field->is_repeated()) {
      forTensors(reflection->GetMessage(message, field), function);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i)
      forTensors(reflection->GetRepeatedMessage(message, field, i), function);
  }
}

/// Calls function(start) for every all-gather of a program whose numbers hold
/// together; what does not is reported when it is bound.
void forGathers(const plan::Plan &plan, const plan::Program &program,
                const std::function<void(const plan::AllGatherStart &)> &body) {
  for (const plan::Entry &entry : program.entries()) {
    if (!entry.has_all_gather_start())
      continue;
    const plan::AllGatherStart &start = entry.all_gather_start();
    if (start.unit() < uint32_t(plan.units_size()) &&
        start.group() < uint32_t(plan.groups_size()) &&
        start.gathered() < uint32_t(plan.buffers_size()))
      body(start);
  }
}

/// Returns, for each buffer, whether no other one of its pool has bytes of it.
std::vector<bool> buffersAlone(const plan::Plan &plan) {
  std::vector<int> order(plan.buffers_size());
  std::iota(order.begin(), order.end(), 0);
  auto begin = [&](int i) { return plan.buffers(i).offset(); };
  auto end = [&](int i) { return begin(i) + plan.buffers(i).bytes(); };
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::tuple(plan.buffers(a).pool(), begin(a), end(a)) <
           std::tuple(plan.buffers(b).pool(), begin(b), end(b));
  });
  std::vector<bool> alone(order.size(), true);
  int furthest = -1; // of those so far in the pool, the one that ends last
  for (int index : order) {
    if (furthest >= 0 &&
        plan.buffers(furthest).pool() == plan.buffers(index).pool()) {
      if (begin(index) < end(furthest))
        alone[index] = alone[furthest] = false;
      if (end(index) < end(furthest))
        continue;
    }
    furthest = index;
  }
  return alone;
}

/// Returns whether the unit's slice is all of its buffer, which has its bytes
/// to itself.
bool standsAlone(const plan::Plan &plan, const plan::Unit &unit,
                 const std::vector<bool> &alone) {
  uint32_t index = unit.parameter_buffer();
  if (index >= alone.size() || !alone[index])
    return false;
  return plan.buffers(int(index)).bytes() * unit.shards() ==
         unit.elements() * int64_t(elementSize(unit.dtype()));
}

/// Returns, for each buffer, the last entry of a step that touches it, or -1.
std::vector<int> lastTouchesOf(const plan::Plan &plan) {
  std::vector<int> last(plan.buffers_size(), -1);
  for (int index = 0; index < plan.train().entries_size(); ++index) {
    const plan::Entry &entry = plan.train().entries(index);
    auto touch = [&](uint32_t buffer) {
      if (buffer < last.size())
        last[buffer] = index;
    };
    forTensors(entry, touch);
    if (entry.has_all_gather_start())
      touch(entry.all_gather_start().gathered());
    if (entry.has_keep())
      touch(entry.keep().gathered());
  }
  return last;
}

/// Returns, for each unit, the first entry of a step that changes it, or the
/// number of entries.
std::vector<int> firstChangesOf(const plan::Plan &plan) {
  int size = plan.train().entries_size();
  std::vector<int> first(plan.units_size(), size);
  auto change = [&](uint32_t unit, int index) {
    if (unit < first.size())
      first[unit] = std::min(first[unit], index);
  };
  for (int index = 0; index < size; ++index) {
    const plan::Entry &entry = plan.train().entries(index);
    if (entry.has_optimizer_step())
      change(entry.optimizer_step().unit(), index);
    if (entry.has_all_gather_updates_start())
      change(entry.all_gather_updates_start().unit(), index);
  }
  return first;
}

} // namespace

SharedSlices SharedSlices::none(const plan::Plan &plan) {
  return {std::vector<int64_t>(plan.units_size(), -1),
          std::vector<int64_t>(plan.buffers_size(), -1),
          std::vector<int64_t>(plan.buffers_size(), -1),
          std::vector<int>(plan.units_size(), -1)};
}

SharedSlices SharedSlices::of(const plan::Plan &plan, int64_t ranksPerProcess) {
  constexpr int64_t unknown = -2;
  SharedSlices shared = none(plan);
  std::fill(shared.groups.begin(), shared.groups.end(), unknown);
  std::vector<int> touches = lastTouchesOf(plan),
                   changes = firstChangesOf(plan);
  std::vector<bool> alone = buffersAlone(plan);
  const plan::Program *programs[] = {&plan.train(), &plan.eval()};

  for (const plan::Program *program : programs)
    forGathers(plan, *program, [&](const plan::AllGatherStart &start) {
      const plan::Unit &unit = plan.units(int(start.unit()));
      int64_t &group = shared.groups[start.unit()];
      const plan::Buffer &buffer = plan.buffers(int(start.gathered()));
      int64_t &owner = shared.gathered[start.gathered()];
      bool fits = buffer.bytes() ==
                      unit.elements() * int64_t(elementSize(unit.dtype())) &&
                  (owner < 0 || owner == start.unit());
      owner = start.unit();
      int &last = shared.lastTouches[start.unit()];
      last = std::max(last, touches[start.gathered()]);
      if (!fits || last >= changes[start.unit()])
        group = -1;
      if (start.has_kept())
        return; // of the same values, from fewer ranks
      const plan::Group &ranks = plan.groups(int(start.group()));
      bool isWhole = ranks.size() == unit.shards();
      // Groups lie side by side, from multiples of this on.
      int64_t span = std::max<int64_t>(1, ranks.stride() * ranks.size());
      bool isHere = ranksPerProcess % span == 0;
      if (group == unknown && unit.shards() > 1 && isWhole && isHere &&
          standsAlone(plan, unit, alone))
        group = start.group();
      else if (group != start.group())
        group = -1;
    });
  std::replace(shared.groups.begin(), shared.groups.end(), unknown,
               int64_t(-1));

  for (int64_t &unit : shared.gathered)
    if (unit >= 0 && !shared.isShared(uint32_t(unit)))
      unit = -1;
  for (const plan::Program *program : programs)
    for (const plan::Entry &entry : program->entries())
      if (entry.has_keep() && entry.keep().kept().buffer() < touches.size() &&
          entry.keep().unit() < shared.groups.size() &&
          shared.isShared(entry.keep().unit()))
        shared.kept[entry.keep().kept().buffer()] = entry.keep().unit();
  return shared;
}

void SharedSlices::drop(int64_t group) {
  for (std::vector<int64_t> *units : {&gathered, &kept})
    for (int64_t &unit : *units)
      if (unit >= 0 && groups[unit] == group)
        unit = -1;
  std::replace(groups.begin(), groups.end(), group, int64_t(-1));
}

int64_t SharedSlices::poolBytes(const plan::Plan &plan, int pool) const {
  bool any = false;
  for (int i = 0; i < plan.buffers_size(); ++i) {
    if (plan.buffers(i).pool() != uint32_t(pool))
      continue;
    any = true;
    if (gathered[i] < 0 && kept[i] < 0)
      return plan.pools(pool).bytes();
  }
  return any ? 0 : plan.pools(pool).bytes();
}

} // namespace shardc::runtime
