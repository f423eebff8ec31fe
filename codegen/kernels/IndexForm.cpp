// Arithmetic of index forms.
#include "codegen/kernels/IndexForm.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <bit>

using namespace mlir;

namespace shardc::kernels {

IndexForm IndexForm::constant(int64_t value) {
  IndexForm form;
  form.constantPart = value;
  return form;
}

IndexForm IndexForm::loop(Loop loop, const LoopExtents &extents) {
  IndexForm form;
  form.addTerm({1, loop, 1, extents.extent(loop)}, extents);
  return form;
}

IndexForm IndexForm::opaque(OpaqueIndex index) {
  IndexForm form;
  form.opaques.push_back(
      {1, std::make_shared<const OpaqueIndex>(std::move(index))});
  return form;
}

void IndexForm::addTerm(Term term, const LoopExtents &extents) {
  // A digit never exceeds what the loop's extent leaves of it; a digit that is
  // always 0 vanishes.
  term.modulus = std::min<int64_t>(
      term.modulus, llvm::divideCeil(extents.extent(term.loop), term.divisor));
  if (term.coefficient != 0 && term.modulus > 1)
    digitTerms.push_back(term);
}

void IndexForm::merge(const LoopExtents &extents) {
  // Adjacent digits of one loop, c * m * ((v / (d * m)) % n) + c * ((v / d) %
  // m), are one digit of modulus m * n.
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < digitTerms.size() && !changed; ++i) {
      for (size_t j = 0; j < digitTerms.size() && !changed; ++j) {
        Term &high = digitTerms[i], &low = digitTerms[j];
        if (i == j || high.loop != low.loop)
          continue;
        if (high.divisor == low.divisor && high.modulus == low.modulus)
          low.coefficient += high.coefficient;
        else if (high.divisor == low.divisor * low.modulus &&
                 high.coefficient == low.coefficient * low.modulus)
          low.modulus *= high.modulus;
        else
          continue;
        digitTerms.erase(digitTerms.begin() + i);
        changed = true;
      }
    }
  }
  llvm::erase_if(digitTerms,
                 [](const Term &term) { return term.coefficient == 0; });
  llvm::sort(digitTerms, [](const Term &a, const Term &b) {
    return std::tuple(b.coefficient, a.loop, a.divisor, a.modulus) <
           std::tuple(a.coefficient, b.loop, b.divisor, b.modulus);
  });
}

IndexForm IndexForm::plus(const IndexForm &other,
                          const LoopExtents &extents) const {
  IndexForm sum = *this;
  sum.constantPart += other.constantPart;
  sum.digitTerms.append(other.digitTerms);
  for (const OpaqueTerm &term : other.opaques) {
    auto same = llvm::find_if(sum.opaques, [&](const OpaqueTerm &mine) {
      return mine.index == term.index;
    });
    if (same != sum.opaques.end())
      same->coefficient += term.coefficient;
    else
      sum.opaques.push_back(term);
  }
  sum.merge(extents);
  return sum;
}

IndexForm IndexForm::times(int64_t factor) const {
  if (factor == 0)
    return constant(0);
  IndexForm product = *this;
  product.constantPart *= factor;
  for (Term &term : product.digitTerms)
    term.coefficient *= factor;
  for (OpaqueTerm &term : product.opaques)
    term.coefficient *= factor;
  return product;
}

std::optional<std::pair<int64_t, int64_t>>
IndexForm::range(const LoopExtents &extents) const {
  if (!opaques.empty())
    return std::nullopt;
  int64_t low = constantPart, high = constantPart;
  for (const Term &term : digitTerms) {
    int64_t first = 0, last = term.modulus - 1;
    if (term.loop == Loop::Lane && term.divisor == 1 &&
        term.modulus >= extents.lanes) {
      first = extents.laneBegin;
      last = extents.laneEnd - 1;
    }
    low += term.coefficient * (term.coefficient > 0 ? first : last);
    high += term.coefficient * (term.coefficient > 0 ? last : first);
  }
  return std::pair(low, high);
}

std::pair<IndexForm, IndexForm>
IndexForm::divide(int64_t by, const LoopExtents &extents) const {
  if (by == 1)
    return {*this, constant(0)};
  IndexForm quotient, remainder;
  int64_t constantQuotient = llvm::divideFloorSigned(constantPart, by);
  quotient.constantPart = constantQuotient;
  remainder.constantPart = constantPart - constantQuotient * by;
  bool exact = true;
  for (const OpaqueTerm &term : opaques) {
    if (term.coefficient % by == 0)
      quotient.opaques.push_back({term.coefficient / by, term.index});
    else
      exact = false;
  }
  for (const Term &term : digitTerms) {
    if (term.coefficient % by == 0) {
      quotient.addTerm(
          {term.coefficient / by, term.loop, term.divisor, term.modulus},
          extents);
      continue;
    }
    int64_t part = term.coefficient > 0 && by % term.coefficient == 0
                       ? by / term.coefficient
                       : 0;
    bool topDigit = term.divisor * term.modulus >= extents.extent(term.loop);
    if (part == 0 || term.modulus <= part ||
        (term.modulus % part != 0 && !topDigit)) {
      remainder.addTerm(term, extents);
      continue;
    }
    remainder.addTerm({term.coefficient, term.loop, term.divisor, part},
                      extents);
    quotient.addTerm({1, term.loop, term.divisor * part,
                      int64_t(llvm::divideCeil(term.modulus, part))},
                     extents);
  }
  auto rest = remainder.range(extents);
  if (exact && rest && rest->first >= 0 && rest->second < by) {
    quotient.merge(extents);
    remainder.merge(extents);
    return {quotient, remainder};
  }
  auto half = [&](OpaqueIndex::Kind kind) {
    OpaqueIndex index;
    index.kind = kind;
    index.operand = *this;
    index.by = by;
    index.perLane = dependsOn(Loop::Lane);
    return opaque(index);
  };
  return {half(OpaqueIndex::Kind::FloorDivide),
          half(OpaqueIndex::Kind::Modulo)};
}

bool IndexForm::dependsOn(Loop loop) const {
  return llvm::any_of(digitTerms,
                      [&](const Term &term) { return term.loop == loop; }) ||
         llvm::any_of(opaques, [&](const OpaqueTerm &term) {
           if (term.index->kind != OpaqueIndex::Kind::Value)
             return term.index->operand.dependsOn(loop);
           // The source of a run-time value is not known: it may follow every
           // loop, but lanes are known.
           return loop != Loop::Lane || term.index->perLane;
         });
}

std::optional<int64_t> IndexForm::laneStride(const LoopExtents &extents,
                                             int64_t vectorLanes) const {
  int64_t stride = 0;
  for (const Term &term : digitTerms) {
    if (term.loop != Loop::Lane)
      continue;
    // A higher digit stays the same within an aligned vector, and the lowest
    // one does not wrap around.
    if (vectorLanes > 1 && term.divisor % vectorLanes == 0)
      continue;
    bool wraps = term.modulus < extents.lanes &&
                 (vectorLanes == 1 || term.modulus % vectorLanes != 0);
    if (term.divisor != 1 || wraps)
      return std::nullopt;
    stride += term.coefficient;
  }
  for (const OpaqueTerm &term : opaques) {
    std::optional<int64_t> ofTerm =
        term.index->laneStride(extents, vectorLanes);
    if (!ofTerm)
      return std::nullopt;
    stride += term.coefficient * *ofTerm;
  }
  return stride;
}

std::optional<int64_t> OpaqueIndex::laneStride(const LoopExtents &extents,
                                               int64_t vectorLanes) const {
  if (kind == Kind::Value)
    return perLane ? std::nullopt : std::optional<int64_t>(0);
  std::optional<int64_t> stride = operand.laneStride(extents, vectorLanes);
  if (!operand.dependsOn(Loop::Lane) || stride == 0)
    return 0;
  // What is divided begins at a multiple of the vector's lanes, as the divisor's
  // multiples are: none of them lies within the vector.
  if (vectorLanes == 1 || stride != 1 || by % vectorLanes != 0 ||
      operand.alignment(vectorLanes, vectorLanes, extents) != vectorLanes)
    return std::nullopt;
  return kind == Kind::Modulo ? 1 : 0;
}

int64_t IndexForm::alignment(int64_t most, int64_t vectorLanes,
                             const LoopExtents &extents) const {
  uint64_t common = static_cast<uint64_t>(constantPart) | most;
  for (const Term &term : digitTerms) {
    uint64_t step = term.coefficient;
    if (term.loop == Loop::Lane && term.divisor == 1 &&
        (term.modulus % vectorLanes == 0 || term.modulus >= extents.lanes))
      step *= vectorLanes;
    common |= step;
  }
  for (const OpaqueTerm &term : opaques) {
    uint64_t step = term.coefficient;
    if (const OpaqueIndex &index = *term.index;
        index.kind == OpaqueIndex::Kind::Modulo)
      step *=
          index.operand.alignment(int64_t(1) << std::countr_zero(
                                      static_cast<uint64_t>(index.by | most)),
                                  vectorLanes, extents);
    common |= step;
  }
  return int64_t(1) << std::countr_zero(common);
}

IndexForm IndexForm::restricted(const LoopExtents &extents) const {
  IndexForm form;
  form.constantPart = constantPart;
  form.opaques = opaques;
  int64_t first = extents.laneBegin, last = extents.laneEnd - 1;
  for (const Term &term : digitTerms) {
    if (term.loop == Loop::Lane &&
        first / term.divisor == last / term.divisor) {
      form.constantPart +=
          term.coefficient * ((first / term.divisor) % term.modulus);
    } else if (term.loop == Loop::Lane && term.divisor == 1 &&
               first / term.modulus == last / term.modulus) {
      form.constantPart -=
          term.coefficient * (first / term.modulus) * term.modulus;
      form.addTerm({term.coefficient, Loop::Lane, 1, extents.lanes}, extents);
    } else {
      form.addTerm(term, extents);
    }
  }
  form.merge(extents);
  return form;
}

std::string IndexForm::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << constantPart;
  for (const Term &term : digitTerms)
    os << "+" << term.coefficient << "*" << "psl"[int(term.loop)] << "/"
       << term.divisor << "%" << term.modulus;
  for (const OpaqueTerm &term : opaques) {
    const OpaqueIndex &index = *term.index;
    os << "+" << term.coefficient << "*";
    if (index.kind == OpaqueIndex::Kind::Value)
      os << "@"
         << (index.value ? index.value.getAsOpaquePointer()
                         : static_cast<const void *>(&index));
    else
      os << "(" << index.operand.str() << ")"
         << (index.kind == OpaqueIndex::Kind::FloorDivide ? "/" : "%")
         << index.by;
  }
  return text;
}

IndexForm linearize(ArrayRef<IndexForm> index, ArrayRef<int64_t> shape,
                    const LoopExtents &extents) {
  IndexForm position;
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    position = position.plus(index[dim].times(stride), extents);
    stride *= shape[dim];
  }
  return position;
}

IndexForms delinearize(const IndexForm &position, ArrayRef<int64_t> shape,
                       const LoopExtents &extents) {
  IndexForms index(shape.size());
  IndexForm rest = position;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (dim == 0) {
      index[dim] = rest;
      break;
    }
    index[dim] = rest.modulo(shape[dim], extents);
    rest = rest.floorDivide(shape[dim], extents);
  }
  return index;
}

IndexForm apply(AffineExpr expression, ArrayRef<IndexForm> dims,
                const LoopExtents &extents) {
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return dims[dim.getPosition()];
  if (auto value = dyn_cast<AffineConstantExpr>(expression))
    return IndexForm::constant(value.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expression);
  IndexForm lhs = apply(binary.getLHS(), dims, extents),
            rhs = apply(binary.getRHS(), dims, extents);
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return lhs.plus(rhs, extents);
  case AffineExprKind::Mul:
    return rhs.isConstant() ? lhs.times(rhs.constant())
                            : rhs.times(lhs.constant());
  case AffineExprKind::Mod:
    return lhs.modulo(rhs.constant(), extents);
  case AffineExprKind::FloorDiv:
    return lhs.floorDivide(rhs.constant(), extents);
  case AffineExprKind::CeilDiv:
    return lhs.plus(IndexForm::constant(rhs.constant() - 1), extents)
        .floorDivide(rhs.constant(), extents);
  default:
    llvm_unreachable("affine expressions have no other kind");
  }
}

} // namespace shardc::kernels
