// The plan in words.
#include "runtime/Report.h"

#include "runtime/DType.h"
#include "runtime/Error.h"
#include "runtime/checkpoint/ParameterSource.h"
#include "runtime/metrics/Console.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace shardc::runtime {

int64_t bytesPerRank(const plan::Plan &plan) {
  int64_t bytes = 0;
  for (const plan::Pool &pool : plan.pools())
    bytes += pool.bytes();
  return bytes;
}

static std::string bytes(int64_t count) {
  return bytesText(static_cast<double>(count));
}

static std::string meshText(const plan::Mesh &mesh) {
  std::string dims;
  for (int64_t dim : mesh.dims())
    dims += (dims.empty() ? "" : "x") + std::to_string(dim);
  return concat(
      dims, " (", mesh.ranks(), mesh.ranks() == 1 ? " rank" : " ranks",
      ", strategy ", mesh.strategy(),
      mesh.shards() > 1 ? concat(", parameters in ", mesh.shards(), " slices)")
                        : ", parameters whole)");
}

std::string bannerText(const plan::Plan &plan, const RunSettings &settings) {
  int64_t parameters = 0;
  for (const plan::Parameter &parameter : plan.parameters())
    parameters += parameter.trainable() ? elementCount(parameter) : 0;
  return concat(std::filesystem::path(plan.model()).filename().string(), ": ",
                countText(static_cast<double>(parameters)),
                " trained parameters, ", plan.precision(), "\n", "mesh ",
                meshText(plan.mesh()), ", ", settings.workers,
                settings.workers == 1 ? " thread" : " threads", " per rank\n",
                settings.steps, " steps of ", settings.globalBatch,
                " samples, ", plan.optimizer().kind(), "; memory per rank ",
                bytes(bytesPerRank(plan)));
}

/// "  NAME         VALUE", a line of a table.
static std::string row(const std::string &name, const std::string &value) {
  return "  " + name +
         std::string(name.size() < 28 ? 28 - name.size() : 1, ' ') + value +
         "\n";
}

static int64_t unitBytes(const plan::Unit &unit) {
  return unit.elements() * elementSize(unit.dtype());
}

/// Bytes that an all-reduce sums.
static int64_t reducedBytes(const plan::AllReduceStart &start) {
  int64_t total = 0;
  for (const plan::Tensor &tensor : start.values()) {
    int64_t elements = 1;
    for (int64_t dim : tensor.shape())
      elements *= dim;
    total += elements * elementSize(tensor.dtype());
  }
  return total;
}

static std::string collectivesText(const plan::Plan &plan) {
  // By phase and kind, in the order of the step: how many, and bytes of the
  // gathered buffers.
  struct Total {
    std::string name;
    int64_t number = 0, bytes = 0;
  };
  std::vector<Total> totals;
  for (const plan::Entry &entry : plan.train().entries()) {
    auto count = [&](const char *kind, int64_t size) {
      std::string name = entry.phase() + " " + kind;
      auto total =
          std::find_if(totals.begin(), totals.end(),
                       [&](const Total &each) { return each.name == name; });
      if (total == totals.end())
        total = totals.insert(total, {name});
      ++total->number;
      total->bytes += size;
    };
    if (entry.has_all_gather_start())
      count("all-gather",
            unitBytes(plan.units(entry.all_gather_start().unit())));
    else if (entry.has_reduce_scatter_start())
      count("reduce-scatter",
            unitBytes(plan.units(entry.reduce_scatter_start().unit())));
    else if (entry.has_all_reduce_start())
      count("all-reduce", reducedBytes(entry.all_reduce_start()));
  }
  std::string text = "collectives of a step:\n";
  for (const Total &total : totals)
    text += row(total.name, concat(total.number, ", ", bytes(total.bytes)));
  return text;
}

std::string reportText(const plan::Plan &plan) {
  std::string text = concat("model ", plan.model(), ", built by ",
                            plan.compiler(), " for ", plan.cpu(), "\n", "mesh ",
                            meshText(plan.mesh()), "\n", "memory of a rank:\n");
  for (const plan::Pool &pool : plan.pools())
    text += row(pool.name(), bytes(pool.bytes()));
  text += row("all pools", bytes(bytesPerRank(plan)));
  if (plan.live_bound_bytes())
    text += row("lower bound", bytes(plan.live_bound_bytes()));
  text += "units:\n";
  for (const plan::Unit &unit : plan.units())
    text += row(unit.name(),
                concat(unit.parameters_size(), " parameters, ", unit.elements(),
                       " elements (", unit.padding(), " padding), ",
                       bytes(unitBytes(unit)), " in ", unit.shards(),
                       unit.shards() == 1 ? " slice" : " slices"));
  text += collectivesText(plan);
  return text +
         concat("kernels: ", plan.kernels_size(),
                "; FLOPs of a rank's step: ", countText(plan.flops_per_step()),
                "\n");
}

} // namespace shardc::runtime
