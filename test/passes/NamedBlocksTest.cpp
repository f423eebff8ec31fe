// Which parameters form a block, for names and shapes as real models have
// them.
#include "passes/units/NamedBlocks.h"

#include <gtest/gtest.h>

#include <map>

using namespace shardc;

namespace {

using Parameters = std::vector<BlockParameter>;

/// Block names in order, each with its number of parameters: "layers.0:2".
std::string blocksOf(const Parameters &parameters) {
  std::string text;
  std::vector<int> seen(parameters.size());
  for (const NamedBlock &block : findNamedBlocks(parameters)) {
    text += (text.empty() ? "" : " ") + block.name + ":" +
            std::to_string(block.members.size());
    for (size_t member : block.members)
      EXPECT_EQ(seen[member]++, 0) << "a parameter is in one block";
  }
  return text;
}

void addBlock(Parameters &parameters, const std::string &path, int64_t width) {
  parameters.push_back({path + ".norm_1.weight", {width}});
  parameters.push_back({path + ".attn.qkv.weight", {3 * width, width}});
  parameters.push_back({path + ".attn.out.weight", {width, width}});
  parameters.push_back({path + ".mlp.0.weight", {4 * width, width}});
  parameters.push_back({path + ".mlp.2.weight", {width, 4 * width}});
}

TEST(NamedBlocks, areTheOutermostModuleList) {
  Parameters gpt = {{"transformer.wte.weight", {50257, 64}},
                    {"transformer.wpe.weight", {128, 64}}};
  for (int layer = 0; layer < 3; ++layer)
    addBlock(gpt, "transformer.h." + std::to_string(layer), 64);
  gpt.push_back({"transformer.ln_f.weight", {64}});
  EXPECT_EQ(blocksOf(gpt),
            "transformer.h.0:5 transformer.h.1:5 transformer.h.2:5");
}

TEST(NamedBlocks, mayBeInTwoLists) {
  Parameters model = {{"shared.weight", {512, 32}}};
  addBlock(model, "encoder.block.0", 32);
  addBlock(model, "encoder.block.1", 32);
  addBlock(model, "decoder.block.0", 32);
  addBlock(model, "decoder.block.1", 32);
  EXPECT_EQ(blocksOf(model), "decoder.block.0:5 decoder.block.1:5 "
                             "encoder.block.0:5 encoder.block.1:5");
}

TEST(NamedBlocks, areInsideASequentialOfDifferentParts) {
  Parameters model = {{"0.weight", {512, 32}}};
  addBlock(model, "1.0", 32);
  addBlock(model, "1.1", 32);
  model.push_back({"2.weight", {512, 32}});
  EXPECT_EQ(blocksOf(model), "1.0:5 1.1:5");
}

TEST(NamedBlocks, includeEveryMemberOfTheirList) {
  Parameters model;
  addBlock(model, "layers.0", 32);
  addBlock(model, "layers.1", 32);
  addBlock(model, "layers.2", 16);
  EXPECT_EQ(blocksOf(model), "layers.0:5 layers.1:5 layers.2:5");
}

TEST(NamedBlocks, mayDifferInShape) {
  Parameters mlp = {{"layers.0.weight", {64, 32}}, {"layers.0.bias", {64}},
                    {"layers.2.weight", {64, 64}}, {"layers.2.bias", {64}},
                    {"layers.4.weight", {10, 64}}, {"layers.4.bias", {10}}};
  EXPECT_EQ(blocksOf(mlp), "layers.0:2 layers.2:2 layers.4:2");
}

TEST(NamedBlocks, leaveSmallListsToTheRoot) {
  Parameters model;
  addBlock(model, "layers.0", 64);
  addBlock(model, "layers.1", 64);
  for (std::string path : {"head.0", "head.1"}) {
    model.push_back({path + ".weight", {4, 4}});
    model.push_back({path + ".bias", {4}});
  }
  EXPECT_EQ(blocksOf(model), "layers.0:5 layers.1:5");
}

TEST(NamedBlocks, areNotMadeUp) {
  EXPECT_EQ(blocksOf({}), "");
  EXPECT_EQ(blocksOf({{"weight", {4, 4}}}), "");
  EXPECT_EQ(blocksOf({{"a", {4, 4}}, {"b", {4, 4}}, {"c", {4, 4}}}), "");
  EXPECT_EQ(blocksOf({{"layers.0.weight", {4, 4}}, {"layers.0.bias", {4}}}),
            "");
}

} // namespace
