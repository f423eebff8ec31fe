// Where initial values come from: ranges of files in every orientation, drawn
// ones, and slices of ranks; and what is refused.
#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/weights/RandomParameters.h"
#include "runtime/weights/StoredParameters.h"
#include "test/runtime/TemporaryFolder.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;

namespace {

/// Two parameters of one unit: w [3, 4], stored transposed, and b [5].
class Parameters : public testing::Test {
protected:
  Parameters() {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"(parameters { name: "w" initializer: "w_t" shape: 3 shape: 4 dtype: FLOAT32 trainable: true init: "uniform:-0.5,0.5"
             source { file: "model.data" offset: 4 length: 48 dtype: FLOAT32 transposed: true } }
           parameters { name: "b" initializer: "b" shape: 5 dtype: FLOAT32 flat_offset: 12 trainable: true init: "constant:1"
             source { file: "model.data" offset: 52 length: 40 dtype: FLOAT64 } }
           units { name: "root" parameters: 0 parameters: 1 elements: 20 padding: 3 shards: 2 dtype: FLOAT32 })",
        &plan));
    plan.set_model(folder / "model.onnx");
    std::string data(4, '\xff');
    for (int column = 0; column < 4; ++column)
      for (int row = 0; row < 3; ++row)
        append<float>(data, row * 4 + column);
    for (int i = 0; i < 5; ++i)
      append<double>(data, 100 + i);
    folder.write("model.data", data);
  }

  template <typename T> static void append(std::string &to, T value) {
    to.append(reinterpret_cast<const char *>(&value), sizeof(T));
  }

  template <typename T = float>
  std::vector<T> read(const ParameterSource &source, int parameter,
                      int64_t begin, int64_t end,
                      plan::DType dtype = plan::FLOAT32) {
    std::vector<T> values(end - begin);
    source.read(parameter, begin, end, dtype,
                reinterpret_cast<std::byte *>(values.data()));
    return values;
  }

  std::string errorOfRecorded() {
    return errorOf([&] { StoredParameters::recorded(plan, {}, true); });
  }
  template <typename Body> std::string errorOf(Body body) {
    try {
      body();
    } catch (const Error &error) {
      std::string text = error.what();
      for (size_t at;
           (at = text.find(folder.path() + "/")) != std::string::npos;)
        text.erase(at, folder.path().size() + 1);
      return text;
    }
    return "";
  }

  plan::Plan plan;
  TemporaryFolder folder;
};

} // namespace

TEST_F(Parameters, AreReadInEveryOrientationAndType) {
  auto stored = StoredParameters::recorded(plan, {}, true);
  for (int64_t begin = 0; begin < 12; ++begin)
    for (int64_t end = begin + 1; end <= 12; ++end) {
      std::vector<float> expected;
      for (int64_t i = begin; i < end; ++i)
        expected.push_back(static_cast<float>(i));
      EXPECT_EQ(read(*stored, 0, begin, end), expected)
          << begin << " to " << end;
    }
  EXPECT_EQ(read(*stored, 1, 1, 4), (std::vector<float>{101, 102, 103}));
  EXPECT_EQ(read<double>(*stored, 0, 5, 7, plan::FLOAT64),
            (std::vector<double>{5, 6}));
}

TEST_F(Parameters, TransposedOnesAreReadInPiecesOfManyRows) {
  // Enough columns for several blocks, and a few rows of many, so that both
  // ways to read a line are used.
  constexpr int64_t rows = 64, columns = 40000;
  plan::Parameter *parameter = plan.mutable_parameters(0);
  parameter->set_shape(0, rows);
  parameter->set_shape(1, columns);
  parameter->mutable_source()->set_length(rows * columns * 4);
  plan.mutable_parameters(1)->mutable_source()->set_file("b.data");
  plan.mutable_parameters(1)->mutable_source()->set_offset(0);
  folder.write("b.data", std::string(40, '\0'));
  std::string data(4, '\xff');
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row)
      append<float>(data, row * columns + column);
  folder.write("model.data", data);
  auto stored = StoredParameters::recorded(plan, {}, true);
  for (auto [begin, end] :
       {std::pair<int64_t, int64_t>{3 * columns, 5 * columns},
        {columns / 2, rows * columns - 7}}) {
    std::vector<float> values = read(*stored, 0, begin, end);
    for (int64_t i = 0; i < end - begin; ++i)
      ASSERT_EQ(values[i], static_cast<float>(begin + i));
  }
}

TEST_F(Parameters, FillSlicesAndLeaveThePaddingZero) {
  auto stored = StoredParameters::recorded(plan, {}, true);
  std::vector<float> slice(10, -1);
  readSlice(plan, plan.units(0), 10, 10, plan::FLOAT32, *stored,
            reinterpret_cast<std::byte *>(slice.data()));
  EXPECT_EQ(slice,
            (std::vector<float>{10, 11, 100, 101, 102, 103, 104, 0, 0, 0}));
}

TEST_F(Parameters, ThatAreMissingAreNamed) {
  std::filesystem::remove(folder / "model.data");
  EXPECT_EQ(errorOfRecorded(),
            "cannot open model.data: No such file or directory (parameter w); "
            "give --weights PATH or "
            "--init random");
  folder.write("model.data", std::string(60, '\0'));
  EXPECT_EQ(errorOfRecorded(), "model.data: parameter b lies at bytes 52 to "
                               "92, and the file has 60; give --weights PATH "
                               "or --init random");
  plan.mutable_parameters(0)->mutable_source()->set_length(44);
  EXPECT_EQ(errorOfRecorded(), "model.data: parameter w expects 48 bytes, got "
                               "44; give --weights PATH or --init random");
}

TEST_F(Parameters, MayNotLieOutsideTheModelsFolder) {
  auto errorOfFile = [&](const std::string &file) {
    plan.mutable_parameters(0)->mutable_source()->set_file(file);
    return errorOfRecorded();
  };
  for (const char *outside : {"../x.data", "a/../../x", "a/.."})
    EXPECT_NE(errorOfFile(outside).find("is not a path inside"),
              std::string::npos)
        << outside;
  std::filesystem::create_directory(folder / "a");
  EXPECT_NE(errorOfFile("/etc/passwd").find("is not a path inside"),
            std::string::npos);
  std::filesystem::create_symlink("/etc/hostname", folder / "link");
  EXPECT_NE(errorOfFile("link").find("leads through a symbolic link"),
            std::string::npos);
  std::filesystem::create_directory_symlink("/etc", folder / "dir");
  EXPECT_NE(errorOfFile("dir/hostname").find("leads through a symbolic link"),
            std::string::npos);
  EXPECT_NE(errorOfFile("a").find("is not a regular file"), std::string::npos);
  std::filesystem::copy_file(folder / "model.data", folder / "a/model.data");
  EXPECT_EQ(errorOfFile("./a//model.data"), "");
}

TEST_F(Parameters, AreNotTakenFromAModelThatChanged) {
  plan.set_model_hash(1);
  plan.mutable_parameters(0)->mutable_source()->set_file("");
  folder.write("model.onnx", std::string(100, '\0'));
  EXPECT_EQ(errorOfRecorded(), "model.onnx is not the file that was compiled "
                               "any more; compile it again, or give --weights "
                               "model.onnx to find parameters by name");
}

TEST_F(Parameters, AreReadFromTheTrainerItself) {
  for (plan::Parameter &parameter : *plan.mutable_parameters()) {
    parameter.mutable_source()->clear_file();
    parameter.mutable_source()->set_embedded(true);
  }
  folder.write("trainer", std::string(4096, 'x') + folder.read("model.data"));
  auto stored =
      StoredParameters::recorded(plan, {folder / "trainer", 4096, 92}, true);
  EXPECT_EQ(read(*stored, 0, 0, 3), (std::vector<float>{0, 1, 2}));
}

TEST_F(Parameters, AreDrawnByElement) {
  RandomParameters drawn(plan, 5);
  std::vector<float> whole = read(drawn, 0, 0, 12);
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(read(drawn, 0, i, i + 1)[0], whole[i]);
    EXPECT_LE(std::abs(whole[i]), 0.5f);
  }
  EXPECT_NE(whole, read(RandomParameters(plan, 6), 0, 0, 12));
  EXPECT_EQ(read<double>(drawn, 0, 0, 12, plan::FLOAT64),
            std::vector<double>(whole.begin(), whole.end()));
  EXPECT_EQ(read(drawn, 1, 0, 5), std::vector<float>(5, 1));
  plan.mutable_parameters(0)->set_init("normal:2,0.001");
  EXPECT_NEAR(read(RandomParameters(plan, 5), 0, 3, 4)[0], 2, 0.01);
}

TEST_F(Parameters, WithoutADistributionComeFromTheFile) {
  plan.mutable_parameters(0)->clear_init();
  EXPECT_NE(errorOf([&] {
              RandomParameters drawn(plan, 5);
            }).find("parameter w has no known initial distribution"),
            std::string::npos);
  auto stored = StoredParameters::recorded(plan, {}, false);
  RandomParameters drawn(plan, 5, stored.get());
  EXPECT_EQ(read(drawn, 0, 0, 3), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(read(drawn, 1, 0, 1), (std::vector<float>{1}));
  for (const char *text :
       {"normal:1", "uniform:0,1,2", "normal:a,b", "cauchy:0,1", "constant:"}) {
    plan.mutable_parameters(0)->set_init(text);
    EXPECT_NE(errorOf([&] { RandomParameters drawn(plan, 5); }), "") << text;
  }
}
