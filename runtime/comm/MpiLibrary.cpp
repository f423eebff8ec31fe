// dlopen(), and an adapter out of this program.
#include "runtime/comm/MpiLibrary.h"

#include "runtime/base/MemoryLibrary.h"
#include "runtime/comm/QuietUcx.h"

#include <algorithm>
#include <cstddef>
#include <dlfcn.h>
#include <optional>
#include <span>

namespace shardc::runtime {

using Kind = MpiLibrary::Kind;

static const unsigned char openMpiAdapter[] = {
#include "runtime/comm/mpi/openmpi.inc"
};
static const unsigned char mpichAdapter[] = {
#include "runtime/comm/mpi/mpich.inc"
};

std::vector<std::string> MpiLibrary::usualNames(Kind kind) {
  if (kind == Kind::OpenMpi)
    return {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12"};
  return {"libmpi.so.12", "libmpich.so.12", "libmpi.so.40"};
}

static const char *kindName(Kind kind) {
  return kind == Kind::OpenMpi ? "Open MPI" : "MPICH";
}

/// Open MPI's constants are its variables, MPICH's are numbers.
static std::optional<Kind> kindOf(void *library) {
  if (dlsym(library, "ompi_mpi_comm_world"))
    return Kind::OpenMpi;
  if (dlsym(library, "MPI_Init_thread"))
    return Kind::Mpich;
  return std::nullopt;
}

static const ShardcMpi *loadAdapter(Kind kind) {
  std::span<const unsigned char> image = openMpiAdapter;
  if (kind == Kind::Mpich)
    image = mpichAdapter;
  std::string what = concat("what calls ", kindName(kind));
  void *adapter =
      loadFromMemory(std::as_bytes(image), "shardc-mpi", what.c_str());
  void *table = dlsym(adapter, "shardcMpi");
  if (!table)
    fail("cannot load ", what, ": ", dlerror());
  return reinterpret_cast<decltype(&shardcMpi)>(table)();
}

/// "a, b and c"
static std::string listText(const std::vector<std::string> &words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

std::shared_ptr<MpiLibrary>
MpiLibrary::find(const std::vector<Kind> &kinds,
                 const std::function<std::vector<std::string>(Kind)> &names) {
  leaveUcxToOthers();
  std::vector<std::string> looked;
  for (Kind wanted : kinds) {
    looked.clear();
    for (const std::string &name : names(wanted)) {
      // Never unloaded, whatever it is: a UCX that comes with it may have put
      // jumps to itself into the functions that map memory.
      void *library =
          dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
      if (!library) {
        std::string problem = dlerror();
        bool isMissing =
            problem.find("No such file") != std::string::npos ||
            problem.find("cannot open shared object") != std::string::npos;
        looked.push_back(isMissing ? name : concat(name, " (", problem, ")"));
        continue;
      }
      std::optional<Kind> kind = kindOf(library);
      if (kind == wanted) {
        // The library's own plugins and the adapter look for its functions
        // among those that everybody sees.
        dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
        return std::shared_ptr<MpiLibrary>(new MpiLibrary(loadAdapter(wanted)));
      }
      looked.push_back(concat(name, kind ? concat(" (", kindName(*kind), "'s)")
                                         : " (which is no MPI)"));
    }
  }
  std::vector<std::string> wanted;
  for (Kind kind : kinds)
    wanted.push_back(kindName(kind));
  throw MpiMissing(concat("found no library of ", listText(wanted),
                          "; looked for ", listText(looked)));
}

void MpiLibrary::require(int error, const char *what) const {
  if (error)
    fail("cannot ", what, ": ", errorText(error));
}

std::string MpiLibrary::errorText(int error) const {
  char text[512] = "";
  table->errorText(error, text, sizeof(text));
  std::string line = text;
  std::ranges::replace(line, '\n', ' ');
  return line;
}

void MpiLibrary::begin() {
  int error = table->begin(&ownProcess, &count);
  if (error == ShardcMpiNoThreads)
    fail(name(), " can be called by one thread alone, and shardc needs "
                 "MPI_THREAD_SERIALIZED; use a library that was built with it");
  require(error, "begin with MPI");
}

std::string MpiLibrary::name() const {
  char text[512] = "";
  table->version(text, sizeof(text));
  // "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2\n..."
  std::string name = text;
  name.resize(std::min(name.find_first_of(",\n"), name.size()));
  std::ranges::replace(name, '\t', ' ');
  return name;
}

std::vector<std::string> MpiLibrary::exchange(const std::string &mine) {
  auto all = [&](const void *own, size_t bytes) {
    std::string texts(bytes * static_cast<size_t>(count), '\0');
    require(table->allGather(own, static_cast<int>(bytes), texts.data()),
            "exchange texts through MPI");
    return texts;
  };
  auto size = static_cast<int64_t>(mine.size());
  std::string told = all(&size, sizeof(size));
  std::vector<int64_t> sizes(static_cast<size_t>(count));
  std::memcpy(sizes.data(), told.data(), told.size());
  auto most = static_cast<size_t>(*std::ranges::max_element(sizes));
  std::string padded = mine;
  padded.resize(most);
  told = all(padded.data(), most);
  std::vector<std::string> texts;
  for (size_t i = 0; i < sizes.size(); ++i)
    texts.push_back(told.substr(i * most, static_cast<size_t>(sizes[i])));
  return texts;
}

void MpiLibrary::finish() { require(table->finish(), "end with MPI"); }

} // namespace shardc::runtime
