// Runs schedules on the engine in each mode; and the oracle, LogGOPSim's loop in its plainest form.
#include "tests/support/goal_runs.h"

#include <algorithm>
#include <list>
#include <queue>

#include "model/guests/goal/schedule_writer.h"
#include "partition/block.h"
#include "pdes/transport.h"
#include "pdes/transport_in_process.h"

namespace exawarp::tests {

using model::goal::Dependents;
using model::goal::Host;
using model::goal::kAny;
using model::goal::LogGops;
using model::goal::Op;
using model::goal::OpType;
using model::goal::Parameters;
using model::goal::Schedule;
using model::goal::ScheduleWriter;

GoalRun run_goal(const Schedule& schedule, const Parameters& parameters, const RunCase& run) {
  const LogGops model(schedule, parameters);
  const auto transport = pdes::make_single_transport();
  const core::Placement placement = partition::place_in_blocks(
      {.atoms = schedule.ranks(), .partitions_per_rank = run.partitions_per_rank});
  pdes::Engine engine(model, placement,
                      {.sync = run.sync,
                       .threads = run.threads,
                       .window = run.window,
                       .audit_probability = run.audit_probability,
                       .rebuild_events = run.rebuild_events},
                      *transport);
  const pdes::RunResult result = engine.run();
  GoalRun out{.finish = {},
              .digest = result.digest,
              .messages = 0,
              .unended = 0,
              .rolled_back = result.total.rolled_back_events,
              .audited = result.total.audited_events,
              .log_bytes = result.total.log_bytes};
  engine.visit([&](core::LpId lp, const void* state) {
    const auto& host = *static_cast<const Host::State*>(state);
    out.finish.push_back(model.finish(host));
    out.messages += host.messages;
    out.unended += schedule.op_count(lp.value) - host.ended;
  });
  return out;
}

namespace {

struct Element {
  std::int64_t time;
  std::uint64_t insertion;
  std::uint32_t host, op, source;  // source: of a message
  bool is_message;
  bool operator>(const Element& other) const {
    return time != other.time ? time > other.time : insertion > other.insertion;
  }
};

class Oracle {
 public:
  Oracle(const Schedule& schedule, const Parameters& p)
      : schedule_(schedule), p_(p), cpu_(schedule.ranks(), Clocks(schedule.cpus())),
        send_(schedule.ranks(), Clocks(schedule.nics())),
        receive_(schedule.ranks(), Clocks(schedule.nics())), waits_(schedule.ranks()),
        free_(schedule.ranks()), posted_(schedule.ranks()), unexpected_(schedule.ranks()) {}

  std::vector<std::int64_t> run() {
    for (std::uint32_t host = 0; host < schedule_.ranks(); ++host) {
      for (std::uint32_t i = 0; i < schedule_.op_count(host); ++i)
        waits_[host].push_back(schedule_.op(host, i).dependences);
      const Dependents roots = schedule_.roots(host);
      for (std::uint32_t i = 0; i < roots.size(); ++i) free_[host].push_back(roots[i]);
      insert_free(host);
    }
    while (!queue_.empty()) {
      const Element e = queue_.top();
      queue_.pop();
      touched_.clear();
      execute(e);
      std::ranges::sort(touched_);
      for (const std::uint32_t host : touched_) insert_free(host);
    }
    std::vector<std::int64_t> finish;
    for (const Clocks& cpus : cpu_) finish.push_back(std::ranges::max(cpus));
    return finish;
  }

 private:
  using Clocks = std::vector<std::int64_t>;
  struct Waiting {
    std::uint32_t source, tag, op;
  };

  void insert_free(std::uint32_t host) {
    std::ranges::stable_sort(free_[host], {}, [&](auto op) { return schedule_.op(host, op).type; });
    for (const std::uint32_t i : free_[host]) {
      const Op op = schedule_.op(host, i);
      std::int64_t time = cpu_[host][op.cpu];
      if (op.type == OpType::send) time = std::max(time, send_[host][op.nic]);
      queue_.push({time, insertions_++, host, i, 0, false});
    }
    free_[host].clear();
  }

  void meet(std::uint32_t host, const Dependents& dependents) {
    touched_.push_back(host);
    for (std::uint32_t i = 0; i < dependents.size(); ++i)
      if (--waits_[host][dependents[i]] == 0) free_[host].push_back(dependents[i]);
  }
  void start(std::uint32_t host, std::uint32_t op) { meet(host, schedule_.after_start(host, op)); }
  void end(std::uint32_t host, std::uint32_t op) { meet(host, schedule_.after_end(host, op)); }

  void put_off(Element e, std::int64_t time) {
    e.time = time;
    queue_.push(e);
  }

  static bool matches(const Waiting& waiting, std::uint32_t source, std::uint32_t tag) {
    return (source == kAny || waiting.source == kAny || waiting.source == source) &&
           (tag == kAny || waiting.tag == kAny || waiting.tag == tag);
  }
  static const Waiting* take(std::list<Waiting>& queue, std::uint32_t source, std::uint32_t tag) {
    static Waiting found;
    for (auto it = queue.begin(); it != queue.end(); ++it) {
      if (!matches(*it, source, tag)) continue;
      found = *it;
      queue.erase(it);
      return &found;
    }
    return nullptr;
  }

  void rendezvous(std::uint32_t sender, std::uint32_t i, std::int64_t now) {
    const Op op = schedule_.op(sender, i);
    if (op.size <= p_.S) return;
    end(sender, i);
    cpu_[sender][op.cpu] = std::max(cpu_[sender][op.cpu], now);
    send_[sender][op.nic] = std::max(send_[sender][op.nic], now);
  }

  void execute(const Element& e) {
    if (e.is_message) return message(e);
    const Op op = schedule_.op(e.host, e.op);
    if (op.type == OpType::calc) {
      std::int64_t& cpu = cpu_[e.host][op.cpu];
      if (cpu > e.time) return put_off(e, cpu);
      cpu = e.time + static_cast<std::int64_t>(op.size) * p_.units_per_ns;
      start(e.host, e.op);
      end(e.host, e.op);
    } else if (op.type == OpType::send) {
      send(e, op);
    } else {
      start(e.host, e.op);
      if (const Waiting* sent = take(unexpected_[e.host], op.peer, op.tag)) {
        rendezvous(sent->source, sent->op, e.time);
        end(e.host, e.op);
      } else {
        posted_[e.host].push_back({op.peer, op.tag, e.op});
      }
    }
  }

  void send(const Element& e, const Op& op) {
    std::int64_t& cpu = cpu_[e.host][op.cpu];
    std::int64_t& nic = send_[e.host][op.nic];
    if (std::max(cpu, nic) > e.time) return put_off(e, std::max(cpu, nic));
    const auto behind = static_cast<std::int64_t>(op.size) - 1;
    start(e.host, e.op);
    cpu = e.time + p_.o + behind * p_.O;
    nic = e.time + p_.g + behind * p_.G;
    queue_.push({e.time + p_.o + p_.L, insertions_++, op.peer, e.op, e.host, true});
    if (op.size <= p_.S) end(e.host, e.op);
  }

  void message(const Element& e) {
    const Op op = schedule_.op(e.source, e.op);
    std::int64_t& cpu = cpu_[e.host][op.cpu];
    std::int64_t& nic = receive_[e.host][op.nic];
    if (std::max(cpu, nic) > e.time) return put_off(e, std::max(cpu, nic));
    const auto behind = static_cast<std::int64_t>(op.size) - 1;
    cpu = e.time + p_.o + behind * std::max(p_.O, p_.G);
    nic = e.time + p_.g + behind * p_.G;
    if (const Waiting* receive = take(posted_[e.host], e.source, op.tag)) {
      const std::uint32_t received = receive->op;
      rendezvous(e.source, e.op, e.time);
      end(e.host, received);
    } else {
      unexpected_[e.host].push_back({e.source, op.tag, e.op});
    }
  }

  const Schedule& schedule_;
  const Parameters& p_;
  std::vector<Clocks> cpu_, send_, receive_;
  std::vector<std::vector<std::uint32_t>> waits_, free_;
  std::vector<std::list<Waiting>> posted_, unexpected_;
  std::priority_queue<Element, std::vector<Element>, std::greater<>> queue_;
  std::vector<std::uint32_t> touched_;
  std::uint64_t insertions_ = 0;
};

}  // namespace

std::vector<std::int64_t> goal_oracle(const Schedule& schedule, const Parameters& parameters) {
  return Oracle(schedule, parameters).run();
}

GoalModes run_goal_in_every_mode(const Schedule& schedule, const Parameters& parameters) {
  return {.sequential = run_goal(schedule, parameters),
          .conservative = run_goal(
              schedule, parameters,
              {.sync = pdes::Sync::conservative, .threads = 2, .partitions_per_rank = 3}),
          .optimistic = run_goal(schedule, parameters,
                                 {.sync = pdes::Sync::optimistic,
                                  .threads = 2,
                                  .partitions_per_rank = 4,
                                  .window = core::Time{std::int64_t{1} << 40},
                                  .audit_probability = 0.3,
                                  .rebuild_events = 200})};
}

Parameters random_parameters(std::uint64_t seed, std::uint64_t eager_limit) {
  Draws draw(seed, 0x60a1);
  return {.L = 50 + draw.below(1000),
          .o = 7 + draw.below(300),
          .g = draw.below(200),
          .G = 1 + draw.below(3),
          .O = draw.below(2),
          .S = eager_limit};
}

Schedule random_schedule(std::uint64_t seed, std::uint32_t ranks, Sizes sizes) {
  Draws draw(seed, 0x60a2);
  const auto size_below = [&](std::uint32_t most) {
    return sizes == Sizes::odd ? draw.below(most) : draw.below(3) * (most / 3);
  };
  ScheduleWriter writer(ranks);
  std::vector<std::vector<std::uint32_t>> earlier(ranks);
  const auto add = [&](std::uint32_t rank, const Op& op) {
    const std::uint32_t index = writer.add(rank, op);
    std::vector<std::uint32_t>& before = earlier[rank];
    for (std::uint32_t k = 0; k < 2 && !before.empty(); ++k) {
      if (draw.below(3) == 0) continue;
      const std::uint32_t on = before[draw.below(static_cast<std::uint32_t>(before.size()))];
      if (draw.below(4) == 0) {
        writer.requires_start(rank, index, on);
      } else {
        writer.requires_end(rank, index, on);
      }
    }
    return index;
  };
  for (std::uint32_t round = 0; round < 6; ++round) {
    std::vector<std::vector<std::uint32_t>> fresh(ranks);
    for (std::uint32_t k = 0; k < 2 * ranks; ++k) {
      const std::uint32_t from = draw.below(ranks);
      const std::uint32_t to = (from + 1 + draw.below(ranks - 1)) % ranks;
      const std::uint64_t bytes = 1 + size_below(3000);
      const std::uint32_t tag = draw.below(2);
      fresh[to].push_back(
          add(to, {.type = OpType::receive, .peer = from, .tag = tag, .size = bytes}));
      fresh[from].push_back(
          add(from, {.type = OpType::send, .peer = to, .tag = tag, .size = bytes}));
      fresh[from].push_back(add(from, {.type = OpType::calc, .size = size_below(2000)}));
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      earlier[rank].insert(earlier[rank].end(), fresh[rank].begin(), fresh[rank].end());
  }
  return Schedule::from_bytes(writer.bytes(), "random");
}

}  // namespace exawarp::tests
