// The trainer as a file: finding and checking what the compiler appended to the
// runtime.
#include "runtime/TrainerFile.h"

#include "runtime/Error.h"

#include <cstring>

namespace shardc::runtime {

using namespace container;

std::optional<std::vector<Section>>
readSections(std::span<const std::byte> file, const std::string &name) {
  Footer footer;
  if (file.size() < sizeof(footer))
    return std::nullopt;
  std::memcpy(&footer, file.data() + file.size() - sizeof(footer),
              sizeof(footer));
  if (std::memcmp(footer.magic, magic, sizeof(magic)) != 0)
    return std::nullopt;
  if (footer.version != version)
    fail(name, ": its container has version ", footer.version,
         ", this runtime reads version ", version);
  uint64_t tableEnd = file.size() - sizeof(footer);
  uint64_t tableBytes = uint64_t(footer.sections) * sizeof(Section);
  if (footer.tableOffset > tableEnd ||
      tableBytes > tableEnd - footer.tableOffset ||
      Checksum::of(file.data() + footer.tableOffset, tableBytes) !=
          footer.tableChecksum)
    fail(name, ": the trainer file is damaged; compile it again");
  std::vector<Section> sections(footer.sections);
  std::memcpy(sections.data(), file.data() + footer.tableOffset, tableBytes);
  for (const Section &section : sections)
    if (section.offset > footer.tableOffset ||
        section.length > footer.tableOffset - section.offset)
      fail(name, ": the trainer file is damaged; compile it again");
  return sections;
}

TrainerFile::TrainerFile(const std::string &path, const std::string &name)
    : path(path), name(name), file(path) {
  auto found = readSections(file.bytes(), name);
  if (!found)
    return;
  sections = std::move(*found);
  // Embedded weights may be gigabytes, and a wrong one shows in the loss.
  for (const Section &section : sections)
    if (section.kind != sectionWeights &&
        Checksum::of(file.bytes().data() + section.offset, section.length) !=
            section.checksum)
      fail(name, ": section ", section.kind,
           " of the trainer file is damaged; compile it again");
  std::span<const std::byte> bytes = content(sectionPlan);
  parsedPlan.emplace();
  if (!find(sectionPlan) ||
      !parsedPlan->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(name, ": the trainer file holds no plan; compile it again");
}

const Section *TrainerFile::find(SectionKind kind) const {
  for (const Section &section : sections)
    if (section.kind == kind)
      return &section;
  return nullptr;
}

std::span<const std::byte> TrainerFile::content(SectionKind kind) const {
  const Section *section = find(kind);
  return section ? file.bytes().subspan(section->offset, section->length)
                 : std::span<const std::byte>();
}

std::span<const std::byte> TrainerFile::kernels() const {
  return content(sectionKernels);
}
std::span<const std::byte> TrainerFile::exportTemplate() const {
  return content(sectionExportTemplate);
}

EmbeddedWeights TrainerFile::embeddedWeights() const {
  const Section *section = find(sectionWeights);
  return section ? EmbeddedWeights{path, section->offset, section->length, name}
                 : EmbeddedWeights{path, 0, 0, name};
}

} // namespace shardc::runtime
