// Processes that meet: here threads, each with a Launch of its own.
#include "runtime/launch/Rendezvous.h"

#include "runtime/base/HostName.h"

#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

using namespace shardc::runtime;
using namespace std::chrono_literals;

namespace {

Launch launchOf(LaunchKind kind, int process, int processes,
                StoreAddress store) {
  Launch launch;
  launch.kind = kind;
  launch.process = process;
  launch.processes = processes;
  launch.store = std::move(store);
  launch.job = "job 1";
  launch.prefix = "shardc";
  return launch;
}

/// What each process's body throws, or nothing.
std::vector<std::string> runAll(int processes,
                                const std::function<void(int)> &body) {
  std::vector<std::string> errors(static_cast<size_t>(processes));
  std::vector<std::thread> threads;
  for (int process = 0; process < processes; ++process)
    threads.emplace_back([&, process] {
      try {
        body(process);
      } catch (const Error &error) {
        errors[static_cast<size_t>(process)] = error.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}

uint16_t freePort() { return TcpStoreServer(0, "").port(); }

/// All-gathers of texts among threads, as MPI has them among processes.
class Gather {
public:
  explicit Gather(int processes) : texts(static_cast<size_t>(processes)) {}
  std::vector<std::string> operator()(int process, const std::string &mine) {
    std::unique_lock lock(mutex);
    size_t round = come / texts.size(), end = (round + 1) * texts.size();
    texts[static_cast<size_t>(process)] = mine;
    if (++come == end) {
      told = texts;
      all.notify_all();
    }
    // Nobody ends the next round before all have gone on from this one.
    all.wait(lock, [&] { return come >= end; });
    return told;
  }

private:
  std::mutex mutex;
  std::condition_variable all;
  std::vector<std::string> texts, told;
  size_t come = 0;
};

} // namespace

TEST(Rendezvous, OneProcessNeedsNoStore) {
  Rendezvous alone(Launch{}, 1s);
  EXPECT_EQ(alone.store(), nullptr);
  EXPECT_EQ(alone.hosts(), std::vector<std::string>{hostName()});
  EXPECT_EQ(alone.exchange("a", "x", after(1s)), std::vector<std::string>{"x"});
  alone.leave(after(1s));
}

TEST(Rendezvous, ProcessZeroServes) {
  constexpr int processes = 6;
  uint16_t port = freePort();
  std::vector<std::string> errors = runAll(processes, [&](int process) {
    // The others may be here before it.
    if (process == 0)
      std::this_thread::sleep_for(100ms);
    Rendezvous here(
        launchOf(LaunchKind::Slurm, process, processes, {"localhost", port, 4}),
        20s);
    EXPECT_EQ(here.hosts(), std::vector<std::string>(processes, hostName()));
    EXPECT_EQ(here.localProcess(), process);
    EXPECT_EQ(here.localProcesses(), processes);
    for (const char *key : {"first", "second"}) {
      std::vector<std::string> texts =
          here.exchange(key, concat(key, process), after(20s));
      for (int each = 0; each < processes; ++each)
        EXPECT_EQ(texts[static_cast<size_t>(each)], concat(key, each));
    }
    here.leave(after(20s));
  });
  EXPECT_EQ(errors, std::vector<std::string>(processes));
}

TEST(Rendezvous, AnotherJobsPortIsPassedBy) {
  uint16_t port = 0;
  std::unique_ptr<TcpStoreServer> other;
  other = std::make_unique<TcpStoreServer>(0, "job 2");
  port = other->port();
  std::vector<std::string> errors = runAll(2, [&](int process) {
    Rendezvous here(
        launchOf(LaunchKind::Slurm, process, 2, {"127.0.0.1", port, 16}), 20s);
    EXPECT_NE(here.store()->name(), concat("127.0.0.1:", port));
    here.leave(after(20s));
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
  try {
    Rendezvous here(launchOf(LaunchKind::Hand, 0, 2, {"127.0.0.1", port, 1}),
                    1s);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.what(),
              concat("cannot serve the store of this run: port ", port,
                     " of this host is taken by another process"));
  }
}

TEST(Rendezvous, ALaunchersStoreIsUsedUnderItsPrefix) {
  TcpStoreServer agent(0, "torchrun's own");
  TcpStoreClient asked({{"127.0.0.1", agent.port()}}, "", "", after(5s));
  for (const char *prefix : {"shardc/run/0", "shardc/run/1"}) {
    std::vector<std::string> errors = runAll(3, [&](int process) {
      Launch launch = launchOf(LaunchKind::Torchrun, process, 3,
                               {"127.0.0.1", agent.port(), 1});
      launch.storeIsServed = true;
      launch.job = "";
      launch.prefix = prefix;
      Rendezvous here(launch, 20s);
      std::vector<std::string> texts =
          here.exchange("key", concat(prefix, process), after(20s));
      EXPECT_EQ(texts[2], concat(prefix, 2));
      here.leave(after(20s));
    });
    EXPECT_EQ(errors, std::vector<std::string>(3));
    EXPECT_EQ(asked.get(concat(prefix, "/key/1"), after(5s)),
              concat(prefix, 1));
  }
}

TEST(Rendezvous, MpiNeedsNoStore) {
  Gather gather(4);
  std::vector<std::string> errors = runAll(4, [&](int process) {
    Rendezvous here(launchOf(LaunchKind::Mpi, process, 4, {}), 20s,
                    [&, process](const std::string &mine) {
                      return gather(process, mine);
                    });
    EXPECT_EQ(here.store(), nullptr);
    EXPECT_EQ(here.hosts(), std::vector<std::string>(4, hostName()));
    EXPECT_EQ(here.localProcess(), process);
    EXPECT_EQ(here.localProcesses(), 4);
    EXPECT_EQ(
        here.exchange("all", concat("text ", process), after(20s)),
        (std::vector<std::string>{"text 0", "text 1", "text 2", "text 3"}));
    here.leave(after(20s));
  });
  EXPECT_EQ(errors, std::vector<std::string>(4));
}

TEST(Rendezvous, WhoHasNotComeIsListed) {
  uint16_t port = freePort();
  std::vector<std::string> errors(5);
  // Of five, the second and the fourth stay away.
  errors = runAll(5, [&](int process) {
    if (process != 1 && process != 3)
      Rendezvous here(
          launchOf(LaunchKind::Hand, process, 5, {"127.0.0.1", port, 1}),
          process == 0 ? 1000ms : 600ms);
  });
  std::string expected =
      concat("processes 1, 3 of 5 have not come; here: 0 (on ", hostName(),
             "), 2 (on ", hostName(), "), 4 (on ", hostName(), ")");
  for (size_t process : {0, 2, 4}) {
    EXPECT_EQ(errors[process].find("within "), 0u) << errors[process];
    EXPECT_NE(errors[process].find(expected), std::string::npos)
        << errors[process];
  }
  try {
    Rendezvous here(launchOf(LaunchKind::Hand, 1, 2, {"127.0.0.1", port, 1}),
                    100ms);
    FAIL();
  } catch (const StoreTimeout &error) {
    EXPECT_NE(std::string(error.what())
                  .find("process 0 serves no store: found no store of this "
                        "run within 0.1"),
              std::string::npos)
        << error.what();
  }
}

TEST(Rendezvous, ALaterExchangeNamesHosts) {
  TcpStoreServer server(0, "");
  TcpStoreClient store({{"127.0.0.1", server.port()}}, "", "", after(5s));
  std::vector<std::string> names = {"a", "b", "c"};
  try {
    exchange(store, "key", "x", 0, 3, after(50ms), names);
    FAIL();
  } catch (const StoreTimeout &error) {
    EXPECT_NE(std::string(error.what())
                  .find("processes 1 (on b), 2 (on c) of 3 have not come; "
                        "here: 0 (on a)"),
              std::string::npos)
        << error.what();
  }
  // Of very many, the first are named.
  try {
    exchange(store, "many", "x", 0, 100, after(50ms));
    FAIL();
  } catch (const StoreTimeout &error) {
    EXPECT_NE(std::string(error.what()).find(", 15, 16 and 83 more of 100"),
              std::string::npos)
        << error.what();
  }
}

TEST(Rendezvous, HostsHaveNames) { EXPECT_NE(hostName(), ""); }
