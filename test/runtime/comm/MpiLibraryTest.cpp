// Which MPI library is taken, and what is said where there is none. What
// libraries do is for mpi-tests.cpp, which mpirun starts.
#include "runtime/comm/MpiLibrary.h"
#include "test/runtime/comm/ForkedProcesses.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace shardc::runtime;
using Kind = MpiLibrary::Kind;

static std::string missing(const std::vector<Kind> &kinds,
                           const std::vector<std::string> &names) {
  try {
    MpiLibrary::find(kinds, [&](Kind) { return names; });
  } catch (const MpiMissing &error) {
    return error.what();
  }
  return "found";
}

// What is loaded stays, and changes settings, signals and functions of the
// process: each library has a process of its own.
static void aside(const std::function<void()> &body) {
  ChildEnd end = runForked(1, [&](const ForkedProcess &) { body(); })[0];
  EXPECT_EQ(end.exitCode, 0) << end.text;
}

TEST(MpiLibrary, NamesAreSaidThatWereLookedFor) {
  aside([] {
    EXPECT_EQ(missing({Kind::OpenMpi}, {"libnone.so.40", "libnone.so.12"}),
              "found no library of Open MPI; looked for libnone.so.40 and "
              "libnone.so.12");
    EXPECT_EQ(
        missing({Kind::Mpich, Kind::OpenMpi}, {"libnone.so.7"}),
        "found no library of MPICH and Open MPI; looked for libnone.so.7");
    for (Kind kind : {Kind::OpenMpi, Kind::Mpich}) {
      std::vector<std::string> usual = MpiLibrary::usualNames(kind);
      EXPECT_EQ(usual.size(), 3u);
      EXPECT_EQ(usual[0],
                kind == Kind::OpenMpi ? "libmpi.so.40" : "libmpi.so.12");
    }
  });
}

// It may load a UCX of its own.
TEST(MpiLibrary, FindsTheUsersSettingsOfUcx) {
  aside([] {
    missing({Kind::Mpich}, {"libnone.so.7"});
    EXPECT_EQ(getenv("UCX_MODULE_DIR"), nullptr);
    EXPECT_EQ(getenv("UCX_MEM_MMAP_HOOK_MODE"), nullptr);
    EXPECT_STREQ(getenv("UCX_ERROR_SIGNALS"), "");
  });
}

TEST(MpiLibrary, WhatIsNoMpiIsNotTaken) {
  aside([] {
    EXPECT_EQ(missing({Kind::Mpich}, {"libm.so.6"}),
              "found no library of MPICH; looked for libm.so.6 (which is no "
              "MPI)");
  });
}

static void anothersIsNotTaken(const char *name, Kind other,
                               const std::string &error) {
  ChildEnd end = runForked(1, [&](const ForkedProcess &) {
    if (!dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
      printf("no %s is installed", name);
      return;
    }
    EXPECT_EQ(missing({other}, {name}), error);
  })[0];
  EXPECT_EQ(end.exitCode, 0) << end.text;
  if (end.text.find("is installed") != std::string::npos)
    GTEST_SKIP() << end.text;
}

TEST(MpiLibrary, OpenMpiIsNotTakenForMpich) {
  anothersIsNotTaken("libmpi.so.40", Kind::Mpich,
                     "found no library of MPICH; looked for libmpi.so.40 "
                     "(Open MPI's)");
}

TEST(MpiLibrary, MpichIsNotTakenForOpenMpi) {
  anothersIsNotTaken("libmpich.so.12", Kind::OpenMpi,
                     "found no library of Open MPI; looked for libmpich.so.12 "
                     "(MPICH's)");
}
