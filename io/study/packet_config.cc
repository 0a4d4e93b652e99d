// The keys of packet fidelity. Those of congestion controls and of routing policies come from the
// tables of the algorithms themselves (model/network/packet/parameters.h): whatever is registered
// there is read, checked and described here.
#include "io/study/packet_config.h"

#include <fmt/format.h>

#include <cmath>
#include <list>

#include "core/check.h"
#include "io/study/keys.h"
#include "io/study/schema_sections.h"
#include "model/network/packet/congestion_control.h"
#include "model/network/packet/routing_policy.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using core::Time;
using model::EcnOptions;
using model::PacketOptions;
using model::Parameter;
using model::ParameterKind;
using PacketKeys = Keys<PacketOptions>;

constexpr QuantityRange kAnyTime{Dimension::time, 0};
constexpr QuantityRange kAnySize{Dimension::size, 0};

double share_of(std::int64_t per_mille) { return static_cast<double>(per_mille) / 1000; }

Dimension dimension_of(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::rate:
      return Dimension::bandwidth;
    case ParameterKind::time:
      return Dimension::time;
    default:
      return Dimension::size;
  }
}

// In the unit of the parameter's kind.
std::int64_t read_parameter(const YamlSection& section, const Parameter& p) {
  if (p.kind == ParameterKind::count) {
    return section.integer(p.key, {p.least, p.most}, p.usual);
  }
  if (p.kind == ParameterKind::share) {
    const double given =
        section.real(p.key, {.min = share_of(p.least), .max = share_of(p.most)}, share_of(p.usual));
    return std::llround(given * 1000);
  }
  const Dimension dimension = dimension_of(p.kind);
  const std::int64_t value = section.quantity(p.key, dimension, p.least, p.usual);
  if (value > p.most) {
    section.fail(p.key, fmt::format("\"{}\" is too much; expected {} at most", section.text(p.key),
                                    quantity_text(p.most, dimension)));
  }
  return value;
}

ValueShape shape_of(const Parameter& p) {
  switch (p.kind) {
    case ParameterKind::count:
      return ValueShape::integer({p.least, p.most});
    case ParameterKind::share:
      return ValueShape::real({.min = share_of(p.least), .max = share_of(p.most)});
    default:
      return ValueShape::quantity(dimension_of(p.kind), p.least);
  }
}

std::string usual_text(const Parameter& p) {
  switch (p.kind) {
    case ParameterKind::count:
      return fmt::format("{}", p.usual);
    case ParameterKind::share:
      return fmt::format("{}", share_of(p.usual));
    default:
      return quantity_text(p.usual, dimension_of(p.kind));
  }
}

// A key that notes, in PacketOptions::parameters, what stands there. `name` is the algorithm's
// where it has a section of its own.
PacketKeys::Key parameter_key_of(std::string_view name, const Parameter& p) {
  PacketKeys::Key key = PacketKeys::custom(
      std::string(p.key), {shape_of(p)}, std::string(p.meaning),
      [name, &p](const YamlSection& section, PacketOptions& out, const KeySchema&) {
        const std::int64_t value = read_parameter(section, p);
        EXAWARP_CHECK(p.least <= value && value <= p.most, p.key, value);
        if (section.has(p.key)) out.parameters[model::parameter_key(name, p.key)] = value;
      });
  key.schema.fallback = usual_text(p);
  return key;
}

// The section of an algorithm: packet.dcqcn, say.
PacketKeys::Key section_of(const model::CongestionAlgorithm& algorithm) {
  static std::list<PacketKeys> sections;  // as long as the table that refers to them
  std::vector<PacketKeys::Key> keys;
  for (const Parameter& p : algorithm.parameters) {
    keys.push_back(parameter_key_of(algorithm.name, p));
  }
  const std::string name(algorithm.name);
  const PacketKeys& own =
      sections.emplace_back("packet." + name, std::string(algorithm.meaning), std::move(keys));
  return PacketKeys::custom(
      name, {ValueShape::mapping(own.schema())}, "of `transport: " + name + "`",
      [&own](const YamlSection& section, PacketOptions& out, const KeySchema& key) {
        if (const auto inner = section.optional_section(key.name)) {
          out = own.read(*inner, std::move(out));
        }
      });
}

// The name of one of `entries`, which are registered.
template <class Entry>
PacketKeys::Key one_of(std::string key, std::span<const Entry> entries, std::string usual,
                       std::string& (*at)(PacketOptions&), std::string meaning) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  const auto found = std::ranges::find(names, usual);
  EXAWARP_CHECK(found != names.end(), usual);
  const auto fallback = static_cast<std::size_t>(found - names.begin());
  PacketKeys::Key out =
      PacketKeys::custom(std::move(key), {ValueShape::choice(names)}, std::move(meaning),
                         [names, fallback, at](const YamlSection& section, PacketOptions& options,
                                               const KeySchema& schema) {
                           at(options) = names[section.one_of(schema.name, names, fallback)];
                         });
  out.schema.fallback = std::move(usual);
  return out;
}

// A share, kept in thousandths.
Keys<EcnOptions>::Key marking_share(std::string name, std::string meaning) {
  Keys<EcnOptions>::Key key = Keys<EcnOptions>::custom(
      std::move(name), {ValueShape::real({.min = 0, .max = 1})}, std::move(meaning),
      [](const YamlSection& section, EcnOptions& out, const KeySchema& schema) {
        const double given =
            section.real(schema.name, {.min = 0, .max = 1}, share_of(out.pmax_per_mille));
        out.pmax_per_mille = static_cast<std::uint32_t>(std::lround(given * 1000));
      });
  key.schema.fallback = fmt::format("{}", share_of(EcnOptions{}.pmax_per_mille));
  return key;
}

const Keys<EcnOptions>& ecn_keys() {
  using S = EcnOptions;
  using K = Keys<S>;
  static const K keys(
      "packet.ecn", "Marks at output queues.",
      {K::quantity("kmin", &S::kmin_bytes, kAnySize, "below it nothing is marked"),
       K::quantity("kmax", &S::kmax_bytes, kAnySize, "above it everything is; 0: no marks"),
       marking_share("pmax", "probability at `kmax`")});
  return keys;
}

// A share, kept in millionths; 0 where there is no section.
PacketKeys::Key fast_forward_key() {
  static constexpr double kUsualError = 0.01;
  static constexpr RealRange kErrors{.min = 0.0001, .max = 0.2};
  using K = Keys<PacketOptions>;
  K::Key error = K::custom("error", {ValueShape::real(kErrors)},
                           "by which rates may differ that count as settled",
                           [](const YamlSection& section, PacketOptions& out, const auto& key) {
                             out.skip_error_per_million = static_cast<std::uint32_t>(
                                 std::lround(section.real(key.name, kErrors, kUsualError) * 1e6));
                           });
  error.schema.fallback = fmt::format("{}", kUsualError);
  static const K own("packet.fast_forward",
                     "Stretches in which all rates have settled are skipped: an approximation.",
                     {std::move(error)});
  K::Key key = K::custom("fast_forward", {ValueShape::mapping(own.schema())},
                         "skips what has settled, where there are no trains",
                         [](const YamlSection& section, PacketOptions& out, const auto& named) {
                           if (const auto inner = section.optional_section(named.name)) {
                             out = own.read(*inner, std::move(out));
                           }
                         });
  key.schema.fallback = "nothing is skipped";
  return key;
}

std::vector<PacketKeys::Key> all_keys() {
  using S = PacketOptions;
  using K = PacketKeys;
  std::vector<K::Key> keys{
      K::quantity("packet_size", &S::packet_bytes, kAnySize, "payload: the MTU, or a chunk"),
      K::quantity("header_size", &S::header_bytes, kAnySize, "added to each packet"),
      K::quantity("control_size", &S::control_bytes, kAnySize, "of acknowledgements and the like"),
      K::flag("cut_through", &S::cut_through, "else switches store and forward"),
      K::choice("flow_control", &S::flow_control, "of buffers"),
      K::quantity("buffer", &S::buffer_bytes, kAnySize,
                  "`none`: of an output queue, 0: unbounded; `credit`: of an input and channel"),
      K::quantity("xoff", &S::xoff_bytes, kAnySize, "`pfc`: of an input and channel"),
      K::quantity("xon", &S::xon_bytes, kAnySize, "`pfc`: of an input and channel"),
      K::integer("commit_packets", &S::commit_packets, {0, 1'024},
                 "how far ahead a line is given packets")
          .otherwise("8, or 2 with `pfc`"),
      K::flag("in_order", &S::in_order,
              "messages of a communicator or stream to one device by one queue pair follow each "
              "other, as on a connection; else they take turns"),
      K::flag("trains", &S::trains, "evenly spaced packets are one event a hop, where they can be"),
      fast_forward_key(),
      K::section("ecn", &S::ecn, ecn_keys(), "marks").otherwise("no marks"),
      one_of(
          "transport", model::congestion_algorithms(), S{}.transport,
          +[](S& o) -> std::string& { return o.transport; }, "congestion control")};
  for (const model::CongestionAlgorithm& algorithm : model::congestion_algorithms()) {
    if (!algorithm.parameters.empty()) keys.push_back(section_of(algorithm));
  }
  keys.push_back(K::choice("recovery", &S::recovery, "of lost packets"));
  keys.push_back(K::integer("ack_every", &S::ack_every, {0, 128}, "packets an acknowledgement"));
  keys.push_back(K::quantity("retransmit_timeout", &S::retransmit_timeout, kAnyTime,
                             "after the last progress"));
  keys.push_back(one_of(
      "routing", model::routing_algorithms(), kUsualRouting,
      +[](S& o) -> std::string& { return o.routing.policy; }, "of packets"));
  for (const model::RoutingAlgorithm& algorithm : model::routing_algorithms()) {
    for (const Parameter& p : algorithm.parameters) keys.push_back(parameter_key_of("", p));
  }
  return keys;
}

const PacketKeys& packet_keys() {
  static const PacketKeys keys(
      "packet", "Packets at every hop. docs/reference/packet_network.md explains them.",
      all_keys());
  return keys;
}

}  // namespace

const SectionSchema& packet_schema() { return packet_keys().schema(); }

PacketOptions read_packet_options(const YamlSection& section) {
  return packet_keys().read(section);
}

}  // namespace exawarp::io
