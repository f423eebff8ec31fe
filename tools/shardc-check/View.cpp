// Strided views as digits of mixed radix numbers.
#include "tools/shardc-check/View.h"

#include <algorithm>

namespace shardc::check {

int64_t View::count() const {
  int64_t product = 1;
  for (const Dim &dim : dims)
    product *= dim.size;
  return product;
}

int64_t View::reach() const {
  int64_t sum = 0;
  for (const Dim &dim : dims)
    sum += std::max<int64_t>(dim.size - 1, 0) * dim.stride;
  return sum;
}

View View::canonical() const {
  View result{offset, {}};
  if (count() == 0)
    return {0, {{0, 1}}};
  for (const Dim &dim : dims) {
    if (dim.size == 1)
      continue;
    if (!result.dims.empty() &&
        result.dims.back().stride == dim.size * dim.stride) {
      result.dims.back() = {result.dims.back().size * dim.size, dim.stride};
      continue;
    }
    result.dims.push_back(dim);
  }
  return result;
}

std::string View::text() const {
  std::string all = std::to_string(offset);
  for (const Dim &dim : dims)
    all += ":" + std::to_string(dim.size) + "*" + std::to_string(dim.stride);
  return all;
}

View rowMajor(const std::vector<int64_t> &shape, int64_t unit) {
  View view{0, std::vector<Dim>(shape.size())};
  for (size_t d = shape.size(); d-- > 0; unit *= shape[d])
    view.dims[d] = {shape[d], unit};
  return view;
}

namespace {

/// A digit of a number: it counts `unit` in the number, `image` in what the
/// number stands for.
struct Digit {
  int64_t size, unit, image;
  int64_t most = 0; // the largest value that is in use
};

class Digits {
public:
  explicit Digits(std::vector<Digit> all) : digits(std::move(all)) {
    std::erase_if(digits, [](const Digit &digit) { return digit.size == 1; });
    std::ranges::stable_sort(digits, {}, &Digit::unit);
    for (size_t d = 0; d < digits.size(); ++d)
      isNested &=
          digits[d].unit > 0 &&
          (d == 0 ||
           digits[d].unit % (digits[d - 1].unit * digits[d - 1].size) == 0);
  }

  std::optional<View> map(int64_t offset, const View &view) {
    View result{offset, {}};
    int64_t rest = view.offset;
    if (!isNested || rest < 0)
      return std::nullopt;
    for (size_t d = digits.size(); d-- > 0; rest %= digits[d].unit) {
      digits[d].most = rest / digits[d].unit;
      result.offset += digits[d].most * digits[d].image;
    }
    if (rest != 0)
      return std::nullopt;
    for (const Dim &dim : view.canonical().dims)
      if (!add(dim, result.dims))
        return std::nullopt;
    for (const Digit &digit : digits)
      if (digit.most >= digit.size)
        return std::nullopt;
    return result.canonical();
  }

private:
  bool add(Dim dim, std::vector<Dim> &to) {
    if (dim.stride == 0) {
      to.push_back(dim);
      return true;
    }
    size_t d = digits.size();
    while (d > 0 && digits[d - 1].unit > dim.stride)
      --d;
    if (d == 0 || dim.stride % digits[d - 1].unit)
      return false;
    Digit &digit = digits[d - 1];
    int64_t step = dim.stride / digit.unit;
    if (step >= digit.size && digit.size > 0)
      return false;
    if (digit.most + (dim.size - 1) * step < digit.size) {
      digit.most += (dim.size - 1) * step;
      to.push_back({dim.size, step * digit.image});
      return true;
    }
    // It goes on in the next digit: two dims, of which the inner one runs
    // through this digit.
    int64_t inner = digit.size / step;
    if (digit.size % step || dim.size % inner || digit.most >= step)
      return false;
    if (!add({dim.size / inner, digit.size * digit.unit}, to))
      return false;
    digit.most += (inner - 1) * step;
    to.push_back({inner, step * digit.image});
    return true;
  }

  std::vector<Digit> digits;
  bool isNested = true;
};

} // namespace

std::optional<View> compose(const View &of, const View &view) {
  std::vector<Digit> digits(of.dims.size());
  int64_t unit = 1;
  for (size_t d = of.dims.size(); d-- > 0; unit *= of.dims[d].size)
    digits[d] = {of.dims[d].size, unit, of.dims[d].stride};
  return Digits(std::move(digits)).map(of.offset, view);
}

std::optional<View> numbersIn(const View &of, const View &places) {
  std::vector<Digit> digits(of.dims.size());
  int64_t unit = 1;
  for (size_t d = of.dims.size(); d-- > 0; unit *= of.dims[d].size)
    digits[d] = {of.dims[d].size, of.dims[d].stride, unit};
  View relative = places;
  relative.offset -= of.offset;
  return Digits(std::move(digits)).map(0, relative);
}

bool areDisjoint(const View &a, int64_t sizeA, const View &b, int64_t sizeB) {
  if (a.count() == 0 || b.count() == 0 ||
      a.offset + a.reach() + sizeA <= b.offset ||
      b.offset + b.reach() + sizeB <= a.offset)
    return true;
  // Modulo a period of both they may be two intervals without a common byte.
  auto interval = [](const View &view, int64_t size, int64_t period) {
    View inner{view.offset, {}};
    for (const Dim &dim : view.dims)
      if (dim.stride % period)
        inner.dims.push_back(dim);
    int64_t begin = view.offset % period;
    return std::pair(begin, begin + inner.reach() + size);
  };
  for (const View *view : {&a, &b})
    for (const Dim &dim : view->dims) {
      if (dim.stride <= 0 || dim.size < 2)
        continue;
      auto [beginA, endA] = interval(a, sizeA, dim.stride);
      auto [beginB, endB] = interval(b, sizeB, dim.stride);
      if (endA <= dim.stride && endB <= dim.stride &&
          (endA <= beginB || endB <= beginA))
        return true;
    }
  return false;
}

} // namespace shardc::check
