// The equal parts that a model repeats: by module paths, or by structure.
#include "passes/units/Blocks.h"

#include "passes/units/NamedBlocks.h"
#include "passes/units/RepeatedRuns.h"
#include "passes/units/UnitCosts.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace llvm;
using namespace shardc;

/// Returns the blocks that runs of equal uses tell.
static std::vector<RepeatedBlock>
blocksByStructure(const UnitModel &model, size_t UnitModel::Use::*kind) {
  SmallVector<size_t> kinds;
  SmallVector<int64_t> weights;
  for (auto [number, use] : enumerate(model.uses)) {
    kinds.push_back(use.*kind);
    weights.push_back(model.firstUse(use.parameter) == number
                          ? model.elements(use.parameter)
                          : 0);
  }
  std::vector<RepeatedBlock> blocks;
  SmallVector<RepeatedRun> runs =
      findRepeatedRuns(kinds, weights, [&](size_t start, size_t border) {
        return model.crossing(start, border);
      });
  for (auto [repetition, run] : enumerate(runs))
    for (size_t repeat = 0; repeat < run.count; ++repeat) {
      RepeatedBlock block;
      block.name = "block." + std::to_string(blocks.size());
      block.which = formatv("block {0} of {1}, which are equal in structure",
                            repeat + 1, run.count)
                        .str();
      block.repetition = repetition;
      size_t start = run.start + repeat * run.period;
      for (size_t use = start; use < start + run.period; ++use)
        if (size_t parameter = model.uses[use].parameter;
            model.firstUse(parameter) == use)
          block.members.push_back(parameter);
      if (!block.members.empty())
        blocks.push_back(std::move(block));
    }
  return blocks;
}

std::vector<RepeatedBlock> shardc::findBlocks(const UnitModel &model) {
  auto covered = [&](ArrayRef<RepeatedBlock> blocks) {
    double elements = 0;
    for (const RepeatedBlock &block : blocks)
      elements += bytesOf(model, block.members, 1);
    return elements;
  };
  std::vector<RepeatedBlock> named;
  std::map<std::string, size_t> lists;
  for (const NamedBlock &block : findNamedBlocks(model.parameters))
    named.push_back(
        {block.name,
         formatv("block {0} of {1} ({2})", block.number + 1, block.of,
                 block.name)
             .str(),
         lists.try_emplace(block.list, lists.size()).first->second,
         std::vector<size_t>(block.members.begin(), block.members.end())});
  llvm::stable_sort(named, [](const RepeatedBlock &a, const RepeatedBlock &b) {
    return a.members.front() < b.members.front();
  });
  std::vector<RepeatedBlock> found =
      blocksByStructure(model, &UnitModel::Use::kind);
  if (found.empty() && named.empty())
    found = blocksByStructure(model, &UnitModel::Use::looseKind);
  return covered(found) / 2 > covered(named) ? found : named;
}
