#include "runtime/base/JsonNumber.h"

#include <gtest/gtest.h>

using namespace shardc::runtime;
using Json = nlohmann::json;

TEST(JsonNumberTest, WholeNumbersAreTaken) {
  EXPECT_EQ(wholeNumber<int64_t>(Json::parse("-9223372036854775808")),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(wholeNumber<uint64_t>(Json::parse("18446744073709551615")),
            std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(wholeNumber<int>(Json::parse("17")), 17);
  int64_t read = 0;
  readWhole(Json::parse("4"), read);
  EXPECT_EQ(read, 4);
}

TEST(JsonNumberTest, WhatIsNotOneOfTheTypeIsRefused) {
  for (const char *text :
       {"1e300", "-1e300", "2.5", "3.0", "9223372036854775808", "true", "\"7\"",
        "null", "[1]", "{}", "18446744073709551616"})
    EXPECT_THROW(wholeNumber<int64_t>(Json::parse(text)), Json::exception)
        << text;
  EXPECT_THROW(wholeNumber<int>(Json::parse("2147483648")), Json::exception);
  EXPECT_THROW(wholeNumber<uint64_t>(Json::parse("-1")), Json::exception);
}

TEST(JsonNumberTest, TheErrorHasTheNumberAndTheBounds) {
  try {
    wholeNumber<int>(Json::parse("1e300"));
    FAIL() << "was taken";
  } catch (const Json::exception &error) {
    EXPECT_NE(std::string(error.what())
                  .find("1e+300 is no whole number from -2147483648 to "
                        "2147483647"),
              std::string::npos)
        << error.what();
  }
}
