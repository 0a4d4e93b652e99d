# Flags every room shares, carried by one interface target. Of the installed libraries' users
# (cmake/install.cmake) it asks only what decides whether their code and ours mean the same.
include(CheckIPOSupported)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(exawarp_options INTERFACE)
target_include_directories(exawarp_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_features(exawarp_options INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
# Options of our own compilation alone.
function(exawarp_own_options)
  foreach(option ${ARGN})
    target_compile_options(exawarp_options INTERFACE $<BUILD_INTERFACE:${option}>)
  endforeach()
endfunction()
exawarp_own_options(-Wall -Wextra -Wconversion -Wshadow -Wpedantic -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Else it notes, of events that are passed by value, that versions before 4.6 did so differently.
  exawarp_own_options(-Wno-psabi)
endif()
if(EXAWARP_UNITY)  # a file's constant is global to others of its folder, but not what they mean
  exawarp_own_options(-Wno-shadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    exawarp_own_options(-Wshadow=local)
  endif()
endif()
if(EXAWARP_WERROR)
  exawarp_own_options(-Werror)
endif()
if(EXAWARP_CHECKED)
  target_compile_definitions(exawarp_options INTERFACE EXAWARP_CHECKED=1)
endif()
if(EXAWARP_SANITIZE)
  target_compile_options(exawarp_options INTERFACE -fsanitize=${EXAWARP_SANITIZE}
                         -fno-sanitize-recover=all)
  if(EXAWARP_SANITIZE MATCHES undefined AND NOT EXAWARP_SANITIZE_POINTERS)
    # A check at each use of a pointer, a quarter of the time to compile; the address sanitizer sees
    # most of what they would. The preset asan_all has them.
    target_compile_options(exawarp_options INTERFACE -fno-sanitize=null,alignment,vptr)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(exawarp_options INTERFACE -fno-sanitize=object-size)
    endif()
  endif()
  target_link_options(exawarp_options INTERFACE -fsanitize=${EXAWARP_SANITIZE})
endif()
if(EXAWARP_FUZZERS)
  target_compile_options(exawarp_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(EXAWARP_NATIVE)
  exawarp_own_options(-march=native)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  exawarp_own_options(-march=x86-64-v2)
endif()
# The same expression must give the same bits on every rank and in every preset.
target_compile_options(exawarp_options INTERFACE -ffp-contract=off)
if(EXAWARP_LTO)
  check_ipo_supported()
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  # Inlining across files leads GCC 12 to warn of writes that fmt and std::string never do.
  target_link_options(exawarp_options INTERFACE $<BUILD_INTERFACE:-Wno-stringop-overflow>
                                                $<BUILD_INTERFACE:-Wno-stringop-overread>)
endif()

# Sources that lie in `folders` (all, where none is given) compile as one file for each folder,
# because half of the compiler's time goes to headers. Names in unnamed namespaces are then shared
# by a folder. Folders of many sources are several files, none of which is compiled alone when all
# others are done.
function(exawarp_compile_by_folder target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    if(ARGN AND NOT folder IN_LIST ARGN)
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "all_${folder}" group)
    list(APPEND groups ${group})
    list(APPEND ${group} ${source})
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group ${groups})
    list(LENGTH ${group} count)
    math(EXPR files "1 + ${count} / 25")
    set(place 0)
    foreach(source ${${group}})
      math(EXPR file "${place} * ${files} / ${count}")
      math(EXPR place "${place} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${file})
    endforeach()
  endforeach()
endfunction()

# exawarp_room(NAME SOURCES ... USES rooms-and-libraries ... PRIVATE libraries ...
#              [NO_EVENTS | NO_EVENTS_IN folders ...])
# NO_EVENTS: nothing of it runs for an event, so what users run gains nothing from compiling it file
# by file, nor, where that is so of the whole room, from optimising it across files.
function(exawarp_room name)
  cmake_parse_arguments(ROOM "NO_EVENTS" "" "SOURCES;USES;PRIVATE;NO_EVENTS_IN" ${ARGN})
  add_library(exawarp_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(exawarp_${name} PUBLIC exawarp_options ${ROOM_USES}
                        PRIVATE ${ROOM_PRIVATE})
  if(EXAWARP_UNITY)
    exawarp_compile_by_folder(exawarp_${name})
  elseif(EXAWARP_LTO AND ROOM_NO_EVENTS)
    exawarp_compile_by_folder(exawarp_${name})
    set_target_properties(exawarp_${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    target_compile_options(exawarp_${name} PRIVATE -O1)
  elseif(EXAWARP_LTO AND ROOM_NO_EVENTS_IN)
    exawarp_compile_by_folder(exawarp_${name} ${ROOM_NO_EVENTS_IN})
  endif()
endfunction()
