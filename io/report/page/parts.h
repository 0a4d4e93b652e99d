// Files of this folder that are in the program, for every page (embed.cmake).
#pragma once

#include <string_view>

namespace exawarp::io {

std::string_view page_part_uplot_css();
std::string_view page_part_uplot_js();
std::string_view page_part_report_css();
std::string_view page_part_charts_js();
std::string_view page_part_report_js();
std::string_view page_part_sweep_js();

}  // namespace exawarp::io
