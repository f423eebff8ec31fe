// A runtime like the one that trainers are made of, but whose ranks are in two
// worlds, each with a main of its own: as two processes would have them, and in
// one process, so that they can be threads. SHARDC_SPLIT: how many ranks are in
// the first.
#include "runtime/TrainerMain.h"
#include "runtime/cpu/CpuPlatform.h"
#include "test/runtime/launch/PartialWorld.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

using namespace shardc::runtime;

int main(int argc, char **argv) {
  std::mutex mutex;
  std::shared_ptr<ThreadProcess> process;
  const char *text = std::getenv("SHARDC_SPLIT");
  int split = text ? std::atoi(text) : 1, exitCodes[2];
  auto run = [&](bool first) {
    auto platformOf = [](const shardc::plan::Plan &) {
      return std::make_unique<cpu::CpuPlatform>();
    };
    exitCodes[first] = trainerMain(
        argc, argv, platformOf, [&](int ranks, const Launch &, int) {
          std::lock_guard lock(mutex);
          if (!process)
            process = std::make_shared<ThreadProcess>(ranks, false);
          return std::make_unique<PartialWorld>(
              process, first ? RankRange{0, split} : RankRange{split, ranks});
        });
  };
  std::thread second([&] { run(false); });
  run(true);
  second.join();
  return std::max(exitCodes[0], exitCodes[1]);
}
