// softmax(capped(scale q k^T) + mask) v, found behind the product that reads the
// probabilities: its operands as views with the same factors of the batch.
#ifndef SHARDC_FRONTEND_RAISE_ATTENTIONMATCH_H
#define SHARDC_FRONTEND_RAISE_ATTENTIONMATCH_H

#include "frontend/raise/AttentionScores.h"
#include "frontend/raise/Raise.h"

#include <optional>

namespace shardc::raise {

class AttentionMatch {
public:
  /// An operand [batch..., rows, columns].
  struct Operand {
    View view;

    View::Dim batch() const { return view.flat(0, view.dims().size() - 2); }
    View::Dim batch(unsigned begin, unsigned end) const {
      View::Dim list = batch();
      return View::Dim(list.begin() + begin, list.begin() + end);
    }
    const View::Dim &rows() const {
      return view.dims()[view.dims().size() - 2];
    }
    const View::Dim &columns() const { return view.dims().back(); }
    llvm::SmallVector<int64_t> batchSizes() const {
      return view.sizes(batch());
    }
    bool refine(llvm::ArrayRef<int64_t> sizes) {
      return view.refineDims(0, view.dims().size() - 2, sizes);
    }
  };

  AttentionMatch(nn::MatMulOp op, mlir::PatternRewriter &rewriter)
      : op(op), rewriter(rewriter) {}
  /// Fails where `op` reads no attention's probabilities; where it nearly does,
  /// a remark says what is in the way.
  mlir::LogicalResult find();

  nn::MatMulOp op; // probabilities times values
  Operand q, k, v;
  std::optional<Operand> sink; // a score of each head behind the keys'
  ScoresChain scores;
  nn::DropoutOp dropout; // of the probabilities, or null
  double scale = 1;
  /// Sizes whose products are the sizes of all operands' dims of the batch:
  /// each operand's batch has them as its factors.
  llvm::SmallVector<int64_t> factors;
  /// How many of the factors are batch; the others are heads.
  unsigned cut = 0;

private:
  template <typename... Why> mlir::LogicalResult miss(const Why &...why) const;
  mlir::LogicalResult findSoftmax();
  mlir::LogicalResult findDropout();
  mlir::LogicalResult findScores();
  void findOperands();
  /// Whether sizes of a batch divide as all before did; refines the factors.
  bool agree(llvm::ArrayRef<int64_t> sizes);
  mlir::LogicalResult findFactors();
  unsigned chooseCut();

  mlir::PatternRewriter &rewriter;
  nn::SoftmaxOp softmax;
  mlir::Value input; // of the softmax, without a sink
  mlir::Value sinkScores;
  llvm::SmallVector<mlir::Operation *> behind; // softmax to `op`
};

} // namespace shardc::raise

#endif
