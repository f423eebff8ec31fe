// Follows samples from inputs to the loss: values of samples, sums over them,
// and what is made of such sums.
#include "passes/analyses/SampleSums.h"

#include "frontend/nn/NN.h"
#include "frontend/nn/support/Verification.h"
#include "frontend/raise/Match.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace shardc {
namespace {

/// What a dim of a product's operand is to it.
enum class ProductDim { Kept, Column, Summed };

ProductDim dimIn(nn::MatMulOp op, bool isLhs, size_t dim) {
  const size_t rank = nn::shapeOf(op.getLhs()).size();
  const bool isSummedLast =
      isLhs ? !op.getTransposeLhs() : op.getTransposeRhs();
  if (dim + 2 < rank)
    return ProductDim::Kept;
  if (dim == (isSummedLast ? rank - 1 : rank - 2))
    return ProductDim::Summed;
  return isLhs ? ProductDim::Kept : ProductDim::Column;
}

ProductDim dimIn(nn::LinearOp op, bool isLhs, size_t dim) {
  if (isLhs)
    return dim + 1 == nn::shapeOf(op.getInput()).size() ? ProductDim::Summed
                                                        : ProductDim::Kept;
  return dim == (op.getTransposeWeight() ? 1 : 0) ? ProductDim::Summed
                                                  : ProductDim::Column;
}

std::optional<ProductDim> dimIn(Operation &op, bool isLhs, size_t dim) {
  if (auto matmul = dyn_cast<nn::MatMulOp>(op))
    return dimIn(matmul, isLhs, dim);
  if (auto linear = dyn_cast<nn::LinearOp>(op))
    return dimIn(linear, isLhs, dim);
  return std::nullopt;
}

/// How many elements each of the sum's is of.
double summed(Operation *sum) {
  const int64_t results = nn::product(nn::shapeOf(sum->getResult(0)));
  if (sum->hasTrait<nn::IsReduction>())
    return nn::product(nn::shapeOf(sum->getOperand(0))) / results;
  if (auto matmul = dyn_cast<nn::MatMulOp>(sum)) {
    ArrayRef<int64_t> shape = nn::shapeOf(matmul.getLhs());
    return shape[shape.size() - (matmul.getTransposeLhs() ? 2 : 1)];
  }
  if (auto linear = dyn_cast<nn::LinearOp>(sum))
    return nn::shapeOf(linear.getInput()).back();
  for (Value operand : sum->getOperands())
    if (isa<IntegerType>(nn::elementTypeOf(operand)))
      return nn::product(nn::shapeOf(operand)); // the labels of a loss
  return 1;
}

/// A mean is divided by what it adds up.
double dividedBy(Operation *op) {
  return isa<nn::ReduceMeanOp>(op) ? 1 / summed(op) : 1;
}

/// What a sum is multiplied with where it is made.
double ownMultiplier(Operation *sum) {
  double multiplier = dividedBy(sum);
  if (sum->hasTrait<nn::IsLoss>())
    for (Value operand : sum->getOperands())
      if (nn::shapeOf(operand).empty())
        multiplier *= raise::splatValue(operand).value_or(1);
  return multiplier;
}

/// A divisor grows with the batch, as a line does, or not at all: `ratio` is that
/// for four batches to that for two, of numbers that an exporter may have
/// rounded.
double factorBy(double ratio, int64_t ranks) {
  for (double exact : {1.0, 2.0})
    if (raise::isClose(ratio, exact))
      ratio = exact;
  if (!(ratio >= 1 && ratio < 3))
    return 0;
  const double perBatch = (ratio - 1) / 2;
  return (1 - perBatch) / (1 + perBatch * double(ranks - 2));
}

/// The one factor of all of them, else 0.
double agreed(ArrayRef<double> factors) {
  return !factors.empty() &&
                 llvm::all_of(factors,
                              [&](double factor) {
                                return raise::isClose(factor, factors[0]);
                              })
             ? factors[0]
             : 0;
}

} // namespace

double SampleSums::Use::factor(const Use &fourfold, int64_t ranks) const {
  if (sum->getName() != fourfold.sum->getName() ||
      multipliers.size() != fourfold.multipliers.size())
    return 0;
  SmallVector<double> factors;
  for (auto [two, four] : llvm::zip_equal(multipliers, fourfold.multipliers))
    factors.push_back(factorBy(two / four, ranks));
  return agreed(factors);
}

SampleSums::SampleSums(func::FuncOp function) : strides(function) {
  if (samples() == 0)
    return;
  BackwardSliceOptions options;
  options.inclusive = true;
  Operation *ret = function.front().getTerminator();
  loss = ret->getOperand(0);
  (void)getBackwardSlice(loss, &behind, options);
  if (auto module = function->getParentOfType<ModuleOp>())
    for (auto parameter : module.getOps<nn::ParameterOp>())
      if (parameter.getTrainable())
        trainable.insert(parameter.getSymNameAttr());
  for (BlockArgument argument : function.getArguments())
    if (strides.found(argument))
      facts[argument].kind = Kind::Sample;
  for (Operation &op : function.front())
    if (behind.contains(&op))
      follow(op);
  finish();
}

SampleSums::Use &SampleSums::use(Operation *sum) {
  Use &result = found[sum];
  result.sum = sum;
  return result;
}

/// Where samples are divided by a sum of all ranks, the sum of them is one of all
/// ranks, too.
void SampleSums::finish() {
  for (Operation *sum : of(loss).added)
    if (!of(sum->getResult(0)).met.empty())
      use(sum);
  for (auto &[sum, use] : found) {
    Seen seen;
    measure(sum->getResult(0), ownMultiplier(sum), use, seen);
  }
}

/// Follows a value through ops that add.
void SampleSums::measure(Value value, double multiplier, Use &use,
                         Seen &seen) const {
  SmallVector<double, 1> &before = seen[value];
  if (llvm::is_contained(before, multiplier))
    return;
  before.push_back(multiplier);
  auto end = [&] {
    if (!llvm::is_contained(use.multipliers, multiplier))
      use.multipliers.push_back(multiplier);
  };
  if (value == loss)
    end();
  for (Operation *user : value.getUsers()) {
    if (!behind.contains(user))
      continue;
    if (user->getNumResults() != 1 ||
        of(user->getResult(0)).kind != Kind::Sum || !isAdding(*user))
      end();
    else if (raise::behindScale(user) == value)
      measure(user->getResult(0), multiplier * raise::scaleOf(user), use, seen);
    else
      measure(user->getResult(0), multiplier * dividedBy(user), use, seen);
  }
}

const SampleSums::Fact &SampleSums::of(Value value) const {
  static const Fact none;
  auto known = facts.find(value);
  return known == facts.end() ? none : known->second;
}

std::optional<size_t> SampleSums::sampleDim(Value value) const {
  return strides.dimOf(value);
}

void SampleSums::findNumbers(Operation &op) {
  auto isSum = [&](Value value) { return of(value).kind == Kind::Sum; };
  if (llvm::none_of(op.getOperands(), isSum))
    return;
  // What adds up a sum that was repeated multiplies it.
  if (isa<nn::ReduceSumOp>(op))
    numbers.push_back(
        Builder(op.getContext()).getI64IntegerAttr(int64_t(summed(&op))));
  // The factor of what is a sum and nothing else is known by itself.
  if (Value scaled = raise::behindScale(&op);
      scaled && isSum(scaled) &&
      of(scaled).sums.size() == of(scaled).added.size())
    return;
  SmallVector<Value> open(
      llvm::make_filter_range(op.getOperands(), [&](Value value) {
        return of(value).kind == Kind::None;
      }));
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!open.empty()) {
    Operation *source = open.pop_back_val().getDefiningOp();
    if (!source || !seen.insert(source).second)
      continue;
    if (auto constant = dyn_cast<nn::ConstantOp>(source))
      numbers.push_back(constant.getValue());
    llvm::append_range(open, source->getOperands());
  }
}

void SampleSums::follow(Operation &op) {
  findNumbers(op);
  Fact fact = factOf(op);
  // A parameter that meets a sample which statistics have met.
  if (!fact.met.empty() && llvm::any_of(op.getOperands(), [&](Value operand) {
        return of(operand).isOfParameters;
      })) {
    for (Operation *sum : fact.met)
      found[sum].isStatistic = true;
    fact.met.clear();
  }
  for (Value result : op.getResults()) {
    Fact &own = facts[result] = fact;
    if (own.kind == Kind::Sample && !strides.found(result))
      own.kind = Kind::Unknown;
    // What is summed of them will not be told to be a sum of all ranks.
    if (own.kind == Kind::Unknown)
      for (Operation *sum : own.met)
        use(sum).isLost = true;
  }
}

bool SampleSums::isTrained(Operation &op) const {
  auto get = dyn_cast<nn::GetParameterOp>(op);
  return get && trainable.contains(get.getParameterAttr().getAttr());
}

SampleSums::Fact SampleSums::factOf(Operation &op) {
  Fact none;
  none.isOfParameters =
      isTrained(op) || llvm::any_of(op.getOperands(), [&](Value operand) {
        return of(operand).isOfParameters;
      });
  auto has = [&](Kind kind) {
    return llvm::any_of(op.getOperands(), [&](Value operand) {
      return of(operand).kind == kind;
    });
  };
  if (has(Kind::Unknown))
    return joined(op, Kind::Unknown);
  if (op.hasTrait<nn::IsLoss>() && has(Kind::Sample))
    return ofLoss(op);
  if (has(Kind::Sample) && has(Kind::Sum))
    return joined(op, Kind::Sample);
  if (has(Kind::Sum))
    return isAdding(op) ? merged(op, Kind::Sum) : joined(op, Kind::Sum);
  if (has(Kind::Sample))
    return ofSamples(op);
  // What is drawn for each sample.
  if (isa<nn::Drawing>(op) && strides.found(op.getResult(0)))
    none.kind = Kind::Sample;
  return none;
}

/// Of values of samples, and of what does not depend on the batch.
SampleSums::Fact SampleSums::ofSamples(Operation &op) {
  Fact fact = merged(op, Kind::Sample);
  if (op.hasTrait<nn::IsReduction>())
    return ofReduction(op, fact);
  if (op.hasTrait<nn::IsProduct>())
    return ofProduct(op);
  if (op.hasTrait<nn::IsSoftmax>()) {
    std::optional<size_t> dim = sampleDim(op.getOperand(0));
    return dim && *dim + 1 == nn::shapeOf(op.getOperand(0)).size() ? mixed(op)
                                                                   : fact;
  }
  if (isa<nn::TopKOp>(op)) {
    std::optional<size_t> dim = sampleDim(op.getOperand(0));
    if (dim && *dim + 1 == nn::shapeOf(op.getOperand(0)).size())
      return mixed(op);
  }
  if (op.hasTrait<OpTrait::Elementwise>() && samples() > 1) {
    llvm::SmallSetVector<int64_t, 2> found;
    for (Value operand : op.getOperands())
      if (of(operand).kind == Kind::Sample)
        found.insert(strides.found(operand));
    if (found.size() > 1)
      return mixed(op);
  }
  return fact;
}

SampleSums::Fact SampleSums::ofReduction(Operation &op, const Fact &operand) {
  std::optional<size_t> dim = sampleDim(op.getOperand(0));
  if (!dim)
    return joined(op, Kind::Unknown);
  auto axis = op.getAttrOfType<IntegerAttr>("axis"); // of sums that run along
  auto dims = op.getAttrOfType<DenseI64ArrayAttr>("dims");
  if (axis ? axis.getInt() != int64_t(*dim)
           : !llvm::is_contained(dims.asArrayRef(), int64_t(*dim)))
    return operand;
  return isa<nn::ReduceSumOp, nn::ReduceMeanOp>(op) ? sum(op, operand)
                                                    : mixed(op);
}

SampleSums::Fact SampleSums::ofProduct(Operation &op) {
  std::optional<ProductDim> places[2];
  for (auto [i, operand] : llvm::enumerate(op.getOperands().take_front(2))) {
    if (of(operand).kind != Kind::Sample)
      continue;
    std::optional<size_t> dim = sampleDim(operand);
    places[i] = dim ? dimIn(op, i == 0, *dim) : std::nullopt;
    if (!places[i])
      // Other products have weights alone behind their input.
      return i == 0 && dim ? merged(op, Kind::Sample)
                           : joined(op, Kind::Unknown);
  }
  const bool isSum = llvm::all_of(places, [](std::optional<ProductDim> place) {
    return !place || *place == ProductDim::Summed;
  });
  if (isSum && (places[0] || places[1]))
    return sum(op, merged(op, Kind::Sum));
  if (places[0] && places[1] && places[0] != places[1])
    return mixed(op);
  return merged(op, Kind::Sample);
}

SampleSums::Fact SampleSums::ofLoss(Operation &op) {
  // A head that is one op with its loss has samples for its weight.
  if (Value weight = op.getOperand(1);
      of(weight).kind == Kind::Sample &&
      isa<FloatType>(nn::elementTypeOf(weight)))
    return mixed(op);
  Fact fact = sum(op, joined(op, Kind::Sum));
  const bool isDivided = llvm::any_of(op.getOperands(), [&](Value operand) {
    return of(operand).kind == Kind::Sum;
  });
  if (isDivided) {
    use(&op);
    fact.added.clear();
  }
  return fact;
}

SampleSums::Fact SampleSums::sum(Operation &op, Fact fact) {
  fact.kind = Kind::Sum;
  fact.sums.insert(&op);
  fact.added.insert(&op);
  return fact;
}

SampleSums::Fact SampleSums::mixed(Operation &op) {
  mixes.push_back(&op);
  return joined(op, Kind::Unknown);
}

/// Whether a sum's operands stay one: the mean of the results is the result of
/// the means.
bool SampleSums::isAdding(Operation &op) const {
  auto isSum = [&](Value value) { return of(value).kind == Kind::Sum; };
  if (isa<nn::AddOp, nn::SubOp, nn::NegOp, nn::ReduceSumOp, nn::ReduceMeanOp>(
          op))
    return true;
  // What is moved is the sum, rather than that it says where to.
  if (op.hasTrait<nn::IsMove>())
    return llvm::all_of(op.getOperands(), [&](Value operand) {
      return !isSum(operand) ||
             nn::elementTypeOf(operand) == nn::elementTypeOf(op.getResult(0));
    });
  if (isa<nn::CastOp>(op))
    return !isa<IntegerType>(nn::elementTypeOf(op.getResult(0))) ||
           isa<IntegerType>(nn::elementTypeOf(op.getOperand(0)));
  if (isa<nn::MulOp>(op) || op.hasTrait<nn::IsProduct>())
    return llvm::count_if(op.getOperands(), isSum) == 1;
  return isa<nn::DivOp>(op) && !isSum(op.getOperand(1));
}

SampleSums::Fact SampleSums::merged(Operation &op, Kind kind) const {
  Fact fact;
  fact.kind = kind;
  for (Value operand : op.getOperands()) {
    const Fact &from = of(operand);
    fact.sums.insert_range(from.sums);
    fact.added.insert_range(from.added);
    fact.met.insert_range(from.met);
  }
  return fact;
}

SampleSums::Fact SampleSums::joined(Operation &op, Kind kind) {
  Fact fact = merged(op, kind);
  const bool meetsSamples = kind != Kind::Sum && !fact.sums.empty();
  for (Operation *sum : meetsSamples ? fact.sums : fact.added) {
    use(sum).meetsSamples |= meetsSamples;
    use(sum).isLost |= kind == Kind::Unknown;
  }
  if (meetsSamples)
    fact.met.insert_range(fact.sums);
  fact.added.clear();
  if (kind != Kind::Sum)
    fact.sums.clear();
  return fact;
}

std::vector<SampleSums::Use> SampleSums::uses() const {
  std::vector<Use> result;
  for (const auto &[sum, use] : found)
    result.push_back(use);
  llvm::sort(result, [](const Use &a, const Use &b) {
    return a.sum->isBeforeInBlock(b.sum);
  });
  return result;
}

} // namespace shardc
