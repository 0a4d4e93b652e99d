#include "io/life/failure.h"

#include <gtest/gtest.h>
#include <kj/exception.h>

#include <new>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "core/error.h"

namespace exawarp::tests {
namespace {

using namespace io;

template <class Error>
Failure of(Error error) {
  return failure_of(std::make_exception_ptr(std::move(error)));
}

TEST(Failure, MemoryThatIsNotThereIsAResourceWhoeverMissesIt) {
  const auto from_capnp = [] {
    try {
      kj::throwFatalException(kj::Exception(kj::Exception::Type::OVERLOADED, "message.c++", 270,
                                            kj::heapString("calloc: Cannot allocate memory")));
    } catch (...) {
      return failure_of(std::current_exception());
    }
  };
  const auto from_vector = [] {
    try {
      std::vector<int> numbers;
      numbers.reserve(numbers.max_size() + 1);
    } catch (...) {
      return failure_of(std::current_exception());
    }
    return Failure{};
  };
  for (const Failure& failure : {of(std::bad_alloc()), from_capnp(), from_vector()}) {
    EXPECT_EQ(failure.exit_code, kOutOfResources);
    EXPECT_TRUE(failure.text.starts_with("memory: the system gives no more; ")) << failure.text;
  }
}

TEST(Failure, AnErrorOfTheSystemKeepsItsWords) {
  const Failure failure =
      of(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  EXPECT_EQ(failure.exit_code, kOutOfResources);
  EXPECT_EQ(failure.text, "Resource temporarily unavailable");
}

TEST(Failure, WhatNobodyExpectedIsOurFault) {
  EXPECT_EQ(of(std::logic_error("odd")).exit_code, kInternalFault);
  EXPECT_EQ(of(7).exit_code, kInternalFault);
  EXPECT_EQ(of(core::InputError("a.yaml", "wrong")).exit_code, kBadInput);
}

}  // namespace
}  // namespace exawarp::tests
