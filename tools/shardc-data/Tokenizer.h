// From a document's text to ids.
#ifndef SHARDC_TOOLS_SHARDC_DATA_TOKENIZER_H
#define SHARDC_TOOLS_SHARDC_DATA_TOKENIZER_H

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

class Tokenizer {
public:
  virtual ~Tokenizer() = default;
  /// Ids are below this.
  virtual int64_t size() const = 0;
  /// What ends a document; negative: it has none.
  virtual int64_t end() const = 0;
  /// The bytes of a document that are encoded at once at most; longer ones are
  /// in parts only where that changes nothing.
  virtual size_t most() const = 0;
  virtual bool encodesParts() const = 0;
  virtual void encode(std::string_view text, std::vector<int> &ids) const = 0;
};

std::unique_ptr<Tokenizer> openSentencepiece(const std::string &path);

} // namespace shardc::runtime

#endif
