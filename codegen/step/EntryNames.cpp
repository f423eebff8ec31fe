// What the entries of a program are called.
#include "codegen/step/EntryNames.h"

#include "codegen/step/Step.h"

using namespace mlir;

namespace shardc::step {

static void addNodes(Location loc, llvm::SetVector<StringRef> &nodes) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    nodes.insert(name.getName());
    addNodes(name.getChildLoc(), nodes);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      addNodes(part, nodes);
  }
}

static StringRef noteOf(Operation *entry, StringRef attribute) {
  auto value = entry->getAttrOfType<StringAttr>(attribute);
  return value ? value.getValue() : StringRef();
}

StringRef entryUnit(Operation *entry) { return noteOf(entry, step::unitAttr); }
StringRef entryPhase(Operation *entry) {
  return noteOf(entry, step::phaseAttr);
}

std::string entryKind(Operation *entry) {
  return entry->getName().stripDialect().str();
}

llvm::SetVector<StringRef> entryNodes(Operation *entry) {
  llvm::SetVector<StringRef> nodes;
  addNodes(entry->getLoc(), nodes);
  return nodes;
}

std::string EntryNames::next(Operation *entry) {
  std::string name = entryUnit(entry).str();
  if (!name.empty())
    name += "/";
  if (auto launch = dyn_cast<LaunchOp>(entry))
    name += launch.getKernel().getLeafReference().str();
  else
    name += entryKind(entry);
  if (int64_t count = counts[name]++)
    name += "." + std::to_string(count);
  return name;
}

} // namespace shardc::step
