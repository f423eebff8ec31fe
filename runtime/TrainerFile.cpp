// The trainer as a file: finding and checking what the compiler appended to the
// runtime.
#include "runtime/TrainerFile.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <elf.h>
#include <google/protobuf/stubs/logging.h>
#include <limits>
#include <thread>

namespace shardc::runtime {

using namespace container;

/// What no section's checksum is of was written as zeros: a byte that is
/// another one says that the file is not what it was.
static void checkGaps(std::span<const std::byte> file,
                      std::vector<Section> sections, uint64_t end,
                      const std::string &name) {
  std::ranges::sort(sections, {}, &Section::offset);
  for (size_t i = 0; i < sections.size(); ++i) {
    uint64_t from = sections[i].offset + sections[i].length;
    uint64_t to = i + 1 < sections.size() ? sections[i + 1].offset : end;
    if (from < to && std::ranges::any_of(
                         file.subspan(from, to - from),
                         [](std::byte b) { return b != std::byte{0}; }))
      fail(name, ": the trainer file is damaged between its sections; compile "
                 "it again");
  }
}

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
  if (!sections.empty())
    std::memcpy(sections.data(), file.data() + footer.tableOffset, tableBytes);
  for (const Section &section : sections)
    if (section.offset > footer.tableOffset ||
        section.length > footer.tableOffset - section.offset)
      fail(name, ": the trainer file is damaged; compile it again");
  checkGaps(file, sections, footer.tableOffset, name);
  return sections;
}

static bool isLarge(const Section &section) {
  return section.kind == sectionWeights || section.kind == sectionRuntime;
}

TrainerFile::TrainerFile(const std::string &path, const std::string &name)
    : path(path), name(name), file(path) {
  auto found = readSections(file.bytes(), name);
  if (!found)
    return;
  sections = std::move(*found);
  for (const Section &section : sections)
    if (!isLarge(section))
      checkSection(section, 1);
  // A damaged plan is reported by us, once.
  google::protobuf::SetLogHandler(nullptr);
  do
    parsedPlans.push_back(parsePlan(sectionPlan, parsedPlans.size()));
  while (find(sectionPlan, parsedPlans.size()));
  while (find(sectionUnshardedPlan, unshardedPlans.size()))
    unshardedPlans.push_back(
        parsePlan(sectionUnshardedPlan, unshardedPlans.size()));
  checkCertificate();
}

bool TrainerFile::isCut() const {
  // Section headers are the last that a linker writes.
  Elf64_Ehdr header;
  std::span<const std::byte> bytes = file.bytes();
  if (!sections.empty() || bytes.size() < sizeof(header))
    return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         bytes.size() >
             header.e_shoff + uint64_t(header.e_shentsize) * header.e_shnum;
}

/// A certificate says what was proved of these plans, or nothing.
void TrainerFile::checkCertificate() const {
  if (!find(sectionCertificate))
    return;
  std::span<const std::byte> bytes = content(sectionCertificate);
  plan::Certificate certificate;
  bool holds =
      certificate.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  holds &= size_t(certificate.plan_hashes_size()) == parsedPlans.size();
  for (size_t i = 0; holds && i < parsedPlans.size(); ++i) {
    std::span<const std::byte> plan = content(sectionPlan, i);
    holds = certificate.plan_hashes(int(i)) ==
                XXH3_64bits(plan.data(), plan.size()) &&
            certificate.model_hash() == parsedPlans[i].model_hash();
  }
  if (!holds)
    fail(name, ": its certificate is of another plan; compile it again, and "
               "stamp it with shardc-check --stamp");
}

plan::Plan TrainerFile::parsePlan(SectionKind kind, size_t target) const {
  std::span<const std::byte> bytes = content(kind, target);
  plan::Plan plan;
  if (!find(kind, target) || bytes.size() > std::numeric_limits<int>::max() ||
      !plan.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(name, ": the trainer file holds no plan; compile it again");
  return plan;
}

void TrainerFile::checkLargeSections(unsigned threads) const {
  for (const Section &section : sections)
    if (isLarge(section))
      checkSection(section, threads);
}

static const char *nameOf(uint32_t kind) {
  switch (kind) {
  case sectionPlan:
    return "plan";
  case sectionKernels:
    return "kernels";
  case sectionExportTemplate:
    return "graph";
  case sectionWeights:
    return "weights";
  case sectionRuntime:
    return "runtime";
  case sectionCertificate:
    return "certificate";
  case sectionUnshardedPlan:
    return "unsharded plan";
  case sectionUnshardedKernels:
    return "unsharded kernels";
  }
  return "unknown section";
}

/// Block by block; a thread takes the next one that is left.
void TrainerFile::checkSection(const Section &section, unsigned threads) const {
  std::vector<uint64_t> hashes((section.length + checksumBlock - 1) /
                               checksumBlock);
  const std::byte *begin = file.bytes().data() + section.offset;
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t block = next++; block < hashes.size(); block = next++) {
      uint64_t at = block * checksumBlock;
      hashes[block] =
          XXH3_64bits(begin + at, std::min(checksumBlock, section.length - at));
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (size_t i = 1; i < std::min<size_t>(threads, hashes.size()); ++i)
      helpers.emplace_back(work);
    work();
  }
  if (combineBlocks(hashes, section.length) != section.checksum)
    fail(name, ": what the trainer file has as ", nameOf(section.kind),
         " is not what was compiled: it is damaged; "
         "compile it again");
}

/// "runtime"; of several plans "plan for cuda:sm_90".
std::string TrainerFile::describe(const Section &section) const {
  bool isOfOne = section.kind == sectionPlan ||
                 section.kind == sectionKernels ||
                 section.kind == sectionUnshardedPlan ||
                 section.kind == sectionUnshardedKernels;
  if (!isOfOne || parsedPlans.size() < 2 ||
      section.target >= parsedPlans.size())
    return nameOf(section.kind);
  return concat(nameOf(section.kind), " for ",
                parsedPlans[section.target].target().name());
}

std::vector<std::pair<std::string, std::string>>
TrainerFile::checksums() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Section &section : sections) {
    char text[24];
    std::snprintf(text, sizeof(text), "%016llx",
                  static_cast<unsigned long long>(section.checksum));
    all.emplace_back("the trainer's " + describe(section), text);
  }
  return all;
}

const Section *TrainerFile::find(SectionKind kind, size_t target) const {
  for (const Section &section : sections)
    if (section.kind == kind && section.target == target)
      return &section;
  return nullptr;
}

std::span<const std::byte> TrainerFile::content(SectionKind kind,
                                                size_t target) const {
  const Section *section = find(kind, target);
  return section ? file.bytes().subspan(section->offset, section->length)
                 : std::span<const std::byte>();
}

std::span<const std::byte> TrainerFile::kernels(size_t target) const {
  return content(sectionKernels, target);
}
std::span<const std::byte> TrainerFile::unshardedKernels(size_t target) const {
  return content(sectionUnshardedKernels, target);
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
