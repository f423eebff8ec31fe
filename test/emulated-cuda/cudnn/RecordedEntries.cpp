// A device that keeps what it is told to bind.
#include "test/emulated-cuda/cudnn/RecordedEntries.h"

#include "runtime/engine/Executor.h"
#include "runtime/launch/ThreadWorld.h"

namespace shardc::test {
namespace {

using namespace runtime;

class Recorder final : public Device {
public:
  explicit Recorder(std::vector<PlacedEntry> &entries) : entries(entries) {}

  std::byte *allocate(const std::string &, int64_t bytes) override {
    auto *result = reinterpret_cast<std::byte *>(next);
    next += (bytes + 4095) / 4096 * 4096;
    return bytes ? result : nullptr;
  }
  std::byte *allocateCommunicated(const std::string &name,
                                  int64_t bytes) override {
    return allocate(name, bytes);
  }
  std::byte *allocateShared(Communicator &, const std::string &,
                            int64_t) override {
    return nullptr;
  }
  std::byte *allocateHost(const std::string &name, int64_t bytes) override {
    return allocate(name, bytes);
  }
  void touch(std::byte *, int64_t) override {}
  void upload(std::byte *, const void *, int64_t) override {}
  void download(void *, const std::byte *, int64_t) override {}
  std::unique_ptr<DeviceProgram> newProgram() override {
    return std::make_unique<Program>(entries);
  }
  void settle() override {}
  void onHost(int64_t, int64_t,
              const std::function<void(int64_t, int64_t)> &) override {}

private:
  struct Program final : DeviceProgram {
    explicit Program(std::vector<PlacedEntry> &entries) : entries(entries) {}
    void add(PlacedEntry entry) override {
      entries.push_back(std::move(entry));
      ++added;
    }
    int64_t size() const override { return added; }
    void run(int64_t, int64_t, const StepNumbers &, Measurements &) override {}

    std::vector<PlacedEntry> &entries;
    int64_t added = 0;
  };

  std::vector<PlacedEntry> &entries;
  int64_t next = int64_t(1) << 40;
};

} // namespace

std::vector<PlacedEntry> entriesOf(const plan::Plan &plan) {
  std::vector<PlacedEntry> entries;
  ThreadWorld(int(plan.mesh().ranks())).run([&](Communicator &communicator) {
    std::vector<PlacedEntry> others;
    Rank::create(
        plan,
        [&](Communicator &of) {
          return std::make_unique<Recorder>(of.rank() == 0 ? entries : others);
        },
        communicator, RankOptions());
  });
  return entries;
}

} // namespace shardc::test
