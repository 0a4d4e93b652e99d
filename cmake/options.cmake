# Flags every room shares, carried by one interface target.
include(CheckIPOSupported)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(exawarp_options INTERFACE)
target_include_directories(exawarp_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(exawarp_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wpedantic -fno-omit-frame-pointer)
if(EXAWARP_WERROR)
  target_compile_options(exawarp_options INTERFACE -Werror)
endif()
if(EXAWARP_CHECKED)
  target_compile_definitions(exawarp_options INTERFACE EXAWARP_CHECKED=1)
endif()
if(EXAWARP_SANITIZE)
  target_compile_options(exawarp_options INTERFACE -fsanitize=${EXAWARP_SANITIZE}
                         -fno-sanitize-recover=all)
  target_link_options(exawarp_options INTERFACE -fsanitize=${EXAWARP_SANITIZE})
endif()
if(EXAWARP_FUZZERS)
  target_compile_options(exawarp_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(EXAWARP_NATIVE)
  target_compile_options(exawarp_options INTERFACE -march=native)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  target_compile_options(exawarp_options INTERFACE -march=x86-64-v2)
endif()
# The same expression must give the same bits on every rank and in every preset.
target_compile_options(exawarp_options INTERFACE -ffp-contract=off)
if(EXAWARP_LTO)
  check_ipo_supported()
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  # Inlining across files leads GCC 12 to warn of writes that fmt and std::string never do.
  target_link_options(exawarp_options INTERFACE -Wno-stringop-overflow -Wno-stringop-overread)
endif()

# exawarp_room(NAME SOURCES ... USES rooms-and-libraries ... PRIVATE libraries ...)
function(exawarp_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES;PRIVATE" ${ARGN})
  add_library(exawarp_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(exawarp_${name} PUBLIC exawarp_options ${ROOM_USES}
                        PRIVATE ${ROOM_PRIVATE})
endfunction()
