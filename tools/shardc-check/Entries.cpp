// What each kind of entry makes of the values that it reads.
#include "tools/shardc-check/Run.h"

#include <algorithm>

namespace shardc::check {

void Run::launch(const plan::Entry &entry) {
  const plan::Launch &launch = entry.launch();
  const plan::Kernel &kernel = plan.kernels(int(launch.kernel()));
  std::vector<Value> inputs;
  for (const plan::Tensor &input : launch.inputs())
    inputs.push_back(memory.read(entry.name(), input));
  std::vector<Value> outputs = outputsOf(kernel, launch, inputs, values);
  for (int i = 0; i < launch.outputs_size(); ++i)
    memory.write(entry.name(), launch.outputs(i), outputs[i]);
}

void Run::gemm(const plan::Entry &entry, const std::vector<Value> &read) {
  const plan::Gemm &gemm = entry.gemm();
  std::vector<Operand> operands;
  size_t next = 0;
  auto add = [&](bool isThere, const plan::Tensor &tensor, bool transposed) {
    if (!isThere)
      return operands.push_back({});
    Value value = read[next++];
    std::vector<int64_t> shape = shapeOf(tensor);
    View view = rowMajor(shape);
    size_t rank = shape.size();
    if (transposed && rank >= 2) {
      std::swap(view.dims[rank - 1], view.dims[rank - 2]);
      std::swap(shape[rank - 1], shape[rank - 2]);
    }
    operands.push_back({values.look(value, view), shape, {}});
  };
  // In the order of the fields.
  add(true, gemm.a(), gemm.transpose_a());
  add(true, gemm.b(), gemm.transpose_b());
  Value before = gemm.accumulate() ? read[next++] : Value{};
  add(gemm.has_bias(), gemm.bias(), false);
  add(gemm.has_residual(), gemm.residual(), false);
  const auto &a = operands[0].shape, &b = operands[1].shape;
  auto c = shapeOf(gemm.c());
  if (a.size() < 2 || a.size() != b.size() || c.size() != a.size() ||
      a.back() != b[b.size() - 2] || c[c.size() - 2] != a[a.size() - 2] ||
      c.back() != b.back())
    findings.add(entry.name(), "multiplies matrices whose shapes do not fit");
  std::string type = concat("type=", int(gemm.c().dtype()), ";");
  int64_t count = product(gemm.c().shape());
  Value result = operation("gemm", type, operands, count);
  if (gemm.accumulate())
    result =
        operation("add", type, {{before, {}, {}}, {result, {}, {}}}, count);
  memory.write(entry.name(), gemm.c(), result);
  if (gemm.has_bias_gradient())
    memory.write(entry.name(), gemm.bias_gradient(),
                 operation("row_sums", type,
                           {operands[gemm.gradient_of_a() ? 0 : 1]},
                           product(gemm.bias_gradient().shape())));
}

void Run::compute(const plan::Entry &entry,
                  const std::vector<Access> &accesses) {
  if (entry.has_launch())
    return launch(entry);
  std::vector<Value> read;
  std::vector<Operand> operands;
  for (const Access &access : accesses)
    if (access.reads()) {
      read.push_back(memory.read(entry.name(), *access.tensor));
      operands.push_back({read.back(), shapeOf(*access.tensor), {}});
      // Optional operands are told apart.
      operands.back().place = View{int64_t(access.field.size()), {}};
    }
  for (const Access &access : accesses)
    if (access.role == Role::scratch)
      memory.claim(entry.name(), access.tensor->buffer());
  if (entry.has_gemm())
    return gemm(entry, read);
  if (entry.has_metric() || entry.has_output()) {
    std::string name = entry.has_metric() ? "metric " + entry.metric().name()
                                          : "output " + entry.output().name();
    if (!results.insert_or_assign(name, read[0]).second && microBatches == 1)
      findings.add(entry.name(), "is not the first ", name);
    isLossKnown |= name == "metric loss";
    return;
  }
  if (entry.has_copy()) {
    if (shapeOf(entry.copy().source()) != shapeOf(entry.copy().destination()))
      findings.add(entry.name(), "copies into another shape");
    return memory.write(entry.name(), entry.copy().destination(), read[0]);
  }
  if (entry.has_fill()) {
    const plan::Tensor &to = entry.fill().destination();
    return memory.write(
        entry.name(), to,
        values.splat(concat(numberText(concat(entry.fill().value())), ":",
                            int(to.dtype())),
                     product(to.shape())));
  }
  int index = 0;
  std::string kind(messageOf(entry)->GetDescriptor()->name());
  for (const Access &access : accesses)
    if (access.writes() && access.role != Role::scratch)
      memory.write(entry.name(), access.tensor->buffer(),
                   {placesOf(*access.tensor), bytesOf(access.tensor->dtype()),
                    operation(concat(kind, ".", access.field,
                                     entry.has_index_call() ? index++ : 0),
                              concat(attributesOf(entry),
                                     "type=", int(access.tensor->dtype()), ";",
                                     rowMajor(shapeOf(*access.tensor)).text()),
                              operands, product(access.tensor->shape())),
                    entry.name(), "", false,
                    // It has both results, whichever is wanted.
                    !entry.has_top_k()});
}

void Run::allGather(const plan::Entry &entry, Flight &flight) {
  const plan::AllGatherStart &start = entry.all_gather_start();
  const plan::Unit &of = unit(start.unit());
  const std::string &where = entry.name();
  demandUnitName(entry, start.unit());
  std::optional<Value> kept;
  if (start.has_kept())
    kept = memory.read(where, start.kept());
  if (kept && !areSlices(start.unit(), *kept)) {
    if (*kept != values.leaf("kept",
                             concat(of.name(), " over group ", start.group()),
                             product(start.kept().shape())))
      findings.add(where, "gathers unit ", of.name(),
                   " from slices of something else");
  } else {
    std::string wrong = ranks.gathersAll(start.group(), of.shards());
    if (!wrong.empty())
      findings.add(where, "gathers unit ", of.name(), ": ", wrong);
    if (units[start.unit()].isPartial)
      findings.add(where, "gathers unit ", of.name(),
                   " before its updates are");
  }
  int64_t bytes = bytesOf(of.dtype());
  if (plan.buffers(int(start.gathered())).bytes() != of.elements() * bytes)
    findings.add(where, "gathers unit ", of.name(), " into ",
                 plan.buffers(int(start.gathered())).bytes(), " bytes of ",
                 of.elements() * bytes);
  units[start.unit()].gathered.insert(start.gathered());
  flight.land = [this, where, gathered = start.gathered(), u = start.unit(),
                 bytes] {
    memory.records(gathered).clear();
    for (uint32_t p : unit(u).parameters()) {
      const plan::Parameter &own = plan.parameters(int(p));
      memory.write(where, gathered,
                   {row(own.flat_offset(), product(own.shape()), bytes), bytes,
                    values.leaf("parameter", own.name(), product(own.shape())),
                    where, "", false, false});
    }
  };
}

void Run::keep(const plan::Entry &entry) {
  const plan::Keep &keep = entry.keep();
  if (!keep.has_kept())
    return findings.add(entry.name(), "keeps nothing");
  const plan::Unit &of = unit(keep.unit());
  demandUnitName(entry, keep.unit());
  if (!units[keep.unit()].gathered.contains(keep.gathered()) ||
      !memory.isLive(keep.gathered()) ||
      memory.records(keep.gathered()).size() != size_t(of.parameters_size()))
    findings.add(entry.name(), "keeps a slice of unit ", of.name(),
                 ", which is not gathered there");
  int64_t count = product(keep.kept().shape());
  if (count * plan.groups(int(keep.group())).size() != of.elements())
    findings.add(entry.name(), "keeps ", count, " elements of ", of.elements());
  memory.write(entry.name(), keep.kept(),
               values.leaf("kept",
                           concat(of.name(), " over group ", keep.group()),
                           count));
}

void Run::reduce(const plan::Entry &entry, Flight &flight) {
  struct Part {
    Value value;
    const plan::Tensor *to, *accumulator;
  };
  std::vector<Part> parts;
  bool scatters =
      entry.has_reduce_scatter_start() || entry.has_reduce_rows_start();
  uint32_t group = *groupOf(entry);
  const std::string &where = entry.name();
  if (entry.has_reduce_rows_start()) {
    const plan::ReduceRowsStart &start = entry.reduce_rows_start();
    parts.push_back({rowGradient(entry), &start.shard(),
                     start.has_accumulator() ? &start.accumulator() : nullptr});
  } else if (scatters) {
    const plan::ReduceScatterStart &start = entry.reduce_scatter_start();
    Value flat = memory.read(where, start.flat());
    demandUnitName(entry, start.unit());
    if (product(start.shard().shape()) * plan.groups(int(group)).size() !=
            product(start.flat().shape()) ||
        start.shard().dtype() != start.flat().dtype())
      findings.add(where, "scatters ", product(start.flat().shape()),
                   " elements into slices of ", product(start.shard().shape()));
    parts.push_back({flat, &start.shard(),
                     start.has_accumulator() ? &start.accumulator() : nullptr});
  } else {
    const plan::AllReduceStart &start = entry.all_reduce_start();
    if (start.has_unit())
      demandUnitName(entry, start.unit());
    if (start.accumulators_size() &&
        start.accumulators_size() != start.values_size())
      return findings.add(where, "has ", start.accumulators_size(), " sums of ",
                          start.values_size(), " values");
    for (int i = 0; i < start.values_size(); ++i)
      parts.push_back(
          {memory.read(where, start.values(i)), &start.values(i),
           start.accumulators_size() ? &start.accumulators(i) : nullptr});
    for (int i = 0; i < start.norms_size() && i < start.values_size(); ++i) {
      const Value &value = parts[i].value;
      int expr = value.expr < 0 ? -1 : termsOf(value)[0].expr;
      if (expr >= 0 && start.norms(i) != (values[expr].op == "gradient_norm"))
        findings.add(where, "takes value ", i,
                     start.norms(i) ? " for a norm" : " for no norm");
    }
  }
  bool sumsBatches = microBatches > 1;
  for (Part &part : parts) {
    if (part.value.expr < 0)
      continue;
    std::vector<Link> chain = chainOf(part.value);
    chain.push_back({scatters, group});
    part.value = sum(termsOf(part.value), chain, product(part.to->shape()));
    if (part.accumulator && sumsBatches && microBatch > 0)
      part.value = added(memory.read(where, *part.accumulator), part.value);
  }
  bool isLast = microBatch + 1 == microBatches;
  flight.land = [this, where, parts, isLast, sumsBatches] {
    for (const Part &part : parts) {
      bool goesOn = part.accumulator && sumsBatches && !isLast;
      if (goesOn)
        memory.write(where, part.accumulator->buffer(),
                     {placesOf(*part.accumulator),
                      bytesOf(part.accumulator->dtype()), part.value, where, "",
                      false, false});
      memory.write(
          where, part.to->buffer(),
          {placesOf(*part.to), bytesOf(part.to->dtype()), part.value, where,
           goesOn ? "which has no sum before the last micro-batch" : "", false,
           isLast && !sumsBatches});
    }
  };
}

void Run::accumulate(const plan::Entry &entry) {
  const plan::Accumulate &sum = entry.accumulate();
  if (microBatches == 1)
    return;
  const std::string &where = entry.name();
  Value value = memory.read(where, sum.value());
  if (microBatch > 0)
    value = added(memory.read(where, sum.accumulator()), value);
  bool isLast = microBatch + 1 == microBatches;
  const plan::Tensor &to = isLast ? sum.value() : sum.accumulator();
  memory.write(
      where, to.buffer(),
      {placesOf(to), bytesOf(to.dtype()), value, where, "", false, false});
}

std::string placeName(const plan::Plan &plan, int place) {
  const plan::Program &program = place % 2 ? plan.eval() : plan.train();
  return place >= 0 && place / 2 < program.entries_size()
             ? program.entries(place / 2).name()
             : "the plan";
}

/// Runs a program as each class of ranks does. All have to end with the same:
/// sums over ranks are of one expression.
static Results runClasses(const plan::Plan &plan, Ranks &ranks,
                          const plan::Program &program, bool isTrain,
                          int microBatches, Values &values,
                          Findings &findings) {
  Matrices matrices(plan, values, findings);
  Differ differ(values, values);
  Results all;
  const std::vector<RankClass> classes = classesOf(plan, program);
  for (const RankClass &own : classes) {
    Results results = Run(plan, ranks, own, matrices, values, findings)
                          .run(program, isTrain, microBatches);
    if (&own == &classes.front())
      all = results;
    for (const auto &[name, value] : all)
      if (auto found = results.find(name); found == results.end())
        findings.add("the plan", "has no ", name, " on rank ", own.rank);
      else if (auto difference = differ.find(found->second, value))
        findings.add(placeName(plan, difference->place), "makes the ", name,
                     " of rank ", own.rank, " another one than that of rank ",
                     classes.front().rank, ": ", difference->what);
  }
  for (auto &[name, value] : all)
    value = matrices.settled(value);
  return all;
}

Results checkPlan(const plan::Plan &plan, Values &values, Findings &findings) {
  if (!checkIndices(plan, findings))
    return {};
  size_t before = findings.all().size();
  checkClassWeights(plan, findings);
  Ranks ranks(plan);
  ranks.check(findings);
  if (findings.all().size() != before)
    return {};
  for (const plan::Program *program : {&plan.train(), &plan.eval()})
    for (const plan::Entry &entry : program->entries())
      if (entry.has_launch())
        checkLaunch(plan, entry, findings);
      else if (entry.first() && !entry.has_all_gather_start() &&
               !entry.has_wait())
        findings.add(entry.name(), "runs in the first micro-batch alone, and "
                                   "is no gather of what stays");
  if (findings.all().size() != before)
    return {};
  if (!checkMatrices(plan, findings))
    return {};
  checkFrame(plan, findings);
  Results all;
  auto add = [&](const plan::Program &program, bool isTrain, int microBatches,
                 const char *suffix) {
    for (auto &[name, value] : runClasses(plan, ranks, program, isTrain,
                                          microBatches, values, findings))
      all[name + suffix] = value;
  };
  add(plan.train(), true, 1, "");
  add(plan.train(), true, 3, ", of 3 micro-batches");
  add(plan.eval(), false, 1, ", of an evaluation");
  return all;
}

} // namespace shardc::check
