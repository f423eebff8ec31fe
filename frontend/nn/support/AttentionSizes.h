// What follows from the shapes and positions of nn.attention and its gradient.
#ifndef SHARDC_FRONTEND_NN_SUPPORT_ATTENTIONSIZES_H
#define SHARDC_FRONTEND_NN_SUPPORT_ATTENTIONSIZES_H

#include "frontend/nn/support/Verification.h"

#include <algorithm>

namespace shardc::nn {

/// [B, H, Sq, Sk]: what is dropped, if anything is.
template <typename Op> llvm::SmallVector<int64_t, 4> squareShape(Op op) {
  llvm::ArrayRef<int64_t> query = shapeOf(op.getQuery());
  return {query[0], query[2], query[1], shapeOf(op.getKey())[1]};
}

/// The keys that queries see by their positions.
struct SeenKeys {
  int64_t queries, keys, left, right;

  template <typename Op>
  explicit SeenKeys(Op op)
      : queries(shapeOf(op.getQuery())[1]), keys(shapeOf(op.getKey())[1]),
        left(op.getLeft()), right(op.getCausal() ? 0 : op.getRight()) {}

  bool isSeen(int64_t query, int64_t key) const {
    const int64_t own = query + keys - queries;
    return (left < 0 || key >= own - left) && (right < 0 || key <= own + right);
  }
  int64_t count(int64_t query) const {
    const int64_t own = query + keys - queries;
    const int64_t begin = left < 0 ? 0 : std::max<int64_t>(own - left, 0);
    const int64_t end = right < 0 ? keys : std::min(own + right + 1, keys);
    return std::max<int64_t>(end - begin, 0);
  }
};

} // namespace shardc::nn

#endif
