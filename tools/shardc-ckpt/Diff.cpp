// Where two checkpoints differ.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/StoredCheckpoint.h"
#include "runtime/metrics/Print.h"
#include "tools/shardc-ckpt/Commands.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace shardc::runtime {

namespace {

/// Two tensors of one shape, as float64.
struct Difference {
  int64_t elements = 0; // that differ
  double largest = 0;
};

Difference compare(const StoredTensors &a, const StoredTensors &b,
                   const std::string &key) {
  int64_t count = 1;
  for (int64_t dim : a.shapeOf(key))
    count *= dim;
  Difference difference;
  std::vector<double> left, right;
  for (int64_t at = 0; at < count; at += elementsAtOnce) {
    int64_t end = std::min(count, at + elementsAtOnce);
    left.resize(end - at);
    right.resize(end - at);
    a.read(key, at, end, plan::FLOAT64,
           reinterpret_cast<std::byte *>(left.data()));
    b.read(key, at, end, plan::FLOAT64,
           reinterpret_cast<std::byte *>(right.data()));
    for (size_t i = 0; i < left.size(); ++i) {
      bool equal =
          left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]));
      if (equal)
        continue;
      ++difference.elements;
      double size = std::fabs(left[i] - right[i]);
      difference.largest = std::isnan(size) || size > difference.largest
                               ? size
                               : difference.largest;
    }
  }
  return difference;
}

bool diffTensors(const StoredTensors &a, const StoredTensors &b) {
  std::set<std::string> keys;
  for (const StoredTensors *of : {&a, &b})
    for (const std::string &key : of->keys())
      keys.insert(key);
  bool differs = false;
  auto say = [&](const auto &...parts) {
    differs = true;
    print(concat(parts..., "\n"));
  };
  for (const std::string &key : keys)
    if (!a.has(key) || !b.has(key)) {
      say(key, ": only in the ", a.has(key) ? "first" : "second");
    } else if (a.shapeOf(key) != b.shapeOf(key)) {
      say(key, ": ", shapeText(a.shapeOf(key)), " and ",
          shapeText(b.shapeOf(key)));
    } else {
      if (a.dtypeOf(key) != b.dtypeOf(key))
        say(key, ": ", dtypeName(a.dtypeOf(key)), " and ",
            dtypeName(b.dtypeOf(key)));
      if (Difference difference = compare(a, b, key); difference.elements)
        say(key, ": ", difference.elements, " elements differ, by ",
            difference.largest, " at most");
    }
  return differs;
}

} // namespace

bool diff(const std::string &first, const std::string &second) {
  StoredCheckpoint a(checkpointAt(first)), b(checkpointAt(second));
  bool steps = a.manifest().progress.step != b.manifest().progress.step;
  if (steps)
    print(concat("steps ", a.manifest().progress.step, " and ",
                 b.manifest().progress.step, "\n"));
  bool model = diffTensors(a.model(), b.model());
  bool optim = diffTensors(a.optim(), b.optim());
  return steps || model || optim;
}

} // namespace shardc::runtime
