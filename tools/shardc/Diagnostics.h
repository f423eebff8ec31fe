// How shardc speaks to its user: one line per error or warning, on stderr.
#ifndef SHARDC_TOOLS_SHARDC_DIAGNOSTICS_H
#define SHARDC_TOOLS_SHARDC_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace shardc {

/// Why a pass did what it did, as --remarks prints it.
struct Remark {
  std::string pass, node, message; // no node: empty
};

/// Prints MLIR's diagnostics as "shardc: error: FILE: node 'NAME': message",
/// and remarks, where they are asked for, as "shardc: remark: PASS: node
/// 'NAME': message". After the first error the other errors are kept back: they
/// follow from the first. What several targets warn of is said once.
class DiagnosticPrinter {
public:
  DiagnosticPrinter(mlir::MLIRContext &context, std::string file);
  bool hadError() const { return errors > 0; }
  /// Those so far were of a try.
  void forgetErrors() { errors = 0; }
  void showRemarks() { hasRemarks = true; }
  /// They are added to `list`, and not printed.
  void keepRemarks(std::vector<Remark> &list) { kept = &list; }

private:
  void print(mlir::Diagnostic &diagnostic);
  void printRemark(mlir::Diagnostic &diagnostic);
  std::string file;
  int errors = 0;
  bool hasRemarks = false;
  std::vector<Remark> *kept = nullptr;
  llvm::StringSet<> warnings;
  mlir::ScopedDiagnosticHandler handler;
};

/// One line for an error that has no place in the model.
void printError(const llvm::Twine &message);

/// While one lives, errors (and warnings, where it is told so) are kept in it
/// instead of being printed: those of a compilation that is a try.
class KeptDiagnostics {
public:
  explicit KeptDiagnostics(bool keepsWarnings);
  ~KeptDiagnostics();
  KeptDiagnostics(const KeptDiagnostics &) = delete;
  KeptDiagnostics &operator=(const KeptDiagnostics &) = delete;

  const bool keepsWarnings;
  std::vector<std::string> errors; // as they would be printed, behind "error: "

private:
  KeptDiagnostics *outer;
};

/// From now on what LLVM and MLIR give up over, and memory that runs out, ends
/// the program with one line and exit code 1; files that are half written are
/// removed.
void reportFatalErrors();

/// Flushes stdout; the program's exit code: `code`, or 1 after an error of one
/// line where not all could be written.
int finishOutput(int code);

} // namespace shardc

#endif
