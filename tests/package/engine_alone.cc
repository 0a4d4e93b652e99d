// PHOLD on the installed engine, with nothing but exawarp::pdes: prints the digest.
#include <exawarp/core/placement.h>
#include <exawarp/pdes/engine.h>
#include <exawarp/pdes/phold.h>
#include <exawarp/pdes/transport.h>

#include <cstdio>

int main() {
  using namespace exawarp;
  const auto model = pdes::make_phold({.lps = 256, .start_events = 4, .remote = 0.5, .seed = 1});
  core::Placement placement{.partition_of_atom = std::vector<std::uint16_t>(256)};
  for (std::size_t lp = 0; lp < 256; ++lp) placement.partition_of_atom[lp] = lp / 128;
  placement.partitions_per_rank = 2;
  const auto transport = pdes::make_transport();
  pdes::Engine engine(*model, placement,
                      {.sync = pdes::Sync::optimistic,
                       .threads = 2,
                       .seed = 1,
                       .end = core::Time{100 * pdes::kPholdUnit.ps}},
                      *transport);
  std::printf("%s\n", core::to_hex(engine.run().digest).c_str());
}
