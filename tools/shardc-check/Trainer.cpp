// Reads and stamps trainers.
#include "tools/shardc-check/Trainer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <google/protobuf/stubs/logging.h>
#include <limits>
#include <xxhash.h>

namespace shardc::check {
namespace {

constexpr char magic[8] = {'S', 'H', 'A', 'R', 'D', 'C', '\n', '\x1a'};
constexpr uint32_t containerVersion = 3, planVersion = 1;
constexpr uint32_t planKind = 1, certificateKind = 6, unshardedKind = 7;
constexpr uint64_t page = 4096, block = 1 << 20;

struct Section {
  uint32_t kind, target;
  uint64_t offset, length, checksum;
};
struct Footer {
  uint64_t table, checksum;
  uint32_t sections, version;
  char magic[8];
};
static_assert(sizeof(Section) == 32 && sizeof(Footer) == 32);

/// XXH3-64 of the XXH3-64 of each MiB, with the length as its seed.
uint64_t checksum(std::string_view bytes) {
  std::vector<uint64_t> blocks;
  for (size_t at = 0; at < bytes.size(); at += block) {
    std::string_view part = bytes.substr(at, block);
    blocks.push_back(XXH3_64bits(part.data(), part.size()));
  }
  return XXH3_64bits_withSeed(blocks.data(), blocks.size() * sizeof(uint64_t),
                              bytes.size());
}

bool isTrainer(std::string_view file) {
  return file.size() >= sizeof(Footer) &&
         file.substr(file.size() - sizeof(magic)) ==
             std::string_view(magic, sizeof(magic));
}

std::vector<Section> readTable(std::string_view file, const std::string &path) {
  Footer footer;
  std::memcpy(&footer, file.data() + file.size() - sizeof(footer),
              sizeof(footer));
  if (footer.version != containerVersion)
    throw BadInput(path + ": its container has version " +
                   std::to_string(footer.version) + ", this program reads " +
                   std::to_string(containerVersion));
  uint64_t end = file.size() - sizeof(footer);
  uint64_t bytes = uint64_t(footer.sections) * sizeof(Section);
  if (footer.table > end || bytes > end - footer.table ||
      checksum(file.substr(footer.table, bytes)) != footer.checksum)
    throw BadInput(path + ": the trainer is damaged; compile it again");
  std::vector<Section> sections(footer.sections);
  if (bytes)
    std::memcpy(sections.data(), file.data() + footer.table, bytes);
  for (const Section &section : sections)
    if (section.offset > footer.table ||
        section.length > footer.table - section.offset ||
        checksum(file.substr(section.offset, section.length)) !=
            section.checksum)
      throw BadInput(path + ": a section of the trainer is damaged; compile it "
                            "again");
  return sections;
}

plan::Plan readPlan(std::string_view bytes, const Trainer &trainer) {
  plan::Plan plan;
  if (bytes.empty() || bytes.size() > std::numeric_limits<int>::max() ||
      !plan.ParseFromArray(bytes.data(), int(bytes.size())) ||
      plan.buffers_size() == 0)
    throw BadInput(trainer.path + ": is neither a trainer nor a plan, or is "
                                  "cut off");
  if (plan.version() != planVersion)
    throw BadInput(trainer.path + ": its plan has version " +
                   std::to_string(plan.version()) + ", this program reads " +
                   std::to_string(planVersion));
  return plan;
}

void addPlan(std::string_view bytes, Trainer &trainer) {
  trainer.plans.push_back(readPlan(bytes, trainer));
  trainer.planHashes.push_back(XXH3_64bits(bytes.data(), bytes.size()));
}

} // namespace

std::string readFile(const std::string &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw BadInput(path + ": is a folder");
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  if (file.seekg(0, std::ios::end))
    bytes.resize(size_t(file.tellg()));
  if (!file.seekg(0) || !file.read(bytes.data(), std::streamsize(bytes.size())))
    throw BadInput(path + ": cannot be read: " + std::strerror(errno));
  return bytes;
}

Trainer readTrainer(const std::string &path) {
  google::protobuf::SetLogHandler(nullptr); // one line is ours
  Trainer trainer{path, {}, {}, {}};
  std::string file = readFile(path);
  if (!isTrainer(file)) {
    addPlan(file, trainer);
    return trainer;
  }
  std::vector<Section> sections = readTable(file, path);
  std::ranges::stable_sort(sections, {}, &Section::target);
  for (const Section &section : sections) {
    std::string_view bytes =
        std::string_view(file).substr(section.offset, section.length);
    if (section.kind == planKind)
      addPlan(bytes, trainer);
    else if (section.kind == unshardedKind)
      trainer.unsharded.push_back(readPlan(bytes, trainer));
  }
  if (trainer.plans.empty())
    throw BadInput(path + ": the trainer has no plan; compile it again");
  return trainer;
}

void stamp(const std::string &path, const plan::Certificate &certificate) {
  std::string file = readFile(path);
  if (!isTrainer(file))
    throw BadInput(path + ": only a trainer is stamped, not a plan");
  std::vector<Section> sections = readTable(file, path);
  // Sections lie one behind the other; the certificate becomes the last one.
  std::erase_if(sections, [](const Section &section) {
    return section.kind == certificateKind;
  });
  uint64_t end = 0;
  for (const Section &section : sections)
    end = std::max(end, section.offset + section.length);
  file.resize(end);
  auto pad = [&] { file.resize((file.size() + page - 1) / page * page); };
  std::string bytes = certificate.SerializeAsString();
  pad();
  sections.push_back(
      {certificateKind, 0, file.size(), bytes.size(), checksum(bytes)});
  file += bytes;
  pad();
  std::string_view table(reinterpret_cast<const char *>(sections.data()),
                         sections.size() * sizeof(Section));
  Footer footer{file.size(),
                checksum(table),
                uint32_t(sections.size()),
                containerVersion,
                {}};
  std::memcpy(footer.magic, magic, sizeof(magic));
  file += table;
  file.append(reinterpret_cast<const char *>(&footer), sizeof(footer));

  namespace fs = std::filesystem;
  std::string written = path + ".stamped.tmp";
  std::error_code error;
  std::ofstream out(written, std::ios::binary | std::ios::trunc);
  out.write(file.data(), std::streamsize(file.size()));
  out.close();
  if (out)
    fs::permissions(written, fs::status(path).permissions(), error);
  if (out && !error)
    fs::rename(written, path, error);
  if (!out || error) {
    fs::remove(written, error);
    throw BadInput(path + ": the certificate cannot be written beside it");
  }
}

} // namespace shardc::check
