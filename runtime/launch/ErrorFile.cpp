// Why a worker of torchrun ended, where its agent looks for it.
#include "runtime/launch/ErrorFile.h"

#include "runtime/base/Printable.h"
#include "runtime/files/Descriptor.h"

#include <ctime>
#include <fcntl.h>
#include <nlohmann/json.hpp>

namespace shardc::runtime {

std::string errorFileText(const std::string &message, int64_t time) {
  // What torchrun shows is the call stack, where there is one: here it is the
  // line itself. Bytes that are no UTF-8 are no JSON.
  std::string line = printable("trainer: error: " + message);
  nlohmann::ordered_json text;
  text["message"]["message"] = line;
  text["message"]["extraInfo"]["py_callstack"] = line;
  text["message"]["extraInfo"]["timestamp"] = std::to_string(time);
  return text.dump();
}

bool writeErrorFile(const Environment &environment,
                    const std::string &message) {
  auto path = environment.find("TORCHELASTIC_ERROR_FILE");
  if (path == environment.end() || path->second.empty())
    return true;
  Descriptor file(open(path->second.c_str(),
                       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file)
    return false;
  std::string text = errorFileText(message, std::time(nullptr));
  try {
    file.write(text.data(), text.size(), path->second);
  } catch (const Error &) {
    return false;
  }
  return true;
}

} // namespace shardc::runtime
