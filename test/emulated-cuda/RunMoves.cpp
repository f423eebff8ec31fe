// Kernels by their names: from the PTX that ships, and as functions of the host.
#include "RunMoves.h"
#include "RunKernel.h"
#include "runtime/base/DType.h"
#include "runtime/cuda/kernels/AddRows.cu"
#include "runtime/cuda/kernels/Copy.cu"
#include "runtime/cuda/kernels/Indexing.cu"
#include "runtime/cuda/kernels/TopK.cu"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace shardc::runtime;
using namespace shardc::runtime::cuda;

namespace shardc::test {
namespace {

using HostKernel = std::function<void(const void *)>;

template <typename Parameters>
HostKernel hostKernel(void (*kernel)(Parameters)) {
  return [kernel](const void *bytes) {
    Parameters with;
    std::memcpy(&with, bytes, sizeof(with));
    for (int64_t block = 0; block < kernelBlocks; ++block) {
      hostThread = {block, kernelBlocks};
      kernel(with);
    }
  };
}

const std::map<std::string, HostKernel> &hostKernels() {
  static const std::map<std::string, HostKernel> all = {
#define KERNEL(name) {#name, hostKernel(name)}
#define UNITS(kernel)                                                          \
  KERNEL(kernel##1), KERNEL(kernel##2), KERNEL(kernel##4), KERNEL(kernel##8),  \
      KERNEL(kernel##16)
#define FLOATS(kernel)                                                         \
  KERNEL(kernel##_f64), KERNEL(kernel##_f32), KERNEL(kernel##_bf16),           \
      KERNEL(kernel##_f16)
#define INTEGERS(kernel) KERNEL(kernel##_i64), KERNEL(kernel##_i32)
#define BYTES(kernel) KERNEL(kernel##_i8), KERNEL(kernel##_u8)
      UNITS(copy),
      UNITS(fill),
      KERNEL(transpose1),
      KERNEL(transpose2),
      KERNEL(transpose4),
      KERNEL(transpose8),
      UNITS(gather),
      UNITS(gather_nd),
      FLOATS(cumsum),
      INTEGERS(cumsum),
      FLOATS(cumsum_rows),
      INTEGERS(cumsum_rows),
      FLOATS(rank),
      INTEGERS(rank),
      BYTES(rank),
      FLOATS(select),
      INTEGERS(select),
      BYTES(select),
      KERNEL(add_rows_f64_f64),
      KERNEL(add_rows_f32_f32),
      KERNEL(add_rows_bf16_bf16),
      KERNEL(add_rows_bf16_f32),
      KERNEL(add_rows_f16_f16),
      KERNEL(add_rows_f16_f32)};
  return all;
}

std::string runMove(const CopyBytes &move, Runs, std::set<std::string> &ran) {
  std::memcpy(move.to, move.from, size_t(move.bytes));
  ran.insert("memcpy");
  return "";
}
std::string runMove(const SetBytes &move, Runs, std::set<std::string> &ran) {
  std::memset(move.to, move.value, size_t(move.bytes));
  ran.insert("memset");
  return "";
}
void runKernelMove(const KernelMove &move, const void *parameters, Runs how) {
  if (how == Runs::Ptx)
    return runKernel(move.file, move.kernel, copyThreads, parameters);
  auto found = hostKernels().find(move.kernel);
  ASSERT_NE(found, hostKernels().end()) << move.kernel;
  found->second(parameters);
}
std::string runMove(const KernelMove &move, Runs how,
                    std::set<std::string> &ran) {
  ran.insert(move.kernel);
  std::vector<std::byte> parameters = move.parameters;
  uint64_t word = ~uint64_t(0);
  if (move.faultText) {
    auto address = reinterpret_cast<Address>(&word);
    std::memcpy(parameters.data() + move.fault, &address, sizeof(address));
  }
  runKernelMove(move, parameters.data(), how);
  return ~word ? move.faultText(int64_t(word >> 32), int32_t(word)) : "";
}

} // namespace

std::string runMoves(const std::vector<Move> &moves, Runs how,
                     std::set<std::string> &ran) {
  for (const Move &move : moves) {
    std::string problem =
        std::visit([&](const auto &of) { return runMove(of, how, ran); }, move);
    if (!problem.empty())
      return problem;
  }
  return "";
}

Room::Room(plan::DType dtype, std::vector<int64_t> shape,
           std::vector<int64_t> strides, int64_t offset) {
  if (strides.empty())
    strides = rowMajorStrides(shape);
  int64_t last = 1;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    last = shape[dim] ? last + (shape[dim] - 1) * strides[dim] : last;
  auto size = int64_t(elementSize(dtype));
  count = (offset + last) * size + 16;
  memory.resize(size_t(count) + 64, std::byte(0xa5));
  begin =
      memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  tensor.data = begin + offset * size;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.strides = std::move(strides);
}

Room::Room(const Room &other)
    : tensor(other.tensor), memory(other.memory.size()), count(other.count) {
  begin =
      memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  std::memcpy(begin, other.begin, size_t(count));
  tensor.data = begin + (other.tensor.data - other.begin);
}

Room &Room::fillWithBits(unsigned seed) {
  std::mt19937 random(seed);
  for (int64_t i = 0; i < count; ++i)
    begin[i] = std::byte(random());
  return *this;
}

/// Writes all elements, and gaps.
template <typename Next>
static void fillElements(std::byte *begin, int64_t count, plan::DType dtype,
                         plan::DType from, const Next &next) {
  auto size = int64_t(elementSize(dtype));
  for (int64_t at = 0; at + size <= count; at += size) {
    auto value = next();
    convertElements(&value, from, begin + at, dtype, 1);
  }
}

Room &Room::fillWithNumbers(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  fillElements(begin, count, tensor.dtype, plan::FLOAT64,
               [&] { return normal(random); });
  return *this;
}

Room &Room::fillWithIntegers(unsigned seed, int64_t least, int64_t most) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int64_t> uniform(least, most);
  if (isFloat(tensor.dtype))
    fillElements(begin, count, tensor.dtype, plan::FLOAT64,
                 [&] { return double(uniform(random)); });
  else
    fillElements(begin, count, tensor.dtype, plan::INT64,
                 [&] { return uniform(random); });
  return *this;
}

void compareMoves(const Room &output,
                  const std::function<std::vector<Move>(const Tensor &)> &make,
                  const std::function<void(const Tensor &)> &processor,
                  std::set<std::string> &ran) {
  Room expected = output;
  processor(expected.tensor);
  for (Runs how : {Runs::Host, Runs::Ptx}) {
    Room got = output;
    EXPECT_EQ(runMoves(make(got.tensor), how, ran), "");
    EXPECT_TRUE(got.bytes() == expected.bytes())
        << (how == Runs::Host ? "on the host" : "as PTX") << " of "
        << output.tensor.describe();
  }
}

ThreadPool &testPool() {
  static ThreadPool pool(1, false);
  return pool;
}

} // namespace shardc::test
