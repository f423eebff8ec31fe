// Free times of the link between a device and its host.
#include "codegen/offload/HostLink.h"

#include "gtest/gtest.h"

using namespace shardc;
using offload::HostLink;
using timeline::Span;

namespace {

/// 1 MB takes a second, but for what every transfer takes besides.
Cluster machine(bool isDuplex) {
  Cluster cluster;
  cluster.hostBandwidth = 1e6;
  cluster.hostIsDuplex = isDuplex;
  return cluster;
}
constexpr int64_t megabyte = 1000000 - 10; // with the 10 us: a second

TEST(HostLink, takesTheFirstFreeTime) {
  Cluster cluster = machine(false);
  HostLink link(cluster);
  link.take(HostLink::ToHost, {1, 2});
  link.take(HostLink::ToHost, {3.5, 5});
  EXPECT_NEAR(link.first(HostLink::ToHost, 0, megabyte).begin, 0, 1e-4);
  EXPECT_NEAR(link.first(HostLink::ToHost, 0.5, megabyte).begin, 2, 1e-4);
  EXPECT_NEAR(link.first(HostLink::ToHost, 1.5, megabyte).end, 3, 1e-4);
  EXPECT_NEAR(link.first(HostLink::ToHost, 2.75, megabyte).begin, 5, 1e-4);
  EXPECT_NEAR(link.first(HostLink::ToHost, 0, 2 * megabyte).begin, 5, 1e-4);
}

TEST(HostLink, takesTheLastFreeTime) {
  Cluster cluster = machine(false);
  HostLink link(cluster);
  link.take(HostLink::FromHost, {1, 2});
  link.take(HostLink::FromHost, {3.5, 5});
  auto begin = [&](double after, double before) {
    auto span = link.last(HostLink::FromHost, after, before, megabyte);
    return span ? span->begin : -1;
  };
  EXPECT_NEAR(begin(0, 7), 6, 1e-4);
  EXPECT_NEAR(begin(0, 5.5), 2.5, 1e-4);
  EXPECT_NEAR(begin(0, 2.5), 0, 1e-4);
  EXPECT_NEAR(begin(0.1, 2.5), -1, 1e-4);
  EXPECT_NEAR(begin(4.1, 5), -1, 1e-4);
}

TEST(HostLink, carriesBothWaysWhereItIsDuplex) {
  for (bool isDuplex : {false, true}) {
    Cluster cluster = machine(isDuplex);
    HostLink link(cluster);
    Span taken{1, 2};
    link.take(HostLink::ToHost, taken);
    EXPECT_NEAR(link.first(HostLink::FromHost, 1, megabyte).begin,
                isDuplex ? 1 : 2, 1e-4);
    EXPECT_NEAR(link.beginBefore(HostLink::FromHost, 5), isDuplex ? 0 : 1,
                1e-4);
    link.release(HostLink::ToHost, taken);
    EXPECT_NEAR(link.first(HostLink::ToHost, 1, megabyte).begin, 1, 1e-4);
  }
}

} // namespace
