// Samples in columns of Arrow IPC files.
#include "runtime/data/ArrowSource.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/base/Text.h"

namespace shardc::runtime {

namespace {

class ArrowSource final : public Source {
public:
  ArrowSource(SampleType type, ArrowColumn column);

  const std::string &name() const override { return column.path(); }
  int64_t samples() const override { return column.rows(); }
  void read(int64_t first, int64_t count,
            std::byte *destination) const override;

private:
  ArrowColumn column;
};

class ArrowTokens final : public Tokens {
public:
  explicit ArrowTokens(ArrowColumn column) : column(std::move(column)) {}

  const std::string &name() const override { return column.path(); }
  int64_t size() const override { return column.values(); }
  void read(int64_t first, int64_t count, int64_t *destination) const override {
    column.readIntegers(first, count, destination);
  }
  std::vector<int64_t> documentEnds() const override {
    return column.rowEnds();
  }

private:
  ArrowColumn column;
};

ArrowSource::ArrowSource(SampleType sampleType, ArrowColumn given)
    : Source(std::move(sampleType)), column(std::move(given)) {
  bool isInteger = type.dtype == plan::INT64 || type.dtype == plan::INT32 ||
                   type.dtype == plan::BOOL;
  if (column.isFloat() ? !isFloat(type.dtype) : !isInteger)
    fail(name(), ": expects ", dtypeName(type.dtype), " for input ", type.input,
         ", got ",
         column.isFloat()  ? "floats"
         : column.isBool() ? "booleans"
                           : "integers");
  if (type.shape.size() > 1 || column.isList() != (type.shape.size() == 1))
    fail(name(), ": has rows of ", column.isList() ? "lists" : "one number",
         ", and input ", type.input, " takes ", shapeText(type.shape),
         " of a sample");
  if (column.rows() &&
      (column.shortest() != type.elements || column.longest() != type.elements))
    fail(name(), ": has rows of ", column.shortest(), " to ", column.longest(),
         " numbers, and input ", type.input, " takes ", type.elements,
         "; give window=N for windows across rows, or pad=ID and "
         "documents=stored for windows inside them");
}

void ArrowSource::read(int64_t first, int64_t count,
                       std::byte *destination) const {
  if (column.isFloat())
    return column.readFloats(first * type.elements, count * type.elements,
                             type.dtype, destination);
  std::vector<int64_t> ids(count * type.elements);
  column.readIntegers(first * type.elements, count * type.elements, ids.data());
  store(ids, first, destination);
}

} // namespace

std::unique_ptr<Source> openArrow(SampleType type, const std::string &path,
                                  Descriptor file, const std::string &column) {
  return std::make_unique<ArrowSource>(
      std::move(type), ArrowColumn(path, std::move(file), column));
}

std::unique_ptr<Tokens> openArrowTokens(const std::string &path,
                                        Descriptor file,
                                        const std::string &name) {
  ArrowColumn column(path, std::move(file), name);
  if (column.isFloat() || column.isBool() || !column.isList())
    fail(path, ": column ", name, " holds ",
         column.isFloat()  ? "floats"
         : column.isBool() ? "booleans"
                           : "single numbers",
         "; windows are cut from lists of integers");
  return std::make_unique<ArrowTokens>(std::move(column));
}

} // namespace shardc::runtime
