# cmake -DSOURCE=... -DOUTPUT=... -P commit.cmake: a header with the commit that SOURCE is at, "+"
# at its end where tracked files differ from it. Rewritten only where that changes.
execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=10 --dirty=+ --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
if(failed)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
  "namespace exawarp::core {\ninline constexpr const char* kCommit = \"${commit}\";\n}\n")
