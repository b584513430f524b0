# cli/: the parts of the command, and the command itself on made-up jobs.
find_package(nlohmann_json REQUIRED)

braid_add_test(NAME cli_tests LABEL pure
  SOURCES pure/cli_arm_test.cpp pure/cli_environment_test.cpp pure/cli_live_test.cpp
          pure/cli_output_test.cpp pure/cli_program_test.cpp pure/cli_report_test.cpp pure/cli_trace_test.cpp
  LIBRARIES braid_cli)

# Loaded into programs of the system, so it carries no sanitizer.
add_library(cli_empty_library MODULE cli/empty_library.cpp)
add_executable(cli_traced_job cli/traced_job.cpp)
target_link_libraries(cli_traced_job PRIVATE braid_options braid_model)
set_target_properties(cli_empty_library cli_traced_job PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests"
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")

braid_add_test(NAME cli_command_tests LABEL pure
  SOURCES cli/compare_test.cpp cli/run_test.cpp
  LIBRARIES nlohmann_json::nlohmann_json)
add_dependencies(cli_command_tests braid cli_empty_library cli_traced_job)
target_compile_definitions(cli_command_tests PRIVATE
  BRAID_PROGRAM="$<TARGET_FILE:braid>"
  BRAID_EMPTY_LIBRARY="$<TARGET_FILE:cli_empty_library>"
  BRAID_TRACED_JOB="$<TARGET_FILE:cli_traced_job>")
