// What each float tensor of a file is to the training: trained, or kept as it
// is. The dynamo exporter's signature says it; without one, what reads the
// tensor, its values and, where these do not tell, its name do. The user's word
// comes first.
#ifndef SHARDC_FRONTEND_ONNX_PARAMETERS_ROLES_H
#define SHARDC_FRONTEND_ONNX_PARAMETERS_ROLES_H

#include "frontend/onnx/graph/Exporter.h"
#include "frontend/onnx/parameters/Parameters.h"
#include "frontend/onnx/parameters/StoredForm.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Regex.h"

namespace shardc::onnx {

class Roles {
public:
  Roles(const ModelFile &file, llvm::ArrayRef<Node> nodes,
        const GraphSignature &signature, const RoleChoices &choices);

  /// Whether a float initializer of a file without a signature is a parameter.
  bool isParameter(const Initializer &initializer) const {
    return verdicts.lookup(&initializer).parameter;
  }
  /// Whether --trainable names what would be a constant of the program.
  bool isWanted(const Initializer &initializer) const;

  /// Whether --buffer names a tensor.
  bool isKept(const Parameter &parameter) const;

  /// Applies tables that are never trained and the user's choices to the
  /// parameters and buffers, by all of their names, and notes what was
  /// decided by guesses.
  RoleFindings apply(std::vector<Parameter> &parameters) const;

private:
  /// How an initializer was judged.
  struct Verdict {
    bool parameter = false;
    /// Why a tensor that a gradient reaches may be judged wrongly; empty where
    /// there is no doubt.
    std::string doubt;
  };
  /// A node input that reads an initializer, also through Identity.
  using Use = std::pair<const ::onnx::NodeProto *, int>;

  void collectUses();
  void findDedicated();
  Verdict judge(const Initializer &initializer) const;
  Verdict judgeNamed(const Initializer &initializer) const;
  bool isReadBy(const Initializer &initializer,
                llvm::function_ref<bool(llvm::StringRef, int)> matches) const;
  bool isFactor(const Initializer &initializer) const;
  bool isMatrix(const Initializer &initializer) const;
  bool isVector(const Initializer &initializer) const;
  bool isBiasOfOne(const Initializer &initializer) const;
  bool isSineTable(const Parameter &parameter) const;
  std::vector<std::string> constantWeights() const;
  void promote(std::vector<Parameter> &parameters,
               RoleFindings &findings) const;
  void demote(std::vector<Parameter> &parameters, RoleFindings &findings) const;

  const ModelFile &file;
  llvm::ArrayRef<Node> nodes;
  const GraphSignature &signature;
  const RoleChoices &choices;
  const bool isPyTorchs;
  llvm::StringMap<llvm::SmallVector<Use, 2>> uses;
  llvm::StringMap<const ::onnx::NodeProto *> producers; // by value
  llvm::DenseMap<const Initializer *, Verdict> verdicts;
  std::vector<llvm::Regex> dedicated;
};

} // namespace shardc::onnx

#endif
