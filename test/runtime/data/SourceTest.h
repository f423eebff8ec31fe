// A plan of one input of token ids, and the samples that files hold for it.
#ifndef SHARDC_TEST_RUNTIME_DATA_SOURCETEST_H
#define SHARDC_TEST_RUNTIME_DATA_SOURCETEST_H

#include "runtime/base/Error.h"
#include "runtime/data/Dataset.h"
#include "test/runtime/TemporaryFolder.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace shardc::runtime {

class SourceTest : public testing::Test {
protected:
  using Ids = std::vector<int64_t>;

  /// Inputs: ids, int64 [samples, 4] from 0 to 99, and what `more` adds.
  static plan::Plan planWith(const std::string &more = "") {
    plan::Plan plan;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"(mesh { ranks: 1 }
           inputs { name: "ids" bounded: true max_value: 99 tensor { dtype: INT64 shape: 2 shape: 4 } })" +
            more,
        &plan));
    return plan;
  }

  template <typename... Numbers>
  static std::string bytes(const Numbers &...numbers) {
    std::string all;
    (all.append(reinterpret_cast<const char *>(&numbers), sizeof(numbers)),
     ...);
    return all;
  }
  template <typename T> static std::string array(const std::vector<T> &values) {
    return {reinterpret_cast<const char *>(values.data()),
            values.size() * sizeof(T)};
  }
  /// 0, 1, 2, ... as uint16.
  static std::string counted(size_t tokens) {
    std::vector<uint16_t> ids(tokens);
    for (size_t i = 0; i < tokens; ++i)
      ids[i] = static_cast<uint16_t>(i);
    return array(ids);
  }

  NamedFile file(const std::string &path, SourceKeys keys = {}) {
    return {"ids", folder / path, std::move(keys)};
  }
  static SourceKeys raw(SourceKeys keys = {}) {
    keys.dtype = TokenType::UInt16;
    return keys;
  }
  /// All samples of an input, one behind the other.
  template <typename T = int64_t>
  static std::vector<T> valuesOf(const Dataset &data, const plan::Plan &plan,
                                 int input = 0) {
    std::vector<int64_t> all(data.samples());
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<int64_t>(i);
    std::vector<T> values(all.size() * SampleType(plan.inputs(input)).elements);
    data.load(input, all, reinterpret_cast<std::byte *>(values.data()));
    return values;
  }
  Ids idsOf(const std::string &path, SourceKeys keys = {}) {
    return valuesOf(Dataset(plan, {file(path, std::move(keys))}, "--data"),
                    plan);
  }

  std::string errorOf(const plan::Plan &plan,
                      const std::vector<NamedFile> &given) {
    try {
      Dataset(plan, given, "--data");
    } catch (const Error &error) {
      return shortened(error.what());
    }
    return "";
  }
  std::string errorOf(const std::string &path, SourceKeys keys = {}) {
    return errorOf(plan, {file(path, std::move(keys))});
  }
  /// Without the folder.
  std::string shortened(std::string text) {
    for (size_t at; (at = text.find(folder.path() + "/")) != std::string::npos;)
      text.erase(at, folder.path().size() + 1);
    return text;
  }

  plan::Plan plan = planWith();
  TemporaryFolder folder;
};

} // namespace shardc::runtime

#endif
