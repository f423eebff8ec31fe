// What a run leaves behind.
#include "runtime/train/Exports.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/weights/GatheredParameters.h"

namespace shardc::runtime {

namespace {

/// Values times a factor.
class ScaledValues : public ParameterSource {
public:
  ScaledValues(const ParameterSource &source, double factor)
      : source(source), factor(factor) {}
  void read(int parameter, int64_t begin, int64_t end, plan::DType dtype,
            std::byte *destination) const override {
    std::vector<double> values(end - begin);
    source.read(parameter, begin, end, plan::FLOAT64,
                reinterpret_cast<std::byte *>(values.data()));
    for (double &value : values)
      value *= factor;
    convertElements(values.data(), plan::FLOAT64, destination, dtype,
                    end - begin);
  }

private:
  const ParameterSource &source;
  double factor;
};

} // namespace

void exportGradients(Run &run, Rank &rank, double factor) {
  GatheredParameters gradients(run.plan, rank,
                               GatheredParameters::Values::Gradients, nullptr);
  if (rank.rank() != World::leader)
    return gradients.serve();
  run.gradients->write(ScaledValues(gradients, factor));
  gradients.finish();
}

void exportParameters(Run &run, Rank &rank) {
  GatheredParameters trained(run.plan, rank,
                             GatheredParameters::Values::Parameters,
                             &run.initialValues);
  if (rank.rank() != World::leader)
    return trained.serve();
  // A full disk under one of them does not take the other with it.
  std::string failure;
  auto write = [&](auto &file) {
    try {
      if (file)
        file->write(trained);
    } catch (const Aborted &) {
      throw;
    } catch (const Error &error) {
      failure += (failure.empty() ? "" : "; ") + std::string(error.what());
    }
  };
  write(run.parameters);
  write(run.onnx);
  trained.finish();
  if (!failure.empty())
    fail(failure, "; ", exportedText(run));
}

std::string exportedText(const Run &run) {
  if (!run.world.leads())
    return concat("the process of rank ", World::leader,
                  " says what was exported");
  std::string text;
  auto add = [&](const auto &file) {
    if (file && !file->written().empty())
      text += (text.empty() ? "" : ", ") + file->written();
  };
  add(run.gradients);
  add(run.parameters);
  add(run.onnx);
  return text.empty() ? "nothing was exported" : "exported was only " + text;
}

} // namespace shardc::runtime
