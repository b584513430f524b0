# The preload library: its parts alone, and preloaded into programs on virtual GPUs.
add_library(braid_test_support STATIC support/process.cpp)
target_link_libraries(braid_test_support PUBLIC braid_options)
target_compile_definitions(braid_test_support PRIVATE BRAID_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                                      BRAID_BINARY_DIR="${PROJECT_BINARY_DIR}")

# The parts that need no preload, with the producer's code beside them.
add_library(braid_interposer_parts STATIC "${PROJECT_SOURCE_DIR}/interposer/execute/producer.cpp")
target_link_libraries(braid_interposer_parts PUBLIC braid_interposer braid_policies braid_model
                                                    braid_config ${CMAKE_DL_LIBS})
braid_add_test(NAME interposer_parts_test LABEL pure
  SOURCES pure/interposer_agreement_test.cpp pure/interposer_ledger_test.cpp
          pure/interposer_plan_test.cpp pure/interposer_trace_file_test.cpp
  LIBRARIES braid_interposer_parts braid_test_support)

# A training loop reduced to a GEMM and its AllReduce, which knows nothing of braid.
add_executable(pair_program vgpu/programs/pair_program.cpp)
target_link_libraries(pair_program PRIVATE braid_options braid_cuda_headers braid_vgpu_cudart
                                           braid_vgpu_cublas braid_vgpu_nccl)
set_target_properties(pair_program PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/programs" SKIP_BUILD_RPATH ON)

# Faulty builds of the producer: each must be found out.
braid_add_preload_library(braid_mutant_rule3 braid-mutant-rule3 BRAID_MUTATE_SKIP_RULE_3=1)
braid_add_preload_library(braid_mutant_prior braid-mutant-prior BRAID_MUTATE_SKIP_PRIOR_WORK=1)
braid_add_preload_library(braid_mutant_join braid-mutant-join BRAID_MUTATE_SKIP_JOIN=1)
foreach(mutant rule3 prior join)
  set_target_properties(braid_mutant_${mutant} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/mutants")
endforeach()

braid_add_test(NAME preload_test LABEL vgpu
  SOURCES vgpu/preload_agreement_test.cpp vgpu/preload_examples_test.cpp
          vgpu/preload_faults_test.cpp
          vgpu/preload_mutations_test.cpp vgpu/preload_pairs_test.cpp
          vgpu/preload_support.cpp
  LIBRARIES braid_test_support braid_model)
braid_add_test(NAME preload_soak_test LABEL vgpu-slow
  SOURCES vgpu/preload_soak_test.cpp vgpu/preload_support.cpp LIBRARIES braid_test_support)
add_dependencies(preload_soak_test pair_program braid_preload)
add_dependencies(preload_test tp_mlp dp_mlp moe_a2a pair_program braid_preload braid_mutant_rule3 braid_mutant_prior
                 braid_mutant_join braid_vgpu_cuda braid_vgpu_cupti braid_vgpu_cudart
                 braid_vgpu_nccl braid_vgpu_cublas braid_vgpu_cublaslt braid_vgpu_nvml)
