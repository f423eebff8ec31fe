// What goes to the pool host and comes back.
#include "test/runtime/device/ConformanceSuite.h"

namespace shardc::runtime {
namespace {

SHARDC_CONFORMANCE(StartTransfer);
SHARDC_CONFORMANCE(AwaitTransfer);

constexpr int64_t count = 5000;

TEST_P(StartTransferConformance, GoesAndComesBack) {
  for (plan::DType type : {plan::FLOAT64, plan::FLOAT32, plan::BFLOAT16})
    onDevice([&](Bench &bench) {
      Numbers numbers = Numbers::random(type, {count}, 1, 1);
      Tensor from = bench.put(numbers);
      Tensor back = bench.room(type, {count});
      Tensor host = bench.onHost(type, 2 * count);
      Tensor second = host;
      second.data += count * (host.dtype == plan::FLOAT64    ? 8
                              : host.dtype == plan::BFLOAT16 ? 2
                                                             : 4);
      second.shape = {count};
      bench.run({entry::StartTransfer{1, from, second}, entry::AwaitTransfer{1},
                 entry::StartTransfer{2, second, back},
                 entry::AwaitTransfer{2}});
      bench.expect(back, Expected(numbers.values), "what came back");
      // What lies beside it is as it was.
      host.shape = {count};
      bench.expect(host, Expected(std::vector<double>(count, 0.0)),
                   "what nobody wrote");
    });
}

TEST_P(AwaitTransferConformance, IsThereForWhatFollows) {
  onDevice([&](Bench &bench) {
    Tensor value = bench.room(plan::FLOAT32, {count});
    Tensor copy = bench.room(plan::FLOAT32, {count});
    Tensor host = bench.onHost(plan::FLOAT32, count);
    // What is written before its start goes, what comes is read behind its wait.
    bench.run({entry::Fill{value, 3}, entry::StartTransfer{1, value, host},
               entry::AwaitTransfer{1}, entry::Fill{value, 4},
               entry::StartTransfer{1, host, value}, entry::AwaitTransfer{1},
               entry::Copy{value, copy}});
    bench.expect(copy, Expected(std::vector<double>(count, 3.0)), "the copy");
  });
}

} // namespace
} // namespace shardc::runtime
