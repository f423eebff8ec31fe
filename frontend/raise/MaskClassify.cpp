// What each term of a mask is: a window, a mask of keys, or a bias. No S x S
// tensor is built where two numbers or a row say it.
#include "frontend/raise/Mask.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::raise;

namespace {

// Offsets of all positions of a dim, given by its atoms.
SmallVector<int64_t> offsetsOf(ArrayRef<int64_t> sizes,
                               ArrayRef<int64_t> strides) {
  SmallVector<int64_t> offsets{0};
  for (auto [size, stride] : llvm::zip_equal(sizes, strides)) {
    SmallVector<int64_t> next;
    next.reserve(offsets.size() * size);
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < size; ++i)
        next.push_back(offset + i * stride);
    offsets = std::move(next);
  }
  return offsets;
}

// Strides of the base's atoms, given those of its dims; 0 for broadcast atoms.
SmallVector<int64_t> atomStrides(const View &view, ArrayRef<unsigned> list,
                                 ArrayRef<int64_t> ofDims) {
  SmallVector<int64_t> strides;
  for (unsigned atom : list) {
    int64_t stride = 0;
    for (auto [dim, ofDim] : llvm::zip_equal(view.baseDims(), ofDims)) {
      const auto *at = llvm::find(dim, atom);
      if (at == dim.end() || view.atom(atom).broadcast)
        continue;
      stride = ofDim;
      while (++at != dim.end())
        stride *= view.atom(*at).size;
    }
    strides.push_back(stride);
  }
  return strides;
}

// A constant term's numbers: what is added to the scores, -infinity where a key
// is hidden.
class Scores {
public:
  Scores(const MaskTerm &term, const nn::HostTensor &values) {
    const View &view = term.view;
    unsigned rank = view.dims().size();
    auto offsets = [&](const View::Dim &list) {
      return offsetsOf(view.sizes(list),
                       atomStrides(view, list, values.strides()));
    };
    View::Dim real = view.flat(0, rank - 2);
    llvm::erase_if(real,
                   [&](unsigned atom) { return view.atom(atom).broadcast; });
    outer = offsets(real);
    queries = offsets(view.dims()[rank - 2]);
    keys = offsets(view.dims()[rank - 1]);
    first = -values.reach().first;
    for (double number : values.reached().toFloats()) {
      if (term.boolean)
        number = (number != 0) != term.negated ? 0 : hidden;
      else if ((number *= term.factor) <= hiddenBelow) {
        byNumber |= std::isfinite(number);
        number = hidden;
      }
      numbers.push_back(number);
    }
    diagonal = values.isOverlapping() && isStep(queries, -1) && isStep(keys, 1);
  }
  int64_t outerCount() const { return outer.size(); }
  int64_t queryCount() const { return queries.size(); }
  int64_t keyCount() const { return keys.size(); }
  double at(int64_t o, int64_t i, int64_t j) const {
    return numbers[first + outer[o] + queries[i] + keys[j]];
  }
  /// Whether there is a row of which every key is hidden, by finite numbers:
  /// such a row still is the softmax of its scores.
  bool hidesRowsByNumber() const {
    if (!byNumber)
      return false;
    for (int64_t o = 0; o < outerCount(); ++o)
      for (int64_t i = 0; i < queryCount(); ++i) {
        // Causal masks show the key of the diagonal: looked at first.
        int64_t own = i + keyCount() - queryCount();
        if (own >= 0 && own < keyCount() && !std::isinf(at(o, i, own)))
          continue;
        int64_t j = 0;
        while (j < keyCount() && std::isinf(at(o, i, j)))
          ++j;
        if (j == keyCount())
          return true;
      }
    return false;
  }
  /// Whether scores depend on key - query only.
  bool isDiagonal() const { return diagonal; }
  /// Calls visit(o, i, j) for all positions, or for one of each diagonal.
  template <typename Visit> void forEach(Visit visit) const {
    for (int64_t o = 0; o < outerCount(); ++o)
      for (int64_t i = 0; i < queryCount(); ++i)
        for (int64_t j = 0; j < (diagonal && i > 0 ? 1 : keyCount()); ++j)
          visit(o, i, j);
  }

private:
  static constexpr double hidden = -std::numeric_limits<double>::infinity();

  // 0, step, 2 step, ...
  static bool isStep(ArrayRef<int64_t> offsets, int64_t step) {
    for (auto [i, offset] : llvm::enumerate(offsets))
      if (offset != step * int64_t(i))
        return false;
    return true;
  }

  SmallVector<int64_t> outer, queries, keys;
  std::vector<double> numbers;
  int64_t first;
  bool diagonal;
  bool byNumber = false; // keys are hidden by finite numbers
};

// The window in which all that is seen lies, where that hides no less than the
// scores do, or all of the future.
KeyWindow windowOf(const Scores &scores) {
  int64_t queries = scores.queryCount(), keys = scores.keyCount(),
          lag = keys - queries;
  KeyWindow reach{0, 0};
  bool anySeen = false;
  scores.forEach([&](int64_t o, int64_t i, int64_t j) {
    if (std::isinf(scores.at(o, i, j)))
      return;
    anySeen = true;
    reach.left = std::max(reach.left, i + lag - j);
    reach.right = std::max(reach.right, j - i - lag);
  });
  if (reach.left == keys - 1)
    reach.left = -1;
  if (reach.right == queries - 1)
    reach.right = -1;
  bool hidesMore = false;
  scores.forEach([&](int64_t o, int64_t i, int64_t j) {
    hidesMore |= reach.sees(j - i - lag) && std::isinf(scores.at(o, i, j));
  });
  if (!hidesMore && anySeen)
    return reach;
  return {-1, reach.isCausal() ? 0 : -1};
}

// The last query that sees key `key`, or -1.
int64_t lastQuery(const Scores &scores, const KeyWindow &window, int64_t key) {
  int64_t queries = scores.queryCount(),
          own = key - scores.keyCount() + queries;
  int64_t last =
      window.left < 0 ? queries - 1 : std::min(own + window.left, queries - 1);
  return last >= 0 && window.sees(own - last) ? last : -1;
}

// Whether all queries that see a key have the same number for it.
bool isPerKey(const Scores &scores, const KeyWindow &window) {
  int64_t queries = scores.queryCount(), keys = scores.keyCount(),
          lag = keys - queries;
  bool result = true;
  if (scores.isDiagonal()) // all that is seen is the same, then
    scores.forEach([&](int64_t o, int64_t i, int64_t j) {
      result &= !window.sees(j - i - lag) ||
                scores.at(o, i, j) == scores.at(o, queries - 1, keys - 1);
    });
  else {
    auto last = llvm::map_to_vector(llvm::seq(keys), [&](int64_t key) {
      return lastQuery(scores, window, key);
    });
    for (int64_t o = 0; o < scores.outerCount() && result; ++o)
      for (int64_t i = 0; i < queries && result; ++i)
        for (int64_t j = 0; j < keys; ++j)
          result &= !window.sees(j - i - lag) ||
                    scores.at(o, i, j) == scores.at(o, last[j], j);
  }
  return result;
}

MaskVerdict judge(const Scores &scores) {
  int64_t lag = scores.keyCount() - scores.queryCount();
  KeyWindow window;
  if (!scores.hidesRowsByNumber())
    window = windowOf(scores);
  bool rest = false;
  scores.forEach([&](int64_t o, int64_t i, int64_t j) {
    rest |= window.sees(j - i - lag) && scores.at(o, i, j) != 0;
  });
  return {window, rest, rest && window.hidesSome() && isPerKey(scores, window)};
}

} // namespace

namespace {

// The atoms of a term in the dims of nn.attention.
struct TermDims {
  View::Dim batch, heads, queries, keys;
};

TermDims dimsOf(const View &view, const ScoreDims &dims) {
  unsigned rank = view.dims().size();
  View::Dim outer = view.flat(0, rank - 2);
  unsigned batchAtoms = dims.batch.size();
  return {View::Dim(outer.begin(), outer.begin() + batchAtoms),
          View::Dim(outer.begin() + batchAtoms, outer.end()),
          view.dims()[rank - 2], view.dims()[rank - 1]};
}

// How HostTensor::fromAttribute reads a constant; none where it does not.
std::optional<SmallVector<int64_t>> stridesOf(ElementsAttr values) {
  if (auto strided = dyn_cast<nn::StridedAttr>(values))
    return llvm::to_vector(strided.getStrides());
  if (!isa<DenseElementsAttr>(values))
    return std::nullopt;
  ArrayRef<int64_t> shape = values.getShapedType().getShape();
  SmallVector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0 && !values.isSplat();
       stride *= shape[dim])
    strides[dim] = stride;
  return strides;
}

// What a verdict on a constant depends on besides the constant.
std::vector<int64_t> signature(const MaskTerm &term,
                               ArrayRef<int64_t> strides) {
  std::vector<int64_t> key{term.boolean, term.negated,
                           llvm::bit_cast<int64_t>(term.factor)};
  for (const View::Dim &dim : term.view.dims()) {
    llvm::append_range(key, term.view.sizes(dim));
    llvm::append_range(key, atomStrides(term.view, dim, strides));
    key.push_back(-1);
  }
  return key;
}

class MaskBuilder {
public:
  MaskBuilder(OpBuilder &builder, Location location, const ScoreDims &dims,
              Type elementType, MaskCache &cache)
      : builder(builder), location(location), dims(dims),
        elementType(elementType), cache(cache) {}

  void add(const MaskTerm &term) {
    auto constant = term.view.base().getDefiningOp<nn::ConstantOp>();
    bool isNumber = term.boolean ||
                    isa<FloatType>(typeOf(term.view.base()).getElementType());
    auto strides =
        constant && isNumber ? stridesOf(constant.getValue()) : std::nullopt;
    if (strides) {
      ElementsAttr values = constant.getValue();
      auto [known, isNew] = cache.try_emplace(
          std::pair(values.getAsOpaquePointer(), signature(term, *strides)));
      if (isNew)
        known->second =
            judge(Scores(term, nn::HostTensor::fromAttribute(values)));
      MaskVerdict verdict = known->second;
      operands.window.narrow(verdict.window);
      if (!verdict.rest)
        return;
      // Diagonals stay as they are: without what is hidden they would be
      // written out.
      if (verdict.window.hidesSome() &&
          (verdict.perKey || !isa<nn::StridedAttr>(values)))
        return addBias(
            remainder(term, Scores(term, nn::HostTensor::fromAttribute(values)),
                      verdict));
    }
    term.boolean ? addCondition(term) : addBias(biasOf(term));
  }

  MaskOperands take() { return operands; }

private:
  Value emit(const MaskTerm &term, const View::Dims &target) {
    return term.view.emit(builder, location, target);
  }

  void addCondition(const MaskTerm &term) {
    TermDims d = dimsOf(term.view, dims);
    if (!term.view.isAllBroadcast(d.heads) ||
        !term.view.isAllBroadcast(d.queries))
      return addBias(biasOf(term));
    Value mask = emit(term, {d.batch, d.keys});
    if (term.negated)
      mask = nn::NotOp::create(builder, location, mask.getType(), mask);
    operands.keyMask =
        operands.keyMask ? nn::AndOp::create(builder, location, mask.getType(),
                                             operands.keyMask, mask)
                               .getResult()
                         : mask;
  }

  // The term as [B or 1, H or 1, Sq or 1, Sk].
  Value biasOf(const MaskTerm &term) {
    TermDims d = dimsOf(term.view, dims);
    for (View::Dim *dim : {&d.batch, &d.heads, &d.queries})
      if (term.view.isAllBroadcast(*dim))
        dim->clear();
    Value value = emit(term, {d.batch, d.heads, d.queries, d.keys});
    auto type = RankedTensorType::get(shapeOf(value), elementType);
    if (term.boolean) {
      Value shown = splatConstant(builder, location, type, 0);
      Value hidden = splatConstant(builder, location, type,
                                   -std::numeric_limits<double>::infinity());
      if (term.negated)
        std::swap(shown, hidden);
      return nn::SelectOp::create(builder, location, type, value, shown,
                                  hidden);
    }
    if (value.getType() != type)
      value = nn::CastOp::create(builder, location, type, value);
    if (term.factor == 1)
      return value;
    Value factor = splatConstant(builder, location, type, term.factor);
    return nn::MulOp::create(builder, location, type, value, factor);
  }

  // What a constant adds where the window shows a key; 0 elsewhere.
  Value remainder(const MaskTerm &term, const Scores &scores,
                  const MaskVerdict &verdict) {
    TermDims d = dimsOf(term.view, dims);
    auto realSize = [&](const View::Dim &list) {
      int64_t size = 1;
      for (unsigned atom : list)
        size *= term.view.atom(atom).broadcast ? 1 : term.view.atom(atom).size;
      return size;
    };
    SmallVector<double> numbers;
    int64_t rows = verdict.perKey ? 1 : scores.queryCount();
    int64_t keys = scores.keyCount(), lag = keys - scores.queryCount();
    for (int64_t o = 0; o < scores.outerCount(); ++o)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < keys; ++j) {
          int64_t query =
              verdict.perKey ? lastQuery(scores, verdict.window, j) : i;
          bool isSeen = query >= 0 && verdict.window.sees(j - query - lag);
          numbers.push_back(isSeen ? scores.at(o, query, j) : 0);
        }
    auto type = RankedTensorType::get(
        {realSize(d.batch), realSize(d.heads), rows, keys}, elementType);
    SmallVector<Attribute> values = llvm::map_to_vector(numbers, [&](double n) {
      return Attribute(builder.getFloatAttr(elementType, n));
    });
    Value bias = nn::ConstantOp::create(builder, location, type,
                                        DenseElementsAttr::get(type, values));
    // A dim that is neither repeated as a whole nor given as a whole is written
    // out.
    SmallVector<int64_t> wide(type.getShape());
    for (auto [index, list] :
         {std::pair(0u, &d.batch), std::pair(1u, &d.heads)})
      if (wide[index] != 1 && wide[index] != term.view.product(*list))
        return biasOf(term);
    return bias;
  }

  void addBias(Value bias) {
    if (!operands.bias) {
      operands.bias = bias;
      return;
    }
    SmallVector<int64_t> wide;
    for (auto [a, b] : llvm::zip_equal(shapeOf(operands.bias), shapeOf(bias)))
      wide.push_back(std::max(a, b));
    auto type = RankedTensorType::get(wide, elementType);
    for (Value *side : {&operands.bias, &bias})
      if (side->getType() != type)
        *side = nn::BroadcastOp::create(builder, location, type, *side);
    operands.bias =
        nn::AddOp::create(builder, location, type, operands.bias, bias);
  }

  OpBuilder &builder;
  Location location;
  const ScoreDims &dims;
  Type elementType;
  MaskCache &cache;
  MaskOperands operands;
};

} // namespace

void KeyWindow::narrow(const KeyWindow &other) {
  for (auto [own, more] : {std::pair(&left, other.left), {&right, other.right}})
    if (more >= 0)
      *own = *own < 0 ? more : std::min(*own, more);
}

MaskOperands raise::emitMask(OpBuilder &builder, Location location,
                             ArrayRef<MaskTerm> terms, const ScoreDims &dims,
                             Type elementType, MaskCache &cache) {
  MaskBuilder mask(builder, location, dims, elementType, cache);
  for (const MaskTerm &term : terms)
    mask.add(term);
  return mask.take();
}
