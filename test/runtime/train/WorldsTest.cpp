// A run whose ranks are in several worlds: what one of them writes and prints,
// and that nothing of it depends on where the ranks are.
#include "runtime/base/Signals.h"
#include "test/runtime/launch/PartialWorld.h"
#include "test/runtime/train/TrainingTest.h"

#include <csignal>
#include <set>

using namespace shardc;
using namespace shardc::runtime;

namespace {

class Worlds : public TrainingTest {
protected:
  Worlds() {
    options.clip = 0.2;
    options.steps = 6;
    options.evalEvery.steps = 3;
    options.trace = folder / "t.json";
  }

  /// A run's files and lines, without what takes time.
  struct Result {
    std::vector<int> signals;
    std::string gradients, parameters;
    std::vector<nlohmann::json> metrics;
    std::vector<std::string> printed;
    size_t tracedRanks;
    bool operator==(const Result &) const = default;
  };
  Result run(const plan::Plan &plan, const std::vector<World *> &worlds) {
    Result result;
    // A run says where it has put an earlier one's metrics.
    std::filesystem::remove(folder / "m.jsonl");
    result.signals = train(plan, worlds);
    result.gradients = folder.read("g.safetensors");
    result.parameters = folder.read("p.safetensors");
    for (nlohmann::json line : metrics(true)) {
      for (const char *key :
           {"samples_per_second", "step_seconds", "data_seconds",
            "step_milliseconds", "seconds", "time", "pss_bytes", "processes",
            "peak_rss_bytes", "seconds_to_first_step", "gemm_share"})
        line.erase(key);
      result.metrics.push_back(line);
    }
    std::istringstream text(printed);
    for (std::string line; std::getline(text, line);)
      // Losses and norms, but neither rates nor memory.
      result.printed.push_back(
          line.substr(0, line.find("  lr "))
              .substr(0, line.rfind(", ", line.find('/'))));
    std::set<int> processes;
    auto trace = nlohmann::json::parse(folder.read("t.json"));
    for (const nlohmann::json &event : trace["traceEvents"])
      processes.insert(event["pid"].get<int>());
    result.tracedRanks = processes.size();
    return result;
  }
};

} // namespace

TEST_F(Worlds, LeaveWhatOneWorldLeaves) {
  plan::Plan plan = LinearPlan(4, 2).plan;
  ThreadWorld whole(4);
  Result expected = run(plan, {&whole});
  ASSERT_FALSE(expected.printed.empty());
  EXPECT_EQ(expected.tracedRanks, 4u);
  for (int split : {1, 2, 3}) {
    SCOPED_TRACE(split);
    auto process = std::make_shared<ThreadProcess>(4, false);
    PartialWorld first(process, {0, split}), second(process, {split, 4});
    Result result = run(plan, {&second, &first});
    EXPECT_EQ(result.signals, std::vector<int>(2));
    result.signals = expected.signals;
    EXPECT_EQ(result.gradients, expected.gradients);
    EXPECT_EQ(result.parameters, expected.parameters);
    EXPECT_EQ(result.metrics, expected.metrics);
    EXPECT_EQ(result.printed, expected.printed);
    EXPECT_EQ(result.tracedRanks, expected.tracedRanks);
  }
}

TEST_F(Worlds, StopTogether) {
  plan::Plan plan = LinearPlan(2, 4).plan;
  auto process = std::make_shared<ThreadProcess>(2, false);
  PartialWorld first(process, {0, 1}), second(process, {1, 2});
  requestStop(SIGTERM);
  std::vector<int> signals = train(plan, {&first, &second});
  requestStop(0);
  EXPECT_EQ(signals, std::vector<int>(2, SIGTERM));
  EXPECT_TRUE(metrics().back()["interrupted"].get<bool>());
}

// Errors of all ranks end with it: who does not write does not know.
TEST_F(Worlds, OnlyTheLeaderSaysWhatWasExported) {
  plan::Plan plan = LinearPlan(2, 4).plan;
  Dataset training(plan, options.data, "--data");
  RandomParameters initial(plan, 3);
  auto process = std::make_shared<ThreadProcess>(2, false);
  PartialWorld first(process, {0, 1}), second(process, {1, 2});
  auto text = [&](World &world) {
    return exportedText({world,
                         plan,
                         options,
                         {},
                         training,
                         nullptr,
                         initial,
                         {},
                         {},
                         {},
                         {},
                         {},
                         {}});
  };
  EXPECT_EQ(text(first), "nothing was exported");
  EXPECT_EQ(text(second), "the process of rank 0 says what was exported");
}
