// --tensorboard: an event file of scalars.
#include "runtime/metrics/TensorBoard.h"

#include "runtime/base/Error.h"
#include "runtime/base/HostName.h"
#include "runtime/metrics/Crc32c.h"
#include "runtime/metrics/Process.h"

#include <bit>
#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace shardc::runtime {

namespace {

/// Lowest byte first.
template <typename Integer> std::string littleEndian(Integer value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(value); ++i)
    bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

/// A checksum of data that hold checksums themselves says little: TFRecord
/// rotates it and adds a constant.
std::string maskedChecksum(std::string_view bytes) {
  return littleEndian(std::rotr(crc32c(bytes), 15) + uint32_t{0xa282ead8});
}

} // namespace

std::string tfRecord(std::string_view data) {
  std::string length = littleEndian(static_cast<uint64_t>(data.size()));
  return length + maskedChecksum(length) + std::string(data) +
         maskedChecksum(data);
}

TensorBoard::TensorBoard(Terminal &terminal, const std::string &given)
    : terminal(terminal), folder(given) {
  std::error_code error;
  madeFolder = std::filesystem::create_directories(folder, error);
  if (error)
    fail("cannot make the folder ", folder, ": ", error.message());
  // TensorBoard reads the files of a folder in the order of their names.
  file = concat(folder, "/events.out.tfevents.",
                static_cast<int64_t>(secondsSince1970()), ".", hostName(), ".",
                getpid(), ".0");
  Descriptor opened(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!opened)
    failErrno("cannot write ", file);
  records.emplace(std::move(opened), file, "records for TensorBoard");
}

TensorBoard::~TensorBoard() {
  if (begun)
    return;
  unlink(file.c_str());
  if (madeFolder)
    rmdir(folder.c_str());
}

void TensorBoard::begin(const RunFigures &figures) {
  begun = true;
  unit = figures.unit;
  tensorboard::Event version;
  version.set_file_version("brain.Event:2");
  write(version);
  // A run that was cut off may have come further than the checkpoint that this
  // one goes on from. Readers take the first start of all for none.
  tensorboard::Event start;
  start.set_step(figures.resumed ? figures.firstStep + 1 : 0);
  start.mutable_session_log()->set_status(tensorboard::SessionLog::START);
  write(start);
}

void TensorBoard::step(const StepFigures &figures) {
  std::vector<std::pair<std::string, double>> scalars = {
      {"train/loss", figures.loss},
      {"train/learning_rate", figures.learningRate},
      {concat("train/", unit, "_per_second"), figures.perSecond}};
  if (!std::isnan(figures.gradientNorm))
    scalars.emplace_back("train/grad_norm", figures.gradientNorm);
  if (figures.lossScale)
    scalars.emplace_back("train/loss_scale", figures.lossScale->scale);
  write(figures.step + 1, scalars);
}

void TensorBoard::evaluation(const EvaluationFigures &figures) {
  std::vector<std::pair<std::string, double>> scalars = {
      {"eval/loss", figures.loss}};
  for (const EvaluationMetric &metric : figures.metrics)
    scalars.emplace_back("eval/" + metric.name, metric.value);
  write(figures.stepsDone, scalars);
}

void TensorBoard::end(const EndFigures &figures) {
  if (!figures.interrupted && !records->lossText().empty())
    terminal.line(records->lossText());
}

void TensorBoard::write(
    int64_t step, const std::vector<std::pair<std::string, double>> &scalars) {
  tensorboard::Event event;
  event.set_step(step);
  for (const auto &[tag, number] : scalars) {
    tensorboard::Summary::Value *value = event.mutable_summary()->add_value();
    value->set_tag(tag);
    value->set_simple_value(static_cast<float>(number));
  }
  write(event);
}

void TensorBoard::write(const tensorboard::Event &event) {
  tensorboard::Event timed = event;
  timed.set_wall_time(secondsSince1970());
  std::string failure = records->write(tfRecord(timed.SerializeAsString()));
  if (!failure.empty())
    terminal.warning(failure + "; the run goes on without these records");
}

} // namespace shardc::runtime
