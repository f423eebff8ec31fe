// Kernels loaded from an image in memory.
#include "runtime/cpu/KernelLibrary.h"
#include "runtime/base/Error.h"

#include "gtest/gtest.h"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace shardc;
using namespace shardc::runtime;

namespace {

std::vector<char> testImage() {
  std::ifstream file(SHARDC_TEST_KERNELS, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

plan::Plan planWith(std::initializer_list<const char *> symbols) {
  plan::Plan plan;
  for (const char *symbol : symbols)
    plan.add_kernels()->set_symbol(symbol);
  return plan;
}

KernelLibrary open(const std::vector<char> &image, const plan::Plan &plan) {
  return KernelLibrary::open(std::as_bytes(std::span(image)), plan);
}

std::string failureOf(const std::vector<char> &image, const plan::Plan &plan) {
  try {
    open(image, plan);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(KernelLibrary, FindsKernelsInTheOrderOfThePlan) {
  KernelLibrary library = open(testImage(), planWith({"twice", "negate"}));
  ASSERT_EQ(library.size(), 2u);
  float floats[] = {1, 2, 3}, doubled[] = {0, 0, 0};
  void *floatArguments[] = {floats, doubled};
  library.function(0)(floatArguments, 1, 3);
  EXPECT_EQ(doubled[0], 0);
  EXPECT_EQ(doubled[2], 6);
  double doubles[] = {1, 2}, negated[] = {0, 0};
  void *doubleArguments[] = {doubles, negated};
  library.function(1)(doubleArguments, 0, 2);
  EXPECT_EQ(negated[1], -2);
}

TEST(KernelLibrary, NamesAKernelThatIsMissing) {
  EXPECT_EQ(failureOf(testImage(), planWith({"twice", "thrice"})),
            "the kernel library lacks the plan's kernel thrice");
}

TEST(KernelLibrary, RefusesWhatIsNoLibrary) {
  EXPECT_EQ(failureOf({'n', 'o'}, planWith({"twice"}))
                .rfind("cannot load the plan's kernels: ", 0),
            0u);
}

TEST(KernelLibrary, APlanWithoutKernelsNeedsNoImage) {
  EXPECT_EQ(open({}, planWith({})).size(), 0u);
}

} // namespace
