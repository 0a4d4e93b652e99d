#include "model/guests/astra/simulation.h"

namespace exawarp::model::astra {

Result simulate(const Job& job, const std::function<void(const Finish&)>& finish,
                const std::function<bool()>& stop) {
  return Simulation(job, finish).run(stop);
}

Simulation::Simulation(const Job& job, const std::function<void(const Finish&)>& finish)
    : job_(job),
      finish_(finish),
      ranks_(job.network.npus()),
      network_(job.network, job.system.rendezvous, events_, *this),
      timers_(ranks_, events_),
      rank_(ranks_) {
  const std::uint32_t queues = job.system.queues_per_dimension;
  running_max_ = (job.system.active_chunks + queues - 1) / queues;
  std::uint32_t stride = 1;
  for (const Dimension& dimension : job.network.dimensions) {
    stride_.push_back(stride);
    stride *= dimension.npus;
  }
  for (Rank rank = 0; rank < ranks_; ++rank) {
    load(rank_[rank].progress, *job.traces[rank]);
    rank_[rank].queues.resize(std::size_t{queues} * stride_.size());
    rank_[rank].allocators.resize(stride_.size());
  }
  memories_.resize(job.memory.kind == MemoryKind::per_node ? job.memory.nodes : 1);
  if (job.system.shared_bus) {
    bus_.emplace(*job.system.shared_bus, ranks_, events_, timers_,
                 [this](Rank rank, const Timer& packet) { run_timer(rank, packet); });
  }
}

Result Simulation::run(const std::function<bool()>& stop) {
  for (Rank rank = 0; rank < ranks_; ++rank) {
    sweep(rank);
    finish_if_done(rank);
  }
  Event event;
  bool stopped = false;
  while (!stopped && events_.pop(event)) {
    switch (event.kind) {
      case Event::Kind::tick:
        timers_.run(event.index, [&](const Timer& timer) { run_timer(event.index, timer); });
        break;
      case Event::Kind::hop: network_.hop(event.index); break;
      case Event::Kind::link_free: network_.link_free(event.index); break;
      case Event::Kind::late_receive: network_.late_receive(event.index); break;
    }
    stopped = events_.popped() % kEventsUnasked == 0 && stop && finished_ < ranks_ && stop();
  }
  Result result{.finished = finished_,
                .stopped = stopped,
                .unfinished = {},
                .late = finished_ < ranks_ && !stopped ? late_work() : "",
                .end = last_act_,
                .events = events_.popped(),
                .messages = network_.messages()};
  if (finished_ < ranks_ && !stopped) report_unfinished(result);
  return result;
}

void Simulation::run_timer(Rank rank, const Timer& timer) {
  last_act_ = events_.now();
  switch (timer.kind) {
    case Timer::Kind::packet:
      if (timer.reduces) {
        Timer again = timer;
        again.reduces = false;
        return timers_.start(rank, reduction_ns(timer.argument), again);
      }
      return packet_ready(timer.index);
    case Timer::Kind::node: return node_done(rank, timer.index);
    case Timer::Kind::custom_node:
      return custom_done(timer.index, static_cast<std::uint32_t>(timer.argument));
    case Timer::Kind::collective: return stream_finished(rank);
    case Timer::Kind::memory: return memory_done(timer.index);
    case Timer::Kind::bus: return bus_->run(rank, timer);
  }
}

void Simulation::complete(const Callback& callback) {
  last_act_ = events_.now();
  switch (callback.kind) {
    case Callback::Kind::stream: return packet_received(callback.index);
    case Callback::Kind::node: return node_done(callback.rank, callback.index);
    case Callback::Kind::custom_node: return custom_done(callback.index, callback.node);
    case Callback::Kind::none:
    case Callback::Kind::late_send:
    case Callback::Kind::late_receive: return;
  }
}

}  // namespace exawarp::model::astra
