// Machines that are built in, each number with its source, and those that a
// TOML file describes.
#include "passes/options/Cluster.h"

#include "frontend/files/RegularFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

// The compiler is built without exceptions, and reads one file: no library to
// link.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <cmath>
#include <optional>

using namespace llvm;
using namespace shardc;

namespace {

constexpr double microsecond = 1e-6, gigabyte = 1e9, teraflop = 1e12;
/// A machine's description has a dozen lines.
constexpr uint64_t mostBytes = 1 << 20;

//===----------------------------------------------------------------------===//
// Built in
//===----------------------------------------------------------------------===//

// Latencies of a step between GPUs are what NCCL plans with: hwLat, ring,
// Simple protocol, in src/graph/tuning.cc.
constexpr double ncclNvlink = 3.4, ncclPci = 5.7, ncclNetwork = 14.0; // us

Cluster makeCluster(StringRef name, int64_t ranksPerNode, Link inside,
                    Link between, double memoryGB, double memoryGBPerSecond,
                    double teraflops16, double teraflops32,
                    double teraflops64) {
  Cluster cluster;
  cluster.name = name.str();
  cluster.ranksPerNode = ranksPerNode;
  cluster.insideNode = inside;
  cluster.betweenNodes = between;
  cluster.memory = memoryGB * gigabyte;
  cluster.memoryBandwidth = memoryGBPerSecond * gigabyte;
  cluster.flops16 = teraflops16 * teraflop;
  cluster.flops32 = teraflops32 * teraflop;
  cluster.flops64 = teraflops64 * teraflop;
  return cluster;
}

Link link(double gigabytesPerSecond, double microseconds) {
  return {gigabytesPerSecond * gigabyte, microseconds * microsecond};
}

ArrayRef<Cluster> machines() {
  static const Cluster list[] = {
      // Threads of one process. A gathered byte is read once and written once
      // through memory that all ranks share: 10 GB/s each is a fifth of two
      // channels of DDR4-3200 (51.2 GB/s, JEDEC JESD79-4). A step waits for
      // another thread: two wake-ups of a few microseconds. Arithmetic is one
      // core with AVX2 at 3 GHz: two multiply-adds of eight float32 per cycle
      // make 96 GFLOP/s, half of it in float64; values of 2 bytes are computed
      // in float32. Memory is a share of a common server's; a kernel of one of
      // two ranks has half of those two channels, 20 GB/s after refreshes.
      makeCluster("cpu", std::numeric_limits<int64_t>::max(), link(10, 5), {},
                  32, 20, 0.096, 0.096, 0.048),
      // NVIDIA DGX H100 data sheet and H100 SXM data sheet: fourth NVLink,
      // 900 GB/s per GPU in both directions; a 400 Gb/s ConnectX-7 per GPU;
      // 80 GB at 3.35 TB/s; dense 989.4 TFLOP/s bfloat16 and float16 (tensor
      // cores), 66.9 float32, 66.9 float64 (tensor cores).
      makeCluster("dgx-h100", 8, link(450, ncclNvlink), link(50, ncclNetwork),
                  80, 3350, 989.4, 66.9, 66.9),
      // NVIDIA DGX A100 data sheet and A100 data sheet: third NVLink, 600 GB/s
      // per GPU in both directions; a 200 Gb/s ConnectX-6 per GPU; 80 GB at
      // 2.039 TB/s; dense 312 TFLOP/s bfloat16 and float16 (tensor cores), 19.5
      // float32, 19.5 float64 (tensor cores).
      makeCluster("dgx-a100", 8, link(300, ncclNvlink), link(25, ncclNetwork),
                  80, 2039, 312, 19.5, 19.5),
      // Eight L40S without NVLink, as cloud providers rent them (AWS
      // g6e.48xlarge: 400 Gb/s of network for the node). NVIDIA L40S data
      // sheet: PCIe 4.0 x16, 64 GB/s in both directions; 48 GB at 864 GB/s;
      // dense 362.05 TFLOP/s bfloat16 and float16 (tensor cores), 91.6 float32;
      // float64 at a 64th of that.
      makeCluster("cloud-l40s", 8, link(32, ncclPci), link(6.25, ncclNetwork),
                  48, 864, 362.05, 91.6, 1.43),
  };
  return list;
}

//===----------------------------------------------------------------------===//
// TOML
//===----------------------------------------------------------------------===//

/// Reads one file's tables; keeps the first error.
class Reader {
public:
  explicit Reader(StringRef path) : path(path) {}

  void fail(const toml::node &where, const Twine &what) {
    if (error.empty())
      error =
          (path + ":" + Twine(where.source().begin.line) + ": " + what).str();
  }

  /// Errors for keys of `table` that are not in `known`. `of`: " of [name]", or
  /// empty.
  void checkKeys(const toml::table &table, ArrayRef<StringRef> known,
                 const Twine &of) {
    for (auto &&[key, node] : table)
      if (!is_contained(known, StringRef(key.str().data(), key.str().size())))
        fail(node, "unknown key '" +
                       Twine(StringRef(key.str().data(), key.str().size())) +
                       "'" + of + "; there are " + join(known, ", "));
  }

  /// A number above 0 (from 0 on where `orZero`) under `key`, times `unit`.
  std::optional<double> number(const toml::table &table, StringRef key,
                               double unit, const Twine &of,
                               bool orZero = false) {
    const toml::node *node = table.get(std::string_view(key));
    if (!node) {
      fail(table, "key '" + key + "'" + of + " is missing");
      return std::nullopt;
    }
    std::optional<double> value = node->value<double>();
    if (!node->is_number() || !value || !std::isfinite(*value) ||
        (orZero ? *value < 0 : *value <= 0)) {
      fail(*node, "key '" + key + "'" + of + ": expects a number " +
                      (orZero ? "from 0 on" : "above 0") + ", got " +
                      describe(*node));
      return std::nullopt;
    }
    return *value * unit;
  }

  const toml::table *table(const toml::table &in, StringRef key) {
    const toml::node *node = in.get(std::string_view(key));
    if (!node)
      return nullptr;
    if (!node->is_table())
      fail(*node, "'" + key + "': expects a table, [" + key + "], got " +
                      describe(*node));
    return node->as_table();
  }

  Link link(const toml::table &in, StringRef key) {
    const toml::table *entries = table(in, key);
    if (!entries)
      return {};
    std::string of = (" of [" + key + "]").str();
    checkKeys(*entries, {"bandwidth_gb_per_s", "latency_us"}, of);
    Link result;
    result.bandwidth =
        number(*entries, "bandwidth_gb_per_s", gigabyte, of).value_or(0);
    result.latency =
        number(*entries, "latency_us", microsecond, of, /*orZero=*/true)
            .value_or(0);
    return result;
  }

  std::string error;

private:
  static std::string describe(const toml::node &node) {
    if (auto text = node.value<std::string>())
      return "\"" + *text + "\"";
    if (auto truth = node.as_boolean())
      return truth->get() ? "true" : "false";
    if (auto value = node.value<double>())
      return formatv("{0}", *value).str();
    return node.is_table() ? "a table" : node.is_array() ? "a list" : "a date";
  }

  StringRef path;
};

} // namespace

double Cluster::flopsPerSecond(int64_t elementBytes) const {
  return elementBytes == 2 ? flops16 : elementBytes == 8 ? flops64 : flops32;
}

SmallVector<StringRef> Cluster::builtIn() {
  return map_to_vector(machines(), [](const Cluster &cluster) {
    return StringRef(cluster.name);
  });
}

Expected<Cluster> Cluster::load(StringRef nameOrPath) {
  for (const Cluster &cluster : machines())
    if (nameOrPath == cluster.name ||
        (nameOrPath.empty() && cluster.name == "cpu"))
      return cluster;
  auto file = mapRegularFile(nameOrPath);
  if (!file)
    return createStringError(
        "--cluster " + nameOrPath + ": " + toString(file.takeError()) +
        "; it is a TOML file or one of " + join(builtIn(), ", "));
  return parse((*file)->getBuffer(), nameOrPath);
}

Expected<Cluster> Cluster::parse(StringRef text, StringRef path) {
  if (text.size() > mostBytes)
    return createStringError("--cluster " + path + ": has " +
                             Twine(text.size()) + " bytes, at most " +
                             Twine(mostBytes) + " are read");
  toml::parse_result parsed = toml::parse(std::string_view(text));
  if (!parsed) {
    const toml::parse_error &error = parsed.error();
    return createStringError(
        "--cluster " + path + ":" + Twine(error.source().begin.line) + ": " +
        StringRef(error.description().data(), error.description().size()));
  }
  const toml::table &file = parsed.table();
  std::string place = ("--cluster " + path).str();
  Reader reader(place);
  reader.checkKeys(file,
                   {"name", "ranks_per_node", "memory_gb",
                    "memory_bandwidth_gb_per_s", "inside_node", "between_nodes",
                    "tflop_per_s"},
                   "");
  Cluster cluster;
  cluster.name = path.str();
  if (const toml::node *name = file.get("name")) {
    if (auto value = name->value<std::string>())
      cluster.name = *value;
    else
      reader.fail(*name, "key 'name': expects a text in quotes");
  }
  cluster.memory = reader.number(file, "memory_gb", gigabyte, "").value_or(0);
  for (StringRef key : {"inside_node", "tflop_per_s"})
    if (!file.contains(std::string_view(key)))
      reader.fail(file, "table [" + key + "] is missing");
  cluster.insideNode = reader.link(file, "inside_node");
  cluster.betweenNodes = reader.link(file, "between_nodes");
  // A byte from another rank is read and written here.
  cluster.memoryBandwidth = 2 * cluster.insideNode.bandwidth;
  if (file.contains("memory_bandwidth_gb_per_s"))
    cluster.memoryBandwidth =
        reader.number(file, "memory_bandwidth_gb_per_s", gigabyte, "")
            .value_or(0);
  // One without the other says nothing.
  if (const toml::node *ranks = file.get("ranks_per_node")) {
    std::optional<int64_t> value = ranks->value_exact<int64_t>();
    if (!value || *value < 1)
      reader.fail(*ranks, "key 'ranks_per_node': expects a whole number from 1 "
                          "on");
    else
      cluster.ranksPerNode = *value;
    if (!file.contains("between_nodes"))
      reader.fail(*ranks, "ranks_per_node needs the table [between_nodes]");
  } else if (const toml::node *between = file.get("between_nodes")) {
    reader.fail(*between, "[between_nodes] needs the key ranks_per_node");
  }
  if (const toml::table *rates = reader.table(file, "tflop_per_s")) {
    constexpr StringRef of = " of [tflop_per_s]";
    reader.checkKeys(*rates, {"float64", "float32", "bfloat16"}, of);
    cluster.flops64 =
        reader.number(*rates, "float64", teraflop, of).value_or(0);
    cluster.flops32 =
        reader.number(*rates, "float32", teraflop, of).value_or(0);
    cluster.flops16 =
        reader.number(*rates, "bfloat16", teraflop, of).value_or(0);
  }
  if (!reader.error.empty())
    return createStringError(Twine(reader.error));
  return cluster;
}
