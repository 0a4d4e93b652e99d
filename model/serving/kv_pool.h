// A replica's pool of blocks of keys and values, for one event.
//
// A block is blank, private to the request that holds it, or cached: known by the name of its
// content, held by any number of requests, and idle while no one holds it. Idle blocks are kept
// until no blank one is left; then the one that was idle for longest is forgotten. A request's
// first Live::cached blocks are cached ones, in order; the others are private.
//
// Invariant: private blocks plus cached ones that someone holds = State::held;
//            State::held + State::idle <= Spec::blocks.
// Cost: a look-up a block that is found, filled or given back; nothing a token.
#pragma once

#include <cstdint>

#include "model/serving/replica.h"
#include "pdes/context.h"

namespace exawarp::model::serving {

// Everything that it changes can be rolled back.
class KvPool {
 public:
  KvPool(Replica::State& s, const Spec& spec, pdes::Context& ctx) : s_(s), spec_(spec), ctx_(ctx) {}

  // Blocks that can be had: blank and idle ones.
  [[nodiscard]] std::int64_t available() const {
    return std::int64_t{spec_.blocks} - std::int64_t{s_.held};
  }
  [[nodiscard]] std::uint32_t blocks_for(std::uint64_t tokens) const {
    return static_cast<std::uint32_t>((tokens + spec_.block_tokens - 1) / spec_.block_tokens);
  }

  // Of a request that holds nothing: its first blocks that are cached, at most as many as leave a
  // token of its prompt to be computed, which is what gives the next one.
  struct Found {
    std::uint32_t blocks = 0;
    std::uint32_t idle = 0;  // of these: taking them makes fewer blocks available
  };
  [[nodiscard]] Found find(const Live& request);
  // Requires what find() returned, in this event.
  void take(Live& request, Found found);

  // `blocks` private ones more. Requires that so many are available.
  void hold(Live& request, std::uint32_t blocks);
  // The blocks that `tokens` tokens fill can be found from now on. Where a block of that content is
  // cached already, the request holds that one and gives its own back.
  void fill(Live& request, std::uint64_t tokens);
  // Gives back all, the last one first, so that the end of a prefix is forgotten before its
  // beginning.
  void release(Live& request);

 private:
  [[nodiscard]] std::uint64_t key_of(const Live& request, std::uint32_t block) const;
  void occupy();
  void forget_oldest();
  void make_idle(CachedBlock& block);
  void unlink(CachedBlock& block);
  void share(CachedBlock& block);

  Replica::State& s_;
  const Spec& spec_;
  pdes::Context& ctx_;
};

}  // namespace exawarp::model::serving
