// What the dynamo exporter's optimizer computed ahead from parameters: its
// metadata (pkg.onnxscript.optimizer.folded_from) lists the values that an
// initializer was folded from, named as torch.export's FX graph names them.
#ifndef SHARDC_FRONTEND_ONNX_GRAPH_FOLDS_H
#define SHARDC_FRONTEND_ONNX_GRAPH_FOLDS_H

#include "frontend/onnx/graph/Exporter.h"
#include "frontend/onnx/graph/Readers.h"

namespace shardc::onnx {

/// What an initializer is to the parameters that it was folded from.
struct Fold {
  enum Kind {
    /// It was folded from no parameter.
    None,
    /// It holds the elements of one parameter, in another order or shape.
    Moved,
    /// It holds something else: the parameter cannot be trained from it.
    Computed
  };
  Kind kind = None;
  /// In the order of their names; none where the exporter does not tell.
  std::vector<std::string> parameters;
  /// All that it was folded from, results of calls among them.
  std::vector<std::string> sources;
  /// Moved: it is the parameter's transpose (2-d).
  bool transposed = false;
  /// Moved: it has the shape that a view left, PyTorch's is not in the file.
  bool reshaped = false;
  /// Moved: PyTorch's shape has one dim, by the function that takes it.
  bool isVector = false;
  /// Computed: by what, as FX names it ("exp"); empty where not known.
  std::string function;
};

class Folds {
public:
  Folds(const ModelFile &file, llvm::ArrayRef<Node> nodes,
        const GraphSignature &signature, const Readers &readers);

  Fold of(const Initializer &initializer) const;

private:
  Fold chain(const Initializer &initializer,
             llvm::ArrayRef<std::string> sources) const;
  bool isFused(const Initializer &initializer, Fold &fold) const;
  bool isRenamed(const Initializer &initializer, Fold &fold) const;

  llvm::ArrayRef<Node> nodes;
  const GraphSignature &signature;
  const Readers &readers;
  llvm::StringMap<std::vector<std::string>> sourcesOf;
  /// Initializers that the exporter's list of inputs describes.
  llvm::StringSet<> described;
};

} // namespace shardc::onnx

#endif
