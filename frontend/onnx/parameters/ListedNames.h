// The parameters that the exporter listed, beside those that nodes read: names
// that are tied, and names that are nowhere in the graph.
#ifndef SHARDC_FRONTEND_ONNX_PARAMETERS_LISTEDNAMES_H
#define SHARDC_FRONTEND_ONNX_PARAMETERS_LISTEDNAMES_H

#include "frontend/onnx/graph/Merges.h"
#include "frontend/onnx/parameters/ParameterNames.h"
#include "frontend/onnx/parameters/Parameters.h"

namespace shardc::onnx {

class ListedNames {
public:
  ListedNames(llvm::ArrayRef<Node> nodes, const GraphSignature &signature,
              const SignatureNames &names)
      : nodes(nodes), signature(signature), names(names),
        merges(findMerges(nodes, signature)) {}

  /// Gives tied parameters the name that PyTorch lists first, and the names that
  /// no node tells.
  void nameTied(std::vector<Parameter> &found);
  /// Parameters that are nowhere in the graph, after nameTied. What was merged
  /// away with another is a problem of the file.
  void findLost(ParameterTable &table) const;

private:
  /// The parameter that one without any use is tied to: torch.export keeps, of
  /// tied names, the one that is registered last. A parameter of a module that
  /// does not run itself (the table that encoder and decoder share) is what else
  /// is tied; one that a module shares with its child belongs to a child with
  /// tied parameters (the bias of a tied head). Null where that is not unique.
  Parameter *tiedTo(llvm::StringRef name, std::vector<Parameter> &found) const;
  /// The merge that a parameter without any use may have gone with: its node
  /// would be of the function of the one that stayed.
  const Merge *mergeOf(llvm::StringRef name) const;
  /// Whether a parameter of the same module is there.
  bool hasNamesBeside(llvm::StringRef name) const {
    return modulesPresent.contains(moduleOf(name));
  }
  /// Where PyTorch lists it.
  size_t rank(llvm::StringRef name) const {
    auto entry = signature.order.find(name);
    return entry == signature.order.end() ? signature.parameters.size()
                                          : entry->second;
  }

  llvm::ArrayRef<Node> nodes;
  const GraphSignature &signature;
  const SignatureNames &names;
  std::vector<Merge> merges;
  /// Names of what was found and their aliases, the modules that own them, and
  /// the modules that nodes belong to.
  llvm::StringSet<> present, modulesPresent, modulesRun;
};

} // namespace shardc::onnx

#endif
