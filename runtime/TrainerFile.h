// The trainer as a file: what the compiler appended to the runtime, see
// Container.h.
#ifndef SHARDC_RUNTIME_TRAINERFILE_H
#define SHARDC_RUNTIME_TRAINERFILE_H

#include "runtime/Container.h"
#include "runtime/files/MappedFile.h"
#include "runtime/plan.pb.h"
#include "runtime/weights/StoredParameters.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// The sections of a container. None where the bytes end in no footer: a
/// runtime that nothing was appended to. Throws an Error for a container that
/// is damaged; `name` begins it.
std::optional<std::vector<container::Section>>
readSections(std::span<const std::byte> file, const std::string &name);

class TrainerFile {
public:
  /// Maps the file; all sections but those that checkLargeSections() takes are
  /// checked against their checksums. `name`: what errors call it.
  TrainerFile(const std::string &path, const std::string &name);
  explicit TrainerFile(const std::string &path) : TrainerFile(path, path) {}

  /// Checks the embedded weights, which may be gigabytes, and the runtime's own
  /// code, on `threads` threads. Throws an Error where they are damaged. Apart
  /// from the rest, since --help and --report do without.
  void checkLargeSections(unsigned threads) const;

  /// What each section is, and its checksum.
  std::vector<std::pair<std::string, std::string>> checksums() const;

  /// Whether something stands behind the program, and the end of it is missing.
  bool isCut() const;

  /// One for each target that it was compiled for; none where nothing was
  /// appended. What the model says is the same in all of them.
  const std::vector<plan::Plan> &plans() const { return parsedPlans; }
  /// Of the plan with this index.
  std::span<const std::byte> kernels(size_t target) const;
  /// The same model's plan of one rank, and its kernels; null: it has none.
  const plan::Plan *unshardedPlan(size_t target) const {
    return target < unshardedPlans.size() ? &unshardedPlans[target] : nullptr;
  }
  std::span<const std::byte> unshardedKernels(size_t target) const;
  std::span<const std::byte> exportTemplate() const;
  EmbeddedWeights embeddedWeights() const;

private:
  void checkSection(const container::Section &section, unsigned threads) const;
  std::string describe(const container::Section &section) const;
  const container::Section *find(container::SectionKind kind,
                                 size_t target = 0) const;
  std::span<const std::byte> content(container::SectionKind kind,
                                     size_t target = 0) const;
  plan::Plan parsePlan(container::SectionKind kind, size_t target) const;
  void checkCertificate() const;

  std::string path, name;
  MappedFile file;
  std::vector<container::Section> sections;
  std::vector<plan::Plan> parsedPlans, unshardedPlans;
};

} // namespace shardc::runtime

#endif
