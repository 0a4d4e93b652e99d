#include "io/report/svg.h"

#include "io/report/append.h"
#include "io/report/workload_drawing.h"

namespace exawarp::io {
namespace {

std::string title_of(std::string_view what) {
  return what.empty() ? std::string() : "<title>" + xml_text(what) + "</title>";
}

}  // namespace

void Svg::line(Point a, Point b, const Stroke& stroke) {
  const Point middle{(a.x + b.x) / 2 + stroke.bend * (b.y - a.y),
                     (a.y + b.y) / 2 + stroke.bend * (a.x - b.x)};
  append(body_, "<path d=\"M{:.1f} {:.1f}", a.x, a.y);
  if (stroke.bend == 0) {
    append(body_, "L{:.1f} {:.1f}\"", b.x, b.y);
  } else {
    append(body_, "Q{:.1f} {:.1f} {:.1f} {:.1f}\"", middle.x, middle.y, b.x, b.y);
  }
  append(body_, " stroke=\"{}\"", stroke.colour);
  if (stroke.width != 1) append(body_, " stroke-width=\"{:.1f}\"", stroke.width);
  if (stroke.dashed) body_ += " stroke-dasharray=\"3 3\"";
  const std::string title = title_of(stroke.title);
  body_ += title.empty() ? "/>\n" : ">" + title + "</path>\n";
}

void Svg::name_inside(Point at, std::string_view name) {
  if (name.empty()) return;
  append(body_, "<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", at.x, at.y + 3,
         xml_text(name));
}

void Svg::circle(Point at, double radius, std::string_view name, std::string_view title) {
  append(body_, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.0f}\">{}</circle>\n", at.x, at.y,
         radius, title_of(title));
  name_inside(at, name);
}

void Svg::box(Point at, double width, double height, std::string_view name,
              std::string_view title) {
  append(body_,
         "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.0f}\">{}</rect>\n",
         at.x - width / 2, at.y - height / 2, width, height, title_of(title));
  name_inside(at, name);
}

void Svg::bar(Point at, double width, double height, std::string_view colour,
              std::string_view title) {
  append(body_,
         "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\" "
         "style=\"fill: {}; stroke: none\">{}</rect>\n",
         at.x, at.y, width, height, colour, title_of(title));
}

void Svg::text(Point at, std::string_view what, const char* anchor, std::string_view fill) {
  append(body_,
         "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", at.x, at.y,
         anchor, fill, xml_text(what));
}

std::string Svg::document(double width, double height) const {
  std::string out;
  append(out,
         "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
         "width=\"{0:.0f}\" height=\"{1:.0f}\">\n"
         "<style>path {{fill: none}} circle, rect {{fill: #f4f4f4; stroke: #222222}} "
         "text {{font: 12px sans-serif}} .name {{font-size: 8px; text-anchor: middle}}</style>\n"
         "<rect width=\"100%\" height=\"100%\" style=\"fill: white; stroke: none\"/>\n{2}</svg>\n",
         width, height, body_);
  return out;
}

}  // namespace exawarp::io
