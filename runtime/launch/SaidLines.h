// What processes say on stderr, as one program's.
#ifndef SHARDC_RUNTIME_LAUNCH_SAIDLINES_H
#define SHARDC_RUNTIME_LAUNCH_SAIDLINES_H

#include <map>
#include <set>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Lines of others than process 0 are printed with the number in front of them.
/// What ends a run ends all of its processes, each of which says why: errors
/// ("NAME: error: ...") wait until the process has ended, and each text is
/// printed once; what those say that have lost another, only where nobody else
/// says anything.
class SaidLines {
public:
  void take(int process, const std::vector<std::string> &lines);
  /// `hasLost`: it ended because of another.
  void hasEnded(int process, bool hasLost);
  /// All have ended.
  void end();

private:
  void print(int process, const std::string &line);

  std::map<int, std::vector<std::string>> errors; // by process
  std::set<std::string> printed;
};

} // namespace shardc::runtime

#endif
