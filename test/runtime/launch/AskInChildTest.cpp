// Answers and errors of a child process.
#include "runtime/launch/AskInChild.h"

#include "runtime/base/Error.h"

#include <csignal>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace shardc::runtime;

namespace {

std::string errorOf(const std::function<std::string()> &answer) {
  try {
    return "answered " + askInChild(answer);
  } catch (const Error &error) {
    return error.what();
  }
}

} // namespace

TEST(AskInChild, AnswersComeFromAnotherProcess) {
  EXPECT_NE(askInChild([] { return std::to_string(getpid()); }),
            std::to_string(getpid()));
  EXPECT_EQ(askInChild([] { return std::string(); }), "");
  std::string all(300000, 'x');
  EXPECT_EQ(askInChild([&] { return all + "y"; }), all + "y");
}

TEST(AskInChild, ErrorsDoAsWell) {
  EXPECT_EQ(errorOf([]() -> std::string { fail("no driver"); }), "no driver");
  EXPECT_EQ(errorOf([]() -> std::string { throw std::bad_alloc(); }),
            "std::bad_alloc");
}

TEST(AskInChild, AChildThatEndsIsSaid) {
  EXPECT_EQ(errorOf([]() -> std::string { _exit(3); }),
            "a process that looked for devices came to its end before it had, "
            "with exit code 3");
  EXPECT_EQ(errorOf([]() -> std::string {
              raise(SIGKILL);
              return "";
            }),
            "a process that looked for devices came to its end before it had, "
            "by signal 9 (Killed)");
}
