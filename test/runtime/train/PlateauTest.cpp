// A learning rate that falls where evaluations get no better, against torch's
// ReduceLROnPlateau, also where a run is ended and goes on in between.
#include "runtime/train/Plateau.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace shardc::runtime;

namespace {

struct Recorded {
  std::string name;
  Plateau::Settings settings;
  bool isLess;
  double minimum;
  std::vector<double> values, rates;
};

constexpr double peak = 3e-3;

const std::vector<Recorded> recorded = {
#include "test/runtime/train/Plateaus.inc"
};

double rateOf(const Plateau &plateau, double minimum) {
  return std::max(peak * plateau.state().reduced, minimum);
}

} // namespace

TEST(Plateau, GivesTheRatesOfTorch) {
  ASSERT_EQ(recorded.size(), 10u);
  for (const Recorded &of : recorded) {
    Plateau plateau(of.settings, of.isLess, {});
    double before = peak;
    for (size_t i = 0; i < of.values.size(); ++i) {
      bool falls = plateau.take(of.values[i], peak, of.minimum);
      double rate = rateOf(plateau, of.minimum);
      EXPECT_NEAR(rate, of.rates[i], 1e-14 * peak) << of.name << ", " << i;
      EXPECT_EQ(falls, rate < before) << of.name << ", " << i;
      before = rate;
    }
  }
}

TEST(Plateau, GoesOnFromItsState) {
  for (const Recorded &of : recorded) {
    PlateauState state;
    for (size_t i = 0; i < of.values.size(); ++i) {
      Plateau plateau(of.settings, of.isLess, state);
      plateau.take(of.values[i], peak, of.minimum);
      state = plateau.state();
      EXPECT_NEAR(rateOf(plateau, of.minimum), of.rates[i], 1e-14 * peak);
    }
  }
}
