// Pieces of values, from the device to the copy, and from there to the file.
#include "runtime/checkpoint/ChunkWriter.h"

#include "runtime/base/DType.h"
#include "runtime/base/Error.h"
#include "runtime/checkpoint/HashedFile.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace shardc::runtime {

/// Bytes that are copied at a time: what release() waits for at most, besides
/// its own copy.
static constexpr int64_t copiedBytes = 1 << 20;
/// Bytes that are written at a time.
static constexpr int64_t writtenBytes = 4 << 20;

static int64_t bytesOf(const Chunk &chunk) {
  return chunk.elements() * int64_t(elementSize(chunk.dtype));
}

ChunkCopy::ChunkCopy(const RankChunks &chunks, bool isExpected, bool isStreamed)
    : isStreamed(isStreamed) {
  for (const std::vector<Chunk> *part : {&chunks.model, &chunks.optim})
    for (const Chunk &chunk : *part)
      bytes += chunk.slice ? bytesOf(chunk) : 0;
  if (!isExpected || isStreamed)
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
  if (!memory.data() && !isStreamed)
    memory = Memory::allocate("checkpoint copy", bytes);
  return memory.data();
}

ChunkWriter::ChunkWriter(Rank &rank, std::vector<File> files, int64_t updates,
                         ChunkCopy &copy)
    : rank(rank), files(std::move(files)), updates(updates),
      values(copy.data()), end(values) {
  for (const File &file : this->files)
    for (const Chunk &each : *file.chunks)
      if (each.slice)
        chunks.push_back(&each);
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
    for (bool isMore = values != nullptr; isMore && !cancelled;) {
      std::lock_guard lock(mutex);
      isMore = copyPiece(copiedBytes);
    }
    const std::byte *at = values;
    for (const File &file : files) {
      if (cancelled)
        break;
      written.push_back(write(file, at));
      for (const Chunk &each : *file.chunks)
        at += values && each.slice ? bytesOf(each) : 0;
    }
  } catch (const std::exception &error) {
    problem = error.what();
  }
  took = std::chrono::duration<double>(Clock::now() - begin).count();
  done = true;
  done.notify_all();
}

bool ChunkWriter::copyPiece(int64_t most) {
  if (chunk == chunks.size())
    return false;
  const Chunk &of = *chunks[chunk];
  auto size = int64_t(elementSize(of.dtype));
  int64_t count = std::min(of.elements() - element, most / size);
  rank.read(of.slice, of.begin + element, count, end);
  end += count * size;
  element += count;
  if (element == of.elements())
    ++chunk, element = 0;
  return true;
}

void ChunkWriter::release() {
  if (!values)
    return done.wait(false);
  std::lock_guard lock(mutex);
  while (copyPiece(std::numeric_limits<int64_t>::max()))
    ;
}

std::vector<CheckpointFile> ChunkWriter::finish() {
  thread.join();
  if (!problem.empty())
    fail(problem);
  return std::move(written);
}

void ChunkWriter::stream(const Chunk &of, HashedFile &output) const {
  auto size = int64_t(elementSize(of.dtype));
  std::vector<std::byte> buffer(writtenBytes);
  for (int64_t at = 0; at < of.elements() && !cancelled;) {
    int64_t count = std::min(of.elements() - at, writtenBytes / size);
    if (of.earlier)
      of.earlier->read(of.key, at, at + count, of.dtype, buffer.data());
    else
      rank.read(of.slice, of.begin + at, count, buffer.data());
    output.write(buffer.data(), size_t(count * size));
    at += count;
  }
}

CheckpointFile ChunkWriter::write(const File &of, const std::byte *at) const {
  HashedFile output(of.path);
  std::string header = headerOfChunks(*of.chunks);
  output.write(header.data(), header.size());
  auto count = float(updates);
  for (const Chunk &each : *of.chunks) {
    if (!each.slice && !each.earlier) {
      output.write(&count, sizeof(count));
      continue;
    }
    if (!values || each.earlier) {
      stream(each, output);
      continue;
    }
    for (int64_t left = bytesOf(each); left > 0 && !cancelled;) {
      int64_t bytes = std::min(left, writtenBytes);
      output.write(at, bytes);
      at += bytes;
      left -= bytes;
    }
  }
  return output.finish(of.name);
}

} // namespace shardc::runtime
