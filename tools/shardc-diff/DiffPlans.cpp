// What two plans are, side by side.
#include "runtime/base/DType.h"
#include "runtime/base/EntryKind.h"
#include "runtime/base/Error.h"
#include "runtime/base/Hash.h"
#include "runtime/base/PoolNames.h"
#include "runtime/base/Text.h"
#include "tools/shardc-diff/Diff.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace shardc {
namespace {

using runtime::bytesText;
using runtime::concat;
using runtime::dtypeName;

std::string productText(const auto &sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += concat(text.empty() ? "" : "x", size);
  return text;
}

std::string lossText(const plan::Loss &loss) {
  std::string text = loss.kind();
  if (!loss.labels().empty())
    text += " of " + loss.labels();
  if (loss.shift())
    text += concat(", shift ", loss.shift());
  if (!loss.reduction().empty())
    text += ", " + loss.reduction();
  for (int i = 0; i < loss.class_weights_size(); ++i)
    text += concat(i == 0 ? ", class weights " : ":",
                   runtime::numberText(loss.class_weights(i)));
  return text;
}

std::string inputText(const plan::Plan &plan) {
  std::string text;
  for (const plan::Input &input : plan.inputs())
    text += concat(text.empty() ? "" : ", ", input.name(), " ",
                   productText(input.tensor().shape()));
  return text;
}

int64_t trainedElements(const plan::Plan &plan) {
  int64_t elements = 0;
  for (const plan::Parameter &parameter : plan.parameters()) {
    int64_t own = parameter.trainable();
    for (int64_t size : parameter.shape())
      own *= size;
    elements += own;
  }
  return elements;
}

int64_t samplesOf(const plan::Plan &plan) {
  for (const plan::Input &input : plan.inputs())
    if (input.tensor().shape_size())
      return input.tensor().shape(0);
  return 0;
}

std::string drawsText(const plan::Plan &plan) {
  std::map<double, int> sites;
  int numbers = 0;
  for (const plan::Draws::Site &site : plan.draws().sites())
    ++(site.draws_numbers() ? numbers : sites[site.rate()]);
  std::string text;
  for (auto [rate, count] : sites)
    text += concat(text.empty() ? "" : ", ", runtime::numberText(rate), " at ",
                   count);
  if (numbers)
    text += concat(text.empty() ? "" : ", ", "numbers at ", numbers);
  return text.empty() ? "nothing" : text;
}

struct Row {
  std::string what, a, b;
  bool differs() const { return a != b; }
};

std::vector<Row> rowsOf(const plan::Plan &a, const plan::Plan &b) {
  std::vector<Row> rows;
  auto add = [&](const char *what, const auto &textOf) {
    rows.push_back({what, concat(textOf(a)), concat(textOf(b))});
  };
  using Plan = plan::Plan;
  add("model",
      [](const Plan &of) { return runtime::hashText(of.model_hash()); });
  add("compiler", [](const Plan &of) { return of.compiler(); });
  add("target", [](const Plan &of) { return of.target().name(); });
  add("mesh", [](const Plan &of) { return productText(of.mesh().dims()); });
  add("strategy", [](const Plan &of) { return of.mesh().strategy(); });
  add("precision: parameters",
      [](const Plan &of) { return dtypeName(of.precision().parameters()); });
  add("precision: gradients",
      [](const Plan &of) { return dtypeName(of.precision().gradients()); });
  add("precision: loss",
      [](const Plan &of) { return dtypeName(of.precision().loss()); });
  add("precision: masters", [](const Plan &of) {
    return of.precision().split_master() ? "split"
                                         : dtypeName(of.precision().master());
  });
  add("inputs of a rank", inputText);
  add("loss", [](const Plan &of) { return lossText(of.loss()); });
  add("optimizer", [](const Plan &of) { return of.optimizer().kind(); });
  add("accumulation", [](const Plan &of) { return of.accumulate(); });
  add("initial values", [](const Plan &of) { return of.init(); });
  add("drawn", drawsText);
  add("trained elements", trainedElements);
  add("units", [](const Plan &of) { return of.units_size(); });
  add("kernels", [](const Plan &of) { return of.kernels_size(); });
  std::map<std::string, std::pair<int, int>> entries;
  for (const plan::Entry &entry : a.train().entries())
    ++entries[runtime::workKind(entry)].first;
  for (const plan::Entry &entry : b.train().entries())
    ++entries[runtime::workKind(entry)].second;
  for (auto &[kind, counts] : entries)
    rows.push_back(
        {"entries: " + kind, concat(counts.first), concat(counts.second)});
  return rows;
}

/// By name: bytes of pools, bytes that a micro-batch moves, and arithmetic.
std::map<std::string, double> costsOf(const plan::Plan &plan) {
  std::map<std::string, double> costs;
  for (const plan::Pool &pool : plan.pools())
    costs["memory, " + pool.name()] = static_cast<double>(pool.bytes());
  for (const plan::Pool &pool : plan.pools())
    if (!runtime::isHostPool(pool.name()) &&
        !runtime::isAccumulationPool(pool.name()))
      costs["memory, all of a step"] += static_cast<double>(pool.bytes());
  auto sizeOf = [](plan::DType type) {
    return static_cast<double>(runtime::elementSize(type));
  };
  auto elementsOf = [](const plan::Tensor &tensor) {
    double elements = 1;
    for (int64_t size : tensor.shape())
      elements *= static_cast<double>(size);
    return elements;
  };
  for (const plan::Entry &entry : plan.train().entries()) {
    costs["arithmetic (FLOP)"] += entry.flops();
    double &gathered = costs["moved, gathered"],
           &reduced = costs["moved, reduced"], &brought = costs["moved, host"];
    if (entry.has_all_gather_start()) {
      const plan::Unit &unit =
          plan.units(static_cast<int>(entry.all_gather_start().unit()));
      gathered += static_cast<double>(unit.elements()) * sizeOf(unit.dtype());
    } else if (entry.has_reduce_scatter_start()) {
      const plan::Tensor &flat = entry.reduce_scatter_start().flat();
      reduced += elementsOf(flat) * sizeOf(flat.dtype());
    } else if (entry.has_all_reduce_start()) {
      for (const plan::Tensor &value : entry.all_reduce_start().values())
        reduced += elementsOf(value) * sizeOf(value.dtype());
    } else if (entry.has_transfer_start()) {
      const plan::Tensor &source = entry.transfer_start().source();
      brought += elementsOf(source) * sizeOf(source.dtype());
    }
  }
  return costs;
}

/// Why two plans do not train to the same bits; none where they do.
std::vector<std::string> otherBits(const plan::Plan &a, const plan::Plan &b,
                                   const std::vector<Row> &rows) {
  std::vector<std::string> why;
  static const std::set<std::string> always = {
      "model", "target", "loss", "drawn", "optimizer", "trained elements"};
  // Split masters are float32, of the same bits.
  auto isPrecision = [](const Row &row) {
    return row.what.starts_with("precision") &&
           !(row.what == "precision: masters" &&
             std::set{row.a, row.b} ==
                 std::set<std::string>{"float32", "split"});
  };
  bool isOtherPrecision = false;
  for (const Row &row : rows)
    if (row.differs() && always.contains(row.what))
      why.push_back(row.what);
    else if (row.differs() && isPrecision(row))
      isOtherPrecision = true;
  if (isOtherPrecision)
    why.push_back("precision");
  const int64_t samples[] = {samplesOf(a) * a.mesh().ranks(),
                             samplesOf(b) * b.mesh().ranks()};
  if (samples[0] != samples[1])
    why.push_back(concat("a micro-batch of all ranks has ", samples[0], " and ",
                         samples[1], " samples"));
  else if (a.mesh().ranks() != b.mesh().ranks())
    why.push_back("sums over samples are bracketed by rank: equal where ranks "
                  "times --grad-accumulation are, and the batch of a rank");
  auto isHybrid = [](const plan::Plan &of) {
    return of.mesh().strategy().starts_with("hybrid");
  };
  if (a.mesh().ranks() > 1 && b.mesh().ranks() > 1 &&
      (isHybrid(a) || isHybrid(b)) &&
      (isHybrid(a) != isHybrid(b) ||
       productText(a.mesh().dims()) != productText(b.mesh().dims())))
    why.push_back("hybrid strategies add up node by node");
  if (a.accumulate() != b.accumulate())
    why.push_back("--grad-accumulation adds up in another order (equal without "
                  "it)");
  if (runtime::updatesInBackward(a.train()) !=
      runtime::updatesInBackward(b.train()))
    why.push_back("updates in backward are never clipped (equal without "
                  "--clip)");
  return why;
}

/// Of plans whose counts are the same: where the entries are others.
std::string firstOtherEntry(const plan::Plan &a, const plan::Plan &b) {
  const int count =
      std::min(a.train().entries_size(), b.train().entries_size());
  for (int i = 0; i < count; ++i) {
    const plan::Entry &own = a.train().entries(i),
                      &other = b.train().entries(i);
    if (own.name() != other.name() || own.phase() != other.phase())
      return concat("entries: from the ", i + 1,
                    "th on in another order: ", own.name(), " (", own.phase(),
                    ") and ", other.name(), " (", other.phase(), ")\n");
  }
  return "placement: buffers lie elsewhere\n";
}

void print(std::string &text, const std::vector<Row> &rows) {
  size_t widths[2] = {0, 0};
  for (const Row &row : rows) {
    widths[0] = std::max(widths[0], row.what.size());
    widths[1] = std::max(widths[1], row.a.size());
  }
  for (const Row &row : rows)
    text += row.what + std::string(widths[0] - row.what.size() + 2, ' ') +
            row.a + std::string(widths[1] - row.a.size() + 2, ' ') + row.b +
            "\n";
}

} // namespace

Difference diffPlans(const plan::Plan &a, const std::string &first,
                     const plan::Plan &b, const std::string &second) {
  std::vector<Row> all = rowsOf(a, b), shown;
  for (const Row &row : all)
    if (row.differs())
      shown.push_back(row);
  const bool haveOthers = !shown.empty();
  std::map<std::string, double> own = costsOf(a), others = costsOf(b);
  own.insert(others.begin(), others.end()); // names alone
  for (auto &[name, unused] : own) {
    const double x = costsOf(a)[name], y = others[name];
    if (x == y)
      continue;
    const bool areBytes = !name.starts_with("arithmetic");
    auto textOf = [&](double value) {
      return areBytes ? bytesText(value) : runtime::numberText(value);
    };
    const double more = y - x;
    shown.push_back({name, textOf(x),
                     concat(textOf(y), " (", more < 0 ? "-" : "+",
                            textOf(more < 0 ? -more : more), ")")});
  }
  Difference result;
  // Bytes would not do: a map's entries are written in any order.
  if (google::protobuf::util::MessageDifferencer::Equals(a, b)) {
    result.text = "the plans are the same\n";
    return result;
  }
  result.isThere = true;
  shown.insert(shown.begin(), {"", first, second});
  print(result.text, shown);
  if (!haveOthers)
    result.text += firstOtherEntry(a, b);
  std::vector<std::string> why = otherBits(a, b, all);
  if (why.empty()) {
    result.text += concat("bits: the same losses, gradients and parameters, "
                          "which shardc-check ",
                          second, " --reference ", first, " proves\n");
    return result;
  }
  result.text += "bits: not the same:";
  for (size_t i = 0; i < why.size(); ++i)
    result.text += (i ? "; " : " ") + why[i];
  result.text += "\n";
  return result;
}

} // namespace shardc
