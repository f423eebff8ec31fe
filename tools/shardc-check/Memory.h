// The memory of one rank while a program runs: who owns which bytes, and what
// is in them.
#ifndef SHARDC_TOOLS_SHARDC_CHECK_MEMORY_H
#define SHARDC_TOOLS_SHARDC_CHECK_MEMORY_H

#include "tools/shardc-check/Plans.h"
#include "tools/shardc-check/Values.h"

#include <map>

namespace shardc::check {

/// What somebody wrote.
struct Record {
  View place;        // in bytes of the buffer
  int64_t bytes = 0; // of an element; 0: of any type
  Value value;
  std::string writer;
  /// Who reads it is told why it should not, where this is not empty.
  std::string spoiled;
  bool isRead = false;
  /// Whether it matters that nobody reads it.
  bool isNeeded = true;
};

class Memory {
public:
  Memory(const plan::Plan &plan, Values &values, Findings &findings);

  /// The pools of a program are as if nobody had ever written to them.
  /// What is gathered once in a step is there in all micro-batches behind the
  /// first.
  void beginProgram(bool isFirst);
  /// Reports what nobody has read since it was written.
  void endProgram();

  /// The elements of a tensor. Reports what no entry wrote, and what has been
  /// overwritten since.
  Value read(const std::string &where, const plan::Tensor &tensor);
  void write(const std::string &where, const plan::Tensor &tensor, Value value,
             const std::string &spoiled = "");
  /// As above, by buffer and place in it.
  void write(const std::string &where, uint32_t buffer, Record record);
  /// Whoever has bytes of the buffer loses them: it has the writer's from here.
  void claim(const std::string &where, uint32_t buffer);
  bool isLive(uint32_t buffer) const { return states[buffer].isLive; }
  std::vector<Record> &records(uint32_t buffer) {
    return states[buffer].records;
  }

private:
  struct State {
    bool isLive = false;
    std::string overwritten; // by whom
    std::vector<Record> records;
  };
  void drop(const std::string &where, Record &record);

  const plan::Plan &plan;
  Values &values;
  Findings &findings;
  std::vector<State> states;
  std::vector<bool> outlives; // programs, by buffer
  std::vector<bool> stays;    // over the micro-batches of a step
  /// Of each pool the live buffers by their offsets; they do not overlap.
  std::vector<std::map<int64_t, uint32_t>> live;
};

} // namespace shardc::check

#endif
