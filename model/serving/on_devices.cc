#include "model/serving/on_devices.h"

#include "model/serving/size_classes.h"

namespace exawarp::model::serving {

void begin_on_devices(const Spec& spec, const IterationWork& work, IterationBegins begins,
                      pdes::Context& ctx) {
  const std::uint64_t tokens = work.tokens, outputs = work.outputs;
  const bool fits = tokens >= 1 && tokens <= batch_tokens_bound(spec) &&
                    outputs <= batch_outputs_bound(spec);
  ctx.check(fits, "serving: a batch is larger than any could be");
  if (!fits) return;
  begins.tokens = static_cast<std::uint16_t>(size_class_of(tokens));
  begins.outputs =
      outputs == 0 ? kNoOutputs : static_cast<std::uint16_t>(size_class_of(outputs));
  const std::uint64_t of_group = busiest_group(work, groups_of(spec)).tokens;
  begins.group_below = begins.tokens - size_class_of(of_group);
  const auto& serving = ctx.model<Serving>();
  const OnDevices& devices = *spec.devices;
  std::uint32_t replica = serving.index_of(ctx.self());
  if (&spec == serving.decoding()) replica -= serving.spec().replicas;
  for (std::uint32_t rank = 0; rank < devices.layout.replica_devices(); ++rank) {
    ctx.send(devices.device(replica, rank), spec.latency,
             static_cast<pdes::EventKind>(DeviceEvent::iteration_begins), begins);
  }
}

}  // namespace exawarp::model::serving
