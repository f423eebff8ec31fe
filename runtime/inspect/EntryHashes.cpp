// A line of JSON for each entry.
#include "runtime/inspect/EntryHashes.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/inspect/HashFiles.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

using Json = nlohmann::ordered_json;

namespace {

class EntryHashes final : public Inspector {
public:
  EntryHashes(std::string path, int64_t steps, const Json &head)
      : path(std::move(path)), steps(steps),
        file(std::fopen(this->path.c_str(), "w"), std::fclose) {
    if (!file)
      fail("--hash-entries: cannot write ", this->path, ": ",
           std::strerror(errno));
    write(head);
  }

  bool looksAt(const StepNumbers &numbers) const override {
    return !first || numbers.step < *first + steps;
  }

  void inspect(const InspectedEntry &entry, const StepNumbers &numbers,
               Device &device) override {
    if (!first)
      first = numbers.step;
    Json line{{"step", numbers.step},   {"micro_batch", numbers.microBatch},
              {"entry", entry.place},   {"nodes", entry.nodes},
              {"read", Json::object()}, {"written", Json::object()}};
    for (const InspectedEntry::Operand &operand : entry.operands) {
      if (operand.tensor.elements() == 0)
        continue;
      if (operand.isWritten())
        add(line["written"], operand, device);
      else if (operand.access == entry::Access::Read &&
               !isWrittenOver(entry, operand))
        add(line["read"], operand, device);
    }
    if (!line["written"].empty())
      write(line);
  }

private:
  static bool isWrittenOver(const InspectedEntry &entry,
                            const InspectedEntry::Operand &operand) {
    for (const InspectedEntry::Operand &result : entry.operands)
      if (result.isWritten() && result.tensor.data == operand.tensor.data)
        return true;
    return false;
  }

  /// Under its name; of several of one name the second is NAME.1.
  void add(Json &to, const InspectedEntry::Operand &operand, Device &device) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    readElements(device, operand.tensor, scratch,
                 [&](const std::byte *bytes, int64_t, int64_t count) {
                   XXH3_64bits_update(&state, bytes,
                                      size_t(count) *
                                          elementSize(operand.tensor.dtype));
                   return true;
                 });
    std::string name = operand.name;
    for (int more = 1; to.contains(name); ++more)
      name = concat(operand.name, ".", more);
    to[name] = hashText(XXH3_64bits_digest(&state));
  }

  void write(const Json &line) {
    std::string text =
        line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
        std::fflush(file.get()) != 0)
      fail("--hash-entries: cannot write ", path, ": ", std::strerror(errno));
  }

  std::string path;
  int64_t steps;
  std::optional<int64_t> first; // step of the run
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file;
  std::vector<std::byte> scratch;
};

} // namespace

InspectorFactory entryHashes(std::string folder, int64_t steps,
                             uint64_t modelHash) {
  return [=](Communicator &rank) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
      fail("--hash-entries: cannot make the folder ", folder, ": ",
           error.message());
    Json head{{"ranks", rank.size()},
              {"rank", rank.rank()},
              {"model", hashText(modelHash)}};
    return std::make_unique<EntryHashes>(
        folder + "/" + hashFileName(rank.rank()), steps, head);
  };
}

} // namespace shardc::runtime
