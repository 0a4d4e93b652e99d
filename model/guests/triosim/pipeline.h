// The pipeline of TrioSim's rules.
#pragma once

#include <vector>

#include "model/guests/triosim/replay.h"

namespace exawarp::model::triosim {

class Pipeline final : public Replay {
 public:
  Pipeline(const RecordedStep& step, const Rules& rules);

 private:
  struct Stage {
    std::vector<bool> has;  // by operator
    std::uint64_t last_forward = 0, last_backward = 0;  // identifiers
  };
  struct Waiting {
    std::uint32_t gpu = 0, pass = 0;
  };

  void begin() override;
  [[nodiscard]] bool is_here(std::uint32_t gpu, std::uint32_t pass, std::size_t op) override;
  void finished(std::uint32_t gpu, std::uint32_t pass, std::size_t op) override;
  [[nodiscard]] bool is_complete() const override;

  void assign_stages();
  // The GPU that goes on after `op`; none: this pass waits, or is over.
  [[nodiscard]] std::optional<std::uint32_t> successor(std::uint32_t gpu, std::uint32_t pass,
                                                       std::size_t op);
  [[nodiscard]] bool is_behind(std::uint32_t gpu, std::uint32_t pass) const;
  void leave(std::uint32_t gpu, std::uint32_t pass, std::optional<std::uint32_t> next,
             std::size_t op);
  void release(std::uint32_t gpu, std::uint32_t pass);
  void send(std::uint32_t gpu, std::uint32_t pass, std::uint32_t next, std::size_t op);

  std::vector<Stage> stages_;
  std::vector<bool> goes_back_;         // by pass
  std::uint64_t last_forward_ = 0;      // identifier
  std::uint32_t begun_ = 0;             // the last pass that has
  bool turns_ = true;                   // passes that end their forward half need not wait
  std::vector<Waiting> held_;           // at their turn, until the last pass has come back
  std::vector<Waiting> behind_;         // the pass before theirs has not left the GPU
};

}  // namespace exawarp::model::triosim
