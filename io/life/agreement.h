// Ranks that fail together. Every rank reads the same files and prepares its own share, so an error
// usually strikes all of them, and the user should read of it once; where it strikes some only,
// the others must not wait for those for ever. And ranks that are not told the same thing: of other
// arguments or files they would simulate something that nobody asked for, or wait for each other.
#pragma once

#include <functional>

#include "io/study/settings.h"
#include "pdes/transport.h"

namespace exawarp::io {

// Thrown on the ranks that did not fail first; carries no text, for there is nothing to print.
struct OtherRankFailed {
  int exit_code;
};

// Throws on every rank where the settings of any two differ: on rank 0 core::InputError, which
// names the first that does and the ranks that have it so or so; OtherRankFailed elsewhere.
// Collective; one reduction where all agree. To be called before any other collective whose size or
// order depends on what is compared.
void require_same(pdes::Transport& transport, const Settings& settings);

// Runs `work` on this rank, then lets all ranks agree. Where it threw on any rank, throws on every
// rank: the error itself on the lowest failing rank, OtherRankFailed elsewhere. Collective.
void agree(pdes::Transport& transport, const std::function<void()>& work);

}  // namespace exawarp::io
