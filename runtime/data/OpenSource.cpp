// The one place that knows which formats of samples there are.
#include "runtime/data/OpenSource.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"
#include "runtime/data/ArrowColumn.h"
#include "runtime/data/ArrowSource.h"
#include "runtime/data/ConcatenatedSource.h"
#include "runtime/data/CopiedSource.h"
#include "runtime/data/LossNormalization.h"
#include "runtime/data/MaskSource.h"
#include "runtime/data/MegatronTokens.h"
#include "runtime/data/MixedSource.h"
#include "runtime/data/Npy.h"
#include "runtime/data/SafetensorsSource.h"
#include "runtime/data/SyntheticSource.h"
#include "runtime/data/WindowSource.h"
#include "runtime/files/ListFiles.h"
#include "runtime/files/Safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

namespace shardc::runtime {

namespace {

enum class Format {
  Unknown,
  Npy,
  Safetensors,
  Arrow,
  RawTokens,
  LlmcTokens,
  MegatronIndex,
  Parquet,
  Zip,
  Text
};

struct FormatInfo {
  Format format;
  std::string_view magic;
  const char *text; // "is ..."
};
/// Those with a magic that no other content has by chance.
constexpr FormatInfo formats[] = {
    {Format::Npy, "\x93NUMPY", "a .npy file"},
    {Format::MegatronIndex, megatronMagic, "an index of Megatron's"},
    {Format::Arrow, arrowFileMagic, "an Arrow file"},
    {Format::Parquet, "PAR1", "a Parquet file"},
    {Format::Zip, "PK\x03\x04", "a zip archive"},
};

/// Whether a file begins with so many characters that its bytes are no numbers:
/// of 64 random bytes in a row some are control characters.
bool isText(std::string_view begin) {
  constexpr size_t least = 64;
  return begin.size() >= least && std::ranges::none_of(begin, [](char each) {
           auto byte = static_cast<unsigned char>(each);
           return byte == 127 ||
                  (byte < ' ' && byte != '\n' && byte != '\r' && byte != '\t');
         });
}

std::string textOf(Format format) {
  const FormatInfo *info =
      std::ranges::find(formats, format, &FormatInfo::format);
  return info != std::end(formats)       ? info->text
         : format == Format::Safetensors ? "a safetensors file"
         : format == Format::LlmcTokens  ? "a token file of llm.c"
                                         : "a file of raw tokens";
}

bool isRead(Format format) {
  return format != Format::Unknown && format != Format::Parquet &&
         format != Format::Zip && format != Format::Text;
}

bool holdsTokens(Format format) {
  return format == Format::RawTokens || format == Format::LlmcTokens ||
         format == Format::MegatronIndex;
}

Format formatOf(const Descriptor &file, const std::string &path,
                const SourceKeys &keys) {
  std::array<char, 512> head{};
  uint64_t all = file.regularSize(path);
  uint64_t size = std::min<uint64_t>(all, head.size());
  file.readAt(0, head.data(), size, path);
  std::string_view begin(head.data(), size);
  for (const FormatInfo &info : formats)
    if (begin.starts_with(info.magic)) {
      if (keys.dtype)
        fail(path, ": is ", info.text, "; dtype= is for raw token files");
      return info.format;
    }
  if (isText(begin) &&
      !looksLikeSafetensors(std::as_bytes(std::span(begin)), all))
    return Format::Text;
  if (keys.dtype)
    return Format::RawTokens;
  if (begin.starts_with(arrowStreamMagic))
    return Format::Arrow;
  if (looksLikeSafetensors(std::as_bytes(std::span(begin)), all))
    return Format::Safetensors;
  uint32_t number = 0;
  std::memcpy(&number, head.data(), sizeof(number));
  return isLlmcMagic(number) ? Format::LlmcTokens : Format::Unknown;
}

/// The text in quotes for a shell.
std::string quoted(const std::string &text) {
  std::string all = "'";
  for (char each : text)
    all += each == '\'' ? std::string("'\\''") : std::string(1, each);
  return all + "'";
}

[[noreturn]] void refuse(Format format, const std::string &path) {
  if (format == Format::Parquet)
    fail(path,
         ": is a Parquet file, which is not read; convert it with python3 -c "
         "'import sys, datasets; datasets.Dataset.from_parquet(sys.argv[1])"
         ".save_to_disk(sys.argv[2])' ",
         quoted(path), " ", quoted(path + ".arrow"),
         " and give the folder that this makes");
  if (format == Format::Zip)
    fail(path, ": is a zip archive, as numpy.savez writes it; save each of its "
               "arrays with numpy.save");
  if (format == Format::Text)
    fail(path, ": is text; shardc-data tokenize makes token ids of it, and "
               "numpy.save an array of a table of numbers");
  if (Descriptor::openForReading(path).regularSize(path) == 0)
    fail(path, ": is empty");
  fail(path,
       ": is not a .npy, safetensors or Arrow file, and no token file of llm.c "
       "or Megatron; give dtype=uint16 or dtype=uint32 for raw token ids");
}

/// A path with the file that it stands for where two belong together.
std::string withIndex(const std::string &path) {
  auto exists = [](const std::string &file) {
    std::error_code error;
    return std::filesystem::exists(file, error);
  };
  if (path.ends_with(".bin")) {
    std::string index = path.substr(0, path.size() - 4) + ".idx";
    return exists(index) ? index : path;
  }
  return !exists(path) && exists(path + ".idx") ? path + ".idx" : path;
}

/// The files of a folder that datasets.save_to_disk has written, in its order;
/// none for another folder.
std::vector<std::string> filesOfDataset(const std::string &folder) {
  auto there = [&](const char *name) {
    std::error_code error;
    return std::filesystem::is_regular_file(folder + "/" + name, error);
  };
  if (there("dataset_dict.json"))
    fail(folder,
         ": is a dataset of several splits; give the folder of one, as "
         "in ",
         folder, "/train");
  std::string path = folder + "/state.json";
  if (!there("state.json"))
    return {};
  std::vector<std::string> files;
  try {
    nlohmann::json state = nlohmann::json::parse(std::ifstream(path));
    for (const nlohmann::json &each : state.at("_data_files"))
      files.push_back(each.at("filename").get<std::string>());
  } catch (const nlohmann::json::exception &) {
    fail(path, ": does not list the files of a dataset");
  }
  for (std::string &file : files) {
    if (file.find('/') != std::string::npos)
      fail(path, ": names ", file, ", which is not in its folder");
    file = folder + "/" + file;
  }
  return files;
}

/// All files that a path stands for.
std::vector<std::string> filesOf(const std::string &given) {
  std::vector<std::string> paths = filesOfDataset(given);
  if (!paths.empty())
    return paths;
  paths = listFiles(withIndex(given));
  // Both files of a pair stand for one.
  for (std::string &path : paths)
    path = withIndex(path);
  std::ranges::sort(paths);
  paths.erase(std::ranges::unique(paths).begin(), paths.end());
  return paths;
}

std::unique_ptr<Tokens> openTokens(Format format, const std::string &path,
                                   Descriptor file, const SourceKeys &keys,
                                   const std::string &column) {
  switch (format) {
  case Format::RawTokens:
    return openRawTokens(path, std::move(file), *keys.dtype);
  case Format::LlmcTokens:
    return openLlmcTokens(path, std::move(file));
  case Format::MegatronIndex:
    return openMegatronTokens(path, std::move(file));
  case Format::Arrow:
    return openArrowTokens(path, std::move(file), column);
  case Format::Npy:
    return openNpyTokens(path, std::move(file));
  default:
    return nullptr;
  }
}

/// The files of one flag, opened.
class Opened {
public:
  Opened(const plan::Input &input, const NamedFile &given)
      : input(input), given(given) {}

  void add(const std::string &path);
  std::unique_ptr<Source> source();

private:
  const plan::Input &input;
  const NamedFile &given;
  std::string first; // the path that the others are compared with
  Format format = Format::Unknown;
  std::vector<std::unique_ptr<Tokens>> tokens;
  std::vector<std::unique_ptr<Source>> arrays;
};

void Opened::add(const std::string &path) {
  Descriptor file = Descriptor::openForReading(path);
  Format found = formatOf(file, path, given.keys);
  if (!isRead(found))
    refuse(found, path);
  if (first.empty())
    first = path;
  else if (found != format && !(holdsTokens(found) && holdsTokens(format)))
    fail(path, ": is ", textOf(found), ", and ", first, " is ", textOf(format),
         "; give files of one format");
  format = found;
  std::string column = given.keys.column.value_or(input.name());
  std::string what = concat(path, " is ", textOf(format));
  if (holdsTokens(format) ||
      (format != Format::Safetensors && given.keys.cutsWindows())) {
    tokens.push_back(
        openTokens(format, path, std::move(file), given.keys, column));
    return;
  }
  switch (format) {
  case Format::Arrow:
    given.keys.refuseBut({"column"}, what);
    arrays.push_back(
        openArrow(SampleType(input), path, std::move(file), column));
    return;
  case Format::Safetensors:
    given.keys.refuseBut({"column"}, what);
    arrays.push_back(
        openSafetensors(SampleType(input), path, std::move(file), column));
    return;
  default:
    given.keys.refuseBut({}, what);
    arrays.push_back(openNpy(SampleType(input), path, std::move(file)));
  }
}

std::unique_ptr<Source> Opened::source() {
  if (!tokens.empty()) {
    std::string what = concat(first, " holds token ids");
    if (format == Format::Arrow)
      given.keys.refuseBut({"column", "window", "stride", "pad", "documents"},
                           what);
    else if (format == Format::Npy)
      given.keys.refuseBut({"window", "stride", "pad", "documents"}, what);
    else
      given.keys.refuseBut({"dtype", "window", "stride", "pad", "documents"},
                           what);
    return std::make_unique<WindowSource>(SampleType(input), given.path,
                                          std::move(tokens), given.keys);
  }
  if (arrays.size() == 1)
    return std::move(arrays.front());
  return std::make_unique<ConcatenatedSource>(given.path, std::move(arrays));
}

} // namespace

std::unique_ptr<Source> openSource(const plan::Input &input,
                                   const NamedFile &file) {
  if (file.syntheticSeed)
    return std::make_unique<SyntheticSource>(input, *file.syntheticSeed);
  Opened opened(input, file);
  for (const std::string &path : filesOf(file.path))
    opened.add(path);
  return opened.source();
}

static std::string arrayText(plan::DType dtype,
                             std::span<const int64_t> shape) {
  return concat(dtype == plan::INVALID ? "of a dtype that no input takes"
                                       : std::string(dtypeName(dtype)),
                " ", shapeText(shape));
}

/// The samples of a file. `holdsIds`: becomes false where no windows are cut
/// from it.
static std::string samplesText(Format format, const Descriptor &file,
                               const std::string &path,
                               const std::string &column, bool &holdsIds) {
  if (format == Format::Npy) {
    StoredArray array = openNpyArray(file, path);
    // Floats, and arrays of more axes, are samples alone.
    holdsIds = array.shape.size() <= 2 && !isFloat(array.dtype) &&
               array.dtype != plan::BOOL;
    // Token ids may be of types that no input has.
    return array.dtype == plan::INVALID
               ? concat("integers ", shapeText(array.shape))
               : arrayText(array.dtype, array.shape);
  }
  if (format == Format::Safetensors) {
    holdsIds = false;
    std::string text;
    for (const auto &[name, entry] : readSafetensorsHeader(file, path))
      text += concat(text.empty() ? "" : "; ", name, " ",
                     arrayText(entry.dtype, entry.shape));
    return text;
  }
  if (format != Format::Arrow)
    return "";
  ArrowColumn values(path, Descriptor::openForReading(path), column);
  holdsIds = values.isList() && !values.isFloat() && !values.isBool();
  std::string length =
      !values.isList() || values.rows() == 0 ? ""
      : values.shortest() == values.longest()
          ? concat(values.longest(), " ")
          : concat(values.shortest(), " to ", values.longest(), " ");
  return concat("column ", column, ", ", values.rows(), " rows of ", length,
                values.isFloat()  ? "floats"
                : values.isBool() ? "booleans"
                                  : "integers");
}

std::vector<FileContent> contentsOf(const std::string &given,
                                    const SourceKeys &keys,
                                    const std::string &column) {
  std::vector<FileContent> all;
  for (const std::string &path : filesOf(given)) {
    Descriptor file = Descriptor::openForReading(path);
    Format format = formatOf(file, path, keys);
    if (!isRead(format))
      refuse(format, path);
    FileContent &content = all.emplace_back();
    content.path = path;
    content.format = textOf(format);
    bool holdsIds = true;
    content.samples = samplesText(format, file, path, column, holdsIds);
    if (!holdsIds)
      continue;
    content.tokens = openTokens(format, path, std::move(file), keys, column);
  }
  return all;
}

std::unique_ptr<Source> openSources(const plan::Input &input,
                                    const std::vector<NamedFile> &files) {
  if (files.size() == 1) {
    if (files.front().keys.weight)
      fail("weight of ", input.name(), "=", files.front().path,
           " has no effect: the input is given once; give it again for what it "
           "is mixed with");
    return openSource(input, files.front());
  }
  std::vector<std::unique_ptr<Source>> parts;
  std::vector<double> weights;
  std::string name;
  for (NamedFile file : files) {
    if (file.keys.weight)
      weights.push_back(*file.keys.weight);
    std::erase(file.keys.given, "weight");
    parts.push_back(openSource(input, file));
    name += (name.empty() ? "" : ", ") + file.path;
  }
  if (weights.empty())
    return std::make_unique<ConcatenatedSource>(name, std::move(parts));
  if (weights.size() != files.size())
    fail("input ", input.name(), " is given ", files.size(), " times, and ",
         weights.size(), " of these have a weight; give all of them one");
  return std::make_unique<MixedSource>(name, std::move(parts),
                                       std::move(weights));
}

std::unique_ptr<Source> openReference(const plan::Plan &plan,
                                      const plan::Input &input,
                                      const NamedFile &file,
                                      const Source &source) {
  if (file.keys.makesMask()) {
    file.keys.refuseBut(
        {"causal", "padding", "documents"},
        concat(file.name, "=", file.path, " is a mask that is made from ids"));
    if (file.keys.storedDocuments)
      fail(file.name, "=", file.path,
           ": a mask is made from ids alone; give "
           "the id that ends a document, as in documents=50256");
    return std::make_unique<MaskSource>(SampleType(input), source, file.keys);
  }
  std::optional<CopiedSource::Replaced> replaced;
  file.keys.refuseBut(
      {"ignore", "causal", "padding", "documents"},
      concat(file.name, "=", file.path, " takes what another input has"));
  if (file.keys.ignore) {
    if (&input != labelsOf(plan))
      fail("ignore=", *file.keys.ignore, " is for labels, and input ",
           input.name(), " is none");
    replaced = {*file.keys.ignore, plan.loss().ignore_index()};
  }
  return std::make_unique<CopiedSource>(SampleType(input), source, replaced);
}

} // namespace shardc::runtime
