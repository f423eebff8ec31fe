// runtime/cuda/api/Nccl.h beside NVIDIA's own header, where there is one.
#include "runtime/cuda/api/Nccl.h"

#include "test/emulated-cuda/SameAsHeader.h"

#include <gtest/gtest.h>

#if __has_include(<nccl.h>)
namespace shardc::test::cuda {
// NVIDIA has macros of these names.
constexpr int windowSymmetric = shardc::cuda::NCCL_WIN_COLL_SYMMETRIC;
constexpr int policyDefault = shardc::cuda::NCCL_CTA_POLICY_DEFAULT;
constexpr int policyZero = shardc::cuda::NCCL_CTA_POLICY_ZERO;
constexpr int undefined = shardc::cuda::ncclUndefined;
} // namespace shardc::test::cuda

#include <nccl.h>

namespace shardc::test::cuda {
namespace {

namespace ours = shardc::cuda;

SHARDC_SAME_VALUE(ncclSuccess)
SHARDC_SAME_VALUE(ncclUnhandledCudaError)
SHARDC_SAME_VALUE(ncclSystemError)
SHARDC_SAME_VALUE(ncclInternalError)
SHARDC_SAME_VALUE(ncclInvalidArgument)
SHARDC_SAME_VALUE(ncclInvalidUsage)
SHARDC_SAME_VALUE(ncclRemoteError)
SHARDC_SAME_VALUE(ncclInProgress)
SHARDC_SAME_VALUE(ncclSum)
SHARDC_SAME_VALUE(ncclMax)
SHARDC_SAME_VALUE(ncclInt8)
SHARDC_SAME_VALUE(ncclUint8)
SHARDC_SAME_VALUE(ncclInt32)
SHARDC_SAME_VALUE(ncclInt64)
SHARDC_SAME_VALUE(ncclFloat16)
SHARDC_SAME_VALUE(ncclFloat32)
SHARDC_SAME_VALUE(ncclFloat64)
SHARDC_SAME_VALUE(ncclBfloat16)
static_assert(windowSymmetric == NCCL_WIN_COLL_SYMMETRIC);
static_assert(policyDefault == NCCL_CTA_POLICY_DEFAULT);
static_assert(policyZero == NCCL_CTA_POLICY_ZERO);
static_assert(undefined == NCCL_CONFIG_UNDEF_INT);
static_assert(sizeof(ours::ncclUniqueId) == sizeof(::ncclUniqueId));

#if NCCL_VERSION_CODE >= 22800 && NCCL_VERSION_CODE < 22900
static_assert(sizeof(ours::ncclConfig_t) == sizeof(::ncclConfig_t));
#define SHARDC_SAME(field)                                                     \
  static_assert(offsetof(ours::ncclConfig_t, field) ==                         \
                offsetof(::ncclConfig_t, field));
SHARDC_SAME(size)
SHARDC_SAME(magic)
SHARDC_SAME(version)
SHARDC_SAME(blocking)
SHARDC_SAME(cgaClusterSize)
SHARDC_SAME(minCTAs)
SHARDC_SAME(maxCTAs)
SHARDC_SAME(netName)
SHARDC_SAME(splitShare)
SHARDC_SAME(trafficClass)
SHARDC_SAME(commName)
SHARDC_SAME(collnetEnable)
SHARDC_SAME(CTAPolicy)
SHARDC_SAME(shrinkShare)
SHARDC_SAME(nvlsCTAs)
SHARDC_SAME(nChannelsPerNetPeer)
SHARDC_SAME(nvlinkCentricSched)
#undef SHARDC_SAME

TEST(NcclHeader, BeginsAConfigurationAsNvidiasDoes) {
  ::ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  ours::ncclConfig_t mine;
  EXPECT_EQ(mine.size, theirs.size);
  EXPECT_EQ(mine.magic, theirs.magic);
}
#endif

} // namespace
} // namespace shardc::test::cuda

namespace shardc::cuda {
SHARDC_CUDA_NCCL(SHARDC_SAME_FUNCTION)
} // namespace shardc::cuda

// What the compiler holds is counted where it is said.
TEST(NcclHeader, IsNvidias) { SUCCEED(); }
#else
TEST(NcclHeader, IsNvidias) { GTEST_SKIP() << "no nccl.h"; }
#endif
