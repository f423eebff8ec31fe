// What --loss says: parsing.
#include "passes/options/LossOption.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <limits>

using namespace llvm;

namespace shardc {

using runtime::LossMean;

static constexpr StringLiteral forms =
    "accepted are cross-entropy:logits=NAME,labels=NAME[,ignore=N][,shift=N]"
    "[,label-smoothing=S][,class-weights=W:W:...], "
    "soft-cross-entropy:logits=NAME,target=NAME[,label-smoothing=S]"
    "[,class-weights=W:W:...], "
    "binary-cross-entropy:logits=NAME,target=NAME[,pos-weight=W[:W...]], mse "
    "or l1:output=NAME,target=NAME, "
    "smooth-l1:output=NAME,target=NAME[,beta=B], "
    "huber:output=NAME,target=NAME[,delta=D] and output:NAME";

static Error refuseLoss(const Twine &what) {
  return createStringError("--loss: " + what + "; " + forms);
}

namespace {

/// The keys of a kind of loss, and what they set.
class LossParser {
public:
  LossParser(LossOption &option, StringRef word) : option(option), word(word) {}

  Error parse(StringRef keys);

private:
  bool isCrossEntropy() const { return option.kind->of == LossMean::Labels; }
  /// Whether it is of the classes of a row: one of them, or their probabilities.
  bool isOfClasses() const {
    return isCrossEntropy() || option.kind->of == LossMean::Rows;
  }
  StringRef outputKey() const {
    return word.ends_with("cross-entropy") ? "logits" : "output";
  }
  StringRef targetKey() const { return isCrossEntropy() ? "labels" : "target"; }
  /// "" for a kind without.
  StringRef numberKey() const {
    return word == "huber" ? "delta" : word == "smooth-l1" ? "beta" : "";
  }
  Error take(StringRef key, StringRef value);
  /// Numbers of 0 or more; a mean cannot divide by weights that are all 0.
  static Error takeWeights(StringRef key, StringRef value,
                           std::vector<double> &weights);
  static Error takeNumber(StringRef key, StringRef value, double low,
                          double high, const Twine &range, double &number);

  LossOption &option;
  StringRef word;
};

Error LossParser::takeNumber(StringRef key, StringRef value, double low,
                             double high, const Twine &range, double &number) {
  if (value.getAsDouble(number) || !(number >= low && number <= high))
    return refuseLoss("expects " + key + " to be a number " + range +
                      ", got '" + value + "'");
  return Error::success();
}

Error LossParser::takeWeights(StringRef key, StringRef value,
                              std::vector<double> &weights) {
  SmallVector<StringRef> texts;
  value.split(texts, ':');
  for (StringRef text : texts)
    if (Error error = takeNumber(("a weight of " + key).str(), text, 0,
                                 std::numeric_limits<float>::max(),
                                 "of 0 or more", weights.emplace_back()))
      return error;
  if (key == "class-weights" &&
      llvm::all_of(weights, [](double of) { return of == 0; }))
    return refuseLoss("expects a weight of " + key + " to be above 0, got '" +
                      value + "'");
  return Error::success();
}

Error LossParser::take(StringRef key, StringRef value) {
  constexpr double largest = std::numeric_limits<double>::max();
  if (key == outputKey()) {
    option.output = value.str();
  } else if (key == targetKey()) {
    option.target = value.str();
  } else if (isCrossEntropy() && (key == "ignore" || key == "shift")) {
    int64_t &number = key == "ignore" ? option.ignore : option.shift;
    if (value.getAsInteger(10, number) || (key == "shift" && number < 0))
      return refuseLoss("expects " + key + " to be a whole number" +
                        (key == "shift" ? " from 0 on" : "") + ", got '" +
                        value + "'");
  } else if (isOfClasses() && key == "label-smoothing") {
    return takeNumber(key, value, 0, 1, "from 0 to 1", option.smoothing);
  } else if (isOfClasses() && key == "class-weights") {
    return takeWeights(key, value, option.classWeights);
  } else if (word == "binary-cross-entropy" && key == "pos-weight") {
    return takeWeights(key, value, option.positiveWeights);
  } else if (!numberKey().empty() && key == numberKey()) {
    // torch: a delta of 0 would be no loss; a beta of 0 is l1.
    const double low = key == "delta" ? std::numeric_limits<double>::min() : 0;
    return takeNumber(key, value, low, largest,
                      key == "delta" ? "above 0" : "of 0 or more",
                      option.number);
  } else {
    return refuseLoss("unknown key '" + key + "' of " + word);
  }
  return Error::success();
}

Error LossParser::parse(StringRef keys) {
  SmallVector<StringRef> parts;
  keys.split(parts, ',', -1, /*KeepEmpty=*/false);
  StringSet<> seen;
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    if (value.empty())
      return refuseLoss("'" + part + "' is not KEY=VALUE");
    if (!seen.insert(key).second)
      return refuseLoss("'" + key + "' is given twice");
    if (Error error = take(key, value))
      return error;
  }
  for (StringRef key : {outputKey(), targetKey()})
    if (!seen.contains(key))
      return refuseLoss(word + " needs " + key + "=NAME");
  return Error::success();
}

} // namespace

Expected<LossOption> LossOption::parse(StringRef text) {
  auto [word, keys] = text.split(':');
  std::string name = word.str();
  std::replace(name.begin(), name.end(), '-', '_');
  LossOption option;
  option.kind = runtime::findLossKind(name);
  if (!option.kind || word.contains('_'))
    return refuseLoss("unknown kind '" + word + "'");
  if (option.kind->of == LossMean::Batches) {
    option.output = keys.str();
    if (keys.empty())
      return refuseLoss("output: is followed by no name");
    return option;
  }
  if (Error error = LossParser(option, word).parse(keys))
    return std::move(error);
  return option;
}

} // namespace shardc
