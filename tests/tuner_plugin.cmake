# tuner_plugin/: interface layouts, decisions, and the library as NCCL loads it.
braid_add_test(NAME tuner_plugin_tests LABEL pure
  SOURCES pure/tuner_abi_test.cpp pure/tuner_choice_test.cpp pure/tuner_choose_test.cpp
          pure/tuner_library_test.cpp pure/tuner_property_test.cpp pure/tuner_settings_test.cpp
  LIBRARIES braid_tuner_core ${CMAKE_DL_LIBS})
target_compile_definitions(tuner_plugin_tests PRIVATE
  BRAID_TUNER_LIBRARY="$<TARGET_FILE:braid_tuner>")
add_dependencies(tuner_plugin_tests braid_tuner)
