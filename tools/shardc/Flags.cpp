// What each of shardc's flags is called, and what it says of itself.
#include "tools/shardc/Flags.h"

#include "passes/options/RematClasses.h"
#include "runtime/device/Optimizers.h"
#include "tools/shardc/OptionTable.h"

#include <iterator>

using namespace shardc;

namespace {

std::vector<std::string> phaseNames() {
  std::vector<std::string> names;
  for (const PhaseInfo &phase : phases)
    names.emplace_back(phase.name);
  return names;
}

std::string phasesText() {
  std::string text = "stop after a phase and print its IR";
  for (const PhaseInfo &phase : phases)
    if (&phase != &infoOf(Phase::Trainer))
      text += (&phase == std::begin(phases) ? ". " : "; ") +
              std::string(phase.name) + ": " + phase.summary;
  return text;
}

std::vector<std::string> optimizerChoices() {
  std::vector<std::string> names;
  for (const Optimizer &optimizer : optimizers)
    names.emplace_back(optimizer.name);
  return names;
}

void declareFiles(OptionTable &table, Said &said) {
  table.question("--version", "print the version and exit");
  table.question("--list-ops", "print the ONNX operators that are supported, "
                               "and the opsets that define what is");
  table.required("model", "MODEL.onnx", said.options.model,
                 "the ONNX file (opset 13 to 28)");
  table.value("-o,--output", "FILE", said.options.output,
              "the trainer to write; default: MODEL.trainer");
}

void declareModel(OptionTable &table, Said &said) {
  table.group("Model");
  table.list("--dim", "NAME=SIZE ...", said.dims,
             "size of a symbolic dim (repeatable); batch is that of one rank");
  table.value(
      "--loss", "LOSS", said.options.loss,
      "cross-entropy:logits=NAME,labels=NAME[,ignore=-100][,shift=1]"
      "[,label-smoothing=S][,class-weights=W:W:...]"
      " | soft-cross-entropy:logits=NAME,target=NAME"
      "[,label-smoothing=S][,class-weights=W:W:...]"
      " | binary-cross-entropy:logits=NAME,target=NAME"
      "[,pos-weight=W[:W...]] | mse, l1, smooth-l1[,beta=1] or huber[,delta=1]"
      ":output=NAME,target=NAME | output:NAME; "
      "default: the graph's only output, if it is a scalar");
  table.list("--output-values", "NAME ...", said.options.outputs,
             "an output of the graph that a trainer's --predict may write "
             "(repeatable)");
  table.choice(
      "--metric", "accuracy", said.options.metric, {"accuracy"},
      "what evaluations count besides the loss; accuracy: the part of "
      "the valid labels of a cross entropy whose logit is the largest");
  table.choice("--init", "file|random [file]", said.options.init,
               {"file", "random"},
               "the trainer's default, which its own --init overrides: file: "
               "the model's own values; random: trained from scratch, values "
               "need not exist");
  table.toggle("--checkable", said.options.checkable,
               "the trainer has the step of one rank that holds everything as "
               "well, for its --check N: to compare bits with");
  table.toggle("--embed-weights", said.options.embedWeights,
               "ship the model's values inside the trainer");
}

void declareSharding(OptionTable &table, Said &said) {
  table.group("Sharding");
  table.value("--mesh", "N|RxS [1]", said.options.mesh,
              "ranks: N, RxS, or replicate=R,shard=S; the ranks of dimension "
              "1 are neighbours (one node)");
  table.value(
      "--strategy", "NAME", said.options.strategy,
      "full, grad_op: parameters, gradients and optimizer state sharded "
      "over "
      "all ranks (grad_op keeps parameters gathered until backward); "
      "hybrid, "
      "hybrid_grad_op: over dimension 1, replicated over dimension 0; "
      "hybrid_opt: hybrid, optimizer state over all ranks; opt: optimizer "
      "state alone; none: nothing. Default: hybrid on two dimensions, else "
      "full");
  table.value("--reshard-after-forward", "default|always|never|N",
              said.options.reshardAfterForward,
              "what is left of gathered parameters until backward: always: "
              "the rank's shard; never: all; N: a slice over N neighbours, "
              "which gather among themselves; default: always, but for the "
              "last unit");
  table.choice("--reshard-after-backward", "always|never [always]",
               said.options.reshardAfterBackward, {"always", "never"},
               "what is left of them between micro-batches: always: the "
               "rank's shard; never: all, so that a step gathers each unit "
               "once, however many micro-batches it has");
  table.list("--unit-option",
             "match=REGEX[,reshard=...][,after-backward=...][,precision=TYPE] "
             "...",
             said.options.unitOptions,
             "for units whose name (X, or X.frozen for what is frozen of "
             "it) the regular expression is found in (repeatable; the "
             "first match wins)");
  table.value("--units", "HOW [auto]", said.options.units,
              "what is gathered together: auto (blocks, merged and split by "
              "the cluster's times), block (blocks and the rest), "
              "class:NAME[,NAME] or scope:REGEX (modules, and the rest), "
              "size:100MB (in order of use), one");
  table.value("--cluster", "NAME|FILE.toml [cpu; dgx-h100 with --target cuda]",
              said.options.cluster,
              "the machine: cpu, dgx-h100, dgx-a100, cloud-l40s, or a TOML "
              "file of link bandwidths, latencies, FLOP rates and memory");
  table.value("--prefetch", "HOW [1; auto with --target cuda]",
              said.options.prefetch,
              "units gathered ahead of their use: N, or "
              "forward=N,backward=M, 0 to 64; auto: as early as the cluster's "
              "times ask for, in the memory that there is, where units may "
              "stay gathered until backward");
  table.value("--memory-limit", "SIZE", said.options.memoryLimit,
              "most memory that a rank's pools may take (kB, MB, GB, KiB, MiB, "
              "GiB): --prefetch auto keeps to it, and a plan that does not is "
              "an error [--prefetch auto: 97.5 % of the cluster's "
              "memory]");
}

void declareMemory(OptionTable &table, Said &said) {
  table.value(
      "--offload", "WHAT [none]", said.options.offload,
      "what does not stay in a rank's memory but in the host's, or on "
      "CPUs in a file of the trainer's --offload-dir: "
      "optimizer[=SIZE]: master weights and optimizer state, which "
      "come a part at a time to be updated; activations[=SIZE]: values "
      "that backward reads, which come back before it does, without a "
      "SIZE those that nothing waits for; parameters[=SIZE]: the rank's "
      "slices, which come to be gathered or read; several, with commas between "
      "them; auto: what has to leave for a step to fit into "
      "--memory-limit, or the cluster's memory. Results have the same "
      "bits");
}

void declareTraining(OptionTable &table, Said &said) {
  table.group("Training");
  table.choice("--optimizer", "KIND [adamw]", said.options.optimizer,
               optimizerChoices(),
               optimizerNames() + ", with torch's formulas or the paper's");
  table.list("--muon", "REGEX ...", said.options.muon,
             "the matrices that muon updates, by name: a regular expression "
             "that is found in it (repeatable); the others have adamw. "
             "Default: all but embeddings and the head's");
  table.number("--newton-schulz-steps", "N [5]", said.options.newtonSchulzSteps,
               1, 100, "steps of muon's iteration");
  table.choice("--accumulate", "sharded|unsharded", said.options.accumulate,
               {"sharded", "unsharded"},
               "what --grad-accumulation adds up: sharded: reduced gradients, "
               "every micro-batch communicates; unsharded: whole ones, only "
               "the last does [sharded; unsharded with --strategy none]");
  table.choice("--embedding", "auto|rows|table [auto]", said.options.embedding,
               {"auto", "rows", "table"},
               "what of a table of embeddings that only lookups read travels: "
               "table: it is gathered, and its gradient reduced; rows: those "
               "that are looked up, and their gradients; auto: what is less");
  table.choice("--update", "step|backward [step]", said.options.update,
               {"step", "backward"},
               "when parameters are updated: step: when all gradients are "
               "there, so that --clip and a norm that is not finite hold for "
               "all of them; backward: each unit's as soon as its gradient is "
               "there, which then takes no memory any more");
  table.list("--freeze", "REGEX ...", said.options.freeze,
             "parameters that are not trained: a regular expression that is "
             "found in their names (repeatable)");
  table.list("--trainable", "REGEX ...", said.options.trainable,
             "the only parameters that are trained (repeatable); one that "
             "is found in no parameter's name makes parameters of the "
             "buffers and constants that it is found in");
  table.list("--buffer", "REGEX ...", said.options.buffers,
             "float tensors of the file that are no parameters: kept as "
             "they are, whole on every rank; before --trainable "
             "(repeatable)");
  table.list("--untie", "REGEX ...", said.options.untied,
             "parameters that an exporter merged since they began equal: each "
             "module that reads one has its own (repeatable)");
  table.value("--precision", "PRECISION [float32]", said.options.precision,
              "bf16, float16, float32 or float64, or in full param=TYPE"
              "[,reduce=TYPE][,output=TYPE][,keep=norm|softmax|loss|REGEX]: "
              "of parameters and products, of gradients, of the reported "
              "loss, and what stays float32");
  table.value(
      "--master", "TYPE [float32]", said.options.master,
      "master weights and optimizer state: bf16, float16, float32 or "
      "split: float32 as bf16 parameters and what is missing to them, "
      "of the same bits in half of the memory; default float32, float64 "
      "with --precision float64");
  table.choice("--batch-norm", "rank|sync [rank]", said.options.batchNorm,
               {"rank", "sync"},
               "whose statistics batch norms in train mode are by: rank, of a "
               "rank's own samples, as in PyTorch; sync: of all ranks' in a "
               "micro-batch, as torch.nn.SyncBatchNorm");
  table.choice("--batch-sums", "global|rank [global]", said.options.batchSums,
               {"global", "rank"},
               "whose samples a sum is over that the graph's own loss divides "
               "by, or uses otherwise than by adding it up (a masked mean): "
               "global, of all ranks' in a micro-batch, as in one process; "
               "rank: of a rank's own, as with FSDP");
  table.value(
      "--remat", "POLICY [cheap]", said.options.remat,
      "what backward computes again instead of keeping it; results have the "
      "same bits. cheap: norms, activations and the like, from what is kept "
      "anyway, in at most 1 % of a step's time; all: as many of them as save "
      "memory; none: nothing; selective: all but products and attention; "
      "unit: all but the inputs of units; time=PERCENT: what saves most memory "
      "in that much of a step's arithmetic; budget=SIZE: so much that backward "
      "keeps at most SIZE, in the least time; class:NAME[,NAME]: of " +
          rematClassesText() +
          "; scope:REGEX: what lies in modules whose path matches, but their "
          "inputs; pareto: none is chosen, memory and time of several are "
          "printed");
}

void declareCode(OptionTable &table, Said &said) {
  table.group("Code");
  table.value("--target", "NAME[,NAME] [auto]", said.options.target,
              "what the trainer runs on: cpu, cuda:sm_80, cuda:sm_90 or "
              "cuda:sm_100 and newer (cuda: cuda:sm_90), or one of each kind, "
              "between which its --device chooses; auto: cpu, and cuda where "
              "this machine has a GPU and its driver");
  table.value("--cpu", "CPU [native]", said.options.cpu,
              "processor to generate for: native, x86-64-v3, x86-64-v4, or "
              "a name that clang knows");
  table.number("--threads-per-rank", "N [0]", said.options.threadsPerRank, 0,
               1024,
               "most threads that a rank may use; 0: this machine's cores "
               "over the ranks");
  table.value("--kernels", "DIR", said.options.kernels,
              "write the compiled kernels into this folder: a shared "
              "object; for cuda PTX, and cubins where CUDA's ptxas is; the "
              "trainer as well only with -o");
  table.value("--kernel-cache", "DIR [$SHARDC_KERNEL_CACHE]",
              said.options.kernelCache,
              "keep compiled kernels in this folder, and take those that an "
              "earlier compilation left there; what no compilation used for a "
              "week is removed");
}

void declareInspection(OptionTable &table, Said &said,
                       const std::string &remarkPasses) {
  table.group("Inspection");
  table.choice("--compile-to", "PHASE [trainer]", said.compileTo, phaseNames(),
               phasesText());
  table.value("--dump-phases-to", "DIR", said.options.dumpPhasesTo,
              "write the IR after every phase into this folder");
  table.value("--report", "FILE.json|html", said.options.report,
              "write what was resolved as JSON, or as a page that needs no "
              "network: memory over a step and whose it is, when what runs, "
              "memory against time for the policies of --remat, units and "
              "collectives");
  table.value("--timeline", "FILE.json|svg|html", said.options.timeline,
              "write when a step computes and communicates by the cluster's "
              "times: a trace for Perfetto and chrome://tracing, or a picture");
  table.list("--disable-pass", "PASS ...", said.options.disabledPasses,
             "leave out a pass, to see what it does (repeatable): what "
             "it does or proves is then missing");
  table.value("--remarks", "REGEX", said.options.remarks,
              "print why passes decided as they did, on stderr: those in "
              "whose names the regular expression is found, of " +
                  remarkPasses);
  table.toggle("--pass-timing", said.options.passTiming,
               "print how long each pass took, on stderr");
  table.toggle("-q,--quiet", said.options.quiet,
               "print errors and warnings alone");
}

void declareQuestion(OptionTable &table, Said &said) {
  table.group("Question");
  runtime::cli::Flag &what = table.value(
      "what", "WHAT", said.options.what,
      "behind MODEL.onnx: a parameter, a unit, a collective as the report "
      "names it ('all_gather backward layers.3'), a buffer, memory, or oom");
  what.isRequired = true;
  table.value("size", "SIZE", said.options.size,
              "behind oom: the memory of a rank that has to suffice");
}

} // namespace

void shardc::declareFlags(Command command, const std::string &remarkPasses,
                          OptionTable &table, Said &said) {
  declareFiles(table, said);
  declareModel(table, said);
  declareSharding(table, said);
  declareMemory(table, said);
  declareTraining(table, said);
  declareCode(table, said);
  declareInspection(table, said, remarkPasses);
  if (command == Command::Explain)
    declareQuestion(table, said);
}
