#include "io/report/messages_file.h"

#include <string>
#include <string_view>

#include "io/report/append.h"
#include "model/network/message/message.h"

namespace exawarp::io {
namespace {

std::string_view kind_of(const model::MessageTrace::Row& row) {
  if (!row.by_packets) return "message";
  switch (model::carried_kind_of(row.carried)) {
    case model::Carried::chunk:
    case model::Carried::step:
    case model::Carried::step_one_by_one:
      return "collective";
    case model::Carried::message:
      return "message";
    case model::Carried::request:
      return "request";
    case model::Carried::ready:
      return "ready";
    case model::Carried::background:
      return "background";
  }
  return "unknown";
}

}  // namespace

void write_messages(const model::MessageTrace& trace, core::OutputFile& file) {
  constexpr std::size_t kBufferBytes = 1 << 20;
  std::string out = "source,destination,kind,tag,bytes,start_ps,end_ps\n";
  for (const model::MessageTrace::Row& row : trace.rows()) {
    append(out, "{},{},{},", row.source, row.destination, kind_of(row));
    if (!row.by_packets) append(out, "{}", row.tag);
    append(out, ",{},{},", row.bytes, row.sent.ps);
    if (row.received >= core::Time{0}) append(out, "{}", row.received.ps);
    out += '\n';
    if (out.size() < kBufferBytes) continue;
    file.write(out);
    out.clear();
  }
  file.write(out);
  file.commit();
}

}  // namespace exawarp::io
