// Expressions are found again by a hash of 128 bits of all that they consist
// of: that two different ones have one is as likely as a fault of the machine.
#include "tools/shardc-check/Values.h"

#include <algorithm>
#include <xxhash.h>

namespace shardc::check {

namespace {
std::string text(std::pair<uint64_t, uint64_t> hash) {
  return std::to_string(hash.first) + "," + std::to_string(hash.second);
}
std::pair<uint64_t, uint64_t> hashOf(const std::string &key) {
  XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return {hash.high64, hash.low64};
}
} // namespace

int Values::intern(Expr expr) {
  std::string key = expr.op + "\n" + expr.attributes + "\n" +
                    std::to_string(expr.result) + "\n" +
                    std::to_string(expr.count);
  for (const Operand &operand : expr.operands) {
    key += "\n" + text(hash(operand.value)) + "@" + operand.place.text();
    for (int64_t size : operand.shape)
      key += "x" + std::to_string(size);
  }
  for (const Link &link : expr.chain)
    key += (link.scatters ? "\ns" : "\na") + std::to_string(link.group);
  expr.hash = hashOf(key);
  auto [found, isNew] = known.try_emplace(expr.hash, int(exprs.size()));
  if (isNew)
    exprs.push_back(std::move(expr));
  return found->second;
}

std::pair<uint64_t, uint64_t> Values::hash(const Value &value) const {
  if (value.expr < 0)
    return {0, 0};
  return hashOf(text(exprs[value.expr].hash) + "/" + value.view.text());
}

Value Values::splat(const std::string &number, int64_t count) {
  return {intern({"splat", number, {}, 0, 1, {}, now, {}}),
          View{0, {{count, 0}}}.canonical()};
}

Value Values::look(const Value &value, const View &view) {
  if (value.expr < 0)
    return value;
  if (auto composed = compose(value.view, view)) {
    const Expr &expr = exprs[value.expr];
    if (expr.op == "assemble") {
      std::vector<Piece> pieces;
      for (const Operand &operand : expr.operands)
        pieces.push_back({operand.place, operand.value});
      bool isWhole = composed->count() == expr.count;
      if (!isWhole)
        if (auto found = resolve(pieces, *composed, 1))
          return *found;
    }
    return {value.expr, *composed};
  }
  View places = view.canonical();
  return whole(intern({"view",
                       places.text(),
                       {{value, {}, {}}},
                       0,
                       places.count(),
                       {},
                       now,
                       {}}));
}

std::optional<Value> Values::resolve(const std::vector<Piece> &pieces,
                                     const View &view, int64_t unit) {
  for (const Piece &piece : pieces)
    if (auto numbers = numbersIn(piece.place, view))
      return look(piece.value, *numbers);
  auto isRow = [&](const View &v) {
    return v.dims.empty() || (v.dims.size() == 1 && v.dims[0].stride == unit);
  };
  View wanted = view.canonical();
  std::vector<Piece> parts;
  int64_t count = 0;
  for (const Piece &piece : pieces) {
    View place = piece.place.canonical();
    if (auto numbers = numbersIn(wanted, place)) {
      parts.push_back({*numbers, piece.value});
    } else if (isRow(wanted) && isRow(place)) {
      int64_t begin = std::max(wanted.offset, place.offset);
      int64_t end = std::min(wanted.offset + wanted.count() * unit,
                             place.offset + place.count() * unit);
      if (begin >= end)
        continue;
      View part{(begin - place.offset) / unit, {{(end - begin) / unit, 1}}};
      parts.push_back({{(begin - wanted.offset) / unit, part.dims},
                       look(piece.value, part)});
    } else {
      continue;
    }
    count += parts.back().place.count();
  }
  if (count != wanted.count())
    return std::nullopt;
  return assemble(std::move(parts), count);
}

Value Values::assemble(std::vector<Piece> pieces, int64_t count) {
  std::ranges::sort(pieces, [](const Piece &a, const Piece &b) {
    return a.place.offset < b.place.offset;
  });
  Expr expr{"assemble", "", {}, 0, count, {}, now, {}};
  for (Piece &piece : pieces) {
    View place = piece.place.canonical();
    // Neighbours that are neighbours in their expression, too, are one.
    if (!expr.operands.empty()) {
      Operand &last = expr.operands.back();
      int64_t before = last.place.count(), own = place.count();
      View both{last.place.offset, {{before + own, 1}}};
      View joined{last.value.view.offset, {{before + own, 1}}};
      auto isRow = [](const View &view) {
        return view.dims.empty() ||
               view == View{view.offset, {{view.count(), 1}}};
      };
      if (last.value.expr == piece.value.expr && isRow(last.place) &&
          isRow(place) && last.place.offset + before == place.offset &&
          isRow(last.value.view) && isRow(piece.value.view) &&
          last.value.view.offset + before == piece.value.view.offset) {
        last.place = both.canonical();
        last.value.view = joined.canonical();
        continue;
      }
    }
    expr.operands.push_back({piece.value, {}, place});
  }
  if (expr.operands.size() == 1 &&
      expr.operands[0].place == View{0, {{count, 1}}}.canonical())
    return expr.operands[0].value;
  return whole(intern(std::move(expr)));
}

Value Values::overlay(const Value &under, const Value &over,
                      const View &place) {
  int64_t count = under.view.count();
  View row = place.canonical();
  if (row == View{row.offset, {{row.count(), 1}}}.canonical()) {
    std::vector<Piece> pieces = {{row, over}};
    int64_t end = row.offset + row.count();
    if (row.offset > 0)
      pieces.push_back(
          {View{0, {{row.offset, 1}}}, slice(under, 0, row.offset)});
    if (end < count)
      pieces.push_back(
          {View{end, {{count - end, 1}}}, slice(under, end, count - end)});
    return assemble(std::move(pieces), count);
  }
  return whole(intern({"overlay",
                       "",
                       {{under, {}, {}}, {over, {}, row}},
                       0,
                       count,
                       {},
                       now,
                       {}}));
}

Value Values::slice(const Value &value, int64_t begin, int64_t count) {
  return look(value, {begin, {{count, 1}}});
}

Value Values::replace(const Value &value, const std::map<int, Value> &by,
                      std::set<int> *met) {
  if (by.empty() || value.expr < by.begin()->first)
    return value;
  // Operands have lower numbers than what is made of them: what the value is
  // made of is found downwards, and made anew upwards.
  const int first = by.begin()->first, count = value.expr + 1 - first;
  std::vector<bool> isPart(count);
  isPart[count - 1] = true;
  for (int e = count - 1; e >= 0; --e)
    for (const Operand &operand : exprs[first + e].operands)
      if (isPart[e] && operand.value.expr >= first)
        isPart[operand.value.expr - first] = true;
  std::map<int, Value> made;
  for (int e = first; e <= value.expr; ++e) {
    if (!isPart[e - first])
      continue;
    if (auto found = by.find(e); found != by.end()) {
      made[e] = found->second;
      if (met)
        met->insert(e);
      continue;
    }
    Expr expr = exprs[e];
    bool isOther = false;
    for (Operand &operand : expr.operands)
      if (auto found = made.find(operand.value.expr); found != made.end()) {
        operand.value = look(found->second, operand.value.view);
        isOther = true;
      }
    if (isOther)
      made[e] = whole(intern(std::move(expr)));
  }
  auto found = made.find(value.expr);
  return found == made.end() ? value : look(found->second, value.view);
}

Differ::Differ(const Values &values, const Values &reference)
    : values(values), reference(reference) {}

std::optional<Difference> Differ::find(const Value &value,
                                       const Value &wanted) {
  if (values.hash(value) == reference.hash(wanted))
    return std::nullopt;
  if (value.expr < 0 || wanted.expr < 0)
    return Difference{-1, "is not known"};
  if (values[value.expr].hash == reference[wanted.expr].hash)
    return Difference{values[value.expr].place,
                      "other elements of " + words(values, value)};
  return descend(value.expr, wanted.expr);
}

std::string Differ::words(const Values &of, const Value &value) const {
  if (value.expr < 0)
    return "nothing";
  const Expr &expr = of[value.expr];
  std::string name = expr.op;
  if (expr.operands.empty())
    name += " " + expr.attributes;
  else if (expr.result)
    name += "#" + std::to_string(expr.result);
  return name + " [" + value.view.text() + "]";
}

Difference Differ::descend(int a, int b) {
  const Expr &expr = values[a], &wanted = reference[b];
  if (expr.op != wanted.op || expr.result != wanted.result)
    return {expr.place, "computes " + words(values, values.whole(a)) +
                            ", expected " +
                            words(reference, reference.whole(b))};
  if (expr.attributes != wanted.attributes)
    return {expr.place, expr.op + " has " + expr.attributes + ", expected " +
                            wanted.attributes};
  if (expr.operands.size() != wanted.operands.size() ||
      expr.chain != wanted.chain || expr.count != wanted.count)
    return {expr.place, expr.op + " takes " +
                            std::to_string(expr.operands.size()) +
                            " operands, expected " +
                            std::to_string(wanted.operands.size())};
  for (size_t i = 0; i < expr.operands.size(); ++i) {
    const Operand &own = expr.operands[i], &other = wanted.operands[i];
    if (values.hash(own.value) == reference.hash(other.value)) {
      if (own.shape == other.shape && own.place == other.place)
        continue;
      return {expr.place, "reads " + words(values, own.value) +
                              " in another shape or place"};
    }
    const Expr *mine = own.value.expr < 0 ? nullptr : &values[own.value.expr];
    const Expr *its =
        other.value.expr < 0 ? nullptr : &reference[other.value.expr];
    bool differsHere = !mine || !its || mine->hash == its->hash ||
                       mine->op != its->op || mine->operands.empty() ||
                       own.value.view != other.value.view;
    // What the reference has as well, elsewhere, was computed as it should be.
    if (mine && !differsHere && &values != &reference) {
      if (inReference.empty())
        for (int e = 0; e < reference.size(); ++e)
          inReference[reference[e].hash] = true;
      differsHere = inReference.contains(mine->hash);
    }
    if (differsHere)
      return {expr.place, "operand " + std::to_string(i) + " of " + expr.op +
                              " is " + words(values, own.value) +
                              ", expected " + words(reference, other.value)};
    return descend(own.value.expr, other.value.expr);
  }
  return {expr.place, "differs"};
}

} // namespace shardc::check
