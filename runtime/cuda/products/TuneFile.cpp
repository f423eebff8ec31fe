// A tuning file is JSON: where it was timed, and an object for each product.
#include "runtime/cuda/products/TuneFile.h"

#include "runtime/base/Error.h"
#include "runtime/base/JsonNumber.h"

#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/stat.h>
#include <utility>

namespace shardc::runtime::cuda {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *format = "shardc tuned products";
/// Nobody has so many products.
constexpr uint64_t mostFileBytes = 64 << 20;

std::string capabilityText(int capability) {
  return concat(capability / 10, ".", capability % 10);
}

std::string hexOf(const cublasLtMatmulAlgo_t &algorithm) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  const auto *bytes = reinterpret_cast<const unsigned char *>(&algorithm);
  for (size_t i = 0; i < sizeof(algorithm); ++i)
    text += {digits[bytes[i] / 16], digits[bytes[i] % 16]};
  return text;
}

std::optional<cublasLtMatmulAlgo_t> algorithmOf(const std::string &hex) {
  cublasLtMatmulAlgo_t algorithm;
  unsigned char bytes[sizeof(algorithm)];
  if (hex.size() != 2 * sizeof(bytes))
    return std::nullopt;
  for (size_t i = 0; i < sizeof(bytes); ++i) {
    const char *begin = hex.data() + 2 * i;
    auto [end, error] = std::from_chars(begin, begin + 2, bytes[i], 16);
    if (error != std::errc() || end != begin + 2)
      return std::nullopt;
  }
  std::memcpy(&algorithm, bytes, sizeof(algorithm));
  return algorithm;
}

} // namespace

TunePlace TunePlace::of(const Libraries &libraries, CUdevice device) {
  return {modelOf(libraries.driver, device),
          capabilityOf(libraries.driver, device),
          libraries.blasLt().cublasLtGetVersion()};
}

std::string TunePlace::text() const {
  return concat(device, " of compute capability ", capabilityText(capability),
                " with cuBLASLt ", blasLt);
}

TuneFile::TuneFile(std::string path, TunePlace here)
    : name(std::move(path)), here(std::move(here)) {
  struct stat status;
  if (stat(name.c_str(), &status) == 0)
    read();
  else
    output = std::make_unique<OutputFile>(name);
}

void TuneFile::read() {
  auto damaged = [&](const std::string &why) {
    fail("--tune ", name, " is no file of tuned products: ", why,
         "; remove it, or name another one, to time them anew");
  };
  Descriptor file = Descriptor::openForReading(name, "--tune " + name);
  uint64_t size = file.regularSize(name);
  if (size > mostFileBytes)
    damaged(concat("it has ", size, " bytes, more than ", mostFileBytes));
  std::string content(size, '\0');
  file.readAt(0, content.data(), size, name);
  Json json = Json::parse(content, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    damaged("it is not JSON, or no object");
  try {
    if (json.at("format").get<std::string>() != format)
      damaged(concat("its format is not '", format, "'"));
    TunePlace there;
    there.device = json.at("device").get<std::string>();
    std::string capability = json.at("compute_capability").get<std::string>();
    there.blasLt = wholeNumber<size_t>(json.at("cublaslt"));
    if (there.device != here.device || there.blasLt != here.blasLt ||
        capability != capabilityText(here.capability))
      fail("--tune ", name, " was timed on ", there.device,
           " of compute capability ", capability, " with cuBLASLt ",
           there.blasLt, ", and here is ", here.text(),
           "; name another file, to time products here");
    for (const auto &[product, value] : json.at("products").items()) {
      Choice choice;
      auto algorithm = algorithmOf(value.at("algorithm").get<std::string>());
      if (!algorithm)
        damaged(concat("the algorithm of '", product, "' is not ",
                       sizeof(cublasLtMatmulAlgo_t), " bytes in hexadecimal"));
      choice.algorithm = *algorithm;
      choice.microseconds = value.at("microseconds").get<double>();
      choice.firstMicroseconds = value.at("first_microseconds").get<double>();
      choice.timed = wholeNumber<int>(value.at("timed"));
      products[product] = choice;
    }
  } catch (const Json::exception &error) {
    // "[json.exception.out_of_range.403] key 'device' not found"
    std::string what = error.what();
    size_t end = what.find("] ");
    damaged(end == what.npos ? what : what.substr(end + 2));
  }
}

const TuneFile::Choice *TuneFile::find(const std::string &product) const {
  auto found = products.find(product);
  return found == products.end() ? nullptr : &found->second;
}

void TuneFile::add(const std::string &product, const Choice &choice) {
  if (!output)
    output = std::make_unique<OutputFile>(name);
  products[product] = choice;
}

std::string TuneFile::text() const {
  Json json;
  json["format"] = format;
  json["device"] = here.device;
  json["compute_capability"] = capabilityText(here.capability);
  json["cublaslt"] = here.blasLt;
  Json &all = json["products"] = Json::object();
  for (const auto &[product, choice] : products)
    all[product] = {{"algorithm", hexOf(choice.algorithm)},
                    {"microseconds", choice.microseconds},
                    {"first_microseconds", choice.firstMicroseconds},
                    {"timed", choice.timed}};
  return json.dump(1) + "\n";
}

void TuneFile::keep() {
  if (!output || products.empty())
    return;
  std::string content = text();
  output->write(content.data(), content.size());
  output->commit();
  output.reset();
}

} // namespace shardc::runtime::cuda
