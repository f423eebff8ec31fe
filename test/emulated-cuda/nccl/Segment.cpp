// The shared memory is a file without a name, which its maker holds open until
// all ranks have mapped it: others open it through /proc.
#include "test/emulated-cuda/nccl/Segment.h"

#include "test/emulated-cuda/driver/Work.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <linux/futex.h>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace shardc::test::cuda {

struct Segment::Header {
  uint64_t nonce;
  std::atomic<int32_t> ranks; // 0 until the first one joins
  std::atomic<uint32_t> bell; // changes with everything that others wait for
};
struct Segment::Member {
  std::atomic<uint32_t> claimed, joined, aborted, left;
  ProcessId process;
  char device[32];
  std::atomic<uint64_t> met[2];
  CallSummary said[2];
};

namespace {

constexpr char magic[16] = "shardc emulated";
constexpr size_t headerBytes = 4096;

std::mutex makersMutex;
/// Descriptors that this process holds for others, by nonce.
auto &made = *new std::map<uint64_t, int>();

/// The state ('Z' of one that has ended) and the start's time of a process; 0
/// where there is none.
std::pair<char, uint64_t> statusOf(int32_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  // The name, in parentheses, may hold anything.
  size_t end = line.rfind(')');
  if (end == std::string::npos)
    return {0, 0};
  std::istringstream fields(line.substr(end + 1));
  char state = 0;
  fields >> state;
  std::string field;
  for (int i = 4; i <= 22; ++i) // numbers as proc(5) counts them
    fields >> field;
  return {state, std::strtoull(field.c_str(), nullptr, 10)};
}

size_t memberBytes(size_t size) { return (size + 63) / 64 * 64; }

} // namespace

ProcessId ProcessId::own() { return {getpid(), statusOf(getpid()).second}; }

bool ProcessId::isAlive() const {
  if (id == getpid())
    return true;
  auto [state, startTime] = statusOf(id);
  return state && state != 'Z' && state != 'X' && startTime == this->startTime;
}

Segment::Id Segment::make() {
  int descriptor = memfd_create("shardc-emulated-nccl", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, headerBytes))
    throw std::runtime_error("no memory to share");
  std::random_device random;
  uint64_t nonce = (uint64_t(random()) << 32) | random() | 1;
  if (pwrite(descriptor, &nonce, sizeof(nonce), 0) != sizeof(nonce))
    throw std::runtime_error("no memory to share");
  {
    std::lock_guard lock(makersMutex);
    made[nonce] = descriptor;
  }
  Id id{};
  std::memcpy(id.magic, magic, sizeof(magic));
  id.maker = ProcessId::own(), id.descriptor = descriptor, id.nonce = nonce;
  return id;
}

Segment::Segment(const Id &id, int ranks, int rank, const std::string &device)
    : id(id), ranks(ranks), rank(rank) {
  if (std::memcmp(id.magic, magic, sizeof(magic)))
    throw std::runtime_error("the unique id is none");
  std::string path = "/proc/" + std::to_string(id.maker.id) + "/fd/" +
                     std::to_string(id.descriptor);
  int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  uint64_t nonce = 0;
  if (descriptor < 0 || !id.maker.isAlive() ||
      pread(descriptor, &nonce, sizeof(nonce), 0) != sizeof(nonce) ||
      nonce != id.nonce) {
    if (descriptor >= 0)
      close(descriptor);
    throw std::runtime_error("the unique id's process " +
                             std::to_string(id.maker.id) +
                             " has ended, or the id has been used before");
  }
  auto map = [&](size_t size) {
    void *mapped =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED)
      throw std::runtime_error("shared memory cannot be mapped");
    return static_cast<std::byte *>(mapped);
  };
  base = map(headerBytes);
  int32_t agreed = 0;
  header().ranks.compare_exchange_strong(agreed, ranks);
  if (agreed && agreed != ranks)
    finding("ncclCommInitRankConfig: rank " + std::to_string(rank) + " says " +
            std::to_string(ranks) + " ranks, another one " +
            std::to_string(agreed));
  munmap(base, headerBytes);
  bytes = headerBytes + ranks * (memberBytes(sizeof(Member)) + 2 * areaBytes);
  if (ftruncate(descriptor, bytes))
    throw std::runtime_error("shared memory cannot grow to " +
                             std::to_string(bytes) + " bytes");
  base = map(bytes);
  close(descriptor);

  Member &self = member(rank);
  if (self.claimed.exchange(1))
    finding("ncclCommInitRankConfig: rank " + std::to_string(rank) +
            " is taken twice");
  self.process = ProcessId::own();
  std::strncpy(self.device, device.c_str(), sizeof(self.device) - 1);
  self.joined = 1;
  ring();
}

Segment::~Segment() { munmap(base, bytes); }

Segment::Member &Segment::member(int rank) const {
  return *reinterpret_cast<Member *>(base + headerBytes +
                                     rank * memberBytes(sizeof(Member)));
}

std::byte *Segment::area(int rank, int which) const {
  return base + headerBytes + ranks * memberBytes(sizeof(Member)) +
         (2 * rank + which) * areaBytes;
}

void Segment::ring() {
  header().bell.fetch_add(1);
  syscall(SYS_futex, &header().bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool Segment::hasCome(Lane lane, int rank) const {
  return member(rank).met[int(lane)] >= met[int(lane)];
}

bool Segment::meet(Lane lane, const std::function<bool()> &tick) {
  member(rank).met[int(lane)] = ++met[int(lane)];
  ring();
  for (;;) {
    uint32_t bell = header().bell;
    bool all = true;
    for (int other = 0; other < ranks; ++other)
      all &= hasCome(lane, other);
    if (all)
      return true;
    if (!tick())
      return false;
    timespec slice{0, 50'000'000};
    syscall(SYS_futex, &header().bell, FUTEX_WAIT, bell, &slice, nullptr, 0);
  }
}

void Segment::say(Lane lane, const CallSummary &call) {
  member(rank).said[int(lane)] = call;
}
const CallSummary &Segment::said(Lane lane, int rank) const {
  return member(rank).said[int(lane)];
}

void Segment::markAborted() {
  member(rank).aborted = 1;
  ring();
}
void Segment::markLeft() {
  member(rank).left = 1;
  ring();
}
bool Segment::hasAborted(int rank) const { return member(rank).aborted; }
bool Segment::hasLeft(int rank) const { return member(rank).left; }
bool Segment::hasJoined(int rank) const { return member(rank).joined; }
ProcessId Segment::processOf(int rank) const { return member(rank).process; }
std::string Segment::deviceOf(int rank) const { return member(rank).device; }

void Segment::allHaveJoined() {
  std::lock_guard lock(makersMutex);
  if (auto mine = made.find(id.nonce);
      mine != made.end() && id.maker.id == getpid()) {
    close(mine->second);
    made.erase(mine);
  }
}

} // namespace shardc::test::cuda
