// Which parameter of PyTorch's a use of an initializer means.
#ifndef SHARDC_FRONTEND_ONNX_PARAMETERS_PARAMETERNAMES_H
#define SHARDC_FRONTEND_ONNX_PARAMETERS_PARAMETERNAMES_H

#include "frontend/onnx/graph/Folds.h"
#include "frontend/onnx/graph/FxCall.h"

#include "llvm/ADT/DenseSet.h"

namespace shardc::onnx {

/// What a use means.
struct Meaning {
  /// Of a parameter or a buffer. Empty: the exporter's metadata allows several.
  std::string name;
  /// Another name of the same parameter, by the module that reads it; empty
  /// where there is none.
  std::string alias;
};

/// By the dynamo exporter's metadata. torch.export hands over one placeholder
/// for tied parameters, so uses are of one parameter exactly where their calls
/// name one placeholder, whatever initializers the optimizer merged or copied.
class SignatureNames {
public:
  SignatureNames(const ModelFile &file, llvm::ArrayRef<Node> nodes,
                 const GraphSignature &signature, const Readers &readers);

  /// Takes note of an initializer that holds a parameter or a buffer. All of
  /// them are added before the first use is asked for.
  void add(const Initializer &initializer, const Fold &fold,
           llvm::ArrayRef<Reader> usedBy);

  Meaning of(const Initializer &initializer, const Reader &reader) const;

  /// Whether the call of any node names the parameter.
  bool isReferenced(llvm::StringRef name) const {
    return referenced.contains(name);
  }

private:
  std::string ownName(const Initializer &initializer, const Fold &fold,
                      llvm::ArrayRef<Reader> usedBy) const;
  std::string nameOf(llvm::StringRef own, const Reader &reader) const;
  std::string matched(llvm::ArrayRef<std::string> arguments,
                      const Reader &reader) const;
  bool isResultIn(const FxCall &call, const Initializer &initializer) const;

  const ModelFile &file;
  llvm::ArrayRef<Node> nodes;
  const GraphSignature &signature;
  const Readers &readers;
  /// Initializers that hold parameters and buffers, and the names that they
  /// have by themselves.
  llvm::DenseMap<const Initializer *, std::string> ownNames;
  llvm::DenseMap<const Initializer *, std::vector<std::string>> sourcesOf;
  /// Parameters that are an argument of any FX node.
  llvm::StringSet<> referenced;
};

/// By the names that the legacy exporter gives to nodes and Identities.
class LegacyNames {
public:
  LegacyNames(const ModelFile &file, llvm::ArrayRef<Node> nodes,
              const Readers &readers);

  /// The parameter that each reader of an initializer means; empty where it is
  /// not the only one that had the initializer's values, and nothing tells.
  std::vector<std::string> namesOf(const Initializer &initializer,
                                   llvm::ArrayRef<Reader> usedBy) const;
  /// Whether an initializer is the transpose of a Linear's weight.
  bool isTransposed(const Initializer &initializer,
                    llvm::ArrayRef<Reader> usedBy) const;

  /// The module that a node belongs to, however often it was called before.
  std::string moduleOfNode(const Node &node) const;

private:
  std::string nameOf(int node, int input) const;
  /// Whether an exporter gave it a name that says nothing, and the model's one
  /// is found elsewhere.
  bool isRenamed(const Initializer &initializer) const;

  llvm::ArrayRef<Node> nodes;
  const Readers &readers;
  const bool isPyTorchs;
  /// Modules that named tensors belong to, and those of nodes, with the modules
  /// around them.
  llvm::StringSet<> modulesOfTensors, modulesOfNodes;
};

/// Behind the last dot: "weight".
llvm::StringRef lastComponent(llvm::StringRef name);
/// In front of the last dot, the module that owns a parameter; empty where the
/// model itself does.
llvm::StringRef moduleOf(llvm::StringRef name);

} // namespace shardc::onnx

#endif
