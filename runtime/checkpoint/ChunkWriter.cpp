// Pieces of values, from the device or from a copy, to the file.
#include "runtime/checkpoint/ChunkWriter.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/checkpoint/HashedFile.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace shardc::runtime {

/// Bytes that are read from the device and written at a time: what release()
/// waits for at most, besides its copy.
static constexpr int64_t pieceBytes = 4 << 20;

static int64_t bytesOf(const Chunk &chunk) {
  return chunk.elements() * int64_t(elementSize(chunk.dtype));
}

ChunkCopy::ChunkCopy(const RankChunks &chunks, bool isExpected) {
  for (const std::vector<Chunk> *part : {&chunks.model, &chunks.optim})
    for (const Chunk &chunk : *part)
      bytes += chunk.slice ? bytesOf(chunk) : 0;
  if (!isExpected)
    return;
  memory = Memory::allocate("checkpoint copy", bytes);
  toucher = std::thread(
      [this] { touchPages(memory.data(), memory.data() + memory.size()); });
}

ChunkCopy::~ChunkCopy() {
  if (toucher.joinable())
    toucher.join();
}

std::byte *ChunkCopy::data() {
  if (toucher.joinable())
    toucher.join();
  if (!memory.data())
    memory = Memory::allocate("checkpoint copy", bytes);
  return memory.data();
}

ChunkWriter::ChunkWriter(Rank &rank, std::vector<File> files, int64_t updates,
                         ChunkCopy &copy)
    : rank(rank), files(std::move(files)), updates(updates), copy(copy) {
  thread = std::thread([this] { run(); });
}

ChunkWriter::~ChunkWriter() {
  cancelled = true;
  if (thread.joinable())
    thread.join();
}

void ChunkWriter::run() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  try {
    for (size_t number = 0; number < files.size() && !cancelled; ++number)
      written.push_back(write(files[number], number));
  } catch (const std::exception &error) {
    problem = error.what();
  }
  took = std::chrono::duration<double>(Clock::now() - begin).count();
  std::lock_guard lock(mutex);
  released = true;
  done = true;
}

std::vector<CheckpointFile> ChunkWriter::finish() {
  thread.join();
  if (!problem.empty())
    fail(problem);
  return std::move(written);
}

CheckpointFile ChunkWriter::write(const File &of, size_t number) {
  HashedFile output(of.path);
  std::string header = headerOfChunks(*of.chunks);
  output.write(header.data(), header.size());
  std::vector<std::byte> piece(pieceBytes);
  for (size_t i = 0; i < of.chunks->size(); ++i) {
    const Chunk &chunk = (*of.chunks)[i];
    auto size = int64_t(elementSize(chunk.dtype));
    for (int64_t at = 0; at < chunk.elements() && !cancelled;) {
      int64_t count = std::min(chunk.elements() - at, pieceBytes / size);
      read(number, i, at, count, piece.data());
      output.write(piece.data(), count * size);
      at += count;
    }
  }
  return output.finish(of.name);
}

void ChunkWriter::read(size_t number, size_t index, int64_t at, int64_t count,
                       std::byte *to) {
  const Chunk &of = (*files[number].chunks)[index];
  auto size = int64_t(elementSize(of.dtype));
  if (!of.slice) {
    auto value = float(updates);
    std::memcpy(to, &value, sizeof(value));
    return;
  }
  std::lock_guard lock(mutex);
  if (!released) {
    rank.read(of.slice, of.begin + at, count, to);
    file = number, chunk = index, element = at + count;
    return;
  }
  const Copied &from = copies[number][index];
  std::memcpy(to, from.values + (at - from.from) * size, count * size);
}

void ChunkWriter::release() {
  std::lock_guard lock(mutex);
  if (released)
    return;
  released = true;
  copies.resize(files.size());
  std::byte *to = copy.data();
  for (size_t number = file; number < files.size(); ++number) {
    const std::vector<Chunk> &chunks = *files[number].chunks;
    copies[number].resize(chunks.size());
    for (size_t i = number == file ? chunk : 0; i < chunks.size(); ++i) {
      const Chunk &of = chunks[i];
      if (!of.slice)
        continue;
      int64_t from = number == file && i == chunk ? element : 0;
      rank.read(of.slice, of.begin + from, of.elements() - from, to);
      copies[number][i] = {from, to};
      to += bytesOf(of) - from * int64_t(elementSize(of.dtype));
    }
  }
}

} // namespace shardc::runtime
