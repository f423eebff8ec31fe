// What communicating and computing a unit costs: sums and words.
#include "passes/units/UnitCosts.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace shardc;

double shardc::bytesOf(const UnitModel &model, ArrayRef<size_t> members,
                       int64_t elementBytes) {
  double bytes = 0;
  for (size_t member : members)
    bytes += double(model.elements(member)) * elementBytes;
  return bytes;
}

double shardc::flopsOf(const UnitModel &model, ArrayRef<size_t> members) {
  double flops = 0;
  for (size_t member : members)
    flops += model.flops(member);
  return flops;
}

std::string UnitCosts::describe(double bytes, double flops) const {
  if (group.size == 1)
    return bytesText(bytes) + ", no communication";
  CollectiveTime seconds = time(bytes);
  return formatv("{0} {1} over {2} ranks: {3} transfer, {4} latency; forward "
                 "computes {5}",
                 collective(), bytesText(bytes), group.size,
                 timeText(seconds.transfer), timeText(seconds.latency),
                 timeText(model.compute(flops, elementBytes)))
      .str();
}
