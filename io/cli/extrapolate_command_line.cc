#include "io/cli/extrapolate_command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "io/cli/option_values.h"

namespace exawarp::io {
namespace {

constexpr std::uint32_t kBatchMax = 1u << 24;
constexpr std::uint32_t kGpusMax = 1u << 16;

double rate_of(const std::string& option, const std::string& text, double otherwise) {
  if (text.empty()) return otherwise;
  const core::ParsedQuantity rate = core::parse_quantity(text, core::Dimension::bandwidth);
  if (!rate.ok()) throw core::InputError(option, in_quotes(text) + " " + rate.error);
  if (rate.value < 1) throw core::InputError(option, in_quotes(text) + "; expected more than 0");
  return static_cast<double>(rate.value);
}

// Those that were given, or all that there are.
template <class E>
std::vector<E> chosen(const std::vector<std::string>& names) {
  std::vector<E> out;
  for (const std::string& name : names) out.push_back(parse_choice<E>("--layout", name));
  if (!out.empty()) return out;
  for (const core::Named<E>& entry : names_of(E{})) out.push_back(entry.value);
  return out;
}

}  // namespace

void add_recorded(CLI::App& app, model::Extrapolation& to, RawExtrapolateOptions& raw) {
  app.add_option("--trace-batch", to.trace_batch, "samples of the recorded step (default: 128)")
      ->check(CLI::Range(1u, kBatchMax));
  app.add_option("--batch", raw.batch,
                 "samples to simulate, data parallel of a device (default: as recorded)")
      ->check(CLI::Range(1u, kBatchMax));
  app.add_option("--micro-batch", raw.micro_batch,
                 "samples of one in a pipeline (default: a quarter of the batch, or all of it)")
      ->check(CLI::Range(1u, kBatchMax));
  app.add_option("--bucket", raw.bucket, "size of a bucket of gradients (default: \"25 MiB\")");
  app.add_option("--schedule", raw.order, "of a pipeline: 1f1b (default) or gpipe");
}

void finish_recorded(const RawExtrapolateOptions& raw, model::Extrapolation& to) {
  constexpr std::uint32_t kMicroBatches = 4;
  to.batch = raw.batch != 0 ? raw.batch : to.trace_batch;
  to.micro_batch = raw.micro_batch != 0             ? raw.micro_batch
                   : to.batch % kMicroBatches == 0 ? to.batch / kMicroBatches
                                                    : to.batch;
  if (!raw.order.empty()) {
    to.order = parse_choice<model::MicroBatchOrder>("--schedule", raw.order);
  }
  if (raw.bucket.empty()) return;
  const core::ParsedQuantity size = core::parse_quantity(raw.bucket, core::Dimension::size);
  if (!size.ok()) throw core::InputError("--bucket", in_quotes(raw.bucket) + " " + size.error);
  if (size.value < 1) {
    throw core::InputError("--bucket", in_quotes(raw.bucket) + "; expected more than 0");
  }
  to.bucket_bytes = static_cast<std::uint64_t>(size.value);
}

void add_extrapolate(CLI::App& app, ExtrapolateArguments& a, RawExtrapolateOptions& raw) {
  app.add_option("TRACE", a.trace, "operators of the recorded step (CSV)")->required();
  app.add_option("--tensors", a.tensors, "their tensors (CSV)")->required();
  app.add_option("--devices", a.devices, "how many, e.g. 2,4,8 (default)")
      ->delimiter(',')
      ->check(CLI::Range(1u, kGpusMax));
  app.add_option("--layout", raw.layouts,
                 "data_parallel, tensor_parallel, pipeline; by rules also single, ddp (default: "
                 "all)")
      ->delimiter(',');
  add_recorded(app, a.to, raw);
  app.add_option("--cluster", a.cluster,
                 "system: a file, or a name in configs/systems (default: h100_hgx_ndr400)");
  app.add_option("--set", a.overrides,
                 "replaces a key of the study, e.g. network.fidelity=packet (repeatable)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--rules", raw.rules, "triosim: by that program's rules, without a cluster");
  app.add_option("--link-bandwidth", raw.link_bandwidth,
                 "by rules: between GPUs (default: \"65 GB/s\")");
  app.add_option("--remote-bandwidth", raw.remote_bandwidth,
                 "by rules: from the remote memory (default: \"696 GB/s\")");
  app.add_option("-o,--output", a.output, "writes one graph there (.xwg) and simulates nothing");
  app.add_flag("--json", a.json, "prints one JSON object on standard output");
}

void finish_extrapolate(const RawExtrapolateOptions& raw, ExtrapolateArguments& a) {
  finish_recorded(raw, a.to);
  if (a.devices.empty()) a.devices = {2, 4, 8};
  if (raw.rules.empty()) {
    const std::pair<const char*, const std::string*> by_rules[] = {
        {"--link-bandwidth", &raw.link_bandwidth}, {"--remote-bandwidth", &raw.remote_bandwidth}};
    for (const auto& [option, text] : by_rules) {
      if (!text->empty()) throw core::InputError(option, "has no effect without --rules triosim");
    }
    a.layouts = chosen<model::ExtrapolatedLayout>(raw.layouts);
    if (a.cluster.empty()) a.cluster = "h100_hgx_ndr400";
    return;
  }
  if (raw.rules != "triosim") {
    throw core::InputError("--rules", in_quotes(raw.rules) + " is not known; expected triosim");
  }
  if (!a.cluster.empty() || !a.overrides.empty()) {
    throw core::InputError(a.cluster.empty() ? "--set" : "--cluster",
                           "has no effect with --rules, which have a network of their own");
  }
  a.cases = chosen<model::triosim::Case>(raw.layouts);
  a.rules.trace_batch = a.to.trace_batch;
  a.rules.batch = a.to.batch;
  a.rules.micro_batch = a.to.micro_batch;
  a.rules.link_bytes_per_s =
      rate_of("--link-bandwidth", raw.link_bandwidth, a.rules.link_bytes_per_s);
  a.rules.remote_bytes_per_s =
      rate_of("--remote-bandwidth", raw.remote_bandwidth, a.rules.remote_bytes_per_s);
}

}  // namespace exawarp::io
