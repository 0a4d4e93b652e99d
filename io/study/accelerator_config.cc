// The keys of an accelerator (configs/accelerators/*.yaml).
#include <filesystem>

#include "io/study/keys.h"
#include "io/study/system_config.h"
#include "model/compute/kernel_tables.h"
#include "model/workload/names.h"

namespace exawarp::io {
namespace {

using core::Dimension;
using model::Accelerator;
using model::schema::DataType;
using model::schema::Operation;

constexpr RealRange kShare{.min = 0, .max = 1, .min_excluded = true};

Accelerator& whole_accelerator(Accelerator& accelerator) { return accelerator; }

const Keys<Accelerator>& matrix_rate_keys() {
  using K = Keys<Accelerator>;
  static const K keys("accelerator.matrix_rate", "Dense peaks; bf16 or fp16 is required.", [] {
    std::vector<K::Key> all;
    for (const auto& [name, type] : names_of(DataType{})) {
      const auto index = static_cast<std::size_t>(type);
      all.push_back(K::quantity(
                        std::string(name),
                        [index](Accelerator& a) -> double& { return a.matrix_flops_per_s[index]; },
                        {Dimension::rate, 1}, "of the matrix units")
                        .otherwise("not offered"));
    }
    return all;
  }());
  return keys;
}

void check_matrix_rates(const YamlSection& section, const Accelerator& out) {
  if (!section.has("matrix_rate")) return;  // noted as missing
  if (out.matrix_flops_per_s[static_cast<std::size_t>(DataType::BF16)] == 0 &&
      out.matrix_flops_per_s[static_cast<std::size_t>(DataType::FP16)] == 0) {
    section.fail("matrix_rate", "gives neither bf16 nor fp16; expected e.g. bf16: " +
                                    std::string(core::examples_of(Dimension::rate)));
  }
}

const Keys<model::Efficiency>& other_efficiency_keys() {
  using S = model::Efficiency;
  using K = Keys<S>;
  static const K keys("accelerator.efficiency.other", "Of kinds that are not given.",
                      {K::real("compute", &S::compute, kShare, "of its peak").required(),
                       K::real("memory", &S::memory, kShare, "of its bandwidth").required()});
  return keys;
}

const Keys<model::Efficiency>& efficiency_keys() {
  using S = model::Efficiency;
  using K = Keys<S>;
  static const K keys(
      "accelerator.efficiency.kind", "Of one kind of operation.",
      {K::real("compute", &S::compute, kShare, "of its peak").otherwise("that of `other`"),
       K::real("memory", &S::memory, kShare, "of its bandwidth").otherwise("that of `other`")});
  return keys;
}

// `other` is the default of the kinds that are not given.
const Keys<Accelerator>& efficiencies_keys() {
  using K = Keys<Accelerator>;
  static const K keys("accelerator.efficiency", "Shares of the peaks that operations reach.", [] {
    const auto of = [](Operation operation) {
      return [index = static_cast<std::size_t>(operation)](Accelerator& a) -> model::Efficiency& {
        return a.efficiency[index];
      };
    };
    std::vector<K::Key> all;
    all.push_back(K::section("other", of(Operation::OTHER), other_efficiency_keys(),
                             "of kinds that are not given")
                      .required());
    all.push_back(K::then([](const YamlSection&, Accelerator& a) {
      a.efficiency.fill(a.efficiency[static_cast<std::size_t>(Operation::OTHER)]);
    }));
    for (const auto& [name, operation] : names_of(Operation{})) {
      if (operation == Operation::OTHER) continue;
      all.push_back(
          K::section(std::string(name), of(operation), efficiency_keys(), "of such operations")
              .otherwise("`other`"));
    }
    return all;
  }());
  return keys;
}

std::shared_ptr<const model::KernelTables> tables_in(const YamlSection& section,
                                                     const KeySchema& key) {
  const std::string folder = section.path(key.name);
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    section.fail(key.name, "there is no folder \"" + folder +
                               "\"; expected one of kernel tables, OPERATION_TYPE.xkt");
  }
  return std::make_shared<const model::KernelTables>(folder);
}

const Keys<model::PowerSpec>& power_keys() {
  using S = model::PowerSpec;
  using K = Keys<S>;
  static const K keys(
      "accelerator.power", "What it draws; docs/reference/energy.md has the formula.",
      {K::note("source"),
       K::quantity("idle", &S::idle_mw, {Dimension::power, 0}, "doing nothing").required(),
       K::quantity("limit", &S::limit_mw, {Dimension::power, 1}, "the most it may draw").required(),
       K::quantity("communicating", &S::communicating_mw, {Dimension::power, 0},
                   "doing nothing but that")
           .otherwise("`idle`"),
       K::real("compute_saturation", &S::compute_saturation, kShare,
               "share of the dense peak from which on it is at its limit"),
       K::real("memory_share", &S::memory_share, kShare,
               "of what lies between idle and limit, drawn at the memory's bandwidth"),
       K::then([](const YamlSection& section, S& out) {
         if (!section.has("communicating")) out.communicating_mw = out.idle_mw;
         for (const char* key : {"idle", "communicating"}) {
           const bool is_idle = std::string_view(key) == "idle";
           if ((is_idle ? out.idle_mw : out.communicating_mw) > out.limit_mw) {
             section.fail(key, "is above the limit; expected less");
           }
         }
       })});
  return keys;
}

const Keys<model::CycleMap>& cycle_map_keys() {
  using S = model::CycleMap;
  using K = Keys<S>;
  constexpr RealRange kNs{.min = 1e-6, .max = 1e6};
  constexpr IntegerRange kSize{.min = 1, .max = std::int64_t{1} << 40};
  static const K keys(
      "accelerator.systolic.cycles_to_time",
      "A line fitted to measured products of a class of shapes.",
      {K::note("source"),
       K::custom("size_max", {ValueShape::integer(kSize)}, "of m, n and k, up to which it holds",
                 [kSize](const YamlSection& section, S& out, const KeySchema& key) {
                   if (!section.has(key.name)) return;
                   out.size_max = static_cast<std::uint64_t>(section.integer(key.name, kSize));
                 })
           .otherwise("any"),
       K::real("ns_per_cycle", &S::ns_per_cycle, kNs, "its slope").required(),
       K::latency("intercept", &S::intercept, 0, "of no cycles").required()});
  return keys;
}

void read_cycle_maps(const YamlSection& section, model::SystolicUnit& out, const KeySchema& key) {
  if (!section.has(key.name)) return;
  for (const YamlSection& map : section.sections(key.name)) {
    const model::CycleMap line = cycle_map_keys().read(map);
    if (!out.cycles_to_time.empty() && line.size_max <= out.cycles_to_time.back().size_max) {
      map.fail("size_max", "is no more than that of the line before; expected ascending ones");
    }
    out.cycles_to_time.push_back(line);
  }
}

const Keys<model::SystolicUnit>& systolic_keys() {
  using S = model::SystolicUnit;
  using K = Keys<S>;
  constexpr IntegerRange kSide{.min = 1, .max = model::kSystolicSideMax};
  static const K keys(
      "accelerator.systolic", "Its systolic arrays, for `compute.fidelity: systolic`.",
      {K::note("source"),
       K::integer(
           "rows", [](S& s) -> std::uint64_t& { return s.array.rows; }, kSide,
           "of an array's cells")
           .required(),
       K::integer(
           "columns", [](S& s) -> std::uint64_t& { return s.array.columns; }, kSide,
           "of an array's cells")
           .required(),
       K::choice(
           "dataflow", [](S& s) -> model::Dataflow& { return s.array.dataflow; },
           "which operand stays in the cells"),
       K::quantity("clock", &S::clock_hz, {Dimension::frequency, 1}, "at the matrix rate of bf16")
           .required(),
       K::integer("arrays", &S::arrays, {.min = 1, .max = model::kSystolicArraysMax},
                  "of the accelerator"),
       K::quantity("sram", &S::sram_bytes, {Dimension::size, 0},
                   "on chip, of all arrays; half of it is filled while they work from the other"),
       K::custom("cycles_to_time",
                 {ValueShape::list_of(ValueShape::mapping(cycle_map_keys().schema()))},
                 "lines from the cycles of one array to measured times, in place of clock, "
                 "stalls and launch; the last one holds for all larger products",
                 read_cycle_maps)
           .otherwise("none")});
  return keys;
}

constexpr RealRange kSlowdown{.min = 1, .max = 10};

const Keys<model::SustainedSlowdown>& sustained_keys() {
  using S = model::SustainedSlowdown;
  using K = Keys<S>;
  static const K keys(
      "accelerator.sustained_slowdown",
      "A point of a line: what devices that are idle for a share of the time are slowed down by.",
      {K::real("idle", &S::idle_share, {.min = 0, .max = 1}, "share of the time").required(),
       K::real("slowdown", &S::slowdown, kSlowdown, "of products and attention").required()});
  return keys;
}

void read_sustained(const YamlSection& section, Accelerator& out, const KeySchema& key) {
  if (!section.has(key.name)) return;
  if (section.has_text(key.name)) {
    out.sustained = {{.idle_share = 0, .slowdown = section.real(key.name, kSlowdown)}};
    return;
  }
  for (const YamlSection& point : section.sections(key.name)) {
    const model::SustainedSlowdown next = sustained_keys().read(point);
    if (!out.sustained.empty() && next.idle_share <= out.sustained.back().idle_share) {
      point.fail("idle", "is no more than that of the point before; expected ascending ones");
    }
    out.sustained.push_back(next);
  }
}

void read_systolic(const YamlSection& section, Accelerator& out, const KeySchema& key) {
  if (!section.has(key.name)) return;
  out.systolic = systolic_keys().read(section.section(key.name));
}

void read_tables(const YamlSection& section, Accelerator& out, const KeySchema& key) {
  if (section.has(key.name)) out.tables = tables_in(section, key);
}

}  // namespace

const Keys<model::Calibration>& calibration_keys() {
  using S = model::Calibration;
  using K = Keys<S>;
  constexpr RealRange kFactor{.min = 0.1, .max = 10};
  static const K keys(
      "calibration", "A few numbers, fitted to measured steps by `exawarp calibrate`.",
      {K::note("source"), K::note("description"), K::file_name(&S::name),
       K::texts("fitted_to", &S::fitted_to, "families of measured steps, which `validate` marks"),
       K::real("products", &S::products, kFactor, "times what matrix products take"),
       K::real("eight_bit_products", &S::eight_bit_products, kFactor,
               "the same in fp8, int8 and nvfp4"),
       K::real("attention", &S::attention, kFactor, "times what attention cores take"),
       K::real("memory", &S::memory, kFactor, "times what all other kernels take"),
       K::latency("step", &S::step, 0,
                  "once a step of a generated training, beside its `host_time`")});
  return keys;
}

const Keys<Accelerator>& accelerator_keys() {
  using S = Accelerator;
  using K = Keys<S>;
  static const K keys(
      "accelerator", "What computes.",
      {K::note("source"), K::note("description"), K::file_name(&S::name),
       K::section("matrix_rate", whole_accelerator, matrix_rate_keys(),
                  "dense peaks of the matrix units")
           .required(),
       K::then(check_matrix_rates),
       K::quantity("vector_rate", &S::vector_flops_per_s, {Dimension::rate, 1},
                   "peak of everything else")
           .required(),
       K::quantity("memory_bandwidth", &S::memory_bytes_per_s, {Dimension::bandwidth, 1},
                   "of its memory")
           .required(),
       K::quantity("memory_capacity", &S::memory_bytes, {Dimension::size, 1}, "of its memory")
           .required(),
       K::quantity("host_bandwidth", &S::host_bytes_per_s, {Dimension::bandwidth, 1},
                   "of its link to the host")
           .required(),
       K::latency("launch_latency", &S::launch_latency, 0, "added to every operation").required(),
       K::section("power", &S::power, power_keys(), "what it draws").otherwise("not known"),
       K::latency("graph_launch_latency", &S::graph_launch_latency, 0,
                  "the same with `compute.graphs`"),
       K::real("sustained_clock", &S::sustained_clock, kShare,
               "of the clock of `matrix_rate`, under the power limit"),
       K::real("overlap_slowdown", &S::overlap_slowdown, {.min = 1, .max = 100},
               "of operations that start beside a collective, whose kernels take part of the "
               "accelerator"),
       K::custom("sustained_slowdown",
                 {ValueShape::real(kSlowdown),
                  ValueShape::list_of(ValueShape::mapping(sustained_keys().schema()))},
                 "of measured products and attention: what they take for seconds, at the power "
                 "limit, over what they took in bursts; one number, or by `compute.idle_share`",
                 read_sustained)
           .otherwise("1"),
       K::section("efficiency", whole_accelerator, efficiencies_keys(),
                  "shares of the peaks reached")
           .required(),
       K::section("calibration", &S::calibration, calibration_keys(),
                  "what is fitted to whole steps")
           .otherwise("none"),
       K::custom("systolic", {ValueShape::mapping(systolic_keys().schema())}, "its systolic arrays",
                 read_systolic)
           .otherwise("none"),
       K::custom("tables", {ValueShape::text()},
                 "a folder of measured kernels (docs/reference/kernel_tables.md)", read_tables)
           .otherwise("none"),
       K::custom("power_tables", {ValueShape::text()},
                 "another, for watts alone: measured on the same chip under the same limit, where "
                 "the times of `tables` are another device's",
                 [](const YamlSection& section, Accelerator& out, const KeySchema& key) {
                   if (section.has(key.name)) out.power_tables = tables_in(section, key);
                 })
           .otherwise("none")});
  return keys;
}

model::Accelerator read_accelerator(const YamlSection& section) {
  return accelerator_keys().read(section);
}

}  // namespace exawarp::io
