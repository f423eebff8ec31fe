// Samples that are cut from running text: windows over token ids.
#ifndef SHARDC_RUNTIME_DATA_WINDOWSOURCE_H
#define SHARDC_RUNTIME_DATA_WINDOWSOURCE_H

#include "runtime/data/Source.h"
#include "runtime/data/Tokens.h"

namespace shardc::runtime {

/// A window begins every `stride` tokens of a file, or of a document where
/// `documents` says what one is, and has `window` of them. What is left at the
/// end, and what an input takes beyond a window, is filled with `pad`; without
/// it what is left is dropped.
class WindowSource final : public Source {
public:
  /// `path`: what was given for these files.
  WindowSource(SampleType type, std::string path,
               std::vector<std::unique_ptr<Tokens>> files,
               const SourceKeys &keys);

  const std::string &name() const override { return path; }
  int64_t samples() const override { return windows; }
  void read(int64_t first, int64_t count,
            std::byte *destination) const override;
  std::string where(int64_t sample, int64_t element) const override;
  std::vector<std::string> paths() const override { return pathsOf(files); }
  /// Where a tenth of the tokens or more is in no window.
  std::vector<std::string> leftOutTexts() const override;

private:
  /// Tokens that windows may lie in: a file's, or a document's.
  struct Segment {
    size_t file;
    int64_t begin, length;
    int64_t firstWindow;
  };
  void addSegments(size_t file, const SourceKeys &keys);
  void addSegment(size_t file, int64_t begin, int64_t end);
  const Segment &segmentOf(int64_t window) const;

  std::string path;
  std::vector<std::unique_ptr<Tokens>> files;
  std::vector<Segment> segments; // that have windows
  int64_t window, stride;
  std::optional<int64_t> pad;
  int64_t windows = 0;
  int64_t ends = 0; // tokens that end a document
  bool hasDocuments;
};

} // namespace shardc::runtime

#endif
