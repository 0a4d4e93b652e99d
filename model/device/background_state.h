// What a device remembers of background traffic, in studies that have some (background_traffic.h).
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "core/time.h"
#include "model/network/background.h"
#include "model/network/message/network.h"

namespace exawarp::model {

// How much of a receive side's time goes to background, over the last one to two kPeriods.
struct ReceiveShare {
  core::Time came;                // time that background messages have taken in all
  core::Time older_at, newer_at;  // when a period began
  core::Time older, newer;        // `came` then

  static constexpr core::Time kPeriod{4'000'000'000};  // 4 ms
};
static_assert(std::has_unique_object_representations_v<ReceiveShare>);

struct BackgroundState {
  std::array<ReceiveShare, kInterfaceCount> receive;
  core::Time job_sends_until;  // the send clocks as the job's own messages have left them
  std::uint64_t sent_messages = 0, sent_bytes = 0;
  std::uint64_t received_messages = 0, received_bytes = 0;
  std::array<std::uint32_t, kBackgroundsMax> posted{};  // by generator
  std::uint32_t children_done = 0;  // devices below in the tree that have told of their end
  std::uint32_t answers_due = 0;    // of a question, from devices below
  std::uint8_t told = 0;            // this device and all below are done
  std::uint8_t stopped = 0;         // it sends no more
  std::uint8_t active = 0;          // something of a job happened here since the last question
  std::uint8_t any_active = 0;      // here or below, of those that have answered
  std::uint8_t questions = 0;       // the root's
  std::uint8_t quiet = 0;           // the root's: questions in a row that found nothing going on
  std::array<std::uint8_t, 2> unused{};
};
static_assert(std::has_unique_object_representations_v<BackgroundState>);
static_assert(sizeof(BackgroundState) == 168);

}  // namespace exawarp::model
