// Einsum: operands are contracted one after the other, each pair by one product.
// https://onnx.ai/onnx/operators/onnx__Einsum.html
#include "frontend/onnx/decode/Decoder.h"

#include <map>
#include <set>

using namespace mlir;
using namespace shardc;
using namespace shardc::onnx;

namespace {

/// A dim's name: its letter, or a number below 0 for one of the ellipsis,
/// counted from the last, -1.
using Label = int;
using Labels = SmallVector<Label, 8>;

/// An operand whose dims have names, each once.
struct Term {
  Operand value;
  Labels labels;
};

class Contraction {
public:
  explicit Contraction(NodeContext &context)
      : context(context), emit(context.emit) {}

  /// The equation's inputs and output; errors are the node's.
  LogicalResult parse(StringRef equation);
  FailureOr<Operand> run();

private:
  LogicalResult addTerm(const Operand &input, StringRef letters);
  Operand diagonal(Operand value, Labels &labels);
  /// With the dims in that order; those that it lacks have size 1.
  Operand arranged(const Term &term, ArrayRef<Label> order);
  Term summed(const Term &term, const std::set<Label> &kept);
  FailureOr<Term> product(const Term &lhs, const Term &rhs,
                          const std::set<Label> &kept);
  Operand multiplied(const Operand &lhs, const Operand &rhs);
  int64_t sizeOf(ArrayRef<Label> labels) const {
    int64_t size = 1;
    for (Label label : labels)
      size *= sizes.at(label);
    return size;
  }
  Shape shapeOf(ArrayRef<Label> labels) const {
    Shape shape;
    for (Label label : labels)
      shape.push_back(sizes.at(label));
    return shape;
  }

  NodeContext &context;
  Emitter &emit;
  SmallVector<Term> terms;
  Labels output;
  std::map<Label, int64_t> sizes;
  std::map<Label, int> occurrences;
};

/// Letters and one ellipsis, without blanks.
bool isWellFormed(StringRef letters) {
  auto [before, after] = letters.split("...");
  return llvm::all_of(before, llvm::isAlpha) &&
         llvm::all_of(after, llvm::isAlpha);
}

/// The names of dims, `ellipsis` of which stand for "...".
Labels labelsOf(StringRef letters, int64_t ellipsis) {
  Labels labels;
  while (!letters.empty()) {
    if (letters.consume_front("...")) {
      for (int64_t i = ellipsis; i > 0; --i)
        labels.push_back(Label(-i));
      continue;
    }
    labels.push_back(letters.front());
    letters = letters.drop_front();
  }
  return labels;
}

/// Dims of one name are one dim, that of the elements on their diagonal.
Operand Contraction::diagonal(Operand value, Labels &labels) {
  for (size_t first = 0; first < labels.size(); ++first)
    for (size_t second = first + 1; second < labels.size();) {
      if (labels[first] != labels[second]) {
        ++second;
        continue;
      }
      // [..., n, ..., n] as [rest..., n n], of which every n + 1st is taken.
      Shape permutation, rest;
      for (size_t dim = 0; dim < labels.size(); ++dim)
        if (dim != first && dim != second) {
          permutation.push_back(int64_t(dim));
          rest.push_back(value.shape()[dim]);
        }
      permutation.append({int64_t(first), int64_t(second)});
      int64_t size = value.shape()[first];
      Shape flat(rest);
      flat.push_back(size * size);
      value = emit.reshape(emit.transpose(value, permutation), flat);
      Shape starts(flat.size(), 0), sizes(flat), steps(flat.size(), 1);
      sizes.back() = size;
      steps.back() = size + 1;
      value = emit.slice(value, starts, sizes, steps);
      // Back to where the first of them was.
      Shape back = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(rest.size())));
      back.insert(back.begin() + int64_t(first), int64_t(rest.size()));
      value = emit.transpose(value, back);
      labels.erase(labels.begin() + int64_t(second));
    }
  return value;
}

LogicalResult Contraction::addTerm(const Operand &input, StringRef letters) {
  bool hasEllipsis = letters.contains("...");
  int64_t named = int64_t(letters.size()) - (hasEllipsis ? 3 : 0);
  if (hasEllipsis ? input.rank() < named : input.rank() != named)
    return context.error("expects input " + Twine(terms.size()) +
                         " to have the dims '" + letters + "', got rank " +
                         Twine(input.rank()));
  Labels labels = labelsOf(letters, input.rank() - named);
  for (auto [label, size] : llvm::zip(labels, input.shape())) {
    ++occurrences[label];
    int64_t &known = sizes.try_emplace(label, size).first->second;
    if (known != size && known != 1 && size != 1)
      return context.error("has a dim of " + Twine(known) + " and of " +
                           Twine(size) + " elements; check the --dim flags");
    known = std::max(known, size);
  }
  for (size_t i = 0; i < labels.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (labels[i] == labels[j] && input.shape()[i] != input.shape()[j])
        return context.error("takes the diagonal of dims of " +
                             Twine(input.shape()[j]) + " and " +
                             Twine(input.shape()[i]) + " elements");
  Operand value = diagonal(input, labels);
  terms.push_back({value, labels});
  return success();
}

LogicalResult Contraction::parse(StringRef equation) {
  std::string text;
  for (char each : equation)
    if (each != ' ')
      text += each;
  auto [inputs, result] = StringRef(text).split("->");
  bool hasResult = text.find("->") != std::string::npos;
  SmallVector<StringRef> all;
  inputs.split(all, ',');
  if (all.size() != context.inputCount())
    return context.error("has " + Twine(context.inputCount()) +
                         " inputs and an equation of " + Twine(all.size()) +
                         ": '" + equation + "'");
  for (auto [i, letters] : llvm::enumerate(all)) {
    if (!isWellFormed(letters))
      return context.error("has the equation '" + equation + "', of which '" +
                           letters + "' is not understood");
    if (failed(addTerm(context.input(i), letters)))
      return failure();
  }
  int64_t ellipsis = 0;
  for (const auto &[label, size] : sizes)
    ellipsis = std::max<int64_t>(ellipsis, -label);
  if (hasResult) {
    if (!isWellFormed(result))
      return context.error("has the equation '" + equation + "', of which '" +
                           result + "' is not understood");
    output = labelsOf(result, ellipsis);
  } else {
    // The ellipsis, and then what occurs once, in the order of the alphabet.
    for (const auto &[label, count] : occurrences)
      if (label < 0 || count == 1)
        output.push_back(label);
  }
  std::set<Label> seen;
  for (Label label : output)
    if (!sizes.contains(label) || !seen.insert(label).second)
      return context.error("has the equation '" + equation +
                           "', whose result names a dim that no input has, or "
                           "one twice");
  return success();
}

Operand Contraction::arranged(const Term &term, ArrayRef<Label> order) {
  Shape permutation, shape;
  for (Label label : order) {
    auto found = llvm::find(term.labels, label);
    bool isThere = found != term.labels.end();
    if (isThere)
      permutation.push_back(found - term.labels.begin());
    shape.push_back(isThere ? term.value.shape()[permutation.back()] : 1);
  }
  return emit.reshape(emit.transpose(term.value, permutation), shape);
}

Term Contraction::summed(const Term &term, const std::set<Label> &kept) {
  Shape dims;
  Term result;
  for (auto [dim, label] : llvm::enumerate(term.labels))
    if (kept.contains(label))
      result.labels.push_back(label);
    else
      dims.push_back(int64_t(dim));
  if (dims.empty())
    return term;
  Shape shape;
  for (auto [dim, size] : llvm::enumerate(term.value.shape()))
    if (!llvm::is_contained(dims, int64_t(dim)))
      shape.push_back(size);
  result.value =
      emit.reshape(emit.reduce<nn::ReduceSumOp>(term.value, dims), shape);
  return result;
}

/// [batch, m, k] times [batch, k, n], or [m, k] times [k, n].
Operand Contraction::multiplied(const Operand &lhs, const Operand &rhs) {
  Type element = lhs.elementType();
  int64_t batch = lhs.shape()[0], m = lhs.shape()[1], n = rhs.shape()[2];
  if (batch == 1) {
    Operand rows = emit.reshape(lhs, lhs.shape().drop_front()),
            matrix = emit.reshape(rhs, rhs.shape().drop_front());
    return emit.linear(rows, matrix, false);
  }
  return emit.emit<nn::MatMulOp>(emit.typeOf({batch, m, n}, element),
                                 {lhs, rhs});
}

FailureOr<Term> Contraction::product(const Term &left, const Term &right,
                                     const std::set<Label> &kept) {
  // What only one of them has, and nobody needs, is summed before.
  std::set<Label> ofLeft = kept, ofRight = kept;
  ofLeft.insert(right.labels.begin(), right.labels.end());
  ofRight.insert(left.labels.begin(), left.labels.end());
  Term lhs = summed(left, ofLeft), rhs = summed(right, ofRight);
  Labels batch, rows, inner, columns;
  for (Label label : lhs.labels) {
    bool isShared = llvm::is_contained(rhs.labels, label);
    (!isShared ? rows : kept.contains(label) ? batch : inner).push_back(label);
  }
  for (Label label : rhs.labels)
    if (!llvm::is_contained(lhs.labels, label))
      columns.push_back(label);
  Labels all(batch);
  llvm::append_range(all, rows);
  llvm::append_range(all, columns);
  if (inner.empty() || !lhs.value.isFloat()) {
    llvm::append_range(all, inner);
    if (failed(context.checkShape(shapeOf(all))))
      return failure();
    Term whole = {
        emit.binary<nn::MulOp>(arranged(lhs, all), arranged(rhs, all)), all};
    return summed(whole, kept);
  }
  if (failed(context.checkShape(shapeOf(all))))
    return failure();
  // A dim of 1 stands for as many as the other has.
  auto matrix = [&](const Term &term, const Labels &first,
                    const Labels &second) {
    Labels order(batch);
    llvm::append_range(order, first);
    llvm::append_range(order, second);
    Operand value = emit.broadcast(arranged(term, order), shapeOf(order));
    return emit.reshape(value, {sizeOf(batch), sizeOf(first), sizeOf(second)});
  };
  Operand value =
      multiplied(matrix(lhs, rows, inner), matrix(rhs, inner, columns));
  return Term{emit.reshape(value, shapeOf(all)), all};
}

FailureOr<Operand> Contraction::run() {
  Term result = terms[0];
  for (size_t i = 1; i <= terms.size(); ++i) {
    std::set<Label> kept(output.begin(), output.end());
    for (size_t later = i + 1; later < terms.size(); ++later)
      kept.insert(terms[later].labels.begin(), terms[later].labels.end());
    if (i == terms.size()) {
      result = summed(result, kept);
      break;
    }
    FailureOr<Term> next = product(result, terms[i], kept);
    if (failed(next))
      return failure();
    result = *next;
  }
  return emit.broadcast(arranged(result, output), shapeOf(output));
}

LogicalResult einsum(NodeContext &context) {
  if (context.inputCount() == 0)
    return context.error("has no inputs");
  if (failed(context.sameElementType(0, context.inputCount() - 1)))
    return failure();
  Contraction contraction(context);
  if (failed(contraction.parse(context.stringAttribute("equation", ""))))
    return failure();
  Emitter::OneRounding one(context.emit);
  FailureOr<Operand> result = contraction.run();
  if (failed(result))
    return failure();
  context.set(0, one.result(*result));
  return success();
}

} // namespace

ArrayRef<Decoder> shardc::onnx::einsumDecoders() {
  static constexpr Decoder decoders[] = {
      {"Einsum", 12, 1, -1, einsum},
  };
  return decoders;
}
