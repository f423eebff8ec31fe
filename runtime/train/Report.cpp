// The plan in words.
#include "runtime/train/Report.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/PoolNames.h"
#include "runtime/base/Text.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/engine/ParameterStates.h"
#include "runtime/train/Collectives.h"
#include "runtime/train/Draws.h"
#include "runtime/train/MemoryPlan.h"
#include "runtime/train/ReadAhead.h"
#include "runtime/weights/ParameterSource.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace shardc::runtime {

static std::string bytes(int64_t count) {
  return bytesText(static_cast<double>(count));
}
static std::string counted(int64_t number, const std::string &noun) {
  return concat(number, " ", noun, number == 1 ? "" : "s");
}

/// "2x4 (replicate x shard, 8 ranks)"
std::string meshText(const plan::Mesh &mesh) {
  std::string dims, names;
  for (int64_t dim : mesh.dims())
    dims += (dims.empty() ? "" : "x") + std::to_string(dim);
  for (const std::string &name : mesh.names())
    names += (names.empty() ? "" : " x ") + name;
  return concat(dims, " (", names, names.empty() ? "" : ", ",
                counted(mesh.ranks(), "rank"), ")");
}

/// "in 4 slices over shard", for mesh dims that something is cut over.
static std::string
slicesText(const plan::Mesh &mesh,
           const google::protobuf::RepeatedField<int64_t> &dims) {
  int64_t slices = 1;
  std::string names;
  for (int64_t dim : dims) {
    slices *= mesh.dims(static_cast<int>(dim));
    std::string name = dim < mesh.names_size()
                           ? mesh.names(static_cast<int>(dim))
                           : concat("dim ", dim);
    names += (names.empty() ? "" : " and ") + name;
  }
  if (slices == 1)
    return "whole on every rank";
  return concat("in ", slices, " slices over ",
                dims.size() == mesh.dims_size() ? "all ranks" : names);
}

std::string strategyText(const plan::Mesh &mesh) {
  std::string parameters = slicesText(mesh, mesh.shard_dims());
  std::string optimizer = slicesText(mesh, mesh.optimizer_dims());
  // grad_op, hybrid_grad_op: what is gathered in forward stays for backward.
  std::string kept = mesh.strategy().ends_with("grad_op")
                         ? ", gathered once for forward and backward"
                         : "";
  const char *zero = mesh.strategy() == "full"      ? " (ZeRO-3)"
                     : mesh.strategy() == "grad_op" ? " (ZeRO-2)"
                     : mesh.strategy() == "opt"     ? " (ZeRO-1)"
                     : mesh.strategy() == "none"    ? " (data parallel)"
                                                    : "";
  return mesh.strategy() + zero + ": " +
         (parameters == optimizer
              ? "parameters, gradients and optimizer state " + parameters + kept
              : "parameters " + parameters + kept +
                    ", gradients and optimizer state " + optimizer);
}

std::string precisionText(const plan::Precision &precision) {
  std::string text(dtypeName(precision.parameters()));
  if (precision.gradients() == precision.parameters() &&
      precision.master() == precision.parameters())
    return text;
  return concat(text, " (gradients ", dtypeName(precision.gradients()),
                ", master weights and optimizer state ",
                dtypeName(precision.master()),
                precision.split_master() ? ", split)" : ")");
}

/// "2 threads per rank", "a GPU (cuda:sm_90) and 2 threads per rank"
static std::string placeText(const DeviceTraits &device, int workers) {
  return concat(device.ofEachRank, device.ofEachRank.empty() ? "" : " and ",
                counted(workers, "thread"), " per rank");
}

static std::string lossScaleText(const LossScaling &scaling) {
  switch (scaling.kind) {
  case LossScaling::Kind::None:
    return "";
  case LossScaling::Kind::Fixed:
    return concat("loss scale ", numberText(scaling.initial), "\n");
  case LossScaling::Kind::Dynamic:
    return concat("loss scale dynamic from ", numberText(scaling.initial),
                  ", at least ", numberText(scaling.minimum),
                  "; doubled after ", counted(scaling.window, "finite step"),
                  ", halved after ", counted(scaling.hysteresis, "step"),
                  " with gradients that are not\n");
  }
  return "";
}

std::string bannerText(const plan::Plan &plan, const RunSettings &settings) {
  int64_t parameters = 0, frozen = 0, running = 0;
  for (const plan::Parameter &parameter : plan.parameters())
    if (isRunning(parameter))
      ++running;
    else if (parameter.trainable())
      parameters += elementCount(parameter);
    else if (parameter.frozen())
      frozen += elementCount(parameter);
  MemoryPlan memory =
      MemoryPlan::of(plan, settings.microBatches, settings.ranksSharing);
  std::string text = concat(
      std::filesystem::path(plan.model()).filename().string(), ": ",
      countText(static_cast<double>(parameters)), " trained parameters, ",
      frozen ? countText(static_cast<double>(frozen)) + " frozen, " : "",
      precisionText(plan.precision()), "\nmesh ", meshText(plan.mesh()), ", ",
      placeText(settings.banner.device, settings.workers), "\n",
      settings.banner.processes.empty() ? "" : settings.banner.processes + "\n",
      "strategy ", strategyText(plan.mesh()), "\n",
      settings.banner.reduce == Reduce::Nccl
          ? "sums over ranks are NCCL's: runs alike give equal bits, other "
            "strategies, meshes and processors do not\n"
          : "",
      settings.banner.tune.empty()
          ? ""
          : concat("products by the algorithms of ", settings.banner.tune,
                   ", which is given those it lacks\n"),
      counted(settings.steps, "step"), " of ",
      counted(settings.globalBatch, "sample"), " (", settings.batch, " on ",
      plan.mesh().ranks() == 1 ? "" : "each of ",
      counted(plan.mesh().ranks(), "rank"),
      settings.microBatches == 1
          ? ""
          : concat(", in ", settings.microBatches,
                   " micro-batches; accumulated ", plan.accumulate()),
      "), ", plan.optimizer().kind(), "; memory per rank ", bytes(memory.own),
      memory.common ? concat(", ", bytes(memory.common),
                             " per process for what its ranks gather")
                    : "",
      memory.host
          ? concat(", ", bytes(memory.host),
                   settings.banner.device.offloadsToFile ? " in a file"
                                                         : " of the host's")
          : "",
      ", and ", bytes(ReadAhead::bytesPerRank(plan, settings.microBatches)),
      " of batches that are read ahead",
      settings.banner.bytesPerThread
          ? concat("; ", bytes(settings.banner.bytesPerThread),
                   " per thread for matrix products")
          : "",
      settings.checkpointCopyBytes
          ? concat(", and ", bytes(settings.checkpointCopyBytes),
                   " for copies of what checkpoints take")
          : "",
      settings.banner.goesOnFrom.empty()
          ? "\ninitial values " + settings.initialValues
          : concat("\ngoes on behind step ", settings.start.step, ", from ",
                   settings.banner.goesOnFrom,
                   settings.banner.beginsData
                       ? ", with new data, at its first sample"
                       : ""),
      "\nloss: ", lossText(plan.loss(), settings.lossNorm), "\n",
      lossScaleText(settings.lossScaling),
      settings.dropoutRates.empty()
          ? ""
          : concat(drawsText(plan, settings.dropoutRates),
                   ", drawn from --seed ", settings.seed, "\n"),
      running ? concat("running statistics: ", running,
                       ", they follow the batches, averaged over ranks\n")
              : "",
      settings.groups.text());
  text.pop_back(); // whoever prints it ends the line
  return text;
}

/// "  NAME         VALUE", a line of a table.
static std::string row(const std::string &name, const std::string &value) {
  return "  " + name +
         std::string(name.size() < 32 ? 32 - name.size() : 1, ' ') + value +
         "\n";
}

static int64_t unitBytes(const plan::Unit &unit) {
  return unit.elements() * elementSize(unit.dtype());
}

static std::string collectivesText(const plan::Plan &plan,
                                   int64_t microBatches) {
  std::string text = concat(
      "collectives of a step",
      microBatches == 1 ? "" : concat(" of ", microBatches, " micro-batches"),
      ":\n");
  for (const Collective &each : collectivesOfStep(plan, microBatches)) {
    std::string kind = each.kind;
    std::replace(kind.begin(), kind.end(), '_', '-');
    text += row(each.phase + " " + kind,
                concat(each.number, ", ", bytes(each.bytes)));
  }
  return text;
}

std::string reportText(const plan::Plan &plan, const DeviceTraits &device,
                       int64_t microBatches, int64_t ranksPerProcess) {
  std::string text =
      concat("model ", plan.model(), ", built by ", plan.compiler(), " for ",
             plan.target().name(), "\nmesh ", meshText(plan.mesh()),
             "\nstrategy ", strategyText(plan.mesh()), "\nprecision ",
             precisionText(plan.precision()), "\nmemory of a rank:\n");
  MemoryPlan memory =
      MemoryPlan::of(plan, microBatches, device.sharing(ranksPerProcess));
  for (int i = 0; i < plan.pools_size(); ++i) {
    const MemoryPlan::Pool &pool = memory.pools[i];
    std::string more;
    if (pool.common)
      more =
          concat(" planned, ", pool.own ? bytes(pool.own) + " and " : "",
                 bytes(pool.common), " allocated once for the ",
                 pool.ranksInCommon, " ranks of a process that gather alike");
    else if (pool.own < pool.planned)
      more = concat(" planned, ", bytes(pool.own),
                    " allocated: the ranks are threads and read each other's "
                    "slices");
    else if (isHostPool(pool.name))
      more = device.offloadsToFile
                 ? " in a file of --offload-dir, beside all pools"
                 : " of the host's memory, beside all pools";
    text += row(pool.name, bytes(pool.planned) + more);
    if (plan.pools(i).kinds_size() > 1 || isHostPool(pool.name))
      for (const plan::Pool::Kind &kind : plan.pools(i).kinds())
        text += row("  " + kind.name() + ", at most", bytes(kind.bytes()));
  }
  text += row("all pools",
              concat(bytes(memory.planned),
                     memory.own < memory.planned
                         ? concat(" planned, ", bytes(memory.own), " allocated")
                         : "",
                     memory.common
                         ? concat(", and ", bytes(memory.common), " in common")
                         : ""));
  if (plan.live_bound_bytes())
    text += row("lower bound", bytes(plan.live_bound_bytes()));
  text += row("batches that are read ahead",
              bytes(ReadAhead::bytesPerRank(plan, microBatches)));
  text += "units:\n";
  for (const plan::Unit &unit : plan.units())
    text += row(unit.name(),
                concat(counted(unit.parameters_size(), "parameter"), ", ",
                       unit.elements(), " elements (", unit.padding(),
                       " padding), ", bytes(unitBytes(unit)), " in ",
                       counted(unit.shards(), "slice")));
  text += collectivesText(plan, microBatches);
  return text + concat("kernels: ", plan.kernels_size(),
                       "; FLOPs of a rank's step: ",
                       countText(plan.flops_per_step() *
                                 static_cast<double>(microBatches)),
                       "\n");
}

} // namespace shardc::runtime
