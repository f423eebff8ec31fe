// Exported files: what they hold, read back; that they appear whole or not at
// all; and damaged ones.
#include "runtime/base/Error.h"
#include "runtime/base/Random.h"
#include "runtime/files/Safetensors.h"
#include "runtime/weights/ExportOnnx.h"
#include "runtime/weights/ExportSafetensors.h"
#include "runtime/weights/OnnxIndex.h"
#include "runtime/weights/RandomParameters.h"
#include "runtime/weights/StoredParameters.h"
#include "runtime/weights/StoredTensors.h"
#include "runtime/weights/WireReader.h"
#include "test/runtime/TemporaryFolder.h"

#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace shardc;
using namespace shardc::runtime;

namespace {

class Export : public testing::Test {
protected:
  Export() {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"(parameters { name: "w" initializer: "w_t" shape: 30 shape: 20 dtype: FLOAT32 trainable: true init: "normal:0,1"
             source { transposed: true } }
           parameters { name: "b\"q" initializer: "b" shape: 7 dtype: FLOAT32 init: "normal:0,1" }
           units { name: "root" parameters: 0 parameters: 1 dtype: FLOAT32 master_dtype: FLOAT32 gradient_dtype: FLOAT32 optimizer_shards: 1 shards: 1 }
           exported_initializers { name: "w_t" transposed: true dims: 20 dims: 30 onnx_dtype: 1 }
           exported_initializers { name: "axes" parameter: -1 dims: 2 onnx_dtype: 7
             source { file: "axes.bin" offset: 8 length: 16 dtype: INT64 } }
           exported_initializers { name: "b" parameter: 1 dims: 7 onnx_dtype: 11 })",
        &plan));
    plan.set_model(folder / "model.onnx");
    int64_t axes[3] = {0, 5, -1};
    folder.write("axes.bin",
                 std::string(reinterpret_cast<char *>(axes), sizeof(axes)));
    values = std::make_unique<RandomParameters>(plan, 1);
    // ModelProto: producer_name, then a graph with a name, a stub of "b" and
    // one initializer that stays.
    std::string graph, stub, kept;
    appendTextField(graph, 2, "g");
    appendTextField(stub, 8, "b");
    appendLengthField(graph, 5, stub.size());
    graph += stub;
    appendTextField(kept, 8, "kept");
    appendLengthField(graph, 5, kept.size());
    graph += kept;
    appendTextField(model, 2, "test");
    appendLengthField(model, 7, graph.size());
    model += graph;
  }

  std::vector<float> read(const ParameterSource &source, int parameter,
                          int64_t count) {
    std::vector<float> result(count);
    source.read(parameter, 0, count, plan::FLOAT32,
                reinterpret_cast<std::byte *>(result.data()));
    return result;
  }
  void expectSame(const ParameterSource &source) {
    EXPECT_EQ(read(source, 0, 600), read(*values, 0, 600));
    EXPECT_EQ(read(source, 1, 7), read(*values, 1, 7));
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
  std::unique_ptr<StoredParameters> open(const std::string &name) {
    return StoredParameters::fromPath(plan, folder / name, {});
  }
  void exportOnnx(uint64_t mostInlineBytes) {
    OnnxExport(plan, std::as_bytes(std::span(model)), {}, folder / "out.onnx",
               mostInlineBytes)
        .write(*values);
  }

  plan::Plan plan;
  TemporaryFolder folder;
  std::unique_ptr<RandomParameters> values;
  std::string model;
};

} // namespace

TEST_F(Export, SafetensorsAreReadBack) {
  SafetensorsExport(plan, folder / "out.safetensors").write(*values);
  // Of the two only w is trained; the buffer is read where the model has it.
  EXPECT_EQ(errorOf([&] { open("out.safetensors"); }),
            "cannot open model.onnx: No such file or directory (parameter "
            "b\"q); give --weights PATH or --init random");
  plan.mutable_parameters(1)->set_trainable(true);
  SafetensorsExport(plan, folder / "out.safetensors").write(*values);
  expectSame(*open("out.safetensors"));
  plan.mutable_parameters(0)->set_shape(0, 20);
  plan.mutable_parameters(0)->set_shape(1, 30);
  EXPECT_EQ(
      errorOf([&] { open("out.safetensors"); }),
      "out.safetensors: tensor w has the shape [30, 20], and the model's "
      "parameter [20, 30]; --weights-match REGEX takes the values of some "
      "parameters alone");
}

TEST_F(Export, SafetensorsHaveTheTypesOfWhatTheyHold) {
  using Values = SafetensorsExport::Values;
  // What the header says of a tensor; "" where there is none.
  auto typeOf = [&](const char *name, Values which) {
    SafetensorsExport(plan, folder / "out.safetensors", which).write(*values);
    OpenFiles files;
    std::string path = folder / "out.safetensors";
    auto entries = readSafetensorsHeader(files.open(path).descriptor, path);
    auto found = entries.find(name);
    return found == entries.end() ? plan::INVALID : found->second.dtype;
  };
  plan::Unit *unit = plan.mutable_units(0);
  unit->set_dtype(plan::BFLOAT16);
  unit->set_gradient_dtype(plan::BFLOAT16);
  EXPECT_EQ(typeOf("w", Values::Parameters), plan::FLOAT32);
  EXPECT_EQ(typeOf("w", Values::Gradients), plan::FLOAT32);
  unit->set_master_dtype(plan::BFLOAT16);
  unit->set_gradient_dtype(plan::FLOAT64);
  EXPECT_EQ(typeOf("w", Values::Parameters), plan::BFLOAT16);
  EXPECT_EQ(typeOf("w", Values::Gradients), plan::FLOAT64);
  // Frozen parameters are not rounded; buffers stay with the model.
  plan.mutable_precision()->set_master(plan::FLOAT32);
  EXPECT_EQ(typeOf("b\"q", Values::Parameters), plan::INVALID);
  plan.mutable_parameters(1)->set_frozen(true);
  EXPECT_EQ(typeOf("b\"q", Values::Parameters), plan::FLOAT32);
  EXPECT_EQ(typeOf("b\"q", Values::Gradients), plan::INVALID);
  plan.mutable_parameters(1)->mutable_source()->set_dtype(plan::FLOAT64);
  EXPECT_EQ(typeOf("b\"q", Values::Parameters), plan::FLOAT64);
}

TEST_F(Export, WhatIsChosenIsWrittenInATypeOfItsOwn) {
  plan.mutable_parameters(1)->set_trainable(true);
  std::string path = folder / "out.safetensors";
  auto isW = [](const plan::Parameter &parameter) {
    return parameter.name() == "w";
  };
  SafetensorsExport(plan, path, SafetensorsExport::Values::Parameters,
                    {isW, plan::BFLOAT16})
      .write(*values);
  OpenFiles files;
  auto entries = readSafetensorsHeader(files.open(path).descriptor, path);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries.begin()->first, "w");
  EXPECT_EQ(entries.begin()->second.dtype, plan::BFLOAT16);
  StoredTensors stored({path});
  for (int64_t i : {0, 7, 599}) {
    float whole, rounded;
    values->read(0, i, i + 1, plan::FLOAT32,
                 reinterpret_cast<std::byte *>(&whole));
    stored.read("w", i, i + 1, plan::FLOAT32,
                reinterpret_cast<std::byte *>(&rounded));
    EXPECT_NEAR(rounded, whole, std::abs(whole) / 256);
  }
}

TEST_F(Export, AFrozenParameterMayNotBeMissing) {
  SafetensorsExport(plan, folder / "out.safetensors").write(*values);
  plan.mutable_parameters(1)->set_frozen(true);
  EXPECT_EQ(errorOf([&] { open("out.safetensors"); }),
            "out.safetensors: has no tensor b\"q");
  plan.mutable_precision()->set_master(plan::FLOAT32);
  SafetensorsExport(plan, folder / "out.safetensors").write(*values);
  expectSame(*open("out.safetensors"));
}

TEST_F(Export, OnnxModelsAreReadBackInlineAndWithExternalData) {
  for (uint64_t mostInlineBytes :
       {OnnxExport::defaultInlineBytes, uint64_t{100}}) {
    exportOnnx(mostInlineBytes);
    EXPECT_EQ(std::filesystem::exists(folder / "out.onnx.data"),
              mostInlineBytes == 100);
    expectSame(*open("out.onnx"));
    std::string bytes = folder.read("out.onnx");
    auto index = indexOnnx(std::as_bytes(std::span(bytes)), "out.onnx");
    EXPECT_EQ(index.size(), 4u);
    EXPECT_TRUE(index.contains("kept"));
    int64_t axes[2];
    ASSERT_EQ(index["axes"].length, 16u);
    std::memcpy(axes, bytes.data() + index["axes"].offset, 16);
    EXPECT_EQ(axes[0], 5);
    EXPECT_EQ(axes[1], -1);
    EXPECT_EQ(index["b"].dtype, plan::FLOAT64);
    EXPECT_EQ(index["w_t"].shape, (std::vector<int64_t>{20, 30}));
  }
}

TEST_F(Export, DamagedFilesAreErrors) {
  SafetensorsExport(plan, folder / "a.safetensors").write(*values);
  exportOnnx(OnnxExport::defaultInlineBytes);
  RandomStream random(2, "damage");
  uint64_t trial = 0;
  for (const char *name : {"a.safetensors", "out.onnx"}) {
    std::string whole = folder.read(name);
    int refused = 0;
    for (int i = 0; i < 120; ++i, ++trial) {
      std::string damaged = whole.substr(
          0, i % 2 ? whole.size() : random.below(whole.size(), trial, 1));
      size_t range = std::min<size_t>(damaged.size(), 300);
      for (int change = 0; range && change < 1 + i % 5; ++change)
        damaged[random.below(range, trial, 2 + 2 * change)] =
            static_cast<char>(random.below(256, trial, 3 + 2 * change));
      folder.write(std::string("damaged-") + name, damaged);
      refused += !errorOf([&] {
                    auto stored = StoredParameters::fromPath(
                        plan, folder / (std::string("damaged-") + name), {});
                    read(*stored, 0, 600);
                  }).empty();
    }
    EXPECT_GE(refused, 60) << name; // half of them are truncated
  }
}

TEST_F(Export, WhatIsThereStaysUntilTheNewFileIsWhole) {
  folder.write("a.safetensors", "old");
  size_t before = folder.size();
  {
    SafetensorsExport unfinished(plan, folder / "a.safetensors");
    // It has no name yet: even a process that is killed leaves nothing.
    EXPECT_EQ(folder.size(), before);
  }
  EXPECT_EQ(folder.size(), before);
  EXPECT_EQ(folder.read("a.safetensors"), "old");

  // A disk that fills: writes beyond the limit fail.
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit, small;
  getrlimit(RLIMIT_FSIZE, &limit);
  small = {1000, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string error = errorOf([&] {
    SafetensorsExport(plan, folder / "a.safetensors").write(*values);
  });
  std::string onnxError = errorOf([&] { exportOnnx(100); });
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_EQ(error, "cannot write a.safetensors: File too large");
  EXPECT_EQ(onnxError, "cannot write out.onnx.data: File too large");
  EXPECT_EQ(folder.size(), before);
  EXPECT_EQ(folder.read("a.safetensors"), "old");
}

TEST_F(Export, OutputsGetTheirPlaceOnEveryFileSystem) {
  for (bool nameless : {true, false})
    for (bool there : {true, false}) {
      std::string name = concat("o", nameless, there);
      if (there)
        folder.write(name, "old");
      size_t before = folder.size();
      {
        OutputFile unfinished(folder / name, nameless);
        unfinished.write("ne", 2);
        EXPECT_EQ(folder.size(), before + !nameless);
      }
      EXPECT_EQ(folder.size(), before);
      OutputFile file(folder / name, nameless);
      file.write("new", 3);
      file.commit();
      EXPECT_EQ(folder.size(), before + !there);
      EXPECT_EQ(folder.read(name), "new");
      struct stat status;
      ASSERT_EQ(stat((folder / name).c_str(), &status), 0);
      mode_t mask = umask(0);
      umask(mask);
      EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
    }
}

TEST_F(Export, OutputsThatCannotBeWrittenAreFoundAtOnce) {
  EXPECT_EQ(errorOf([&] { OutputFile file(folder / "none/a"); }),
            "cannot write none/a: No such file or directory");
  EXPECT_EQ(errorOf([&] {
              OutputFile file(folder.path());
            }).find("is not a regular file") != std::string::npos,
            true);
  EXPECT_EQ(errorOf([&] { OutputFile file("/dev/null"); }),
            "cannot write /dev/null: it is not a regular file");
  OutputFile file(folder / "a");
  EXPECT_NE(errorOf([&] { file.checkSpace(uint64_t{1} << 60); }), "");
  EXPECT_EQ(errorOf([&] { file.checkSpace(1); }), "");
}

TEST_F(Export, ALinkIsKeptAndItsFileReplaced) {
  folder.write("real", "old");
  std::filesystem::create_symlink("real", folder / "link");
  OutputFile file(folder / "link");
  file.write("new", 3);
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(folder.read("real"), "new");
}

TEST_F(Export, NeedsTheInitializersThatAreCopied) {
  folder.write("axes.bin", "short");
  EXPECT_EQ(
      errorOf([&] { exportOnnx(OnnxExport::defaultInlineBytes); }),
      "axes.bin: ends before initializer axes, which --export-onnx copies");
  model.clear();
  EXPECT_EQ(errorOf([&] { exportOnnx(OnnxExport::defaultInlineBytes); }),
            "--export-onnx: this trainer was compiled without the graph");
}
