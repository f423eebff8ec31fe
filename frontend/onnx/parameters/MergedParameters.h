// Parameters that an exporter merged since they had equal values when it wrote
// the file: a model that is new has many. Where the file tells them apart, they
// are several; here is what it does not tell.
#ifndef SHARDC_FRONTEND_ONNX_PARAMETERS_MERGEDPARAMETERS_H
#define SHARDC_FRONTEND_ONNX_PARAMETERS_MERGEDPARAMETERS_H

#include "frontend/onnx/parameters/ParameterNames.h"
#include "frontend/onnx/parameters/Parameters.h"

#include "llvm/Support/Regex.h"

namespace shardc::onnx {

class MergedParameters {
public:
  MergedParameters(const ModelFile &file, llvm::ArrayRef<Node> nodes,
                   const Readers &readers, const LegacyNames &names,
                   const RoleChoices &choices);

  /// Where --untie finds an initializer, the name of each reader's parameter:
  /// that of its module, with the end of the initializer's; none elsewhere.
  std::optional<std::vector<std::string>> untie(const Initializer &initializer,
                                                llvm::ArrayRef<Reader> usedBy);

  /// Whether an initializer may hold the same parameter as those that it has
  /// already: its values are the same, or not known.
  bool mayHold(const Parameter &parameter, const Initializer &initializer,
               bool transposed) const;

  /// Whether nodes of several modules read a parameter that may have been some
  /// with equal values (or that is joined with a transposed copy): of vectors with
  /// one value everywhere, or of matrices, where none is an embedding's that a
  /// head is tied to.
  bool maybe(const Parameter &parameter) const;

  /// What is wrong with an --untie, after all initializers; empty where nothing
  /// is.
  std::string problem() const;

private:
  std::string moduleOf(int node) const;

  const ModelFile &file;
  llvm::ArrayRef<Node> nodes;
  const Readers &readers;
  const LegacyNames &names;
  const std::vector<std::string> &patterns;
  std::vector<llvm::Regex> regexes;
  std::vector<bool> unties; // by pattern
};

} // namespace shardc::onnx

#endif
