// Attention masks that are made from the ids of another input, and never
// stored.
#ifndef SHARDC_RUNTIME_DATA_MASKSOURCE_H
#define SHARDC_RUNTIME_DATA_MASKSOURCE_H

#include "runtime/data/NamedFile.h"
#include "runtime/data/Source.h"

namespace shardc::runtime {

/// The input's last axis are keys, the one before it queries, where there are
/// two; others repeat what these have. Integers and bool are 1 where a query
/// attends to a key, floats are 0 there; elsewhere integers are 0, and floats
/// the lowest finite number: a query that attends to nothing has equal weights
/// then, and not NaN.
class MaskSource final : public Source {
public:
  /// `ids` must outlive this. Throws where the input is no such mask.
  MaskSource(SampleType type, const Source &ids, const SourceKeys &keys);

  const std::string &name() const override { return ids.name(); }
  int64_t samples() const override { return ids.samples(); }
  void read(int64_t first, int64_t count,
            std::byte *destination) const override;
  std::vector<std::string> paths() const override { return {}; }

private:
  /// The queries and keys of one sample, in the input's dtype.
  void fill(const int64_t *ids, std::byte *destination) const;

  const Source &ids;
  bool causal;
  std::optional<int64_t> padding, documents;
  int64_t keys, queries, repeats;
};

} // namespace shardc::runtime

#endif
