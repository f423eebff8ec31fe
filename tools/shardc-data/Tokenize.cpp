// shardc-data tokenize: text to a token file. Of the text, a document or a
// part of it is in memory, not all of it.
#include "runtime/base/Error.h"
#include "runtime/files/FileUses.h"
#include "runtime/flags/ParseValue.h"
#include "runtime/metrics/Print.h"
#include "tools/shardc-data/Commands.h"
#include "tools/shardc-data/TokenWriter.h"
#include "tools/shardc-data/Tokenizer.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

namespace {

/// A byte is an id.
class Bytes final : public Tokenizer {
public:
  int64_t size() const override { return 256; }
  int64_t end() const override { return 256; }
  size_t most() const override { return 1 << 20; }
  bool encodesParts() const override { return true; }
  void encode(std::string_view text, std::vector<int> &ids) const override {
    ids.assign(text.size(), 0);
    std::ranges::transform(text, ids.begin(), [](char each) {
      return static_cast<int>(static_cast<unsigned char>(each));
    });
  }
};

class Documents {
public:
  Documents(const Tokenizer &tokenizer, int64_t end, TokenWriter &writer)
      : tokenizer(tokenizer), end(end), writer(writer) {}

  void addFile(const std::string &path, bool lines);
  int64_t count() const { return documents; }

private:
  void add(std::string_view text, const std::string &path);
  void encode();
  void finish();

  const Tokenizer &tokenizer;
  int64_t end; // negative: none
  TokenWriter &writer;
  int64_t documents = 0;
  std::string text; // of the document, what is not encoded yet
  bool isEmpty = true;
  std::vector<int> ids;
};

void Documents::encode() {
  tokenizer.encode(text, ids);
  writer.add(ids);
  text.clear();
}

void Documents::add(std::string_view part, const std::string &path) {
  isEmpty &= part.empty();
  text += part;
  if (text.size() <= tokenizer.most())
    return;
  if (!tokenizer.encodesParts())
    fail(path, ": has a document of more than ", tokenizer.most(),
         " bytes, which is encoded at once; give --documents lines, or cut it");
  encode();
}

void Documents::finish() {
  // Nothing is no document.
  if (isEmpty)
    return;
  encode();
  isEmpty = true;
  ++documents;
  if (end >= 0)
    writer.add(std::vector<int>{static_cast<int>(end)});
}

void Documents::addFile(const std::string &path, bool lines) {
  Descriptor file = Descriptor::openForReading(path);
  uint64_t size = file.regularSize(path);
  std::vector<char> block(std::min<uint64_t>(size, 1 << 20));
  for (uint64_t at = 0; at < size; at += block.size()) {
    block.resize(std::min<uint64_t>(block.size(), size - at));
    file.readAt(at, block.data(), block.size(), path);
    std::string_view rest(block.data(), block.size());
    for (size_t line; lines && (line = rest.find('\n')) != rest.npos;) {
      add(rest.substr(0, line), path);
      finish();
      rest.remove_prefix(line + 1);
    }
    add(rest, path);
  }
  finish();
}

} // namespace

void tokenize(const TokenizeOptions &options) {
  FileUses uses;
  for (const std::string &text : options.texts)
    uses.reads("the text " + text, text);
  if (options.sentencepiece)
    uses.reads("--sentencepiece " + *options.sentencepiece,
               *options.sentencepiece);
  uses.writes("-o " + options.output, options.output);
  uses.check();
  std::unique_ptr<Tokenizer> tokenizer;
  if (options.sentencepiece)
    tokenizer = openSentencepiece(*options.sentencepiece);
  else
    tokenizer = std::make_unique<Bytes>();
  int64_t end = tokenizer->end();
  if (options.end == "none")
    end = -1;
  else if (options.end)
    end = cli::parseInteger<int32_t>("--end", *options.end, 0);
  else if (end < 0)
    fail(*options.sentencepiece,
         ": has no token that ends a document; give --end ID or --end none");
  int64_t largest = std::max(tokenizer->size() - 1, end);
  TokenType type = options.dtype.value_or(largest < 65536 ? TokenType::UInt16
                                                          : TokenType::UInt32);
  if (type == TokenType::UInt16 && largest > 65535)
    fail("--dtype uint16 has no id ", largest, "; give uint32");
  TokenWriter writer(options.output, type, !options.raw);
  Documents documents(*tokenizer, end, writer);
  for (const std::string &text : options.texts)
    documents.addFile(text, options.lines);
  if (writer.tokens() == 0)
    fail("the texts are empty; nothing was written");
  writer.commit();
  std::string dtype = type == TokenType::UInt16 ? "uint16" : "uint32";
  print(concat(
      options.output, ": ", writer.tokens(), " tokens of ", documents.count(),
      documents.count() == 1 ? " document" : " documents", ", ids 0 to ",
      largest, ", ", dtype,
      options.raw ? concat("; give it as PATH,dtype=", dtype) : "", "\n"));
}

} // namespace shardc::runtime
