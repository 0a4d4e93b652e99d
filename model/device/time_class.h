// What a device's time is spent on. At every instant a device is in exactly one class, so a
// device's counters add up to its time, to the picosecond.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace exawarp::model {

// In order of precedence: of all that is in progress at an instant, the first names the class.
// Communication is `exposed` when no compute or memory node runs at the same time; its kind is the
// mesh axis it lies along. A receive is communication from when its message sets out, a collective
// from when its last member has come; before that the device waits for others.
enum class TimeClass : std::uint8_t {
  compute,   // a compute or memory node runs
  tensor,    // exposed communication along the tensor axis
  context,
  expert,
  data,
  pipeline,  // ... along the pipeline axis, the transfer of a message waited for included
  other,     // ... along any other axis, or in a group given by lists
  waiting,   // for others: nothing else runs (pipeline bubble, stragglers of a collective)
  idle,      // the program is done
};

constexpr std::size_t kTimeClassCount = 9;
constexpr std::size_t kCommunicationKindCount = 6;  // tensor .. other

constexpr std::array<std::string_view, kTimeClassCount> kTimeClassNames{
    "compute", "tensor", "context", "expert", "data", "pipeline", "other", "waiting", "idle"};

constexpr std::size_t index_of(TimeClass c) { return static_cast<std::size_t>(c); }

}  // namespace exawarp::model
