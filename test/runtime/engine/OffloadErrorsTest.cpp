// Plans whose state lies in a file, and what is said where they do not hold
// together.
#include "runtime/base/Error.h"
#include "runtime/engine/Executor.h"
#include "test/runtime/TemporaryFolder.h"
#include "test/runtime/engine/HostRank.h"
#include "test/runtime/engine/StrategyPlan.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include "gtest/gtest.h"

#include <functional>

using namespace shardc;
using namespace shardc::runtime;

namespace {

const Strategy full = {"Full2", {2}, {0}, {0}};
const Types mixed = {"Bf16", plan::BFLOAT16, plan::FLOAT32, plan::FLOAT32};

/// A plan with a pool host; `move` puts buffers there.
class Offloaded {
public:
  Offloaded() : built(full, mixed, Accumulated::Reduced) {
    pool = plan().pools_size();
    plan().add_pools()->set_name("host");
  }
  plan::Plan &plan() { return built.plan; }
  void move(uint32_t buffer) {
    plan::Buffer &moved = *plan().mutable_buffers(int(buffer));
    plan::Pool &host = *plan().mutable_pools(pool);
    moved.set_pool(uint32_t(pool));
    moved.set_offset(host.bytes());
    host.set_bytes(host.bytes() + (moved.bytes() + 4095) / 4096 * 4096);
  }
  /// The first entry of this kind.
  plan::Entry &entryOf(plan::Entry::KindCase kind) {
    for (plan::Entry &entry : *plan().mutable_train()->mutable_entries())
      if (entry.kind_case() == kind)
        return entry;
    throw Error("no such entry");
  }
  plan::TransferStart &addTransfer(uint32_t token) {
    plan::Entry &entry = *plan().mutable_train()->add_entries();
    entry.set_name("transfer");
    entry.set_phase("optimizer");
    entry.mutable_transfer_start()->set_token(token);
    return *entry.mutable_transfer_start();
  }

private:
  StrategyPlan built;
  int pool;
};

/// What a rank says about the plan.
std::string failureOf(const std::function<void(Offloaded &)> &breakIt,
                      bool hasFolder = true) {
  TemporaryFolder folder;
  Offloaded offloaded;
  breakIt(offloaded);
  KernelLibrary library = KernelLibrary::of({});
  std::vector<std::string> texts(2);
  try {
    runRanksAsThreads(2, [&](Communicator &communicator) {
      cpu::CpuOptions device;
      if (hasFolder)
        device.offloadFolder = folder.path();
      RankOptions copying;
      copying.shareSlices = false;
      try {
        makeHostRank(offloaded.plan(), library, communicator, copying, device);
      } catch (const Aborted &) {
        throw;
      } catch (const Error &error) {
        texts[communicator.rank()] = error.what();
        throw;
      }
    });
  } catch (const Error &) {
  }
  for (const std::string &text : texts)
    if (!text.empty())
      return text;
  return "";
}

plan::Tensor vectorIn(uint32_t buffer, int64_t elements) {
  plan::Tensor tensor;
  tensor.set_buffer(buffer);
  tensor.set_dtype(plan::FLOAT32);
  tensor.add_shape(elements);
  return tensor;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST(OffloadErrors, OfAFolderThatNobodyNamed) {
  std::string said = failureOf(
      [](Offloaded &of) { of.move(of.plan().units(0).state_buffers(0)); },
      false);
  EXPECT_TRUE(contains(said, "give --offload-dir DIR")) << said;
}

TEST(OffloadErrors, OfWhatIsReachedWithoutATransfer) {
  std::string said = failureOf(
      [](Offloaded &of) { of.move(of.plan().units(0).state_buffers(0)); });
  EXPECT_TRUE(
      contains(said, "state lies in the pool host, which only transfers reach"))
      << said;
  said = failureOf(
      [](Offloaded &of) { of.move(of.plan().units(0).parameter_buffer()); });
  EXPECT_TRUE(contains(said, "lies in the pool host, which only transfers"))
      << said;
}

TEST(OffloadErrors, OfTransfers) {
  auto failure =
      [](const std::function<void(plan::TransferStart &, uint32_t, uint32_t)>
             &make) {
        return failureOf([&](Offloaded &of) {
          // A buffer of the file that no unit has.
          uint32_t inFile = uint32_t(of.plan().buffers_size());
          plan::Buffer &buffer = *of.plan().add_buffers();
          buffer.set_name("in the file");
          buffer.set_bytes(64);
          of.move(inFile);
          plan::TransferStart &start = of.addTransfer(90);
          make(start, inFile, of.plan().units(0).parameter_buffer());
        });
      };
  std::string said =
      failure([](plan::TransferStart &start, uint32_t file, uint32_t) {
        *start.mutable_source() = vectorIn(file, 4);
        *start.mutable_destination() = vectorIn(file, 4);
      });
  EXPECT_TRUE(contains(said, "expects source or destination in the pool host, "
                             "and not both"))
      << said;
  said = failure([](plan::TransferStart &start, uint32_t file, uint32_t other) {
    *start.mutable_source() = vectorIn(file, 2);
    *start.mutable_destination() = vectorIn(other, 1);
  });
  EXPECT_TRUE(contains(said, "expects a destination of 2 elements")) << said;
  said = failure([](plan::TransferStart &start, uint32_t file, uint32_t other) {
    *start.mutable_source() = vectorIn(file, 1);
    *start.mutable_destination() = vectorIn(other, 1);
    start.mutable_destination()->set_dtype(plan::INT32);
  });
  EXPECT_TRUE(contains(said, "destination")) << said;
}

TEST(OffloadErrors, OfPartsOfASlice) {
  auto failure = [](const std::function<void(plan::OptimizerStep &)> &change) {
    return failureOf([&](Offloaded &of) {
      change(*of.entryOf(plan::Entry::kOptimizerStep).mutable_optimizer_step());
    });
  };
  std::string said =
      failure([](plan::OptimizerStep &step) { step.set_begin(1); });
  EXPECT_TRUE(contains(said, "from element 1 on")) << said;
  said = failure([](plan::OptimizerStep &step) { step.set_begin(-1); });
  EXPECT_TRUE(contains(said, "from element -1 on")) << said;
  said = failure(
      [](plan::OptimizerStep &step) { *step.mutable_master() = step.norm(); });
  EXPECT_TRUE(contains(said, "master")) << said;
  EXPECT_EQ(failure([](plan::OptimizerStep &) {}), "");
}
