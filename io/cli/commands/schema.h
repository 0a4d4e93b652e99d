// `exawarp schema`: what the keys of configuration files are, for editors and for readers.
#pragma once

#include <string>

namespace exawarp::io {

struct SchemaArguments {
  std::string kind;        // of files; empty: the kinds there are
  bool reference = false;  // docs/reference/keys.md in its place
};

// Throws core::InputError for a kind that there is none of.
std::string schema_text(const SchemaArguments& arguments);

}  // namespace exawarp::io
