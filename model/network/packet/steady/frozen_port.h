// Lines that stand still while time passes: what a skipped stretch is to a switch or an endpoint.
//
// Where the rates of all messages that share lines have settled, packet.fast_forward has the lines
// stand still for a stretch and counts what would have been sent (steady_watch.h decides, and says
// when). A line is frozen at both its ends at one instant. From then on its sending end gives it
// nothing, and whatever comes for it, a packet at its receiving end, a credit or a pause at its
// sending end, is kept with the time that had passed since. When it goes on, all of it comes after
// the same time again. So queues, credits, pauses, windows and what is under way are, a stretch
// later, what they were; how they got there makes no difference.
//
// Acknowledgements and notifications use lines whose messages they are not of. They do not wait for
// those that stand still: the rest of their way takes the latency of its links and switches, and
// they are kept at the sender of their message instead.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "pdes/context.h"
#include "pdes/event.h"
#include "pdes/state_archive.h"
#include "pdes/undo_vector.h"

namespace exawarp::model {

class PacketNetwork;
class Ports;
struct Packet;

// Which end of a line: of port `port` of whoever is told.
enum class LineEnd : std::uint32_t { receives, sends };

struct Freeze {
  std::uint32_t port = 0;
  LineEnd end = LineEnd::receives;
  // To the sending end: what may wait for a line that carries all that it is asked for. Where more
  // waits, it is still getting less, and the watch is told.
  core::Time depth_most{};
  std::uint32_t link = 0, stretch = 0;  // to tell it by
};

struct Thaw {
  std::uint32_t port = 0;
  LineEnd end = LineEnd::receives;
  std::uint64_t packets = 0;  // full ones that the line has sent meanwhile
};

// An event that has come for a line that stands still.
struct KeptEvent {
  pdes::Payload payload{};
  core::Time after;  // since it stands still
  std::uint32_t kind = 0;
  std::uint32_t unused = 0;
};

// Beside PortState, where the network skips.
struct FrozenPort {
  core::Time sends_since{-1};     // the line that it sends on stands still; negative: it does not
  core::Time receives_since{-1};  // likewise the one by which packets come
  core::Time free{};              // of the line, when it was stopped
  core::Time wake{-1};            // of an endpoint, that was to come then
  std::uint64_t messages = 0;     // of an endpoint, that were there then
  pdes::UndoVector<KeptEvent> sending, receiving;
};

void describe(pdes::StateArchive& archive, FrozenPort& port);

// Those of one vertex during one event.
class FrozenPorts {
 public:
  FrozenPorts(const PacketNetwork& network, Ports& ports, FrozenPort* frozen, pdes::Context& ctx)
      : network_(network), ports_(ports), frozen_(frozen), ctx_(ctx) {}

  // Whether port p may send nothing. False where the network does not skip.
  [[nodiscard]] bool is_still(std::uint32_t p) const {
    return frozen_ != nullptr && frozen_[p].sends_since.ps >= 0;
  }
  // Keeps an event that is for a line that stands still; else returns false.
  bool keep(const pdes::Event& event);
  // Keeps it with the line that port p sends on. Requires is_still().
  void keep_with(std::uint32_t p, const pdes::Event& event);

  // Sends an answer on to its destination, past the line of port p, which stands still.
  void jump(std::uint32_t p, Packet packet);

  void freeze(const Freeze& freeze);
  // Lets what was kept come. Returns how long the line stood still.
  core::Time thaw(const Thaw& thaw);

  [[nodiscard]] FrozenPort& operator[](std::uint32_t p) { return frozen_[p]; }

 private:
  void let_come(pdes::UndoVector<KeptEvent>& kept);

  const PacketNetwork& network_;
  Ports& ports_;
  FrozenPort* frozen_;  // null where the network does not skip
  pdes::Context& ctx_;
};

}  // namespace exawarp::model
