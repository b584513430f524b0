# Topology files, link graphs and the model of stock NCCL.
braid_add_test(NAME topology_test LABEL pure
  SOURCES pure/topology_reader_test.cpp pure/topology_links_test.cpp pure/topology_fuzz_test.cpp
  LIBRARIES braid_model)
braid_add_test(NAME stock_test LABEL pure
  SOURCES pure/stock_choice_test.cpp pure/stock_data_test.cpp pure/stock_graph_file_test.cpp
          pure/stock_plan_test.cpp pure/stock_settings_test.cpp
  LIBRARIES braid_model)
