// What carries the messages of a run.
#include "runtime/launch/ChooseTransport.h"

namespace shardc::runtime {

static bool has(const Environment &environment, const char *name) {
  auto found = environment.find(name);
  return found != environment.end() && !found->second.empty();
}

TransportKind chosenTransport(const LaunchFlags &flags, const Launch &launch,
                              const Environment &environment) {
  bool isMpirun = launch.kind == LaunchKind::Mpi;
  TransportKind chosen = flags.transport.value_or(
      isMpirun ? TransportKind::Mpi : TransportKind::Ucx);
  if (chosen == TransportKind::Ucx || isMpirun)
    return chosen;
  if (launch.kind != LaunchKind::Slurm)
    fail("--transport mpi, and MPI knows nothing of this process, whose "
         "launcher "
         "is '",
         launchKindName(launch.kind),
         "'; start it with mpirun, or with srun --mpi=pmix or --mpi=pmi2");
  if (!has(environment, "PMIX_RANK") && !has(environment, "PMI_RANK"))
    fail("--transport mpi, and srun has told this process nothing of MPI: "
         "neither PMIX_RANK nor PMI_RANK is set; start it with srun "
         "--mpi=pmix or --mpi=pmi2");
  return chosen;
}

std::vector<MpiLibrary::Kind> mpiKinds(const Environment &environment) {
  using Kind = MpiLibrary::Kind;
  if (has(environment, "OMPI_COMM_WORLD_RANK"))
    return {Kind::OpenMpi};
  if (has(environment, "PMIX_RANK"))
    return {Kind::OpenMpi, Kind::Mpich};
  // srun's; Open MPI is built with its library rarely.
  if (has(environment, "SLURM_PROCID"))
    return {Kind::Mpich, Kind::OpenMpi};
  return {Kind::Mpich};
}

} // namespace shardc::runtime
