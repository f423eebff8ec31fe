// What cuDNN's plans take for the attention of trainers, and for shapes:
//
//     cudnn-plans DESCRIPTION.json [TRAINER | key=value,...]...
//
// Nothing runs: plans are made for the device that is described, of compute
// capability 9.0. Writes a line of JSON for each distinct entry. Keys of a shape:
// batch, queries, keys, heads, groups, dim, value_dim, causal, left, bias (batch,
// heads and queries: 1 or all, as 011) and mask.
#include "codegen/gpu/GpuWorkspaces.h"
#include "runtime/TrainerFile.h"
#include "runtime/base/Error.h"
#include "runtime/cuda/attention/CudnnChoice.h"
#include "test/emulated-cuda/cudnn/RecordedEntries.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::cuda;
using nlohmann::json;

namespace {

/// More than anyone has.
constexpr int64_t unlimited = int64_t(1) << 50;

int64_t bytesOf(const Tensor &workspace) {
  return workspace ? workspace.elements() : 0;
}

json describe(const entry::AttentionOperands &of) {
  json line;
  line["batch"] = of.query.shape[0];
  line["queries"] = of.query.shape[1];
  line["keys"] = of.key.shape[1];
  line["heads"] = of.query.shape[2];
  line["groups"] = of.key.shape[2];
  line["dim"] = of.query.shape[3];
  line["value_dim"] = of.value.shape[3];
  line["causal"] = of.right == 0;
  if (of.left >= 0)
    line["left"] = of.left;
  line["mask"] = bool(of.keyMask);
  line["bias"] = of.bias ? json(of.bias.shape) : json();
  return line;
}

/// What a way takes of a workspace without an end.
template <typename Entry, typename... Way>
json bytesTaken(CudnnChoice &choice, Entry entry, Way... way) {
  int64_t has = bytesOf(entry.workspace);
  entry.workspace.shape = {unlimited};
  entry.workspace.strides = {1};
  std::string why;
  std::optional<CudnnChoice::Made> made = choice.choose(entry, way..., why);
  if (!made)
    return json{{"why", why}};
  int64_t bytes =
      unlimited - made->parts[0].workspaceBytes + made->plan->workspaceBytes;
  return json{{"bytes", bytes}, {"fits", bytes <= has}};
}

json look(CudnnChoice &choice, const entry::Attention &entry) {
  json line = describe(entry.operands);
  line["direction"] = "forward";
  line["planned"] = bytesOf(entry.workspace);
  std::string why;
  std::optional<CudnnChoice::Made> made;
  if (suitsCudnn(entry, why)) {
    line["ways"]["forward"] = bytesTaken(choice, entry);
    made = choice.choose(entry, why);
  }
  line["taken"] = made ? "forward" : "own";
  line["why"] = made ? "" : why;
  return line;
}

json look(CudnnChoice &choice, const entry::AttentionGrad &entry) {
  json line = describe(entry.operands);
  line["direction"] = "backward";
  line["planned"] = bytesOf(entry.workspace);
  const std::map<QuerySums, const char *> names = {
      {QuerySums::Atomic, "atomic"},
      {QuerySums::Ordered, "ordered"},
      {QuerySums::Scores, "scores"}};
  std::string why;
  std::optional<CudnnChoice::Made> made;
  if (suitsCudnn(entry, why)) {
    for (auto [sums, name] : names)
      line["ways"][name] = bytesTaken(choice, entry, sums);
    made = choice.choose(entry, false, why);
  }
  line["taken"] = made ? names.at(made->sums) : "own";
  line["why"] = made ? "" : why;
  return line;
}

class Lines {
public:
  explicit Lines(const CudnnTarget &target) : choice(target) {}

  template <typename Entry> void add(const char *of, const Entry &entry) {
    json line = look(choice, entry);
    std::string text = line.dump();
    if (!written.insert(text).second)
      return;
    line["of"] = of;
    std::puts(line.dump().c_str());
    std::fflush(stdout);
  }

private:
  CudnnChoice choice;
  std::set<std::string> written;
};

void addTrainer(Lines &lines, const char *path) {
  TrainerFile file(path);
  for (const plan::Plan &plan : file.plans()) {
    if (!plan.target().has_cuda())
      continue;
    for (const PlacedEntry &placed : test::entriesOf(plan))
      std::visit(
          [&](const auto &entry) {
            using Kind = std::remove_cvref_t<decltype(entry)>;
            if constexpr (std::is_same_v<Kind, entry::Attention> ||
                          std::is_same_v<Kind, entry::AttentionGrad>)
              lines.add(path, entry);
          },
          placed.what);
  }
}

/// Tensors one behind the other, each at a multiple of 4096.
Tensor place(plan::DType dtype, std::vector<int64_t> shape) {
  static int64_t next = int64_t(1) << 40;
  Tensor result;
  result.dtype = dtype;
  result.strides = rowMajorStrides(shape);
  result.shape = std::move(shape);
  result.data = reinterpret_cast<std::byte *>(next);
  next += (result.elements() * 8 + 4095) / 4096 * 4096;
  return result;
}

Tensor scratch(int64_t bytes) {
  return bytes ? place(plan::UINT8, {bytes}) : Tensor();
}

void addShape(Lines &lines, const char *text) {
  std::map<std::string, std::string> given = {{"batch", "1"},
                                              {"causal", "0"},
                                              {"left", "-1"},
                                              {"bias", ""},
                                              {"mask", "0"}};
  std::stringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    given[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  given.try_emplace("keys", given["queries"]);
  given.try_emplace("groups", given["heads"]);
  given.try_emplace("value_dim", given["dim"]);
  auto of = [&](const char *key) { return std::stoll(given.at(key)); };
  int64_t batch = of("batch"), queries = of("queries"), keys = of("keys"),
          heads = of("heads"), groups = of("groups"), dim = of("dim"),
          valueDim = of("value_dim");
  step::AttentionSizes sizes = {2, dim, valueDim, keys,
                                batch * heads * queries};
  sizes.queryLength = queries;
  sizes.heads = heads, sizes.groups = groups;
  entry::Attention forward;
  entry::AttentionOperands &operands = forward.operands;
  operands.query = place(plan::BFLOAT16, {batch, queries, heads, dim});
  operands.key = place(plan::BFLOAT16, {batch, keys, groups, dim});
  operands.value = place(plan::BFLOAT16, {batch, keys, groups, valueDim});
  operands.left = of("left");
  operands.right = of("causal") ? 0 : -1;
  std::vector<int64_t> added = {1, 1, 1, keys};
  if (std::string bias = given["bias"]; !bias.empty()) {
    const int64_t full[] = {batch, heads, queries};
    for (int i = 0; i < 3; ++i)
      added[i] = bias.at(i) == '1' ? full[i] : 1;
    operands.bias = place(plan::FLOAT32, added);
  }
  if (of("mask")) {
    operands.keyMask = place(plan::BOOL, {batch, keys});
    added[0] = batch;
  }
  if (operands.bias || operands.keyMask)
    sizes.addends = added[0] * added[1] * added[2] * added[3];
  gpu::GpuWorkspaces workspaces(90);
  forward.output = place(plan::BFLOAT16, {batch, queries, heads, valueDim});
  forward.logSumExp = place(plan::FLOAT32, {batch, heads, queries});
  forward.workspace = scratch(workspaces.attention(sizes));
  entry::AttentionGrad backward;
  backward.operands = operands;
  backward.output = forward.output;
  backward.logSumExp = forward.logSumExp;
  backward.gradient = forward.output;
  backward.queryGradient = operands.query;
  backward.keyGradient = operands.key;
  backward.valueGradient = operands.value;
  backward.workspace = scratch(workspaces.attentionGrad(sizes));
  lines.add(text, forward);
  lines.add(text, backward);
}

} // namespace

int main(int argc, char **argv) try {
  if (argc < 2)
    fail("cudnn-plans DESCRIPTION.json [TRAINER | key=value,...]...");
  std::ifstream file(argv[1]);
  std::stringstream description;
  description << file.rdbuf();
  Cudnn library = openCudnn();
  CudnnTarget target(library, description.str(), 90);
  json version;
  version["cudnn"] = library.version;
  std::puts(version.dump().c_str());
  Lines lines(target);
  for (int i = 2; i < argc; ++i)
    std::string_view(argv[i]).find('=') == std::string_view::npos
        ? addTrainer(lines, argv[i])
        : addShape(lines, argv[i]);
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "cudnn-plans: error: %s\n", error.what());
  return 1;
}
