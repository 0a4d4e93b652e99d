// Shapes of an SVG 1.1 document, in the order in which they are drawn.
#pragma once

#include <string>
#include <string_view>

namespace exawarp::io {

struct Point {
  double x = 0, y = 0;
};

class Svg {
 public:
  struct Stroke {
    std::string colour = "#707070";
    double bend = 0;  // of the line's length, to its side; 0: straight
    double width = 1;
    bool dashed = false;
    std::string title{};  // shown where the mouse points; "": none
  };

  void line(Point a, Point b, const Stroke& stroke);
  // A device, and a switch, with its name in it where `name` is not empty.
  void circle(Point at, double radius, std::string_view name, std::string_view title);
  void box(Point at, double width, double height, std::string_view name, std::string_view title);
  // Filled, from its upper left corner on.
  void bar(Point at, double width, double height, std::string_view colour, std::string_view title);
  void text(Point at, std::string_view what, const char* anchor = "start",
            std::string_view fill = "#222222");

  [[nodiscard]] std::string document(double width, double height) const;

 private:
  void name_inside(Point at, std::string_view name);
  std::string body_;
};

}  // namespace exawarp::io
