# A part of cmake/install.cmake, which says what the variables are: what an installation makes of
# what a build has.

# Headers include each other by a name that no folder of their user's can take.
file(GLOB_RECURSE headers "${PREFIX}/${INCLUDE_DIR}/exawarp/*.h")
foreach(header ${headers})
  file(READ "${header}" text)
  string(REGEX REPLACE "#include \"(core|pdes|partition|model)/" "#include \"exawarp/\\1/"
         text "${text}")
  file(WRITE "${header}" "${text}")
endforeach()

# Objects of optimisation across files become one of machine code, for any linker.
file(MAKE_DIRECTORY "${WORK}")
foreach(room ${SLIM_LIBRARIES})
  set(library "${PREFIX}/${LIB_DIR}/libexawarp_${room}.a")
  set(object "${WORK}/exawarp_${room}.o")
  execute_process(COMMAND "${COMPILER}" -r -nostdlib -flto=auto -flinker-output=nolto-rel
                          -o "${object}" -Wl,--whole-archive "${library}" -Wl,--no-whole-archive
                          -Wno-stringop-overflow -Wno-stringop-overread
                  COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE "${library}")
  execute_process(COMMAND "${AR}" rcs "${library}" "${object}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

execute_process(COMMAND "${PROGRAM}" completion bash OUTPUT_FILE "${WORK}/exawarp"
                COMMAND_ERROR_IS_FATAL ANY)
file(INSTALL "${WORK}/exawarp" DESTINATION
     "${CMAKE_INSTALL_PREFIX}/share/bash-completion/completions")

# Man pages: exawarp(1), and one for each command.
find_program(HELP2MAN help2man)
if(NOT HELP2MAN)
  message(STATUS "No man pages: help2man is missing (scripts/install installs it)")
  return()
endif()
execute_process(COMMAND "${PROGRAM}" --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE ".*\nSubcommands:\n" "" commands "${help}")
string(REGEX REPLACE "\n\n.*" "" commands "${commands}")
string(REGEX MATCHALL "(^|\n)  [a-z]+ [^\n]*" commands "${commands}")
file(WRITE "${WORK}/see_also" "[see also]\nThe whole documentation is in docs/ of the sources.\n")
foreach(command "" ${commands})
  string(REGEX REPLACE "^\n?  ([a-z]+) +(.*)" "\\1;\\2" parts "${command}")
  list(POP_FRONT parts name what)
  if(NOT name)
    set(page "exawarp")
    set(what "simulates machine-learning work on large clusters")
  else()
    set(page "exawarp-${name}")
  endif()
  file(WRITE "${WORK}/program" "#!/bin/sh\nexec '${PROGRAM}' ${name} --help\n")
  file(CHMOD "${WORK}/program" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  execute_process(COMMAND "${HELP2MAN}" --no-info --no-discard-stderr --section=1
                          "--name=${what}" "--version-string=${VERSION}" "--source=Exawarp"
                          "--include=${WORK}/see_also" "--output=${WORK}/${page}.1"
                          "${WORK}/program"
                  COMMAND_ERROR_IS_FATAL ANY)
  file(INSTALL "${WORK}/${page}.1" DESTINATION "${CMAKE_INSTALL_PREFIX}/share/man/man1")
endforeach()
