// Lists as Slurm abbreviates them.
#include "runtime/launch/HostList.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <charconv>

namespace shardc::runtime {

static constexpr size_t mostHosts = 65536;

namespace {

/// Text that is read from its begin.
class Scanner {
public:
  Scanner(const char *what, const std::string &text)
      : what(what), text(text), rest(text) {}

  bool atEnd() const { return rest.empty(); }
  bool take(char c) {
    if (rest.empty() || rest.front() != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c))
      wrong();
  }
  /// Up to one of `ends`, or the end.
  std::string_view until(std::string_view ends) {
    size_t end = std::min(rest.find_first_of(ends), rest.size());
    std::string_view taken = rest.substr(0, end);
    rest.remove_prefix(end);
    return taken;
  }
  /// Its digits as they stand, and its value.
  int64_t number(std::string_view *digits = nullptr) {
    int64_t value = 0;
    auto [stop, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value);
    size_t length = static_cast<size_t>(stop - rest.data());
    if (error != std::errc() || rest.front() == '-')
      wrong();
    if (digits)
      *digits = rest.substr(0, length);
    rest.remove_prefix(length);
    return value;
  }
  [[noreturn]] void wrong() const {
    fail("cannot read ", what, " '", text, "' behind '",
         text.substr(0, text.size() - rest.size()), "'");
  }

private:
  const char *what;
  const std::string &text;
  std::string_view rest;
};

} // namespace

static void checkCount(size_t count) {
  if (count > mostHosts)
    fail("a list of more than ", mostHosts, " hosts");
}

/// "[1-3,07]" as "1", "2", "3", "07": as many digits as the first number has.
static std::vector<std::string> expandRanges(Scanner &scanner) {
  std::vector<std::string> numbers;
  do {
    std::string_view digits;
    int64_t first = scanner.number(&digits), last = first;
    if (scanner.take('-'))
      last = scanner.number();
    if (last < first)
      scanner.wrong();
    checkCount(numbers.size() + static_cast<size_t>(last - first) + 1);
    for (int64_t number = first; number <= last; ++number) {
      std::string plain = std::to_string(number);
      if (plain.size() < digits.size())
        plain.insert(0, digits.size() - plain.size(), '0');
      numbers.push_back(std::move(plain));
    }
  } while (scanner.take(','));
  scanner.expect(']');
  return numbers;
}

std::vector<std::string> expandHostList(const std::string &list) {
  Scanner scanner("the list of hosts", list);
  std::vector<std::string> hosts;
  do {
    // Brackets may stand at several places of a name: every combination.
    std::vector<std::string> names = {std::string(scanner.until(",[]"))};
    while (scanner.take('[')) {
      std::vector<std::string> numbers = expandRanges(scanner);
      std::string tail(scanner.until(",[]"));
      checkCount(names.size() * numbers.size());
      std::vector<std::string> longer;
      for (const std::string &name : names)
        for (const std::string &number : numbers)
          longer.push_back(name + number + tail);
      names = std::move(longer);
    }
    if (names.front().empty())
      scanner.wrong();
    checkCount(hosts.size() + names.size());
    hosts.insert(hosts.end(), names.begin(), names.end());
  } while (scanner.take(','));
  if (!scanner.atEnd())
    scanner.wrong();
  return hosts;
}

std::vector<int> expandTaskCounts(const std::string &list) {
  Scanner scanner("the numbers of tasks", list);
  std::vector<int> counts;
  do {
    int64_t count = scanner.number(), times = 1;
    if (count < 1 || count > 1 << 20)
      scanner.wrong();
    if (scanner.take('(')) {
      scanner.expect('x');
      times = scanner.number();
      if (times < 1)
        scanner.wrong();
      scanner.expect(')');
    }
    checkCount(counts.size() +
               static_cast<size_t>(std::min<int64_t>(times, mostHosts + 1)));
    counts.insert(counts.end(), static_cast<size_t>(times),
                  static_cast<int>(count));
  } while (scanner.take(','));
  if (!scanner.atEnd())
    scanner.wrong();
  return counts;
}

uint16_t slurmPort(int64_t job, int64_t step) {
  constexpr uint64_t first = 20000, windows = 12000 / slurmPorts;
  uint64_t window = (uint64_t(job) * 7 + uint64_t(step)) % windows;
  return static_cast<uint16_t>(first + window * slurmPorts);
}

} // namespace shardc::runtime
