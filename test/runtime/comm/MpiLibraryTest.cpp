// Which MPI library is taken, and what is said where there is none. What
// libraries do is for mpi-tests.cpp, which mpirun starts.
#include "runtime/comm/MpiLibrary.h"

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

TEST(MpiLibrary, NamesAreSaidThatWereLookedFor) {
  EXPECT_EQ(missing({Kind::OpenMpi}, {"libnone.so.40", "libnone.so.12"}),
            "found no library of Open MPI; looked for libnone.so.40 and "
            "libnone.so.12");
  EXPECT_EQ(missing({Kind::Mpich, Kind::OpenMpi}, {"libnone.so.7"}),
            "found no library of MPICH and Open MPI; looked for libnone.so.7");
  for (Kind kind : {Kind::OpenMpi, Kind::Mpich}) {
    std::vector<std::string> usual = MpiLibrary::usualNames(kind);
    EXPECT_EQ(usual.size(), 3u);
    EXPECT_EQ(usual[0],
              kind == Kind::OpenMpi ? "libmpi.so.40" : "libmpi.so.12");
  }
}

// It may load a UCX of its own.
TEST(MpiLibrary, FindsTheUsersSettingsOfUcx) {
  missing({Kind::Mpich}, {"libnone.so.7"});
  EXPECT_EQ(getenv("UCX_MODULE_DIR"), nullptr);
  EXPECT_EQ(getenv("UCX_MEM_MMAP_HOOK_MODE"), nullptr);
  EXPECT_STREQ(getenv("UCX_ERROR_SIGNALS"), "");
}

TEST(MpiLibrary, WhatIsNoMpiIsNotTaken) {
  EXPECT_EQ(missing({Kind::Mpich}, {"libm.so.6"}),
            "found no library of MPICH; looked for libm.so.6 (which is no "
            "MPI)");
}

TEST(MpiLibrary, AnothersMpiIsNotTaken) {
  for (auto [name, own, other, text] :
       {std::tuple{"libmpi.so.40", Kind::OpenMpi, Kind::Mpich,
                   "MPICH; looked for libmpi.so.40 (Open MPI's)"},
        {"libmpich.so.12", Kind::Mpich, Kind::OpenMpi,
         "Open MPI; looked for libmpich.so.12 (MPICH's)"}}) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      GTEST_SKIP() << "no " << name << " is installed";
    dlclose(library);
    EXPECT_EQ(missing({other}, {name}),
              std::string("found no library of ") + text);
  }
}
