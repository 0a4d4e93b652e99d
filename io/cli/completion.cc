// The script knows a command by its path, " workload generate", and finds that by going through the
// words before the cursor; each path has its subcommands, options, and options that take a value.
// Where nothing is offered bash goes on with files, which is what most arguments are.
#include "io/cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "core/error.h"
#include "io/study/find_config.h"
#include "io/study/search.h"
#include "io/study/study.h"
#include "io/study/suggest.h"

namespace exawarp::io {
namespace {

// Commands whose argument is a name of a configuration, and the folders that have it.
struct NamedArgument {
  std::string_view path;
  std::span<const std::string_view> folders;
};
constexpr NamedArgument kNamedArguments[] = {{" run", kStudyFolders},
                                             {" sweep", kSweepFolders},
                                             {" search", kSearchFolders},
                                             {" traffic", kTrafficFolders},
                                             {" serve", kServingFolders},
                                             {" capacity", kCapacityFolders},
                                             {" topology show", kNetworkFolders},
                                             {" workload generate", kWorkloadFolders}};

constexpr std::string_view kHead =
    R"bash(# Completion of exawarp in bash, made by `exawarp completion bash`.
_exawarp() {
  local current=${COMP_WORDS[COMP_CWORD]} previous= path= commands= options= values= folders= i
  [[ $COMP_CWORD -gt 1 ]] && previous=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${COMP_WORDS[i]}" in
)bash";
constexpr std::string_view kMiddle = R"bash(        path+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path" in
)bash";
constexpr std::string_view kTail =
    R"bash(  if [[ -n $previous && " $values " == *" $previous "* ]]; then
    return  # a value, which may be a file
  fi
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
    return
  fi
  local folder
  for folder in $folders; do
    commands+=" $("${COMP_WORDS[0]}" completion "$folder" 2>/dev/null)"
  done
  COMPREPLY=($(compgen -W "$commands" -- "$current"))
}
complete -o bashdefault -o default -F _exawarp exawarp
)bash";

std::vector<const CLI::App*> shown_subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); });
}

std::vector<std::string> names_of_option(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// The paths of all commands below `app`.
void add_paths(const CLI::App& app, const std::string& path, std::vector<std::string>& out) {
  for (const CLI::App* sub : shown_subcommands(app)) {
    const std::string below = path + " " + sub->get_name();
    out.push_back(below);
    add_paths(*sub, below, out);
  }
}

// The lines of `case` for `app` and what is below it.
void add_cases(const CLI::App& app, const std::string& path, std::string& out) {
  std::vector<std::string> commands, options, values;
  for (const CLI::App* sub : shown_subcommands(app)) commands.push_back(sub->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : names_of_option(*option)) {
      options.push_back(name);
      if (option->get_items_expected_max() > 0) values.push_back(name);
    }
  }
  out +=
      fmt::format("    \"{}\")\n      commands=\"{}\"\n      options=\"{}\"\n      values=\"{}\"\n",
                  path, fmt::join(commands, " "), fmt::join(options, " "), fmt::join(values, " "));
  for (const NamedArgument& argument : kNamedArguments) {
    if (argument.path == path) {
      out += fmt::format("      folders=\"{}\"\n", fmt::join(argument.folders, " "));
    }
  }
  out += "      ;;\n";
  for (const CLI::App* sub : shown_subcommands(app)) {
    add_cases(*sub, path + " " + sub->get_name(), out);
  }
}

// Values of options that are one of a few words.
std::string words_of_values() {
  const auto line = [](std::string_view option, const std::vector<std::string>& words) {
    return fmt::format(
        "  if [[ $previous == {} ]]; then\n"
        "    COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))\n    return\n  fi\n",
        option, fmt::join(words, " "));
  };
  return line("--sync", core::names_in(names_of(pdes::Sync{}))) +
         line("--placement", core::names_in(names_of(PlacementMethod{}))) +
         line("--verify", core::names_in(names_of(VerifyFidelity{})));
}

std::string bash_completion(const CLI::App& app) {
  std::vector<std::string> paths;
  add_paths(app, "", paths);
  std::string out(kHead);
  out += fmt::format("      \"{}\")\n", fmt::join(paths, "\" | \""));
  out += kMiddle;
  add_cases(app, "", out);
  out += "  esac\n";
  out += words_of_values();
  out += kTail;
  return out;
}

}  // namespace

std::string completion_text(const CLI::App& app, const std::string& what) {
  if (what == "bash") return bash_completion(app);
  std::vector<std::string> known = {"bash"};
  for (const NamedArgument& argument : kNamedArguments) {
    for (const std::string_view& folder : argument.folders) {
      if (what == folder) return fmt::format("{}\n", fmt::join(config_names({&folder, 1}), "\n"));
      if (std::ranges::find(known, folder) == known.end()) known.emplace_back(folder);
    }
  }
  throw core::InputError("exawarp completion",
                         fmt::format("{} is not known; expected one of: {}{}", in_quotes(what),
                                     fmt::join(known, ", "), did_you_mean(what, known)));
}

}  // namespace exawarp::io
