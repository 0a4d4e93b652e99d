#include "io/report/page/page.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "io/report/page/parts.h"

namespace exawarp::io {
namespace {

// Within a script element only "</" could end it, and "<!--" could hide what follows.
std::string in_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string in_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::string page_html(const nlohmann::ordered_json& data) {
  const std::string json =
      data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string out = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += "<title>" + in_text(data.value("title", "Exawarp")) + "</title>\n<style>\n";
  out.append(page_part_uplot_css()).append(page_part_report_css());
  out += "</style>\n</head>\n<body>\n<main id=\"page\"></main>\n";
  out += "<noscript>This page draws its figures by a script. They are in its source, as JSON."
         "</noscript>\n<script id=\"data\" type=\"application/json\">";
  out += in_script(json) + "</script>\n<script>\n";
  out.append(page_part_uplot_js()).append("\n");
  out.append(page_part_charts_js()).append(page_part_report_js()).append(page_part_sweep_js());
  out += "drawPage();\n</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace exawarp::io
