#include "model/serving/kv_pool.h"

#include <algorithm>

namespace exawarp::model::serving {

namespace {

// Names of content are below it.
constexpr std::uint64_t kWindowedKey = std::uint64_t{1} << 63;

// Of a group with a window, of `blocks` of tokens: what a batch computes, and what it sees before.
std::int64_t windowed_at_once(std::uint32_t blocks, const Spec& spec) {
  const std::uint64_t seen = std::uint64_t{spec.groups.window} + spec.batch_tokens_max;
  // A block more, as neither of the two begins with one.
  return std::min(blocks, spec.blocks_for(seen) + 1);
}

}  // namespace

std::int64_t most_at_once(std::uint32_t blocks, const Spec& spec) {
  return std::int64_t{blocks} * spec.groups.full +
         windowed_at_once(blocks, spec) * spec.groups.windowed;
}

std::uint64_t cached_in_use(const Replica::State& s) {
  std::uint64_t blocks = 0;
  s.cached.visit([&](const CachedBlock& block) { blocks += block.holders != 0 ? 1 : 0; });
  return blocks;
}

// ---- kinds of groups

template <class Each>
void KvPool::each_kind(Each&& each) {
  if (spec_.groups.full != 0) each(Kind::full);
  if (spec_.groups.windowed != 0) each(Kind::windowed);
}

std::uint64_t KvPool::key_of(const Live& request, std::uint32_t block, Kind kind) const {
  const std::uint64_t content =
      spec_.prefixes.block_key(request.request, block, spec_.block_tokens);
  return kind == Kind::windowed ? content | kWindowedKey : content;
}

CachedBlock* KvPool::cached(const Live& request, std::uint32_t block, Kind kind) {
  return s_.cached.find(key_of(request, block, kind));
}

std::uint32_t KvPool::groups(const CachedBlock& block) const {
  return groups((block.key & kWindowedKey) == 0 ? Kind::full : Kind::windowed);
}

// Blocks of tokens that the token behind `computed` ones does not see through any window.
std::uint32_t KvPool::behind(std::uint64_t computed) const {
  const std::uint64_t seen = spec_.groups.window - 1;  // of those computed
  if (spec_.groups.windowed == 0 || computed <= seen) return 0;
  return static_cast<std::uint32_t>((computed - seen) / spec_.block_tokens);
}

// ---- what is found

std::uint32_t KvPool::idle_at(const Live& request, std::uint32_t block, Kind kind) {
  const CachedBlock* const found = cached(request, block, kind);
  return found != nullptr && found->holders == 0 ? groups(kind) : 0;
}

// The most, up to `most`, behind which a token sees only blocks that are there.
std::uint32_t KvPool::found_in_window(const Live& request, std::uint32_t most) {
  std::uint32_t end = most, at = most;  // those from `at` to `end` are there
  while (at > behind(std::uint64_t{end} * spec_.block_tokens)) {
    if (cached(request, --at, Kind::windowed) == nullptr) end = at;
  }
  return end;
}

KvPool::Found KvPool::find(const Live& request) {
  Found found;
  if (!spec_.prefix_cache) return found;
  const std::uint32_t most = (request.prefill - 1) / spec_.block_tokens;
  for (; found.blocks < most && spec_.groups.full != 0; ++found.blocks) {
    const CachedBlock* const block = cached(request, found.blocks, Kind::full);
    if (block == nullptr) break;
    found.idle += block->holders == 0 ? spec_.groups.full : 0;
  }
  if (spec_.groups.full == 0) found.blocks = most;
  if (spec_.groups.windowed != 0) cut_to_window(request, found);
  return found;
}

std::int64_t KvPool::needed(Found found, std::uint32_t blocks) const {
  const std::int64_t seen = found.blocks - found.behind;
  const std::int64_t windowed = windowed_at_once(blocks - found.behind, spec_) - seen;
  return std::int64_t{blocks - found.blocks} * spec_.groups.full +
         std::max(windowed, std::int64_t{0}) * spec_.groups.windowed + found.idle;
}

void KvPool::cut_to_window(const Live& request, Found& found) {
  const std::uint32_t end = found_in_window(request, found.blocks);
  while (found.blocks > end) found.idle -= idle_at(request, --found.blocks, Kind::full);
  found.behind = behind(std::uint64_t{end} * spec_.block_tokens);
  for (std::uint32_t i = found.behind; i < end; ++i) {
    found.idle += idle_at(request, i, Kind::windowed);
  }
}

void KvPool::take(Live& request, Found found) {
  each_kind([&](Kind kind) {
    for (std::uint32_t i = kind == Kind::full ? 0 : found.behind; i < found.blocks; ++i) {
      CachedBlock* const block = cached(request, i, kind);
      if (block == nullptr) return ctx_.check(false, "serving: a cached block vanished");
      share(*block);
    }
  });
  request.blocks += found.blocks;
  request.behind = found.behind;
  request.cached = found.blocks;
  request.processed = found.blocks * spec_.block_tokens;
}

// ---- what is held

void KvPool::hold(Live& request, std::uint32_t blocks) {
  request.blocks += blocks;
  const auto more = static_cast<std::uint32_t>(cost(blocks));
  while (std::uint64_t{s_.held} + s_.idle + more > spec_.blocks && s_.idle != 0) forget_oldest();
  occupy(more);
}

void KvPool::fill(Live& request, std::uint64_t tokens) {
  if (!spec_.prefix_cache) return;
  const std::uint64_t full = std::min<std::uint64_t>(tokens / spec_.block_tokens, request.blocks);
  for (; request.cached < full; ++request.cached) {
    each_kind([&](Kind kind) { fill_one(request, request.cached, kind); });
  }
}

void KvPool::fill_one(const Live& request, std::uint32_t block, Kind kind) {
  if (kind == Kind::windowed && block < request.behind) return;
  const std::uint64_t key = key_of(request, block, kind);
  CachedBlock* const same = s_.cached.find(key);
  if (same == nullptr) {
    s_.cached.insert(ctx_, {.key = key, .holders = 1});
    return;
  }
  ctx_.set(s_.held, s_.held - groups(kind));
  share(*same);
}

void KvPool::pass(Live& request, std::uint64_t computed) {
  const std::uint32_t before = request.behind;
  request.behind = std::max(before, std::min(behind(computed), request.blocks));
  give_back(request, before, request.behind, Kind::windowed);
}

void KvPool::release(Live& request) {
  ctx_.check(s_.holders > 0, "serving: a request gave its blocks back twice");
  ctx_.set(s_.holders, s_.holders - 1);
  each_kind([&](Kind kind) {
    give_back(request, kind == Kind::full ? 0 : request.behind, request.blocks, kind);
  });
  request.blocks = request.behind = request.cached = 0;
}

void KvPool::give_back(const Live& request, std::uint32_t first, std::uint32_t end, Kind kind) {
  const std::uint32_t cached_end = std::clamp(request.cached, first, end);
  if (const std::uint32_t own = (end - cached_end) * groups(kind); own != 0) {
    ctx_.check(s_.held >= own, "serving: a block was freed twice");
    ctx_.set(s_.held, s_.held - own);
  }
  for (std::uint32_t i = cached_end; i-- > first;) {
    CachedBlock* const block = cached(request, i, kind);
    if (block == nullptr || block->holders == 0) {
      return ctx_.check(false, "serving: a cached block was freed twice");
    }
    ctx_.set(block->holders, block->holders - 1);
    if (block->holders == 0) make_idle(*block);
  }
}

void KvPool::occupy(std::uint32_t blocks) {
  ctx_.add(s_.held, blocks);
  if (s_.held > s_.held_most) ctx_.set(s_.held_most, s_.held);
}

void KvPool::share(CachedBlock& block) {
  if (block.holders == 0) {
    unlink(block);
    occupy(groups(block));
  }
  ctx_.set(block.holders, block.holders + 1);
}

// ---- what is idle

// Last of those that are idle.
void KvPool::make_idle(CachedBlock& block) {
  ctx_.set(s_.held, s_.held - groups(block));
  ctx_.add(s_.idle, groups(block));
  ctx_.set(block.before, s_.idle_last);
  ctx_.set(block.behind, kNoBlock);
  if (CachedBlock* const last = s_.cached.find(s_.idle_last); last != nullptr)
    ctx_.set(last->behind, block.key);
  else
    ctx_.set(s_.idle_first, block.key);
  ctx_.set(s_.idle_last, block.key);
}

void KvPool::unlink(CachedBlock& block) {
  ctx_.set(s_.idle, s_.idle - groups(block));
  if (CachedBlock* const before = s_.cached.find(block.before); before != nullptr)
    ctx_.set(before->behind, block.behind);
  else
    ctx_.set(s_.idle_first, block.behind);
  if (CachedBlock* const behind = s_.cached.find(block.behind); behind != nullptr)
    ctx_.set(behind->before, block.before);
  else
    ctx_.set(s_.idle_last, block.before);
}

void KvPool::forget_oldest() {
  CachedBlock* const oldest = s_.cached.find(s_.idle_first);
  if (oldest == nullptr) return ctx_.check(false, "serving: no block is left to forget");
  const std::uint32_t blocks = groups(*oldest);
  unlink(*oldest);
  s_.cached.erase(ctx_, oldest);
  ctx_.add(s_.forgotten, blocks);
}

}  // namespace exawarp::model::serving
