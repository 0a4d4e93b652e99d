# Libraries from Debian; scripts/install names the packages.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(CapnProto REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Protobuf REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(JEMALLOC REQUIRED IMPORTED_TARGET jemalloc)
find_package(MPI REQUIRED COMPONENTS C)

# METIS comes without a CMake package.
find_path(METIS_INCLUDE_DIR metis.h REQUIRED)
find_library(METIS_LIBRARY metis REQUIRED)
add_library(exawarp_metis INTERFACE)
target_include_directories(exawarp_metis SYSTEM INTERFACE $<BUILD_INTERFACE:${METIS_INCLUDE_DIR}>)
target_link_libraries(exawarp_metis INTERFACE $<BUILD_INTERFACE:${METIS_LIBRARY}>
                                              $<INSTALL_INTERFACE:metis>)
