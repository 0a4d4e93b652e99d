# Each file of algorithms/ is an algorithm of collectives, called as its file. What is listed here
# and nowhere else: the enumeration, the names and the table of descriptions, in the names' order.
file(GLOB COLLECTIVE_ALGORITHM_SOURCES CONFIGURE_DEPENDS
     ${CMAKE_CURRENT_LIST_DIR}/algorithms/*.cc)
list(SORT COLLECTIVE_ALGORITHM_SOURCES)
# Files of one kind have names in common, those of their unnamed namespaces among them.
set_source_files_properties(${COLLECTIVE_ALGORITHM_SOURCES} PROPERTIES
                            SKIP_UNITY_BUILD_INCLUSION ON)
list(LENGTH COLLECTIVE_ALGORITHM_SOURCES ALGORITHM_COUNT)
set(ALGORITHM_ENUMERATORS)
set(ALGORITHM_NAMES)
set(ALGORITHM_DECLARATIONS)
set(ALGORITHM_ADDRESSES)
foreach(source IN LISTS COLLECTIVE_ALGORITHM_SOURCES)
  get_filename_component(name ${source} NAME_WE)
  string(APPEND ALGORITHM_ENUMERATORS "\n  ${name},")
  string(APPEND ALGORITHM_NAMES "\n    \"${name}\",")
  string(APPEND ALGORITHM_DECLARATIONS "extern const AlgorithmDescription ${name};\n")
  string(APPEND ALGORITHM_ADDRESSES "\n      &algorithms::${name},")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/algorithm_names.h.in
               ${CMAKE_BINARY_DIR}/model/collective/algorithm_names.h @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/algorithm_table.cc.in
               ${CMAKE_BINARY_DIR}/model/collective/algorithm_table.cc @ONLY)
list(APPEND COLLECTIVE_ALGORITHM_SOURCES ${CMAKE_BINARY_DIR}/model/collective/algorithm_table.cc)
