// Which call is changed, and kernels without a statement.
#include "Mutant.h"

#include "Settings.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace shardc::test::cuda {

static constexpr const char *variable = "SHARDC_EMULATED_MUTANT";

static uint64_t count(const std::string &text, const std::string &of,
                      bool &andLater) {
  char *rest = nullptr;
  uint64_t value = std::strtoull(of.c_str(), &rest, 10);
  andLater = *rest == '+';
  if (value == 0 || rest[andLater ? 1 : 0] != 0)
    finding(std::string(variable) + " is '" + text + "': '" + of +
            "' counts no calls; give a number from 1 on");
  return value;
}

Mutant Mutant::read(const std::string &text) {
  std::vector<std::string> fields;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('|', begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  static constexpr const char *kinds[] = {
      "drop",    "early",    "before", "shift", "blocks",    "threads",
      "default", "pageable", "again",  "swap",  "statement", "list"};
  Mutant made;
  made.kind = fields[0];
  if (std::find(std::begin(kinds), std::end(kinds), made.kind) ==
          std::end(kinds) ||
      fields.size() < 4)
    finding(std::string(variable) + " is '" + text +
            "': give KIND|CALL|N|DEVICE with a kind that driver/Mutant.h has");
  made.call = fields[1];
  if (made.kind == "statement") {
    made.number = count(text, fields[3], made.andLater);
    made.more = {fields[2], fields.size() > 4 ? fields[4] : ""};
    return made;
  }
  made.number = count(text, fields[2], made.andLater);
  made.everyDevice = fields[3] == "*";
  made.device = std::atoi(fields[3].c_str());
  made.more.assign(fields.begin() + 4, fields.end());
  return made;
}

static const std::optional<Mutant> &mutant() { return settings().mutant; }

bool hasMutant() { return mutant().has_value(); }

/// Whether the text begins with the pattern, in which '*' stands for any text.
static bool begins(const std::string &text, const std::string &pattern) {
  size_t at = 0;
  for (size_t begin = 0; begin <= pattern.size();) {
    size_t end = std::min(pattern.find('*', begin), pattern.size());
    std::string part = pattern.substr(begin, end - begin);
    size_t found = text.find(part, at);
    if (found == std::string::npos || (begin == 0 && found != 0))
      return false;
    at = found + part.size();
    begin = end + 1;
  }
  return true;
}

bool isMutated(const char *kind, const std::string &description) {
  if (!mutant() || (mutant()->kind != kind && mutant()->kind != "list"))
    return false;
  // Of each call one kind is asked for; allocations have no other.
  if (mutant()->kind == "list" && std::strcmp(kind, "drop") != 0 &&
      std::strcmp(kind, "again") != 0)
    return false;
  int device = currentDevice();
  if (device < 0 || (!mutant()->everyDevice && device != mutant()->device) ||
      !begins(description, mutant()->call))
    return false;
  static std::atomic<uint64_t> calls[16];
  uint64_t number = ++calls[device];
  bool is = number == mutant()->number ||
            (mutant()->andLater && number > mutant()->number);
  if (is)
    std::fprintf(stderr, "emulated CUDA: mutant: %s on device %d: %s\n",
                 mutant()->kind.c_str(), device, description.c_str());
  return is && mutant()->kind == kind;
}

const std::string &mutantText(size_t which) {
  if (which >= mutant()->more.size())
    finding(std::string(variable) + ": " + mutant()->kind +
            " needs more: driver/Mutant.h says what");
  return mutant()->more[which];
}

int64_t mutantNumber(size_t which) {
  return std::strtoll(mutantText(which).c_str(), nullptr, 10);
}

void shiftArguments(const std::string &description, void *arguments,
                    size_t bytes) {
  if (!isMutated("shift", description))
    return;
  auto at = size_t(mutantNumber(0));
  if (at + sizeof(int64_t) > bytes)
    finding(std::string(variable) + ": there are " + std::to_string(bytes) +
            " bytes of arguments");
  int64_t value = 0;
  std::memcpy(&value, static_cast<char *>(arguments) + at, sizeof(value));
  value += mutantNumber(1);
  std::memcpy(static_cast<char *>(arguments) + at, &value, sizeof(value));
}

std::string mutatedKernel(const std::string &name, std::string text) {
  if (!mutant() || mutant()->kind != "statement" ||
      !begins(name, mutant()->call))
    return text;
  const std::string &opcode = mutantText(0), &instead = mutantText(1);
  uint64_t number = 0;
  size_t body = text.rfind(".entry");
  for (size_t at = text.find(opcode, body); at != std::string::npos;
       at = text.find(opcode, at + 1)) {
    bool isOpcode = std::strchr(" \t\n", text[at - 1]) != nullptr;
    if (!isOpcode || ++number != mutant()->number)
      continue;
    size_t end = text.find(';', at);
    std::fprintf(stderr, "emulated CUDA: mutant: in %s: %s\n", name.c_str(),
                 text.substr(at, end - at).c_str());
    if (!instead.empty())
      return text.replace(at, text.find_first_of(" \t;", at) - at, instead);
    // With its predicate.
    size_t begin = text.find_last_of("\n;:{", at) + 1;
    return text.erase(begin, end + 1 - begin);
  }
  return text;
}

} // namespace shardc::test::cuda
