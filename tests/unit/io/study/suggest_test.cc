#include "io/study/suggest.h"

#include <gtest/gtest.h>

namespace exawarp::tests {
namespace {

using namespace io;

TEST(Printable, LeavesTextAsItIs) {
  const std::string text = "cluster \xc2\xb5s \xe2\x80\x94 \xf0\x9f\x9a\x80, two\nlines ~";
  EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesWhatCommandsATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("a\rb\tc\bd\x7f"), "a\\x0db\\x09c\\x08d\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m"),
            "a\\xc2\\x9b31m");  // C1: CSI in one character
}

TEST(Printable, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(printable("\x9b"), "\\x9b");           // C1 as a byte
  EXPECT_EQ(printable("\xc2"), "\\xc2");           // cut off
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");  // not the shortest form
  EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xff"), "\\xff");
}

TEST(CloseNames, AreSlipsThenParts) {
  const std::vector<std::string> names = {"all_reduce", "llama_16k", "llama_1k", "other"};
  EXPECT_EQ(close_names("llama_2k", names), (std::vector<std::string>{"llama_1k", "llama_16k"}));
  EXPECT_EQ(close_names("llama", names), (std::vector<std::string>{"llama_1k", "llama_16k"}));
  EXPECT_EQ(close_names("qqq", names), std::vector<std::string>{});
}

TEST(OneLine, EscapesLineEnds) { EXPECT_EQ(one_line("a\nb"), "a\\nb"); }

TEST(OneLine, LeavesTheMiddleOfALongTextOut) {
  const std::string line = one_line("start" + std::string(5'000, 'x') + "end");
  EXPECT_LE(line.size(), kLineMax);
  EXPECT_TRUE(line.starts_with("startx"));
  EXPECT_TRUE(line.ends_with("xend"));
  EXPECT_NE(line.find(" ... (4048 bytes) ... "), std::string::npos) << line;
}

TEST(OneLine, CutsBetweenCharacters) {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'a');
    for (int i = 0; i < 500; ++i) text += "\xe2\x80\x94";
    const std::string line = one_line(text);
    EXPECT_EQ(printable(line), line) << shift;
    EXPECT_EQ(line.find("\\x"), std::string::npos) << shift;
  }
}

TEST(InQuotes, CutsBetweenCharacters) {
  EXPECT_EQ(in_quotes(std::string(59, 'a') + "\xc2\xb5"), '"' + std::string(59, 'a') + "...\"");
}

}  // namespace
}  // namespace exawarp::tests
