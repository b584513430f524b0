# model/: trace reader, GPU figures, cost models, closed form, simulator; policies/: decompose.
braid_add_test(NAME model_simulation_tests LABEL pure
  SOURCES pure/closed_form_property_test.cpp pure/cost_communication_test.cpp
          pure/cost_fidelity_test.cpp pure/cost_gemm_test.cpp pure/gpu_table_test.cpp pure/policies_decompose_test.cpp
          pure/simulator_error_test.cpp pure/simulator_flows_test.cpp pure/simulator_host_test.cpp
          pure/simulator_overlap_test.cpp pure/simulator_random_test.cpp
          pure/simulator_steps_test.cpp pure/simulator_sms_test.cpp pure/trace_corrupt_test.cpp
          pure/trace_read_test.cpp
  LIBRARIES braid_policies braid_model)
