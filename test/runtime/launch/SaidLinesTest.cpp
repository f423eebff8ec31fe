// What of processes' lines is printed, and when.
#include "runtime/launch/SaidLines.h"

#include <gtest/gtest.h>

using namespace shardc::runtime;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

namespace {

class Said : public testing::Test {
protected:
  Said() { CaptureStderr(); }
  ~Said() override { GetCapturedStderr(); }
  /// Since the last call.
  std::string printed() {
    std::string text = GetCapturedStderr();
    CaptureStderr();
    return text;
  }
  SaidLines lines;
};

} // namespace

TEST_F(Said, LinesHaveNumbers) {
  lines.take(0, {"trainer: warning: no fast disk", "", "a: note"});
  lines.take(2, {"trainer: warning: no fast disk", "what the: error: is"});
  EXPECT_EQ(printed(), "trainer: warning: no fast disk\n\na: note\n"
                       "[process 2] trainer: warning: no fast disk\n"
                       "[process 2] what the: error: is\n");
}

TEST_F(Said, WhatOthersSayOfTheCauseIsLeftOut) {
  lines.take(1, {"trainer: error: rank 2 gave up: no memory"});
  lines.take(2, {"trainer: error: no memory"});
  lines.hasEnded(1, true);
  EXPECT_EQ(printed(), "");
  lines.hasEnded(2, false);
  EXPECT_EQ(printed(), "[process 2] trainer: error: no memory\n");
  lines.take(0, {"trainer: error: rank 2 gave up: no memory"});
  lines.hasEnded(0, true);
  lines.end();
  EXPECT_EQ(printed(), "");
}

TEST_F(Said, ErrorsOfAllAreOneLine) {
  for (int process : {0, 1, 2}) {
    lines.take(process, {"trainer: error: no file x"});
    lines.hasEnded(process, false);
  }
  lines.take(3, {"trainer: error: no file y"});
  lines.hasEnded(3, false);
  lines.end();
  EXPECT_EQ(printed(), "trainer: error: no file x\n"
                       "[process 3] trainer: error: no file y\n");
}

TEST_F(Said, WhereNobodySaysWhyThoseThatLostItDo) {
  for (int process : {2, 0, 3}) {
    lines.take(process, {"trainer: error: process 1 is gone"});
    lines.hasEnded(process, true);
  }
  lines.hasEnded(1, false); // killed
  EXPECT_EQ(printed(), "");
  lines.end();
  EXPECT_EQ(printed(), "trainer: error: process 1 is gone\n");
  // The next attempt's.
  lines.take(1, {"trainer: error: process 1 is gone"});
  lines.hasEnded(1, false);
  EXPECT_EQ(printed(), "[process 1] trainer: error: process 1 is gone\n");
}
