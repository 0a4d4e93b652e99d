// Time of one iteration from a profile of one model on one kind of device: the times of a layer's
// operations, each measured by itself at many sizes, as Vidur's profiler records them.
//
// The rules are Vidur's (microsoft/vidur 7d47513, shared/reference/serving.md A4), with straight
// lines between measured points where Vidur has random forests:
//
//   a layer      operations on tokens, of the batch's tokens rounded up to kTokenStep; keys and
//                values saved; attention of decodes, of their number and mean context rounded up
//                to kContextStep; attention of prompts, of the root of the sum of the squares of
//                their tokens and of IterationWork::prompt_past; where devices split a layer two
//                all-reduces, each with kAllReduceLaunch
//   several      decodes, or prompts, of a model with grouped queries: a tenth more
//   a stage      its share of the layers, and, unless it is the last one, what it sends on
//
// Embedding, head, sampling and the host are not counted, there as here.
// Thread safety: const methods from any thread.
#pragma once

#include <cstdint>
#include <map>

#include "core/time.h"
#include "model/serving/iteration_work.h"
#include "model/serving/time_curve.h"

namespace exawarp::model::serving {

constexpr std::uint64_t kTokenStep = 8;
constexpr core::Time kAllReduceLaunch{20'000'000};

// Size to picoseconds, on each device.
using MeasuredTimes = std::map<std::uint64_t, std::int64_t>;

// Of one layer.
struct Profile {
  MeasuredTimes tokens;      // by tokens: projections, rotary, norms, sum, block; all together
  MeasuredTimes keys_saved;  // by tokens
  std::map<std::uint64_t, MeasuredTimes> decodes;  // by number, then tokens that each has so far
  std::map<std::uint64_t, MeasuredTimes> prompts;  // by tokens of one, then tokens before these
  MeasuredTimes all_reduce;  // by bytes; empty: nobody splits a layer
  MeasuredTimes send;        // by bytes; empty: nothing is sent on
  std::uint64_t token_bytes = 0;  // of a token between two layers
  bool grouped_queries = false;
};

class ProfileTime {
 public:
  // Requires points of tokens, keys_saved, decodes and prompts.
  ProfileTime(const Profile& profile, std::uint64_t layers);

  // All layers.
  [[nodiscard]] core::Time of(const IterationWork& work) const;
  // From one stage to the next.
  [[nodiscard]] core::Time send(const IterationWork& work) const;
  // Whether no size is beyond those that were measured; there times grow in proportion.
  [[nodiscard]] bool covers(const IterationWork& work) const;

 private:
  std::uint64_t layers_, token_bytes_;
  bool grouped_queries_;
  TimeCurve tokens_, keys_saved_, all_reduce_, send_;
  TimePlane decodes_, prompts_;
  std::uint64_t tokens_max_ = 0, decodes_max_ = 0, decode_context_max_ = 0;
  std::uint64_t prompt_max_ = 0, prompt_end_max_ = 0;
};

}  // namespace exawarp::model::serving
