#include "model/serving/kv_pool.h"

#include <algorithm>

namespace exawarp::model::serving {

std::uint64_t KvPool::key_of(const Live& request, std::uint32_t block) const {
  return spec_.prefixes.block_key(request.request, block, spec_.block_tokens);
}

KvPool::Found KvPool::find(const Live& request) {
  Found found;
  if (!spec_.prefix_cache) return found;
  const std::uint32_t most = (request.prefill - 1) / spec_.block_tokens;
  for (; found.blocks < most; ++found.blocks) {
    const CachedBlock* const block = s_.cached.find(key_of(request, found.blocks));
    if (block == nullptr) break;
    found.idle += block->holders == 0 ? 1 : 0;
  }
  return found;
}

void KvPool::take(Live& request, Found found) {
  for (std::uint32_t i = 0; i < found.blocks; ++i) {
    CachedBlock* const block = s_.cached.find(key_of(request, i));
    if (block == nullptr) return ctx_.check(false, "serving: a cached block vanished");
    share(*block);
  }
  request.blocks += found.blocks;
  request.cached = found.blocks;
  request.processed = found.blocks * spec_.block_tokens;
}

void KvPool::hold(Live& request, std::uint32_t blocks) {
  request.blocks += blocks;
  const std::uint64_t wanted = std::uint64_t{s_.held} + s_.idle + blocks;
  for (std::uint64_t i = spec_.blocks; i < wanted && s_.idle != 0; ++i) forget_oldest();
  ctx_.add(s_.held, blocks);
  if (s_.held > s_.held_most) ctx_.set(s_.held_most, s_.held);
}

void KvPool::fill(Live& request, std::uint64_t tokens) {
  if (!spec_.prefix_cache) return;
  const std::uint64_t full = std::min<std::uint64_t>(tokens / spec_.block_tokens, request.blocks);
  for (; request.cached < full; ++request.cached) {
    const std::uint64_t key = key_of(request, request.cached);
    CachedBlock* const same = s_.cached.find(key);
    if (same == nullptr) {
      s_.cached.insert(ctx_, {.key = key, .holders = 1});
      continue;
    }
    ctx_.set(s_.held, s_.held - 1);
    share(*same);
  }
}

void KvPool::release(Live& request) {
  ctx_.check(s_.holders > 0, "serving: a request gave its blocks back twice");
  ctx_.set(s_.holders, s_.holders - 1);
  const std::uint32_t own = request.blocks - request.cached;
  ctx_.check(s_.held >= own, "serving: a block was freed twice");
  ctx_.set(s_.held, s_.held - own);
  for (std::uint32_t i = request.cached; i-- > 0;) {
    CachedBlock* const block = s_.cached.find(key_of(request, i));
    if (block == nullptr || block->holders == 0) {
      return ctx_.check(false, "serving: a cached block was freed twice");
    }
    ctx_.set(block->holders, block->holders - 1);
    if (block->holders == 0) make_idle(*block);
  }
  request.blocks = 0;
  request.cached = 0;
}

void KvPool::share(CachedBlock& block) {
  if (block.holders == 0) {
    unlink(block);
    ctx_.add(s_.held, 1);
    if (s_.held > s_.held_most) ctx_.set(s_.held_most, s_.held);
  }
  ctx_.set(block.holders, block.holders + 1);
}

// Last of those that are idle.
void KvPool::make_idle(CachedBlock& block) {
  ctx_.set(s_.held, s_.held - 1);
  ctx_.add(s_.idle, 1);
  ctx_.set(block.before, s_.idle_last);
  ctx_.set(block.behind, kNoBlock);
  if (CachedBlock* const last = s_.cached.find(s_.idle_last); last != nullptr)
    ctx_.set(last->behind, block.key);
  else
    ctx_.set(s_.idle_first, block.key);
  ctx_.set(s_.idle_last, block.key);
}

void KvPool::unlink(CachedBlock& block) {
  ctx_.set(s_.idle, s_.idle - 1);
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
  unlink(*oldest);
  s_.cached.erase(ctx_, oldest);
  ctx_.add(s_.forgotten, 1);
}

}  // namespace exawarp::model::serving
