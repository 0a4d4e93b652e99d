#include "io/study/packet_config.h"

#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "core/check.h"
#include "model/network/packet/congestion_control.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using core::Time;
using model::FlowControl;
using model::GivenParameters;
using model::PacketOptions;
using model::Parameter;
using model::ParameterKind;
using model::Recovery;

const std::vector<Choice<FlowControl>> kFlowControls{
    {"none", FlowControl::none}, {"credit", FlowControl::credit}, {"pfc", FlowControl::pfc}};
const std::vector<Choice<Recovery>> kRecoveries{{"none", Recovery::none},
                                                {"go_back_n", Recovery::go_back_n},
                                                {"selective_repeat", Recovery::selective_repeat}};

// Of a section whose absent keys keep their default.
struct Reader {
  const YamlSection& section;

  void size(std::string_view key, std::int64_t& value) const {
    value = section.quantity(key, Dimension::size, 0, value);
  }
  void rate(std::string_view key, std::int64_t& value) const {
    value = section.quantity(key, Dimension::bandwidth, 1, value);
  }
  void time(std::string_view key, Time& value) const {
    value = Time{section.quantity(key, Dimension::time, 0, value.ps)};
  }
  void count(std::string_view key, std::uint32_t& value, std::int64_t most) const {
    value = static_cast<std::uint32_t>(section.integer(key, {0, most}, value));
  }
  void share(std::string_view key, std::uint32_t& per_mille) const {
    const double given = section.real(key, {.min = 0, .max = 1}, per_mille / 1000.0);
    per_mille = static_cast<std::uint32_t>(std::lround(given * 1000));
  }
};

// In the unit of the parameter's kind.
std::int64_t read_parameter(const YamlSection& section, const Parameter& p) {
  const auto quantity = [&](Dimension dimension) {
    const std::int64_t value = section.quantity(p.key, dimension, p.least, p.usual);
    if (value <= p.most) return value;
    const auto most = static_cast<std::uint64_t>(p.most);
    section.fail(p.key, fmt::format("\"{}\" is too much; expected {}{} at most",
                                    section.text(p.key),
                                    p.kind == ParameterKind::time ? core::format_time(Time{p.most})
                                                                  : core::format_bytes(most),
                                    p.kind == ParameterKind::rate ? "/s" : ""));
  };
  switch (p.kind) {
    case ParameterKind::size: return quantity(Dimension::size);
    case ParameterKind::rate: return quantity(Dimension::bandwidth);
    case ParameterKind::time: return quantity(Dimension::time);
    case ParameterKind::count: return section.integer(p.key, {p.least, p.most}, p.usual);
    case ParameterKind::share: break;
  }
  const auto share = [](std::int64_t per_mille) { return static_cast<double>(per_mille) / 1000; };
  const double given =
      section.real(p.key, {.min = share(p.least), .max = share(p.most)}, share(p.usual));
  return std::llround(given * 1000);
}

// Reads all of `table` from `section`, and notes what stands there.
void read_parameters(const YamlSection& section, std::string_view name,
                     std::span<const Parameter> table, GivenParameters& given) {
  for (const Parameter& p : table) {
    const std::int64_t value = read_parameter(section, p);
    EXAWARP_CHECK(p.least <= value && value <= p.most, p.key, value);
    if (section.has(p.key)) given[model::parameter_key(name, p.key)] = value;
  }
}

// The name of one of `entries`.
template <class Entry>
std::string read_name(const YamlSection& section, std::string_view key,
                      std::span<const Entry> entries, std::string_view fallback) {
  std::vector<std::string> names;
  std::size_t usual = 0;
  for (const Entry& entry : entries) {
    if (entry.name == fallback) usual = names.size();
    names.emplace_back(entry.name);
  }
  EXAWARP_CHECK(usual < names.size() && names[usual] == fallback, fallback);
  return names[section.one_of(key, names, usual)];
}

}  // namespace

PacketOptions read_packet_options(const YamlSection& section) {
  PacketOptions o;
  const Reader in{section};
  in.size("packet_size", o.packet_bytes);
  in.size("header_size", o.header_bytes);
  in.size("control_size", o.control_bytes);
  o.cut_through = section.flag("cut_through", o.cut_through);
  o.flow_control = section.choice<FlowControl>("flow_control", kFlowControls, o.flow_control);
  in.size("buffer", o.buffer_bytes);
  in.size("xoff", o.xoff_bytes);
  in.size("xon", o.xon_bytes);
  in.count("commit_packets", o.commit_packets, 1'024);
  if (const auto ecn = section.optional_section("ecn")) {
    const Reader marks{*ecn};
    marks.size("kmin", o.ecn.kmin_bytes);
    marks.size("kmax", o.ecn.kmax_bytes);
    marks.share("pmax", o.ecn.pmax_per_mille);
  }
  o.transport = read_name(section, "transport", model::congestion_algorithms(), o.transport);
  for (const model::CongestionAlgorithm& a : model::congestion_algorithms()) {
    if (a.parameters.empty()) continue;
    if (const auto own = section.optional_section(a.name)) {
      read_parameters(*own, a.name, a.parameters, o.parameters);
    }
  }
  o.recovery = section.choice<Recovery>("recovery", kRecoveries, o.recovery);
  in.count("ack_every", o.ack_every, 128);
  in.time("retransmit_timeout", o.retransmit_timeout);
  o.routing.policy = read_name(section, "routing", model::routing_algorithms(), "ecmp");
  for (const model::RoutingAlgorithm& a : model::routing_algorithms()) {
    read_parameters(section, "", a.parameters, o.parameters);
  }
  return o;
}

}  // namespace exawarp::io
