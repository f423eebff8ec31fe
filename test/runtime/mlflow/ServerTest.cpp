// What an MLflow server's words mean, without one.
#include "runtime/mlflow/Server.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>

using namespace shardc::runtime;

namespace {

std::optional<MLflowSettings>
settingsOf(const std::map<std::string, std::string> &variables) {
  std::string warning;
  return MLflowSettings::read(
      [&](const char *name) {
        auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      warning);
}

} // namespace

TEST(MLflowSettings, ShowNoPassword) {
  auto settings =
      settingsOf({{"MLFLOW_TRACKING_URI", "https://a:b@c@host:1/p//"}});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->uri, "https://a:b@c@host:1/p");
  EXPECT_EQ(settings->shown, "https://host:1/p");
  EXPECT_FALSE(settingsOf({}));
  EXPECT_FALSE(settingsOf({{"MLFLOW_TRACKING_URI", ""}}));
}

TEST(MLflowServer, SendsArtifactsThroughTheServer) {
  auto settings = settingsOf({{"MLFLOW_TRACKING_URI", "https://host:1/p"}});
  std::optional<MLflowServer> server;
  try {
    server.emplace(*settings);
  } catch (const Error &error) {
    GTEST_SKIP() << error.what();
  }
  auto address = [&](const std::string &artifacts) {
    return server->addressOf({"id", artifacts, {}}, "a b/ü");
  };
  const std::string proxy = "/api/2.0/mlflow-artifacts/artifacts";
  EXPECT_EQ(address("mlflow-artifacts:/0/id/artifacts"),
            "https://host:1/p" + proxy + "/0/id/artifacts/a%20b%2F%C3%BC");
  EXPECT_EQ(address("mlflow-artifacts:///0"),
            "https://host:1/p" + proxy + "/0/a%20b%2F%C3%BC");
  EXPECT_EQ(address("mlflow-artifacts://other:2/0"),
            "https://other:2" + proxy + "/0/a%20b%2F%C3%BC");
  EXPECT_EQ(address("http://other" + proxy + "/0"),
            "http://other" + proxy + "/0/a%20b%2F%C3%BC");
  for (const char *elsewhere : {"s3://bucket/0", "file:///0", "/0", "",
                                "http://other/0", "mlflow-artifacts://x"})
    EXPECT_EQ(address(elsewhere), "") << elsewhere;
}
