// Parsing of precisions, and which of them go together.
#include "passes/options/PrecisionOption.h"
#include "passes/options/Mesh.h"
#include "passes/options/UnitsOption.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

namespace shardc {

static constexpr StringLiteral types = "bf16, float16, float32 or float64";

StringRef nameOf(FloatKind kind) {
  switch (kind) {
  case FloatKind::BFloat16:
    return "bf16";
  case FloatKind::Float16:
    return "float16";
  case FloatKind::Float32:
    return "float32";
  case FloatKind::Float64:
    return "float64";
  }
  llvm_unreachable("all kinds are listed");
}

std::optional<FloatKind> parseFloatKind(StringRef text) {
  return StringSwitch<std::optional<FloatKind>>(text)
      .Cases({"bf16", "bfloat16"}, FloatKind::BFloat16)
      .Cases({"float16", "fp16"}, FloatKind::Float16)
      .Cases({"float32", "fp32"}, FloatKind::Float32)
      .Case("float64", FloatKind::Float64)
      .Default(std::nullopt);
}

mlir::FloatType floatType(mlir::MLIRContext *context, FloatKind kind) {
  switch (kind) {
  case FloatKind::BFloat16:
    return mlir::BFloat16Type::get(context);
  case FloatKind::Float16:
    return mlir::Float16Type::get(context);
  case FloatKind::Float32:
    return mlir::Float32Type::get(context);
  case FloatKind::Float64:
    return mlir::Float64Type::get(context);
  }
  llvm_unreachable("all kinds are listed");
}

bool isHalf(FloatKind kind) {
  return kind == FloatKind::BFloat16 || kind == FloatKind::Float16;
}

bool PrecisionOption::isUniform() const {
  return parameters == gradients && parameters == output &&
         parameters == master && !isHalf(parameters);
}

std::string PrecisionOption::warning() const {
  if (!isHalf(master))
    return {};
  // Half of the distance between two neighbours, at the end of a binade.
  const bool brain = master == FloatKind::BFloat16;
  return ("--master " + nameOf(master) + ": updates smaller than 2^-" +
          Twine(brain ? 9 : 12) +
          " of a weight vanish, and the optimizer's state is rounded too; "
          "float32 keeps both")
      .str();
}

/// Splits at commas; a part without '=' goes on with the one before: a comma of
/// a regular expression.
static SmallVector<std::string> splitParts(StringRef text) {
  SmallVector<std::string> parts;
  for (StringRef part : split(text, ','))
    if (part.contains('=') || parts.empty())
      parts.push_back(part.str());
    else
      parts.back() += ("," + part).str();
  return parts;
}

static Error readKept(StringRef text, PrecisionOption &option) {
  option.keepsNorms = option.keepsSoftmax = option.keepsLoss = false;
  if (text.empty())
    return Error::success();
  for (StringRef kept : split(text, '|')) {
    std::string problem;
    if (kept == "norm")
      option.keepsNorms = true;
    else if (kept == "softmax")
      option.keepsSoftmax = true;
    else if (kept == "loss")
      option.keepsLoss = true;
    else if (kept.empty())
      return createStringError(
          "--precision: keep: has an empty part in '" + text +
          "'; expects norm, softmax, loss or regular expressions, "
          "with | between");
    else if (!Regex(translatePattern(kept)).isValid(problem))
      return createStringError("--precision: keep: '" + kept +
                               "' is no regular expression: " + problem);
    else
      option.keptPatterns.push_back(kept.str());
  }
  return Error::success();
}

/// What the types must be to each other.
static Error checkTypes(const PrecisionOption &o) {
  auto both = [](const Twine &part, FloatKind kind, FloatKind parameters) {
    return (part + nameOf(kind) + " with param=" + nameOf(parameters)).str();
  };
  const FloatKind all[] = {o.parameters, o.gradients, o.output, o.master};
  if (is_contained(all, FloatKind::Float64)) {
    if (all_of(all, [](FloatKind k) { return k == FloatKind::Float64; }))
      return Error::success();
    return createStringError(
        "--precision: float64 is for a whole run, got param=" +
        nameOf(o.parameters) + ", reduce=" + nameOf(o.gradients) +
        ", output=" + nameOf(o.output) + " and master " + nameOf(o.master) +
        "; say --precision float64 alone");
  }
  if (isHalf(o.gradients) && o.gradients != o.parameters)
    return createStringError(
        "--precision: " + both("reduce=", o.gradients, o.parameters) +
        ": gradients have their parameters' type or float32");
  if (o.output == FloatKind::Float16)
    return createStringError(
        "--precision: output=float16 cannot hold a loss that is "
        "scaled by up to 2^16; expects float32");
  if (isHalf(o.output) && o.output != o.parameters)
    return createStringError(
        "--precision: " + both("output=", o.output, o.parameters) +
        ": outputs have the parameters' type or float32");
  if (isHalf(o.master) && o.master != o.parameters)
    return createStringError(
        "--precision: " + both("--master ", o.master, o.parameters) +
        ": master weights have the parameters' type or float32");
  return Error::success();
}

Expected<PrecisionOption> PrecisionOption::parse(StringRef text,
                                                 StringRef master) {
  PrecisionOption option;
  std::optional<FloatKind> reduce, output;
  if (!text.contains('=')) {
    std::optional<FloatKind> kind = parseFloatKind(text);
    if (!kind)
      return createStringError(
          "--precision: expects " + types +
          ", or param=TYPE[,reduce=TYPE][,output=TYPE][,keep=norm|"
          "softmax|loss|REGEX], got '" +
          text + "'");
    option.parameters = *kind;
  } else {
    StringSet<> seen;
    for (StringRef part : splitParts(text)) {
      auto [key, value] = part.split('=');
      if (!seen.insert(key).second)
        return createStringError("--precision: '" + key + "' is given twice");
      if (key == "keep") {
        if (Error error = readKept(value, option))
          return error;
        continue;
      }
      if (key != "param" && key != "reduce" && key != "output")
        return createStringError("--precision: there is no part '" + key +
                                 "'; there are param, reduce, output and keep");
      std::optional<FloatKind> kind = parseFloatKind(value);
      if (!kind)
        return createStringError("--precision: " + key + ": expects " + types +
                                 ", got '" + value + "'");
      if (key == "param")
        option.parameters = *kind;
      else
        (key == "reduce" ? reduce : output) = kind;
    }
  }
  const FloatKind wide = option.parameters == FloatKind::Float64
                             ? FloatKind::Float64
                             : FloatKind::Float32;
  option.gradients = reduce.value_or(wide);
  option.output = output.value_or(wide);
  option.master = wide;
  if (master == "split") {
    option.splitsMaster = true;
    if (option.parameters != FloatKind::BFloat16)
      return createStringError(
          "--precision: --master split with param=" +
          nameOf(option.parameters) +
          ": a float32 master is split into bf16 parameters and the rest; give "
          "--precision bf16, or no --master");
  } else if (!master.empty()) {
    std::optional<FloatKind> kind = parseFloatKind(master);
    if (!kind)
      return createStringError(
          "--master: expects bf16, float16, float32 or split, got '" + master +
          "'");
    option.master = *kind;
  }
  if (Error error = checkTypes(option))
    return error;
  return option;
}

Expected<std::optional<UnitPrecision>>
UnitPrecision::parse(StringRef text, const PrecisionOption &precision) {
  auto option = UnitOption::parse(text);
  if (!option)
    return option.takeError();
  if (option->precision.empty())
    return std::nullopt;
  auto failure = [&](const Twine &what) {
    return createStringError("--unit-option " + text + ": " + what);
  };
  UnitPrecision unit;
  unit.match = option->match;
  std::optional<FloatKind> kind = parseFloatKind(option->precision);
  if (!kind)
    return failure("precision: expects " + types + ", got '" +
                   option->precision + "'");
  unit.kind = *kind;
  if (*kind == precision.parameters)
    return unit;
  const std::string run =
      (nameOf(*kind) + " in a run of param=" + nameOf(precision.parameters))
          .str();
  if (*kind == FloatKind::Float64 || precision.parameters == FloatKind::Float64)
    return failure(run + ": float64 is for a whole run");
  if (*kind == FloatKind::Float16)
    return failure(run + ": float16 needs the loss scaling that --precision "
                         "float16 brings");
  if (isHalf(*kind) && isHalf(precision.parameters))
    return failure(run + ": a run has one 16-bit type");
  if (!isHalf(*kind) && isHalf(precision.gradients))
    return failure(run +
                   ": gradients of reduce=" + nameOf(precision.gradients) +
                   " would be narrower than their parameters; say "
                   "reduce=float32");
  if (!isHalf(*kind) && isHalf(precision.master))
    return failure(run + ": master weights of " + nameOf(precision.master) +
                   " would be narrower than the parameters; say --master "
                   "float32");
  return unit;
}

} // namespace shardc
