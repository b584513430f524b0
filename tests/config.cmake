# config/: environment, sizes, intervals, diagnostics, policy files.
braid_add_test(NAME config_tests LABEL pure
  SOURCES pure/config_closest_match_test.cpp pure/config_diagnostics_test.cpp
          pure/config_digest_test.cpp pure/config_safe_file_test.cpp pure/config_size_test.cpp
          pure/environment_read_test.cpp pure/interval_parse_test.cpp pure/policy_error_test.cpp
          pure/policy_match_test.cpp pure/policy_mutation_test.cpp pure/policy_read_test.cpp
          pure/policy_writer_test.cpp
  LIBRARIES braid_config)
