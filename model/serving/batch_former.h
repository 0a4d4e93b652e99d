// Forms a replica's next batch by the policy of its study.
#pragma once

#include <cstdint>

#include "model/serving/kv_pool.h"
#include "model/serving/replica.h"
#include "pdes/context.h"

namespace exawarp::model::serving {

// Of the batch formed last, over all stages: what drafts and copies to and from the host take.
[[nodiscard]] core::WidePs ps_beside_model(const Replica::State& s, const Spec& spec);

// Of vllm_v1: blocks that stay free when a request enters beside others.
[[nodiscard]] std::int64_t headroom(const Replica::State& s, const Spec& spec);
// Of vllm_v1: whether priority decides, and where it puts a request; lower ones are first.
[[nodiscard]] constexpr bool by_priority(const Spec& spec) {
  return spec.policy == Policy::vllm_v1 && spec.order == Order::priority;
}
[[nodiscard]] std::uint64_t rank_of(const Spec& spec, std::uint32_t request);

// Made for one event. Everything that it changes can be rolled back.
class BatchFormer {
 public:
  BatchFormer(Replica::State& s, const Spec& spec, pdes::Context& ctx);

  // Moves the requests of one batch to State::flight, numbered State::batches; their tokens are in
  // Live::tokens. Returns how many there are; 0: no batch.
  std::uint32_t form();

  // Requests that left the queue in all calls of form(), less those that came back.
  [[nodiscard]] std::int32_t left() const { return left_; }

  void release(Live& request) { pool_.release(request); }

  void enqueue(std::uint32_t request);

  // Of a request whose batch has ended: how many tokens more are there. Of a draft they are those
  // that were accepted, and one that the model itself gives.
  std::uint32_t computed(const Live& request);

 private:
  void vllm();
  void sarathi();
  void reserving(bool only_when_idle);
  void lightllm();
  void vllm_v1();

  // Of vllm_v1, with those that run: others enter only if it is complete.
  enum class Step { complete, preempted, waiting };
  enum class Victim { other, itself, under_way };
  Step continue_running();
  void admit_waiting();
  Victim preempt_for(const Live& request, std::uint32_t next);
  [[nodiscard]] bool has_later_under_way(const Live& request) const;
  void preempt(Live request);
  void admit_found(Live request, KvPool::Found found, std::uint32_t tokens);
  [[nodiscard]] std::uint32_t wanted_tokens(const Live& request) const;
  [[nodiscard]] static std::uint64_t computed_before(const Live& request);
  [[nodiscard]] std::uint32_t blocks_missing(const Live& request, std::uint32_t tokens) const;
  [[nodiscard]] std::uint32_t blocks_to_enter(const Live& entered, std::uint32_t tokens) const;
  [[nodiscard]] std::uint64_t rank_of(std::uint32_t request) const {
    return serving::rank_of(spec_, request);
  }
  [[nodiscard]] bool by_priority() const { return serving::by_priority(spec_); }
  void push_ranked(std::uint32_t request);
  void pop_ranked();

  void decode_running();
  std::uint32_t chunk_prompts(std::uint32_t taken);
  void admit_chunks();
  bool lightllm_prompts();
  [[nodiscard]] bool lightllm_fits(const Live& next) const;

  [[nodiscard]] bool has_head() const {
    return !s_.restarted.empty() || !s_.waiting.empty() || !s_.ranked.empty();
  }
  [[nodiscard]] Live head() const;  // requires has_head()
  // Where in `restarted` the head is; its size where the head was never scheduled.
  [[nodiscard]] std::uint32_t head_restarted() const;
  void pop_head();
  [[nodiscard]] bool fits(const Live& unscheduled) const;
  [[nodiscard]] bool is_full() const { return formed_ == micro_batch_max_; }

  void add(Live request, std::uint32_t tokens);
  void admit(Live request, std::uint32_t blocks, std::uint32_t tokens);
  void hold(Live& request, std::uint32_t blocks);
  void restart(Live request);
  template <class Less>
  void sort_running(Less&& less);
  void sort_running_by_arrival();
  void sort_running_by_admission();
  void drop_running(std::uint32_t kept, std::uint32_t from);

  Replica::State& s_;
  const Spec& spec_;
  pdes::Context& ctx_;
  KvPool pool_;
  const std::uint32_t micro_batch_max_;
  std::uint32_t formed_ = 0;  // requests of the batch
  std::uint32_t formed_tokens_ = 0;
  std::int32_t left_ = 0;
};

}  // namespace exawarp::model::serving
