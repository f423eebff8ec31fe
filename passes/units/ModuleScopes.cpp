// Module paths: their parts, and lists of them that fit on a line.
#include "passes/units/ModuleScopes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <set>

using namespace llvm;
using namespace shardc;

static constexpr size_t mostListed = 18;
/// Stands for a number in a path; no path has it.
static constexpr char aNumber = '\1';

StringRef shardc::shortClassName(StringRef name) {
  size_t dot = name.rfind('.');
  return dot == StringRef::npos ? name : name.drop_front(dot + 1);
}

void shardc::forEachModule(StringRef path,
                           function_ref<void(StringRef)> visit) {
  for (size_t dot = path.find('.'); dot != StringRef::npos;
       dot = path.find('.', dot + 1))
    visit(path.take_front(dot));
}

std::map<std::string, int64_t> shardc::countClasses(const UnitModel &model) {
  std::set<std::string> modules;
  for (const BlockParameter &parameter : model.parameters)
    forEachModule(parameter.path,
                  [&](StringRef module) { modules.insert(module.str()); });
  std::map<std::string, int64_t> counts;
  for (const std::string &module : modules)
    if (auto entry = model.classes.find(module); entry != model.classes.end())
      ++counts[shortClassName(entry->second).str()];
  return counts;
}

std::string shardc::describeScopes(ArrayRef<BlockParameter> parameters) {
  // Paths that differ in numbers only share an entry: for each of its numbers
  // what values there are.
  std::vector<std::pair<std::string, std::vector<std::set<int64_t>>>> shapes;
  StringMap<size_t> indices;
  for (const BlockParameter &parameter : parameters) {
    // Without modules the names themselves are all there is.
    StringRef path = parameter.path;
    if (path.contains('.'))
      path = path.rsplit('.').first;
    std::string shape;
    SmallVector<int64_t> numbers;
    while (!path.empty()) {
      StringRef digits = path.take_while(isDigit);
      int64_t number;
      if (!digits.empty() && !digits.getAsInteger(10, number)) {
        shape += aNumber;
        numbers.push_back(number);
        path = path.drop_front(digits.size());
      } else {
        shape += path.front();
        path = path.drop_front();
      }
    }
    auto [entry, isNew] = indices.try_emplace(shape, shapes.size());
    if (isNew)
      shapes.push_back({shape, {}});
    auto &values = shapes[entry->second].second;
    values.resize(numbers.size());
    for (auto [index, number] : enumerate(numbers))
      values[index].insert(number);
  }
  SmallVector<std::string> texts;
  for (auto &[shape, values] : shapes) {
    if (texts.size() == mostListed) {
      texts.push_back(std::to_string(shapes.size() - mostListed) + " more");
      break;
    }
    std::string text;
    size_t index = 0;
    for (char c : shape) {
      if (c != aNumber) {
        text += c;
        continue;
      }
      const std::set<int64_t> &present = values[index++];
      text += present.size() == 1
                  ? std::to_string(*present.begin())
                  : "{" + std::to_string(*present.begin()) + ".." +
                        std::to_string(*present.rbegin()) + "}";
    }
    texts.push_back(text);
  }
  return join(texts, ", ");
}
