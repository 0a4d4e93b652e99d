#include "io/cli/commands/doctor.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>

#include "io/life/agreement.h"
#include "io/life/checkup.h"
#include "io/report/checkup_report.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

// Of all ranks, on rank 0.
std::vector<RankCheckup> gathered(const RankCheckup& mine, pdes::Transport& transport) {
  const std::string line = line_of(mine);
  const std::vector<std::byte> bytes = transport.gather(std::as_bytes(std::span(line)));
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<RankCheckup> all;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    all.push_back(checkup_of(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
  }
  return all;
}

}  // namespace

int run_doctor(const DoctorArguments& a, const Console& console, pdes::Transport& transport) {
  RankCheckup mine{.rank = transport.rank().value, .host = {}, .findings = {}};
  agree(transport, [&] {
    const HostFacts facts = read_host_facts(transport);
    mine.host = facts.host;
    mine.findings = check_up(facts);
  });
  const std::vector<RankCheckup> all = gathered(mine, transport);
  if (transport.rank().value == 0) {
    console.out << (a.json ? checkup_json(all) : printable(checkup_text(all))) << std::flush;
  }
  std::array<std::uint64_t, 1> stops{worst_of(mine.findings) == Verdict::stops ? 1u : 0u};
  transport.all_reduce_max(stops);
  return stops[0] == 0 ? kDone : kOutOfResources;
}

}  // namespace exawarp::io
