// The examples of RFC 3720, appendix B.4.
#include "runtime/metrics/Crc32c.h"

#include <gtest/gtest.h>
#include <string>

using namespace shardc::runtime;

TEST(Crc32c, HasTheValuesOfTheStandard) {
  std::string up, down;
  for (int i = 0; i < 32; ++i) {
    up += static_cast<char>(i);
    down += static_cast<char>(31 - i);
  }
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(up), 0x46dd794eu);
  EXPECT_EQ(crc32c(down), 0x113fdb5cu);
  // An iSCSI read command.
  std::string command(48, '\0');
  for (auto [at, byte] : {std::pair{0, 0x01},
                          {1, 0xc0},
                          {16, 0x14},
                          {22, 0x04},
                          {27, 0x14},
                          {31, 0x18},
                          {32, 0x28},
                          {40, 0x02}})
    command[at] = static_cast<char>(byte);
  EXPECT_EQ(crc32c(command), 0xd9963a56u);
}

TEST(Crc32c, HasTheUsualCheckValue) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}
