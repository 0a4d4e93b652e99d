#include "io/life/failure.h"

#include <kj/exception.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "core/error.h"

namespace exawarp::io {
namespace {

Failure out_of_memory() {
  return {kOutOfResources,
          "memory: the system gives no more; fewer devices a rank, a smaller engine.memory or more "
          "ranks would help"};
}

Failure internal_fault(const std::string& what) {
  return {kInternalFault,
          "internal fault: " + what + ": this is a bug in exawarp, please report it"};
}

}  // namespace

ExitCode exit_code_of(RunStatus status) {
  switch (status) {
    case RunStatus::finished: return kDone;
    case RunStatus::deadlocked: return kDeadlock;
    case RunStatus::stopped: return kOutOfResources;
  }
  return kInternalFault;
}

ExitCode exit_code_of(const Ran& report) {
  const bool goes_on = report.status == RunStatus::stopped && !report.checkpoint.empty();
  return goes_on ? kStoppedWithCheckpoint : exit_code_of(report.status);
}

Failure failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const core::InputError& bad_input) {
    return {kBadInput, bad_input.what()};
  } catch (const core::SystemError& world) {
    return {kOutOfResources, world.what()};
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::length_error&) {  // a container that no memory could hold
    return out_of_memory();
  } catch (const std::system_error& world) {
    return {kOutOfResources, world.what()};
  } catch (const kj::Exception& problem) {
    // Cap'n Proto's word for a system call that lacked a resource: its calloc, most likely.
    if (problem.getType() == kj::Exception::Type::OVERLOADED) return out_of_memory();
    return internal_fault(problem.getDescription().cStr());
  } catch (const std::exception& other) {
    return internal_fault(other.what());
  } catch (...) {
    return internal_fault("an exception of no known kind");
  }
}

}  // namespace exawarp::io
