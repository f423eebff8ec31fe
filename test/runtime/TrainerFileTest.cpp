// The container: what is read from a trainer, and that damage is found.
#include "runtime/TrainerFile.h"

#include "runtime/base/Error.h"
#include "runtime/base/Random.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::container;

/// A runtime of 100 bytes with these sections; plans and kernels are of target
/// 0, 1 and so on.
static std::string makeContainer(
    const std::vector<std::pair<SectionKind, std::string>> &contents) {
  std::string file(100, 'R');
  std::vector<Section> table;
  uint32_t plans = 0, kernels = 0;
  for (const auto &[kind, bytes] : contents) {
    file.resize((file.size() + alignment - 1) / alignment * alignment);
    uint32_t target = kind == sectionPlan      ? plans++
                      : kind == sectionKernels ? kernels++
                                               : 0;
    table.push_back({kind, target, file.size(), bytes.size(),
                     Checksum::of(bytes.data(), bytes.size())});
    file += bytes;
  }
  Footer footer{file.size(),
                Checksum::of(table.data(), table.size() * sizeof(Section)),
                static_cast<uint32_t>(table.size()),
                version,
                {}};
  std::memcpy(footer.magic, magic, sizeof(magic));
  file.append(reinterpret_cast<char *>(table.data()),
              table.size() * sizeof(Section));
  file.append(reinterpret_cast<char *>(&footer), sizeof(footer));
  return file;
}

static std::string somePlan(const char *target = "cpu:znver4") {
  plan::Plan plan;
  plan.mutable_target()->set_name(target);
  plan.set_model("model.onnx");
  plan.mutable_mesh()->set_ranks(2);
  return plan.SerializeAsString();
}

TEST(TrainerFile, HoldsPlanKernelsAndWeights) {
  TemporaryFolder folder;
  std::string path =
      folder.write("t", makeContainer({{sectionPlan, somePlan()},
                                       {sectionKernels, "ELF"},
                                       {sectionWeights, "wwww"}}));
  TrainerFile file(path);
  ASSERT_EQ(file.plans().size(), 1u);
  EXPECT_EQ(file.plans()[0].model(), "model.onnx");
  EXPECT_EQ(file.kernels(0).size(), 3u);
  EXPECT_TRUE(file.exportTemplate().empty());
  EXPECT_EQ(file.embeddedWeights().offset, 3 * alignment);
  EXPECT_EQ(file.embeddedWeights().length, 4u);
}

TEST(TrainerFile, HasAPlanAndKernelsForEachTarget) {
  TemporaryFolder folder;
  TrainerFile file(
      folder.write("t", makeContainer({{sectionRuntime, "R"},
                                       {sectionPlan, somePlan()},
                                       {sectionKernels, "ELF"},
                                       {sectionPlan, somePlan("cuda:sm_90")},
                                       {sectionKernels, "PTX+"}})));
  ASSERT_EQ(file.plans().size(), 2u);
  EXPECT_EQ(file.plans()[1].target().name(), "cuda:sm_90");
  EXPECT_EQ(file.kernels(0).size(), 3u);
  EXPECT_EQ(file.kernels(1).size(), 4u);
  EXPECT_TRUE(file.kernels(2).empty());
  std::vector<std::string> names;
  for (const auto &[name, value] : file.checksums())
    names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"the trainer's runtime",
                                      "the trainer's plan for cpu:znver4",
                                      "the trainer's kernels for cpu:znver4",
                                      "the trainer's plan for cuda:sm_90",
                                      "the trainer's kernels for cuda:sm_90"}));
}

TEST(TrainerFile, ACertificateIsOfItsPlansAndOneOfItsChecksums) {
  TemporaryFolder folder;
  std::string plan = somePlan();
  plan::Certificate certificate;
  auto file = [&] {
    return folder.write(
        "t",
        makeContainer({{sectionPlan, plan},
                       {sectionCertificate, certificate.SerializeAsString()}}));
  };
  certificate.add_plan_hashes(XXH3_64bits(plan.data(), plan.size()));
  EXPECT_EQ(TrainerFile(file()).checksums().back().first,
            "the trainer's certificate");
  certificate.set_plan_hashes(0, certificate.plan_hashes(0) + 1);
  EXPECT_THROW(TrainerFile{file()}, Error);
  certificate.clear_plan_hashes();
  EXPECT_THROW(TrainerFile{file()}, Error);
  certificate.add_plan_hashes(XXH3_64bits(plan.data(), plan.size()));
  certificate.set_model_hash(7);
  EXPECT_THROW(TrainerFile{file()}, Error);
}

TEST(TrainerFile, MayBeABareRuntime) {
  TemporaryFolder folder;
  EXPECT_TRUE(TrainerFile(folder.write("t", "short")).plans().empty());
  EXPECT_TRUE(
      TrainerFile(folder.write("t", std::string(5000, 'R'))).plans().empty());
}

TEST(TrainerFile, DamagedWeightsAndCodeAreFound) {
  TemporaryFolder folder;
  std::string weights(3 * checksumBlock / 2, 'w');
  std::string whole = makeContainer({{sectionRuntime, std::string(5000, 'r')},
                                     {sectionPlan, somePlan()},
                                     {sectionWeights, weights}});
  std::string path = folder.write("t", whole);
  for (unsigned threads : {1, 2, 7})
    TrainerFile(path).checkLargeSections(threads);
  size_t begin = TrainerFile(path).embeddedWeights().offset;
  RandomStream random(5, "weights");
  for (uint64_t trial = 0; trial < 200; ++trial) {
    std::string damaged = whole;
    size_t at = trial % 10 == 0
                    ? alignment + random.below(5000, trial, 0)
                    : begin + random.below(uint32_t(weights.size()), trial, 0);
    damaged[at] =
        static_cast<char>(damaged[at] ^ (1 << random.below(8, trial, 1)));
    // Two flips of one bit do not make up for each other.
    if (trial % 2)
      damaged[begin + 8 * random.below(1000, trial, 2) + 7] ^= char(0x80);
    TrainerFile file(folder.write("t", damaged));
    EXPECT_THROW(file.checkLargeSections(1 + trial % 3), Error);
  }
}

TEST(TrainerFile, ChecksumsDoNotDependOnPieces) {
  std::string bytes(2 * checksumBlock + 77, 'b');
  uint64_t whole = Checksum::of(bytes.data(), bytes.size());
  for (size_t chunk : {1000ul, checksumBlock, checksumBlock + 1}) {
    Checksum checksum;
    for (size_t at = 0; at < bytes.size(); at += chunk)
      checksum.update(bytes.data() + at, std::min(chunk, bytes.size() - at));
    EXPECT_EQ(checksum.finish(), whole);
  }
  EXPECT_NE(Checksum::of(bytes.data(), bytes.size() - 1), whole);
  EXPECT_NE(Checksum::of("", 0), Checksum::of("\0", 1));
}

TEST(TrainerFile, DamageIsFound) {
  TemporaryFolder folder;
  std::string whole = makeContainer(
      {{sectionPlan, somePlan()}, {sectionKernels, std::string(1000, 'k')}});
  RandomStream random(4, "container");
  int found = 0;
  for (uint64_t trial = 0; trial < 150; ++trial) {
    std::string damaged = whole;
    // In the kernels, the table or the footer, but for its magic.
    size_t at = whole.size() - 9 - random.below(1000, trial, 0);
    damaged[at] =
        static_cast<char>(damaged[at] ^ (1 + random.below(255, trial, 1)));
    std::string path = folder.write("t", damaged);
    try {
      TrainerFile file(path);
    } catch (const Error &) {
      ++found;
    }
  }
  EXPECT_EQ(found, 150);
  EXPECT_THROW(
      TrainerFile(folder.write("t", makeContainer({{sectionKernels, "x"}}))),
      Error);
  EXPECT_THROW(TrainerFile(folder.write(
                   "t", makeContainer({{sectionPlan, "\xff\xff"}}))),
               Error);
}
