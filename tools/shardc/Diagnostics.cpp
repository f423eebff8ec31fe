// How shardc speaks to its user.
#include "tools/shardc/Diagnostics.h"

#include "frontend/nn/support/Describe.h"
#include "runtime/base/Printable.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <new>
#include <typeinfo>
#include <unistd.h>

using namespace mlir;
using namespace shardc;

/// The innermost that lives.
static KeptDiagnostics *keeper = nullptr;

KeptDiagnostics::KeptDiagnostics(bool keepsWarnings)
    : keepsWarnings(keepsWarnings), outer(keeper) {
  keeper = this;
}
KeptDiagnostics::~KeptDiagnostics() { keeper = outer; }

static void say(bool isError, const std::string &message) {
  if (keeper && isError)
    keeper->errors.push_back(message);
  else if (!keeper || !keeper->keepsWarnings)
    llvm::errs() << "shardc: " << (isError ? "error: " : "warning: ")
                 << runtime::printable(message) << "\n";
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context, std::string file)
    : file(std::move(file)),
      handler(&context, [this](Diagnostic &diagnostic) { print(diagnostic); }) {
}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
    return printRemark(diagnostic);
  bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
  if ((!isError && diagnostic.getSeverity() != DiagnosticSeverity::Warning) ||
      (isError && errors++))
    return;
  std::string message = diagnostic.str(), place;
  if (!StringRef(message).contains(file))
    place += file + ": ";
  if (std::string node = nodeName(diagnostic.getLocation());
      !node.empty() && message.find("node") == std::string::npos)
    place += "node '" + node + "': ";
  if (!isError && !warnings.insert(place + message).second)
    return;
  say(isError, place + message);
}

void DiagnosticPrinter::printRemark(Diagnostic &diagnostic) {
  if (keeper)
    return; // of a try
  std::string text = diagnostic.str();
  auto [pass, message] = StringRef(text).split(": ");
  std::string node = nodeName(diagnostic.getLocation());
  if (kept)
    return kept->push_back({pass.str(), node, message.str()});
  // Others than those of enableRemarks() nobody asked for.
  if (!hasRemarks)
    return;
  std::string place = node.empty() ? "" : "node '" + node + "': ";
  llvm::errs() << "shardc: remark: "
               << runtime::printable(pass.str() + ": " + place + message.str())
               << "\n";
}

void shardc::printError(const llvm::Twine &message) {
  say(/*isError=*/true, message.str());
}

/// mimalloc's, where the program is linked with it.
extern "C" __attribute__((weak)) void
mi_register_error(void (*handler)(int error, void *argument), void *argument);

/// Ends the process at once: who gives up holds locks, and what is destroyed at
/// exit may be what broke. Allocates nothing.
[[noreturn]] static void giveUp(const char *what, const char *reason) {
  // Other threads meet the same; one line is enough.
  static std::atomic_flag hasSaid;
  while (hasSaid.test_and_set())
    pause();
  for (const char *text : {"shardc: error: ", what, reason, "\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
      break;
  llvm::sys::RunInterruptHandlers();
  _exit(1);
}

void shardc::reportFatalErrors() {
  llvm::install_fatal_error_handler(
      [](void *, const char *reason, bool) {
        static char line[1000];
        snprintf(line, sizeof(line), "%s", reason);
        for (char &character : line)
          if (character && (character < ' ' || character == 127))
            character = ' ';
        // Of LLVM's threads: std::thread throws instead.
        if (std::strstr(line, "pthread_create"))
          giveUp("the system starts no more threads (ulimit -u, ulimit -v)",
                 "");
        giveUp("the compiler gave up, which is its own fault: ", line);
      },
      nullptr);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { giveUp("out of memory", ""); }, nullptr);
  std::set_new_handler([] { giveUp("out of memory", ""); });
  // mimalloc knows of no such handler, and aborts.
  if (mi_register_error)
    mi_register_error(
        [](int error, void *) {
          if (error == ENOMEM)
            giveUp("out of memory", "");
        },
        nullptr);
  // Of what is thrown here, by std::thread and by allocations, the type alone
  // can be known: this program is built without exceptions.
  std::set_terminate([] {
    std::type_info *type = abi::__cxa_current_exception_type();
    llvm::StringRef name = type ? type->name() : "";
    if (name.contains("system_error"))
      giveUp("the system starts no more threads (ulimit -u, ulimit -v)", "");
    if (name.contains("bad_alloc"))
      giveUp("out of memory", "");
    giveUp("the compiler gave up, which is its own fault: ",
           type ? type->name() : "it was ended");
  });
}

int shardc::finishOutput(int code) {
  llvm::outs().flush();
  std::error_code problem = llvm::outs().error();
  // Their destructors would end the program with words of their own.
  llvm::outs().clear_error();
  llvm::errs().clear_error();
  if (!problem)
    return code;
  if (code == 0)
    printError("cannot write to stdout: " + problem.message());
  llvm::errs().clear_error();
  return code ? code : 1;
}
