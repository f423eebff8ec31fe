// Lists as Slurm abbreviates them.
#ifndef SHARDC_RUNTIME_LAUNCH_HOSTLIST_H
#define SHARDC_RUNTIME_LAUNCH_HOSTLIST_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

/// "node[001-003,7],gpu[1-2]-ib" as "node001", "node002", "node003", "node7",
/// "gpu1-ib", "gpu2-ib". Throws an Error for what is no such list, or has more
/// than 65,536 hosts.
std::vector<std::string> expandHostList(const std::string &list);

/// Tasks on each node: "2(x3),1" as 2, 2, 2, 1. Throws an Error likewise.
std::vector<int> expandTaskCounts(const std::string &list);

/// The first of the `slurmPorts` ports that the processes of a job's step try
/// for their store. Steps that run at once have different ones, as far as ports
/// go: below those that systems give to connections that they make.
inline constexpr int slurmPorts = 16;
uint16_t slurmPort(int64_t job, int64_t step);

} // namespace shardc::runtime

#endif
