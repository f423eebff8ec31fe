// Errors are told from other lines by how the program prints them.
#include "runtime/launch/SaidLines.h"

#include <cstdio>

namespace shardc::runtime {

static bool isError(const std::string &line) {
  size_t colon = line.find(": ");
  return colon != std::string::npos && line.find(' ') > colon &&
         line.compare(colon, 9, ": error: ") == 0;
}

void SaidLines::print(int process, const std::string &line) {
  if (isError(line) && !printed.insert(line).second)
    return;
  if (process == 0)
    std::fprintf(stderr, "%s\n", line.c_str());
  else
    std::fprintf(stderr, "[process %d] %s\n", process, line.c_str());
}

void SaidLines::take(int process, const std::vector<std::string> &lines) {
  for (const std::string &line : lines)
    if (isError(line))
      errors[process].push_back(line);
    else
      print(process, line);
}

void SaidLines::hasEnded(int process, bool hasLost) {
  if (hasLost)
    return;
  for (const std::string &line : errors[process])
    print(process, line);
  errors.erase(process);
}

void SaidLines::end() {
  if (printed.empty())
    for (const auto &[process, lines] : errors)
      for (const std::string &line : lines)
        print(process, line);
  errors.clear();
  printed.clear();
}

} // namespace shardc::runtime
