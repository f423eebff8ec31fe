// Values over the steps of a run, in a bounded number of points.
#ifndef SHARDC_RUNTIME_METRICS_CURVE_H
#define SHARDC_RUNTIME_METRICS_CURVE_H

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace shardc::runtime {

/// A point stands for `span` steps, 1 at first; where there are too many
/// points, two become one. Each has the least, the largest and the mean value
/// of its steps, so that no spike is lost.
class Curve {
public:
  static constexpr size_t mostPoints = 1024;

  /// Steps only grow. A value that is not finite makes no point.
  void add(int64_t step, double value);
  /// Forgets the points that begin behind a step.
  void cutBehind(int64_t step);

  /// {"span": N, "points": [[step, mean, least, largest, values], ...]}, where
  /// one value is [step, value]; the step is the last of the point, numbers
  /// have 7 digits.
  nlohmann::ordered_json json() const;
  /// What json() made; throws what nlohmann::json does where it is not.
  static Curve parse(const nlohmann::ordered_json &json);

private:
  struct Point {
    int64_t step = 0, values = 0; // the last step of them
    double least = 0, largest = 0, sum = 0;
  };
  static void merge(Point &into, const Point &point);

  int64_t span = 1;
  std::vector<Point> points;
};

} // namespace shardc::runtime

#endif
