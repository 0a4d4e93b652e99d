// The keys of packet fidelity (docs/reference/packet_network.md explains each): defaults are those
// of model::PacketOptions, the reader is io/study/packet_config.cc.
#include "io/study/keys.h"
#include "io/study/schema_sections.h"
#include "model/network/packet/packet_options.h"

namespace exawarp::io {
namespace {

using core::Dimension;

constexpr QuantityRange kTime{Dimension::time, 0};
constexpr QuantityRange kSize{Dimension::size, 0};
constexpr QuantityRange kRate{Dimension::bandwidth, 1};

// Of thousandths, which users write as a share.
template <class Spec>
typename Keys<Spec>::Key share(std::string name, std::uint32_t per_mille, std::string meaning) {
  typename Keys<Spec>::Key key = Keys<Spec>::custom(
      std::move(name), {ValueShape::real({.min = 0, .max = 1})}, std::move(meaning));
  key.schema.fallback = fmt::format("{}", per_mille / 1000.0);
  return key;
}

const SectionSchema& ecn_schema() {
  using S = model::EcnOptions;
  using K = Keys<S>;
  static const K keys(
      "packet.ecn", "Marks at output queues.",
      {K::quantity("kmin", &S::kmin_bytes, kSize, "below it nothing is marked"),
       K::quantity("kmax", &S::kmax_bytes, kSize, "above it everything is; 0: no marks"),
       share<S>("pmax", S{}.pmax_per_mille, "probability at `kmax`")});
  return keys.schema();
}

const SectionSchema& dcqcn_schema() {
  using S = model::DcqcnOptions;
  using K = Keys<S>;
  static const K keys(
      "packet.dcqcn", "Rate by congestion notifications.",
      {K::quantity("cnp_interval", &S::cnp_interval, kTime, "between notifications, at least"),
       K::quantity("alpha_period", &S::alpha_period, kTime, "of the decay of alpha"),
       K::quantity("increase_period", &S::increase_period, kTime, "between increases, by time"),
       K::quantity("increase_bytes", &S::increase_bytes, kSize, "between increases, by bytes"),
       K::integer("gain_shift", &S::gain_shift, {0, 16}, "g = 2^-gain_shift"),
       K::integer("fast_recovery_steps", &S::fast_recovery_steps, {0, 1'000},
                  "before additive increase"),
       K::quantity("additive_increase", &S::additive_bytes_per_s, kRate, "a step"),
       K::quantity("hyper_increase", &S::hyper_bytes_per_s, kRate, "a step, after many"),
       K::quantity("least_rate", &S::least_bytes_per_s, kRate, "of a sender")});
  return keys.schema();
}

const SectionSchema& window_schema() {
  using S = model::WindowOptions;
  using K = Keys<S>;
  static const K keys(
      "packet.window", "Window by delay.",
      {K::quantity("target_delay", &S::target_delay, kTime, "round trip that is aimed at")
           .otherwise("unloaded + `queueing_delay`"),
       K::quantity("queueing_delay", &S::queueing_delay, kTime, "over the unloaded round trip"),
       K::quantity("flow_scaling", &S::flow_scaling, kTime, "more for small windows"),
       K::integer("initial_packets", &S::initial_packets, {0, 1 << 20}, "window at first")
           .otherwise("what the round trip holds"),
       K::integer("additive_packets", &S::additive_packets, {0, 1'000}, "a round trip"),
       share<S>("beta", S{}.beta_per_mille, "decrease for each share of delay above the target"),
       share<S>("most_decrease", S{}.most_decrease_per_mille, "at once")});
  return keys.schema();
}

template <class Table>
ValueShape names_of_registry(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.first);
  return ValueShape::choice(std::move(names));
}

}  // namespace

const SectionSchema& packet_schema() {
  using S = model::PacketOptions;
  using K = Keys<S>;
  static const K keys(
      "packet", "Packets at every hop. docs/reference/packet_network.md explains them.",
      {K::quantity("packet_size", &S::packet_bytes, kSize, "payload: the MTU, or a chunk"),
       K::quantity("header_size", &S::header_bytes, kSize, "added to each packet"),
       K::quantity("control_size", &S::control_bytes, kSize, "of acknowledgements and the like"),
       K::flag("cut_through", &S::cut_through, "else switches store and forward"),
       K::custom("flow_control", {ValueShape::choice({"none", "credit", "pfc"})}, "of buffers")
           .otherwise("`none`"),
       K::quantity("buffer", &S::buffer_bytes, kSize,
                   "`none`: of an output queue, 0: unbounded; `credit`: of an input and channel"),
       K::quantity("xoff", &S::xoff_bytes, kSize, "`pfc`: of an input and channel"),
       K::quantity("xon", &S::xon_bytes, kSize, "`pfc`: of an input and channel"),
       K::integer("commit_packets", &S::commit_packets, {0, 1'024},
                  "how far ahead a line is given packets")
           .otherwise("8, or 2 with `pfc`"),
       K::custom("ecn", {ValueShape::mapping(ecn_schema())}, "marks").otherwise("no marks"),
       K::custom("transport", {ValueShape::choice({"plain", "dcqcn", "window"})},
                 "congestion control")
           .otherwise("`plain`"),
       K::custom("dcqcn", {ValueShape::mapping(dcqcn_schema())}, "of `transport: dcqcn`"),
       K::custom("window", {ValueShape::mapping(window_schema())}, "of `transport: window`"),
       K::custom("recovery", {ValueShape::choice({"none", "go_back_n", "selective_repeat"})},
                 "of lost packets")
           .otherwise("`none`"),
       K::integer("ack_every", &S::ack_every, {0, 128}, "packets an acknowledgement"),
       K::quantity("retransmit_timeout", &S::retransmit_timeout, kTime, "after the last progress"),
       K::custom("routing", {names_of_registry(model::kRoutingPolicies)}, "of packets")
           .otherwise("`ecmp`"),
       K::quantity(
           "ugal_bias", [](S& o) -> std::int64_t& { return o.routing.ugal_bias_bytes; }, kSize,
           "bytes x links in favour of the minimal way"),
       K::integer("queue_pairs", &S::queue_pairs, {0, 1 << 16},
                  "ways that `ecmp` may take between two devices")});
  return keys.schema();
}

}  // namespace exawarp::io
