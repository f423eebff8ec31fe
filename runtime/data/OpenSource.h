// The one place that knows which formats of samples there are.
#ifndef SHARDC_RUNTIME_DATA_OPENSOURCE_H
#define SHARDC_RUNTIME_DATA_OPENSOURCE_H

#include "runtime/data/NamedFile.h"
#include "runtime/data/Source.h"
#include "runtime/data/Tokens.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Opens what a flag gives for an input; what a file holds says its content,
/// not its name. Throws where it does not fit the input.
std::unique_ptr<Source> openSource(const plan::Input &input,
                                   const NamedFile &file);

/// What a file holds, whatever input it may be for.
struct FileContent {
  std::string path, format;       // "a .npy file"
  std::string samples;            // "12 rows of 16 integers"; empty: tokens
  std::unique_ptr<Tokens> tokens; // where windows may be cut from it
};
/// The files that a path stands for, in their order. `column`: of Arrow.
std::vector<FileContent> contentsOf(const std::string &path,
                                    const SourceKeys &keys,
                                    const std::string &column);

/// The same for an input that is given several times: one behind the other, or
/// mixed where they have weights.
std::unique_ptr<Source> openSources(const plan::Input &input,
                                    const std::vector<NamedFile> &files);

/// Makes the source of an input whose values come from those of another one,
/// `source`, which must outlive it.
std::unique_ptr<Source> openReference(const plan::Plan &plan,
                                      const plan::Input &input,
                                      const NamedFile &file,
                                      const Source &source);

} // namespace shardc::runtime

#endif
