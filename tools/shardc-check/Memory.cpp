// A buffer owns its bytes from the first entry that writes to it until another
// buffer is written that has some of them. Then it holds nothing any more:
// what is read from it afterwards is another value's.
#include "tools/shardc-check/Memory.h"

#include <algorithm>

namespace shardc::check {

Memory::Memory(const plan::Plan &plan, Values &values, Findings &findings)
    : plan(plan), values(values), findings(findings),
      states(plan.buffers_size()), outlives(outlivingBuffers(plan)),
      stays(plan.buffers_size()), live(plan.pools_size()) {
  for (int b = 0; b < plan.buffers_size(); ++b)
    if (isAccumulated(plan, b))
      outlives[b] = true;
  for (const plan::Entry &entry : plan.train().entries())
    if (entry.first() && entry.has_all_gather_start())
      stays[entry.all_gather_start().gathered()] = true;
}

void Memory::beginProgram(bool isFirst) {
  auto remains = [&](uint32_t b) {
    return outlives[b] || (stays[b] && !isFirst);
  };
  for (int b = 0; b < plan.buffers_size(); ++b)
    if (!remains(b)) {
      states[b].isLive = false;
      states[b].overwritten.clear();
      states[b].records.clear();
    }
  for (std::map<int64_t, uint32_t> &pool : live)
    std::erase_if(pool, [&](const auto &at) { return !remains(at.second); });
}

void Memory::drop(const std::string &where, Record &record) {
  if (!record.isRead && record.isNeeded)
    findings.add(record.writer, "writes what nobody reads",
                 where.empty() ? "" : " before " + where + " overwrites it");
}

void Memory::endProgram() {
  for (int b = 0; b < plan.buffers_size(); ++b)
    if (!outlives[b])
      for (Record &record : states[b].records)
        drop("", record);
}

void Memory::claim(const std::string &where, uint32_t buffer) {
  const plan::Buffer &own = plan.buffers(int(buffer));
  if (states[buffer].isLive || own.bytes() == 0)
    return;
  std::map<int64_t, uint32_t> &pool = live[own.pool()];
  auto next = pool.lower_bound(own.offset());
  if (next != pool.begin()) {
    const plan::Buffer &before = plan.buffers(int(std::prev(next)->second));
    if (before.offset() + before.bytes() > own.offset())
      --next;
  }
  while (next != pool.end() && next->first < own.offset() + own.bytes()) {
    State &other = states[next->second];
    other.isLive = false;
    other.overwritten = concat(where, " (buffer ", own.name(), ")");
    for (Record &record : other.records)
      drop(where, record);
    other.records.clear();
    next = pool.erase(next);
  }
  pool[own.offset()] = buffer;
  states[buffer].isLive = true;
  states[buffer].overwritten.clear();
}

Value Memory::read(const std::string &where, const plan::Tensor &tensor) {
  State &state = states[tensor.buffer()];
  View places = placesOf(tensor);
  int64_t bytes = bytesOf(tensor.dtype());
  if (places.count() == 0)
    return {};
  const std::string &name = plan.buffers(int(tensor.buffer())).name();
  std::vector<Piece> pieces;
  for (Record &record : state.records) {
    if (areDisjoint(record.place, std::max<int64_t>(record.bytes, 1), places,
                    bytes))
      continue;
    record.isRead = true;
    if (!record.spoiled.empty()) {
      findings.add(where, "reads buffer ", name, ", ", record.spoiled);
      return {};
    }
    if (record.bytes == 0) {
      int64_t count = record.place.count() / bytes;
      pieces.push_back(
          {{0, {{count, bytes}}},
           values.leaf("constant", values[record.value.expr].attributes,
                       count)});
      continue;
    }
    if (record.bytes != bytes) {
      findings.add(where, "reads elements of ", bytes, " bytes of buffer ",
                   name, ", where ", record.writer, " wrote ", record.bytes);
      return {};
    }
    pieces.push_back({record.place, record.value});
  }
  if (auto value = values.resolve(pieces, places, bytes))
    return *value;
  if (!state.overwritten.empty())
    findings.add(where, "reads buffer ", name, ", which ", state.overwritten,
                 " has overwritten");
  else
    findings.add(where, "reads bytes of buffer ", name, " from ",
                 tensor.offset(), " on that no entry has written");
  return {};
}

void Memory::write(const std::string &where, const plan::Tensor &tensor,
                   Value value, const std::string &spoiled) {
  write(where, tensor.buffer(),
        {placesOf(tensor), bytesOf(tensor.dtype()), std::move(value), where,
         spoiled, false, true});
}

void Memory::write(const std::string &where, uint32_t buffer, Record record) {
  claim(where, buffer);
  if (record.place.count() == 0)
    return;
  std::vector<Record> &records = states[buffer].records;
  std::vector<Record> kept;
  auto isRow = [](const Record &r) {
    View view = r.place.canonical();
    return view.dims.empty() ||
           (view.dims.size() == 1 && view.dims[0].stride == r.bytes);
  };
  auto end = [](const Record &r) {
    return r.place.offset + r.place.reach() + r.bytes;
  };
  for (Record &old : records) {
    if (areDisjoint(old.place, old.bytes, record.place, record.bytes)) {
      kept.push_back(std::move(old));
      continue;
    }
    std::optional<View> numbers = numbersIn(old.place, record.place);
    if (old.bytes != record.bytes || !(isRow(old) && isRow(record))) {
      bool isPart = numbers && old.bytes == record.bytes &&
                    old.place.count() > record.place.count();
      if (isPart) { // one value over a part of another
        record.value = values.overlay(old.value, record.value, *numbers);
        record.place = old.place;
      } else {
        drop(where, old);
      }
      continue;
    }
    // What nobody has read yet is lost.
    if (record.place.offset <= old.place.offset && end(record) >= end(old))
      drop(where, old);
    auto keep = [&](int64_t from, int64_t to) {
      if (from >= to)
        return;
      Record part = old;
      part.place = {from, {{(to - from) / old.bytes, old.bytes}}};
      part.value =
          values.slice(old.value, (from - old.place.offset) / old.bytes,
                       (to - from) / old.bytes);
      kept.push_back(std::move(part));
    };
    keep(old.place.offset, record.place.offset);
    keep(end(record), end(old));
  }
  kept.push_back(std::move(record));
  records = std::move(kept);
}

} // namespace shardc::check
