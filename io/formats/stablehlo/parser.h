// Reads StableHLO text, pretty or generic, into modules (module.h).
//
// Names, operands, regions and types are parsed by recursive descent; what stands between an
// operation's name and its type is taken as operands, `name = value` pairs and dictionaries,
// whatever the order, because every operation has a pretty form of its own. Operands' types are
// those of their definitions, so a wrong signature is not noticed, but an undefined value is.
#pragma once

#include <vector>

#include "io/formats/stablehlo/module.h"

namespace exawarp::io::stablehlo {

// The modules of a file, which lines "// -----" separate. The source outlives them.
// Throws core::InputError "PATH:LINE:COLUMN: ...".
std::vector<Module> parse_modules(const Source& source);

}  // namespace exawarp::io::stablehlo
