// What --precision, --master and the `precision` of a --unit-option say.
#ifndef SHARDC_PASSES_OPTIONS_PRECISIONOPTION_H
#define SHARDC_PASSES_OPTIONS_PRECISIONOPTION_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace shardc {

enum class FloatKind { BFloat16, Float16, Float32, Float64 };

/// bf16, float16, float32 or float64: the name in messages.
llvm::StringRef nameOf(FloatKind kind);
/// bf16 or bfloat16, float16 or fp16, float32 or fp32, float64.
std::optional<FloatKind> parseFloatKind(llvm::StringRef text);
mlir::FloatType floatType(mlir::MLIRContext *context, FloatKind kind);
bool isHalf(FloatKind kind);

/// `TYPE`, or parts of
/// `param=TYPE,reduce=TYPE,output=TYPE,keep=norm|softmax|loss|REGEX`, and the
/// type of the master weights. docs/precision.md says what each decides. A bare
/// TYPE is param=TYPE with the defaults of the others: float32, or float64 with
/// float64, and keep=norm|softmax|loss.
struct PrecisionOption {
  FloatKind parameters = FloatKind::Float32;
  FloatKind gradients = FloatKind::Float32; // "reduce"
  FloatKind output = FloatKind::Float32;
  FloatKind master = FloatKind::Float32;
  /// Float32 masters of bf16 parameters are these and what is missing to them.
  bool splitsMaster = false;
  bool keepsNorms = true, keepsSoftmax = true, keepsLoss = true;
  std::vector<std::string> keptPatterns; // regular expressions

  /// Whether all values have one type.
  bool isUniform() const;
  /// What 16-bit master weights lose; empty where there is nothing to say.
  std::string warning() const;

  /// `master` is empty where it was not said. Errors are one line that names
  /// the part, what it got and what is accepted; types that contradict each
  /// other are errors too.
  static llvm::Expected<PrecisionOption> parse(llvm::StringRef text,
                                               llvm::StringRef master);
};

/// The precision that a --unit-option gives to the units that match.
struct UnitPrecision {
  std::string match; // regular expression
  FloatKind kind = FloatKind::Float32;

  /// Of a --unit-option (UnitOption); nothing where it says no precision.
  /// Errors are one line.
  static llvm::Expected<std::optional<UnitPrecision>>
  parse(llvm::StringRef text, const PrecisionOption &precision);
};

} // namespace shardc

#endif
