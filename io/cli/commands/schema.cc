#include "io/cli/commands/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "io/study/schema.h"
#include "io/study/suggest.h"

namespace exawarp::io {

std::string schema_text(const SchemaArguments& arguments) {
  if (arguments.reference) return key_reference();
  std::vector<std::string> names;
  std::string list;
  for (const SchemaKind& kind : schema_kinds()) {
    if (kind.name == arguments.kind) return json_schema(kind);
    names.push_back(kind.name);
    list += fmt::format("{:12} files of {}\n", kind.name, kind.where);
  }
  if (arguments.kind.empty()) return list;
  throw core::InputError("schema", fmt::format("{} is no kind of file; expected one of: {}{}",
                                               in_quotes(arguments.kind), fmt::join(names, ", "),
                                               did_you_mean(arguments.kind, names)));
}

}  // namespace exawarp::io
