// Initial values of a unit that is read in several chunks.
#include "runtime/weights/RankValues.h"
#include "runtime/weights/GatheredParameters.h"
#include "test/runtime/engine/HostRank.h"
#include "test/runtime/launch/RanksAsThreads.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

namespace {

class Indices : public ParameterSource {
public:
  void read(int, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override {
    EXPECT_EQ(dtype, plan::FLOAT32);
    for (int64_t i = begin; i < end; ++i)
      reinterpret_cast<float *>(destination)[i - begin] = float(i);
  }
};

TEST(RankValues, AreReadInPiecesIntoBothTypes) {
  // The strategy opt on two ranks: parameters whole, masters by halves. The
  // chunks end within a rank's half, and behind it.
  constexpr int64_t size = 3000002, half = size / 2;
  plan::Plan plan;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(mesh { dims: 2 ranks: 2 shards: 1 optimizer_dims: 0 optimizer_shards: 2 }
         pools { name: "persistent" bytes: 12000128 }
         buffers { name: "p" bytes: 6000004 } buffers { name: "m" offset: 6000064 bytes: 6000004 }
         parameters { name: "w" shape: 3000002 dtype: BFLOAT16 trainable: true }
         units { name: "u" parameters: 0 elements: 3000002 shards: 1 optimizer_shards: 2 dtype: BFLOAT16
                 master_dtype: FLOAT32 gradient_dtype: FLOAT32 master_buffer: 1 })",
      &plan));
  KernelLibrary library = KernelLibrary::of({});
  runRanksAsThreads(2, [&](Communicator &communicator) {
    auto rank = makeHostRank(plan, library, communicator, {});
    readInitialValues(plan, *rank, Indices());
    const plan::Unit &unit = plan.units(0);
    auto *parameters = reinterpret_cast<uint16_t *>(
        hostBytes(rank->parameterSlice(unit)).data());
    auto *masters =
        reinterpret_cast<float *>(hostBytes(rank->masterSlice(unit)).data());
    ASSERT_EQ(rank->masterSlice(unit).begin, rank->rank() * half);
    int64_t wrong = 0;
    for (int64_t i = 0; i < half; ++i)
      wrong += masters[i] != float(rank->rank() * half + i);
    EXPECT_EQ(wrong, 0);
    // 256 and 257 are the first two that one bfloat16 stands for.
    for (auto [i, bits] : {std::pair<int64_t, int>{0, 0},
                           {3, 0x4040},
                           {256, 0x4380},
                           {257, 0x4380},
                           {1 << 20, 0x4980},
                           {(1 << 20) + 4097, 0x4981},
                           {3 << 19, 0x49c0},
                           {1 << 21, 0x4a00}})
      EXPECT_EQ(parameters[i], bits) << i;
    Indices indices;
    GatheredParameters trained(
        plan, *rank, GatheredParameters::Values::Parameters, &indices);
    if (rank->rank() != 0)
      return trained.serve();
    // Of both ranks' slices at once, and of one's.
    for (auto [begin, end] : {std::pair<int64_t, int64_t>{0, size},
                              {half - 1, half + 2},
                              {half + 3, half + 4},
                              {5, 5}}) {
      std::vector<float> read(end - begin);
      trained.read(0, begin, end, plan::FLOAT32,
                   reinterpret_cast<std::byte *>(read.data()));
      for (int64_t i = begin; i < end; ++i)
        wrong += read[i - begin] != float(i);
    }
    trained.finish();
    EXPECT_EQ(wrong, 0);
  });
}

} // namespace
