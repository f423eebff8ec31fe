// Rows are handed to threads in parts of some size.
#include "runtime/cpu/optimizer/GradientNorm.h"

#include "runtime/base/DType.h"
#include "runtime/base/ThreadPool.h"

#include <algorithm>
#include <iterator>

namespace shardc::runtime::cpu {

GradientNorm::GradientNorm(std::vector<Tensor> gradientTensors,
                           const std::vector<std::vector<entry::Rows>> &rows,
                           Reduced reducedNorms)
    : gradients(std::move(gradientTensors)), reduced(std::move(reducedNorms)) {
  reduced.resize(gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (reduced[i])
      continue;
    for (const entry::Rows &all : addedAtOnce(rows[i])) {
      int64_t rowsAtOnce = mostRowElements / all.width;
      for (int64_t row = 0; row < all.count; row += rowsAtOnce)
        parts.push_back({i,
                         {all.begin + row * all.width,
                          std::min(rowsAtOnce, all.count - row), all.width}});
    }
  }
}

void GradientNorm::compute(Norm norm, ThreadPool &pool,
                           std::optional<PowerSum::StoredWords> previous,
                           PowerSum::Words result) {
  std::vector<PowerSum> sums(pool.workers(), PowerSum(norm));
  pool.forRanges(
      std::ssize(parts), 1, [&](int64_t begin, int64_t end, int worker) {
        PowerSum sum(norm); // its own cache lines
        for (const Part &part : std::span(parts).subspan(begin, end - begin)) {
          const Tensor &gradient = gradients[part.gradient];
          sum.addRows(gradient.data + part.rows.begin *
                                          int64_t(elementSize(gradient.dtype)),
                      gradient.dtype, part.rows.count, part.rows.width);
        }
        sums[worker].add(sum);
      });
  PowerSum total = previous ? PowerSum(norm, *previous) : PowerSum(norm);
  for (const PowerSum &sum : sums)
    total.add(sum);
  for (const std::shared_ptr<ReducedNorm> &own : reduced)
    if (own)
      total.add(own->sum());
  total.store(result);
}

} // namespace shardc::runtime::cpu
