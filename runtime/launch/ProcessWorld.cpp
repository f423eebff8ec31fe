// Each of its ranks connects to what the process shares.
#include "runtime/launch/ProcessWorld.h"

#include "runtime/comm/MpiLibrary.h"
#include "runtime/comm/Processes.h"
#include "runtime/launch/Rendezvous.h"

#include <thread>

namespace shardc::runtime {

ProcessWorld::ProcessWorld(const Placement &placement,
                           std::unique_ptr<Transport> transport, Nodes found,
                           std::shared_ptr<Rendezvous> rendezvous,
                           std::shared_ptr<MpiLibrary> mpi)
    : placement(placement), nodes(found.count()),
      rendezvous(std::move(rendezvous)), mpi(std::move(mpi)),
      process(std::make_shared<ProcessRanks>(
          placement, haveCoresFor(workersPerRank()), std::move(transport),
          std::move(found), names(),
          [this](const std::string &reason) { return firstReason(reason); })) {}

/// Reasons beget reasons: who has lost one process is lost to others. Where
/// there is a store, it keeps what came first.
std::string ProcessWorld::firstReason(const std::string &reason) {
  std::lock_guard lock(mutex);
  if (!first.empty())
    return first;
  first = reason;
  // A process that was stopped for a while finds its connections lost before
  // its server has read what the others had said meanwhile.
  if (rendezvous && rendezvous->servesStore())
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  if (rendezvous && rendezvous->store())
    try {
      first = rendezvous->store()->compareSet("reason", "", reason,
                                              after(std::chrono::seconds(1)));
    } catch (const Error &) {
      storeIsLost = true; // it may be the reason itself
    }
  return first;
}

std::string ProcessWorld::nameOf(int of) const {
  int each = placement.ranksPerProcess, first = of * each;
  return concat("process ", of, " (",
                each == 1 ? concat("rank ", first)
                          : concat("ranks ", first, " to ", first + each - 1),
                rendezvous ? ", on " + rendezvous->hosts()[of] : "", ")");
}

std::vector<std::string> ProcessWorld::names() const {
  std::vector<std::string> all;
  for (int of = 0; of < placement.processes; ++of)
    all.push_back(nameOf(of));
  return all;
}

std::vector<std::string> ProcessWorld::hosts() const {
  return rendezvous ? rendezvous->hosts()
                    : std::vector<std::string>(placement.processes);
}

Traffic ProcessWorld::traffic() const { return process->network().traffic(); }

std::string ProcessWorld::text() const {
  return concat(placement.processes, " processes of ",
                placement.ranksPerProcess,
                placement.ranksPerProcess == 1 ? " rank" : " ranks", ", ",
                process->network().name(), "; ",
                nodes == placement.processes
                    ? "none reads another's memory"
                    : concat("those of a host read each other's memory (",
                             nodes, nodes == 1 ? " node)" : " nodes)"));
}

/// Names and values, each behind its length.
static std::string factsText(const Facts &facts) {
  std::string text;
  for (const auto &[name, value] : facts)
    for (const std::string &each : {name, value})
      text += concat(each.size(), ":", each);
  return text;
}

static Facts parseFacts(const std::string &text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    size_t size = std::stoul(text.substr(at));
    at = text.find(':', at) + 1;
    words.push_back(text.substr(at, size));
    at += size;
  }
  Facts facts;
  for (size_t i = 0; i + 1 < words.size(); i += 2)
    facts.emplace_back(words[i], words[i + 1]);
  return facts;
}

void ProcessWorld::agree(const Facts &facts) {
  std::vector<std::string> all = process->network().exchange(factsText(facts));
  Facts first = parseFacts(all[0]);
  for (size_t i = 0; i < first.size(); ++i)
    for (int of = 1; of < placement.processes; ++of) {
      Facts other = parseFacts(all[of]);
      // Other versions of the program may have other facts.
      const auto &[name, value] = first[i];
      std::string theirs = i < other.size() && other[i].first == name
                               ? other[i].second
                               : "not known";
      if (theirs == value)
        continue;
      // All find it; none leaves before the others could.
      try {
        process->network().exchange("");
      } catch (const Aborted &) {
      }
      fail(nameOf(0), " and ", nameOf(of), " disagree about ", name, ": ",
           value, " and ", theirs, "; start all with the same");
    }
}

void ProcessWorld::giveUp(const std::string &reason) {
  process->network().giveUp(
      concat(nameOf(placement.process), " gave up: ", reason));
}

void ProcessWorld::watch(std::chrono::milliseconds interval, PlaceText place) {
  process->watch(interval, std::move(place));
}
bool ProcessWorld::isStopped(int of) const {
  return process->network().isStopped(of);
}
std::vector<ProcessNotes> ProcessWorld::notes() const {
  return process->notes();
}

std::string ProcessWorld::abort(const std::string &text) {
  std::string first = firstReason(text);
  process->threads().abort(first);
  process->network().giveUp(first);
  return first;
}

std::string ProcessWorld::reasonOfAbort() const {
  return process->threads().reasonOfAbort();
}
bool ProcessWorld::hasFailed() const { return process->threads().hasFailed(); }

/// mpirun ends with the code of the process that fails first, and then the
/// others: those that are no cause leave it the time.
static void leaveMpi(MpiLibrary &mpi, Network::End end) {
  if (end == Network::End::OthersFailure)
    std::this_thread::sleep_for(std::chrono::seconds(1));
  if (end != Network::End::Orderly)
    return;
  try {
    mpi.finish();
  } catch (const std::exception &) {
    // The run is complete.
  }
}

ProcessWorld::~ProcessWorld() {
  Network::End end = process->network().end(); // says goodbye to the others
  process.reset();
  if (mpi)
    leaveMpi(*mpi, end);
  if (!rendezvous || storeIsLost)
    return;
  try {
    // Those that have failed ask at once why.
    bool inOrder = end == Network::End::Orderly;
    rendezvous->leave(after(std::chrono::seconds(inOrder ? 5 : 2)), inOrder);
  } catch (const std::exception &) {
    // Who is gone needs no store.
  }
}

std::unique_ptr<Communicator> ProcessWorld::connect(int rank) {
  return connectProcess(process, rank);
}

} // namespace shardc::runtime
