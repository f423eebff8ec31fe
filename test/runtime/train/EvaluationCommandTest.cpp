// What a command says of an evaluation. That it is run, and by whom, is in
// test/training/test_loop.py.
#include "runtime/train/EvaluationCommand.h"
#include "test/runtime/ErrorText.h"

#include <gtest/gtest.h>

using namespace shardc::runtime;

namespace {

std::string namesOf(const std::string &printed) {
  std::string names;
  for (const EvaluationMetric &metric : parseMetrics(printed))
    names += metric.name + " ";
  return names;
}

TEST(EvaluationCommand, ItsLastLineIsRead) {
  EXPECT_EQ(namesOf("{\"f1\": 0.5, \"em\": 1}"), "f1 em ");
  EXPECT_EQ(namesOf("a\n{\"x\": 1}\nb {}\n{\"top-5@1/a.b\": -2e3} \r\n\n"),
            "top-5@1/a.b ");
  EXPECT_EQ(parseMetrics("\n{\"x\": 3}")[0].value, 3);
}

TEST(EvaluationCommand, WhatItSaysMayBeWrong) {
  auto error = [](const std::string &printed) {
    return errorOf([&] { parseMetrics(printed); });
  };
  for (const char *none : {"", "\n \n", "hello", "[1]", "3", "{}", "{\"x\": 1",
                           "{\"x\": 1}\nthe end"})
    EXPECT_NE(error(none).find("is no JSON object of numbers"),
              std::string::npos)
        << none;
  EXPECT_EQ(error("{\"x\": \"1\"}"),
            "its metric x is \"1\", which is no finite number");
  EXPECT_EQ(error("{\"x\": true}"),
            "its metric x is true, which is no finite number");
  for (const char *name : {"loss", "step", "perplexity"})
    EXPECT_NE(error(std::string("{\"") + name + "\": 1}")
                  .find("which evaluations have themselves"),
              std::string::npos);
  EXPECT_NE(error("{\"a b\": 1}").find("names have letters"),
            std::string::npos);
  EXPECT_NE(error("{\"\": 1}").find("names have letters"), std::string::npos);
}

} // namespace
