// The file of --tune, which needs no GPU to be looked at, and what tells products
// apart.
#include "runtime/cuda/products/TuneFile.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/products/Tuning.h"
#include "test/runtime/TemporaryFolder.h"

#include "gtest/gtest.h"

#include <cstring>
#include <functional>
#include <set>

namespace shardc::runtime::cuda {
namespace {

const TunePlace place{"NVIDIA H200", 90, 130100};

TuneFile::Choice choiceOf(uint64_t word) {
  TuneFile::Choice choice;
  for (uint64_t &each : choice.algorithm.data)
    each = word++;
  choice.microseconds = 12.5, choice.firstMicroseconds = 14, choice.timed = 7;
  return choice;
}

TEST(TuneFile, IsReadAsItWasWritten) {
  TemporaryFolder folder;
  std::string path = folder / "tune.json";
  {
    TuneFile file(path, place);
    EXPECT_EQ(file.find("a product"), nullptr);
    file.add("a product", choiceOf(0x0123456789abcdef));
    file.add("\"another\"", choiceOf(3));
    EXPECT_EQ(folder.size(), 0u); // until all are there
    file.keep();
  }
  std::string content = folder.read("tune.json");
  EXPECT_NE(content.find("efcdab8967452301"), content.npos) << content;
  TuneFile again(path, place);
  const TuneFile::Choice *found = again.find("a product");
  ASSERT_NE(found, nullptr);
  TuneFile::Choice wanted = choiceOf(0x0123456789abcdef);
  EXPECT_EQ(std::memcmp(&found->algorithm, &wanted.algorithm,
                        sizeof(wanted.algorithm)),
            0);
  EXPECT_EQ(found->microseconds, 12.5);
  EXPECT_EQ(found->firstMicroseconds, 14);
  EXPECT_EQ(found->timed, 7);
  EXPECT_NE(again.find("\"another\""), nullptr);
  again.keep(); // has nothing new
  EXPECT_EQ(folder.read("tune.json"), content);
  again.add("a third", choiceOf(5));
  again.keep();
  EXPECT_NE(TuneFile(path, place).find("a third"), nullptr);
}

TEST(TuneFile, OfARunThatEndsEarlyIsAsItWas) {
  TemporaryFolder folder;
  std::string path = folder / "tune.json";
  TuneFile(path, place).add("a product", choiceOf(1));
  EXPECT_EQ(folder.size(), 0u);
}

TEST(TuneFile, OfAnotherPlaceIsRefused) {
  TemporaryFolder folder;
  std::string path = folder / "tune.json";
  {
    TuneFile file(path, place);
    file.add("a product", choiceOf(1));
    file.keep();
  }
  std::string content = folder.read("tune.json");
  for (const TunePlace &other : {TunePlace{"NVIDIA H100", 90, 130100},
                                 TunePlace{"NVIDIA H200", 100, 130100},
                                 TunePlace{"NVIDIA H200", 90, 130101}}) {
    try {
      TuneFile file(path, other);
      ADD_FAILURE() << other.text();
    } catch (const Error &error) {
      std::string what = error.what();
      EXPECT_NE(what.find(place.text() + ", and here is " + other.text()),
                what.npos)
          << what;
    }
  }
  EXPECT_EQ(folder.read("tune.json"), content);
}

/// A product of 4096 by 512 values, which a test changes.
entry::Gemm productOf(const std::function<void(entry::Gemm &)> &change) {
  entry::Gemm product;
  auto matrix = [](entry::Matrix &of, uint64_t address, int64_t rows,
                   int64_t columns) {
    of.tensor.data = reinterpret_cast<std::byte *>(address);
    of.tensor.dtype = plan::BFLOAT16;
    of.rows = rows, of.columns = of.stride = columns;
  };
  matrix(product.a, 0x1000, 4096, 256);
  matrix(product.b, 0x2000, 256, 512);
  matrix(product.c, 0x3000, 4096, 512);
  change(product);
  return product;
}

TEST(Tuning, TellsProductsApartAsTheHeuristicDoes) {
  auto at = [](uint64_t address) {
    Tensor tensor;
    tensor.data = reinterpret_cast<std::byte *>(address);
    tensor.dtype = plan::BFLOAT16;
    tensor.shape = {512}, tensor.strides = {1};
    return tensor;
  };
  const std::function<void(entry::Gemm &)> changes[] = {
      [](entry::Gemm &) {},
      [](entry::Gemm &of) { of.a.rows = of.c.rows = 2048; },
      [](entry::Gemm &of) { of.a.columns = of.b.rows = 128; },
      [](entry::Gemm &of) { of.a.stride = 512; },
      [](entry::Gemm &of) { of.c.tensor.dtype = plan::FLOAT32; },
      [](entry::Gemm &of) { of.transposeA = true; },
      [](entry::Gemm &of) { of.transposeB = true; },
      [](entry::Gemm &of) { of.accumulate = true; },
      [](entry::Gemm &of) { of.a.tensor.data += 16; },
      [](entry::Gemm &of) { of.a.batch = of.b.batch = of.c.batch = 2; },
      [](entry::Gemm &of) {
        of.a.batch = of.b.batch = of.c.batch = 2;
        of.a.batchStride = 1 << 20;
      },
      [](entry::Gemm &of) { of.residual = of.c; },
      [&](entry::Gemm &of) { of.bias = at(0x4000); },
      [&](entry::Gemm &of) { of.bias = at(0x4008); },
      [&](entry::Gemm &of) { of.biasGradient = at(0x4000); },
      [&](entry::Gemm &of) {
        of.biasGradient = at(0x4000), of.gradientOfA = true;
      },
      [&](entry::Gemm &of) { of.workspace = at(0x5000); }};
  std::set<std::string> texts;
  for (const auto &change : changes)
    EXPECT_TRUE(texts.insert(tunedText(productOf(change))).second)
        << tunedText(productOf(change));
  // Elsewhere in memory it is the same product.
  EXPECT_TRUE(texts.contains(
      tunedText(productOf([](entry::Gemm &of) { of.a.tensor.data += 512; }))));
}

} // namespace
} // namespace shardc::runtime::cuda
