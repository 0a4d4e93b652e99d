// Ranks that fail together. Every rank reads the same files and prepares its own share, so an error
// usually strikes all of them, and the user should read of it once; where it strikes some only,
// the others must not wait for those for ever.
#pragma once

#include <functional>

#include "pdes/transport.h"

namespace exawarp::io {

// Thrown on the ranks that did not fail first; carries no text, for there is nothing to print.
struct OtherRankFailed {
  int exit_code;
};

// Runs `work` on this rank, then lets all ranks agree. Where it threw on any rank, throws on every
// rank: the error itself on the lowest failing rank, OtherRankFailed elsewhere. Collective.
void agree(pdes::Transport& transport, const std::function<void()>& work);

}  // namespace exawarp::io
