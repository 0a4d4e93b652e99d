# What `cmake --install` puts where, and what CPack makes a Debian package of (scripts/package).
#
#   bin/exawarp                     the program
#   include/exawarp/ROOM/           headers, which include each other as exawarp/ROOM/
#   lib/libexawarp_ROOM.a           core, pdes, partition, model
#   lib/cmake/exawarp/              find_package(exawarp COMPONENTS pdes partition model)
#   share/exawarp/configs/          what `exawarp run NAME` finds (io/study/find_config.h)
#   lib/python3/dist-packages/exawarp/  the Python package (docs/guide/python.md)
#   share/man/man1/, share/bash-completion/completions/   made from the program's help
#
# A build needs these targets for it: exawarp exawarp_partition exawarp_model.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS exawarp RUNTIME)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION share/exawarp)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/io/python/exawarp DESTINATION lib/python3/dist-packages
  FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/exawarp RENAME copyright)

# --- libraries and headers: one set of targets for each component ---------------------------------

target_include_directories(exawarp_options INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/exawarp>)
set(EXAWARP_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/exawarp)

# exawarp_install_component(NAME targets ...): as exawarp::NAME and so on.
function(exawarp_install_component component)
  foreach(target ${ARGN})
    string(REPLACE exawarp_ "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  install(TARGETS ${ARGN} EXPORT exawarp_${component} ARCHIVE)
  install(EXPORT exawarp_${component} NAMESPACE exawarp:: FILE exawarp-${component}.cmake
    DESTINATION ${EXAWARP_CMAKE_DIR})
endfunction()
exawarp_install_component(pdes exawarp_options exawarp_core exawarp_pdes)
exawarp_install_component(partition exawarp_metis exawarp_partition)
exawarp_install_component(model exawarp_workload_schema exawarp_model)

configure_package_config_file(cmake/exawarp-config.cmake.in exawarp-config.cmake
  INSTALL_DESTINATION ${EXAWARP_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(exawarp-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/exawarp-config.cmake
              ${PROJECT_BINARY_DIR}/exawarp-config-version.cmake
  DESTINATION ${EXAWARP_CMAKE_DIR})

foreach(room core pdes partition model)
  foreach(root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})  # some are generated
    install(DIRECTORY ${root}/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/exawarp
      FILES_MATCHING PATTERN "*.h" PATTERN "*.capnp" PATTERN "CMakeFiles" EXCLUDE
                     PATTERN "commit.h" EXCLUDE)
  endforeach()
endforeach()

# --- what is made when it is installed -----------------------------------------------------------

# Another compiler, or another version of this one, cannot read what waits for optimisation across
# files. As each library is made machine code as a whole, the program's own build stays as it is.
set(slim_libraries "")
if(EXAWARP_LTO AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(slim_libraries core pdes partition workload_schema model)
endif()
install(CODE "
  set(PREFIX \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  set(INCLUDE_DIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
  set(LIB_DIR \"${CMAKE_INSTALL_LIBDIR}\")
  set(SLIM_LIBRARIES \"${slim_libraries}\")
  set(COMPILER \"${CMAKE_CXX_COMPILER}\")
  set(AR \"${CMAKE_AR}\")
  set(PROGRAM \"$<TARGET_FILE:exawarp>\")
  set(VERSION \"${PROJECT_VERSION}\")
  set(WORK \"${PROJECT_BINARY_DIR}/install\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/install_made.cmake\")")

# --- Debian package ------------------------------------------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "The Exawarp authors")
set(CPACK_PACKAGE_CONTACT "The Exawarp authors <exawarp@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
    "Parallel discrete-event simulator of machine-learning clusters")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS  # of the components pdes, partition and model
    "libfmt-dev, libhwloc-dev, libtbb-dev, libopenmpi-dev, libmetis-dev, libcapnp-dev, libssl-dev")
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(DPKG_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
