// Samples in columns of Arrow IPC files: a row is a sample, or rows are running
// text.
#ifndef SHARDC_RUNTIME_DATA_ARROWSOURCE_H
#define SHARDC_RUNTIME_DATA_ARROWSOURCE_H

#include "runtime/data/ArrowColumn.h"
#include "runtime/data/Source.h"

namespace shardc::runtime {

/// A row is a sample: as many numbers as the input takes.
std::unique_ptr<Source> openArrow(SampleType type, const std::string &path,
                                  Descriptor file, const std::string &column);

/// A row is a document; windows are cut from them.
std::unique_ptr<Tokens> openArrowTokens(const std::string &path,
                                        Descriptor file,
                                        const std::string &column);

} // namespace shardc::runtime

#endif
