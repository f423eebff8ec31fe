// The samples of several files, one after the other.
#ifndef SHARDC_RUNTIME_DATA_CONCATENATEDSOURCE_H
#define SHARDC_RUNTIME_DATA_CONCATENATEDSOURCE_H

#include "runtime/data/Source.h"

namespace shardc::runtime {

class ConcatenatedSource final : public Source {
public:
  /// `path`: what was given for these parts; at least one.
  ConcatenatedSource(std::string path,
                     std::vector<std::unique_ptr<Source>> parts);

  const std::string &name() const override { return path; }
  int64_t samples() const override { return begins.back(); }
  void read(int64_t first, int64_t count,
            std::byte *destination) const override;
  std::string where(int64_t sample, int64_t element) const override;
  std::vector<std::string> paths() const override { return pathsOf(parts); }

private:
  size_t partOf(int64_t sample) const;

  std::string path;
  std::vector<std::unique_ptr<Source>> parts;
  std::vector<int64_t> begins; // samples before each part, and at the end
};

} // namespace shardc::runtime

#endif
