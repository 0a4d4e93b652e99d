#include "io/study/profile_config.h"

#include "core/error.h"

namespace exawarp::io {
namespace {

constexpr IntegerRange kLayers{1, 100'000};
constexpr IntegerRange kTensor{1, 1'024};

}  // namespace

const Keys<ProfileStudy>& profile_keys() {
  using S = ProfileStudy;
  using K = Keys<S>;
  const auto file = [](const char* name, std::string ProfileFiles::*member, const char* what) {
    return K::custom(name, {ValueShape::text()}, what,
                     [member](const YamlSection& section, S& out, const KeySchema& key) {
                       if (section.has(key.name)) out.files.*member = section.path(key.name);
                     });
  };
  static const K keys(
      "serving.profile",
      "A model whose operations were profiled, by Vidur's profiler or as it does.",
      {file("mlp", &ProfileFiles::mlp,
            "table of operations on tokens: projections, rotary, norms, sum, block")
           .required(),
       file("attention", &ProfileFiles::attention,
            "table of attention, and of keys and values saved")
           .required(),
       file("all_reduce", &ProfileFiles::all_reduce,
            "table of all-reduces, with `tensor` above 1")
           .otherwise("none"),
       file("send_recv", &ProfileFiles::send_recv,
            "table of messages between two devices, with `serving.stages` above 1")
           .otherwise("none"),
       K::integer("layers", &S::layers, kLayers, "of the model, all stages").required(),
       K::integer("tensor", &S::tensor, kTensor, "devices that split each layer, in a node"),
       K::flag("stages_across_nodes", &S::stages_across_nodes,
               "whether a stage is in another node than the next one")});
  return keys;
}

void check_profile(const ServingStudy& study, const std::string& path) {
  if (!study.profile) return;
  const ProfileStudy& profile = *study.profile;
  if (study.iteration) {
    throw core::InputError(path, "profile: is given beside `iteration`; expected one of the two");
  }
  if (profile.layers % study.spec.stages != 0) {
    throw core::InputError(path, "profile.layers: does not divide by `serving.stages`; expected as "
                                 "many layers in each stage");
  }
  if ((profile.tensor > 1) == profile.files.all_reduce.empty()) {
    throw core::InputError(path, profile.tensor > 1
                                     ? "profile.all_reduce: is missing; expected a table, since "
                                       "`tensor` is above 1"
                                     : "profile.all_reduce: is given, and `tensor` is 1; expected "
                                       "more devices, or no table");
  }
  if ((study.spec.stages > 1) == profile.files.send_recv.empty()) {
    throw core::InputError(path, study.spec.stages > 1
                                     ? "profile.send_recv: is missing; expected a table, since "
                                       "`serving.stages` is above 1"
                                     : "profile.send_recv: is given, and `serving.stages` is 1; "
                                       "expected more stages, or no table");
  }
}

}  // namespace exawarp::io
