// Instructions of hand-written kernels, beside what C++ makes of the same
// numbers.
#include "EmulatedKernels.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace shardc::test {
namespace {

/// A kernel of one block, whose parameters p0, p1, ... are pointers.
gpu::GpuKernels kernelOf(const std::string &body, int parameters,
                         int64_t threads = 1) {
  gpu::GpuKernel kernel;
  kernel.symbol = "k";
  kernel.grid = 1, kernel.block = threads;
  kernel.ptx = ".version 8.0\n.target sm_90\n.address_size 64\n"
               ".visible .entry k(\n";
  for (int i = 0; i < parameters; ++i)
    kernel.ptx +=
        (i ? ", " : "") + (".param .u64 .ptr .align 16 p" + std::to_string(i));
  kernel.ptx += ")\n{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<9>;\n"
                ".reg .b64 %d<9>;\n" +
                body + "\nret;\n}\n";
  gpu::GpuKernels kernels;
  kernels.kernels.push_back(kernel);
  return kernels;
}

/// What went wrong; empty where nothing did.
std::string run(const gpu::GpuKernels &kernels, std::vector<void *> arguments) {
  auto compiled = EmulatedKernels::fromPtx(kernels);
  if (!compiled)
    return llvm::toString(compiled.takeError());
  llvm::Error error = compiled->runBlock("k", arguments.data(), 0, false);
  return error ? llvm::toString(std::move(error)) : "";
}

/// Applies `body` to %r1, %r2 and %r3, once; its result is %r0.
uint32_t result(const std::string &body, uint32_t a, uint32_t b = 0,
                uint32_t c = 0) {
  uint32_t in[4] = {a, b, c, 0}, out = 0;
  EXPECT_EQ(run(kernelOf("ld.param.b64 %d0, [p0];\nld.param.b64 %d1, [p1];\n"
                         "ld.global.b32 %r1, [%d0];\n"
                         "ld.global.v2.b32 {%r2, %r3}, [%d0+8];\n"
                         "ld.global.b32 %r2, [%d0+4];\n"
                         "ld.global.b32 %r3, [%d0+8];\n" +
                             body + "\nst.global.b32 [%d1], %r0;",
                         2),
                {in, &out}),
            "");
  return out;
}

float floatResult(const std::string &body, float a, float b = 0, float c = 0) {
  return std::bit_cast<float>(result(body, std::bit_cast<uint32_t>(a),
                                     std::bit_cast<uint32_t>(b),
                                     std::bit_cast<uint32_t>(c)));
}

TEST(Ptx, Carries) {
  const char *sum = "add.cc.u32 %r4, %r1, %r2;\naddc.u32 %r0, 0, 0;";
  EXPECT_EQ(result(sum, 0xffffffff, 1), 1u);
  EXPECT_EQ(result(sum, 0xfffffffe, 1), 0u);
  const char *difference = "sub.cc.u32 %r4, %r1, %r2;\nsubc.u32 %r0, 7, 0;";
  EXPECT_EQ(result(difference, 1, 2), 6u);
  EXPECT_EQ(result(difference, 2, 2), 7u);
  const char *product =
      "mad.lo.cc.u32 %r4, %r1, %r2, %r3;\nmadc.hi.u32 %r0, %r1, %r2, 0;";
  uint64_t whole = uint64_t(0xdeadbeef) * 0xcafebabe + 0xffffffff;
  EXPECT_EQ(result(product, 0xdeadbeef, 0xcafebabe, 0xffffffff), whole >> 32);
}

TEST(Ptx, ShiftsAndFields) {
  EXPECT_EQ(result("shl.b32 %r0, %r1, %r2;", 1, 32), 0u);
  EXPECT_EQ(result("shr.s32 %r0, %r1, %r2;", 0x80000000, 40), 0xffffffffu);
  EXPECT_EQ(result("bfe.u32 %r0, %r1, 4, 8;", 0x12345678), 0x67u);
  EXPECT_EQ(result("bfe.s32 %r0, %r1, 4, 4;", 0xf0), 0xffffffffu);
  EXPECT_EQ(result("bfe.s32 %r0, %r1, 28, 8;", 0x80000000), 0xfffffff8u);
  EXPECT_EQ(result("bfe.u32 %r0, %r1, 0, 0;", 0xff), 0u);
  EXPECT_EQ(result("shf.l.wrap.b32 %r0, %r1, %r2, 8;", 0xaabbccdd, 0x11223344),
            0x223344aau);
}

TEST(Ptx, ComparesHalves) {
  const char *less = "setp.lt.f16x2 %p1|%p2, %r1, %r2;\n"
                     "selp.b32 %r4, 1, 0, %p1;\nselp.b32 %r0, 2, 0, %p2;\n"
                     "or.b32 %r0, %r0, %r4;";
  EXPECT_EQ(result(less, 0x3c004000, 0x40003c00), 2u); // 1 and 2, 2 and 1
  EXPECT_EQ(result(less, 0x40003c00, 0x3c004000), 1u);
  EXPECT_EQ(result(less, 0x7e003c00, 0x40004000), 1u); // NaN is not less
}

TEST(Ptx, BranchesByIndex) {
  const char *text = "mov.b32 %r0, 9;\n$L_brx_0: .branchtargets\n\t$L_a,\n"
                     "\t$L_b;\nbrx.idx %r1, $L_brx_0;\n"
                     "$L_a:\nmov.b32 %r0, 5;\nbra.uni $L_end;\n"
                     "$L_b:\nmov.b32 %r0, 6;\n$L_end:";
  EXPECT_EQ(result(text, 0), 5u);
  EXPECT_EQ(result(text, 1), 6u);
  EXPECT_NE(run(kernelOf("mov.b32 %r1, 0;\nbrx.idx %r1, $L_none;", 0), {})
                .find("expects a list of .branchtargets"),
            std::string::npos);
}

TEST(Ptx, RoundsTowardZero) {
  std::mt19937 random(1);
  std::uniform_int_distribution<uint32_t> any;
  for (int i = 0; i < 40; ++i) {
    // Of any size, finite.
    float number[3];
    for (float &each : number)
      do
        each = std::bit_cast<float>(any(random));
      while (!std::isfinite(each));
    number[1] = number[0] * (1 + number[1] / std::ldexp(1.0f, 127));
    volatile float a = number[0], b = number[1], c = number[2];
    std::fesetround(FE_TOWARDZERO);
    volatile float sum = a + b, product = a * c, fused = std::fma(a, c, b);
    std::fesetround(FE_TONEAREST);
    auto same = [](float found, float wanted) {
      return found == wanted || (std::isnan(found) && std::isnan(wanted));
    };
    EXPECT_TRUE(same(floatResult("add.rz.f32 %r0, %r1, %r2;", a, b), sum));
    // Products below the normal numbers are rounded again by this emulation.
    if (std::fabs(product) > 0x1p-120f)
      EXPECT_TRUE(
          same(floatResult("mul.rz.f32 %r0, %r1, %r2;", a, c), product));
    if (std::fabs(fused) > 0x1p-120f && std::isfinite(a * c))
      EXPECT_TRUE(
          same(floatResult("fma.rz.f32 %r0, %r1, %r2, %r3;", a, c, b), fused))
          << a << " " << c << " " << b;
  }
}

TEST(Ptx, Converts) {
  auto bfloat = [](const char *convert, uint32_t a) {
    return result(std::string(convert) + "\ncvt.u32.u16 %r0, %h0;", a);
  };
  // Ties to even; NaN has one form; integers are rounded once.
  EXPECT_EQ(bfloat("cvt.rn.bf16.f32 %h0, %r1;", 0x3f808000), 0x3f80u);
  EXPECT_EQ(bfloat("cvt.rn.bf16.f32 %h0, %r1;", 0x3f818000), 0x3f82u);
  EXPECT_EQ(bfloat("cvt.rn.bf16.f32 %h0, %r1;", 0xffc00001), 0x7fffu);
  EXPECT_EQ(bfloat("cvt.rn.bf16.s32 %h0, %r1;", 0x01010001), 0x4b81u);
  EXPECT_EQ(bfloat("cvt.rn.bf16.s32 %h0, %r1;", 0x01010000), 0x4b80u);
  // Beyond the ends: the ends. NaN: 0.
  EXPECT_EQ(result("cvt.rzi.s32.f32 %r0, %r1;", 0x7f800000), 0x7fffffffu);
  EXPECT_EQ(result("cvt.rzi.s32.f32 %r0, %r1;", 0x7fc00000), 0u);
  EXPECT_EQ(floatResult("cvt.rni.f32.f32 %r0, %r1;", 2.5f), 2.0f);
  EXPECT_EQ(result("cvt.rn.bf16x2.f32 %r0, %r1, %r2;", 0x3f800000, 0x40000000),
            0x3f804000u);
  EXPECT_EQ(floatResult("copysign.f32 %r0, %r1, %r2;", -0.0f, 3), -3.0f);
  EXPECT_EQ(floatResult("add.ftz.f32 %r0, %r1, %r2;", 0x1p-127f, 0), 0.0f);
}

TEST(Ptx, ThreadsMeet) {
  // Each thread gives its number to the one across, by way of a shuffle and of
  // shared memory.
  int32_t out[64] = {};
  const char *body = ".shared .align 4 .b8 words[256];\n"
                     "ld.param.b64 %d0, [p0];\nmov.u32 %r0, %tid.x;\n"
                     "shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;\n"
                     "mul.wide.u32 %d1, %r0, 4;\nmov.b64 %d2, words;\n"
                     "add.s64 %d2, %d2, %d1;\nst.shared.b32 [%d2], %r1;\n"
                     "bar.sync 0;\nxor.b32 %r2, %r0, 63;\n"
                     "mul.wide.u32 %d3, %r2, 4;\nmov.b64 %d4, words;\n"
                     "add.s64 %d4, %d4, %d3;\nld.shared.b32 %r3, [%d4];\n"
                     "add.s64 %d5, %d0, %d1;\nst.global.b32 [%d5], %r3;";
  EXPECT_EQ(run(kernelOf(body, 1, 64), {out}), "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], (63 - i) ^ 1);
}

TEST(Ptx, WhatIsWrongIsSaid) {
  alignas(16) int32_t data[8] = {};
  EXPECT_EQ(run(kernelOf("ld.param.b64 %d0, [p0];\n"
                         "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%d0+4];",
                         1),
                {data}),
            "misaligned access: k: ld.global.v4.b32 {%r0, %r1, %r2, %r3}, "
            "[%d0+4]");
  EXPECT_EQ(run(kernelOf("vmad.u32.u32.u32 %r0, %r1, %r2, %r3;", 0), {}),
            "PTX: k: 'vmad.u32.u32.u32 %r0, %r1, %r2, %r3' is not emulated");
  EXPECT_EQ(run(kernelOf("add.s32 %r0, %r1, %x9;", 0), {}),
            "PTX: k: '%x9' is no operand that is known");
  EXPECT_EQ(run(kernelOf("mov.u32 %r0, %tid.x;\nsetp.eq.b32 %p0, %r0, 0;\n"
                         "@%p0 bar.sync 0;",
                         0, 32),
                {}),
            "thread 1 does not wait where thread 0 does: k: @%p0 bar.sync 0");
}

} // namespace
} // namespace shardc::test
