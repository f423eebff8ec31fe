// Checks in program order, and work on two threads.
#include "test/runtime/device/GuardedProgram.h"

#include "test/runtime/device/GuardedMemory.h"

#include <algorithm>

namespace shardc::runtime {

void GuardedProgram::add(PlacedEntry entry) {
  auto bound = std::make_unique<Bound>();
  bound->placed = entry;
  std::visit(
      [&](auto &what) {
        forOperands(what, [&](Tensor &tensor, entry::Access access,
                              const char *name) {
          bound->operands.push_back({tensor, access, name});
          int64_t first = 0, last = 0; // bytes
          forRuns(tensor, [&](const std::byte *begin, int64_t bytes) {
            first = std::min<int64_t>(first, begin - tensor.data);
            last = std::max<int64_t>(last, begin - tensor.data + bytes);
          });
          GuardedAllocation &allocation = device.allocationOf(
              tensor.data + first, last - first, std::string(name));
          tensor.data = allocation.inside + (tensor.data - allocation.given);
        });
        using Kind = std::remove_reference_t<decltype(what)>;
        bound->task = cpu::bind(*device.processor, static_cast<Kind &>(what));
      },
      entry.what);
  entries.push_back(std::move(bound));
}

void GuardedProgram::checkAgainst(const Bound &entry, const Operand &operand,
                                  const Open &collective) {
  bool writes = operand.access != entry::Access::Read;
  for (const Operand &other : collective.start->operands) {
    bool otherWrites = other.access != entry::Access::Read;
    // Who has its results may read and write them; what it sends is read by
    // others until it is finished.
    if (collective.isDone ? !writes || otherWrites : !writes && !otherWrites)
      continue;
    bool meets = false;
    forRuns(operand.tensor, [&](const std::byte *begin, int64_t bytes) {
      forRuns(other.tensor, [&](const std::byte *from, int64_t size) {
        meets |= begin < from + size && from < begin + bytes;
      });
    });
    if (meets)
      complain(entry,
               concat(operand.name, writes ? " is written" : " is read",
                      " while ", other.name, " of ",
                      collective.start->placed.place, " is ",
                      otherWrites ? "written" : "read", ": a wait is missing"));
  }
}

void GuardedProgram::check(const Bound &entry) {
  for (const Operand &operand : entry.operands) {
    for (auto &[id, collective] : open)
      checkAgainst(entry, operand, collective);
    if (operand.access != entry::Access::Read &&
        operand.access != entry::Access::Update)
      continue;
    forRuns(operand.tensor, [&](const std::byte *begin, int64_t bytes) {
      auto &allocation = device.allocationOf(begin, bytes, operand.name);
      int64_t first = begin - allocation.given;
      for (int64_t i = first; i < first + bytes; ++i)
        if (!allocation.writers[i])
          complain(entry,
                   concat(operand.name, " reads byte ", i, " of '",
                          allocation.name, "', which was never written"));
    });
  }
}

void GuardedProgram::markWritten(const Bound &entry) {
  for (const Operand &operand : entry.operands) {
    if (operand.access == entry::Access::Read)
      continue;
    const std::string *writer = operand.access == entry::Access::Scratch
                                    ? nullptr
                                    : &entry.placed.place;
    forRuns(operand.tensor, [&](const std::byte *begin, int64_t bytes) {
      auto &allocation = device.allocationOf(begin, bytes, operand.name);
      std::fill_n(allocation.writers.begin() + (begin - allocation.given),
                  bytes, writer);
    });
  }
}

void GuardedProgram::release(size_t count) {
  for (; count > 0; --count) {
    device.streams->communication.push(std::move(held.front().start));
    held.pop_front();
  }
}

void GuardedProgram::run(int64_t begin, int64_t end, const StepNumbers &numbers,
                         Measurements &) {
  device.streams->compute.push(
      [this, numbers] { device.processor->numbers = numbers; });
  for (int64_t i = begin; i < end; ++i) {
    Bound &entry = *entries[i];
    if (!isDue(entry.placed.turn, numbers))
      continue;
    auto start = [&](uint32_t id) {
      check(entry);
      if (open.contains(id))
        complain(entry, concat("collective ", id, " is still open"));
      open[id] = {&entry};
      // What was queued before is done when the collective begins.
      auto ready = std::make_shared<Event>();
      auto set = [ready] { ready->set(); };
      device.streams->compute.push(set, set);
      held.push_back({id,
                      [ready, &entry] {
                        ready->wait();
                        entry.task();
                      },
                      int64_t(draw() % 8)});
    };
    auto await = [&](uint32_t id, bool finishes) {
      auto found = open.find(id);
      if (found == open.end())
        complain(entry, concat("collective ", id, " was not started"));
      auto position = std::find_if(held.begin(), held.end(),
                                   [&](const Held &h) { return h.id == id; });
      if (position != held.end())
        release(size_t(position - held.begin()) + 1);
      if (!found->second.isDone)
        markWritten(*found->second.start);
      found->second.isDone = true;
      if (finishes)
        open.erase(found);
    };
    bool isCollective = true;
    std::visit(
        [&](const auto &what) {
          using Kind = std::remove_cvref_t<decltype(what)>;
          if constexpr (std::is_same_v<Kind, entry::StartAllGather> ||
                        std::is_same_v<Kind, entry::StartReduceScatter> ||
                        std::is_same_v<Kind, entry::StartAllReduce> ||
                        std::is_same_v<Kind, entry::StartAllToAll> ||
                        std::is_same_v<Kind, entry::StartTransfer> ||
                        std::is_same_v<Kind, entry::StartBarrier>) {
            start(what.id);
          } else if constexpr (std::is_same_v<Kind, entry::Wait> ||
                               std::is_same_v<Kind, entry::AwaitTransfer> ||
                               std::is_same_v<Kind, entry::Finish>) {
            if constexpr (std::is_same_v<Kind, entry::Wait>) {
              await(what.id, what.finishes);
            } else if constexpr (std::is_same_v<Kind, entry::AwaitTransfer>) {
              await(what.id, true);
            } else {
              for (uint32_t id : what.ids)
                if (open.contains(id))
                  await(id, true);
            }
            auto done = std::make_shared<Event>();
            auto set = [done] { done->set(); };
            device.streams->communication.push(
                [&entry, set] {
                  try {
                    entry.task();
                  } catch (...) {
                    set();
                    throw;
                  }
                  set();
                },
                set);
            auto wait = [done] { done->wait(); };
            device.streams->compute.push(wait, wait);
          } else {
            isCollective = false;
          }
        },
        entry.placed.what);
    if (isCollective)
      continue;
    check(entry);
    markWritten(entry);
    device.streams->compute.push([&entry] {
      try {
        entry.task();
      } catch (const Error &error) {
        throw Error(entry.placed.place + ": " + error.what());
      }
    });
    for (Held &each : held)
      --each.entriesLeft;
    while (!held.empty() && held.front().entriesLeft <= 0)
      release(1);
  }
  release(held.size());
}

} // namespace shardc::runtime
