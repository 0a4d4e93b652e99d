# exawarp_registry(OUT FOLDER HEADER TYPE NAMESPACE FUNCTION)
# For a folder in which each file is one thing of a kind: NAME.cc defines `TYPE NAMESPACE::NAME()`.
# Writes a file with `std::vector<TYPE> FUNCTION()`, which asks each in the order of their names,
# and sets OUT to that file and those of the folder. A file that is added is found by the next
# build.
function(exawarp_registry out folder header type namespace function)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${folder}/*.cc)
  list(SORT files)
  set(REGISTRY_DECLARATIONS "")
  set(REGISTRY_CALLS "")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    string(APPEND REGISTRY_DECLARATIONS "${type} ${name}();\n")
    string(APPEND REGISTRY_CALLS "      ${namespace}::${name}(),\n")
  endforeach()
  # Files of one kind have names in common, those of their unnamed namespaces among them.
  set_source_files_properties(${files} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(REGISTRY_HEADER ${header})
  set(REGISTRY_TYPE ${type})
  set(REGISTRY_NAMESPACE ${namespace})
  set(REGISTRY_FUNCTION ${function})
  set(written ${CMAKE_CURRENT_BINARY_DIR}/${folder}/registry.cc)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/registry.cc.in ${written} @ONLY)
  set(${out} ${files} ${written} PARENT_SCOPE)
endfunction()
