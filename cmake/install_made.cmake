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

# Objects of optimisation across files become one of machine code, for any linker. In one partition:
# of several, GCC 12 fails to make something that is to be linked again.
if(CMAKE_INSTALL_DO_STRIP)
  set(strip -Wl,--strip-debug)
endif()
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
foreach(room ${SLIM_LIBRARIES})
  set(library "${PREFIX}/${LIB_DIR}/libexawarp_${room}.a")
  set(object "${WORK}/exawarp_${room}.o")
  execute_process(COMMAND "${COMPILER}" -r -nostdlib -flto -flto-partition=none
                          -flinker-output=nolto-rel ${strip}
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

# Man pages: exawarp(1), and one for each command, as exawarp-workload-generate(1).
find_program(HELP2MAN help2man)
if(NOT HELP2MAN)
  message(STATUS "No man pages: help2man is missing (scripts/install installs it)")
  file(REMOVE_RECURSE "${WORK}")
  return()
endif()
file(MAKE_DIRECTORY "${WORK}/program" "${WORK}/man")
file(WRITE "${WORK}/see_also" "[see also]\nThe documentation is in docs/ of the sources.\n")
set(commands "exawarp  simulates machine-learning work on large clusters")
while(commands)
  list(POP_FRONT commands command)
  string(REGEX REPLACE "  .*" "" name "${command}")
  string(REGEX REPLACE "^.*  +" "" what "${command}")
  string(REPLACE " " "-" page "${name}")
  string(REGEX REPLACE "^exawarp ?" "" words "${name}")
  set(asks "${WORK}/program/${page}")
  file(WRITE "${asks}" "#!/bin/sh\nexec '${PROGRAM}' ${words} --help\n")
  file(CHMOD "${asks}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  execute_process(COMMAND "${HELP2MAN}" --no-info --no-discard-stderr --section=1
                          "--name=${what}" "--version-string=${VERSION}" "--source=Exawarp"
                          "--include=${WORK}/see_also" "--output=${WORK}/man/${page}.1" "${asks}"
                  COMMAND_ERROR_IS_FATAL ANY)
  # What is below it: lines "  NAME    what it does" behind "Subcommands:", up to an empty one.
  execute_process(COMMAND "${asks}" OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "," help "${help}")
  if(help MATCHES "\nSubcommands:\n(.*)")
    string(REGEX REPLACE "\n\n.*" "" below "${CMAKE_MATCH_1}")
    string(REGEX MATCHALL "[^\n]+" below "${below}")
    foreach(line ${below})
      if(line MATCHES "^  ([a-z]+)  +(.*)$")
        list(APPEND commands "${name} ${CMAKE_MATCH_1}  ${CMAKE_MATCH_2}")
      endif()
    endforeach()
  endif()
endwhile()
file(INSTALL "${WORK}/man/" DESTINATION "${CMAKE_INSTALL_PREFIX}/share/man/man1")
file(REMOVE_RECURSE "${WORK}")
