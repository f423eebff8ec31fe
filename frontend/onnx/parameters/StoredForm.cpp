// Recognises masks, tables of sines and series by their recurrence.
#include "frontend/onnx/parameters/StoredForm.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>

using llvm::StringRef;
using ::onnx::TensorProto;

namespace shardc::onnx {
namespace {

// Three rows obey any recurrence; each further one is evidence.
constexpr int64_t fewestRows = 4;
// A table goes on as it begins.
constexpr int64_t mostRows = 64;
constexpr int64_t mostBytes = int64_t(1) << 22;

double decode(const char *bytes, int dtype) {
  auto narrow = [&](const llvm::fltSemantics &semantics) {
    uint16_t bits;
    std::memcpy(&bits, bytes, sizeof bits);
    llvm::APFloat value(semantics, llvm::APInt(16, bits));
    bool inexact;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &inexact);
    return value.convertToDouble();
  };
  switch (dtype) {
  case TensorProto::DOUBLE: {
    double value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  case TensorProto::FLOAT16:
    return narrow(llvm::APFloat::IEEEhalf());
  case TensorProto::BFLOAT16:
    return narrow(llvm::APFloat::BFloat());
  default: {
    float value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  }
}

/// Values are computed in float32 at best, and rounded to the stored type.
double toleranceOf(int dtype) {
  return dtype == TensorProto::BFLOAT16  ? 3e-2
         : dtype == TensorProto::FLOAT16 ? 4e-3
                                         : 1e-4;
}

bool isMask(llvm::ArrayRef<double> values, bool flat) {
  double other = 0;
  bool zero = false;
  for (double value : values) {
    zero |= value == 0;
    if (value == 0)
      continue;
    if (other != 0 && value != other)
      return false;
    other = value;
  }
  return zero && (other <= -1e4 || (other == 1 && !flat));
}

/// One column of a table.
enum class Column { Free, Constant, Oscillates, Grows };

Column formOfColumn(llvm::ArrayRef<double> values, int64_t columns,
                    int64_t column, llvm::ArrayRef<bool> skipped,
                    double tolerance) {
  double products = 0, squares = 0, largest = 0, least = INFINITY,
         most = -INFINITY;
  int64_t rows = values.size() / columns;
  auto at = [&](int64_t row) { return values[row * columns + column]; };
  for (int64_t row = 0; row < rows; ++row)
    if (!skipped[row]) {
      largest = std::max(largest, std::abs(at(row)));
      least = std::min(least, at(row));
      most = std::max(most, at(row));
    }
  if (!(largest < INFINITY))
    return Column::Free;
  if (most - least <= tolerance * largest)
    return Column::Constant;
  auto forEach = [&](auto visit) {
    for (int64_t row = 1; row + 1 < rows; ++row)
      if (!skipped[row - 1] && !skipped[row] && !skipped[row + 1])
        visit(at(row - 1) + at(row + 1), at(row));
  };
  int64_t equations = 0;
  forEach([&](double sum, double middle) {
    products += sum * middle;
    squares += middle * middle;
    ++equations;
  });
  // One equation gives the factor, the others are evidence: little of it where
  // values are coarse.
  if (equations < (tolerance < 1e-3 ? 2 : 6) || squares == 0)
    return Column::Free;
  const double factor = products / squares;
  bool obeys = true;
  forEach([&](double sum, double middle) {
    obeys &= std::abs(sum - factor * middle) <= 4 * tolerance * largest;
  });
  // What alternates (x, -x, x) obeys it too, and is no table.
  if (!obeys || factor < -2 + 1e-3)
    return Column::Free;
  return factor < 2 - 1e-3 && largest <= 1 + tolerance ? Column::Oscillates
                                                       : Column::Grows;
}

/// Whether all columns are sines and cosines of something, whatever that is of
/// the row: pairs whose squares add up to 1. They stand side by side, or half or a
/// quarter of a row apart (as over two axes of an image, one in each half).
bool arePairsOfSines(llvm::ArrayRef<double> values, int64_t columns,
                     llvm::ArrayRef<bool> skipped, double tolerance) {
  auto pairsAt = [&](int64_t distance) {
    if (distance < 1 || columns % (2 * distance) != 0)
      return false;
    for (size_t row = 0; row < skipped.size(); ++row)
      for (int64_t column = 0; !skipped[row] && column < columns; ++column) {
        if (column / distance % 2 == 1)
          continue;
        const double *x = &values[row * columns + column];
        if (!(std::abs(x[0] * x[0] + x[distance] * x[distance] - 1) <=
              4 * tolerance))
          return false;
      }
    return true;
  };
  // A few pairs could be unit vectors by chance, the more so where values are
  // coarse.
  auto rows = int64_t(llvm::count(skipped, false));
  return columns >= 8 && rows >= (tolerance < 1e-3 ? fewestRows : 8) &&
         (pairsAt(1) || pairsAt(columns / 2) || pairsAt(columns / 4));
}

} // namespace

StringRef formText(StoredForm form) {
  switch (form) {
  case StoredForm::Mask:
    return "a mask";
  case StoredForm::Sines:
    return "a table of sines";
  case StoredForm::Series:
    return "a series";
  default:
    return {};
  }
}

StoredForm formOfValues(llvm::ArrayRef<double> values, int64_t columns,
                        double tolerance) {
  if (columns < 1 || values.empty())
    return StoredForm::Unknown;
  if (llvm::all_equal(values))
    return StoredForm::Uniform;
  const int64_t rows = values.size() / columns;
  if (isMask(values, columns == 1))
    return StoredForm::Mask;
  if (rows < fewestRows)
    return StoredForm::Free;
  llvm::SmallVector<bool> skipped(rows);
  for (int64_t row = 0; row < rows; ++row)
    skipped[row] =
        columns > 1 && llvm::all_of(values.slice(row * columns, columns),
                                    [](double value) { return value == 0; });
  bool oscillates = false, grows = false;
  for (int64_t column = 0; column < columns; ++column) {
    Column form = formOfColumn(values, columns, column, skipped, tolerance);
    if (form == Column::Free)
      return arePairsOfSines(values, columns, skipped, tolerance)
                 ? StoredForm::Sines
                 : StoredForm::Free;
    oscillates |= form == Column::Oscillates;
    grows |= form == Column::Grows;
  }
  return oscillates && columns > 1 ? StoredForm::Sines
         : oscillates || !grows    ? StoredForm::Free
                                   : StoredForm::Series;
}

StoredForm formOf(const ModelFile &file, const Initializer &initializer) {
  const int64_t width = elementBytes(initializer.dtype);
  if (!initializer.bytes || initializer.elements == 0 || width < 2)
    return StoredForm::Unknown;
  if (std::optional<bool> uniform = file.isUniform(initializer);
      uniform.value_or(false))
    return StoredForm::Uniform;
  llvm::ArrayRef<int64_t> dims = initializer.dims;
  while (dims.size() > 1 && dims.front() == 1)
    dims = dims.drop_front();
  int64_t columns = 1;
  for (int64_t dim : dims.drop_front(dims.empty() ? 0 : 1))
    columns *= dim;
  const int64_t rows = initializer.elements / columns;
  auto form = [&](int64_t count) {
    ByteRange range = *initializer.bytes;
    range.length = std::min(range.length, count * columns * width);
    auto bytes = file.read(range);
    if (!bytes) {
      llvm::consumeError(bytes.takeError());
      return StoredForm::Unknown;
    }
    llvm::SmallVector<double> values;
    for (size_t at = 0; at + width <= bytes->size(); at += width)
      values.push_back(decode(bytes->data() + at, initializer.dtype));
    return formOfValues(values, columns, toleranceOf(initializer.dtype));
  };
  // Most tensors are seen to be none by their first rows.
  const int64_t few = std::min<int64_t>(rows, 8);
  if (few * columns * width > mostBytes)
    return StoredForm::Free;
  StoredForm begins = form(few);
  const int64_t more =
      std::min({rows, mostRows, std::max(few, mostBytes / (columns * width))});
  StoredForm result =
      more == few || begins == StoredForm::Free ? begins : form(more);
  // It is not, of the whole.
  return result == StoredForm::Uniform ? StoredForm::Free : result;
}

std::optional<int64_t> onlyZeroRow(const ModelFile &file,
                                   const Initializer &initializer) {
  const int64_t width = elementBytes(initializer.dtype);
  if (!initializer.bytes || initializer.elements == 0 || width < 2 ||
      initializer.dims.size() != 2)
    return std::nullopt;
  const int64_t rows = initializer.dims[0], row = initializer.dims[1] * width;
  const int64_t few = std::min(rows, std::max<int64_t>(mostBytes / 4 / row, 1));
  std::optional<int64_t> found;
  bool isOnly = true;
  auto look = [&](int64_t first, int64_t count) {
    ByteRange range = *initializer.bytes;
    range.offset += first * row;
    range.length = count * row;
    auto bytes = file.read(range);
    if (!bytes) {
      llvm::consumeError(bytes.takeError());
      return;
    }
    for (int64_t at = 0; at < count; ++at)
      if (llvm::all_of(StringRef(*bytes).substr(at * row, row),
                       [](char byte) { return byte == 0; })) {
        isOnly &= !found;
        found = first + at;
      }
  };
  look(0, few);
  const int64_t last = std::max(few, rows - few);
  look(last, rows - last);
  return isOnly && rows > 1 ? found : std::nullopt;
}

} // namespace shardc::onnx
