// A table of embeddings whose rows travel: what comes of it is what lookups in
// the gathered table, and the reduction of its gradient, would make.
#include "tools/shardc-check/Run.h"

namespace shardc::check {

const plan::Parameter *Run::tableOf(const plan::Entry &entry, uint32_t u,
                                    uint32_t group) {
  const plan::Unit &of = unit(u);
  demandUnitName(entry, u);
  auto wrong = [&](const auto &...what) {
    findings.add(entry.name(), what...);
    return nullptr;
  };
  if (of.parameters_size() != 1)
    return wrong("has rows of unit ", of.name(), " travel, which has ",
                 of.parameters_size(), " parameters");
  const plan::Parameter &table = plan.parameters(int(of.parameters(0)));
  if (table.shape_size() != 2 || table.flat_offset() != 0)
    return wrong("has rows of ", table.name(),
                 " travel, which is no table at "
                 "the beginning of its unit");
  int64_t width = table.shape(1), ranksOfGroup = plan.groups(int(group)).size();
  if (width == 0 || width % ranksOfGroup ||
      of.elements() % (ranksOfGroup * width))
    return wrong("cuts rows of ", width, " elements, and a unit of ",
                 of.elements(), ", among ", ranksOfGroup, " ranks");
  if (std::string cut = ranks.gathersAll(group, of.shards()); !cut.empty())
    return wrong("has rows of unit ", of.name(), " travel: ", cut);
  return &table;
}

/// What an entry of such a kind makes of two operands, by its name.
static std::string text(const plan::Tensor &like,
                        const std::vector<int64_t> &shape) {
  return concat("type=", int(like.dtype()), ";", rowMajor(shape).text());
}

void Run::gatherRows(const plan::Entry &entry, Flight &flight) {
  const plan::GatherRowsStart &start = entry.gather_rows_start();
  const std::string &where = entry.name();
  Value ids = memory.read(where, start.ids());
  const plan::Parameter *table = tableOf(entry, start.unit(), start.group());
  if (!table)
    return;
  if (units[start.unit()].isPartial)
    findings.add(where, "looks up rows of ", table->name(),
                 " before its updates are gathered");
  std::vector<int64_t> shape = shapeOf(start.ids());
  shape.push_back(table->shape(1));
  if (shapeOf(start.rows()) != shape)
    return findings.add(where, "looks up rows of another shape than ids say");
  // As an Embedding's operands are told apart.
  Value rows = operation(
      "Embedding.output0", text(start.rows(), shape),
      {{values.leaf("parameter", table->name(), product(table->shape())),
        {table->shape().begin(), table->shape().end()},
        View{int64_t(std::string("table").size()), {}}},
       {ids, shapeOf(start.ids()),
        View{int64_t(std::string("ids").size()), {}}}},
      product(start.rows().shape()));
  flight.land = [this, where, rows, to = &start.rows()] {
    memory.write(where, *to, rows);
  };
}

Value Run::rowGradient(const plan::Entry &entry) {
  const plan::ReduceRowsStart &start = entry.reduce_rows_start();
  const std::string &where = entry.name();
  const plan::Unit &of = unit(start.unit());
  Value gradient = memory.read(where, start.gradient()),
        ids = memory.read(where, start.ids());
  const plan::Parameter *table = tableOf(entry, start.unit(), start.group());
  if (!table)
    return {};
  int64_t slice = of.elements() / plan.groups(int(start.group())).size();
  if (product(start.shard().shape()) != slice ||
      start.shard().dtype() != of.gradient_dtype()) {
    findings.add(where, "reduces ", of.elements(), " elements into slices of ",
                 product(start.shard().shape()));
    return {};
  }
  std::vector<int64_t> shape = shapeOf(start.ids());
  shape.push_back(table->shape(1));
  if (shapeOf(start.gradient()) != shape) {
    findings.add(where, "adds rows of another shape than ids say");
    return {};
  }
  std::vector<int64_t> whole(table->shape().begin(), table->shape().end());
  Value made = operation(
      "EmbeddingGrad.table_gradient0", text(start.shard(), whole),
      {{gradient, shape, View{int64_t(std::string("gradient").size()), {}}},
       {ids, shapeOf(start.ids()),
        View{int64_t(std::string("ids").size()), {}}}},
      product(table->shape()));
  int64_t bytes = bytesOf(start.shard().dtype()),
          rows = product(table->shape());
  std::vector<Piece> pieces = {{row(0, rows, bytes), made}};
  if (int64_t padding = of.elements() - rows; padding > 0)
    pieces.push_back(
        {row(rows, padding, bytes),
         values.splat(concat(numberText("0"), ":", int(start.shard().dtype())),
                      padding)});
  auto flat = values.resolve(pieces, row(0, of.elements(), bytes), bytes);
  return flat ? *flat : Value{};
}

} // namespace shardc::check
