// Agenda and network of TrioSim's rules: actions by time, first come first, and links whose flows
// share them equally.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <vector>

namespace exawarp::model::triosim {

class Agenda {
 public:
  using Action = std::function<void()>;

  [[nodiscard]] double now_s() const { return now_s_; }
  void at(double time_s, Action action) {
    entries_.push({time_s, ++last_, std::move(action)});
  }
  void now(Action action) { at(now_s_, std::move(action)); }
  // Until nothing is left.
  void run();

 private:
  struct Entry {
    double time_s;
    std::uint64_t order;
    Action action;
    bool operator<(const Entry& other) const {  // the first one is on top
      return time_s != other.time_s ? time_s > other.time_s : order > other.order;
    }
  };
  std::priority_queue<Entry> entries_;
  double now_s_ = 0;
  std::uint64_t last_ = 0;
};

// A flow gets its link's rate over the flows there, anew with each that comes or goes.
class Network {
 public:
  struct Link {
    std::uint32_t from = 0, to = 0;
    auto operator<=>(const Link&) const = default;
  };

  explicit Network(Agenda& agenda) : agenda_(agenda) {}
  // `arrived` is called when the last byte is there.
  void send(Link link, double bytes_per_s, std::uint64_t bytes, Agenda::Action arrived);

 private:
  struct Flow {
    Agenda::Action arrived;
    double left_bytes = 0, rate = 0, since_s = 0, end_s = 0;
  };
  struct Road {
    double bytes_per_s = 0;
    std::map<std::uint64_t, Flow> flows;  // by their number
  };
  void share(Link link);
  void finish(Link link, std::uint64_t number, double end_s);

  Agenda& agenda_;
  std::map<Link, Road> roads_;
  std::uint64_t last_ = 0;
};

}  // namespace exawarp::model::triosim
