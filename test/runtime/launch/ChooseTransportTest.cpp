// What carries messages under which launcher.
#include "runtime/launch/ChooseTransport.h"

#include "gtest/gtest.h"

using namespace shardc::runtime;
using Kind = MpiLibrary::Kind;

static std::string chosen(LaunchKind kind,
                          std::optional<TransportKind> asked = {},
                          const Environment &environment = {}) {
  LaunchFlags flags;
  flags.transport = asked;
  Launch launch;
  launch.kind = kind;
  try {
    return chosenTransport(flags, launch, environment) == TransportKind::Mpi
               ? "mpi"
               : "ucx";
  } catch (const Error &error) {
    return error.what();
  }
}

TEST(ChooseTransport, MpirunsProcessesTalkMpiUnlessTold) {
  EXPECT_EQ(chosen(LaunchKind::Mpi), "mpi");
  EXPECT_EQ(chosen(LaunchKind::Mpi, TransportKind::Mpi), "mpi");
  EXPECT_EQ(chosen(LaunchKind::Mpi, TransportKind::Ucx), "ucx");
  for (LaunchKind kind :
       {LaunchKind::Alone, LaunchKind::Hand, LaunchKind::Spawned,
        LaunchKind::Torchrun, LaunchKind::Slurm}) {
    EXPECT_EQ(chosen(kind), "ucx");
    EXPECT_EQ(chosen(kind, TransportKind::Ucx), "ucx");
  }
}

TEST(ChooseTransport, MpiNeedsALauncherThatKnowsIt) {
  EXPECT_EQ(chosen(LaunchKind::Torchrun, TransportKind::Mpi),
            "--transport mpi, and MPI knows nothing of this process, whose "
            "launcher is 'torchrun'; start it with mpirun, or with srun "
            "--mpi=pmix or --mpi=pmi2");
  EXPECT_NE(chosen(LaunchKind::Alone, TransportKind::Mpi).find("'alone'"),
            std::string::npos);
  EXPECT_EQ(chosen(LaunchKind::Slurm, TransportKind::Mpi),
            "--transport mpi, and srun has told this process nothing of MPI: "
            "neither PMIX_RANK nor PMI_RANK is set; start it with srun "
            "--mpi=pmix or --mpi=pmi2");
  EXPECT_EQ(chosen(LaunchKind::Slurm, TransportKind::Mpi, {{"PMI_RANK", "0"}}),
            "mpi");
  EXPECT_EQ(chosen(LaunchKind::Slurm, TransportKind::Mpi, {{"PMIX_RANK", "1"}}),
            "mpi");
}

TEST(ChooseTransport, TheLibraryIsThatOfTheLauncher) {
  auto kinds = [](const Environment &environment) {
    return mpiKinds(environment);
  };
  std::vector<Kind> openMpi = {Kind::OpenMpi}, mpich = {Kind::Mpich};
  EXPECT_EQ(kinds({{"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_RANK", "0"}}),
            openMpi);
  EXPECT_EQ(kinds({{"PMI_RANK", "0"}}), mpich);
  EXPECT_EQ(kinds({{"MV2_COMM_WORLD_RANK", "0"}}), mpich);
  EXPECT_EQ(kinds({{"SLURM_PROCID", "0"}, {"PMIX_RANK", "0"}}).size(), 2u);
  EXPECT_EQ(kinds({{"SLURM_PROCID", "0"}, {"PMI_RANK", "0"}})[0], Kind::Mpich);
}
