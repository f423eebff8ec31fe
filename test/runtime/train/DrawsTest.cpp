// What dropout draws from, beside the definition in docs/randomness.md.
#include "runtime/train/Draws.h"

#include "test/runtime/ErrorText.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace shardc::runtime {
namespace {

plan::Plan planWith(std::initializer_list<double> rates) {
  plan::Plan plan;
  for (double rate : rates) {
    plan::Draws::Site *site = plan.mutable_draws()->add_sites();
    site->set_name("layer." + std::to_string(plan.draws().sites_size()));
    site->set_rate(rate);
  }
  return plan;
}

TEST(Draws, WordsOfASite) {
  std::vector<int32_t> words = drawWords({0.5, 0}, 7, 3, 12);
  ASSERT_EQ(words.size(), 16u);
  EXPECT_EQ(words[8], 12);
  EXPECT_EQ(words[0], 12);
  EXPECT_EQ(words[3], 0);
  EXPECT_EQ(words[4], 0);
  EXPECT_EQ(words[5], std::bit_cast<uint64_t>(2.0) >> 32);
  EXPECT_EQ(words[11], std::numeric_limits<int32_t>::min());
  EXPECT_EQ(words[13], std::bit_cast<uint64_t>(1.0) >> 32);
  auto keyOf = [](const std::vector<int32_t> &of, size_t site) {
    return std::pair(of[1 + 8 * site], of[2 + 8 * site]);
  };
  EXPECT_NE(keyOf(words, 0), keyOf(words, 1));
  EXPECT_NE(keyOf(words, 0), keyOf(drawWords({0.5}, 7, 4, 12), 0));
  EXPECT_NE(keyOf(words, 0), keyOf(drawWords({0.5}, 8, 3, 12), 0));
  EXPECT_EQ(keyOf(words, 0), keyOf(drawWords({0.1}, 7, 3, 0), 0));
}

TEST(Draws, ARateOfOneKeepsNothing) {
  std::vector<int32_t> words = drawWords({1}, 0, 0, 0);
  EXPECT_EQ(words[3], std::numeric_limits<int32_t>::max());
  EXPECT_EQ(words[4], 0);
  EXPECT_EQ(words[5], 0);
}

TEST(Draws, TheFirstRegexHolds) {
  plan::Plan plan = planWith({0.1, 0.2, 0.3});
  Options options;
  EXPECT_EQ(resolveDropoutRates(options, plan),
            (std::vector<double>{0.1, 0.2, 0.3}));
  options.dropoutRates = {{"2$", 0.5}, {"[12]", 0.9}};
  EXPECT_EQ(resolveDropoutRates(options, plan),
            (std::vector<double>{0.9, 0.5, 0.3}));
  options.dropout = false;
  EXPECT_EQ(resolveDropoutRates(options, plan),
            (std::vector<double>{0.9, 0.5, 0}));
  options.dropoutRates = {{"other", 0.5}};
  EXPECT_EQ(errorOf([&] { resolveDropoutRates(options, plan); }),
            "--dropout-rate match=other is found in the name of no dropout; "
            "the first is named 'layer.1'");
}

TEST(Draws, TextOfRates) {
  plan::Plan plan = planWith({0.1, 0, 0.1});
  EXPECT_EQ(drawsText(plan, {0.1, 0, 0.1}),
            "dropout: 0 at 1 site, 0.1 at 2 sites");
  plan.mutable_draws()->add_sites()->set_draws_numbers(true);
  EXPECT_EQ(drawsText(plan, {0.1, 0, 0.1, 0}),
            "dropout: 0 at 1 site, 0.1 at 2 sites; numbers at 1 site");
  plan.mutable_draws()->mutable_sites()->DeleteSubrange(0, 3);
  EXPECT_EQ(drawsText(plan, {0}), "numbers at 1 site");
}

TEST(Draws, RatesAreOfDropoutsAlone) {
  plan::Plan plan = planWith({0.1, 0, 0.3});
  plan.mutable_draws()->mutable_sites(1)->set_draws_numbers(true);
  EXPECT_TRUE(drawsMasks(plan) && drawsNumbers(plan));
  EXPECT_TRUE(!drawsNumbers(planWith({0.1})) && !drawsMasks(planWith({})));
  Options options;
  options.dropoutRates = {{"layer", 0.5}};
  EXPECT_EQ(resolveDropoutRates(options, plan),
            (std::vector<double>{0.5, 0, 0.5}));
  options.dropoutRates = {{"layer.2", 0.5}};
  EXPECT_EQ(errorOf([&] { resolveDropoutRates(options, plan); }),
            "--dropout-rate match=layer.2 is found in the name of no dropout; "
            "the first is named 'layer.1'");
}

} // namespace
} // namespace shardc::runtime
