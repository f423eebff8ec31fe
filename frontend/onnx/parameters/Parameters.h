// Which initializers are parameters, under which names, and which use means
// which: what the exporters merged, renamed, transposed and tied is taken apart
// here.
#ifndef SHARDC_FRONTEND_ONNX_PARAMETERS_PARAMETERS_H
#define SHARDC_FRONTEND_ONNX_PARAMETERS_PARAMETERS_H

#include "frontend/onnx/graph/FlatGraph.h"
#include "frontend/onnx/parameters/RoleChoices.h"

#include "llvm/ADT/DenseMap.h"

namespace shardc::onnx {

/// An initializer that holds a parameter, and the node inputs that read it from
/// there.
struct Binding {
  /// Null: the parameter was merged with another one and shares that one's
  /// initializer.
  const Initializer *initializer = nullptr;
  /// The initializer is the parameter's transpose (2-d). Where it is not and
  /// its dims are others than the parameter's, it is a view.
  bool transposed = false;
  /// Node (index in the flat graph) and input.
  std::vector<std::pair<int, int>> uses;
};

struct Parameter {
  /// PyTorch's name where the file knows it, else the initializer's.
  std::string name;
  /// In PyTorch's orientation.
  llvm::SmallVector<int64_t> dims;
  int dtype = 0;
  bool trainable = false;
  /// A parameter that is kept as it is.
  bool frozen = false;
  /// A running statistic, which a batch norm's steps move.
  bool running = false;
  /// One of several that --untie makes of an initializer.
  bool untied = false;
  /// Module that owns it; empty where not known.
  std::string scope;
  /// How PyTorch would initialise it; see docs/architecture.md.
  std::string init;
  /// Further names of the same parameter (tied weights).
  std::vector<std::string> aliases;
  /// Where it is stored: the first one gives its values.
  std::vector<Binding> bindings;
};

class ParameterTable {
public:
  /// Recovers the parameters of a model. `nodes` is its flat graph.
  static ParameterTable recover(const ModelFile &file,
                                llvm::ArrayRef<Node> nodes,
                                const RoleChoices &choices = {});

  llvm::ArrayRef<Parameter> parameters() const { return table; }
  /// Parameters that the exporter listed and removed from the graph.
  llvm::ArrayRef<std::string> lost() const { return lostNames; }
  /// Parameters that the exporter listed and no node reads: removed, tied to
  /// one whose name is not known, or without a use in PyTorch too.
  llvm::ArrayRef<std::string> unused() const { return unusedNames; }
  /// Parameters whose shape is the one that a view left.
  llvm::ArrayRef<std::string> reshaped() const { return reshapedNames; }
  /// Trained parameters that have the exporter's name alone: it stored what it
  /// computed from them, or from something else.
  llvm::ArrayRef<std::string> unnamed() const { return unnamedNames; }
  /// Trained tables of embeddings with the one row of zeros that a padding_idx
  /// leaves, of which a file without a signature does not tell.
  llvm::ArrayRef<std::pair<std::string, int64_t>> padded() const {
    return paddedRows;
  }
  /// Buffers that PyTorch's forward pass changes and this one does not.
  llvm::ArrayRef<std::string> unchanged() const { return unchangedNames; }
  /// Why the file does not hold the model that PyTorch trains: a line each,
  /// with what to do.
  llvm::ArrayRef<std::string> problems() const { return problemTexts; }

  /// Names of parameters that several nodes read, and whose equal values may
  /// hide that they were several.
  llvm::ArrayRef<std::string> suspicious() const { return suspiciousNames; }

  /// What the file does not say about which tensors are trained.
  const RoleFindings &roles() const { return roleFindings; }

  /// What input `input` of node `node` reads, as (parameter, binding); none
  /// where it is no parameter.
  std::optional<std::pair<int, int>> use(int node, int input) const;
  /// What an initializer's name means where no node is known (a graph output, a
  /// branch); none where it is no parameter.
  std::optional<std::pair<int, int>>
  byInitializer(llvm::StringRef initializer) const;

private:
  friend class Recovery;
  friend class ListedNames;
  std::vector<Parameter> table;
  std::vector<std::string> lostNames, unusedNames, reshapedNames, unnamedNames,
      suspiciousNames, unchangedNames, problemTexts;
  std::vector<std::pair<std::string, int64_t>> paddedRows;
  RoleFindings roleFindings;
  llvm::DenseMap<std::pair<int, int>, std::pair<int, int>> uses;
  llvm::StringMap<std::pair<int, int>> initializers;
};

} // namespace shardc::onnx

#endif
