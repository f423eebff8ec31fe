// Where people watch a run: lines that stay, and on a terminal one at the
// bottom that changes.
#ifndef SHARDC_RUNTIME_METRICS_TERMINAL_H
#define SHARDC_RUNTIME_METRICS_TERMINAL_H

#include <string>

namespace shardc::runtime {

class Terminal {
public:
  Terminal();
  Terminal(const Terminal &) = delete;
  ~Terminal();

  /// Whether draw() makes sense: stdout is a terminal that can move its cursor.
  bool isTerminal() const { return terminal; }
  int width() const;

  /// A whole line that stays.
  void line(const std::string &text);
  /// The same on stderr, with the program's name.
  void warning(const std::string &text);
  /// Draws the line at the bottom anew.
  void draw(const std::string &text);
  /// Leaves the terminal as it was.
  void finish();

private:
  void erase();

  bool terminal;
  bool drawn = false;
};

} // namespace shardc::runtime

#endif
