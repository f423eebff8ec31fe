// What is printed and written while a run goes on.
#include "runtime/base/Error.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/metrics/Console.h"
#include "runtime/metrics/MetricsFile.h"
#include "runtime/metrics/Process.h"
#include "runtime/metrics/StepProfile.h"
#include "test/runtime/TemporaryFolder.h"

#include <csignal>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/resource.h>

using namespace shardc::runtime;

TEST(Console, TextsAreShort) {
  EXPECT_EQ(bytesText(512), "512 B");
  EXPECT_EQ(bytesText(1536), "1.50 KiB");
  EXPECT_EQ(bytesText(12.5 * 1024 * 1024), "12.5 MiB");
  EXPECT_EQ(countText(12345678), "12.3M");
  EXPECT_EQ(durationText(59.1), "1:00");
  EXPECT_EQ(durationText(3723), "1:02:03");
}

TEST(Console, TheBarFitsTheTerminal) {
  StepFigures figures;
  figures.step = 49;
  figures.loss = 1.5;
  figures.perSecond = 12345;
  EXPECT_EQ(
      Console::bar(figures, 100, 65, "tokens", 70),
      " 50% [=======        ] 50/100  loss 1.5000  12.3k tokens/s  1:05 left");
  for (int width = 0; width < 200; ++width)
    EXPECT_LE(Console::bar(figures, 100, 65, "tokens", width).size(),
              static_cast<size_t>(std::max(width - 1, 0)));
}

TEST(Console, NamesSkippedSteps) {
  EXPECT_EQ(skippedText(11, 60, "gradients", 1048576, 524288),
            "step 12/60: gradients not finite, step skipped, loss scale "
            "1048576 -> 524288");
  EXPECT_EQ(skippedText(0, 60, "loss", 0.5, 0.5),
            "step 1/60: loss not finite, step skipped, loss scale stays "
            "0.5");
}

TEST(Console, ANanHasNoSign) {
  StepFigures figures;
  figures.loss = -std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Console::bar(figures, 1, 0, "tokens", 200).find("-nan"),
            std::string::npos);
  EXPECT_EQ(numberText(figures.loss), "nan");
  EXPECT_EQ(concat(figures.loss, " ", -std::numeric_limits<float>::quiet_NaN(),
                   " ", -1.5),
            "nan nan -1.5");
}

namespace {

std::string errorOf(const std::string &path) {
  try {
    MetricsFile file(path);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST(Metrics, LinesKeepAllDigits) {
  TemporaryFolder folder;
  MetricsFile file(folder / "m.jsonl");
  EXPECT_EQ(file.write({{"step", 0}, {"loss", 0.1 + 0.2}}), "");
  EXPECT_EQ(file.write({{"event", "summary"}}), "");
  EXPECT_EQ(
      folder.read("m.jsonl"),
      "{\"step\":0,\"loss\":0.30000000000000004}\n{\"event\":\"summary\"}\n");
}

TEST(Metrics, AnEarlierRunIsKept) {
  TemporaryFolder folder;
  folder.write("m.jsonl", "");
  for (int run = 0; run < 3; ++run) {
    MetricsFile file(folder / "m.jsonl");
    EXPECT_EQ(file.earlierRun(),
              run == 0 ? "" : concat(folder / "m.jsonl", ".", run));
    EXPECT_EQ(file.write({{"step", run}}), "");
  }
  EXPECT_EQ(folder.read("m.jsonl"), "{\"step\":2}\n");
  EXPECT_EQ(folder.read("m.jsonl.2"), "{\"step\":1}\n");
  EXPECT_EQ(folder.read("m.jsonl.1"), "{\"step\":0}\n");
  // A link stays one.
  std::filesystem::create_symlink("m.jsonl", folder / "link");
  {
    MetricsFile file(folder / "link");
    EXPECT_EQ(file.write({{"step", 3}}), "");
  }
  EXPECT_EQ(folder.read("m.jsonl"), "{\"step\":3}\n");
  EXPECT_EQ(folder.read("m.jsonl.3"), "{\"step\":2}\n");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  // What is no run's stays where it is.
  folder.write("ids.npy", "\x93NUMPY and so on");
  EXPECT_NE(
      errorOf(folder / "ids.npy").find("ids.npy: it holds something else"),
      std::string::npos);
  EXPECT_EQ(folder.read("ids.npy"), "\x93NUMPY and so on");
  folder.write("index.json", R"({"weight_map":{}})");
  EXPECT_NE(errorOf(folder / "index.json"), "");
}

TEST(Metrics, AreOfOneRun) {
  TemporaryFolder folder;
  MetricsFile first(folder / "m.jsonl");
  EXPECT_NE(errorOf(folder / "m.jsonl").find("another process"),
            std::string::npos);
  EXPECT_EQ(first.write({{"step", 1}}), "");
  EXPECT_NE(errorOf(folder / "m.jsonl").find("another process"),
            std::string::npos);
  EXPECT_EQ(folder.read("m.jsonl"), "{\"step\":1}\n");
  EXPECT_EQ(folder.size(), 1u);
}

TEST(Metrics, AFullDiskLosesLinesAndNotTheRun) {
  MetricsFile file("/dev/full");
  EXPECT_EQ(file.lossText(), "");
  EXPECT_EQ(file.write({{"step", 0}}),
            "cannot write /dev/full: No space left on device");
  EXPECT_EQ(file.write({{"step", 1}}), ""); // said once
  EXPECT_EQ(file.lossText(), "2 of 2 lines of metrics are lost: cannot write "
                             "/dev/full: No space left on device");
  EXPECT_NE(errorOf("/nowhere/m.jsonl"), "");
}

TEST(Metrics, LinesAreWholeWhereTheDiskWasFull) {
  TemporaryFolder folder;
  MetricsFile file(folder / "m.jsonl");
  EXPECT_EQ(file.write({{"step", 0}}), "");
  rlimit old = {};
  getrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = {15, old.rlim_max}; // a line and a half
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_NE(file.write({{"step", 1}}), "");
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(file.write({{"step", 2}}), "");
  EXPECT_EQ(folder.read("m.jsonl"), "{\"step\":0}\n{\"step\":2}\n");
  EXPECT_EQ(file.lossText().substr(0, 28), "1 of 3 lines of metrics are ");
}

TEST(Profile, CountsEntriesAsOftenAsTheyRun) {
  shardc::plan::Plan plan;
  auto add = [&](const char *phase, double flops, bool last) {
    shardc::plan::Entry *entry = plan.mutable_train()->add_entries();
    entry->set_phase(phase);
    entry->set_flops(flops);
    entry->set_last(last);
  };
  add("forward", 100, false);
  add("backward", 20, true);
  add("optimizer", 3, false);
  EXPECT_EQ(stepFlops(plan, 1), 123);
  EXPECT_EQ(stepFlops(plan, 4), 423);
}

TEST(Process, KnowsItsAgeAndSize) {
  double age = secondsSinceProcessStart();
  EXPECT_GE(age, 0);
  EXPECT_LT(age, 600);
  EXPECT_GT(peakResidentBytes(), 1 << 20);
  ProcessMemory before = ProcessMemory::now();
  EXPECT_LE(before.sum(), peakResidentBytes());
  EXPECT_GT(before.files, 1 << 20);
  std::vector<char> more(64 << 20, 1);
  ProcessMemory with = ProcessMemory::now();
  EXPECT_EQ(more.back(), 1);
  EXPECT_GE(with.others - before.others, 60 << 20);
  Memory pool = Memory::allocate("test", 48 << 20);
  EXPECT_LE(ProcessMemory::now().pools, with.pools + (4 << 20));
  touchPages(pool.data(), pool.data() + pool.size());
  EXPECT_NEAR(double(ProcessMemory::now().pools - with.pools),
              double(pool.size()), 4 << 20);
}

TEST(Process, MemoryIsThatOfMappings) {
  std::istringstream smaps(
      "00001000-00003000 r-xp 00000000 fe:00 77   /usr/bin/a b\n"
      "Size:                  8 kB\n"
      "Pss:                   6 kB\n"
      "Pss_Anon:              6 kB\n"
      "00010000-00020000 rw-p 00000000 00:00 0    [heap]\n"
      "Pss:                  20 kB\n"
      "7f0000000000-7f0000010000 rw-p 00000000 00:00 0 \n"
      "Pss:                  64 kB\n");
  auto *begin = reinterpret_cast<std::byte *>(0x7f0000004000);
  std::span<std::byte> pools[] = {{begin, 0x8000}, {begin + 0x8000, 0x4000}};
  ProcessMemory memory = ProcessMemory::parse(smaps, pools);
  EXPECT_EQ(memory.files, 6 << 10);
  EXPECT_EQ(memory.pools, 48 << 10);
  EXPECT_EQ(memory.others, (20 + 16) << 10);
}
