// Builds nn ops from operands that are constants or values of the run. An op
// whose operands are all constants is evaluated on the host and leaves no op
// behind, so shape and mask arithmetic vanishes while it is decoded.
#ifndef SHARDC_FRONTEND_ONNX_DECODE_EMITTER_H
#define SHARDC_FRONTEND_ONNX_DECODE_EMITTER_H

#include "frontend/nn/NN.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace shardc::onnx {

using Shape = llvm::SmallVector<int64_t>;

/// ONNX's name of an element type, "int64".
std::string typeName(mlir::Type element);
/// "float, double, ... and bool": all types that there are.
std::string supportedTypeNames();

struct Drawn;

/// What an ONNX value is while importing: a constant, a value of the run, a
/// sequence of such, or numbers that are drawn (Drawn.h).
class Operand {
public:
  Operand() = default;
  Operand(nn::HostTensor host) : hostTensor(std::move(host)) {}
  Operand(mlir::Value value) : irValue(value) {}
  Operand(std::shared_ptr<const Drawn> drawn)
      : drawnNumbers(std::move(drawn)) {}
  static Operand sequence(std::vector<Operand> elements) {
    Operand result;
    result.elements =
        std::make_shared<const std::vector<Operand>>(std::move(elements));
    return result;
  }

  explicit operator bool() const {
    return hostTensor || irValue || elements || drawnNumbers;
  }
  bool isConstant() const { return static_cast<bool>(hostTensor); }
  bool isSequence() const { return static_cast<bool>(elements); }
  bool isDrawn() const { return static_cast<bool>(drawnNumbers); }
  const Drawn &drawn() const { return *drawnNumbers; }
  const nn::HostTensor &host() const { return hostTensor; }
  mlir::Value value() const { return irValue; }
  llvm::ArrayRef<Operand> sequenceElements() const { return *elements; }

  mlir::RankedTensorType type() const;
  mlir::Type elementType() const { return type().getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  int64_t rank() const { return type().getRank(); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(elementType()); }

private:
  friend class Emitter;
  nn::HostTensor hostTensor;
  /// Which constant this is, where its values are too many to compare: equal
  /// numbers mean equal values. 0: not known.
  uint64_t number = 0;
  mlir::Value irValue;
  std::shared_ptr<const std::vector<Operand>> elements;
  std::shared_ptr<const Drawn> drawnNumbers;
};

/// What integers are made of floats of.
struct Quantized {
  Operand input;
  Operand places; ///< whole numbers, before they were bounded by the type
  Operand scale;
};

class Quantizations {
public:
  void note(mlir::Value integers, Quantized from) {
    all[integers] = std::move(from);
  }
  /// Null: these integers were not quantized.
  const Quantized *of(mlir::Value integers) const {
    auto found = all.find(integers);
    return found == all.end() ? nullptr : &found->second;
  }

private:
  llvm::DenseMap<mlir::Value, Quantized> all;
};

class Emitter {
public:
  /// Emits into the (empty) `block`.
  explicit Emitter(mlir::Block *block);
  ~Emitter();

  Quantizations quantizations;

  void setLocation(mlir::Location location) { loc = location; }
  mlir::Builder &attributes() { return builder; }
  mlir::RankedTensorType typeOf(llvm::ArrayRef<int64_t> shape,
                                mlir::Type element) const {
    return mlir::RankedTensorType::get(shape, element);
  }

  /// Builds an op, or evaluates it where all operands are constants.
  llvm::SmallVector<Operand>
  emit(llvm::StringRef name, llvm::ArrayRef<mlir::Type> results,
       llvm::ArrayRef<Operand> operands,
       llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  template <typename Op>
  Operand emit(mlir::RankedTensorType result, llvm::ArrayRef<Operand> operands,
               llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// What floats of a type are computed in: float64, or float32.
  mlir::Type arithmeticType(mlir::Type element) {
    return element.isF64() ? element : builder.getF32Type();
  }
  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute attribute) {
    return builder.getNamedAttr(name, attribute);
  }
  mlir::NamedAttribute named(llvm::StringRef name, int64_t value) {
    return named(name, builder.getI64IntegerAttr(value));
  }
  mlir::NamedAttribute named(llvm::StringRef name,
                             llvm::ArrayRef<int64_t> values) {
    return named(name, builder.getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute flag(llvm::StringRef name) {
    return named(name, builder.getUnitAttr());
  }

  /// The value of an operand: a constant becomes nn.constant (and
  /// nn.broadcast), once.
  mlir::Value materialize(const Operand &operand);

  class OneRounding;

  // Constants.
  Operand scalar(mlir::Type element, double value);
  Operand splat(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                double value);
  Operand ints(llvm::ArrayRef<int64_t> values); ///< i64 [n]
  Operand integer(int64_t value);               ///< i64 []
  /// 0, 1, ..., n-1 along `dim` of a tensor of that rank.
  Operand iota(int64_t count, int64_t dim, int64_t rank);

  // Ops that move elements.
  Operand reshape(const Operand &input, llvm::ArrayRef<int64_t> shape);
  Operand transpose(const Operand &input, llvm::ArrayRef<int64_t> permutation);
  /// Aligns dims at the right; every dim of the input is 1 or that of `shape`.
  Operand broadcast(const Operand &input, llvm::ArrayRef<int64_t> shape);
  /// Elements starts[d], starts[d]+steps[d], ...; `sizes[d]` of them. Steps may
  /// be negative.
  Operand slice(const Operand &input, llvm::ArrayRef<int64_t> starts,
                llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> steps);
  /// `size` elements of one dim.
  Operand sliceDim(const Operand &input, int64_t dim, int64_t start,
                   int64_t size);
  Operand concat(llvm::ArrayRef<Operand> inputs, int64_t axis);
  /// `low[d]` zeros before the elements, `high[d]` behind them, `interior[d]`
  /// between them.
  Operand pad(const Operand &input, llvm::ArrayRef<int64_t> low,
              llvm::ArrayRef<int64_t> high, llvm::ArrayRef<int64_t> interior);
  Operand cast(const Operand &input, mlir::Type element);

  // Elementwise ops; operands are broadcast against each other, their shapes
  // must allow it.
  template <typename Op> Operand unary(const Operand &input) {
    return emit<Op>(input.type(), {input});
  }
  template <typename Op> Operand binary(const Operand &lhs, const Operand &rhs);
  Operand compare(nn::CompareKind kind, const Operand &lhs, const Operand &rhs);
  Operand select(const Operand &condition, const Operand &lhs,
                 const Operand &rhs);
  /// x [..., in] times w [in, out], or [out, in] if that is transposed; plus
  /// bias [out].
  Operand linear(const Operand &x, const Operand &w, bool isTransposed,
                 const std::optional<Operand> &bias = std::nullopt);
  /// Reduction over dims, which stay with size 1.
  template <typename Op>
  Operand reduce(const Operand &input, llvm::ArrayRef<int64_t> dims);

  /// The shape that all operands broadcast to (numpy's rule); none where they
  /// do not.
  static std::optional<Shape> broadcastShape(llvm::ArrayRef<Operand> operands);

  /// A number of an op that draws: no other has it, and a model's ops have the
  /// same ones each time that it is imported.
  int64_t nextSite() { return sites++; }
  /// The samples of a rank's batch: the first dim of the function's inputs; 0
  /// without inputs.
  int64_t samples() const;
  /// Whether nobody has asked this before: what is warned of once.
  bool isFirst(llvm::StringRef what) { return said.insert(what).second; }

  /// Why an op could not be built or evaluated; empty while all is well.
  /// Results after a failure are of the right type only.
  llvm::StringRef failure() const { return failureText; }
  /// Most elements that a result evaluated at compile time may hold.
  static constexpr int64_t maxElements = int64_t(1) << 25;

private:
  /// What tells a constant from all others: its values where they are few, else
  /// its number.
  std::string keyOf(const Operand &constant);
  /// Numbers new constants and keeps them under their key: layers repeat their
  /// masks and positions.
  llvm::SmallVector<Operand> keep(llvm::StringRef key,
                                  llvm::SmallVector<Operand> constants);
  /// A constant's elements seen differently.
  Operand view(const Operand &input, llvm::StringRef how,
               llvm::ArrayRef<llvm::ArrayRef<int64_t>> parameters,
               llvm::function_ref<nn::HostTensor()> make);
  mlir::Value emitConstant(mlir::ElementsAttr attribute,
                           mlir::RankedTensorType type);
  /// Whether `elements` more may be evaluated; otherwise notes the failure.
  bool withinLimit(int64_t elements);
  /// Whether an op is one that nn defines; otherwise notes the failure: what
  /// data types an operator takes, its nn ops say.
  bool isValid(mlir::Operation *op);
  /// Stands for results after a failure.
  llvm::SmallVector<Operand> zeros(mlir::TypeRange types);
  std::optional<llvm::SmallVector<Operand>>
  evaluate(mlir::OperationState &state, llvm::ArrayRef<Operand> operands);

  mlir::OpBuilder builder;
  mlir::OpBuilder constantBuilder;
  mlir::Location loc;
  std::unique_ptr<mlir::Block> scratch;
  mlir::Operation *lastConstant = nullptr;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, mlir::Value> constants;
  /// The same by number, which is cheaper to know than the values.
  llvm::DenseMap<std::pair<uint64_t, mlir::Type>, mlir::Value> materialized;
  llvm::StringMap<llvm::SmallVector<Operand>> evaluations;
  uint64_t lastNumber = 0;
  int64_t evaluated = 0;
  int unrounded = 0; ///< how many OneRounding there are
  int64_t sites = 0; ///< of ops that draw
  llvm::StringSet<> said;
  std::string failureText;
};

/// While one lives, the ops that compute are parts of one operator: nothing but
/// what is given to `result` is rounded to 16 bits, and that once.
class Emitter::OneRounding {
public:
  explicit OneRounding(Emitter &emit) : emit(emit) { ++emit.unrounded; }
  ~OneRounding() { --emit.unrounded; }
  OneRounding(const OneRounding &) = delete;
  OneRounding &operator=(const OneRounding &) = delete;

  /// The operator's result.
  Operand result(const Operand &operand) const;

private:
  Emitter &emit;
};

template <typename Op>
Operand Emitter::emit(mlir::RankedTensorType result,
                      llvm::ArrayRef<Operand> operands,
                      llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  return emit(Op::getOperationName(), {mlir::Type(result)}, operands,
              attributes)[0];
}

template <typename Op>
Operand Emitter::binary(const Operand &lhs, const Operand &rhs) {
  Shape shape = *broadcastShape({lhs, rhs});
  return emit<Op>(typeOf(shape, lhs.elementType()),
                  {broadcast(lhs, shape), broadcast(rhs, shape)});
}

template <typename Op>
Operand Emitter::reduce(const Operand &input, llvm::ArrayRef<int64_t> dims) {
  Shape shape(input.shape());
  for (int64_t dim : dims)
    shape[dim] = 1;
  return emit<Op>(typeOf(shape, input.elementType()), {input},
                  {named("dims", dims)});
}

} // namespace shardc::onnx

#endif
