// What is printed and written while a run goes on.
#include "runtime/Error.h"
#include "runtime/metrics/Console.h"
#include "runtime/metrics/MetricsFile.h"
#include "runtime/metrics/Process.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

TEST(Metrics, LinesKeepAllDigits) {
  TemporaryFolder folder;
  folder.write("m.jsonl", "old\n");
  MetricsFile file(folder / "m.jsonl");
  file.write({{"step", 0}, {"loss", 0.1 + 0.2}});
  file.write({{"event", "summary"}});
  EXPECT_EQ(
      folder.read("m.jsonl"),
      "{\"step\":0,\"loss\":0.30000000000000004}\n{\"event\":\"summary\"}\n");
}

TEST(Metrics, AFullDiskIsAnError) {
  MetricsFile file("/dev/full");
  EXPECT_THROW(file.write({{"step", 0}}), Error);
  EXPECT_THROW(MetricsFile("/nowhere/m.jsonl"), Error);
}

TEST(Process, KnowsItsAgeAndSize) {
  double age = secondsSinceProcessStart();
  EXPECT_GE(age, 0);
  EXPECT_LT(age, 600);
  EXPECT_GT(peakResidentBytes(), 1 << 20);
  EXPECT_LE(proportionalBytes(), peakResidentBytes());
  std::vector<char> more(64 << 20, 1);
  int64_t with = proportionalBytes();
  EXPECT_EQ(more.back(), 1);
  std::vector<char>().swap(more);
  EXPECT_GE(with - proportionalBytes(), 60 << 20);
}
