// A replica's pool of blocks of keys and values, for one event.
//
// A block is blank, private to the request that holds it, or cached: known by the name of its
// content, held by any number of requests, and idle while no one holds it. Idle blocks are kept
// until no blank one is left; then the one that was idle for longest is forgotten.
//
// A request of n blocks of tokens has a block of the pool for each of them and each group of layers
// (CacheGroups), but of groups with a window none for the first Live::behind. Of its first
// Live::cached blocks of tokens they are cached ones; the others are private. Groups of a kind are
// cached and forgotten together.
//
// Invariant: private blocks plus cached ones that someone holds = State::held;
//            State::held + State::idle <= Spec::blocks, all counted a group each.
// Cost: a look-up a block that is found, filled or given back; nothing a token.
#pragma once

#include <cstdint>

#include "model/serving/replica.h"
#include "pdes/context.h"

namespace exawarp::model::serving {

// Blocks of the pool that a request of so many blocks of tokens needs at most at once: what it
// computes goes behind windows batch by batch.
[[nodiscard]] std::int64_t most_at_once(std::uint32_t blocks, const Spec& spec);

// Cached blocks, of a kind of groups each, that someone holds.
[[nodiscard]] std::uint64_t cached_in_use(const Replica::State& s);

// Everything that it changes can be rolled back.
class KvPool {
 public:
  KvPool(Replica::State& s, const Spec& spec, pdes::Context& ctx) : s_(s), spec_(spec), ctx_(ctx) {}

  // Blocks that can be had: blank and idle ones.
  [[nodiscard]] std::int64_t available() const {
    return std::int64_t{spec_.blocks} - std::int64_t{s_.held};
  }
  // Of the pool, for so many blocks of tokens in all groups.
  [[nodiscard]] std::int64_t cost(std::uint32_t blocks) const {
    return std::int64_t{blocks} * spec_.groups.all();
  }

  // Of a request that holds nothing: its first blocks that are cached, at most as many as leave a
  // token of its prompt to be computed, which is what gives the next one. Of groups with a window
  // it is enough that those are there through which the next token looks.
  struct Found {
    std::uint32_t blocks = 0;  // of tokens
    std::uint32_t behind = 0;  // of these, behind every window
    std::uint32_t idle = 0;    // of the pool: taking them makes fewer available
  };
  [[nodiscard]] Found find(const Live& request);
  // Blocks to be had for such a request to have `blocks` of tokens, as most_at_once().
  [[nodiscard]] std::int64_t needed(Found found, std::uint32_t blocks) const;
  // Requires what find() returned, in this event.
  void take(Live& request, Found found);

  // So many private ones more, of tokens. Requires that their cost is available.
  void hold(Live& request, std::uint32_t blocks);
  // The blocks that `tokens` tokens fill can be found from now on. Where a block of that content is
  // cached already, the request holds that one and gives its own back.
  void fill(Live& request, std::uint64_t tokens);
  // With `computed` tokens computed: gives back what the next one does not see through windows.
  void pass(Live& request, std::uint64_t computed);
  // Gives back all, the last one first, so that the end of a prefix is forgotten before its
  // beginning.
  void release(Live& request);

 private:
  enum class Kind { full, windowed };

  [[nodiscard]] std::uint64_t key_of(const Live& request, std::uint32_t block, Kind kind) const;
  [[nodiscard]] CachedBlock* cached(const Live& request, std::uint32_t block, Kind kind);
  [[nodiscard]] std::uint32_t groups(Kind kind) const {
    return kind == Kind::full ? spec_.groups.full : spec_.groups.windowed;
  }
  [[nodiscard]] std::uint32_t groups(const CachedBlock& block) const;
  [[nodiscard]] std::uint32_t behind(std::uint64_t computed) const;
  [[nodiscard]] std::uint32_t idle_at(const Live& request, std::uint32_t block, Kind kind);
  [[nodiscard]] std::uint32_t found_in_window(const Live& request, std::uint32_t most);
  void cut_to_window(const Live& request, Found& found);

  template <class Each>
  void each_kind(Each&& each);
  // Those from block `first` to `end` of tokens, the last one first.
  void give_back(const Live& request, std::uint32_t first, std::uint32_t end, Kind kind);
  void fill_one(const Live& request, std::uint32_t block, Kind kind);
  void occupy(std::uint32_t blocks);
  void forget_oldest();
  void make_idle(CachedBlock& block);
  void unlink(CachedBlock& block);
  void share(CachedBlock& block);

  Replica::State& s_;
  const Spec& spec_;
  pdes::Context& ctx_;
};

}  // namespace exawarp::model::serving
