// What the user and what guesses say about which tensors are trained.
#ifndef SHARDC_FRONTEND_ONNX_PARAMETERS_ROLECHOICES_H
#define SHARDC_FRONTEND_ONNX_PARAMETERS_ROLECHOICES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace shardc::onnx {

/// Regular expressions that are found in names of tensors.
struct RoleChoices {
  /// --trainable: what is trained; the pass nn-mark-parameters freezes the
  /// other parameters.
  std::vector<std::string> trainable;
  /// --buffer: what is not a parameter.
  std::vector<std::string> buffers;
  /// --untie: what is a parameter of each module that reads it.
  std::vector<std::string> untied;
};

/// A tensor whose role the file does not tell.
struct RoleNote {
  std::string name;
  bool trained = false;
  /// "a table of sines", "its name", ...
  std::string reason;
};

struct RoleFindings {
  std::vector<RoleNote> notes;
  /// Tensors that a --trainable found besides parameters, and left as they are.
  std::vector<std::string> passedOver;
  /// Matrices of products and tables that Constant nodes hold beside weights that
  /// are initializers.
  std::vector<std::string> constants;
  /// Why a choice cannot be followed; empty where all can.
  std::string problem;
};

/// The first few of a list, how many more there are, and where all are.
std::string
listFew(llvm::ArrayRef<std::string> texts,
        llvm::StringRef wherever = " (--report FILE.json lists them)");
/// 'a', 'b'.
std::vector<std::string> quoted(llvm::ArrayRef<std::string> names);

/// The lines that warn about the notes: at most one of what is trained and one
/// of what is not. A line names a few; the report has all.
std::vector<std::string> roleWarnings(const RoleFindings &findings);

} // namespace shardc::onnx

#endif
