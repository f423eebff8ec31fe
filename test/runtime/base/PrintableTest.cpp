// What a terminal gets of names that come from files.
#include "runtime/base/Printable.h"

#include <gtest/gtest.h>

using namespace shardc::runtime;

TEST(Printable, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a \"b\" 'ü' \u2192 \U0001f600"),
            "a \"b\" 'ü' \u2192 \U0001f600");
  EXPECT_EQ(printable("\x1b[31mred\x07\x7f"), "\\x1b[31mred\\x07\\x7f");
  EXPECT_EQ(printable("two\nlines\tand\rmore"), "two\\nlines\\tand\\x0dmore");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  // The second set of controls, and what turns the direction of text.
  EXPECT_EQ(printable("\u009b31m"), "\\x9b31m");
  EXPECT_EQ(printable("\u202etxt.exe\u2028"), "\\u{202e}txt.exe\\u{2028}");
}

TEST(Printable, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("a\xff\xfe"), "a\\xff\\xfe");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                   // cut off
  EXPECT_EQ(printable("\xc0\x80"), "\\xc0\\x80");          // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Printable, CutsLongNames) {
  std::string name(1 << 20, 'n');
  std::string text = printable("input '" + name + "' is not there");
  EXPECT_EQ(text, "input '" + std::string(188, 'n') + "..." +
                      std::string(63, 'n') + "' is not there");
  std::string words;
  for (int i = 0; i < 5000; ++i)
    words += "word ";
  EXPECT_EQ(printable(words).size(), 4096u);
  // Characters stay whole.
  std::string wide;
  for (int i = 0; i < 200; ++i)
    wide += "\U0001f600";
  EXPECT_EQ(printable(wide).find('\\'), std::string::npos);
  EXPECT_EQ(printable(std::string(256, 'x')), std::string(256, 'x'));
}

TEST(Printable, KeepsLines) {
  EXPECT_EQ(printableLines("a\n\x1b\n"), "a\n\\x1b\n");
  EXPECT_EQ(printableLines("a\n\nb"), "a\n\nb");
}
