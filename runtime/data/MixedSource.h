// The samples of several sources, by weights.
#ifndef SHARDC_RUNTIME_DATA_MIXEDSOURCE_H
#define SHARDC_RUNTIME_DATA_MIXEDSOURCE_H

#include "runtime/data/Mixture.h"
#include "runtime/data/Source.h"

namespace shardc::runtime {

class MixedSource final : public Source {
public:
  MixedSource(std::string name, std::vector<std::unique_ptr<Source>> parts,
              std::vector<double> weights);

  const std::string &name() const override { return path; }
  int64_t samples() const override { return places.samples(); }
  void read(int64_t first, int64_t count,
            std::byte *destination) const override;
  std::string where(int64_t sample, int64_t element) const override;
  std::vector<std::string> paths() const override { return pathsOf(parts); }
  std::vector<std::string> leftOutTexts() const override;
  const Mixture *mixture() const override { return &places; }

private:
  std::string path;
  std::vector<std::unique_ptr<Source>> parts;
  Mixture places;
};

} // namespace shardc::runtime

#endif
