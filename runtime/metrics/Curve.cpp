// Values over the steps of a run, in a bounded number of points.
#include "runtime/metrics/Curve.h"

#include "runtime/base/JsonNumber.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

using Json = nlohmann::ordered_json;

void Curve::merge(Point &into, const Point &point) {
  into.step = point.step;
  into.values += point.values;
  into.least = std::min(into.least, point.least);
  into.largest = std::max(into.largest, point.largest);
  into.sum += point.sum;
}

void Curve::add(int64_t step, double value) {
  if (!std::isfinite(value))
    return;
  Point point{step, 1, value, value, value};
  if (!points.empty() && points.back().step / span == step / span)
    merge(points.back(), point);
  else
    points.push_back(point);
  while (points.size() > mostPoints) {
    span *= 2;
    std::vector<Point> fewer;
    for (const Point &each : points)
      if (!fewer.empty() && fewer.back().step / span == each.step / span)
        merge(fewer.back(), each);
      else
        fewer.push_back(each);
    points = std::move(fewer);
  }
}

void Curve::cutBehind(int64_t step) {
  std::erase_if(points, [&](const Point &point) {
    return point.step > step && (span == 1 || point.step / span * span > step);
  });
}

static double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return std::strtod(text, nullptr);
}

Json Curve::json() const {
  Json list = Json::array();
  for (const Point &point : points)
    if (point.values == 1)
      list.push_back({point.step, rounded(point.sum)});
    else
      list.push_back(
          {point.step, rounded(point.sum / static_cast<double>(point.values)),
           rounded(point.least), rounded(point.largest), point.values});
  return {{"span", span}, {"points", list}};
}

Curve Curve::parse(const Json &json) {
  Curve curve;
  curve.span = std::max<int64_t>(1, wholeNumber<int64_t>(json.at("span")));
  for (const Json &each : json.at("points")) {
    Point point;
    point.step = wholeNumber<int64_t>(each.at(0));
    double mean = each.at(1).get<double>();
    bool isOne = each.size() < 5;
    point.values = isOne ? 1 : wholeNumber<int64_t>(each.at(4));
    point.least = isOne ? mean : each.at(2).get<double>();
    point.largest = isOne ? mean : each.at(3).get<double>();
    point.sum = mean * static_cast<double>(point.values);
    curve.points.push_back(point);
  }
  return curve;
}

} // namespace shardc::runtime
