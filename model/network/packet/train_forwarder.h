// Passing packets on where the network has trains (PacketNetwork::trains()): as a Forwarder does,
// to the picosecond and the byte, with an event for each train instead of each packet.
#pragma once

#include <cstdint>

#include "model/network/packet/passing_train.h"
#include "model/network/packet/port.h"
#include "model/network/packet/train_outbox.h"
#include "model/network/packet/train_turns.h"
#include "pdes/undo_vector.h"

namespace exawarp::model {

struct PortTrains {
  core::Time wake_at{-1};                  // of the wake that counts; earlier ones are void
  pdes::UndoVector<PassingTrain> passing;  // a binary heap, next arrival first
};

void describe(pdes::StateArchive& archive, PortTrains& trains);

// One switch during one event.
class TrainForwarder {
 public:
  // `foreseen` as for choose_port(), of what comes now.
  TrainForwarder(const PacketNetwork& network, VertexId at, Ports& ports, PortTrains* trains,
                 pdes::Context& ctx, std::uint32_t foreseen)
      : network_(network),
        at_(at),
        foreseen_(foreseen),
        ports_(ports),
        trains_(trains),
        ctx_(ctx),
        outbox_(network, ctx) {}

  // `from` sent the event. Returns whether there is a way for the packet.
  bool on_packet(Packet packet, core::LpId from);
  void on_train(const Train& train, core::LpId from);
  void on_cut(const TrainCut& cut, core::LpId from);
  void on_wake(std::uint32_t port);

 private:
  struct Clock;  // of a line, while packets pass

  [[nodiscard]] std::uint32_t port_of(Packet& packet);
  [[nodiscard]] core::Time lag_of(const Packet& packet, std::uint32_t out) const;
  // Whether the line leads to the packets' device, which hears of last packets alone.
  [[nodiscard]] bool ends(std::uint32_t p) const {
    return network_.is_device({ports_.port(p).peer});
  }
  [[nodiscard]] core::Time seen(std::uint32_t p, core::Time start, core::Time wire) const;

  struct Row;  // trains that pass a port, next arrival first
  void catch_up(std::uint32_t p, core::LpId from);
  void pass_many(std::uint32_t p, core::LpId from, Clock& clock);
  void pass_row(std::uint32_t p, core::LpId from, Clock& clock);
  void pass_first(std::uint32_t p, Row& row, std::uint32_t packets, Clock& clock);
  bool pass_rounds(std::uint32_t p, core::LpId from, Row& row, Clock& clock);
  void pass(std::uint32_t p, PassingTrain& train, std::uint32_t packets, Clock& clock);
  core::Time pass_one(std::uint32_t p, Clock& clock, core::Time arrival, core::Time lag,
                      std::int64_t packet_bytes);
  core::Time give(std::uint32_t p, const Packet& packet);
  void retract(std::uint32_t p, PassingTrain& train);
  void retract_all(std::uint32_t p);
  void go_on(std::uint32_t p);
  void promise(std::uint32_t p, const TrainTurns& turns);
  void set_wake(std::uint32_t p, const TrainTurns& turns);
  [[nodiscard]] core::Time first_untold(std::uint32_t p, const TrainTurns& turns) const;

  const PacketNetwork& network_;
  VertexId at_;
  std::uint32_t foreseen_;
  Ports& ports_;
  PortTrains* trains_;
  pdes::Context& ctx_;
  TrainOutbox outbox_;
};

}  // namespace exawarp::model
