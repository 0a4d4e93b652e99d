// Every key may be absent and then keeps the default of the options' own type, so that the
// defaults stand there and nowhere else.
#include "io/study/packet_config.h"

#include <cmath>
#include <vector>

namespace exawarp::io {
namespace {

using core::Dimension;
using core::Time;
using model::FlowControl;
using model::PacketOptions;
using model::Recovery;
using model::RoutingPolicy;
using model::Transport;

const std::vector<Choice<FlowControl>> kFlowControls{
    {"none", FlowControl::none}, {"credit", FlowControl::credit}, {"pfc", FlowControl::pfc}};
const std::vector<Choice<Transport>> kTransports{
    {"plain", Transport::plain}, {"dcqcn", Transport::dcqcn}, {"window", Transport::window}};
const std::vector<Choice<Recovery>> kRecoveries{{"none", Recovery::none},
                                                {"go_back_n", Recovery::go_back_n},
                                                {"selective_repeat", Recovery::selective_repeat}};

std::vector<Choice<RoutingPolicy>> routing_choices() {
  std::vector<Choice<RoutingPolicy>> out;
  for (const auto& [name, policy] : model::kRoutingPolicies) {
    out.push_back({std::string(name), policy});
  }
  return out;
}

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

void read_dcqcn(const Reader& in, model::DcqcnOptions& o) {
  in.time("cnp_interval", o.cnp_interval);
  in.time("alpha_period", o.alpha_period);
  in.time("increase_period", o.increase_period);
  in.size("increase_bytes", o.increase_bytes);
  in.count("gain_shift", o.gain_shift, 16);
  in.count("fast_recovery_steps", o.fast_recovery_steps, 1'000);
  in.rate("additive_increase", o.additive_bytes_per_s);
  in.rate("hyper_increase", o.hyper_bytes_per_s);
  in.rate("least_rate", o.least_bytes_per_s);
}

void read_window(const Reader& in, model::WindowOptions& o) {
  in.time("target_delay", o.target_delay);
  in.time("queueing_delay", o.queueing_delay);
  in.time("flow_scaling", o.flow_scaling);
  in.count("initial_packets", o.initial_packets, 1 << 20);
  in.count("additive_packets", o.additive_packets, 1'000);
  in.share("beta", o.beta_per_mille);
  in.share("most_decrease", o.most_decrease_per_mille);
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
  o.transport = section.choice<Transport>("transport", kTransports, o.transport);
  if (const auto dcqcn = section.optional_section("dcqcn")) read_dcqcn({*dcqcn}, o.dcqcn);
  if (const auto window = section.optional_section("window")) read_window({*window}, o.window);
  o.recovery = section.choice<Recovery>("recovery", kRecoveries, o.recovery);
  in.count("ack_every", o.ack_every, 128);
  in.time("retransmit_timeout", o.retransmit_timeout);
  const std::vector<Choice<RoutingPolicy>> policies = routing_choices();
  o.routing.policy = section.choice<RoutingPolicy>("routing", policies, RoutingPolicy::ecmp);
  in.size("ugal_bias", o.routing.ugal_bias_bytes);
  in.count("queue_pairs", o.queue_pairs, 1 << 16);
  return o;
}

}  // namespace exawarp::io
