// Background traffic on devices, beside whatever else they do, at message and packet fidelity.
//
// Owner:  the device's LP; a block of its own at the end of the device's, which devices of a study
//         without background do not have.
// Why beside: the parts of a device know nothing of it. What wraps them looks at a job's message
//         before they do and puts off the receive side's clock by what the background takes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "model/device/background_state.h"
#include "model/device/device_frame.h"
#include "model/device/message_port.h"
#include "model/network/background.h"
#include "model/network/packet/endpoint.h"

namespace exawarp::model {

// Requires that the device's slots have one.
[[nodiscard]] const BackgroundState& background_of(const DeviceState& state);

// That, and what describe_device() describes.
void describe_with_background(void* state, pdes::StateArchive& archive);

// The background of one device during one event.
class BackgroundTraffic {
 public:
  explicit BackgroundTraffic(const DeviceFrame& frame);

  // At a device's start, last: sends the first messages off.
  void start();

  [[nodiscard]] static bool handles(pdes::EventKind kind) {
    return kind >= kind_of(DeviceEvent::background_due) && kind <= kind_of(DeviceEvent::census);
  }
  // A message that now leaves by the device's port, if one does.
  struct Sent {
    Outgoing out;
    BackgroundMessage message;
  };
  [[nodiscard]] std::optional<Sent> handle(const pdes::Event& event);

  // Around the event of a job, or of the endpoint.
  void before(const pdes::Event& event);
  // Of all send sides. Clocks only go on, so that the sum changes where one of them does.
  struct SendClocks {
    std::uint64_t sum = 0;
    core::Time latest;
    void add(core::Time clock) {
      sum += static_cast<std::uint64_t>(clock.ps);
      latest = std::max(latest, clock);
    }
  };
  [[nodiscard]] SendClocks send_clocks() const;
  void after(const SendClocks& clocks_before);

  // A message of no job has come; something of a job has happened here.
  void count_received(std::uint64_t bytes);
  void note_activity();

 private:
  enum class Notice : std::uint32_t { done, stop, ask, answer, question_due };
  struct Census {
    Notice notice;
    std::uint32_t active;  // answer
  };
  struct Post {
    std::uint32_t generator;
    std::uint32_t unused;
  };

  [[nodiscard]] core::DeviceId self() const { return {ctx_.self().value}; }
  [[nodiscard]] std::uint32_t devices() const { return model_.allocation->devices(); }
  [[nodiscard]] std::uint32_t first_child() const;
  [[nodiscard]] std::uint32_t children() const;
  [[nodiscard]] std::uint32_t parent() const;

  void post_in(core::Time delay, std::uint32_t generator);
  std::optional<Sent> post(std::uint32_t generator);
  void count_sent(const Background::Message& message);
  void receive(const BackgroundMessage& message);
  [[nodiscard]] bool has(std::uint32_t interface) const;
  [[nodiscard]] ReceiveShare& share_of(std::uint32_t interface) const;
  void begin_period(ReceiveShare& share);
  void put_off(std::uint32_t interface, core::Time wire);

  void notify(std::uint32_t device, Notice notice, std::uint32_t active = 0);
  void notify_children(Notice notice);
  [[nodiscard]] bool done() const;
  void tell_if_done();
  void stop();
  void hear(const Census& census);
  void ask_in(core::Time delay);
  void ask();
  void answer();
  [[nodiscard]] bool is_active() const;

  const DeviceModel& model_;
  DeviceState& state_;
  BackgroundState& b_;
  pdes::Context& ctx_;
};

// A device that is a Run during each event, with background traffic beside its own.
template <class Run>
class WithBackground {
 public:
  WithBackground(const DeviceModel& model, DeviceState& state, pdes::Context& ctx)
      : background_(DeviceFrame(model, state, ctx)), run_(model, state, ctx) {}

  void start(core::Time begin) {
    run_.start(begin);
    background_.start();
  }
  void handle(const pdes::Event& event) {
    if (BackgroundTraffic::handles(event.kind)) {
      const auto sent = background_.handle(event);
      if (sent) run_.port().send_background(sent->out, sent->message);
      return;
    }
    background_.before(event);
    const BackgroundTraffic::SendClocks clocks_before = background_.send_clocks();
    run_.handle(event);
    background_.after(clocks_before);
  }

 private:
  BackgroundTraffic background_;
  Run run_;
};

}  // namespace exawarp::model
