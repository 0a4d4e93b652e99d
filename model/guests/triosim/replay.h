// GPUs that replay a recorded step: what every case of rules.h has in common. A case says what may
// be fetched and computed when, and what follows the end of an operator.
#pragma once

#include <cstdint>
#include <vector>

#include "model/guests/triosim/network.h"
#include "model/guests/triosim/rules.h"

namespace exawarp::model::triosim {

class Replay {
 public:
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  virtual ~Replay() = default;

  // Seconds until the last action; none where an operator was never computed.
  [[nodiscard]] std::optional<double> run();

 protected:
  // A pass through the trace: a GPU's, or that of one micro-batch on it.
  struct Pass {
    std::size_t fetching = 0, computing = 0;  // operators, the next ones
    std::uint32_t in_flight = 0;              // transfers to this GPU
    bool computes = false;
  };
  struct Gpu {
    std::vector<Pass> passes;    // by micro-batch
    std::vector<bool> presents;  // tensors, those of each micro-batch apart
  };
  struct Share {  // of an operator: what is left of it on one GPU, in one micro-batch
    double time_s = 0;
    std::vector<std::uint64_t> input_bytes;
    std::uint64_t output_bytes = 0;
  };

  // `parts`: how many parts an operator is divided into; `fetches_gradients`: as anything else.
  struct Division {
    std::uint32_t parts = 1;
    bool only_split = false;  // the others stay whole
    bool fetches_gradients = true;
    std::uint32_t micro_batches = 1;
  };
  Replay(const RecordedStep& step, const Rules& rules, const Division& division);

  virtual void begin() = 0;
  // Whether this GPU has to do with the operator in this pass.
  [[nodiscard]] virtual bool is_here(std::uint32_t, std::uint32_t, std::size_t) { return true; }
  [[nodiscard]] virtual bool may_compute(std::uint32_t, std::size_t) { return true; }
  virtual void started(std::uint32_t, std::size_t) {}
  virtual void finished(std::uint32_t gpu, std::uint32_t pass, std::size_t op) = 0;
  [[nodiscard]] virtual bool is_complete() const;

  void go_on(std::uint32_t gpu, std::uint32_t pass);  // fetches and computes what it can
  void go_on_later(std::uint32_t gpu, std::uint32_t pass);  // at this time, after what was planned
  void arrive(Gpu& gpu, std::size_t op, const std::vector<std::uint32_t>& tensors);

  const RecordedStep& step_;
  const Rules& rules_;
  const Division division_;
  Agenda agenda_;
  Network network_;
  std::vector<Gpu> gpus_;
  std::vector<Share> shares_;  // by operator
  std::uint64_t finished_ = 0;  // operators, on any GPU, in any micro-batch

 private:
  [[nodiscard]] std::size_t key_of(std::size_t op, std::uint32_t tensor) const;
  [[nodiscard]] bool all_present(const Gpu& gpu, std::size_t op) const;
  [[nodiscard]] bool needs(const Gpu& gpu, std::size_t op, std::uint32_t tensor) const;
  void divide(std::size_t op, std::uint32_t pass);
  void fetch(std::uint32_t gpu, std::uint32_t pass);
  void compute(std::uint32_t gpu, std::uint32_t pass);

  static constexpr std::uint32_t kWhole = 0xffffffff;
  // The micro-batch that came to an operator first: its tensors are named after that one, for all.
  std::vector<std::uint32_t> named_after_;
};

// By the bytes of the parameters that the optimizer updates, each time it reads them, at the
// simulated batch: what an all-reduce of gradients carries.
[[nodiscard]] std::uint64_t bytes_at_batch(std::uint64_t bytes, const Rules& rules);

}  // namespace exawarp::model::triosim
