// Forms a replica's next batch by the policy of its study.
#pragma once

#include <cstdint>

#include "model/serving/replica.h"
#include "pdes/context.h"

namespace exawarp::model::serving {

// Made for one event. Everything that it changes can be rolled back.
class BatchFormer {
 public:
  BatchFormer(Replica::State& s, const Spec& spec, pdes::Context& ctx);

  // Moves the requests of one batch to State::flight, numbered State::batches; their tokens are in
  // Live::tokens. Returns how many there are; 0: no batch.
  std::uint32_t form();

  // Requests that left the queue in all calls of form(), less those that came back.
  [[nodiscard]] std::int32_t left() const { return left_; }

  void release(Live& request);

 private:
  void vllm();
  void sarathi();
  void reserving(bool only_when_idle);
  void lightllm();

  void decode_running();
  std::uint32_t chunk_prompts(std::uint32_t taken);
  void admit_chunks();
  bool lightllm_prompts();
  [[nodiscard]] bool lightllm_fits(const Live& next) const;

  [[nodiscard]] bool has_head() const { return !s_.restarted.empty() || !s_.waiting.empty(); }
  [[nodiscard]] Live head() const;  // requires has_head()
  void pop_head();
  [[nodiscard]] std::uint32_t prompt_blocks(const Live& request) const;
  [[nodiscard]] std::int64_t free_blocks() const;
  [[nodiscard]] bool fits(const Live& unscheduled) const;
  [[nodiscard]] bool is_full() const { return formed_ == micro_batch_max_; }

  void add(Live request, std::uint32_t tokens);
  void admit(Live request, std::uint32_t blocks, std::uint32_t tokens);
  void hold(Live& request, std::uint32_t blocks);
  void restart(Live request);
  void sort_running();
  void drop_running(std::uint32_t kept, std::uint32_t from);

  Replica::State& s_;
  const Spec& spec_;
  pdes::Context& ctx_;
  const std::uint32_t micro_batch_max_;
  std::uint32_t formed_ = 0;  // requests of the batch
  std::uint32_t formed_tokens_ = 0;
  std::int32_t left_ = 0;
};

}  // namespace exawarp::model::serving
