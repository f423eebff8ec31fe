// Samples that another input has: labels that are the ids.
#ifndef SHARDC_RUNTIME_DATA_COPIEDSOURCE_H
#define SHARDC_RUNTIME_DATA_COPIEDSOURCE_H

#include "runtime/data/Source.h"

#include <optional>

namespace shardc::runtime {

class CopiedSource final : public Source {
public:
  /// An id that is written as another one.
  struct Replaced {
    int64_t from, to;
  };
  /// `source` must outlive this. Throws where its samples do not fit.
  CopiedSource(SampleType type, const Source &source,
               std::optional<Replaced> replaced);

  const std::string &name() const override { return source.name(); }
  int64_t samples() const override { return source.samples(); }
  void read(int64_t first, int64_t count,
            std::byte *destination) const override;
  std::string where(int64_t sample, int64_t element) const override {
    return source.where(sample, element);
  }
  std::vector<std::string> paths() const override { return {}; }

private:
  const Source &source;
  std::optional<Replaced> replaced;
};

} // namespace shardc::runtime

#endif
