// .npy headers: those that NumPy writes, those that the trainer refuses, and
// damaged ones.
#include "runtime/data/Npy.h"

#include "runtime/base/Error.h"
#include "runtime/base/Random.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

/// A file with this header and `dataBytes` zero bytes.
static std::string npy(const std::string &header, size_t dataBytes,
                       char major = 1) {
  std::string file("\x93NUMPY", 6);
  file += {major, 0, static_cast<char>(header.size() & 255),
           static_cast<char>(header.size() >> 8)};
  if (major > 1)
    file += std::string(2, '\0');
  return file + header + std::string(dataBytes, '\0');
}

static StoredArray parse(const std::string &file) {
  // An exact heap copy: a sanitizer sees reads behind the end.
  auto begin = reinterpret_cast<const std::byte *>(file.data());
  std::vector<std::byte> bytes(begin, begin + file.size());
  return parseNpyHeader(bytes, bytes.size(), "x.npy");
}

static std::string errorOf(const std::string &file) {
  try {
    parse(file);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Npy, ReadsWhatNumPyWrites) {
  for (char major : {1, 2, 3}) {
    StoredArray header = parse(
        npy("{'descr': '<i8', 'fortran_order': False, 'shape': (3, 4), }   \n",
            96, major));
    EXPECT_EQ(header.dtype, plan::INT64);
    EXPECT_EQ(header.shape, (std::vector<int64_t>{3, 4}));
  }
  EXPECT_EQ(
      parse(npy("{'descr': '|b1', 'fortran_order': True, 'shape': (5,), }", 5))
          .dtype,
      plan::BOOL);
  EXPECT_EQ(parse(npy("{'shape':(0,2),'descr':'<f4','fortran_order':False}", 0))
                .shape[0],
            0);
}

TEST(Npy, RefusesWithTheReason) {
  EXPECT_EQ(errorOf("PK"), "x.npy: is not a .npy file");
  EXPECT_EQ(
      errorOf(
          npy("{'descr': '>i8', 'fortran_order': False, 'shape': (1,), }", 8)),
      "x.npy: is big-endian; write it as array.astype('<i8')");
  EXPECT_EQ(
      errorOf(
          npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", 8)),
      "x.npy: is in Fortran order; write it as numpy.ascontiguousarray(array)");
  EXPECT_EQ(errorOf(npy(
                "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 8)),
            "x.npy: holds Python objects; expects an array of numbers");
  EXPECT_EQ(
      errorOf(npy(
          "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
          8)),
      "x.npy: is a structured array; expects an array of one number type");
  EXPECT_EQ(errorOf(npy(
                "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 8)),
            "x.npy: is a single number; expects a first axis of samples");
  EXPECT_EQ(
      errorOf(
          npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 11)),
      "x.npy: is truncated: shape [3] of float32 takes 12 bytes, got 11");
  EXPECT_EQ(errorOf(npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
                        "(4294967296, 4294967296), }",
                        8)),
            "x.npy: shape [4294967296, 4294967296] is not possible");
  EXPECT_EQ(errorOf(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, "
                        "4294967296, 4294967296), }",
                        8)),
            "x.npy: shape [0, 4294967296, 4294967296] is not possible");
  EXPECT_EQ(
      errorOf(
          npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 8)),
      "x.npy: shape [-1] is not possible");
  EXPECT_EQ(
      errorOf(
          npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8))
          .substr(0, 35),
      "x.npy: dtype '<c8' is not supported");
}

TEST(Npy, HeadersHaveALimit) {
  std::string header =
      "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }";
  std::string file = npy(header, 0, 2) + std::string(100000, ' ');
  file[10] = 1; // a header of 65,536 bytes more
  EXPECT_EQ(errorOf(file), "x.npy: has a header of 65593 bytes; at most 65524 "
                           "are read");
}

TEST(Npy, SurvivesTruncationAndDamage) {
  std::string file =
      npy("{'descr': '<i8', 'fortran_order': False, 'shape': (3, 4), }\n", 96);
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_NE(errorOf(file.substr(0, length)), "");
  RandomStream random(1, "npy");
  for (uint64_t trial = 0; trial < 20000; ++trial) {
    std::string damaged = file;
    for (uint64_t change = 0; change < 1 + trial % 4; ++change)
      damaged[random.below(80, trial, 2 * change)] =
          static_cast<char>(random.below(256, trial, 2 * change + 1));
    try {
      StoredArray header = parse(damaged);
      EXPECT_LE(header.dataOffset, damaged.size());
      EXPECT_FALSE(header.shape.empty());
    } catch (const Error &) {
    }
  }
}
