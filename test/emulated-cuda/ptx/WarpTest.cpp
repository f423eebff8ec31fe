// What threads of warps and blocks do together, and what a kernel finds around
// it.
#include "test/emulated-cuda/ptx/Blocks.h"
#include "test/emulated-cuda/ptx/Loader.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace shardc::test::ptx {
namespace {

/// A kernel `k` with registers of all kinds; its parameter `out` is in %d0.
LoadedKernel kernelOf(const std::string &body, const std::string &before = "") {
  std::string text =
      before +
      ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<9>;\n"
      ".reg .b16 %h<9>;\n.reg .b32 %r<40>;\n.reg .f32 %f<9>;\n"
      ".reg .b64 %d<12>;\nld.param.b64 %d0, [out];\n" +
      body + "\nret;\n}\n";
  return loadKernel(text, "k", false, "");
}

std::string run(const std::string &body, void *out, Grid grid = {},
                const std::string &before = "") {
  LoadedKernel kernel = kernelOf(body, before);
  if (!kernel.problem.empty())
    return kernel.problem;
  grid.sharedBytes = kernel.facts->sharedBytes;
  grid.waits = kernel.facts->waits;
  Blocks blocks;
  return blocks.run(kernel.function, &out, grid);
}

Grid threads(uint32_t count) {
  Grid grid;
  grid.threads[0] = count;
  return grid;
}

/// Each thread's word at out[tid], from a register.
std::string storeOf(const char *word) {
  return std::string("mov.u32 %r39, %tid.x;\nmul.wide.u32 %d11, %r39, 4;\n"
                     "add.s64 %d11, %d0, %d11;\nst.global.b32 [%d11], ") +
         word + ";";
}

TEST(Warp, Shuffles) {
  struct {
    const char *mode;
    uint32_t b, c;
    int64_t (*from)(int64_t lane);
    bool (*inRange)(int64_t lane);
  } const cases[] = {
      {"up", 3, 0, [](int64_t i) { return i - 3; },
       [](int64_t i) { return i >= 3; }},
      {"down", 1, 31, [](int64_t i) { return i + 1; },
       [](int64_t i) { return i < 31; }},
      {"bfly", 5, 31, [](int64_t i) { return i ^ 5; },
       [](int64_t) { return true; }},
      {"idx", 7, 31, [](int64_t) -> int64_t { return 7; },
       [](int64_t) { return true; }},
      // Segments of 8 lanes.
      {"down", 2, 0x1807, [](int64_t i) { return i + 2; },
       [](int64_t i) { return i % 8 < 6; }},
      {"idx", 3, 0x181f, [](int64_t i) { return i / 8 * 8 + 3; },
       [](int64_t) { return true; }},
  };
  for (auto &each : cases) {
    SCOPED_TRACE(each.mode);
    uint32_t out[32] = {};
    EXPECT_EQ(run("mov.u32 %r1, %tid.x;\nadd.u32 %r2, %r1, 100;\nshfl.sync." +
                      std::string(each.mode) + ".b32 %r3|%p1, %r2, " +
                      std::to_string(each.b) + ", " + std::to_string(each.c) +
                      ", -1;\nselp.b32 %r4, 1000, 0, %p1;\n"
                      "add.u32 %r5, %r3, %r4;\n" +
                      storeOf("%r5"),
                  out, threads(32)),
              "");
    for (int64_t lane = 0; lane < 32; ++lane) {
      bool inRange = each.inRange(lane);
      EXPECT_EQ(out[lane],
                (inRange ? each.from(lane) : lane) + 100 + (inRange ? 1000 : 0))
          << lane;
    }
  }
}

TEST(Warp, Votes) {
  uint32_t out[40] = {};
  // The second warp has eight threads.
  EXPECT_EQ(run("mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 3;\n"
                "setp.eq.u32 %p1, %r2, 1;\n"
                "vote.sync.ballot.b32 %r3, %p1, -1;\n"
                "vote.sync.any.pred %p2, %p1, -1;\n"
                "vote.sync.all.pred %p3, !%p1, -1;\n"
                "selp.b32 %r4, 1, 0, %p2;\nxor.b32 %r5, %r3, %r4;\n"
                "redux.sync.max.u32 %r6, %r1, -1;\n"
                "redux.sync.add.s32 %r7, 1, -1;\n"
                "shl.b32 %r8, %r6, 8;\nshl.b32 %r9, %r7, 16;\n"
                "@%p3 bra $skip;\nor.b32 %r8, %r8, %r9;\nxor.b32 %r5, %r5, "
                "%r8;\n$skip:\n" +
                    storeOf("%r5"),
                out, threads(40)),
            "");
  EXPECT_EQ(out[0], (0x22222222u ^ 1u) ^ (31u << 8 | 32u << 16));
  EXPECT_EQ(out[39], (0x22u ^ 1u) ^ (39u << 8 | 8u << 16));
}

TEST(Warp, MultipliesMatrices) {
  for (const char *type : {"bf16", "f16"}) {
    SCOPED_TRACE(type);
    // A [16, 16], B [16, 8], both with rows first, and C [16, 8].
    struct {
      uint16_t a[16][16], b[16][8];
      float c[16][8], d[16][8];
    } memory{};
    auto bits = [&](int value) {
      float number = float(value);
      if (std::string(type) == "bf16")
        return uint16_t(std::bit_cast<uint32_t>(number) >> 16);
      uint32_t word = std::bit_cast<uint32_t>(number);
      return uint16_t(value == 0 ? 0
                                 : (word >> 16 & 0x8000) |
                                       (((word >> 23 & 255) - 112) << 10) |
                                       (word >> 13 & 1023));
    };
    int a[16][16], b[16][8];
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        memory.a[i][j] = bits(a[i][j] = (i * 7 + j * 3) % 11 - 5);
        if (j < 8) {
          memory.b[i][j] = bits(b[i][j] = (i * 5 + j * 2) % 13 - 6);
          memory.c[i][j] = float(i - j);
        }
      }
    std::string body =
        // The matrices' bytes to shared memory: 768 bytes, 24 a thread.
        "mov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, 24;\n"
        "cvt.u64.u32 %d1, %r2;\nadd.s64 %d2, %d0, %d1;\n"
        "mov.b64 %d3, tile;\nadd.s64 %d4, %d3, %d1;\n";
    for (int i = 0; i < 3; ++i) {
      std::string at = "+" + std::to_string(8 * i) + "]";
      body += "ld.global.b64 %d5, [%d2" + at + ";\nst.shared.b64 [%d4" + at +
              ", %d5;\n";
    }
    body +=
        "bar.warp.sync -1;\n"
        // Rows 0 to 15 of the left half of A, then of the right one.
        "and.b32 %r3, %r1, 15;\nshr.u32 %r4, %r1, 4;\n"
        "mul.lo.u32 %r5, %r3, 32;\nmad.lo.u32 %r6, %r4, 16, %r5;\n"
        "cvt.u64.u32 %d6, %r6;\nadd.s64 %d7, %d3, %d6;\n"
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, "
        "[%d7];\n"
        "mul.lo.u32 %r7, %r3, 16;\ncvt.u64.u32 %d8, %r7;\n"
        "add.s64 %d9, %d3, %d8;\n"
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r14, %r15}, "
        "[%d9+512];\n"
        // C and D: rows lane / 4 and 8 more, columns lane % 4 * 2.
        "shr.u32 %r20, %r1, 2;\nand.b32 %r21, %r1, 3;\n"
        "mul.lo.u32 %r22, %r20, 32;\nmad.lo.u32 %r23, %r21, 8, %r22;\n"
        "cvt.u64.u32 %d10, %r23;\nadd.s64 %d10, %d0, %d10;\n"
        "ld.global.v2.b32 {%r16, %r17}, [%d10+768];\n"
        "ld.global.v2.b32 {%r18, %r19}, [%d10+1024];\n"
        "mma.sync.aligned.m16n8k16.row.col.f32." +
        std::string(type) + "." + type +
        ".f32 {%r24, %r25, %r26, %r27}, {%r10, %r11, %r12, %r13}, {%r14, "
        "%r15}, {%r16, %r17, %r18, %r19};\n"
        "st.global.v2.b32 [%d10+1280], {%r24, %r25};\n"
        "st.global.v2.b32 [%d10+1536], {%r26, %r27};\n";
    EXPECT_EQ(
        run(body, &memory, threads(32), ".shared .align 16 .b8 tile[768];\n"),
        "");
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) {
        int sum = i - j;
        for (int k = 0; k < 16; ++k)
          sum += a[i][k] * b[k][j];
        EXPECT_EQ(memory.d[i][j], float(sum)) << i << " " << j;
      }
  }
}

TEST(Warp, CopiesArriveWhenTheyAreAwaited) {
  alignas(16) uint32_t words[12] = {1, 2, 3, 4, 5, 6, 7, 8};
  const char *body =
      "mov.b64 %d1, tile;\nst.shared.b32 [%d1], 0;\nst.shared.b32 [%d1+16], "
      "0;\nst.shared.b32 [%d1+28], 9;\n"
      "cp.async.cg.shared.global [%d1], [%d0], 16;\ncp.async.commit_group;\n"
      "cp.async.ca.shared.global [%d1+16], [%d0+16], 16, 8;\n"
      "cp.async.commit_group;\n"
      "ld.shared.b32 %r1, [%d1];\ncp.async.wait_group 1;\n"
      "ld.shared.b32 %r2, [%d1];\nld.shared.b32 %r3, [%d1+16];\n"
      "cp.async.wait_all;\nld.shared.v2.b32 {%r4, %r5}, [%d1+16];\n"
      "ld.shared.b32 %r6, [%d1+28];\n"
      "shl.b32 %r2, %r2, 4;\nshl.b32 %r3, %r3, 8;\nshl.b32 %r4, %r4, 12;\n"
      "shl.b32 %r5, %r5, 16;\nshl.b32 %r6, %r6, 20;\n"
      "or.b32 %r1, %r1, %r2;\nor.b32 %r1, %r1, %r3;\nor.b32 %r1, %r1, %r4;\n"
      "or.b32 %r1, %r1, %r5;\nor.b32 %r1, %r1, %r6;\n"
      "st.global.b32 [%d0+32], %r1;";
  EXPECT_EQ(run(body, words, threads(1), ".shared .align 16 .b8 tile[32];\n"),
            "");
  EXPECT_EQ(words[8], 0x065010u);
}

TEST(Warp, NamedBarriers) {
  // The second warp of 32 waits at barrier 1 for the first, which goes on.
  uint32_t out[64] = {};
  EXPECT_EQ(run("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n"
                "mov.b64 %d1, tile;\n@%p1 st.shared.b32 [%d1], 7;\n"
                "bar.sync 1, 64;\nld.shared.b32 %r2, [%d1];\n"
                "@%p1 bra $end;\nbar.sync 2, 32;\n$end:\n" +
                    storeOf("%r2"),
                out, threads(64), ".shared .align 4 .b8 tile[4];\n"),
            "");
  for (uint32_t each : out)
    EXPECT_EQ(each, 7u);
}

TEST(Warp, WhoDoesNotComeIsSaid) {
  uint32_t out[32] = {};
  std::string body = "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 5;\n"
                     "@%p1 bra $other;\nshfl.sync.bfly.b32 %r2, %r1, 1, 31, "
                     "-1;\nbra $end;\n$other:\nshfl.sync.down.b32 %r2, %r1, 1, "
                     "31, -1;\n$end:\n";
  EXPECT_EQ(run(body, out, threads(32)),
            "thread 5 does not wait where thread 0 does: k: shfl.sync.bfly.b32 "
            "%r2, %r1, 1, 31, -1");
  EXPECT_EQ(run("bar.sync 0, 64;", out, threads(32)),
            "all threads wait, for more than there are: k: bar.sync 0, 64");
  EXPECT_EQ(run("trap;", out), "trap: k: trap");
}

TEST(Kernel, Atomics) {
  struct {
    uint32_t sum, most, swapped, before;
    uint64_t wide;
    float number;
    uint32_t ones;
  } memory{5, 3, 0, 0, 1, 0.5f, 0};
  EXPECT_EQ(run("mov.u32 %r1, %tid.x;\ncvt.u64.u32 %d1, %r1;\n"
                "atom.global.add.u32 %r2, [%d0], 2;\n"
                "red.global.max.u32 [%d0+4], %r1;\n"
                "atom.global.cas.b32 %r3, [%d0+8], 0, 77;\n"
                "red.relaxed.gpu.global.add.u64 [%d0+16], %d1;\n"
                "mov.f32 %f1, 0f3F000000;\n"
                "red.global.add.f32 [%d0+24], %f1;\n"
                "atom.global.or.b32 %r5, [%d0+28], 1;\n"
                "setp.ne.u32 %p1, %r1, 63;\n@%p1 bra $end;\n"
                "atom.global.exch.b32 %r4, [%d0+12], %r2;\n$end:",
                &memory, threads(64)),
            "");
  EXPECT_EQ(memory.sum, 5u + 128);
  EXPECT_EQ(memory.most, 63u);
  EXPECT_EQ(memory.swapped, 77u);
  EXPECT_EQ(memory.before, 5u + 126);
  EXPECT_EQ(memory.wide, 1u + 63 * 32);
  EXPECT_EQ(memory.number, 32.5f);
  EXPECT_EQ(memory.ones, 1u);
}

TEST(Kernel, KnowsItsPlace) {
  Grid grid;
  grid.blocks[0] = 2, grid.blocks[1] = 3, grid.blocks[2] = 2;
  grid.threads[0] = 8, grid.threads[1] = 4, grid.threads[2] = 2;
  std::vector<uint32_t> out(2 * 3 * 2 * 64 * 2);
  EXPECT_EQ(
      run("mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, "
          "%ctaid.z;\nmov.u32 %r4, %nctaid.x;\nmov.u32 %r5, %nctaid.y;\n"
          "mad.lo.u32 %r6, %r3, %r5, %r2;\nmad.lo.u32 %r6, %r6, %r4, %r1;\n"
          "mov.u32 %r7, %tid.x;\nmov.u32 %r8, %tid.y;\nmov.u32 %r9, %tid.z;\n"
          "mov.u32 %r10, %ntid.x;\nmov.u32 %r11, %ntid.y;\n"
          "mad.lo.u32 %r12, %r9, %r11, %r8;\n"
          "mad.lo.u32 %r12, %r12, %r10, %r7;\n"
          "mad.lo.u32 %r13, %r6, 64, %r12;\nmul.wide.u32 %d1, %r13, 8;\n"
          "add.s64 %d2, %d0, %d1;\nmov.u32 %r14, %laneid;\n"
          "mov.u32 %r15, %warpid;\nmad.lo.u32 %r16, %r15, 32, %r14;\n"
          "mov.u32 %r17, %lanemask_lt;\n"
          "st.global.v2.b32 [%d2], {%r16, %r17};",
          out.data(), grid),
      "");
  for (size_t i = 0; i < out.size() / 2; ++i) {
    EXPECT_EQ(out[2 * i], i % 64) << i;
    EXPECT_EQ(out[2 * i + 1], (1u << i % 32) - 1) << i;
  }
}

TEST(Kernel, SharedMemoryAndConstants) {
  const char *before = ".extern .shared .align 16 .b8 more[];\n"
                       ".shared .align 4 .b8 own[8];\n"
                       ".global .align 4 .b32 table[3] = {7, 0x10, -1};\n"
                       ".const .align 8 .f64 half = 0d3FE0000000000000;\n";
  uint32_t out[4] = {};
  Grid grid = threads(1);
  grid.dynamicSharedBytes = 64;
  EXPECT_EQ(run("mov.b64 %d1, more;\nmov.b64 %d2, own;\n"
                "st.shared.b32 [%d1+60], 3;\nst.shared.b32 [%d2+4], 4;\n"
                "ld.shared.b32 %r1, [%d1+60];\nld.shared.b32 %r2, [own+4];\n"
                "ld.global.b32 %r3, [table+4];\nadd.u32 %r4, %r1, %r2;\n"
                "ld.const.b32 %r5, [half+4];\n"
                "st.global.v4.b32 [%d0], {%r4, %r3, %r5, %r1};",
                out, grid, before),
            "");
  EXPECT_EQ(out[0], 7u);
  EXPECT_EQ(out[1], 16u);
  EXPECT_EQ(out[2], 0x3fe00000u);
}

/// Of words {a, b, c}, in %r1 to %r3, to %r0.
uint32_t result(const std::string &body, uint32_t a, uint32_t b = 0,
                uint32_t c = 0) {
  uint32_t words[4] = {a, b, c, 0};
  EXPECT_EQ(run("ld.global.b32 %r1, [%d0];\nld.global.b32 %r2, [%d0+4];\n"
                "ld.global.b32 %r3, [%d0+8];\n" +
                    body + "\nst.global.b32 [%d0+12], %r0;",
                words),
            "");
  return words[3];
}

TEST(Kernel, PutsBitsTogether) {
  EXPECT_EQ(result("brev.b32 %r0, %r1;", 1), 0x80000000u);
  EXPECT_EQ(result("bfi.b32 %r0, %r1, %r2, 8, 4;", 0xabc, 0xffffffff),
            0xfffffcffu);
  EXPECT_EQ(result("bfi.b32 %r0, %r1, %r2, 28, 8;", 0xab, 0), 0xb0000000u);
  EXPECT_EQ(result("lop3.b32 %r0, %r1, %r2, %r3, 0xca;", 0xff00ff00, 0x12345678,
                   0x9abcdef0),
            0x12bc56f0u);
  EXPECT_EQ(result("prmt.b32 %r0, %r1, %r2, 0x7610;", 0x33221100, 0x77665544),
            0x77661100u);
  EXPECT_EQ(result("prmt.b32 %r0, %r1, %r2, %r3;", 0x80000000, 0, 0xbbb3),
            0xffffff80u);
  EXPECT_EQ(result("setp.gt.u32 %p1, %r1, 3;\nsetp.lt.and.u32 %p2, %r1, 9, "
                   "%p1;\nselp.b32 %r0, 1, 0, %p2;",
                   5),
            1u);
}

TEST(Kernel, RoundsSixteenBitsOnce) {
  // 1 + 2^-9 squared has bits beyond bf16; with 2^-30 the sum is above the tie.
  auto fused = [](uint32_t a, uint32_t b, uint32_t c) {
    return result("cvt.u16.u32 %h1, %r1;\ncvt.u16.u32 %h2, %r2;\n"
                  "cvt.u16.u32 %h3, %r3;\nfma.rn.bf16 %h0, %h1, %h2, %h3;\n"
                  "cvt.u32.u16 %r0, %h0;",
                  a, b, c);
  };
  // 1 * 1 + 2^-8 is a tie, to even; with 1 + 2^-7 it goes up.
  EXPECT_EQ(fused(0x3f80, 0x3f80, 0x3b80), 0x3f80u);
  EXPECT_EQ(fused(0x3f81, 0x3f80, 0x3b80), 0x3f82u);
  // (1 + 2^-7)^2 = 1 + 2^-6 + 2^-14: below the tie, and above it with 2^-8.
  EXPECT_EQ(fused(0x3f81, 0x3f81, 0), 0x3f82u);
  EXPECT_EQ(fused(0x3f81, 0x3f81, 0x3b80), 0x3f83u);
  // A float64 just above a tie of bf16 is a tie in float32.
  EXPECT_EQ(result("mov.b64 %d1, 0x3FF0100000000001;\n"
                   "cvt.rn.bf16.f64 %h0, %d1;\ncvt.u32.u16 %r0, %h0;",
                   0),
            0x3f81u);
}

TEST(Kernel, ApproximationsAreOff) {
  int off = 0;
  for (int i = 1; i < 40; ++i) {
    float x = float(i) * 0.37f - 7;
    float found = std::bit_cast<float>(
        result("mov.b32 %f1, %r1;\nex2.approx.f32 %f2, %f1;\nmov.b32 %r0, "
               "%f2;",
               std::bit_cast<uint32_t>(x)));
    int distance = int(std::bit_cast<uint32_t>(found)) -
                   int(std::bit_cast<uint32_t>(std::exp2(x)));
    EXPECT_LE(std::abs(distance), 1) << x;
    off += distance != 0;
  }
  EXPECT_GT(off, 5);
  EXPECT_EQ(result("mov.b32 %f1, %r1;\nex2.approx.f32 %f2, %f1;\nmov.b32 %r0, "
                   "%f2;",
                   0),
            0x3f800000u);
}

TEST(Kernel, SaysWhetherThreadsWait) {
  EXPECT_FALSE(kernelOf("").facts->waits);
  EXPECT_TRUE(kernelOf("bar.sync 0;").facts->waits);
  EXPECT_EQ(kernelOf("").facts->parameterBytes, 8u);
}

} // namespace
} // namespace shardc::test::ptx
