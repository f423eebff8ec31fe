// Models of sentencepiece, with its own library.
#include "runtime/base/Error.h"
#include "runtime/files/Descriptor.h"
#include "tools/shardc-data/Tokenizer.h"

#include <sentencepiece_processor.h>

namespace shardc::runtime {

namespace {

class Sentencepiece final : public Tokenizer {
public:
  explicit Sentencepiece(const std::string &given) : path(given) {
    Descriptor file = Descriptor::openForReading(path);
    uint64_t bytes = file.regularSize(path);
    constexpr uint64_t mostBytes = 256 << 20;
    if (bytes == 0 || bytes > mostBytes)
      fail(path, ": is no model of sentencepiece: it has ", bytes, " bytes");
    std::string model(bytes, '\0');
    file.readAt(0, model.data(), bytes, path);
    auto status = processor.LoadFromSerializedProto(model);
    if (!status.ok())
      fail(path, ": is no model of sentencepiece: ", status.error_message());
  }

  int64_t size() const override { return processor.GetPieceSize(); }
  int64_t end() const override { return processor.eos_id(); }
  size_t most() const override { return 64 << 20; }
  bool encodesParts() const override { return false; }
  void encode(std::string_view text, std::vector<int> &ids) const override {
    auto status = processor.Encode({text.data(), text.size()}, &ids);
    if (!status.ok())
      fail(path, ": cannot encode a document of ", text.size(),
           " bytes: ", status.error_message());
  }

private:
  std::string path;
  sentencepiece::SentencePieceProcessor processor;
};

} // namespace

std::unique_ptr<Tokenizer> openSentencepiece(const std::string &path) {
  return std::make_unique<Sentencepiece>(path);
}

} // namespace shardc::runtime
