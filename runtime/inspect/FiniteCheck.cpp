// The first number that is not finite, and what it was made of.
#include "runtime/inspect/FiniteCheck.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardc::runtime {
namespace {

using Operand = InspectedEntry::Operand;

/// An element that is not finite.
struct Wrong {
  int64_t position; // row-major
  double value;
};

bool isWrong(double value) {
  return std::isnan(value) || value == std::numeric_limits<double>::infinity();
}

/// What an entry writes for certain.
bool isMade(const Operand &operand) {
  return operand.access == entry::Access::Write ||
         operand.access == entry::Access::Update;
}

class FiniteCheck final : public Inspector {
public:
  explicit FiniteCheck(CheckSwitch when) : when(std::move(when)) {}

  bool looksAt(const StepNumbers &) const override { return !when || *when; }

  void inspect(const InspectedEntry &entry, const StepNumbers &numbers,
               Device &device) override {
    // What is moved others have made, or was looked at.
    if (entry.onlyMoves)
      return;
    for (const Operand &result : entry.operands) {
      if (!isMade(result))
        continue;
      std::optional<Wrong> wrong = firstWrong(device, result.tensor);
      if (!wrong)
        continue;
      std::string text = concat(
          entry.place, ": makes the first number that is not finite, in step ",
          numbers.step, ", micro-batch ", numbers.microBatch + 1, "/",
          numbers.microBatches, ": ", describe(result, *wrong));
      for (const Operand &operand : entry.operands)
        if (operand.access == entry::Access::Read)
          if (std::optional<Wrong> before = wrongBefore(device, entry, operand))
            text += "; of what it read, " + describe(operand, *before);
      throw Error(text);
    }
  }

private:
  std::optional<Wrong> firstWrong(Device &device, const Tensor &tensor) {
    std::optional<Wrong> wrong;
    if (!isFloat(tensor.dtype))
      return wrong;
    readElements(device, tensor, bytes,
                 [&](const std::byte *piece, int64_t first, int64_t count) {
                   values.resize(size_t(count));
                   convertElements(piece, tensor.dtype,
                                   reinterpret_cast<std::byte *>(values.data()),
                                   plan::FLOAT64, count);
                   auto found =
                       std::find_if(values.begin(), values.end(), isWrong);
                   if (found != values.end())
                     wrong = {first + (found - values.begin()), *found};
                   return !wrong;
                 });
    return wrong;
  }
  /// What was wrong with an operand that the entry has not written over.
  std::optional<Wrong> wrongBefore(Device &device, const InspectedEntry &entry,
                                   const Operand &operand) {
    for (const Operand &result : entry.operands)
      if (isMade(result) && result.tensor.data == operand.tensor.data)
        return std::nullopt;
    return firstWrong(device, operand.tensor);
  }
  static std::string describe(const Operand &operand, const Wrong &wrong) {
    return concat(operand.name, " ", operand.tensor.describe(), " has ",
                  std::isnan(wrong.value) ? "nan" : "inf", " at element ",
                  wrong.position);
  }

  CheckSwitch when;
  std::vector<std::byte> bytes;
  std::vector<double> values;
};

} // namespace

InspectorFactory finiteCheck(CheckSwitch when) {
  return [when = std::move(when)](Communicator &) {
    return std::make_unique<FiniteCheck>(when);
  };
}

} // namespace shardc::runtime
