# Compiler settings shared by every target. Linking `braid_options` is what makes a target ours.
set(BRAID_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Paths below the checkout count as relative, so that another clone finds what this one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "${CCACHE_PROGRAM}")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

add_library(braid_options INTERFACE)
target_include_directories(braid_options INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
target_compile_options(braid_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers)
if(BRAID_SANITIZE)
  target_compile_options(braid_options INTERFACE -fsanitize=${BRAID_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(braid_options INTERFACE -fsanitize=${BRAID_SANITIZE})
  # GCC's sanitizers raise false "maybe uninitialized" reports in the standard library.
  target_compile_options(braid_options INTERFACE -Wno-maybe-uninitialized)
  if(BRAID_SANITIZE MATCHES "thread")
    target_compile_options(braid_options INTERFACE -Wno-tsan)
  endif()
  target_compile_definitions(braid_options INTERFACE BRAID_SANITIZED=1)
endif()
find_package(Threads REQUIRED)
target_link_libraries(braid_options INTERFACE Threads::Threads)
