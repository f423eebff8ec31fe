// Which parameters become a unit, for small models that are put together by
// hand.
#include "passes/units/UnitPolicy.h"
#include "passes/units/AutoUnits.h"
#include "passes/units/Blocks.h"

#include <gtest/gtest.h>

using namespace shardc;

namespace {

/// A chain of ops, each with one parameter, the output of one the input of the
/// next. A letter stands for an op that is alike.
struct Chain {
  UnitModel model;

  Chain &op(const std::string &path, char kind, int64_t elements) {
    size_t parameter = 0;
    while (parameter < model.parameters.size() &&
           model.parameters[parameter].path != path)
      ++parameter;
    if (parameter == model.parameters.size())
      model.parameters.push_back({path, {elements}});
    size_t position = model.uses.size();
    model.uses.push_back(
        {parameter, position, size_t(kind), size_t(kind), 6e3});
    model.activations.push_back({position, position + 1});
    model.index();
    return *this;
  }
  Chain &block(const std::string &path, int64_t width = 100) {
    return op(path + ".norm.weight", 'n', width)
        .op(path + ".attn.qkv.weight", 'q', 3 * width * width)
        .op(path + ".attn.out.weight", 'o', width * width)
        .op(path + ".mlp.up.weight", 'u', 4 * width * width)
        .op(path + ".mlp.down.weight", 'd', 4 * width * width);
  }
  Chain &transformer(int64_t layers) {
    op("embed.weight", 'e', 50000);
    for (int64_t layer = 0; layer < layers; ++layer)
      block("layers." + std::to_string(layer));
    return op("norm.weight", 'N', 100).op("head.weight", 'h', 50000);
  }
};

/// No latency, and memory for every unit: nothing is merged or split.
Cluster plainMachine() {
  Cluster cluster;
  cluster.insideNode = {1e9, 0};
  cluster.memory = 1e12;
  cluster.flops16 = cluster.flops32 = cluster.flops64 = 1e12;
  return cluster;
}

std::string unitsOf(const UnitModel &model, const std::string &option,
                    int64_t ranks = 2, Cluster cluster = plainMachine(),
                    std::vector<AssignedUnit> *units = nullptr) {
  auto parsed = UnitsOption::parse(option);
  if (!parsed)
    return llvm::toString(parsed.takeError());
  UnitCosts costs{CostModel(cluster), {1, ranks}, 4, false};
  auto assigned = assignUnits(model, *parsed, costs);
  if (!assigned)
    return llvm::toString(assigned.takeError());
  std::string text;
  std::vector<int> seen(model.parameters.size());
  for (const AssignedUnit &unit : *assigned) {
    text += (text.empty() ? "" : " ") + unit.name + ":" +
            std::to_string(unit.members.size());
    EXPECT_FALSE(unit.reason.empty());
    for (size_t member : unit.members)
      ++seen[member];
  }
  EXPECT_EQ(seen, std::vector<int>(model.parameters.size(), 1));
  if (units)
    *units = std::move(*assigned);
  return text;
}

/// The same model without a word about modules.
UnitModel stripped(UnitModel model) {
  for (size_t index = 0; index < model.parameters.size(); ++index)
    model.parameters[index].path = "n" + std::to_string(index * 7 % 100);
  model.classes.clear();
  return model;
}

TEST(Units, areBlocksAndTheRoot) {
  UnitModel model = Chain().transformer(3).model;
  EXPECT_EQ(unitsOf(model, "block"), "root:3 layers.0:5 layers.1:5 layers.2:5");
  EXPECT_EQ(unitsOf(stripped(model), "block"),
            "root:3 block.0:5 block.1:5 block.2:5");
  EXPECT_EQ(unitsOf(Chain().op("a", 'a', 3).op("b", 'b', 4).model, "block"),
            "root:2");
}

TEST(Units, areOne) {
  EXPECT_EQ(unitsOf(Chain().transformer(2).model, "one"), "model:13");
  EXPECT_EQ(unitsOf(UnitModel(), "one"), "");
  EXPECT_EQ(unitsOf(UnitModel(), "auto"), "");
}

TEST(Units, areClosedBeforeTheyPassASize) {
  Chain chain;
  chain.op("a", 'a', 25)
      .op("b", 'b', 25)
      .op("c", 'c', 1)
      .op("d", 'd', 60)
      .op("e", 'e', 0);
  EXPECT_EQ(unitsOf(chain.model, "size:200"), "part.0:2 part.1:1 part.2:2");
  EXPECT_EQ(unitsOf(chain.model, "size:204B"), "part.0:3 part.1:2");
  EXPECT_EQ(unitsOf(chain.model, "size:0.2kB"), "part.0:2 part.1:1 part.2:2");
  EXPECT_EQ(unitsOf(chain.model, "size:1KiB"), "part.0:5");
}

TEST(Units, areTheInnermostModulesOfAClass) {
  UnitModel model = Chain().transformer(2).model;
  model.classes = {
      {"embed", "torch.nn.Embedding"},    {"layers.0", "pkg.Block"},
      {"layers.1", "pkg.Block"},          {"layers.0.attn", "pkg.Attention"},
      {"layers.1.attn", "pkg.Attention"}, {"unused", "pkg.Unused"}};
  EXPECT_EQ(unitsOf(model, "class:Block"), "root:3 layers.0:5 layers.1:5");
  EXPECT_EQ(unitsOf(model, "class:pkg.Block,Attention"),
            "root:3 layers.0:3 layers.0.attn:2 layers.1:3 layers.1.attn:2");
  EXPECT_EQ(unitsOf(model, "class:Block,Unused"),
            "--units class:Unused: no module with parameters is of this class; "
            "there are Attention (2), Block (2), Embedding (1)");
  EXPECT_EQ(unitsOf(stripped(model), "class:Block"),
            "--units class: the model's file does not tell its modules' "
            "classes (PyTorch's dynamo exporter writes them); use block or "
            "scope:REGEX");
}

TEST(Units, areTheTextsThatAnExpressionMatches) {
  UnitModel model = Chain().transformer(11).model;
  EXPECT_EQ(unitsOf(model, R"(scope:layers\.\d+)").substr(0, 35),
            "root:3 layers.0:5 layers.1:5 layers");
  EXPECT_EQ(unitsOf(model, R"(scope:layers\.[\d]+\.(attn|mlp))").substr(0, 37),
            "root:14 layers.0.attn:2 layers.0.mlp:");
  EXPECT_EQ(unitsOf(model, R"(scope:^\w+\.weight)"),
            "embed.weight:1 root:55 norm.weight:1 head.weight:1");
  EXPECT_EQ(unitsOf(model, "scope:blocks"),
            "--units scope:blocks: matches no parameter; there are embed, "
            "layers.{0..10}.norm, layers.{0..10}.attn.qkv, "
            "layers.{0..10}.attn.out, layers.{0..10}.mlp.up, "
            "layers.{0..10}.mlp.down, norm, head");
  // An empty match is none.
  EXPECT_EQ(unitsOf(model, "scope:x*").substr(0, 32),
            "--units scope:x*: matches no par");
}

TEST(Units, areAsTheOptionSays) {
  for (const char *bad : {"", "blocks", "auto:1", "class:", "class:A,,B",
                          "scope:", "scope:(", "size:", "size:MB",
                          "size:10 parsecs", "size:0", "size:-1", "size:1.2.3"})
    EXPECT_NE(unitsOf(UnitModel(), bad).find("accepted are auto"),
              std::string::npos)
        << bad;
}

TEST(AutoUnits, keepEmbeddingAndHeadApart) {
  UnitModel model = Chain().transformer(3).model;
  EXPECT_EQ(unitsOf(model, "auto"),
            "embedding:1 layers.0:5 layers.1:5 layers.2:5 head:2");
  EXPECT_EQ(unitsOf(stripped(model), "auto"),
            "embedding:1 block.0:5 block.1:5 block.2:5 head:2");
}

TEST(AutoUnits, giveATiedTableItsOwn) {
  Chain chain;
  chain.op("embed.weight", 'e', 50000).op("position", 'p', 10);
  chain.block("layers.0").block("layers.1");
  chain.op("norm.weight", 'N', 100).op("embed.weight", 'h', 50000);
  EXPECT_EQ(unitsOf(chain.model, "auto"),
            "tied:1 embedding:1 layers.0:5 layers.1:5 head:1");
  EXPECT_EQ(unitsOf(stripped(chain.model), "auto"),
            "tied:1 embedding:1 block.0:5 block.1:5 head:1");
}

TEST(AutoUnits, giveWhatBlocksShareItsOwn) {
  Chain chain;
  chain.op("embed.weight", 'e', 50000);
  for (std::string layer : {"0", "1", "2"})
    chain.op("norm", 'n', 10)
        .op("layers." + layer + ".up", 'u', 100)
        .op("layers." + layer + ".down", 'd', 100);
  EXPECT_EQ(unitsOf(chain.model, "auto"),
            "embedding:1 shared:1 layers.0:2 layers.1:2 layers.2:2");
  EXPECT_EQ(unitsOf(stripped(chain.model), "auto"),
            "embedding:1 shared:1 block.0:2 block.1:2 block.2:2");
}

TEST(AutoUnits, keepTwoRepetitionsApart) {
  Chain chain;
  chain.op("embed", 'e', 500);
  chain.block("encoder.0").block("encoder.1").op("middle", 'm', 5);
  for (std::string layer : {"0", "1"})
    chain.op("decoder." + layer + ".a", 'x', 9000)
        .op("decoder." + layer + ".b", 'y', 9000);
  chain.op("head", 'h', 500);
  EXPECT_EQ(unitsOf(chain.model, "auto"),
            "embedding:1 encoder.0:5 encoder.1:5 between:1 decoder.0:2 "
            "decoder.1:2 head:1");
  EXPECT_EQ(unitsOf(stripped(chain.model), "auto"),
            "embedding:1 block.0:5 block.1:5 between:1 block.2:2 block.3:2 "
            "head:1");
}

TEST(AutoUnits, takeWhatIsUsedInsideABlockIntoIt) {
  Chain chain;
  chain.op("embed", 'e', 500);
  for (std::string layer : {"0", "1", "2"})
    chain.block("layers." + layer).op("gate_" + layer, 'g', 1);
  EXPECT_EQ(unitsOf(chain.model, "auto"),
            "embedding:1 layers.0:6 layers.1:6 layers.2:5 head:1");
}

TEST(AutoUnits, areTheWholeModelWhereNothingRepeats) {
  EXPECT_EQ(unitsOf(Chain().op("a", 'a', 3).op("b", 'b', 4).model, "auto"),
            "model:2");
  EXPECT_EQ(unitsOf(Chain().op("a", 'a', 1).model, "auto", 8), "model:1");
}

TEST(AutoUnits, mergeWhatIsMoreLatencyThanTransfer) {
  // Two ranks: a block of 480 kB is 24 us, the tables are 10 us.
  Cluster cluster = plainMachine();
  cluster.insideNode = {10e9, 60e-6};
  UnitModel model = Chain().transformer(7).model;
  std::vector<AssignedUnit> units;
  // Three blocks together take longer than 60 us; seven make two groups.
  EXPECT_EQ(unitsOf(model, "auto", 2, cluster, &units),
            "embedding_layers.0..2:16 layers.3..6_head:22");
  EXPECT_EQ(units[0].reason,
            "merged layers.0 .. layers.2: one gather would be 24.0 us transfer "
            "under 60.0 us latency; with embedding, whose gather would be 10.0 "
            "us transfer under 60.0 us latency; gather 1.64 MB over 2 ranks: "
            "82.1 us transfer, 60.0 us latency; forward computes 96 ns");
  EXPECT_EQ(unitsOf(stripped(model), "auto", 2, cluster),
            "embedding_block.0..2:16 block.3..6_head:22");
  // Nobody communicates.
  EXPECT_EQ(unitsOf(model, "auto", 1, cluster),
            "embedding:1 layers.0:5 layers.1:5 layers.2:5 layers.3:5 "
            "layers.4:5 layers.5:5 layers.6:5 head:2");
  // Far too small altogether.
  cluster.insideNode.latency = 1;
  EXPECT_EQ(unitsOf(model, "auto", 2, cluster), "model:38");
  // The blocks are worth a collective, a norm of 100 is not.
  cluster.insideNode.latency = 1e-6;
  Chain chain;
  chain.op("norm.weight", 'N', 100).block("layers.0").block("layers.1");
  EXPECT_EQ(unitsOf(chain.model, "auto", 2, cluster),
            "embedding_layers.0:6 layers.1:5");
}

TEST(AutoUnits, mergeATiedTableOnlyWithAllThatLivesAsLong) {
  Cluster cluster = plainMachine();
  cluster.insideNode = {10e9, 60e-6};
  Chain chain;
  chain.op("embed.weight", 'e', 500);
  for (std::string layer : {"0", "1", "2", "3", "4", "5", "6"})
    chain.block("layers." + layer);
  chain.op("norm.weight", 'N', 100).op("embed.weight", 'h', 500);
  EXPECT_EQ(unitsOf(chain.model, "auto", 2, cluster),
            "tied:1 layers.0..2:15 layers.3..6_head:21");
}

TEST(AutoUnits, splitWhatFillsTheMemory) {
  // A twentieth of the memory is 300 kB; a block has 480 kB.
  Cluster cluster = plainMachine();
  cluster.memory = 6e6;
  UnitModel model = Chain().transformer(2).model;
  std::vector<AssignedUnit> units;
  EXPECT_EQ(unitsOf(model, "auto", 2, cluster, &units),
            "embedding:1 layers.0.part.0:3 layers.0.part.1:1 layers.0.part.2:1 "
            "layers.1.part.0:3 layers.1.part.1:1 layers.1.part.2:1 head:2");
  EXPECT_NE(units[1].reason.find("split: 480 kB gathered would be 8.0 % of "
                                 "6.00 MB, part 1 of 3"),
            std::string::npos)
      << units[1].reason;
  EXPECT_EQ(unitsOf(stripped(model), "auto", 2, cluster),
            "embedding:1 block.0.part.0:3 block.0.part.1:1 block.0.part.2:1 "
            "block.1.part.0:3 block.1.part.1:1 block.1.part.2:1 head:2");
  // One parameter stays whole, whatever its size.
  cluster.memory = 1e6;
  EXPECT_NE(unitsOf(model, "auto", 2, cluster).find("embedding:1 "),
            std::string::npos);
  unitsOf(model, "auto", 2, cluster, &units);
  EXPECT_NE(units[0].reason.find("not split although 200 kB gathered would be "
                                 "20.0 % of 1.00 MB"),
            std::string::npos)
      << units[0].reason;
}

TEST(AutoUnits, splitTheFirstBlockWhereItHidesTheRest) {
  UnitModel model = Chain().transformer(2).model;
  Cluster cluster = plainMachine();
  cluster.insideNode.latency = 1e-6; // more than a norm's transfer
  // 360 kB of the rest take 180 us, the first two ops here more than half.
  cluster.flops32 = 12e3 / 89e-6;
  EXPECT_EQ(unitsOf(model, "auto", 2, cluster),
            "embedding:1 layers.0:5 layers.1:5 head:2");
  cluster.flops32 = 12e3 / 91e-6;
  std::vector<AssignedUnit> units;
  EXPECT_EQ(unitsOf(model, "auto", 2, cluster, &units),
            "embedding:1 layers.0.part.0:2 layers.0.part.1:3 layers.1:5 "
            "head:2");
  EXPECT_NE(
      units[1].reason.find("what the first block uses first (attn, norm)"),
      std::string::npos)
      << units[1].reason;
  EXPECT_NE(units[2].reason.find("comes while layers.0.part.0 computes"),
            std::string::npos)
      << units[2].reason;
  EXPECT_EQ(unitsOf(stripped(model), "auto", 2, cluster),
            "embedding:1 block.0.part.0:2 block.0.part.1:3 block.1:5 head:2");
  EXPECT_EQ(unitsOf(model, "auto", 1, cluster),
            "embedding:1 layers.0:5 layers.1:5 head:2");
  // Where latency is much of it, two collectives are waited for as long.
  cluster.insideNode.latency = 61e-6;
  EXPECT_EQ(unitsOf(model, "auto", 2, cluster),
            "embedding:1 layers.0:5 layers.1:5 head:2");
}

TEST(AutoUnits, leaveATableAloneWhoseRowsAreLess) {
  Chain chain;
  chain.op("embed.weight", 'e', 50000).op("positions.weight", 'p', 800);
  chain.op("norm.weight", 'n', 100).block("layers.0").block("layers.1");
  UnitModel &model = chain.model;
  EXPECT_EQ(unitsOf(model, "auto", 4), "embedding:3 layers.0:5 layers.1:5");
  model.parameters[0].shape = {500, 100};
  model.uses[0].lookups = 8;
  std::vector<AssignedUnit> units;
  EXPECT_EQ(unitsOf(model, "auto", 4, plainMachine(), &units),
            "embedding:1 layers.0:7 layers.1:5");
  EXPECT_NE(units[0].reason.find("since its rows are to travel"),
            std::string::npos)
      << units[0].reason;
  EXPECT_NE(units[1].reason.find("with what else is used before it"),
            std::string::npos)
      << units[1].reason;
  // Two ranks exchange as much as they gather; three do not divide a row.
  for (int64_t ranks : {1, 2, 3})
    EXPECT_EQ(unitsOf(model, "auto", ranks),
              "embedding:3 layers.0:5 layers.1:5");
  model.uses[0].lookups = 400;
  EXPECT_EQ(unitsOf(model, "auto", 4), "embedding:3 layers.0:5 layers.1:5");
}

TEST(AutoUnits, leaveANormBesideALargeTable) {
  // A twentieth of the memory is 150 kB; the table has 200 kB, the norm 400 B.
  Cluster cluster = plainMachine();
  cluster.memory = 3e6;
  UnitModel model = Chain().op("norm", 'n', 100).op("head", 'h', 50000).model;
  EXPECT_EQ(unitsOf(model, "auto", 2, cluster),
            "model.part.0:1 model.part.1:1");
  cluster.insideNode.latency = 1e-6;
  EXPECT_EQ(unitsOf(model, "auto", 2, cluster), "model:2");
}

TEST(AutoUnits, splitAlongModules) {
  // 330 kB: norm and attention (160 kB), and the two halves of the mlp (320
  // kB).
  Cluster cluster = plainMachine();
  cluster.memory = 6.6e6;
  std::vector<AssignedUnit> units;
  EXPECT_EQ(unitsOf(Chain().transformer(2).model, "auto", 2, cluster, &units),
            "embedding:1 layers.0.part.0:3 layers.0.part.1:2 "
            "layers.1.part.0:3 layers.1.part.1:2 head:2");
  EXPECT_NE(units[1].reason.find("part 1 of 2 (norm, attn)"), std::string::npos)
      << units[1].reason;
  EXPECT_NE(units[2].reason.find("part 2 of 2 (mlp)"), std::string::npos)
      << units[2].reason;
}

} // namespace
