// What the operations of warps compute (PTX ISA 9.0, 9.7.9.6 to 9.7.9.11 and
// 9.7.14.5).
#include "Blocks.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace shardc::test::ptx {

namespace {

constexpr uint32_t lanes = 32;

void shuffle(uint32_t mask, const uint32_t *const in[], uint32_t *const out[]) {
  uint32_t results[lanes][2] = {};
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    uint32_t b = in[lane][1] & 31, clamp = in[lane][2] & 31;
    uint32_t segment = in[lane][2] >> 8 & 31;
    uint32_t last = (lane & segment) | (clamp & ~segment & 31);
    uint32_t first = lane & segment;
    int64_t from = lane;
    bool inRange = true;
    switch (ShuffleMode(in[lane][3])) {
    case ShuffleMode::Up:
      from = int64_t(lane) - b;
      inRange = from >= int64_t(last);
      break;
    case ShuffleMode::Down:
      from = lane + b;
      inRange = from <= int64_t(last);
      break;
    case ShuffleMode::Butterfly:
      from = lane ^ b;
      inRange = from <= int64_t(last);
      break;
    case ShuffleMode::Index:
      from = first | (b & ~segment & 31);
      inRange = from <= int64_t(last);
      break;
    }
    if (!inRange)
      from = lane;
    results[lane][1] = inRange;
    // A lane that does not take part gives what nobody may rely on.
    results[lane][0] = mask >> from & 1 ? in[from][0] : 0xa5a5a5a5;
  }
  for (uint32_t lane = 0; lane < lanes; ++lane)
    if (mask >> lane & 1)
      std::memcpy(out[lane], results[lane], sizeof results[lane]);
}

void vote(uint32_t mask, const uint32_t *const in[], uint32_t *const out[]) {
  uint32_t ballot = 0;
  for (uint32_t lane = 0; lane < lanes; ++lane)
    if (mask >> lane & 1)
      ballot |= uint32_t(in[lane][0] != 0) << lane;
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    if (!(mask >> lane & 1))
      continue;
    switch (VoteMode(in[lane][1])) {
    case VoteMode::All:
      out[lane][0] = ballot == mask;
      break;
    case VoteMode::Any:
      out[lane][0] = ballot != 0;
      break;
    case VoteMode::Uniform:
      out[lane][0] = ballot == 0 || ballot == mask;
      break;
    case VoteMode::Ballot:
      out[lane][0] = ballot;
      break;
    }
  }
}

uint32_t reduced(ReduceMode mode, uint32_t a, uint32_t b) {
  switch (mode) {
  case ReduceMode::Add:
    return a + b;
  case ReduceMode::And:
    return a & b;
  case ReduceMode::Or:
    return a | b;
  case ReduceMode::Xor:
    return a ^ b;
  case ReduceMode::MinS:
    return int32_t(a) < int32_t(b) ? a : b;
  case ReduceMode::MaxS:
    return int32_t(a) > int32_t(b) ? a : b;
  case ReduceMode::MinU:
    return a < b ? a : b;
  case ReduceMode::MaxU:
    return a > b ? a : b;
  }
  return 0;
}

void reduce(uint32_t mask, const uint32_t *const in[], uint32_t *const out[]) {
  uint32_t first = uint32_t(std::countr_zero(mask));
  auto mode = ReduceMode(in[first][1]);
  uint32_t result = in[first][0];
  for (uint32_t lane = first + 1; lane < lanes; ++lane)
    if (mask >> lane & 1)
      result = reduced(mode, result, in[lane][0]);
  for (uint32_t lane = 0; lane < lanes; ++lane)
    if (mask >> lane & 1)
      out[lane][0] = result;
}

float numberOf(uint32_t bits, MatrixType type) {
  bits &= 0xffff;
  if (type == MatrixType::Bf16)
    return std::bit_cast<float>(bits << 16);
  uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float size =
      exponent == 31 ? (mantissa ? NAN : INFINITY)
      : exponent == 0
          ? std::ldexp(float(mantissa), -24)
          : std::bit_cast<float>((exponent + 112) << 23 | mantissa << 13);
  return bits >> 15 ? -size : size;
}

/// Each element is added up in float32, in the order of k, behind C's. What a
/// GPU's order is, nobody says.
void multiply(const uint32_t *const in[], uint32_t *const out[]) {
  auto type = MatrixType(in[0][0]);
  float a[16][16], b[16][8], c[16][8];
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    uint32_t group = lane / 4, pair = lane % 4 * 2;
    for (uint32_t i = 0; i < 2; ++i) {
      for (uint32_t word = 0; word < 4; ++word)
        a[group + word % 2 * 8][pair + i + word / 2 * 8] =
            numberOf(in[lane][1 + word] >> 16 * i, type);
      for (uint32_t word = 0; word < 2; ++word) {
        b[pair + i + word * 8][group] =
            numberOf(in[lane][5 + word] >> 16 * i, type);
        c[group + word * 8][pair + i] =
            std::bit_cast<float>(in[lane][7 + word * 2 + i]);
      }
    }
  }
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t k = 0; k < 16; ++k)
      for (uint32_t column = 0; column < 8; ++column)
        c[row][column] += a[row][k] * b[k][column];
  for (uint32_t lane = 0; lane < lanes; ++lane)
    for (uint32_t word = 0; word < 4; ++word)
      out[lane][word] = std::bit_cast<uint32_t>(
          c[lane / 4 + word / 2 * 8][lane % 4 * 2 + word % 2]);
}

/// Lanes 8 i to 8 i + 7 bring the addresses of matrix i's rows, of 8 numbers.
std::string loadMatrices(const uint32_t *const in[], uint32_t *const out[]) {
  uint32_t count = in[0][0], transposed = in[0][1];
  for (uint32_t matrix = 0; matrix < count; ++matrix) {
    uint16_t numbers[8][8];
    for (uint32_t row = 0; row < 8; ++row) {
      const uint32_t *from = in[8 * matrix + row];
      uint64_t address = from[2] | uint64_t(from[3]) << 32;
      if (address % 16)
        return "misaligned access";
      std::memcpy(numbers[row], reinterpret_cast<const void *>(address), 16);
    }
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      uint32_t row = lane / 4, column = lane % 4 * 2;
      uint32_t low = transposed ? numbers[column][row] : numbers[row][column];
      uint32_t high =
          transposed ? numbers[column + 1][row] : numbers[row][column + 1];
      out[lane][matrix] = low | high << 16;
    }
  }
  return "";
}

} // namespace

std::string warpResult(WarpOp op, uint32_t mask, const uint32_t *const in[32],
                       uint32_t *const out[32]) {
  switch (op) {
  case WarpOp::Shuffle:
    shuffle(mask, in, out);
    break;
  case WarpOp::Vote:
    vote(mask, in, out);
    break;
  case WarpOp::Reduce:
    reduce(mask, in, out);
    break;
  case WarpOp::Multiply:
  case WarpOp::LoadMatrix:
    if (mask != ~0u)
      return "takes a whole warp";
    if (op == WarpOp::LoadMatrix)
      return loadMatrices(in, out);
    multiply(in, out);
    break;
  case WarpOp::Meet:
    break;
  }
  return "";
}

} // namespace shardc::test::ptx
