// Parsing of --mesh, --strategy and how units are resharded, with the lines
// that users read when they are wrong.
#include "passes/options/Mesh.h"
#include "passes/options/UnitsOption.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace shardc;

static Error meshError(StringRef text, const Twine &what) {
  return createStringError("mesh " + text + ": " + what);
}

int64_t MeshShape::ranks() const {
  int64_t product = 1;
  for (int64_t size : dims)
    product *= size;
  return product;
}

static Error addDim(StringRef text, StringRef size, MeshShape &mesh) {
  if (size.empty() || !all_of(size, isDigit)) {
    // 2,8 and 2X8 are meant to be two.
    std::string meant;
    for (char c : text)
      meant += isDigit(c) ? c : 'x';
    const bool isTwo = StringRef(meant).count('x') == 1 &&
                       meant.front() != 'x' && meant.back() != 'x' &&
                       text != meant;
    return meshError(text, "expected a number of ranks (8), two (2x8), or "
                           "names (replicate=2,shard=8)" +
                               (isTwo ? "; did you mean --mesh " + meant + "?"
                                      : std::string()));
  }
  int64_t value = 0;
  // Digits that do not fit count as many.
  bool tooMany = size.getAsInteger(10, value) || value > mostRanks;
  if (!tooMany && value < 1)
    return meshError(text, "a mesh dimension must be at least 1");
  mesh.dims.push_back(tooMany ? mostRanks + 1 : value);
  if (tooMany || mesh.ranks() > mostRanks)
    return meshError(text, "a mesh has at most " + Twine(mostRanks) + " ranks");
  return Error::success();
}

static Expected<MeshShape> parseNamedMesh(StringRef text) {
  MeshShape mesh;
  mesh.named = true;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, size] = part.split('=');
    name.consume_front("dp_");
    if (name != "replicate" && name != "shard")
      return meshError(text, "there is no dimension '" + part.split('=').first +
                                 "'; dimensions are replicate and shard");
    if (is_contained(mesh.names, name.str()))
      return meshError(text, "names " + name + " twice");
    if (name == "replicate" && !mesh.names.empty())
      return meshError(text, "expected replicate before shard: the ranks of a "
                             "shard group are neighbours");
    if (Error failure = addDim(text, size, mesh))
      return failure;
    mesh.names.push_back(name.str());
  }
  return mesh;
}

Expected<MeshShape> shardc::parseMesh(StringRef text) {
  if (text.contains('='))
    return parseNamedMesh(text);
  MeshShape mesh;
  SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts)
    if (Error failure = addDim(text, part, mesh))
      return failure;
  if (mesh.dims.size() > 2)
    return meshError(text, "a mesh has one or two dimensions, got " +
                               Twine(mesh.dims.size()));
  if (mesh.dims.size() == 2)
    mesh.names.push_back("replicate");
  mesh.names.push_back("shard");
  return mesh;
}

static int64_t productOf(ArrayRef<int64_t> over, const MeshShape &mesh) {
  int64_t product = 1;
  for (int64_t dim : over)
    product *= mesh.dims[dim];
  return product;
}
int64_t Sharding::parameterShards(const MeshShape &mesh) const {
  return productOf(parameters, mesh);
}
int64_t Sharding::optimizerShards(const MeshShape &mesh) const {
  return productOf(optimizer, mesh);
}

Expected<Sharding> shardc::resolveStrategy(StringRef strategy,
                                           const MeshShape &mesh) {
  bool twoDims = mesh.dims.size() == 2;
  if (strategy.empty())
    strategy = twoDims ? "hybrid" : mesh.names[0] == "shard" ? "full" : "none";
  Sharding sharding;
  sharding.strategy = strategy.str();
  SmallVector<int64_t> all = to_vector(seq<int64_t>(0, mesh.dims.size()));
  if (strategy == "full" || strategy == "grad_op") {
    sharding.parameters = sharding.optimizer = all;
    sharding.keepsGathered = strategy == "grad_op";
  } else if (strategy == "opt") {
    sharding.optimizer = all;
  } else if (strategy == "hybrid" || strategy == "hybrid_grad_op" ||
             strategy == "hybrid_opt") {
    if (!twoDims)
      return createStringError(
          "strategy " + strategy + ": the mesh has one dimension of " +
          Twine(mesh.dims[0]) +
          "; hybrid strategies shard inside dimension 1 and replicate "
          "over dimension 0, as in --mesh 2x" +
          Twine(std::max<int64_t>(mesh.dims[0] / 2, 1)));
    sharding.parameters = sharding.optimizer = {1};
    if (strategy == "hybrid_opt")
      sharding.optimizer.push_back(0);
    sharding.keepsGathered = strategy == "hybrid_grad_op";
  } else if (strategy != "none") {
    return createStringError(
        "strategy " + strategy +
        ": there are full, grad_op, hybrid, hybrid_grad_op, "
        "hybrid_opt, opt and none");
  }
  return sharding;
}

Expected<ReshardOption> ReshardOption::parse(StringRef flag, StringRef text) {
  ReshardOption option;
  if (text == "default" || text == "always" || text == "never") {
    option.kind = text == "default"  ? Default
                  : text == "always" ? Always
                                     : Never;
    return option;
  }
  option.kind = Groups;
  if (text.empty() || !all_of(text, isDigit) ||
      text.getAsInteger(10, option.group) || option.group < 1)
    return createStringError(
        flag + " " + text +
        ": expected default, always, never, or the number of ranks "
        "that gather among themselves in backward");
  return option;
}

Error ReshardOption::check(StringRef flag, const Sharding &sharding,
                           const MeshShape &mesh) const {
  if (kind == Default)
    return Error::success();
  int64_t shards = sharding.parameterShards(mesh);
  if (sharding.parameters.empty())
    return createStringError(
        flag + ": strategy " + sharding.strategy +
        " keeps all parameters on every rank; there is nothing to "
        "reshard");
  if (sharding.keepsGathered && kind != Never)
    return createStringError(
        flag + ": strategy " + sharding.strategy +
        " keeps parameters gathered until backward; use " +
        (sharding.strategy == "grad_op" ? "full" : "hybrid"));
  if (kind != Groups)
    return Error::success();
  std::string divisors;
  for (int64_t n = 2; n < shards; ++n)
    if (shards % n == 0)
      divisors += (divisors.empty() ? "" : ", ") + std::to_string(n);
  if (group > 1 && group < shards && shards % group == 0)
    return Error::success();
  return createStringError(
      flag + " " + Twine(group) + ": expected a divisor of the " +
      Twine(shards) + " shards other than 1 and " + Twine(shards) +
      (divisors.empty() ? ", of which there is none" : ": " + divisors));
}

Expected<bool> shardc::parseStays(StringRef flag, StringRef text) {
  if (text == "always" || text == "never")
    return text == "never";
  return createStringError(flag + " " + text + ": expected always or never");
}

Expected<UnitOption> UnitOption::parse(StringRef text) {
  auto failure = [&](const Twine &what) {
    return createStringError("--unit-option " + text + ": " + what);
  };
  UnitOption option;
  SmallVector<std::string> parts;
  for (StringRef part : split(text, ','))
    if (part.contains('=') || parts.empty())
      parts.push_back(part.str());
    else // a comma of the regular expression: x{1,2}
      parts.back() += ("," + part).str();
  StringSet<> given;
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    if (value.empty())
      return failure("expected KEY=VALUE, got '" + part + "'");
    if (!given.insert(key).second)
      return failure("'" + key + "' is given twice");
    if (key == "match") {
      option.match = value.str();
    } else if (key == "reshard") {
      auto reshard = ReshardOption::parse("reshard", value);
      if (!reshard)
        return failure(toString(reshard.takeError()));
      option.reshard = *reshard;
    } else if (key == "after-backward") {
      auto stays = parseStays(key, value);
      if (!stays)
        return failure(toString(stays.takeError()));
      option.stays = *stays;
    } else if (key == "precision") {
      option.precision = value.str();
    } else {
      return failure("there is no '" + key +
                     "'; there are match, reshard, after-backward and "
                     "precision");
    }
  }
  if (option.match.empty())
    return failure("expected match=REGEX, which says for which units");
  std::string problem;
  if (!Regex(translatePattern(option.match)).isValid(problem))
    return failure("match is no regular expression: " + problem);
  if (!option.reshard && !option.stays && option.precision.empty())
    return failure("says nothing; add reshard=..., after-backward=... or "
                   "precision=...");
  return option;
}
