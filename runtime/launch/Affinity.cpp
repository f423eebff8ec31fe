// Which of a host's processors a process runs on.
#include "runtime/launch/Affinity.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sched.h>
#include <tuple>

namespace shardc::runtime {

static int readNumber(const std::string &path) {
  int number = -1;
  std::ifstream(path) >> number;
  return number;
}

Cores usableCoreList(const std::string &system) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return {};
  // By package and core. Where the system says neither, each is its own.
  std::map<std::tuple<int, int, int>, std::vector<int>> found;
  for (int id = 0; id < CPU_SETSIZE; ++id) {
    if (!CPU_ISSET(id, &set))
      continue;
    std::string topology = concat(system, "/cpu", id, "/topology/");
    int package = readNumber(topology + "physical_package_id");
    int core = readNumber(topology + "core_id");
    found[{package, core, core < 0 ? id : -1}].push_back(id);
  }
  Cores cores;
  for (auto &[key, processors] : found)
    cores.push_back(std::move(processors));
  return cores;
}

static std::vector<int> flat(const Cores &cores, size_t begin, size_t end) {
  std::vector<int> all;
  for (size_t i = begin; i < end; ++i)
    all.insert(all.end(), cores[i].begin(), cores[i].end());
  return all;
}

std::vector<int> shareOf(const Cores &cores, int index, int count) {
  size_t i = static_cast<size_t>(index), n = static_cast<size_t>(count);
  if (cores.size() >= n)
    return flat(cores, cores.size() * i / n, cores.size() * (i + 1) / n);
  std::vector<int> all = flat(cores, 0, cores.size());
  if (all.size() < n)
    return {};
  auto at = [&](size_t part) {
    return all.begin() + static_cast<std::ptrdiff_t>(all.size() * part / n);
  };
  return {at(i), at(i + 1)};
}

std::string maskText(const Cores &cores) {
  std::vector<int> all = flat(cores, 0, cores.size());
  std::sort(all.begin(), all.end());
  std::string text;
  for (size_t i = 0; i < all.size();) {
    size_t end = i + 1;
    while (end < all.size() && all[end] == all[end - 1] + 1)
      ++end;
    text += concat(i ? "," : "", all[i]);
    if (end - i > 1)
      text += concat("-", all[end - 1]);
    i = end;
  }
  return text;
}

std::vector<int> chosenShare(const Cores &cores,
                             const std::vector<std::string> &masks, int index) {
  std::string own = maskText(cores);
  bool areEqual = std::all_of(masks.begin(), masks.end(),
                              [&](const auto &mask) { return mask == own; });
  if (masks.size() < 2 || !areEqual)
    return {};
  return shareOf(cores, index, static_cast<int>(masks.size()));
}

int sharersOf(const Cores &cores, const std::vector<std::string> &masks,
              int index) {
  if (!chosenShare(cores, masks, index).empty())
    return 1;
  return std::max(1, int(std::ranges::count(masks, maskText(cores))));
}

void bindThread(const std::vector<int> &processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int id : processors)
    CPU_SET(id, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0)
    failErrno("cannot bind to ", processors.size(), " processors");
}

std::string oneCoreWarning(const Launch &launch, int usable, int present) {
  if (launch.kind != LaunchKind::Mpi || usable > 1 ||
      present <= launch.localProcesses)
    return "";
  return concat("mpirun has bound this process to one of ", present,
                " processors, as it does by default, so that it computes with "
                "one thread; --bind-to none, or --map-by slot:PE=",
                present / launch.localProcesses, ", gives it its share");
}

} // namespace shardc::runtime
