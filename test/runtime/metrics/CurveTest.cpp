// A million steps in a thousand points.
#include "runtime/metrics/Curve.h"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace shardc::runtime;

TEST(Curve, KeepsEveryStepOfAShortRun) {
  Curve curve;
  curve.add(1, 0.5);
  curve.add(2, NAN);
  curve.add(3, INFINITY);
  curve.add(4, -1.0 / 3);
  EXPECT_EQ(curve.json().dump(),
            R"({"span":1,"points":[[1,0.5],[4,-0.3333333]]})");
}

TEST(Curve, KeepsSpikesAndMeansOfALongOne) {
  Curve curve;
  constexpr int64_t steps = 1'000'000;
  for (int64_t step = 1; step <= steps; ++step)
    curve.add(step, step == 777'777 ? 100 : step == 3 ? -100 : 1);
  nlohmann::ordered_json points = curve.json()["points"];
  EXPECT_LE(points.size(), Curve::mostPoints);
  EXPECT_GT(points.size(), Curve::mostPoints / 3);
  EXPECT_LT(curve.json().dump().size(), 60'000u);
  double least = 0, largest = 0, sum = 0;
  int64_t values = 0, before = 0;
  for (const auto &point : points) {
    EXPECT_GT(point[0].get<int64_t>(), before);
    before = point[0];
    least = std::min(least, point[2].get<double>());
    largest = std::max(largest, point[3].get<double>());
    values += point[4].get<int64_t>();
    sum += point[1].get<double>() * point[4].get<double>();
  }
  EXPECT_EQ(before, steps);
  EXPECT_EQ(values, steps);
  EXPECT_EQ(least, -100);
  EXPECT_EQ(largest, 100);
  EXPECT_NEAR(sum, steps - 2, 1);
}

TEST(Curve, GoesOnFromWhatItHasWritten) {
  Curve whole, first;
  for (int64_t step = 1; step <= 5000; ++step) {
    whole.add(step, static_cast<double>(step % 7));
    if (step <= 3000)
      first.add(step, static_cast<double>(step % 7));
  }
  Curve second = Curve::parse(first.json());
  for (int64_t step = 3001; step <= 5000; ++step)
    second.add(step, static_cast<double>(step % 7));
  nlohmann::ordered_json expected = whole.json(), found = second.json();
  EXPECT_EQ(found["span"], expected["span"]);
  ASSERT_EQ(found["points"].size(), expected["points"].size());
  for (size_t i = 0; i < expected["points"].size(); ++i)
    for (size_t j = 0; j < expected["points"][i].size(); ++j)
      EXPECT_NEAR(found["points"][i][j].get<double>(),
                  expected["points"][i][j].get<double>(), 1e-5);
}

TEST(Curve, ForgetsWhatIsBehindAStep) {
  Curve curve;
  for (int64_t step = 1; step <= 10; ++step)
    curve.add(step, 1);
  curve.cutBehind(7);
  EXPECT_EQ(curve.json()["points"].size(), 7u);
  EXPECT_EQ(curve.json()["points"].back()[0], 7);
}
