// Why memory is what it is: buffers, and the moment with most of them.
#include "tools/shardc/explain/Answer.h"

#include "runtime/base/PoolNames.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace shardc {

static std::string ownerOf(const record::Buffer &buffer) {
  return buffer.kind + (buffer.unit.empty() ? "" : " of " + buffer.unit);
}

void explainMemory(raw_ostream &os, const Decisions &decisions) {
  const CompileReport::Memory &memory = *decisions.report.memory;
  const record::StepRecord &step = decisions.step;
  int64_t peak = step.peakEntry();
  os << formatv("memory of a rank: {0} allocated, {1} of it alive at once\n",
                bytesText(double(memory.peakBytes)),
                bytesText(double(step.aliveBytes()[peak])))
     << "  most is alive at " << placeOf(step, peak) << ":\n";
  MapVector<StringRef, int64_t> owners;
  std::vector<std::string> names; // that `owners` refers to
  names.reserve(step.buffers.size());
  for (const record::Buffer &buffer : step.buffers)
    if (buffer.isAlive(peak) && !runtime::isAccumulationPool(buffer.pool)) {
      names.push_back(ownerOf(buffer));
      owners[names.back()] += buffer.bytes;
    }
  auto sorted = owners.takeVector();
  stable_sort(sorted,
              [](const auto &a, const auto &b) { return a.second > b.second; });
  constexpr size_t most = 12;
  for (const auto &[owner, bytes] : ArrayRef(sorted).take_front(most))
    os << formatv("    {0,12}  {1}\n", bytesText(double(bytes)), owner);
  if (sorted.size() > most)
    os << "    and " << sorted.size() - most << " more\n";
  if (const std::optional<CompileReport::Remat> &remat = memory.remat)
    os << formatv("  --remat {0} keeps {1} of the {2} that backward reads; "
                  "--remat pareto compares the policies\n",
                  remat->policy, bytesText(double(remat->keptBytes)),
                  bytesText(double(remat->readBytes)));
}

void explainBuffers(raw_ostream &os, StringRef name,
                    const Decisions &decisions) {
  const record::StepRecord &step = decisions.step;
  for (const record::Buffer &buffer : step.buffers) {
    if (buffer.name != name)
      continue;
    os << formatv("buffer {0}: {1}, {2} at {3} of the pool {4}\n", name,
                  ownerOf(buffer), bytesText(double(buffer.bytes)),
                  buffer.offset, buffer.pool);
    if (buffer.outlivesStep) {
      os << "  it outlives the step\n";
      continue;
    }
    os << "  alive from " << placeOf(step, buffer.first) << "\n"
       << "  to " << placeOf(step, buffer.last) << "\n";
    int64_t sharing = count_if(step.buffers, [&](const record::Buffer &other) {
      return &other != &buffer && other.pool == buffer.pool &&
             other.offset < buffer.offset + buffer.bytes &&
             buffer.offset < other.offset + other.bytes;
    });
    os << formatv("  {0} other buffers have some of its bytes at other times\n",
                  sharing)
       << "  when most memory is taken it is "
       << (buffer.isAlive(step.peakEntry()) ? "alive" : "not there") << "\n";
    // A second result of a node is NODE#1.
    StringRef node = StringRef(name).split('#').first;
    for (const Remark &remark : decisions.remarks)
      if (remark.node == node)
        os << "  " << remark.pass << ": " << remark.message << "\n";
  }
}

} // namespace shardc
