// Slurm's abbreviations.
#include "runtime/launch/HostList.h"
#include "runtime/base/Error.h"

#include <gtest/gtest.h>
#include <set>

using namespace shardc::runtime;
using Names = std::vector<std::string>;

TEST(HostList, IsExpanded) {
  EXPECT_EQ(expandHostList("node1"), Names{"node1"});
  EXPECT_EQ(expandHostList("a,b-c.d"), (Names{"a", "b-c.d"}));
  EXPECT_EQ(
      expandHostList("node[001-003,7],gpu[1-2]-ib"),
      (Names{"node001", "node002", "node003", "node7", "gpu1-ib", "gpu2-ib"}));
  EXPECT_EQ(expandHostList("n[8-11]"), (Names{"n8", "n9", "n10", "n11"}));
  EXPECT_EQ(expandHostList("n[098-101]"),
            (Names{"n098", "n099", "n100", "n101"}));
  EXPECT_EQ(expandHostList("r[1-2]n[0,3]"),
            (Names{"r1n0", "r1n3", "r2n0", "r2n3"}));
  EXPECT_EQ(expandHostList("[1-2].x"), (Names{"1.x", "2.x"}));
  EXPECT_EQ(expandHostList("n[0-65535]").size(), 65536u);
}

TEST(HostList, WrongOnesAreSaid) {
  auto errorOf = [](const std::string &list) -> std::string {
    try {
      expandHostList(list);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(errorOf("n[1-"), "cannot read the list of hosts 'n[1-' behind "
                             "'n[1-'");
  EXPECT_EQ(errorOf("n[1-2]]"),
            "cannot read the list of hosts 'n[1-2]]' behind 'n[1-2]'");
  for (const char *wrong :
       {"", ",", "a,", "a,,b", "n[", "n[]", "n[a]", "n[1", "n[2-1]", "n[-1]",
        "n[1-2-3]", "n]", "n[1][", "n[99999999999999999999]"})
    EXPECT_NE(errorOf(wrong), "") << wrong;
  EXPECT_EQ(errorOf("n[0-65536]"), "a list of more than 65536 hosts");
  EXPECT_EQ(errorOf("n[0-9][0-99999]"), "a list of more than 65536 hosts");
  EXPECT_EQ(errorOf("n[0-999]m[0-999]"), "a list of more than 65536 hosts");
}

TEST(HostList, TasksAreCounted) {
  EXPECT_EQ(expandTaskCounts("2"), std::vector<int>{2});
  EXPECT_EQ(expandTaskCounts("2(x3),1"), (std::vector<int>{2, 2, 2, 1}));
  for (const char *wrong : {"", "0", "2(3)", "2(x3", "2,", "a", "-1", "2(x-1)",
                            "2(x0)", "1(x99999999)", "2 3"})
    EXPECT_THROW(expandTaskCounts(wrong), Error) << wrong;
}

TEST(HostList, StepsHavePortsOfTheirOwn) {
  std::set<uint16_t> ports;
  for (int step = 0; step < 7; ++step)
    for (int job = 1000; job < 1100; ++job) {
      uint16_t port = slurmPort(job, step);
      EXPECT_GE(port, 20000);
      EXPECT_LE(port + slurmPorts, 32000);
      EXPECT_EQ(port % slurmPorts, 0);
      ports.insert(port);
    }
  EXPECT_EQ(ports.size(), 700u);
  EXPECT_GE(slurmPort(int64_t(1) << 40, 0xfffffff0), 20000);
}
