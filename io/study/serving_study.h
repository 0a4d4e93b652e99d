// A serving study: replicas that serve a language model, and what is asked of them
// (configs/serving/*.yaml).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/names.h"
#include "io/study/keys.h"
#include "io/study/profile_study.h"
#include "io/study/yaml.h"
#include "model/compute/accelerator.h"
#include "model/serving/arrivals.h"
#include "model/serving/iteration_time.h"
#include "model/serving/serving.h"

namespace exawarp::io {

// How files of requests are written (io/formats/requests/request_trace.h).
enum class RequestFormat { vidur, azure, mooncake };
inline constexpr core::Named<RequestFormat> kRequestFormatNames[] = {
    {"vidur", RequestFormat::vidur},
    {"azure", RequestFormat::azure},
    {"mooncake", RequestFormat::mooncake}};
constexpr std::span<const core::Named<RequestFormat>> names_of(RequestFormat) {
  return kRequestFormatNames;
}
static_assert(core::names_each(kRequestFormatNames));

constexpr std::uint64_t kRecordedRequestsMax = 1 << 24;
constexpr std::uint32_t kRecordedTokensMax = 1 << 24;

// What users were promised; 0: nothing.
struct Objectives {
  core::Time first_token;
  core::Time per_token;
  core::Time end;
  double share = 0;  // of the requests, that a capacity has to keep all of it for; 0: as of all
  [[nodiscard]] bool any() const {
    return first_token.ps != 0 || per_token.ps != 0 || end.ps != 0;
  }
};

// A kind of request, of several.
struct RequestClass {
  std::string name;
  double share = 1;           // over the sum of all shares: of the requests, or of the sessions
  std::int32_t priority = 0;  // lower ones first, where the order is by priority
  std::optional<model::serving::LengthSpec> prompt, output;  // none: as of all
  Objectives objectives;      // 0: as of all
};

// Requests that continue each other: all of one session have one content, as far as each goes.
struct SessionSource {
  std::uint32_t turns = 1;          // requests of a session; prompts are what each turn adds
  std::uint32_t shared_tokens = 0;  // that every prompt begins with
  core::Time gap{10'000'000'000'000};  // mean, between two turns of a session
  bool closed = false;  // a gap is from the answer on, else from the request on
  [[nodiscard]] bool any() const { return turns > 1 || shared_tokens > 0; }
};

// Where requests come from: a file, or drawn, or the file's lengths at times that are drawn.
struct RequestSource {
  std::string file;  // empty: none
  RequestFormat format = RequestFormat::vidur;
  double time_scale = 1;    // on the file's times
  std::uint64_t count = 0;  // 0: all of the file; else the file's over and over
  bool cut_long = false;    // a prompt too long is cut, as Vidur does; else refused
  model::serving::ArrivalSpec arrivals = {.kind = model::serving::Arrivals::trace};
  std::uint32_t hash_tokens = 512;  // of a hash id of `mooncake`
  model::serving::LengthSpec prompt, output;
  SessionSource sessions;
  std::vector<RequestClass> classes;  // none: all requests are of one
};

// A model on devices whose kernels were measured: what a batch takes.
struct IterationStudy {
  model::serving::IterationSpec spec;
  model::Accelerator accelerator;
};

struct ServingStudy {
  std::string file;
  std::string name;
  model::serving::Spec spec;                // without requests
  std::optional<IterationStudy> iteration;
  std::optional<ProfileStudy> profile;      // neither: spec.time
  RequestSource requests;
  Objectives objectives;
  std::uint64_t seed = 1;
  Settings settings;  // all of it as written, to compare ranks by
  ResolvedYaml resolved;

  // That split each layer of a replica.
  [[nodiscard]] std::int64_t tensor() const {
    return iteration ? iteration->spec.tensor : profile ? profile->tensor : 1;
  }
};

constexpr double kObjectiveShare = 0.99;

// Of class `class_id`: its own promises, and those made to `all`; `share` is above 0.
Objectives objectives_of(const Objectives& all, const RequestSource& requests,
                         std::uint32_t class_id);
// Whether anybody was promised anything.
bool promises(const Objectives& all, const RequestSource& requests);

const Keys<ServingStudy>& serving_study_keys();
// Its parts, which jobs that serve have as well.
const Keys<model::serving::Spec>& serving_spec_keys();
const Keys<RequestSource>& request_source_keys();
const Keys<Objectives>& request_objective_keys();
// How keys of the requests depend on each other. Throws core::InputError at `place`.
void check_request_source(const RequestSource& source, const std::string& place);

// Reads, overrides (`path.to.key=value`) and checks a serving study. Throws core::InputError.
ServingStudy read_serving_study(const std::string& path,
                                const std::vector<std::string>& overrides);

}  // namespace exawarp::io
