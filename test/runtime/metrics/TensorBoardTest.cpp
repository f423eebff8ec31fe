// Event files, read back by a reader that knows nothing of the writer: the
// framing and the wire format are taken apart byte by byte.
#include "runtime/metrics/TensorBoard.h"
#include "runtime/base/Error.h"
#include "test/runtime/TemporaryFolder.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

using namespace shardc::runtime;

namespace {

/// CRC-32C bit by bit, masked.
uint32_t maskedChecksum(const std::string &bytes) {
  uint32_t crc = 0xffffffff;
  for (unsigned char byte : bytes)
    for (int bit = 0; bit < 8; ++bit) {
      bool carry = (crc ^ (byte >> bit)) & 1;
      crc = (crc >> 1) ^ (carry ? 0x82f63b78 : 0);
    }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

/// The records of a TFRecord file.
std::vector<std::string> recordsOf(const std::string &bytes) {
  std::vector<std::string> records;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length;
    uint32_t ofLength, ofData;
    std::memcpy(&length, bytes.data() + at, 8);
    std::memcpy(&ofLength, bytes.data() + at + 8, 4);
    if (maskedChecksum(bytes.substr(at, 8)) != ofLength)
      throw std::runtime_error("checksum of a length");
    records.push_back(bytes.substr(at + 12, length));
    std::memcpy(&ofData, bytes.data() + at + 12 + length, 4);
    if (maskedChecksum(records.back()) != ofData)
      throw std::runtime_error("checksum of data");
    at += 16 + length;
  }
  return records;
}

/// A message's fields: varints as numbers, all else as bytes.
struct Field {
  uint64_t number = 0;
  std::string bytes;
  double asDouble() const { return as<double>(); }
  float asFloat() const { return as<float>(); }

private:
  template <typename T> T as() const {
    T value;
    if (bytes.size() != sizeof(T))
      throw std::runtime_error("a number of another size");
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
};

std::multimap<int, Field> fieldsOf(const std::string &message) {
  std::multimap<int, Field> fields;
  size_t at = 0;
  auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      auto byte = static_cast<unsigned char>(message.at(at++));
      value |= uint64_t(byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
  };
  while (at < message.size()) {
    uint64_t key = varint();
    Field field;
    if ((key & 7) == 0) {
      field.number = varint();
    } else {
      size_t size = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : varint();
      field.bytes = message.substr(at, size);
      at += size;
    }
    fields.emplace(static_cast<int>(key >> 3), field);
  }
  return fields;
}

struct Event {
  double wallTime;
  uint64_t step = 0;
  std::string version;
  bool starts = false;
  std::map<std::string, float> scalars;
};

Event eventOf(const std::string &record) {
  auto fields = fieldsOf(record);
  Event event;
  event.wallTime = fields.find(1)->second.asDouble();
  if (auto step = fields.find(2); step != fields.end())
    event.step = step->second.number;
  if (auto version = fields.find(3); version != fields.end())
    event.version = version->second.bytes;
  event.starts = fields.contains(7);
  if (!fields.contains(5))
    return event;
  auto values = fieldsOf(fields.find(5)->second.bytes);
  for (const auto &[number, value] : values) {
    EXPECT_EQ(number, 1);
    auto scalar = fieldsOf(value.bytes);
    event.scalars[scalar.find(1)->second.bytes] =
        scalar.find(2)->second.asFloat();
  }
  return event;
}

std::vector<Event> eventsIn(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  std::vector<Event> events;
  for (const std::string &record : recordsOf(text.str()))
    events.push_back(eventOf(record));
  return events;
}

RunFigures runOf(int64_t firstStep) {
  return {firstStep, 5, 8, "tokens", firstStep > 0, 0};
}

StepFigures figuresOf(int64_t step) {
  StepFigures figures;
  figures.step = step;
  figures.loss = 2.5 / double(step + 1);
  figures.gradientNorm = 0.1;
  figures.learningRate = 1e-3;
  figures.perSecond = 1000;
  return figures;
}

} // namespace

TEST(TensorBoard, FramesRecordsAsTheFormatSays) {
  // Bytes that TensorFlow's TFRecordWriter makes of "abc".
  std::string record = tfRecord("abc");
  ASSERT_EQ(record.size(), 19u);
  EXPECT_EQ(record.substr(0, 8), std::string("\x03\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(recordsOf(record + tfRecord("") + tfRecord("d")),
            (std::vector<std::string>{"abc", "", "d"}));
}

TEST(TensorBoard, WritesScalarsAtOnce) {
  TemporaryFolder folder;
  Terminal terminal;
  TensorBoard board(terminal, folder / "runs/a");
  EXPECT_NE(board.path().find("/runs/a/events.out.tfevents."),
            std::string::npos);
  EXPECT_TRUE(board.path().ends_with(concat(".", getpid(), ".0")));
  board.begin(runOf(0));
  board.step(figuresOf(0));
  StepFigures second = figuresOf(1);
  second.lossScale = {1024, 512, false};
  board.step(second);
  board.evaluation(
      {2, 1.75, 10, 1, 0.5, {{"perplexity", 5.75}, {"accuracy", 0.25}}});

  std::vector<Event> events = eventsIn(board.path());
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_TRUE(events[1].starts);
  EXPECT_EQ(events[1].step, 0u);
  events.erase(events.begin(), events.begin() + 2);
  EXPECT_EQ(events[0].step, 1u);
  EXPECT_EQ(events[0].scalars,
            (std::map<std::string, float>{{"train/loss", 2.5f},
                                          {"train/grad_norm", 0.1f},
                                          {"train/learning_rate", 1e-3f},
                                          {"train/tokens_per_second", 1000}}));
  EXPECT_EQ(events[1].step, 2u);
  EXPECT_EQ(events[1].scalars["train/loss_scale"], 1024);
  EXPECT_EQ(events[2].step, 2u);
  EXPECT_EQ(events[2].scalars,
            (std::map<std::string, float>{{"eval/loss", 1.75f},
                                          {"eval/perplexity", 5.75f},
                                          {"eval/accuracy", 0.25f}}));
  for (const Event &event : events) {
    EXPECT_GT(event.wallTime, 1.7e9);
    EXPECT_FALSE(event.starts);
  }
}

TEST(TensorBoard, ARunThatGoesOnStartsBehindItsCheckpoint) {
  TemporaryFolder folder;
  Terminal terminal;
  TensorBoard board(terminal, folder.path());
  board.begin(runOf(3));
  board.step(figuresOf(3));
  std::vector<Event> events = eventsIn(board.path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_TRUE(events[1].starts);
  EXPECT_EQ(events[1].step, 4u);
  EXPECT_EQ(events[2].step, 4u);
}

TEST(TensorBoard, LeavesNothingOfARunThatDoesNotBegin) {
  TemporaryFolder folder;
  Terminal terminal;
  {
    TensorBoard board(terminal, folder / "runs");
  }
  EXPECT_EQ(folder.size(), 0u);
  folder.write("file", "");
  EXPECT_THROW(TensorBoard(terminal, folder / "file"), Error);
}
