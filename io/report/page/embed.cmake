# Writes OUTPUT, a source that defines the functions of parts.h: each returns the content of a file.
#
#   cmake -DOUTPUT=parts.cc -DPARTS="name=file;name=file" -P embed.cmake
set(text "#include \"io/report/page/parts.h\"\n\nnamespace exawarp::io {\n")
foreach(part IN LISTS PARTS)
  string(REGEX MATCH "^([^=]+)=(.*)$" _ "${part}")
  set(name ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND text
    "static constexpr unsigned char k_${name}[] = {\n${bytes}0};\n"
    "std::string_view page_part_${name}() {\n"
    "  return {reinterpret_cast<const char*>(k_${name}), sizeof k_${name} - 1};\n}\n")
endforeach()
string(APPEND text "}  // namespace exawarp::io\n")
file(WRITE ${OUTPUT} "${text}")
