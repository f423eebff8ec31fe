// Kernels' bodies are lists of nn ops: views among them say only where elements
// lie, all others are what they are called.
#include "tools/shardc-check/Kernels.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace shardc::check {
namespace {

using Shape = std::vector<int64_t>;

/// The numbers of "array<i64: 0, 2, 1>".
Shape numbersOf(const plan::Kernel::Op &op, const char *name) {
  auto found = op.attributes().find(name);
  if (found == op.attributes().end() || found->second.empty())
    return {};
  Shape numbers;
  const std::string &text = found->second;
  const char *at = text.c_str() + std::min(text.find(':'), text.size() - 1) + 1;
  for (char *end; *at; at = end) {
    int64_t number = std::strtoll(at, &end, 10);
    if (end == at) {
      ++end;
      continue;
    }
    numbers.push_back(number);
  }
  return numbers;
}

/// Where the result's elements are in the operand; nothing for what computes.
std::optional<View> viewOf(const plan::Kernel::Op &op, const Shape &from,
                           const Shape &to) {
  View input = rowMajor(from), view{0, std::vector<Dim>(to.size())};
  if (op.name() == "reshape")
    return rowMajor(to);
  if (op.name() == "transpose") {
    Shape permutation = numbersOf(op, "permutation");
    if (permutation.size() != from.size() || to.size() != from.size())
      return std::nullopt;
    for (size_t d = 0; d < to.size(); ++d) {
      if (permutation[d] < 0 || permutation[d] >= int64_t(from.size()))
        return std::nullopt;
      view.dims[d] = input.dims[permutation[d]];
    }
    return view;
  }
  if (op.name() == "broadcast" && to.size() == from.size()) {
    for (size_t d = 0; d < to.size(); ++d)
      view.dims[d] = {to[d], from[d] == to[d] ? input.dims[d].stride : 0};
    return view;
  }
  if (op.name() == "slice") {
    Shape starts = numbersOf(op, "starts"), steps = numbersOf(op, "strides");
    if (starts.size() != from.size() || steps.size() != from.size() ||
        to.size() != from.size())
      return std::nullopt;
    for (size_t d = 0; d < to.size(); ++d) {
      view.offset += starts[d] * input.dims[d].stride;
      view.dims[d] = {to[d], input.dims[d].stride * steps[d]};
    }
    return view;
  }
  return std::nullopt;
}

std::string attributesOf(const plan::Kernel::Op &op) {
  std::map<std::string, std::string> sorted(op.attributes().begin(),
                                            op.attributes().end());
  std::string all;
  for (const auto &[name, value] : sorted)
    all += name + "=" + value + ";";
  return all;
}

Shape shapeOf(const plan::Kernel::Type &type) {
  return {type.shape().begin(), type.shape().end()};
}
int64_t countOf(const Shape &shape) { return rowMajor(shape).count(); }

} // namespace

std::string numberText(const std::string &text) {
  char *end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  if (text == "true" || text == "false" || *end || text.starts_with("0x"))
    return text;
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.9g", number);
  return buffer;
}

std::vector<Value> outputsOf(const plan::Kernel &kernel,
                             const plan::Launch &launch,
                             const std::vector<Value> &inputs, Values &values) {
  std::vector<Value> known = inputs;
  std::vector<Shape> shapes;
  for (const plan::Tensor &input : launch.inputs())
    shapes.push_back(shapeOf(input));
  for (const plan::Kernel::Op &op : kernel.body()) {
    Shape result = op.results_size() ? shapeOf(op.results(0)) : Shape();
    std::optional<View> view;
    if (op.operands_size() == 1)
      view = viewOf(op, shapes[op.operands(0)], result);
    if (view) {
      known.push_back(values.look(known[op.operands(0)], *view));
      shapes.push_back(result);
      continue;
    }
    if (op.name() == "constant" && op.results_size()) {
      std::string text =
          op.attributes().contains("value") ? op.attributes().at("value") : "";
      size_t begin = text.find('<'), end = text.find('>');
      if (text.starts_with("dense<") && end != text.npos)
        text = numberText(text.substr(begin + 1, end - begin - 1));
      known.push_back(values.splat(
          concat(text, ":", int(op.results(0).dtype())), countOf(result)));
      shapes.push_back(result);
      continue;
    }
    if (op.name() == "pad" && op.operands_size() == 1) {
      // Zeros, and the operand over them.
      View place = rowMajor(result);
      const Shape &from = shapes[op.operands(0)];
      Shape low = numbersOf(op, "low"), interior = numbersOf(op, "interior");
      if (low.size() == from.size() && interior.size() == from.size() &&
          result.size() == from.size()) {
        for (size_t d = 0; d < from.size(); ++d) {
          place.offset += low[d] * place.dims[d].stride;
          place.dims[d] = {from[d], place.dims[d].stride * (interior[d] + 1)};
        }
        Value zeros = values.splat(concat("0:", int(op.results(0).dtype())),
                                   countOf(result));
        known.push_back(values.overlay(zeros, known[op.operands(0)], place));
        shapes.push_back(result);
        continue;
      }
    }
    for (int r = 0; r < op.results_size(); ++r) {
      Shape shape = shapeOf(op.results(r));
      Expr expr{op.name(), attributesOf(op), {}, r, countOf(shape),
                {},        values.now,       {}};
      expr.attributes += concat("type=", int(op.results(r).dtype()), ";");
      for (uint32_t operand : op.operands())
        expr.operands.push_back({known[operand], shapes[operand], {}});
      known.push_back(values.whole(values.intern(std::move(expr))));
      shapes.push_back(shape);
    }
  }
  std::vector<Value> outputs;
  for (uint32_t result : kernel.results())
    outputs.push_back(known[result]);
  // A kernel whose body is not there is known by its name.
  for (int r = kernel.results_size(); r < launch.outputs_size(); ++r) {
    Expr expr{"kernel " + kernel.symbol(),        "", {},         r,
              product(launch.outputs(r).shape()), {}, values.now, {}};
    for (int i = 0; i < launch.inputs_size(); ++i)
      expr.operands.push_back({inputs[i], shapes[i], {}});
    outputs.push_back(values.whole(values.intern(std::move(expr))));
  }
  return outputs;
}

bool mayLieInPlace(const plan::Kernel &kernel, const plan::Launch &launch,
                   int input, int output) {
  if (launch.inputs(input).dtype() != launch.outputs(output).dtype() ||
      product(launch.inputs(input).shape()) !=
          product(launch.outputs(output).shape()))
    return false;
  if (kernel.body().empty())
    return true; // nothing is said of it
  int64_t count = product(launch.inputs(input).shape());
  // How far each value's elements lie from those of the input that they are
  // made of, in elements; nothing for what is made of others. What moves them
  // otherwise than by a part of the rows makes another order of them.
  static const std::set<std::string, std::less<>> moving = {
      "transpose", "reverse", "concat", "gather",
      "gather_nd", "rope",    "cumsum"};
  std::vector<std::optional<int64_t>> shifts(launch.inputs_size());
  std::vector<Shape> shapes;
  for (const plan::Tensor &tensor : launch.inputs())
    shapes.push_back(shapeOf(tensor));
  shifts[input] = 0;
  for (const plan::Kernel::Op &op : kernel.body()) {
    std::optional<int64_t> shift;
    for (uint32_t operand : op.operands()) {
      if (shift && shifts[operand] && *shift != *shifts[operand])
        return false;
      shift = shift ? shift : shifts[operand];
    }
    bool cuts = op.name() == "slice", pads = op.name() == "pad";
    if (shift && (cuts || pads)) {
      const Shape &from = shapes[op.operands(0)];
      Shape to = shapeOf(op.results(0));
      Shape begins = numbersOf(op, cuts ? "starts" : "low");
      size_t first = 0; // the one dim that may be another
      while (first < from.size() && from[first] == 1 && to[first] == 1)
        ++first;
      for (size_t d = 0; d < from.size(); ++d)
        if (d != first && from[d] != to[d])
          return false;
      for (int64_t step : numbersOf(op, cuts ? "strides" : "interior"))
        if (step != (cuts ? 1 : 0))
          return false;
      if (first < begins.size())
        *shift +=
            begins[first] * rowMajor(from).dims[first].stride * (cuts ? 1 : -1);
    } else if (shift && moving.contains(op.name())) {
      return false;
    }
    // Sums over rows have fewer elements; what is computed of them for each
    // row has them again.
    for (const plan::Kernel::Type &result : op.results()) {
      if (shift && product(result.shape()) > count)
        return false;
      shifts.push_back(shift);
      shapes.push_back(shapeOf(result));
    }
  }
  return std::ranges::all_of(kernel.results(), [&](uint32_t result) {
    return shifts[result].value_or(0) == 0;
  });
}

void checkLaunch(const plan::Plan &plan, const plan::Entry &entry,
                 Findings &findings) {
  const plan::Launch &launch = entry.launch();
  const plan::Kernel &kernel = plan.kernels(int(launch.kernel()));
  const std::string &where = entry.name();
  int operands = launch.inputs_size() + launch.outputs_size();
  if (operands != kernel.argument_bytes_size())
    return findings.add(where, "has ", operands, " operands, kernel ",
                        kernel.symbol(), " takes ",
                        kernel.argument_bytes_size());
  for (int i = 0; i < operands; ++i) {
    const plan::Tensor &tensor = i < launch.inputs_size()
                                     ? launch.inputs(i)
                                     : launch.outputs(i - launch.inputs_size());
    auto strides = kernel.strides().find(uint32_t(i));
    bool lies =
        strides == kernel.strides().end()
            ? isContiguous(tensor)
            : std::ranges::equal(tensor.strides(), strides->second.strides());
    int64_t bytes = placesOf(tensor).reach() + bytesOf(tensor.dtype());
    if (!lies || bytes != kernel.argument_bytes(i))
      findings.add(where, "operand ", i, " has ", bytes,
                   lies ? "" : " scattered", " bytes, kernel ", kernel.symbol(),
                   " takes ", kernel.argument_bytes(i));
  }
  if (where.find(kernel.symbol()) == where.npos)
    findings.add(where, "launches kernel ", kernel.symbol());
  size_t known = launch.inputs_size();
  for (const plan::Kernel::Op &op : kernel.body()) {
    for (uint32_t operand : op.operands())
      if (operand >= known)
        findings.add("kernel " + kernel.symbol(), op.name(), " reads value ",
                     operand, " of ", known);
    known += op.results_size();
  }
  if (!kernel.body().empty() && kernel.results_size() != launch.outputs_size())
    findings.add(where, "has ", launch.outputs_size(), " outputs, kernel ",
                 kernel.symbol(), " has ", kernel.results_size());
  for (uint32_t result : kernel.results())
    if (result >= known)
      findings.add("kernel " + kernel.symbol(), "returns value ", result,
                   " of ", known);
}

} // namespace shardc::check
