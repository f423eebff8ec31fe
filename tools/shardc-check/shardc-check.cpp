// shardc-check: proves properties of a compiled plan, without the compiler.
#include "tools/shardc-check/Run.h"
#include "tools/shardc-check/Trainer.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx.pb.h>
#include <xxhash.h>

namespace shardc::check {
namespace {

struct Options {
  std::string trainer, model, reference;
  bool stamp = false, quiet = false;
  size_t most = 20;
};

/// What of the model the plan has to agree with: its bytes, and the stored
/// tensors that parameters come from.
void checkModel(const std::string &path, const plan::Plan &plan,
                Findings &findings) {
  std::string bytes = readFile(path);
  onnx::ModelProto model;
  google::protobuf::io::ArrayInputStream stream(bytes.data(),
                                                int(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  if (bytes.empty() || !model.ParseFromCodedStream(&coded) ||
      !model.has_graph())
    throw BadInput(path + ": is no ONNX model, or is cut off");
  uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  if (hash != plan.model_hash())
    throw BadInput(path + ": is not the model that was compiled: its hash is " +
                   std::to_string(hash) + ", the plan's " +
                   std::to_string(plan.model_hash()));
  std::map<std::string, int64_t> stored;
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    stored[tensor.name()] = product(tensor.dims());
  for (const plan::Parameter &parameter : plan.parameters())
    if (auto found = stored.find(parameter.initializer());
        found != stored.end() && found->second != product(parameter.shape()))
      findings.add("parameter " + parameter.name(), "has ",
                   product(parameter.shape()), " elements, the model's ",
                   parameter.initializer(), " ", found->second);
}

/// Every result of a plan against that of another one of the model.
void compare(const plan::Plan &plan, const Values &values,
             const Results &results, const Values &others,
             const Results &wanted, Findings &findings) {
  Differ differ(values, others);
  for (const auto &[name, value] : wanted) {
    auto own = results.find(name);
    if (own == results.end())
      findings.add("the plan", "lacks the ", name);
    else if (auto difference = differ.find(own->second, value))
      findings.add(placeName(plan, difference->place), "makes the ", name,
                   " another one: ", difference->what);
  }
  for (const auto &[name, value] : results)
    if (!wanted.contains(name))
      findings.add("the plan", "has the ", name, ", which the reference lacks");
}

/// The attention of which `expr` is a result, with nothing dropped of its
/// probabilities; nothing where it drops none.
std::optional<Expr> undropped(const Values &values, const Expr &expr) {
  if (!expr.op.starts_with("Attention.") || expr.operands.empty() ||
      values[expr.operands.back().value.expr].op != "draws")
    return std::nullopt;
  Expr kept = expr;
  kept.operands.pop_back();
  for (const char *name : {"samples=", "sample_stride="})
    if (size_t at = kept.attributes.find(name); at != std::string::npos)
      kept.attributes.erase(at, kept.attributes.find(';', at) + 1 - at);
  return kept;
}

/// The product that adds a residual as a sum of it and the same product without
/// is: with a dropout between them they are two ops, and one without. Nothing
/// where there is none among the first `known`.
std::optional<Value> withResidual(Values &values, const Expr &sum, int known) {
  if (sum.op != "add" || sum.operands.size() != 2)
    return std::nullopt;
  for (int side : {0, 1}) {
    const Value product = sum.operands[side].value,
                residual = sum.operands[1 - side].value;
    if (product.expr < 0 || values[product.expr].op != "gemm" ||
        product != values.whole(product.expr))
      continue;
    Expr both = values[product.expr];
    if (both.operands.size() != 4 || both.operands[3].value.expr >= 0)
      continue;
    both.operands[3] = {residual, both.operands[0].shape, {}};
    both.operands[3].shape.back() = both.operands[1].shape.back();
    if (int found = values.intern(std::move(both)); found < known)
      return values.whole(found);
  }
  return std::nullopt;
}

/// By expression of a dropout, or of an attention that drops: what it is with
/// nothing dropped; and by sums that become a product's then.
std::map<int, Value> dropped(Values &values) {
  std::map<int, Value> of;
  const int known = values.size();
  for (int expr = 0; expr < known; ++expr) {
    if (values[expr].op == "dropout" && !values[expr].operands.empty()) {
      const Value input = values[expr].operands[0].value;
      of[expr] = values.replace(input, of);
    } else if (auto kept = undropped(values, values[expr])) {
      for (Operand &operand : kept->operands)
        operand.value = values.replace(operand.value, of);
      of[expr] = values.whole(values.intern(std::move(*kept)));
    } else if (values[expr].op == "add" &&
               std::ranges::any_of(values[expr].operands,
                                   [&](const Operand &operand) {
                                     return of.contains(operand.value.expr);
                                   })) {
      Expr sum = values[expr];
      for (Operand &operand : sum.operands)
        operand.value = values.replace(operand.value, of);
      if (auto found = withResidual(values, sum, known))
        of[expr] = *found;
    }
  }
  return of;
}

/// What is evaluated is what is trained, with nothing dropped: one loss. Of
/// norms by the batch's statistics it is another one by intent.
void compareLosses(const plan::Plan &plan, Values &values,
                   const Results &results, Findings &findings) {
  if (plan.has_running())
    return;
  auto trained = results.find("metric loss");
  auto evaluated = results.find("metric loss, of an evaluation");
  if (trained == results.end() || evaluated == results.end())
    return;
  const Value whole = values.replace(trained->second, dropped(values));
  if (auto difference = Differ(values, values).find(whole, evaluated->second))
    findings.add(placeName(plan, difference->place),
                 "makes training's loss another one than that of evaluations: ",
                 difference->what);
}

std::vector<std::string> proved(const plan::Plan &plan, const Results &results,
                                const Options &options, bool isCompared) {
  int collectives = 0, updates = 0;
  for (const plan::Program *program : {&plan.train(), &plan.eval()})
    for (const plan::Entry &entry : program->entries())
      collectives += startedToken(entry).has_value();
  for (const auto &[name, value] : results)
    updates +=
        name.starts_with("update of ") && name.find(", of 3") == name.npos;
  std::vector<std::string> lines = {
      concat("memory: ", plan.buffers_size(), " buffers in ", plan.pools_size(),
             " pools; every read sees the last write of its "
             "value, in steps of one and of more "
             "micro-batches"),
      concat("ranks: ", plan.mesh().ranks(), " in ", plan.groups_size(),
             " groups; ", collectives,
             " collectives, each waited for once, in "
             "one order on every rank"),
      concat("updates: ", updates,
             " parameters, each once a step, with the sum "
             "of its gradient over all ranks")};
  auto matrices = std::ranges::count_if(plan.parameters(),
                                        [&](const plan::Parameter &parameter) {
                                          return isWholeMatrix(plan, parameter);
                                        });
  if (matrices)
    lines.push_back(concat("matrices: ", matrices,
                           " whole, each brought to one rank, and back as what "
                           "that makes of it"));
  if (!options.model.empty())
    lines.push_back("model: the file is the one that was compiled");
  if (isCompared)
    lines.push_back(
        concat("values: ", results.size(), " results are the ",
               options.reference.empty() ? "unsharded step's" : "reference's",
               " expressions"));
  return lines;
}

/// Whether ranks sum floats on their way through the model: statistics of all of
/// them (--batch-norm sync), or sums over samples (--batch-sums global).
bool sumsOverRanks(const plan::Plan &plan) {
  return std::ranges::any_of(
      plan.train().entries(), [](const plan::Entry &entry) {
        return entry.has_all_reduce_start() &&
               !entry.all_reduce_start().has_unit() &&
               entry.all_reduce_start().values_size() > 0 &&
               entry.all_reduce_start().values(0).dtype() != plan::INT64;
      });
}

/// A reference that a plan can be compared with has one rank, or the same ones
/// where their values are summed in the model.
void expectSameSums(const plan::Plan &plan, const plan::Plan &reference,
                    const std::string &path) {
  auto mesh = [](const plan::Plan &of) {
    std::string text;
    for (int64_t dim : of.mesh().dims())
      text += concat(text.empty() ? "" : "x", dim);
    return text;
  };
  if (sumsOverRanks(plan) && mesh(plan) != mesh(reference))
    throw BadInput(concat(path, ": is of the mesh ", mesh(reference),
                          ", and the trainer has sums over the samples of all "
                          "ranks of the mesh ",
                          mesh(plan),
                          "; compile the reference with its --batch-norm and "
                          "--batch-sums, --mesh ",
                          mesh(plan), " and --strategy none"));
}

/// Whether updates have a norm to clip by.
bool clips(const plan::Plan &plan) {
  return std::ranges::any_of(
      plan.train().entries(), [](const plan::Entry &entry) {
        return entry.has_optimizer_step() && entry.optimizer_step().has_norm();
      });
}

/// A plan whose updates are those of a run that does not clip.
plan::Plan unclipped(plan::Plan plan) {
  for (plan::Entry &entry : *plan.mutable_train()->mutable_entries())
    if (entry.has_optimizer_step())
      entry.mutable_optimizer_step()->clear_norm();
  return plan;
}

/// What a plan's values are compared with.
struct Reference {
  plan::Plan plan;
  std::string path; // for errors
};

/// That of --reference, or the unsharded plan beside it in the trainer.
std::optional<Reference> referenceOf(const Trainer &trainer, size_t target,
                                     const Options &options) {
  const plan::Plan &plan = trainer.plans[target];
  Reference reference;
  if (!options.reference.empty()) {
    Trainer other = readTrainer(options.reference);
    reference = {other.plans[std::min(target, other.plans.size() - 1)],
                 options.reference};
  } else if (target < trainer.unsharded.size()) {
    reference = {trainer.unsharded[target],
                 trainer.path + ": its unsharded step"};
  } else {
    return std::nullopt;
  }
  if (!clips(plan)) // it updates in backward
    reference.plan = unclipped(std::move(reference.plan));
  if (reference.plan.model_hash() != plan.model_hash())
    throw BadInput(reference.path + ": is of another model");
  expectSameSums(plan, reference.plan, reference.path);
  return reference;
}

int run(const Options &options) {
  Trainer trainer = readTrainer(options.trainer);
  plan::Certificate certificate;
  certificate.set_checker("shardc-check " SHARDC_VERSION);
  Findings findings;
  std::string said;
  for (size_t i = 0; i < trainer.plans.size(); ++i) {
    const plan::Plan &plan = trainer.plans[i];
    Values values, others;
    Results results = checkPlan(plan, values, findings);
    if (!options.model.empty())
      checkModel(options.model, plan, findings);
    std::optional<Reference> reference = referenceOf(trainer, i, options);
    if (reference && findings.all().empty()) {
      Findings its;
      Results wanted = checkPlan(reference->plan, others, its);
      if (!its.all().empty())
        throw BadInput(reference->path + ": is no reference: " + its.all()[0]);
      compare(plan, values, results, others, wanted, findings);
    }
    if (findings.all().empty())
      compareLosses(plan, values, results, findings);
    if (!findings.all().empty())
      break;
    said += concat(options.trainer, " (", plan.target().name(), ")\n");
    for (const std::string &line :
         proved(plan, results, options, reference.has_value())) {
      said += "  " + line + "\n";
      certificate.add_proved(plan.target().name() + ": " + line);
    }
    certificate.set_model_hash(plan.model_hash());
    certificate.add_plan_hashes(trainer.planHashes[i]);
  }
  if (!findings.all().empty()) {
    size_t shown = std::min(options.most, findings.all().size());
    for (size_t i = 0; i < shown; ++i)
      std::fprintf(stderr, "shardc-check: %s\n", findings.all()[i].c_str());
    std::fprintf(stderr, "shardc-check: error: %s: %zu finding%s%s\n",
                 options.trainer.c_str(), findings.all().size(),
                 findings.all().size() == 1 ? "" : "s",
                 shown < findings.all().size() ? ", the first of them above"
                                               : "");
    return 1;
  }
  if (options.stamp) {
    stamp(options.trainer, certificate);
    said += "  certificate: written into the trainer\n";
  }
  if (!options.quiet)
    std::fputs(said.c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 2;
}

} // namespace
} // namespace shardc::check

int main(int argc, char **argv) {
  using namespace shardc::check;
  Options options;
  CLI::App app("Proves that a trainer's plan is sound: its memory, its "
               "collectives, its updates and, against a reference, its "
               "values.\nExit codes: 0 proved, 1 something is wrong with the "
               "plan, 2 the files or the command line.",
               "shardc-check");
  app.add_option("trainer", options.trainer,
                 "a trainer, or a file that is a plan (plan.proto) alone")
      ->required()
      ->option_text("TRAINER");
  app.add_option("model", options.model,
                 "the ONNX file that it was compiled from")
      ->option_text("MODEL.onnx");
  app.add_option("--reference", options.reference,
                 "another trainer of the model, with the same samples for a "
                 "rank: each update, metric and output has to be its "
                 "expression; one of --mesh 1 --remat none is the unsharded "
                 "step")
      ->option_text("TRAINER");
  app.add_flag("--stamp", options.stamp,
               "write a certificate of what was proved into the trainer, which "
               "its ranks compare when they start");
  app.add_option("--most", options.most, "findings to print at most")
      ->option_text("N [20]");
  app.add_flag("-q,--quiet", options.quiet, "print findings and errors alone");
  app.set_version_flag("--version", "shardc-check " SHARDC_VERSION,
                       "print the version and exit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr, "shardc-check: error: %s; see --help\n", error.what());
    return 2;
  }
  try {
    return run(options);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "shardc-check: error: %s\n", error.what());
    return 2;
  }
}
